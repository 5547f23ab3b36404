//! The numbered lines of a text, and the one value in it that may hold lines of its own.

use memchr::memmem::Finder;

/// What follows an `impl_id:` line (`fs/nfs/super.c`, nfs_show_stats).
const AFTER_IMPL_ID: &[u8] = b"\n\tcaps:\t";
/// A server's name and domain are at most this long each (RFC 8881, NFS4_OPAQUE_LIMIT).
const OPAQUE_LIMIT: usize = 1024;
/// No `impl_id:` value is longer: two limits, and what the kernel prints around them.
const LONGEST_IMPL_ID: usize = 2200;
/// The kernel prints more lines than this from `caps:` to the end of every mount that has an `impl_id:`.
const FEWEST_LINES: usize = 40;

/// A text, line by line. A line ends with one LF; nothing else separates lines.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    /// Where the next line starts.
    at: usize,
    number: usize,
    after_impl_id: Finder<'static>,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a [u8]) -> Self {
        Self { text, at: 0, number: 0, after_impl_id: Finder::new(AFTER_IMPL_ID) }
    }

    /// Number of the line that was last taken, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Where in the text the next line starts.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The text from a position to the end of the line last taken, without its LF.
    pub fn since(&self, position: usize) -> &'a [u8] {
        self.text.get(position..self.at.saturating_sub(1)).unwrap_or_default()
    }

    /// Whether the next line starts another record.
    pub fn at_record(&self) -> bool {
        starts_record(self.rest())
    }

    /// The next line, without its LF.
    #[inline]
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        let line = match memchr::memchr(b'\n', rest) {
            Some(end) => rest.get(..end)?,
            None => rest,
        };
        self.at += line.len() + 1;
        self.number += 1;
        Some(line)
    }

    /// Goes past one more line: `rest` is the text after it.
    pub fn skip_to(&mut self, rest: &[u8]) {
        // One LF is always counted, as in `next`.
        let lf = usize::from(rest.is_empty() && !self.text.ends_with(b"\n"));
        self.at = self.text.len() - rest.len() + lf;
        self.number += 1;
    }

    /// The whole of an `impl_id:` value, given the part of it that ends the line last taken.
    ///
    /// The value is the server's own text, printed as it came: it may hold line ends, empty lines, and lines that
    /// look like the kernel's. Its true end is the last one that its form and length allow.
    pub fn whole_impl_id(&mut self, part: &'a [u8]) -> &'a [u8] {
        let start = self.at.saturating_sub(part.len() + 1);
        let text = self.text.get(start..).unwrap_or_default();
        let window = text.get(..LONGEST_IMPL_ID).unwrap_or(text);
        let value = self.impl_id_end(text, window).and_then(|end| window.get(..end)).unwrap_or(part);
        self.number += memchr::memchr_iter(b'\n', value).count();
        self.at = start + value.len() + 1;
        value
    }

    fn impl_id_end(&self, text: &[u8], window: &[u8]) -> Option<usize> {
        let ends = || self.after_impl_id.find_iter(window);
        let sound = || ends().filter(|end| window.get(..*end).is_some_and(is_impl_id));
        let Some(first) = sound().next() else {
            // Not the kernel's form: up to the next `caps:` of this record, if there is one.
            return ends().next().filter(|end| !window.get(..*end).is_some_and(holds_record_end));
        };
        let last = sound().last().unwrap_or(first);
        // A block this short is not the kernel's, so nobody forged a shorter one to hide it: the `caps:` after
        // the first are those of the next records.
        let short =
            last != first && text.get(last..).is_some_and(|block| lines_of_block(block) < FEWEST_LINES);
        let nexts = sound().skip(1);
        let own =
            sound().zip(nexts).find(|(end, next)| window.get(*end..*next).is_some_and(holds_record_end));
        match own {
            Some((end, _)) if short => Some(end),
            _ => Some(last),
        }
    }

    /// The text after the line last taken.
    pub fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }
}

fn starts_record(text: &[u8]) -> bool {
    text.starts_with(b"device ") || text.starts_with(b"no device ")
}

/// Whether a text has the form that the kernel gives an `impl_id:`, with a name and domain of a length that it takes.
fn is_impl_id(value: &[u8]) -> bool {
    const DOMAIN: &[u8] = b"',domain='";
    let names = || {
        let names_and_date = value.strip_prefix(b"name='")?.strip_suffix(b"'")?;
        let date =
            names_and_date.iter().rev().take_while(|byte| matches!(byte, b'0'..=b'9' | b',' | b'-')).count();
        names_and_date.get(..names_and_date.len() - date)?.strip_suffix(b"',date='")
    };
    names().is_some_and(|names| {
        names.windows(DOMAIN.len()).enumerate().any(|(name, window)| {
            let domain = names.len() - name - DOMAIN.len();
            window == DOMAIN && name <= OPAQUE_LIMIT && domain <= OPAQUE_LIMIT
        })
    })
}

/// Whether an empty line or a device line starts in a text that starts in the middle of a block.
fn holds_record_end(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', text)
        .filter_map(|at| text.get(at + 1..))
        .any(|line| line.starts_with(b"\n") || starts_record(line))
}

fn lines_of_block(text: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', text).skip(1).take(FEWEST_LINES);
    ends.take_while(|end| {
        text.get(end + 1..)
            .is_some_and(|line| !line.is_empty() && !line.starts_with(b"\n") && !starts_record(line))
    })
    .count()
}
