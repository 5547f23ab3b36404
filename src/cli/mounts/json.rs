//! The list of mounts as JSON, a contract with programs: keys are added, none changes its meaning.

use serde_json::{Map, Value, json};

use super::row::Row;
use crate::efs::Answer;
use crate::health::{Finding, HostPlace};
use crate::mountstats::{Problem, unescape};
use crate::names::{raw_hex, utf8};
use crate::source::View;

/// The whole object. `notes` are what a person reads on standard error.
pub fn object(
    rows: &[Row<'_>],
    view: View,
    host: &HostPlace,
    problems: &[Problem<'_>],
    notes: &[String],
) -> Value {
    json!({
        "mounts": rows.iter().map(mount).collect::<Vec<_>>(),
        "problems": problems.iter().map(problem).collect::<Vec<_>>(),
        "view": view,
        "host_region": host.region,
        "host_zone": host.zone,
        "host_zone_id": host.zone_id,
        "notes": notes,
    })
}

fn mount(row: &Row<'_>) -> Value {
    let kind = match &row.answer {
        Answer::Efs(_) => "efs",
        Answer::S3Files => "s3files",
        Answer::NotEfs(_) => "nfs",
        Answer::Pending(_) => "unknown",
    };
    let identity = row.efs();
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("kind", json!(kind));
    put("file_system_id", json!(identity.map(|identity| identity.file_system.as_str())));
    let access_point = identity.and_then(|identity| identity.access_point.as_ref());
    put("access_point_id", json!(access_point.map(|id| id.as_str())));
    put("region", json!(identity.and_then(|identity| identity.region.as_ref())));
    put("mount_target", json!(identity.and_then(|identity| identity.mount_target.as_ref())));
    put("zone", json!(identity.and_then(|identity| identity.zone.as_ref())));
    put("superblock", json!(row.number.map(|number| number.to_string())));
    put("stalled", json!(row.stalled));
    put("findings", row.findings.iter().map(finding).collect());
    put_name(&mut object, "mount_point", Some(row.record.mount_point));
    put_name(&mut object, "device", row.record.device);
    put_name(&mut object, "fs_type", Some(row.record.fs_type));
    put_name(&mut object, "same_as", row.same_as);
    Value::Object(object)
}

fn finding(finding: &Finding) -> Value {
    json!({ "code": finding.code, "severity": finding.severity.name(), "text": finding.text })
}

fn problem(problem: &Problem<'_>) -> Value {
    let mut object = Map::new();
    object.insert("line".into(), json!(problem.line));
    put_name(&mut object, "mount_point", problem.mount_point);
    object.insert("reason".into(), json!(problem.reason));
    Value::Object(object)
}

/// A name, and its bytes beside it when it is not UTF-8.
fn put_name(object: &mut Map<String, Value>, key: &str, printed: Option<&[u8]>) {
    let name = printed.map(unescape);
    object.insert(key.into(), json!(name.as_deref().map(utf8)));
    if let Some(hex) = name.as_deref().and_then(raw_hex) {
        object.insert(format!("{key}_raw_hex"), json!(hex));
    }
}
