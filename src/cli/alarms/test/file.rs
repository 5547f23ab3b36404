//! A test file: which alarm, for which file system, what data, and what is expected. TOML.
//!
//! The format is explained in `dashboards/alarms/tests/credits-low.toml`.

use crate::alarm::rehearsal::Feed;
use crate::alarm::state::State;
use crate::catalog;
use crate::catalog::vended;
use crate::config::{Config, SETTINGS, Value};
use crate::credits::{FileSystem, GIB, ThroughputMode};
use crate::metricmath::{Dimension, Metric, StatisticSet};
use crate::model::FileSystemId;
use crate::names::printable;

use super::reader::{Mistakes, Reader, Table, Taken};
use super::values::{ALLOWED, ALLOWED_TIME, minutes, values};

/// Of a file system that is not given one.
const FILE_SYSTEM: &str = "fs-0123456789abcdef0";
/// 2026-01-05T00:00:00Z, a Monday.
const START: i64 = 1_767_571_200;

/// A test file that was read.
#[derive(Debug)]
pub struct TestFile {
    /// The kind of alarm: `credits-low`.
    pub alarm: String,
    /// With its own thresholds.
    pub config: Config,
    pub file_system: FileSystem,
    /// Seconds since 1970, of a minute.
    pub start: i64,
    /// Each with its line.
    pub series: Vec<(usize, Feed)>,
    pub expectations: Vec<Expectation>,
    /// How long it takes.
    pub minutes: usize,
}

/// What is expected of the alarm. Times are minutes since the start, 1 the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Where it stands in the file.
    pub line: usize,
    pub what: What,
}

/// One expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    State { at: usize, state: State },
    Always { from: usize, to: usize, state: State },
    Never { from: usize, to: usize, state: State },
    Changes { from: usize, to: usize, count: usize },
    NotRendered,
}

/// Reads a test file; `config` says what it does not say itself, and `kinds` which alarms there are.
///
/// # Errors
///
/// Every mistake, as `PATH:LINE: KEY: ..`.
pub fn read(path: &str, text: &str, config: &Config, kinds: &[&str]) -> Result<TestFile, Mistakes> {
    let mut reader = Reader::new(path, text);
    let Some(mut top) = reader.top() else { return Err(reader.mistakes()) };
    let file = file(&mut reader, &mut top, config, kinds);
    reader.finish(top);
    file.filter(|_| reader.wrong_so_far() == 0).ok_or_else(|| reader.mistakes())
}

fn file<'a>(
    reader: &mut Reader<'a>,
    top: &mut Table<'a>,
    config: &Config,
    kinds: &[&str],
) -> Option<TestFile> {
    let known = |value: &toml::Value| text(value).filter(|kind| kinds.contains(&kind.as_str()));
    let alarm = reader.required(top, "alarm", &kinds.join(", "), known);
    let start =
        reader.optional(top, "start", "a time of a whole minute, such as \"2026-01-05T00:00:00Z\"", start);
    let config = thresholds(reader, top, config.clone());
    let described = reader.table(top, "file_system").map(|table| file_system(reader, table));
    let file_system = match described {
        Some(file_system) => file_system,
        None => {
            reader.missing(top, "file_system", "a section [file_system] with its throughput mode");
            None
        }
    };
    let id = file_system.as_ref().map(|file_system| file_system.id.clone());
    let tables = reader.tables(top, "series");
    let series: Vec<_> =
        tables.into_iter().map(|table| series(reader, table, &config.namespace, id.as_ref())).collect();
    let longest = series.iter().flatten().map(|(_, feed)| feed.minutes.len()).max().unwrap_or_default();
    let mut tables = reader.tables(top, "expect");
    if !top.has("expect") {
        reader.missing(top, "expect", "at least one section [[expect]]");
    }
    let times = tables.iter_mut().flat_map(|table| ["at", "to"].map(|key| reader.glance(table, key, time)));
    let minutes = times.flatten().chain([longest, 1]).max().unwrap_or(1);
    let expectations: Vec<_> = tables.into_iter().map(|table| expectation(reader, table, minutes)).collect();
    Some(TestFile {
        alarm: alarm?,
        config,
        file_system: file_system?,
        start: start.unwrap_or(START),
        series: series.into_iter().collect::<Option<_>>()?,
        expectations: expectations.into_iter().collect::<Option<_>>()?,
        minutes,
    })
}

