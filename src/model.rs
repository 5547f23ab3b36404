//! The nouns that every other module uses. No behaviour beyond making and printing them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An EFS file system: `fs-` and 8 or 17 lower-case hex digits (DescribeFileSystems, `FileSystemId`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileSystemId(Arc<str>);

/// An EFS access point: `fsap-` and 8 or 17 lower-case hex digits (DescribeAccessPoints, `AccessPointId`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AccessPointId(Arc<str>);

/// Why a text is not an EFS identifier.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{found:?} is not {prefix} followed by 8 or 17 lower-case hex digits")]
pub struct NotAnId {
    found: String,
    prefix: &'static str,
}

fn checked_id(text: &str, prefix: &'static str) -> Result<Arc<str>, NotAnId> {
    let digits = text.strip_prefix(prefix).unwrap_or("");
    let hex = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match hex && matches!(digits.len(), 8 | 17) {
        true => Ok(text.into()),
        false => Err(NotAnId { found: text.to_owned(), prefix }),
    }
}

macro_rules! identifier {
    ($name:ident, $prefix:literal) => {
        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                checked_id(text, $prefix).map(Self)
            }
        }
        impl TryFrom<String> for $name {
            type Error = NotAnId;
            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl $name {
            /// The identifier as AWS writes it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}

identifier!(FileSystemId, "fs-");
identifier!(AccessPointId, "fsap-");

/// A reading of both clocks, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment {
    /// Time of day: since 1970-01-01T00:00:00Z. May jump.
    pub wall: Duration,
    /// CLOCK_MONOTONIC: since boot, not counting suspend. Never jumps.
    pub monotonic: Duration,
}

/// A minute of UTC, the grain of every datum: the seconds since 1970 of its start, a multiple of 60.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Minute(i64);

impl Minute {
    /// The minute that `wall` (since 1970) lies in.
    pub fn of(wall: Duration) -> Minute {
        Minute(wall.as_secs() as i64 / 60 * 60)
    }

    /// The minute after this one.
    pub fn next(self) -> Minute {
        Minute(self.0 + 60)
    }

    /// Seconds since 1970 of its first instant: the timestamp of its data.
    pub fn seconds(self) -> i64 {
        self.0
    }

    /// Its first instant.
    pub fn start(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }

    /// The instant that it ends with, which belongs to the next one.
    pub fn end(self) -> Duration {
        self.next().start()
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(timestamp) => write!(f, "{timestamp}"),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

/// The CloudWatch units that efsmon uses (PutMetricData, `StandardUnit`). There is no MiB/s: that is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    Bytes,
    Count,
    Milliseconds,
    Percent,
    None,
}

impl Unit {
    /// The name that PutMetricData takes.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "Bytes",
            Unit::Count => "Count",
            Unit::Milliseconds => "Milliseconds",
            Unit::Percent => "Percent",
            Unit::None => "None",
        }
    }
}

/// One name and value of a dimension set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dimension {
    pub name: Cow<'static, str>,
    /// `None` stands for this host's id, which may arrive after the data; it is filled in when they are sent.
    pub value: Option<String>,
}

/// One metric of one minute, as PutMetricData takes it (`MetricDatum` with `Values` and `Counts`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Datum {
    pub metric: Cow<'static, str>,
    pub dimensions: Vec<Dimension>,
    pub timestamp: Minute,
    pub unit: Unit,
    /// Distinct moments' values; at most 150 a datum once it is in a [`Batch`].
    pub values: Vec<f64>,
    /// How often each value counts; as long as `values`.
    pub counts: Vec<f64>,
}

impl Datum {
    /// Whether a dimension still waits for this host's id.
    pub fn needs_host(&self) -> bool {
        self.dimensions.iter().any(|dimension| dimension.value.is_none())
    }

    /// Puts this host's id where it was waited for.
    pub fn name_host(&mut self, id: &str) {
        for dimension in self.dimensions.iter_mut().filter(|dimension| dimension.value.is_none()) {
            dimension.value = Some(id.to_owned());
        }
    }
}

/// What one PutMetricData request carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    pub namespace: String,
    pub data: Vec<Datum>,
}

/// What is known of this host's own id, the value of the `InstanceId` dimension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Host {
    /// Still being looked for: data that carry it wait.
    Pending,
    /// Found, and fixed for this process.
    Known(String),
    /// Not to be found: data that carry it are not published.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_8_or_17_lower_case_hex_digits() {
        for digits in ["01234567", "89abcdef", "0123456789abcdef0"] {
            assert_eq!(
                format!("fs-{digits}").parse::<FileSystemId>().unwrap().as_str(),
                format!("fs-{digits}")
            );
            assert_eq!(
                format!("fsap-{digits}").parse::<AccessPointId>().unwrap().to_string(),
                format!("fsap-{digits}")
            );
            assert!(format!("fsap-{digits}").parse::<FileSystemId>().is_err());
            assert!(format!("fs-{digits}").parse::<AccessPointId>().is_err());
            assert!(digits.parse::<FileSystemId>().is_err());
        }
        for digits in [
            "",
            "0123456",
            "012345678",
            "0123456789abcdef",
            "0123456789abcdef01",
            "0123456G",
            "0123456A",
            "0123456ü",
        ] {
            assert!(format!("fs-{digits}").parse::<FileSystemId>().is_err(), "{digits}");
        }
        let message = "\"fs-1\" is not fs- followed by 8 or 17 lower-case hex digits";
        assert_eq!("fs-1".parse::<FileSystemId>().unwrap_err().to_string(), message);
    }

    #[test]
    fn an_id_is_checked_when_it_is_read_back() {
        let id: FileSystemId = serde_json::from_str("\"fs-01234567\"").unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"fs-01234567\"");
        assert!(serde_json::from_str::<FileSystemId>("\"fs-0123456\"").is_err());
        assert!(serde_json::from_str::<AccessPointId>("7").is_err());
    }

    #[test]
    fn a_minute_is_the_60_seconds_that_a_moment_lies_in() {
        let minute = |milliseconds| Minute::of(Duration::from_millis(milliseconds)).seconds();
        assert_eq!((minute(0), minute(59_999), minute(60_000), minute(119_999)), (0, 0, 60, 60));
        let minute = Minute::of(Duration::from_secs(1_790_000_099));
        assert_eq!((minute.seconds(), minute.next().seconds()), (1_790_000_040, 1_790_000_100));
        assert_eq!(minute.end() - minute.start(), Duration::from_secs(60));
        assert_eq!(minute.to_string(), "2026-09-21T14:14:00Z");
        assert_eq!(serde_json::to_string(&minute).unwrap(), "1790000040");
    }

    #[test]
    fn a_datum_waits_for_the_host_as_long_as_a_dimension_does() {
        let dimension = |name: &'static str, value: Option<&str>| Dimension {
            name: name.into(),
            value: value.map(str::to_owned),
        };
        let mut datum = Datum {
            metric: "Hosts".into(),
            dimensions: vec![dimension("FileSystemId", Some("fs-01234567"))],
            timestamp: Minute::of(Duration::ZERO),
            unit: Unit::Count,
            values: vec![1.0],
            counts: vec![1.0],
        };
        assert!(!datum.needs_host());
        datum.dimensions.push(dimension("InstanceId", None));
        assert!(datum.needs_host());
        datum.dimensions.clear();
        assert!(!datum.needs_host());
    }
}
