//! What PutMetricAlarm refuses (CloudWatch API Reference, PutMetricAlarm, MetricDataQuery, MetricStat; CloudWatch User
//! Guide, "CloudWatch service quotas"). Alarms on anomaly bands and on PromQL are refused too: nobody here makes them.

use std::collections::BTreeSet;

use ciborium::Value;

use crate::fake::cloudwatch::{Refused, member, text};
use crate::fake::limits::UNITS;

const PAYLOAD: usize = 120 * 1024;
const STATISTICS: [&str; 5] = ["SampleCount", "Average", "Sum", "Minimum", "Maximum"];
const OPERATORS: [&str; 4] = [
    "GreaterThanOrEqualToThreshold",
    "GreaterThanThreshold",
    "LessThanThreshold",
    "LessThanOrEqualToThreshold",
];
const MISSING: [&str; 4] = ["missing", "notBreaching", "breaching", "ignore"];
/// Members of an alarm on a single metric.
const SINGLE: [&str; 7] =
    ["MetricName", "Namespace", "Dimensions", "Period", "Statistic", "ExtendedStatistic", "Unit"];

/// The members of a structure, and what each is.
type Shape = &'static [(&'static str, fn(&Value) -> bool)];

const ALARM: Shape = &[
    ("AlarmName", Value::is_text),
    ("AlarmDescription", Value::is_text),
    ("ActionsEnabled", Value::is_bool),
    ("OKActions", Value::is_array),
    ("AlarmActions", Value::is_array),
    ("InsufficientDataActions", Value::is_array),
    ("MetricName", Value::is_text),
    ("Namespace", Value::is_text),
    ("Statistic", Value::is_text),
    ("ExtendedStatistic", Value::is_text),
    ("Dimensions", Value::is_array),
    ("Period", Value::is_integer),
    ("Unit", is_unit),
    ("EvaluationPeriods", Value::is_integer),
    ("DatapointsToAlarm", Value::is_integer),
    ("Threshold", Value::is_float),
    ("ComparisonOperator", Value::is_text),
    ("TreatMissingData", Value::is_text),
    ("EvaluateLowSampleCountPercentile", Value::is_text),
    ("Metrics", Value::is_array),
    ("Tags", Value::is_array),
    ("EvaluationWindow", Value::is_map),
    ("WarmUpConfiguration", Value::is_map),
    ("ActionConfiguration", Value::is_map),
];
const QUERY: Shape = &[
    ("Id", Value::is_text),
    ("MetricStat", Value::is_map),
    ("Expression", Value::is_text),
    ("Label", Value::is_text),
    ("ReturnData", Value::is_bool),
    ("Period", Value::is_integer),
    ("AccountId", Value::is_text),
];
const STAT: Shape =
    &[("Metric", Value::is_map), ("Period", Value::is_integer), ("Stat", Value::is_text), ("Unit", is_unit)];
const METRIC: Shape =
    &[("Namespace", Value::is_text), ("MetricName", Value::is_text), ("Dimensions", Value::is_array)];
const DIMENSION: Shape = &[("Name", Value::is_text), ("Value", Value::is_text)];
const TAG: Shape = &[("Key", Value::is_text), ("Value", Value::is_text)];

type Checked<T = ()> = Result<T, Refused>;

/// The code that CloudWatch gives for everything that is wrong with an alarm.
pub fn invalid<T>(message: impl Into<String>) -> Checked<T> {
    Err(Refused::new(400, "ValidationError", message))
}

fn must(holds: bool, message: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { invalid(message) }
}

fn is_unit(unit: &Value) -> bool {
    unit.as_text().is_some_and(|unit| UNITS.contains(&unit))
}

/// Each member is one that there is, and what it must be.
fn shaped(structure: &Value, shape: Shape) -> Checked {
    for (name, value) in structure.as_map().into_iter().flatten() {
        let known = shape.iter().find(|(known, _)| name.as_text() == Some(known));
        must(known.is_some(), format!("{name:?} is no member"))?;
        must(known.is_some_and(|(_, is)| is(value)), format!("{name:?} is of another type"))?;
    }
    must(structure.is_map(), "a structure is missing")
}