fn text(value: &toml::Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn time(value: &toml::Value) -> Option<usize> {
    minutes(value.as_str()?)
}

/// An evaluation ends the first minute: there is none at 0.
fn moment(value: &toml::Value) -> Option<usize> {
    time(value).filter(|minutes| *minutes > 0)
}

fn start(value: &toml::Value) -> Option<i64> {
    let written = match value {
        toml::Value::Datetime(time) => time.to_string(),
        other => text(other)?,
    };
    let timestamp: jiff::Timestamp = written.parse().ok()?;
    let whole = timestamp.subsec_nanosecond() == 0 && timestamp.as_second() % 60 == 0;
    // CloudWatch knows no time before 1970, and the sum with a week must not overflow.
    let fits = (0..253_000_000_000).contains(&timestamp.as_second());
    (whole && fits).then_some(timestamp.as_second())
}

/// Zero or more.
fn amount(value: &toml::Value) -> Option<f64> {
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64))?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn state(value: &toml::Value) -> Option<State> {
    State::ALL.into_iter().find(|state| value.as_str() == Some(state.name()))
}

const STATES: &str = "\"OK\", \"ALARM\" or \"INSUFFICIENT_DATA\"";

/// The section `[alarms]` of the configuration, as far as it is there.
fn thresholds<'a>(reader: &mut Reader<'a>, top: &mut Table<'a>, mut config: Config) -> Config {
    let Some(mut table) = reader.table(top, "alarms") else { return config };
    for setting in SETTINGS {
        let (Some("alarms"), key) = setting.section_and_name() else { continue };
        reader.optional(&mut table, key, setting.allowed, |value| {
            let value = match value {
                toml::Value::Integer(number) => Value::Integer(*number),
                toml::Value::String(text) => Value::Text(text.clone()),
                other => Value::Other(other.to_string()),
            };
            setting.put(&mut config, &value).ok()
        });
    }
    reader.finish(table);
    config
}

fn file_system<'a>(reader: &mut Reader<'a>, mut table: Table<'a>) -> Option<FileSystem> {
    let id = "fs- and 8 or 17 lower-case hex digits";
    let id = reader.optional(&mut table, "id", id, |value| value.as_str()?.parse::<FileSystemId>().ok());
    let modes = "\"bursting\", \"provisioned\" or \"elastic\"";
    let mode = reader.required(&mut table, "mode", modes, |value| match value.as_str()? {
        "bursting" => Some(ThroughputMode::Bursting),
        "provisioned" => Some(ThroughputMode::Provisioned { mibps: 0.0 }),
        "elastic" => Some(ThroughputMode::Elastic),
        _ => None,
    });
    let gib = reader.optional(&mut table, "standard_gib", "a number of GiB, 0 or more", amount);
    let mode = match mode {
        Some(ThroughputMode::Provisioned { .. }) => {
            let mibps = "a number of MiB/s, 0 or more, with mode = \"provisioned\"";
            let mibps = reader.required(&mut table, "provisioned_mibps", mibps, amount);
            mibps.map(|mibps| ThroughputMode::Provisioned { mibps })
        }
        mode => mode,
    };
    let yes = toml::Value::as_bool;
    let general_purpose = reader.optional(&mut table, "general_purpose", "true or false", yes);
    reader.finish(table);
    let id = id.or_else(|| FILE_SYSTEM.parse().ok());
    Some(FileSystem {
        id: id?,
        name: None,
        mode: mode?,
        general_purpose: general_purpose.unwrap_or(true),
        standard_bytes: (gib.unwrap_or_default() * GIB) as u64,
        infrequent_bytes: 0,
        archive_bytes: 0,
        zone: None,
    })
}

