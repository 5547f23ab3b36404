//! What an alarm would have done, minute by minute, on data that the caller has.
//!
//! Where CloudWatch's documentation leaves open what happens, every course that agrees with it is followed: a state is
//! certain when all of them have it.

use std::collections::{BTreeMap, BTreeSet};

use super::Alarm;
use super::state::{Outcome, Rule, State, evaluation_ranges};
use crate::metricmath::{
    self, Expression, Metric, MetricStat, NotModelled, Purpose, Query, Samples, Series, StatisticSet, Window,
};

const MINUTE: i64 = 60;
/// An alarm on a Metrics Insights query sees at most three hours.
const INSIGHTS_SECONDS: u32 = 3 * 3600;
/// One that looks back longer is evaluated once an hour only.
const DAY: u32 = 86_400;
/// Each range that CloudWatch may look back on is followed by itself, and there are about as many as periods.
const MOST_PERIODS: u32 = 180;

/// Data of a metric, one entry a minute.
#[derive(Clone, Debug, PartialEq)]
pub struct Feed {
    pub metric: Metric,
    /// The first is of the minute in which the rehearsal starts.
    pub minutes: Vec<Option<StatisticSet>>,
    /// So many minutes after its minute has ended, a value is there.
    pub delay: usize,
}

/// What an alarm did. The alarm is as old as the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsal {
    /// How many periods back CloudWatch may look: a course each.
    pub ranges: Vec<u32>,
    /// The first is one minute after the start.
    pub evaluations: Vec<Evaluation>,
}

/// One evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The possible states, for each of [`Rehearsal::ranges`].
    pub states: Vec<BTreeSet<State>>,
    /// What was compared with the threshold: the newest N periods of each series.
    pub seen: Vec<Seen>,
}

/// The newest N periods of a series, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub label: String,
    pub values: Vec<Option<f64>>,
}

impl Evaluation {
    /// Every state that it may have ended with; more than one: not modelled.
    pub fn possible(&self) -> BTreeSet<State> {
        self.states.iter().flatten().copied().collect()
    }
}

impl Rehearsal {
    /// The fewest and the most state changes from one evaluation to a later one, both counted from 0.
    pub fn changes(&self, from: usize, to: usize) -> (usize, usize) {
        let evaluations = self.evaluations.get(from..=to).unwrap_or_default();
        let counts = (0..self.ranges.len()).map(|course| {
            // For each state that it may be in by now: the fewest and most changes on the way there.
            let mut ways: BTreeMap<State, (usize, usize)> = BTreeMap::new();
            for evaluation in evaluations {
                let Some(states) = evaluation.states.get(course) else { continue };
                ways = states.iter().map(|state| (*state, counted(&ways, *state))).collect();
            }
            spread(ways.into_values())
        });
        spread(counts)
    }
}

fn counted(ways: &BTreeMap<State, (usize, usize)>, state: State) -> (usize, usize) {
    spread(ways.iter().map(|(before, (fewest, most))| {
        let changed = usize::from(*before != state);
        (fewest + changed, most + changed)
    }))
}

fn spread(counts: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    counts.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default()
}

/// Evaluates the alarm at the end of each of so many minutes after `start` (seconds since 1970, of a minute).
///
/// # Errors
///
/// An alarm of a kind, or with a query, that is not modelled here.
pub fn rehearse(alarm: &Alarm, feeds: &[Feed], start: i64, minutes: usize) -> Result<Rehearsal, NotModelled> {
    let watch = Watch::of(alarm)?;
    let mut courses = vec![Course::default(); watch.ranges.len()];
    let mut samples = Samples::default();
    let mut evaluations = Vec::with_capacity(minutes);
    for minute in 0..minutes {
        for feed in feeds {
            let Some(late) = minute.checked_sub(feed.delay) else { continue };
            if let Some(Some(set)) = feed.minutes.get(late) {
                samples.put(feed.metric.clone(), start + late as i64 * MINUTE, *set);
            }
        }
        let end = start + (minute as i64 + 1) * MINUTE;
        evaluations.push(watch.evaluate(&samples, end, &mut courses)?);
    }
    Ok(Rehearsal { ranges: watch.ranges, evaluations })
}

