//! The alarms of a Region: which file system gets which, rendered from templates, and checked against CloudWatch's
//! limits.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Target;
use super::dashboards::BadTemplate;
use crate::alarm::Alarm;
use crate::model::FileSystemId;

/// Templates by the kind of alarm: `credits-low`.
pub type Templates = BTreeMap<String, Value>;

/// When alarms go off: the section `[alarms]` of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    pub credits_low_minutes: u64,
    pub depletion_page_minutes: u64,
    pub depletion_ticket_minutes: u64,
    /// Percent of the permitted throughput.
    pub throughput_percent: u64,
    /// Percent of the General Purpose limit.
    pub io_limit_percent: u64,
    pub client_latency_ms: u64,
    /// A web page; None: the EFS User Guide.
    pub runbook: Option<String>,
}

/// ARNs of who is told; at most five each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// Of alarms for which somebody is woken up.
    pub page: Vec<String>,
    /// Of alarms that wait for the morning.
    pub ticket: Vec<String>,
    /// Of the end of both.
    pub ok: Vec<String>,
}

/// An alarm to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// Its template.
    pub kind: String,
    /// None: it is of all of them.
    pub file_system: Option<FileSystemId>,
    pub alarm: Alarm,
}

/// An alarm that a file system does not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub kind: String,
    pub file_system: FileSystemId,
    /// Such as `elastic throughput has no burst credits`.
    pub reason: String,
}

/// All alarms of a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alarms {
    pub rendered: Vec<Rendered>,
    pub skipped: Vec<Skipped>,
}

/// efsmon's own templates and `added` (kind, JSON text), which take the place of one of the same kind.
///
/// # Errors
///
/// Those that are not JSON.
pub fn templates(added: &[(String, String)]) -> Result<Templates, Vec<BadTemplate>> {
    let _ = added;
    Ok(Templates::new())
}

/// The alarms of every file system of the target, and those of all of them together.
///
/// # Errors
///
/// Everything that CloudWatch would not take.
pub fn render(
    target: &Target,
    thresholds: &Thresholds,
    actions: &Actions,
    templates: &Templates,
) -> Result<Alarms, Vec<BadTemplate>> {
    let _ = (target, thresholds, actions, templates);
    Ok(Alarms::default())
}
