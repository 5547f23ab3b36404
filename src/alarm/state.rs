//! How one evaluation of an alarm ends (CloudWatch User Guide, "Alarm evaluation" and "Configuring how CloudWatch alarms
//! treat missing data").
//!
//! CloudWatch fetches more periods than N, the evaluation range. The newest N that have a value decide; only when there
//! are fewer does `TreatMissingData` count, and then as seldom as it can.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Alarm, Comparison, MissingData};

/// The state of an alarm (DescribeAlarms, `StateValue`). A new one begins with `INSUFFICIENT_DATA`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    Ok,
    Alarm,
    InsufficientData,
}

impl State {
    pub const ALL: [State; 3] = [State::Ok, State::Alarm, State::InsufficientData];

    /// The name that CloudWatch has for it.
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "OK",
            State::Alarm => "ALARM",
            State::InsufficientData => "INSUFFICIENT_DATA",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an evaluation does to the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    To(State),
    Kept,
}

const OK: Outcome = Outcome::To(State::Ok);
const ALARM: Outcome = Outcome::To(State::Alarm);
const INSUFFICIENT_DATA: Outcome = Outcome::To(State::InsufficientData);

impl Outcome {
    /// The state after it.
    pub fn after(self, state: State) -> State {
        match self {
            Outcome::To(state) => state,
            Outcome::Kept => state,
        }
    }
}

/// The part of an alarm that decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    pub comparison: Comparison,
    pub threshold: f64,
    /// N.
    pub evaluation_periods: usize,
    /// M.
    pub datapoints_to_alarm: usize,
    pub missing: MissingData,
}

impl From<&Alarm> for Rule {
    fn from(alarm: &Alarm) -> Rule {
        Rule {
            comparison: alarm.comparison_operator,
            threshold: alarm.threshold,
            evaluation_periods: alarm.evaluation_periods as usize,
            datapoints_to_alarm: alarm.datapoints_to_alarm as usize,
            missing: alarm.treat_missing_data,
        }
    }
}

impl Rule {
    /// Whether a value is beyond the threshold.
    pub fn is_breached_by(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::GreaterThanOrEqualToThreshold => value >= self.threshold,
            Comparison::GreaterThanThreshold => value > self.threshold,
            Comparison::LessThanThreshold => value < self.threshold,
            Comparison::LessThanOrEqualToThreshold => value <= self.threshold,
        }
    }

    /// What an evaluation may end with, given the values of the whole evaluation range, the oldest first: one outcome
    /// where the User Guide says which, and otherwise all that agree with it.
    pub fn outcomes(&self, range: &[Option<f64>]) -> &'static [Outcome] {
        let (n, m) = (self.evaluation_periods, self.datapoints_to_alarm);
        let newest = range.iter().rev().flatten().take(n);
        let real = newest.clone().count();
        let breaching = newest.filter(|value| self.is_breached_by(**value)).count();
        if breaching >= m {
            return &[ALARM];
        }
        if real >= n {
            return &[OK];
        }
        match self.missing {
            MissingData::NotBreaching => &[OK],
            MissingData::Breaching if breaching + (n - real) >= m => &[ALARM],
            MissingData::Breaching => &[OK],
            MissingData::Ignore if breaching == real => &[Outcome::Kept],
            MissingData::Ignore => &[OK],
            MissingData::Missing if real == 0 => &[INSUFFICIENT_DATA],
            MissingData::Missing => self.intermittent(range, real, breaching),
        }
    }

    /// Fewer values than N, fewer than M of them breaching, and the missing ones are nothing but missing: the section
    /// "Avoiding premature transitions to alarm state". `range` holds `real` values, and `breaching` of them are.
    fn intermittent(&self, range: &[Option<f64>], real: usize, breaching: usize) -> &'static [Outcome] {
        let (n, m) = (self.evaluation_periods, self.datapoints_to_alarm);
        let breaches = |value: &Option<f64>| value.is_some_and(|value| self.is_breached_by(value));
        let Some(oldest) = range.iter().position(breaches) else { return &[OK] };
        // 1: the newest period.
        let age = range.len() - oldest;
        let fine_since = range.iter().skip(oldest).flatten().any(|value| !self.is_breached_by(*value));
        match (breaching == real, age) {
            (true, age) if age > n => &[ALARM, Outcome::Kept],
            (true, age) if age >= m => &[ALARM],
            (true, _) => &[OK, Outcome::Kept],
            // By its words it alarms, whatever was before. By its tables it does not, while M values are there.
            (false, age) if real < m && age >= m && !fine_since => &[OK, ALARM],
            (false, _) => &[OK],
        }
    }
}

/// How many periods an evaluation may look back on. The User Guide says only that they are more than N, and, for N of 3
/// with periods of five minutes, that they are 5.
pub fn evaluation_ranges(evaluation_periods: u32, period: u32) -> RangeInclusive<u32> {
    match (evaluation_periods, period) {
        (3, 300) => 5..=5,
        (n, _) => n.saturating_add(1)..=n.saturating_mul(2).saturating_add(2),
    }
}
