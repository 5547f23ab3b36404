//! The alarms of a Region: which file system gets which, rendered from templates, and checked against CloudWatch's
//! limits.

mod asked;
mod estimate;
mod known;
mod limits;
mod values;
mod which;

use std::collections::BTreeMap;

use serde_json::Value;

use super::dashboards::BadTemplate;
use super::template::{Values, fill, names};
use super::{Mark, Target};
use crate::alarm::Alarm;
use crate::credits::FileSystem;
use crate::model::FileSystemId;

pub use estimate::{PAUSE, monthly_usd, time};

/// With what the names of all alarms of efsmon begin.
pub const PREFIX: &str = "efsmon-";

/// Templates by the kind of alarm: `credits-low`.
pub type Templates = BTreeMap<String, Value>;

/// When alarms go off: the section `[alarms]` of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// Minutes of bursting, 1 to 360.
    pub credits_low_minutes: u64,
    /// Minutes to depletion, 1 to 360.
    pub depletion_page_minutes: u64,
    /// Minutes to depletion, 1 to 360.
    pub depletion_ticket_minutes: u64,
    /// Percent of the permitted throughput, 1 to 100.
    pub throughput_percent: u64,
    /// Percent of the General Purpose limit, 1 to 100.
    pub io_limit_percent: u64,
    /// Milliseconds, 1 to 600,000.
    pub client_latency_ms: u64,
    /// A web page that every alarm's description points to, with the alarm's kind as its fragment; None: the EFS User
    /// Guide.
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
    /// By kind, each in the order of the file systems. No two have the same name.
    pub rendered: Vec<Rendered>,
    pub skipped: Vec<Skipped>,
}

macro_rules! own {
    ($kind:literal, $page:literal) => {
        Own {
            kind: $kind,
            text: include_str!(concat!("../../dashboards/alarms/", $kind, ".json")),
            page: $page,
        }
    };
}

/// A kind of alarm that comes with efsmon.
struct Own {
    kind: &'static str,
    text: &'static str,
    /// Where the EFS User Guide says what to do.
    page: &'static str,
}

const OWN: [Own; 9] = [
    own!("client-latency", "performance-tips"),
    own!("credits-any", "performance"),
    own!("credits-depletion-page", "performance"),
    own!("credits-depletion-ticket", "performance"),
    own!("credits-low", "performance"),
    own!("mount-stalled", "troubleshooting-efs-general"),
    own!("percent-io-limit", "performance"),
    own!("publisher-silent", "monitoring-cloudwatch"),
    own!("throughput-utilisation", "performance"),
];

/// efsmon's own templates and `added` (kind, JSON text), which take the place of one of the same kind.
///
/// # Errors
///
/// Those that are not JSON.
pub fn templates(added: &[(String, String)]) -> Result<Templates, Vec<BadTemplate>> {
    let own = OWN.iter().map(|own| (own.kind, own.text));
    let added = added.iter().map(|(kind, text)| (kind.as_str(), text.as_str()));
    let (mut templates, mut bad) = (Templates::new(), Vec::new());
    for (kind, text) in own.chain(added) {
        match serde_json::from_str(text) {
            Ok(template) => drop(templates.insert(kind.to_owned(), template)),
            Err(error) => bad.push(BadTemplate {
                template: kind.to_owned(),
                place: String::new(),
                reason: format!("is not JSON: {error}"),
            }),
        }
    }
    if bad.is_empty() { Ok(templates) } else { Err(bad) }
}

/// The alarms of every file system of the target, and those of all of them together: a template that names
/// `${FileSystemId}` is one of each, any other is rendered once.
///
/// # Errors
///
/// Everything that CloudWatch would not take, and what would never go off.
pub fn render(target: &Target, actions: &Actions, templates: &Templates) -> Result<Alarms, Vec<BadTemplate>> {
    let mut alarms = Alarms::default();
    let mut bad = Vec::new();
    for (kind, template) in templates {
        let each = names(template, "FileSystemId");
        let file_systems = target.file_systems.iter().map(Some).filter(|_| each);
        for file_system in file_systems.chain((!each).then_some(None)) {
            let values = values::values(kind, file_system, target, actions);
            let alarm = match filled(template, &values) {
                Ok(alarm) => alarm,
                Err(reason) => {
                    note(&mut bad, kind, Problem::new("", reason));
                    break;
                }
            };
            let mut problems = limits::problems(&alarm);
            problems.extend(ours(kind, &alarm, file_system, target));
            problems.extend(known::metrics(&alarm, target));
            // Queries that are no queries would only be complained of twice.
            if !problems.iter().any(|problem| problem.place.starts_with("Metrics")) {
                problems.extend(known::math(&alarm));
            }
            problems.into_iter().for_each(|problem| note(&mut bad, kind, problem));

            let kind = kind.clone();
            let id = file_system.map(|file_system| file_system.id.clone());
            match file_system
                .and_then(|file_system| Some((id.clone()?, which::skipped(&alarm, file_system)?)))
            {
                Some((file_system, reason)) => alarms.skipped.push(Skipped { kind, file_system, reason }),
                None => alarms.rendered.push(Rendered { kind, file_system: id, alarm }),
            }
        }
    }
    if bad.is_empty() { Ok(alarms) } else { Err(bad) }
}

/// Whether there are data for such an alarm of this file system.
pub fn concerns(alarm: &Alarm, file_system: &FileSystem) -> bool {
    which::skipped(alarm, file_system).is_none()
}

/// By what an alarm is known to be efsmon's, and whose.
pub fn mark_of(alarm: &Alarm) -> Option<Mark> {
    Mark::find(&alarm.alarm_description)
}

/// What is wrong with an alarm.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    /// The member, such as `AlarmName`; empty: the whole.
    place: String,
    reason: String,
}

impl Problem {
    fn new(place: impl Into<String>, reason: impl Into<String>) -> Problem {
        Problem { place: place.into(), reason: reason.into() }
    }
}

/// A template has the same problem for every file system: it is said once.
fn note(bad: &mut Vec<BadTemplate>, kind: &str, problem: Problem) {
    let place = if problem.place.is_empty() { String::new() } else { format!("{}: ", problem.place) };
    let found = BadTemplate { template: kind.to_owned(), place, reason: problem.reason };
    if !bad.contains(&found) {
        bad.push(found);
    }
}

fn filled(template: &Value, values: &Values) -> Result<Alarm, String> {
    let filled = fill(template, values).map_err(|error| error.to_string())?;
    serde_json::from_value(filled).map_err(|error| error.to_string())
}

/// What efsmon itself asks of an alarm, besides CloudWatch.
fn ours(kind: &str, alarm: &Alarm, file_system: Option<&FileSystem>, target: &Target) -> Vec<Problem> {
    let mut problems = Vec::new();
    let (whose, placeholder) = match file_system {
        Some(file_system) => (file_system.id.as_str(), "${FileSystemId}"),
        None => (target.region.as_str(), "${Region}"),
    };
    if alarm.alarm_name != format!("efsmon-{whose}-{kind}") {
        let reason = format!(
            "found {:?}; allowed: efsmon-{placeholder}-{kind}, so that none overwrites another",
            alarm.alarm_name
        );
        problems.push(Problem::new("AlarmName", reason));
    }
    if mark_of(alarm) != Some(target.mark()) {
        let reason = "must have ${Mark} in it: by it efsmon knows its alarms again";
        problems.push(Problem::new("AlarmDescription", reason));
    }
    if !alarm.actions_enabled {
        problems
            .push(Problem::new("ActionsEnabled", "found false, with which nobody is told; allowed: true"));
    }
    problems
}
