//! GetMetricData (CloudWatch API Reference) of metrics, from minutes that a test puts in. Expressions are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use ciborium::Value;

use super::{Refused, member, object, text};

const MAX_QUERIES: usize = 500;
const MAX_POINTS: usize = 100_800;
const STATISTICS: [&str; 5] = ["Sum", "Average", "Minimum", "Maximum", "SampleCount"];

/// A metric's identity: namespace, name, and its dimensions, whatever their order.
type Identity = (String, String, BTreeSet<(String, String)>);

/// The data of a minute.
#[derive(Clone, Copy, Debug)]
pub struct Minute {
    pub sum: f64,
    pub count: f64,
    pub minimum: f64,
    pub maximum: f64,
}

impl Minute {
    /// One datum.
    pub fn one(value: f64) -> Minute {
        Minute { sum: value, count: 1.0, minimum: value, maximum: value }
    }
}

/// A metric's name; the status and the message that its result has, once.
type Spoilt = (&'static str, &'static str, Option<(&'static str, &'static str)>);

#[derive(Default)]
pub struct MetricData {
    minutes: BTreeMap<Identity, BTreeMap<i64, Minute>>,
    /// Points of a page; none: as many as CloudWatch has.
    page: Option<usize>,
    spoilt: Vec<Spoilt>,
    /// Seconds since 1970, in place of the machine's.
    now: Option<i64>,
    /// What every answer says of itself.
    message: Option<(&'static str, &'static str)>,
}

impl MetricData {
    /// Data of the minute that begins at `at`, in seconds since 1970, of a metric of `AWS/EFS` with the one dimension
    /// `FileSystemId`.
    pub fn put(&mut self, file_system: &str, name: &str, at: i64, minute: Minute) {
        assert_eq!(at % 60, 0, "{at} is no whole minute");
        let dimensions = BTreeSet::from([("FileSystemId".to_owned(), file_system.to_owned())]);
        let identity = ("AWS/EFS".to_owned(), name.to_owned(), dimensions);
        self.minutes.entry(identity).or_default().insert(at, minute);
    }

    /// The time that the age of data is held against, in seconds since 1970, in place of the machine's.
    pub fn set_now(&mut self, now: i64) {
        self.now = Some(now);
    }

    /// Points of a page.
    pub fn set_page(&mut self, points: usize) {
        self.page = Some(points);
    }

    /// The next result of the metric has this status, this message, and none of its points.
    pub fn spoil(
        &mut self,
        metric: &'static str,
        status: &'static str,
        message: Option<(&'static str, &'static str)>,
    ) {
        self.spoilt.push((metric, status, message));
    }

    /// Every answer has this message, a code and a text.
    pub fn say(&mut self, code: &'static str, text: &'static str) {
        self.message = Some((code, text));
    }

    /// None: the operation is not one of these.
    pub fn answer(&mut self, operation: &str, body: &Value) -> Option<Result<Value, Refused>> {
        (operation == "GetMetricData").then(|| self.get(body))
    }

