//! The report as one JSON object. The keys are a contract: more may come, none goes or changes.

use serde::{Serialize, Serializer};

use super::activity::Activity;
use crate::mountstats::{Operation, Problem, unescape};
use crate::names::{raw_hex, safe_json, utf8};

#[derive(Serialize)]
struct Report<'a> {
    /// When the reading was taken, RFC 3339; null for a file.
    time: Option<String>,
    mounts: Vec<Mount<'a>>,
    problems: Vec<Unread>,
}

#[derive(Serialize)]
struct Mount<'a> {
    mount_point: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mount_point_raw_hex: Option<String>,
    device: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_raw_hex: Option<String>,
    file_system_id: Option<String>,
    /// An earlier mount point of the same superblock, which shows the same counters; null without one.
    same_as: Option<String>,
    /// What the counters are counted from, as [`super::activity::Since::name`] says.
    since: &'static str,
    interval_seconds: f64,
    #[serde(serialize_with = "by_name")]
    operations: &'a [Operation<'a>],
}

#[derive(Serialize)]
struct Unread {
    line: usize,
    mount_point: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mount_point_raw_hex: Option<String>,
    reason: String,
}

/// One report on one line, without its end: deltas, or totals where there is nothing to compare with.
pub fn report(activities: &[Activity<'_>], problems: &[Problem<'_>], time: Option<String>) -> String {
    let report = Report {
        time,
        mounts: activities.iter().map(mount).collect(),
        problems: problems.iter().map(unread).collect(),
    };
    // Strings and numbers only: there is nothing that could fail.
    safe_json(&serde_json::to_string(&report).unwrap_or_default())
}

fn mount<'a>(activity: &'a Activity<'_>) -> Mount<'a> {
    let mount_point = unescape(activity.mount.mount_point);
    let device = activity.mount.device.map(unescape);
    Mount {
        mount_point: utf8(&mount_point),
        mount_point_raw_hex: raw_hex(&mount_point),
        device: device.as_deref().map(utf8),
        device_raw_hex: device.as_deref().and_then(raw_hex),
        file_system_id: activity.file_system_id.as_ref().map(ToString::to_string),
        same_as: activity.same_as.map(|path| utf8(&unescape(path))),
        since: activity.since.name(),
        interval_seconds: activity.seconds,
        operations: &activity.operations,
    }
}

fn unread(problem: &Problem<'_>) -> Unread {
    let mount_point = problem.mount_point.map(unescape);
    Unread {
        line: problem.line,
        mount_point: mount_point.as_deref().map(utf8),
        mount_point_raw_hex: mount_point.as_deref().and_then(raw_hex),
        reason: problem.reason.clone(),
    }
}

fn by_name<S: Serializer>(operations: &[Operation<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(operations.iter().map(|operation| (utf8(operation.name), operation.counters)))
}
