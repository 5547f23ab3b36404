//! What PutMetricData refuses (CloudWatch API Reference, PutMetricData, MetricDatum, Dimension; CloudWatch User
//! Guide, "CloudWatch service quotas"). Where a limit can be read in two ways, the smaller one holds here.

use std::collections::BTreeSet;
use std::time::Duration;

use ciborium::Value;

/// A datum as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    pub namespace: String,
    pub metric: String,
    /// In the order sent.
    pub dimensions: Vec<(String, String)>,
    /// Seconds since 1970; None: the time of arrival.
    pub timestamp: Option<i64>,
    pub unit: String,
    /// `Value` is one value with the count 1; `StatisticValues` leave this empty.
    pub values: Vec<f64>,
    pub counts: Vec<f64>,
}

/// An error of the query protocol: its code and a message. Status 400 but for `RequestEntityTooLarge`.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
}

pub const BODY: usize = 1_000_000;
const METRICS: usize = 1000;
const DIMENSIONS: usize = 30;
const VALUES: usize = 150;
const NAME: usize = 255;
const DIMENSION_VALUE: usize = 1024;
const PAST: f64 = 14.0 * 86_400.0;
const FUTURE: f64 = 2.0 * 3600.0;
/// 2^360.
const LARGEST: f64 = 2.348_542_582_773_833_2e108;
/// 2^-360, which an older edition of MetricDatum named as the lower end.
const SMALLEST: f64 = 4.257_959_840_008_151e-109;

pub const UNITS: [&str; 27] = [
    "Seconds",
    "Microseconds",
    "Milliseconds",
    "Bytes",
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Bits",
    "Kilobits",
    "Megabits",
    "Gigabits",
    "Terabits",
    "Percent",
    "Count",
    "Bytes/Second",
    "Kilobytes/Second",
    "Megabytes/Second",
    "Gigabytes/Second",
    "Terabytes/Second",
    "Bits/Second",
    "Kilobits/Second",
    "Megabits/Second",
    "Gigabits/Second",
    "Terabits/Second",
    "Count/Second",
    "None",
];

type Checked<T> = Result<T, Refusal>;

fn refuse<T>(code: &'static str, message: String) -> Checked<T> {
    Err(Refusal { code, message })
}

fn invalid<T>(message: String) -> Checked<T> {
    refuse("InvalidParameterValue", message)
}

fn missing<T>(name: &str) -> Checked<T> {
    refuse("MissingParameter", format!("{name} is required"))
}

/// All data of a request, or why it is refused: one bad datum refuses them all.
pub fn check(body: &[u8], now: Duration) -> Checked<Vec<Recorded>> {
    if body.len() > BODY {
        return refuse("RequestEntityTooLarge", format!("{} bytes, at most {BODY}", body.len()));
    }
    let Ok(input) = ciborium::from_reader::<Value, _>(body) else {
        return refuse("SerializationException", "the body is not CBOR".to_owned());
    };
    let namespace = namespace(&input)?;
    let data = match field(&input, "MetricData") {
        Some(Value::Array(data)) if !data.is_empty() => data,
        _ => return missing("MetricData"),
    };
    if data.len() > METRICS {
        return invalid(format!("MetricData holds {}, at most {METRICS}", data.len()));
    }
    data.iter().enumerate().map(|(i, datum)| self::datum(datum, &namespace, i + 1, now)).collect()
}

fn namespace(input: &Value) -> Checked<String> {
    let Some(namespace) = text(input, "Namespace") else { return missing("Namespace") };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_/#: ".contains(&byte);
    if namespace.is_empty()
        || namespace.len() > NAME
        || !namespace.bytes().all(allowed)
        || namespace.starts_with(':')
    {
        return invalid(format!("Namespace {namespace:?}"));
    }
    if namespace.starts_with("AWS/") {
        return invalid(format!("Namespace {namespace:?} is AWS's own"));
    }
    Ok(namespace)
}

fn datum(datum: &Value, namespace: &str, index: usize, now: Duration) -> Checked<Recorded> {
    let at = format!("MetricData.member.{index}");
    let Some(metric) = text(datum, "MetricName") else { return missing(&format!("{at}.MetricName")) };
    if !printable(&metric) || metric.len() > NAME {
        return invalid(format!("{at}.MetricName {metric:?}"));
    }
    let unit = text(datum, "Unit").unwrap_or_else(|| "None".to_owned());
    if !UNITS.contains(&unit.as_str()) {
        return invalid(format!("{at}.Unit {unit:?}"));
    }
    let resolution = field(datum, "StorageResolution").unwrap_or(&Value::Null);
    if ![Value::Null, 1.into(), 60.into()].contains(resolution) {
        return invalid(format!("{at}.StorageResolution {resolution:?}"));
    }
    let dimensions = dimensions(datum, &at)?;
    let timestamp = timestamp(datum, &at, now)?;
    let (values, counts) = values(datum, &at)?;
    Ok(Recorded { namespace: namespace.to_owned(), metric, dimensions, timestamp, unit, values, counts })
}

