//! Decimal numbers with spaces between them: most of the bytes of a mountstats text.

use std::fmt;

use super::shown;

/// The numbers from here to the end of the line, or of the text.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a>(pub &'a [u8]);

/// A word where a number was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotANumber<'a>(&'a [u8]);

impl fmt::Display for NotANumber<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a number up to {}, found {}", u64::MAX, shown(self.0))
    }
}

/// So many digits always fit into 64 bits.
const SAFE_DIGITS: usize = 19;

impl<'a> Numbers<'a> {
    /// The next number; `None` at the end of the line.
    #[inline]
    pub fn next(&mut self) -> Result<Option<u64>, NotANumber<'a>> {
        // Most numbers are zero.
        if let [digit @ b'0'..=b'9', b' ', rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(Some(u64::from(digit - b'0')));
        }
        while let [b' ', rest @ ..] = self.0 {
            self.0 = rest;
        }
        let start = self.0;
        let mut value = 0_u64;
        while let [digit @ b'0'..=b'9', rest @ ..] = self.0 {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.0 = rest;
        }
        let digits = start.len() - self.0.len();
        match self.0 {
            [] | [b' ' | b'\n', ..] if (1..=SAFE_DIGITS).contains(&digits) => Ok(Some(value)),
            [] | [b'\n', ..] if digits == 0 => Ok(None),
            _ => with_care(start).map(Some),
        }
    }

    /// As [`Numbers::next`]; a negative number is read as its two's complement.
    pub fn next_signed(&mut self) -> Result<Option<u64>, NotANumber<'a>> {
        while let [b' ', rest @ ..] = self.0 {
            self.0 = rest;
        }
        match self.0 {
            [b'-', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => {
                self.0 = digits;
                Ok(self.next()?.map(u64::wrapping_neg))
            }
            _ => self.next(),
        }
    }

    /// Fills `values` from the front and says how many numbers there were.
    #[inline]
    pub fn fill(&mut self, values: &mut [u64]) -> Result<usize, NotANumber<'a>> {
        for (count, value) in values.iter_mut().enumerate() {
            match self.next()? {
                Some(number) => *value = number,
                None => return Ok(count),
            }
        }
        Ok(values.len())
    }

    /// Goes to the end of the line; says how many words were left, which may be anything.
    #[inline]
    pub fn skip_line(&mut self) -> u64 {
        if matches!(self.0, [] | [b'\n', ..]) {
            return 0;
        }
        let end = memchr::memchr(b'\n', self.0).unwrap_or(self.0.len());
        let (words, rest) = self.0.split_at_checked(end).unwrap_or((self.0, b""));
        self.0 = rest;
        words.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).count() as u64
    }
}

/// A byte eight times.
pub(super) const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Marks, with its highest bit, each of eight bytes that is not a digit. The first byte is the lowest.
#[inline]
fn not_digits(eight: u64) -> u64 {
    // Digits become 0 to 9, others more.
    let values = eight ^ each(b'0');
    (((values & each(0x7f)) + each(0x80 - 10)) | values) & each(0x80)
}

/// How many numbers a line holds, and how long it is, when that is quickly seen: numbers of few digits with one space
/// between. Looks at eight bytes at once and makes no numbers of them, to check a table that may never be used.
#[inline]
pub(super) fn plain_line(text: &[u8]) -> Option<(usize, usize)> {
    let mut spaces = 0;
    let mut before = 0x80; // Marks a byte that is not a digit before these eight: there is none in front of the line.
    for (index, chunk) in text.as_chunks::<8>().0.iter().enumerate().take(LONGEST_PLAIN / 8) {
        let eight = u64::from_le_bytes(*chunk);
        let others = not_digits(eight);
        let other_than_space = eight ^ each(b' ');
        let not_spaces = (((other_than_space & each(0x7f)) + each(0x7f)) | other_than_space) & each(0x80);
        let ends = others & not_spaces;
        let end = ends.trailing_zeros() as usize / 8;
        let line = (1_u64.checked_shl(8 * (end as u32 + 1)).unwrap_or(0)).wrapping_sub(1);
        if others == 0 || others & (others << 8 | before) & line != 0 {
            return None;
        }
        spaces += ((others & !not_spaces & line) >> 7).wrapping_mul(each(1)) >> 56;
        before = others >> 56;
        match chunk.get(end) {
            None => {}
            Some(b'\n') => return Some((spaces as usize + 1, index * 8 + end)),
            Some(_) => return None,
        }
    }
    None
}

