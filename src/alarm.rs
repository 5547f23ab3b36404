//! An alarm as CloudWatch takes it, and how CloudWatch decides on its state. Pure.

pub mod rehearsal;
pub mod state;

use serde::{Deserialize, Serialize};

use crate::metricmath::{Dimension, Query};

/// An alarm on a metric or on metric math (CloudWatch API Reference, PutMetricAlarm). Tags are left out: they count at
/// its creation only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Alarm {
    pub alarm_name: String,
    pub alarm_description: String,
    pub actions_enabled: bool,
    #[serde(default, rename = "OKActions")]
    pub ok_actions: Vec<String>,
    #[serde(default)]
    pub alarm_actions: Vec<String>,
    #[serde(default)]
    pub insufficient_data_actions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<Dimension>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<String>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u32>,
    /// In place of the five above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Query>,
    pub comparison_operator: Comparison,
    pub threshold: f64,
    /// N: how many of the latest periods count.
    pub evaluation_periods: u32,
    /// M: how many of them must be beyond the threshold.
    pub datapoints_to_alarm: u32,
    pub treat_missing_data: MissingData,
}

/// What is alarming about a value (PutMetricAlarm, `ComparisonOperator`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    GreaterThanOrEqualToThreshold,
    GreaterThanThreshold,
    LessThanThreshold,
    LessThanOrEqualToThreshold,
}

/// What a period without a value counts for (PutMetricAlarm, `TreatMissingData`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MissingData {
    Missing,
    NotBreaching,
    Breaching,
    Ignore,
}
