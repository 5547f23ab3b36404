//! The data that queries are evaluated on, and their statistics.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::window::Periods;
use super::{Metric, Points};

/// The statistics of the data of a minute, or of any other time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatisticSet {
    pub sum: f64,
    pub count: f64,
    pub minimum: f64,
    pub maximum: f64,
}

impl StatisticSet {
    /// Of one value.
    pub fn of(value: f64) -> Self {
        StatisticSet { sum: value, count: 1.0, minimum: value, maximum: value }
    }

    /// With the data of another set.
    #[must_use]
    pub fn and(self, other: StatisticSet) -> Self {
        StatisticSet {
            sum: self.sum + other.sum,
            count: self.count + other.count,
            minimum: self.minimum.min(other.minimum),
            maximum: self.maximum.max(other.maximum),
        }
    }
}

/// Published data of any number of metrics, minute by minute: what queries are evaluated on.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    minutes: BTreeMap<Metric, BTreeMap<i64, StatisticSet>>,
}

impl Samples {
    /// Adds to the data of the minute of `at` (seconds since 1970). Data of the same minute add up, as those of two
    /// hosts do that publish into one metric.
    pub fn put(&mut self, metric: Metric, at: i64, set: StatisticSet) {
        let minutes = self.minutes.entry(identity(metric)).or_default();
        minutes
            .entry(at.saturating_sub(at.rem_euclid(60)))
            .and_modify(|there| *there = there.and(set))
            .or_insert(set);
    }

    /// The same with a single value.
    pub fn put_value(&mut self, metric: Metric, at: i64, value: f64) {
        self.put(metric, at, StatisticSet::of(value));
    }

    /// All metrics that have data, each with its dimensions by name.
    pub(super) fn metrics(&self) -> impl Iterator<Item = &Metric> {
        self.minutes.keys()
    }

    /// A value of the metrics' data together for each period that has any. Their dimensions are in order.
    pub(super) fn points<'a>(
        &self,
        metrics: impl IntoIterator<Item = &'a Metric>,
        statistic: Statistic,
        periods: &Periods,
    ) -> Points {
        let mut sets = BTreeMap::<i64, StatisticSet>::new();
        for metric in metrics {
            for (at, set) in
                self.minutes.get(metric).into_iter().flat_map(|minutes| minutes.range(periods.range()))
            {
                sets.entry(periods.start_of(*at))
                    .and_modify(|there| *there = there.and(*set))
                    .or_insert(*set);
            }
        }
        sets.into_iter().filter_map(|(at, set)| Some((at, statistic.value(set)?))).collect()
    }
}

/// A metric with its dimensions by name: it is the same in whatever order they were given.
pub(super) fn identity(mut metric: Metric) -> Metric {
    metric.dimensions.sort();
    metric
}

/// What becomes of the data of a period (CloudWatch User Guide, "CloudWatch statistics definitions").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    Average,
    Maximum,
    Minimum,
    SampleCount,
    Sum,
}

impl Statistic {
    const ALL: [Statistic; 5] =
        [Statistic::Average, Statistic::Maximum, Statistic::Minimum, Statistic::SampleCount, Statistic::Sum];

    /// As queries name it.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Average => "Average",
            Statistic::Maximum => "Maximum",
            Statistic::Minimum => "Minimum",
            Statistic::SampleCount => "SampleCount",
            Statistic::Sum => "Sum",
        }
    }

    fn value(self, set: StatisticSet) -> Option<f64> {
        let value = match self {
            Statistic::Average => set.sum / set.count,
            Statistic::Maximum => set.maximum,
            Statistic::Minimum => set.minimum,
            Statistic::SampleCount => set.count,
            Statistic::Sum => set.sum,
        };
        value.is_finite().then_some(value)
    }
}

impl FromStr for Statistic {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Statistic::ALL.into_iter().find(|statistic| statistic.name() == name).ok_or_else(|| {
            let known: Vec<_> = Statistic::ALL.iter().map(|statistic| statistic.name()).collect();
            format!("statistic {name:?} is not modelled; known: {}", known.join(", "))
        })
    }
}
