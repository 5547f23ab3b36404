//! Decimal numbers with spaces between them.

use super::shown;

/// The numbers that are left of a line.
pub(super) struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    /// The next number; `None` at the end.
    #[inline]
    pub fn next(&mut self) -> Result<Option<u64>, String> {
        while let [b' ', rest @ ..] = self.0 {
            self.0 = rest;
        }
        let start = self.0;
        let mut rest = start;
        let mut value = 0_u64;
        while let [digit @ b'0'..=b'9', tail @ ..] = rest {
            // 19 digits always fit.
            let added = match start.len() - rest.len() < 19 {
                true => Some(value * 10 + u64::from(digit - b'0')),
                false => value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0'))),
            };
            value = added.ok_or_else(|| not_a_number(start))?;
            rest = tail;
        }
        self.0 = rest;
        match rest {
            [] if start.is_empty() => Ok(None),
            [] | [b' ', ..] if rest.len() < start.len() => Ok(Some(value)),
            _ => Err(not_a_number(start)),
        }
    }

    /// As [`Numbers::next`]; a negative number is read as its two's complement.
    pub fn next_signed(&mut self) -> Result<Option<u64>, String> {
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

    /// Fills `values` and says how many there were.
    #[inline]
    pub fn fill(&mut self, values: &mut [u64]) -> Result<usize, String> {
        for (count, value) in values.iter_mut().enumerate() {
            match self.next()? {
                Some(number) => *value = number,
                None => return Ok(count),
            }
        }
        Ok(values.len())
    }

    /// How many words are left; they are not looked at.
    pub fn words_left(&self) -> u64 {
        self.0.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).count() as u64
    }
}

#[cold]
fn not_a_number(found: &[u8]) -> String {
    let word = found.split(|byte| *byte == b' ').next().unwrap_or(found);
    format!("expected a number up to {}, found {}", u64::MAX, shown(word))
}