/// Whether CloudWatch takes the alarm.
pub fn check(alarm: &Value) -> Checked {
    shaped(alarm, ALARM)?;
    let mut bytes = Vec::new();
    ciborium::into_writer(alarm, &mut bytes).unwrap();
    must(bytes.len() <= PAYLOAD, "the request is larger than 120 KB")?;
    let name = text(alarm, "AlarmName").unwrap_or_default();
    must((1..=255).contains(&name.chars().count()), "AlarmName must have 1 to 255 characters")?;
    let description = text(alarm, "AlarmDescription").unwrap_or_default();
    must(description.chars().count() <= 1024, "AlarmDescription must have at most 1024 characters")?;
    for kind in ["OKActions", "AlarmActions", "InsufficientDataActions"] {
        let actions = list(alarm, kind);
        must(actions.len() <= 5, format!("{kind} must hold at most 5"))?;
        let fits = |action: &Value| {
            action.as_text().is_some_and(|arn| arn.starts_with("arn:aws") && arn.len() <= 1024)
        };
        must(actions.iter().all(fits), format!("{kind}: invalid arn syntax"))?;
    }
    let tags = list(alarm, "Tags");
    must(tags.len() <= 50, "at most 50 tags")?;
    for tag in tags {
        shaped(tag, TAG)?;
        let fits = text(tag, "Key").is_some_and(|key| (1..=128).contains(&key.chars().count()))
            && text(tag, "Value").is_some_and(|value| value.chars().count() <= 256);
        must(fits, "a tag has a Key of 1 to 128 characters and a Value of at most 256")?;
    }
    let periods = integer(alarm, "EvaluationPeriods").unwrap_or(0);
    must(periods >= 1, "EvaluationPeriods must be at least 1")?;
    let datapoints = integer(alarm, "DatapointsToAlarm").unwrap_or(periods);
    must((1..=periods).contains(&datapoints), "DatapointsToAlarm must be from 1 to EvaluationPeriods")?;
    let missing = text(alarm, "TreatMissingData").unwrap_or("missing");
    must(MISSING.contains(&missing), "TreatMissingData is none that there is")?;
    let operator = text(alarm, "ComparisonOperator").unwrap_or_default();
    must(OPERATORS.contains(&operator), "ComparisonOperator is none that there is")?;
    must(member(alarm, "Threshold").is_some(), "Threshold is required")?;
    let period = match (member(alarm, "MetricName").is_some(), list(alarm, "Metrics")) {
        (true, []) => single(alarm)?,
        (false, metrics @ [_, ..]) => {
            for name in SINGLE {
                must(
                    list(alarm, name).is_empty() && member(alarm, name).is_none_or(Value::is_array),
                    format!("{name} must not be given with Metrics"),
                )?;
            }
            math(metrics)?
        }
        _ => return invalid("one of MetricName and Metrics must be given"),
    };
    let longest = if period < 3600 { 86_400 } else { 604_800 };
    must(period * periods <= longest, "EvaluationPeriods times Period is too long")
}

/// Its period.
fn single(alarm: &Value) -> Checked<i64> {
    series(alarm)?;
    let statistic = text(alarm, "Statistic");
    must(
        statistic.is_some() != text(alarm, "ExtendedStatistic").is_some(),
        "one of Statistic and ExtendedStatistic must be given",
    )?;
    must(statistic.is_none_or(|statistic| STATISTICS.contains(&statistic)), "no such Statistic")?;
    period(alarm)
}

/// The period that all have.
fn math(metrics: &[Value]) -> Checked<i64> {
    let stats = metrics.iter().filter(|query| member(query, "MetricStat").is_some()).count();
    must(stats <= 10 && metrics.len() - stats <= 10, "at most 10 metrics and 10 expressions")?;
    let returned = |query: &&Value| member(query, "ReturnData") != Some(&false.into());
    let returning = metrics.iter().filter(returned).count();
    must(returning == 1, "Exactly one element of the metrics list should return data.")?;
    let (mut ids, mut all) = (BTreeSet::new(), BTreeSet::new());
    for query in metrics {
        shaped(query, QUERY)?;
        let id = text(query, "Id").unwrap_or_default();
        let fits = id.starts_with(|first: char| first.is_ascii_lowercase())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && id.len() <= 255;
        must(fits && ids.insert(id), format!("Id {id:?} is taken or no id"))?;
        match (member(query, "MetricStat"), text(query, "Expression")) {
            (Some(stat), None) => {
                shaped(stat, STAT)?;
                let metric = member(stat, "Metric").unwrap_or(&Value::Null);
                shaped(metric, METRIC)?;
                series(metric)?;
                must(text(stat, "Stat").is_some_and(|stat| !stat.is_empty()), "Stat is required")?;
                all.insert(period(stat)?);
            }
            (None, Some(expression)) => {
                must((1..=2048).contains(&expression.len()), "Expression must have 1 to 2048 characters")?;
                must(!expression.contains("SEARCH("), "SEARCH is not supported on Metric Alarms.")?;
                let is_query = expression.trim_start().to_ascii_uppercase().starts_with("SELECT ");
                if is_query || member(query, "Period").is_some() {
                    all.insert(period(query)?);
                }
            }
            _ => return invalid(format!("{id}: one of MetricStat and Expression must be given")),
        }
    }
    must(all.len() == 1, "all metrics must have the same period")?;
    Ok(all.into_iter().next().unwrap())
}

/// Its namespace, name and dimensions.
fn series(metric: &Value) -> Checked {
    for name in ["Namespace", "MetricName"] {
        let length = text(metric, name).unwrap_or_default().len();
        must((1..=255).contains(&length), format!("{name} must have 1 to 255 characters"))?;
    }
    let namespace = text(metric, "Namespace").unwrap_or_default();
    must(!namespace.starts_with(':'), "Namespace must not start with a colon")?;
    let dimensions = list(metric, "Dimensions");
    must(dimensions.len() <= 30, "at most 30 dimensions")?;
    let mut names = BTreeSet::new();
    for dimension in dimensions {
        shaped(dimension, DIMENSION)?;
        let name = text(dimension, "Name").unwrap_or_default();
        let value = text(dimension, "Value").unwrap_or_default();
        let fits = (1..=255).contains(&name.len()) && (1..=1024).contains(&value.len());
        must(fits && names.insert(name), format!("dimension {name:?} is taken, too long or empty"))?;
    }
    Ok(())
}

fn period(of: &Value) -> Checked<i64> {
    let period = integer(of, "Period").unwrap_or(0);
    let fits = [10, 20, 30].contains(&period) || (period > 0 && period % 60 == 0);
    must(fits, "Period must be 10, 20, 30 or a multiple of 60")?;
    Ok(period)
}

pub fn integer(of: &Value, name: &str) -> Option<i64> {
    member(of, name)?.as_integer()?.try_into().ok()
}

fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    member(of, name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
