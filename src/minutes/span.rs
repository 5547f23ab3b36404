//! A stretch of the time of day.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Minute;

/// Readings are meant for multiples of the sample interval; one this close is taken to be on it.
const NEAR: Duration = Duration::from_secs(1);

/// From `start` to before `end`, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub start: Duration,
    pub end: Duration,
}

impl Span {
    /// The `elapsed` time before `end`, either end moved to its grid point when that is near, unless nothing
    /// would be left between them.
    pub fn before(end: Duration, elapsed: Duration, grid: Duration) -> Span {
        let start = end.saturating_sub(elapsed);
        let snapped = Span { start: snap(start, grid), end: snap(end, grid) };
        match elapsed.is_zero() || snapped.start < snapped.end {
            true => snapped,
            false => Span { start, end },
        }
    }

    pub fn length(self) -> Duration {
        self.end.saturating_sub(self.start)
    }

    /// Its parts in each minute; an empty span is in the minute that its end belongs to, or ends.
    pub fn by_minute(self) -> Vec<(Minute, Span)> {
        if self.length().is_zero() {
            return vec![(minute_ended_by(self.end), self)];
        }
        let mut parts = Vec::with_capacity(2);
        let mut start = self.start;
        while start < self.end {
            let minute = Minute::of(start);
            let end = minute.end().min(self.end);
            parts.push((minute, Span { start, end }));
            start = end;
        }
        parts
    }
}

/// The minute that a time is in, or ends.
pub fn minute_ended_by(time: Duration) -> Minute {
    Minute::of(time.saturating_sub(Duration::from_nanos(1)))
}

/// How long both are.
pub fn overlap(one: Span, other: Span) -> Duration {
    one.end.min(other.end).saturating_sub(one.start.max(other.start))
}

/// The time, or the multiple of `grid` that it is near.
pub fn snap(time: Duration, grid: Duration) -> Duration {
    let (nanos, grid) = (time.as_nanos(), grid.as_nanos().max(1));
    let nearest = (nanos + grid / 2) / grid * grid;
    match nearest.abs_diff(nanos) <= NEAR.as_nanos() {
        true => {
            Duration::from_secs((nearest / 1_000_000_000) as u64)
                + Duration::from_nanos((nearest % 1_000_000_000) as u64)
        }
        false => time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_reading_within_a_second_of_its_grid_point_is_on_it() {
        let grid = Duration::from_secs(10);
        for (end, expected) in [(60.003, 60.0), (59.98, 60.0), (60.9, 60.0), (61.0, 60.0), (61.5, 61.5)] {
            assert_eq!(Span::before(seconds(end), Duration::ZERO, grid).end, seconds(expected), "{end}");
        }
    }

    #[test]
    fn snapping_does_not_make_time_vanish() {
        let span = Span::before(seconds(60.6), seconds(0.4), Duration::from_secs(10));
        assert_eq!(span, Span { start: seconds(60.6) - seconds(0.4), end: seconds(60.6) });
    }

    #[test]
    fn a_span_is_cut_where_minutes_begin() {
        let span = Span { start: seconds(50.0), end: seconds(130.0) };
        let lengths: Vec<_> =
            span.by_minute().iter().map(|(m, s)| (m.seconds(), s.length().as_secs())).collect();
        assert_eq!(lengths, [(0, 10), (60, 60), (120, 10)]);
        let empty = Span { start: seconds(60.0), end: seconds(60.0) };
        assert_eq!(empty.by_minute().first().map(|(m, _)| m.seconds()), Some(0), "a boundary ends a minute");
    }
}