    fn get(&mut self, body: &Value) -> Result<Value, Refused> {
        let (from, to) = (time(body, "StartTime")?, time(body, "EndTime")?);
        if from >= to {
            return Err(invalid("The parameter StartTime must be less than the parameter EndTime."));
        }
        let ascending = match text(body, "ScanBy") {
            None | Some("TimestampDescending") => false,
            Some("TimestampAscending") => true,
            Some(other) => return Err(invalid(format!("ScanBy {other}"))),
        };
        let most = match member(body, "MaxDatapoints") {
            None => MAX_POINTS,
            Some(most) => match integer(most) {
                Some(most @ 1..=100_800) => most as usize,
                _ => return Err(invalid("The parameter MaxDatapoints must be between 1 and 100800.")),
            },
        };
        let most = self.page.map_or(most, |page| page.min(most));
        let queries = self.queries(body)?;
        let skipped: usize = match text(body, "NextToken") {
            None => 0,
            Some(token) => {
                let mark = format!("{}-{from}-{to}-", queries.len());
                let at = token.strip_prefix(&mark).and_then(|at| at.parse().ok());
                at.ok_or_else(|| Refused::new(400, "InvalidNextToken", "The next token is invalid."))?
            }
        };
        let (mut passed, mut left) = (0, most);
        let mut results = Vec::new();
        let mut is_whole = true;
        for query in &queries {
            let mut points = self.points(query, from, to);
            if !ascending {
                points.reverse();
            }
            let (before, number) = (passed, points.len());
            passed += number;
            let start = skipped.saturating_sub(before).min(number);
            let end = (start + left).min(number);
            left -= end - start;
            let mut status = if end < number { "PartialData" } else { "Complete" };
            is_whole &= end == number;
            let mut shown = &points[start..end];
            let mut messages = Vec::new();
            if let Some(index) = self.spoilt.iter().position(|(name, ..)| *name == query.metric.1) {
                let (_, spoilt, message) = self.spoilt.remove(index);
                (status, shown) = (spoilt, &[]);
                messages.extend(message.map(|(code, text)| self::message(code, text)));
            }
            if query.returns {
                let times = shown.iter().map(|(at, _)| Value::Tag(1, Box::new((*at).into())));
                results.push(object(vec![
                    ("Id", query.id.as_str().into()),
                    ("Label", query.label.as_str().into()),
                    ("Timestamps", Value::Array(times.collect())),
                    ("Values", Value::Array(shown.iter().map(|(_, value)| (*value).into()).collect())),
                    ("StatusCode", status.into()),
                    ("Messages", Value::Array(messages)),
                ]));
            }
        }
        let said = self.message.map(|(code, text)| message(code, text));
        let mut members = vec![
            ("MetricDataResults", Value::Array(results)),
            ("Messages", Value::Array(said.into_iter().collect())),
        ];
        if !is_whole {
            let token = format!("{}-{from}-{to}-{}", queries.len(), skipped + most);
            members.push(("NextToken", token.into()));
        }
        Ok(object(members))
    }

    fn queries(&self, body: &Value) -> Result<Vec<Query>, Refused> {
        let queries = member(body, "MetricDataQueries").and_then(Value::as_array);
        let queries = queries.ok_or_else(|| missing("MetricDataQueries"))?;
        if queries.is_empty() {
            return Err(missing("MetricDataQueries"));
        }
        if queries.len() > MAX_QUERIES {
            return Err(invalid(format!(
                "The collection MetricDataQueries must not have a size greater than {MAX_QUERIES}."
            )));
        }
        let queries: Vec<Query> = queries.iter().map(query).collect::<Result<_, _>>()?;
        let ids: BTreeSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
        match ids.len() == queries.len() {
            true => Ok(queries),
            false => Err(invalid("The values for parameter id in MetricDataQueries must be unique.")),
        }
    }

    /// The value of each period that has one, in time's order. Periods begin at multiples of themselves.
    fn points(&self, query: &Query, from: i64, to: i64) -> Vec<(i64, f64)> {
        let machine = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let age = self.now.unwrap_or_else(machine) - from;
        // Minutes are kept for 15 days, five minutes for 63.
        let finest = match age {
            ..=1_296_000 => 60,
            1_296_001..=5_443_200 => 300,
            _ => 3_600,
        };
        let Some(minutes) = self.minutes.get(&query.metric).filter(|_| query.period % finest == 0) else {
            return Vec::new();
        };
        let mut periods: BTreeMap<i64, Minute> = BTreeMap::new();
        for (at, minute) in minutes.range(from - from.rem_euclid(finest)..to) {
            let sum = periods.entry(at - at.rem_euclid(query.period)).or_insert(Minute {
                sum: 0.0,
                count: 0.0,
                minimum: f64::INFINITY,
                maximum: f64::NEG_INFINITY,
            });
            sum.sum += minute.sum;
            sum.count += minute.count;
            sum.minimum = sum.minimum.min(minute.minimum);
            sum.maximum = sum.maximum.max(minute.maximum);
        }
        let value = |minute: &Minute| match query.statistic.as_str() {
            "Sum" => minute.sum,
            "Average" => minute.sum / minute.count,
            "Minimum" => minute.minimum,
            "Maximum" => minute.maximum,
            _ => minute.count,
        };
        periods.iter().map(|(at, minute)| (*at, value(minute))).collect()
    }
}

