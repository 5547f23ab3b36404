//! CloudWatch's metric math and Metrics Insights, as far as efsmon's dashboards and alarms use them: parsed, checked
//! and evaluated on data that the caller has. Pure.
//!
//! What lies outside of that is named ([`NotModelled`]), never guessed.

mod aggregate;
mod evaluate;
mod expression;
mod functions;
mod insights;
mod math;
mod samples;
mod search;
mod selection;
mod terms;
mod text;
mod value;
mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use evaluate::evaluate;
pub use expression::{Expression, parse};
pub use samples::{Samples, Statistic, StatisticSet};
pub use selection::{Filter, Selection};
pub use window::Window;

/// One of the queries of an alarm or of GetMetricData (CloudWatch API Reference, MetricDataQuery): a metric or an
/// expression, never both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Query {
    /// Starts with a lower-case letter; expressions name it.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_stat: Option<MetricStat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Seconds, of an expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u32>,
    /// CloudWatch takes a missing one for true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_data: Option<bool>,
}

/// A metric, and how its data become one value for each period (MetricStat).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct MetricStat {
    pub metric: Metric,
    /// Seconds.
    pub period: u32,
    /// `Sum`, `Average`, `Minimum`, `Maximum` or `SampleCount`.
    pub stat: String,
}

/// A metric's whole identity (Metric).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Metric {
    pub namespace: String,
    pub metric_name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<Dimension>,
}

/// A metric's dimension (Dimension).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Dimension {
    pub name: String,
    pub value: String,
}

/// A series: the start of a period, in seconds since 1970, and its value. A period without a value is absent.
pub type Points = BTreeMap<i64, f64>;

/// A part of a query that is not modelled here, or that CloudWatch refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{query}: {reason}")]
pub struct NotModelled {
    /// The id of the query.
    pub query: String,
    /// What was found, and what is known here.
    pub reason: String,
}

/// What the queries are for: an alarm may not use every function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Graph,
    Alarm,
}

/// One of the series that a query gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub label: String,
    pub points: Points,
}