/// Whether a query of the alarm asks for this metric.
pub fn asks_for(alarm: &Alarm, metric: &Metric) -> bool {
    let names = |metric: &Metric| metric.dimensions.iter().map(|d| d.name.clone()).collect::<BTreeSet<_>>();
    let sorted = |metric: &Metric| metric.dimensions.iter().cloned().collect::<BTreeSet<_>>();
    let same = |asked: &Metric| {
        (&asked.namespace, &asked.metric_name) == (&metric.namespace, &metric.metric_name)
            && sorted(asked) == sorted(metric)
    };
    let selected = |expression: &Expression| {
        expression.selections().into_iter().any(|selection| {
            let dimensions = selection.dimensions.as_ref();
            (&selection.namespace, &selection.metric) == (&metric.namespace, &metric.metric_name)
                && dimensions
                    .is_none_or(|asked| asked.iter().cloned().collect::<BTreeSet<_>>() == names(metric))
        })
    };
    queries(alarm).unwrap_or_default().iter().any(|query| {
        let parsed = query.expression.as_deref().and_then(|text| metricmath::parse(text).ok());
        query.metric_stat.as_ref().is_some_and(|stat| same(&stat.metric))
            || parsed.as_ref().is_some_and(selected)
    })
}

/// An alarm, looked at once.
struct Watch {
    queries: Vec<Query>,
    /// Of the query that the threshold is for.
    returned: String,
    period: u32,
    rule: Rule,
    ranges: Vec<u32>,
    /// Each series has a state of its own: a Metrics Insights query with GROUP BY.
    contributors: bool,
}

/// How it went so far, if CloudWatch looks back on one certain number of periods.
#[derive(Clone)]
struct Course {
    /// Those that the alarm may have.
    states: BTreeSet<State>,
    /// Those that each contributor may have, by the labels of their series.
    contributors: BTreeMap<String, BTreeSet<State>>,
}

impl Default for Course {
    fn default() -> Course {
        Course { states: BTreeSet::from([State::InsufficientData]), contributors: BTreeMap::new() }
    }
}

impl Watch {
    fn of(alarm: &Alarm) -> Result<Watch, NotModelled> {
        let queries = queries(alarm)?;
        let mut returned = queries.iter().filter(|query| query.return_data != Some(false));
        let (Some(query), None) = (returned.next(), returned.next()) else {
            return Err(not_modelled(alarm, "exactly one of its queries must return data"));
        };
        let mut periods = queries.iter().filter_map(period_of);
        let period = periods.next().unwrap_or_default();
        if periods.any(|other| other != period) {
            return Err(not_modelled(alarm, "its queries have periods of different lengths"));
        }
        if period == 0 || i64::from(period) % MINUTE != 0 {
            return Err(not_modelled(alarm, "only periods of whole minutes are modelled"));
        }
        let n = alarm.evaluation_periods;
        if n == 0 || !(1..=n).contains(&alarm.datapoints_to_alarm) {
            return Err(not_modelled(alarm, "found M of N that cannot be: allowed is 1 <= M <= N"));
        }
        if period.saturating_mul(n) > DAY {
            return Err(not_modelled(alarm, "one that looks back more than a day is evaluated hourly"));
        }
        let parsed = query.expression.as_deref().map(metricmath::parse).transpose();
        let parsed = parsed.map_err(|reason| NotModelled { query: query.id.clone(), reason })?;
        let selections = parsed.iter().flat_map(Expression::selections).collect::<Vec<_>>();
        let insights = !selections.is_empty();
        let contributors = selections.iter().any(|selection| !selection.group_by.is_empty());
        if contributors && !query.expression.as_deref().is_some_and(is_ordered) {
            return Err(not_modelled(alarm, "with GROUP BY, CloudWatch needs ORDER BY as well"));
        }
        if insights && period.saturating_mul(n) > INSIGHTS_SECONDS {
            return Err(not_modelled(alarm, "a Metrics Insights alarm sees three hours at most"));
        }
        if n > MOST_PERIODS {
            return Err(not_modelled(
                alarm,
                &format!("found {n} evaluation periods; known: at most {MOST_PERIODS}"),
            ));
        }
        let ranges = evaluation_ranges(n, period).collect();
        Ok(Watch {
            returned: query.id.clone(),
            period,
            rule: Rule::from(alarm),
            ranges,
            contributors,
            queries,
        })
    }

    fn evaluate(
        &self,
        samples: &Samples,
        end: i64,
        courses: &mut [Course],
    ) -> Result<Evaluation, NotModelled> {
        let n = self.rule.evaluation_periods;
        let mut found = Vec::new();
        let mut states = Vec::with_capacity(courses.len());
        for (course, range) in courses.iter_mut().zip(&self.ranges) {
            found = self.look(samples, end, *range)?;
            states.push(course.go_on(&self.rule, &found, self.contributors));
        }
        let seen = found.into_iter().map(|series| Seen {
            values: series.values.iter().skip(series.values.len().saturating_sub(n)).copied().collect(),
            ..series
        });
        Ok(Evaluation { states, seen: seen.collect() })
    }