fn series<'a>(
    reader: &mut Reader<'a>,
    mut table: Table<'a>,
    ours: &str,
    id: Option<&FileSystemId>,
) -> Option<(usize, Feed)> {
    let line = table.line();
    let namespace =
        reader.optional(&mut table, "namespace", "a CloudWatch namespace, such as \"AWS/EFS\"", text);
    let names = "a metric of AWS/EFS or of efsmon; one of others, with its namespace";
    let metric = reader.required(&mut table, "metric", names, |value| {
        let name = text(value)?;
        let known = match (&namespace, vended::vended(&name), catalog::METRICS.iter().any(|m| m.name == name))
        {
            (Some(namespace), ..) => namespace.clone(),
            (None, Some(_), _) => vended::NAMESPACE.to_owned(),
            (None, None, true) => ours.to_owned(),
            (None, None, false) => return None,
        };
        Some((known, name))
    });
    let pairs = "a table of names and texts: all of its dimensions";
    let dimensions = reader.optional(&mut table, "dimensions", pairs, |value| {
        let pair = |(name, value): (&String, &toml::Value)| {
            Some(Dimension { name: name.clone(), value: value.as_str()?.to_owned() })
        };
        value.as_table()?.iter().map(pair).collect::<Option<Vec<_>>>()
    });
    let written = reader.take(&mut table, "values", ALLOWED, run_of_values);
    if !table.has("values") {
        reader.missing(&mut table, "values", ALLOWED);
    }
    let counts = "how many data each minute has: a number, or as values, with as many minutes; 0 or more";
    let length = written.as_ref().map(Vec::len);
    let counts = reader.optional(&mut table, "counts", counts, |value| match amount(value) {
        Some(count) => Some(vec![Some(count); length?]),
        None => run_of_values(value).ok().filter(|counts| {
            Some(counts.len()) == length && counts.iter().flatten().all(|count| *count >= 0.0)
        }),
    });
    let delay = reader.optional(&mut table, "delay", ALLOWED_TIME, time);
    reader.finish(table);
    let (namespace, metric_name) = metric?;
    let id = id?;
    let whole = || vec![Dimension { name: "FileSystemId".to_owned(), value: id.to_string() }];
    let metric = Metric { namespace, metric_name, dimensions: dimensions.unwrap_or_else(whole) };
    let written = written?;
    let counts = counts.unwrap_or_else(|| vec![Some(1.0); written.len()]);
    let minutes = written.iter().zip(counts).map(|(value, count)| set((*value)?, count?));
    Some((line, Feed { metric, minutes: minutes.collect(), delay: delay.unwrap_or_default() }))
}

/// One text, or a list of texts.
fn run_of_values(value: &toml::Value) -> Taken<Vec<Option<f64>>> {
    let texts: Vec<&str> = match value {
        toml::Value::Array(texts) => {
            texts.iter().map(toml::Value::as_str).collect::<Option<_>>().ok_or(None)?
        }
        other => vec![other.as_str().ok_or(None)?],
    };
    let text = texts.join(" ");
    let values = values(&text).map_err(|word| Some(printable(word.as_bytes())))?;
    if values.is_empty() { Err(None) } else { Ok(values) }
}

/// So many data of one value.
fn set(value: f64, count: f64) -> Option<StatisticSet> {
    (count > 0.0).then_some(StatisticSet { sum: value * count, count, minimum: value, maximum: value })
}

fn expectation<'a>(reader: &mut Reader<'a>, mut table: Table<'a>, end: usize) -> Option<Expectation> {
    let line = table.line();
    let before = reader.wrong_so_far();
    let at = reader.optional(&mut table, "at", ALLOWED_TIME, moment);
    let from = reader.optional(&mut table, "from", ALLOWED_TIME, moment);
    let to = reader.optional(&mut table, "to", ALLOWED_TIME, moment);
    let expected = reader.optional(&mut table, "state", STATES, state);
    let always = reader.optional(&mut table, "always", STATES, state);
    let never = reader.optional(&mut table, "never", STATES, state);
    let whole = "a whole number";
    let whole =
        reader.optional(&mut table, "changes", whole, |value| usize::try_from(value.as_integer()?).ok());
    let rendered = "false: the file system does not get this alarm";
    let rendered =
        reader.optional(&mut table, "rendered", rendered, |value| value.as_bool().filter(|yes| !yes));
    if reader.wrong_so_far() > before {
        reader.finish(table);
        return None;
    }
    let period = (from, to);
    let (from, to) = (from.unwrap_or(1), to.unwrap_or(end));
    let what = match (at, period, expected, always, never, whole, rendered) {
        (Some(at), (None, None), Some(state), None, None, None, None) => What::State { at, state },
        (None, _, None, Some(state), None, None, None) => What::Always { from, to, state },
        (None, _, None, None, Some(state), None, None) => What::Never { from, to, state },
        (None, _, None, None, None, Some(count), None) => What::Changes { from, to, count },
        (None, (None, None), None, None, None, None, Some(_)) => What::NotRendered,
        _ => {
            reader.clash(
                &table,
                "at and state; or one of always, never and changes, with from, to, both or neither; \
                                  or rendered = false",
            );
            reader.finish(table);
            return None;
        }
    };
    if from > to {
        reader.clash(&table, "from that is not after to");
    }
    reader.finish(table);
    Some(Expectation { line, what })
}
