//! The per-operation table: checked when the text is parsed, turned into numbers when they are asked for.
//!
//! A host with thousands of mounts has hundreds of thousands of operations, and one sample uses each of them once:
//! to keep them all as numbers would cost more than to read them again.

use std::fmt;

use super::numbers::{Numbers, each, plain_line};
use super::{OpCounters, Operation, shown};

/// The numbers of an operation before Linux 5.3, which added the errors.
const FEWEST_NUMBERS: usize = 8;
const MOST_NUMBERS: usize = 9;
/// The kernel aligns names to this; longer ones overflow.
const NAME_WIDTH: usize = 12;
/// What an operation that was never used prints: about half of the table.
const UNUSED: &[u8] = b"0 0 0 0 0 0 0 0 0\n";

/// The operations of one mount, in the order in which the kernel printed them.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Operations<'a> {
    pub(super) table: &'a [u8],
    pub(super) count: usize,
}

impl<'a> Operations<'a> {
    /// How many there are, used or not.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Reads them one by one.
    pub fn iter(&self) -> Iter<'a> {
        Iter { table: self.table }
    }
}

impl<'a> IntoIterator for &Operations<'a> {
    type Item = Operation<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Operations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// An iterator over [`Operations`].
#[derive(Clone)]
pub struct Iter<'a> {
    table: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = Operation<'a>;

    #[inline]
    fn next(&mut self) -> Option<Operation<'a>> {
        while !self.table.is_empty() {
            if let Some((operation, _, rest)) = read(self.table) {
                self.table = rest;
                return Some(operation);
            }
            let end = memchr::memchr(b'\n', self.table)?;
            self.table = self.table.get(end + 1..)?;
        }
        None
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        while !self.table.is_empty() {
            let (rest, line) = match memchr::memrchr(b'\n', self.table) {
                Some(end) => (self.table.get(..end)?, self.table.get(end + 1..)?),
                None => (&b""[..], self.table),
            };
            self.table = rest;
            if let Some((operation, ..)) = read(line) {
                return Some(operation);
            }
        }
        None
    }
}

/// Checks the operation that a text starts with: as [`read`], without its numbers.
#[inline]
pub(super) fn check(text: &[u8]) -> Option<(u64, &[u8])> {
    let (_, value) = name_and_value(text)?;
    if let Some((count, length)) = plain_line(value)
        && let Some(unknown) = count.checked_sub(MOST_NUMBERS).or((count == FEWEST_NUMBERS).then_some(0))
    {
        return Some((unknown as u64, value.get(length + 1..)?));
    }
    read(text).map(|(_, unknown, rest)| (unknown, rest))
}

/// Reads the operation that a text starts with: also gives the number of its words that this version does not know, and
/// the text after its line. `None` when the line is not one, or is damaged; see [`fault`].
#[inline]
pub(super) fn read(text: &[u8]) -> Option<(Operation<'_>, u64, &[u8])> {
    let (name, value) = name_and_value(text)?;
    let name = name.trim_ascii_start();
    if let Some(rest) = value.strip_prefix(UNUSED) {
        let counters = OpCounters { errors: Some(0), ..OpCounters::default() };
        return Some((Operation { name, counters }, 0, rest));
    }
    let mut numbers = Numbers(value);
    let mut values = [0; MOST_NUMBERS];
    let count = numbers.fill(&mut values).ok()?;
    let unknown = numbers.skip_line();
    let rest = numbers.0.strip_prefix(b"\n").unwrap_or_default();
    let [requests, transmissions, timeouts, bytes_sent, bytes_received, queue, rtt, execute, errors] = values;
    let counters = OpCounters {
        requests,
        transmissions,
        timeouts,
        bytes_sent,
        bytes_received,
        queue_ms: queue.cast_signed(),
        rtt_ms: rtt.cast_signed(),
        execute_ms: execute.cast_signed(),
        errors: (count > FEWEST_NUMBERS).then_some(errors),
    };
    (count >= FEWEST_NUMBERS).then_some((Operation { name, counters }, unknown, rest))
}

/// What is wrong with a line that [`read`] does not take; `None` when it is no operation at all.
pub(super) fn fault(line: &[u8]) -> Option<String> {
    let (name, value) = name_and_value(line)?;
    let name = shown(name.trim_ascii_start());
    let number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    if !value.split(|byte| *byte == b' ').any(number) {
        return None;
    }
    Some(match Numbers(value).fill(&mut [0; MOST_NUMBERS]) {
        Ok(count) => format!("{name}: expected at least {FEWEST_NUMBERS} numbers, found {count}"),
        Err(reason) => format!("{name}: {reason}"),
    })
}

/// The name of an operation at the start of a text, filled up with spaces, and the text after `: `.
#[inline(always)]
fn name_and_value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = text.strip_prefix(b"\t")?;
    // Nearly every name has its colon at the same place, and no other byte of note before it.
    let colon = match line.first_chunk::<{ NAME_WIDTH + 1 }>() {
        Some([a, b, c, d, e, f, g, h, i, j, k, l, b':'])
            if !holds_end([*a, *b, *c, *d, *e, *f, *g, *h])
                && !holds_end([*e, *f, *g, *h, *i, *j, *k, *l]) =>
        {
            NAME_WIDTH
        }
        _ => line.iter().position(|byte| matches!(byte, b':' | b'\n'))?,
    };
    let (name, value) = line.split_at_checked(colon)?;
    // A name is there, whatever fills up the space before it.
    name.last().filter(|last| **last != b' ')?;
    Some((name, value.strip_prefix(b": ")?))
}

/// Whether one of eight bytes ends a name.
#[inline(always)]
fn holds_end(eight: [u8; 8]) -> bool {
    let eight = u64::from_le_bytes(eight);
    let holds = |byte| {
        let zero_there = eight ^ each(byte);
        zero_there.wrapping_sub(each(1)) & !zero_there & each(0x80) != 0
    };
    holds(b':') || holds(b'\n')
}