    /// The whole evaluation range of each series that is returned.
    fn look(&self, samples: &Samples, end: i64, range: u32) -> Result<Vec<Seen>, NotModelled> {
        let from = end - i64::from(range) * i64::from(self.period);
        let window = Window { from, to: end, period: self.period };
        let mut all = metricmath::evaluate(&self.queries, samples, window, Purpose::Alarm)?;
        let series = all.remove(&self.returned).unwrap_or_default();
        if !self.contributors && series.len() > 1 {
            let reason = format!("found {} series; an alarm takes one", series.len());
            return Err(NotModelled { query: self.returned.clone(), reason });
        }
        let values = |series: &Series| {
            let starts = (0..range).map(|index| from + i64::from(index) * i64::from(self.period));
            starts.map(|start| series.points.get(&start).copied()).collect()
        };
        Ok(series.iter().map(|series| Seen { label: series.label.clone(), values: values(series) }).collect())
    }
}

impl Course {
    /// The possible states of the alarm after one more evaluation.
    fn go_on(&mut self, rule: &Rule, series: &[Seen], contributors: bool) -> BTreeSet<State> {
        // A contributor that is no longer returned is OK, and so it is when it comes back. For a query that returns none,
        // TreatMissingData counts ("Missing Data in CloudWatch Metrics Insights alarms").
        let known = std::mem::take(&mut self.contributors);
        for series in series.iter().filter(|_| contributors) {
            let before = known.get(&series.label).cloned().unwrap_or_else(|| BTreeSet::from([State::Ok]));
            self.contributors.insert(series.label.clone(), after(&before, rule.outcomes(&series.values)));
        }
        self.states = match self.contributors.is_empty() {
            true => {
                let values = series.first().map(|series| series.values.as_slice()).unwrap_or_default();
                after(&self.states, rule.outcomes(values))
            }
            false => together(self.contributors.values()),
        };
        self.states.clone()
    }
}

fn after(before: &BTreeSet<State>, outcomes: &[Outcome]) -> BTreeSet<State> {
    before.iter().flat_map(|state| outcomes.iter().map(|outcome| outcome.after(*state))).collect()
}

/// The states that an alarm of these contributors may have: ALARM while one of them is. None of them has insufficient
/// data, as there is none without data ("Acting on alarm changes").
fn together<'a>(contributors: impl Iterator<Item = &'a BTreeSet<State>> + Clone) -> BTreeSet<State> {
    let may = contributors.clone().any(|states| states.contains(&State::Alarm));
    let must = contributors.clone().any(|states| states.iter().eq([&State::Alarm]));
    let possible = [may.then_some(State::Alarm), (!must).then_some(State::Ok)];
    possible.into_iter().flatten().collect()
}

fn queries(alarm: &Alarm) -> Result<Vec<Query>, NotModelled> {
    if !alarm.metrics.is_empty() {
        return Ok(alarm.metrics.clone());
    }
    let (Some(namespace), Some(metric_name), Some(stat), Some(period)) =
        (&alarm.namespace, &alarm.metric_name, &alarm.statistic, alarm.period)
    else {
        return Err(not_modelled(alarm, "it has neither queries nor a metric with statistic and period"));
    };
    let metric = Metric {
        namespace: namespace.clone(),
        metric_name: metric_name.clone(),
        dimensions: alarm.dimensions.clone(),
    };
    Ok(vec![Query {
        id: "m1".to_owned(),
        metric_stat: Some(MetricStat { metric, period, stat: stat.clone() }),
        expression: None,
        label: None,
        period: None,
        return_data: None,
    }])
}

/// With ORDER BY ("Create a CloudWatch alarm based on a Metrics Insights query").
fn is_ordered(query: &str) -> bool {
    let words: Vec<String> = query.split_whitespace().map(str::to_ascii_uppercase).collect();
    words.windows(2).any(|pair| pair == ["ORDER", "BY"])
}

fn period_of(query: &Query) -> Option<u32> {
    query.metric_stat.as_ref().map(|stat| stat.period).or(query.period)
}

fn not_modelled(alarm: &Alarm, reason: &str) -> NotModelled {
    NotModelled { query: alarm.alarm_name.clone(), reason: reason.to_owned() }
}