struct Query {
    id: String,
    label: String,
    metric: Identity,
    period: i64,
    statistic: String,
    returns: bool,
}

fn query(asked: &Value) -> Result<Query, Refused> {
    let id = text(asked, "Id").ok_or_else(|| missing("MetricDataQueries.member.1.Id"))?;
    let mut letters = id.chars();
    let starts_well = letters.next().is_some_and(|first| first.is_ascii_lowercase());
    if !starts_well
        || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        || id.len() > 255
    {
        return Err(invalid(format!(
            "The value {id} for parameter id is not matching the expected pattern."
        )));
    }
    let stat = match (member(asked, "MetricStat"), text(asked, "Expression")) {
        (Some(stat), None) => stat,
        (None, Some(_)) => return Err(invalid("this double evaluates no expressions")),
        _ => return Err(invalid("Exactly one of MetricStat and Expression must be given.")),
    };
    if member(asked, "Period").is_some() {
        return Err(invalid("Period belongs to the MetricStat, or to an expression."));
    }
    let metric = member(stat, "Metric").ok_or_else(|| missing("Metric"))?;
    let namespace = text(metric, "Namespace").ok_or_else(|| missing("Namespace"))?;
    let name = text(metric, "MetricName").ok_or_else(|| missing("MetricName"))?;
    let dimensions = member(metric, "Dimensions").and_then(Value::as_array);
    let dimensions = dimensions.into_iter().flatten().map(|dimension| {
        let pair = (text(dimension, "Name"), text(dimension, "Value"));
        let (Some(name), Some(value)) = pair else { return Err(missing("Dimension")) };
        Ok((name.to_owned(), value.to_owned()))
    });
    let dimensions = dimensions.collect::<Result<_, _>>()?;
    let period = member(stat, "Period").and_then(integer).ok_or_else(|| missing("Period"))?;
    if period < 1 || (period % 60 != 0 && ![1, 5, 10, 20, 30].contains(&period)) {
        return Err(invalid(format!("The value {period} for parameter Period is not a multiple of 60.")));
    }
    let statistic = text(stat, "Stat").ok_or_else(|| missing("Stat"))?;
    if !STATISTICS.contains(&statistic) {
        return Err(invalid(format!("The value {statistic} for parameter Stat is not supported.")));
    }
    Ok(Query {
        id: id.to_owned(),
        label: text(asked, "Label").unwrap_or(name).to_owned(),
        metric: (namespace.to_owned(), name.to_owned(), dimensions),
        period,
        statistic: statistic.to_owned(),
        returns: member(asked, "ReturnData").and_then(Value::as_bool).unwrap_or(true),
    })
}

/// A time, in seconds since 1970, rounded down to the minute.
fn time(body: &Value, name: &str) -> Result<i64, Refused> {
    let Some(Value::Tag(1, seconds)) = member(body, name) else { return Err(missing(name)) };
    let seconds = match seconds.as_float() {
        Some(seconds) => seconds as i64,
        None => integer(seconds).ok_or_else(|| missing(name))?,
    };
    Ok(seconds - seconds.rem_euclid(60))
}

fn integer(value: &Value) -> Option<i64> {
    value.as_integer().and_then(|number| number.try_into().ok())
}

fn message(code: &str, text: &str) -> Value {
    object(vec![("Code", code.into()), ("Value", text.into())])
}

/// What the SDKs show of an answer of the query protocol.
fn invalid(message: impl Into<String>) -> Refused {
    Refused::new(400, "ValidationError", message)
}

fn missing(name: &str) -> Refused {
    Refused::new(400, "MissingParameter", format!("The parameter {name} is required."))
}