fn dimensions(datum: &Value, at: &str) -> Checked<Vec<(String, String)>> {
    let Some(dimensions) = array(datum, "Dimensions") else { return Ok(Vec::new()) };
    if dimensions.len() > DIMENSIONS {
        return invalid(format!("{at} has {} dimensions, at most {DIMENSIONS}", dimensions.len()));
    }
    let mut names = BTreeSet::new();
    let mut pairs = Vec::new();
    for dimension in dimensions {
        let Some(name) = text(dimension, "Name") else { return missing(&format!("{at}.Dimensions.Name")) };
        let Some(value) = text(dimension, "Value") else { return missing(&format!("{at}.Dimensions.Value")) };
        if !printable(&name) || name.len() > NAME || name.starts_with(':') {
            return invalid(format!("{at}: dimension name {name:?}"));
        }
        if !printable(&value) || value.len() > DIMENSION_VALUE {
            return invalid(format!("{at}: value {value:?} of dimension {name}"));
        }
        if !names.insert(name.clone()) {
            return invalid(format!("{at}: dimension {name} twice"));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// ASCII without control characters, and not only blanks.
fn printable(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && !text.trim().is_empty()
}

/// An epoch-seconds tag (1) around a number.
fn timestamp(datum: &Value, at: &str, now: Duration) -> Checked<Option<i64>> {
    let seconds = match field(datum, "Timestamp") {
        None => return Ok(None),
        Some(Value::Tag(1, seconds)) => number(seconds),
        Some(_) => None,
    };
    let Some(seconds) = seconds else {
        return refuse("SerializationException", format!("{at}.Timestamp is not a time"));
    };
    let age = now.as_secs_f64() - seconds;
    if !(-FUTURE..=PAST).contains(&age) {
        return invalid(format!("{at}.Timestamp is not within two weeks past and two hours ahead"));
    }
    Ok(Some(seconds as i64))
}

fn values(datum: &Value, at: &str) -> Checked<(Vec<f64>, Vec<f64>)> {
    let kinds = ["Value", "Values", "StatisticValues"].map(|name| field(datum, name).is_some());
    match kinds.iter().filter(|given| **given).count() {
        0 => return missing(&format!("one of {at}.Value, Values and StatisticValues")),
        1 => {}
        _ => {
            let message = format!("{at}: Value, Values and StatisticValues exclude each other");
            return refuse("InvalidParameterCombination", message);
        }
    }
    if let Some(value) = field(datum, "Value") {
        return Ok((vec![in_range(value, at)?], vec![1.0]));
    }
    if let Some(statistics) = field(datum, "StatisticValues") {
        for name in ["SampleCount", "Sum", "Minimum", "Maximum"] {
            match field(statistics, name) {
                Some(value) => in_range(value, at)?,
                None => return missing(&format!("{at}.StatisticValues.{name}")),
            };
        }
        return Ok((Vec::new(), Vec::new()));
    }
    let values = array(datum, "Values").unwrap_or_default();
    if values.is_empty() || values.len() > VALUES {
        return invalid(format!("{at} has {} values, 1 to {VALUES} are allowed", values.len()));
    }
    let values = values.iter().map(|value| in_range(value, at)).collect::<Checked<Vec<_>>>()?;
    let counts = match array(datum, "Counts") {
        None => vec![1.0; values.len()],
        Some(counts) => counts.iter().map(|count| in_range(count, at)).collect::<Checked<Vec<_>>>()?,
    };
    if counts.len() != values.len() {
        return invalid(format!("{at} has {} values and {} counts", values.len(), counts.len()));
    }
    if counts.iter().any(|count| *count < 0.0) {
        return invalid(format!("{at} has a negative count"));
    }
    Ok((values, counts))
}

fn in_range(value: &Value, at: &str) -> Checked<f64> {
    match number(value) {
        Some(value) if value == 0.0 || (SMALLEST..=LARGEST).contains(&value.abs()) => Ok(value),
        Some(value) => invalid(format!("{at}: value {value:e}")),
        None => refuse("SerializationException", format!("{at}: not a number")),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Integer(number) => Some(i128::from(*number) as f64),
        _ => None,
    }
}

fn field<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
}

fn text(map: &Value, name: &str) -> Option<String> {
    field(map, name)?.as_text().map(str::to_owned)
}

fn array<'a>(map: &'a Value, name: &str) -> Option<&'a [Value]> {
    field(map, name)?.as_array().map(Vec::as_slice)
}