/// Nine numbers of 19 digits are shorter.
const LONGEST_PLAIN: usize = 192;

/// A word that is no number, or one that is long enough to be looked at with care.
#[cold]
fn with_care(text: &[u8]) -> Result<u64, NotANumber<'_>> {
    let word = text.split(|byte| matches!(byte, b' ' | b'\n')).next().unwrap_or(text);
    let digits = word.iter().all(u8::is_ascii_digit).then_some(word);
    digits.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok()).ok_or(NotANumber(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_ends_at_a_space_a_line_end_or_the_end_of_the_text() {
        let mut text = "0 7 10 99999999 100000000 123456789012 18446744073709551615".to_owned();
        let expected = [0, 7, 10, 99_999_999, 100_000_000, 123_456_789_012, u64::MAX];
        for end in ["", " ", "  ", "\n", "\n99", " \n\tlonger than eight bytes: 1 2 3"] {
            text.truncate(59);
            text.push_str(end);
            let mut numbers = Numbers(text.as_bytes());
            let mut values = [1; 8];
            assert_eq!(numbers.fill(&mut values), Ok(7), "{text:?}");
            assert_eq!(values[..7], expected);
        }
    }

    #[test]
    fn every_length_reads_alike_wherever_the_text_ends() {
        let digits = "98765432109876543210";
        for length in 1..=19 {
            for end in ["", " ", " 1", "\n", " 123456789"] {
                let text = format!("{}{end}", &digits[..length]);
                let value = digits[..length].parse().unwrap();
                assert_eq!(Numbers(text.as_bytes()).next(), Ok(Some(value)), "{text:?}");
            }
        }
    }

    #[test]
    fn a_plain_line_is_known_by_its_shape() {
        for (text, expected) in [
            ("1 2 3\nrest of it", Some((3, 5))),
            ("1\nlonger than eight", Some((1, 1))),
            ("4045 4045 0 922260 1061035860 809\n\tREAD: ", Some((6, 33))),
            ("12345678 1\n\tREAD: 1 2 3", None), // the first eight bytes may be the start of a number of any length
            ("4045 4045 0 922260 106103586 80 9\n\tREAD: ", Some((7, 33))),
            ("1234567 1234567\n 1234567", Some((2, 15))),
            ("1234567 1234567 1\n 123456", Some((3, 17))),
            ("1 2  3\nrest of it", None),
            ("123456 7  8\nrest of it", None),
            ("1234567  8\nrest of it", None),
            (" 1 2 3\nrest of it", None),
            ("1 2 3 \nrest of it", None),
            ("1234567 \nrest of it", None),
            ("1 2 x\nrest of it", None),
            ("1 2\t3\nrest of it", None),
            ("1 2\r\nrest of it", None),
            ("\nrest of it", None),
            ("1 2 3", None),
            ("1 2 3 4 5 6 7 8 9", None),
            ("\u{b0}1 2 3\nrest of it", None),
        ] {
            assert_eq!(plain_line(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_named() {
        let words = [
            "18446744073709551616",
            "12x4 5",
            "x",
            "-1",
            "+1",
            "1.5",
            "1\t2",
            "\u{a0}1",
            "1\r",
            "0000000000x",
        ];
        for text in words {
            let word = text.split(' ').next().unwrap();
            assert_eq!(Numbers(text.as_bytes()).next(), Err(NotANumber(word.as_bytes())), "{text:?}");
        }
        assert_eq!(Numbers(b"000000000000000000000000000007").next(), Ok(Some(7)));
        assert_eq!(Numbers(b"-7 1").next_signed(), Ok(Some(7_u64.wrapping_neg())));
        assert_eq!(Numbers(b"- 1").next_signed(), Err(NotANumber(b"-")));
    }
}
