//! The time that is evaluated.

use std::ops::Range;

/// The time that is evaluated, in seconds since 1970: the first period begins at `from`, the last ends at `to` or less
/// than a period before it. Nothing outside of it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: i64,
    pub to: i64,
    /// Seconds, a multiple of 60; takes the place of the metrics' own, as the one of a dashboard does.
    pub period: u32,
}

/// More than one request to GetMetricData gives.
const MOST: i64 = 100_800;

/// The periods of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Periods {
    from: i64,
    /// Seconds.
    pub length: i64,
    pub count: i64,
}

impl Periods {
    /// # Errors
    ///
    /// The period is not one of whole minutes, or there are too many of them.
    pub fn new(window: Window) -> Result<Self, String> {
        let length = i64::from(window.period);
        if length == 0 || length % 60 != 0 {
            return Err(format!("a period of {length} s is not modelled; known: multiples of 60 s"));
        }
        let span = window.to.checked_sub(window.from);
        match span.map(|span| span.max(0) / length) {
            Some(count) if count <= MOST => Ok(Periods { from: window.from, length, count }),
            _ => Err(format!("the window has more than {MOST} periods of {length} s: take a longer period")),
        }
    }

    /// When each of them begins.
    pub fn starts(&self) -> impl Iterator<Item = i64> {
        let Periods { from, length, count } = *self;
        (0..count).map(move |index| from + index * length)
    }

    pub fn range(&self) -> Range<i64> {
        self.from..self.from + self.count * self.length
    }

    /// When the period begins that holds `at`.
    pub fn start_of(&self, at: i64) -> i64 {
        at - (at - self.from).rem_euclid(self.length)
    }
}
