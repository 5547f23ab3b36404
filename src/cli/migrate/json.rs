//! The report for programs. Keys may be added; none goes or changes.

use serde_json::{Value, json};

use super::look::{Found, What};
use super::{Bill, Removal, Report, bill, goes_on, instead, metrics};
use crate::catalog::{CRON_SCRIPT_NAMESPACE, Profile, Scope};
use crate::names::utf8;

pub(super) fn of(report: &Report<'_>) -> Value {
    let removal = Removal::of(report.search);
    let commands = [removal.entries, removal.scripts].concat();
    let namespace = &report.config.namespace;
    let efsmon = instead(report.config.profile);
    let efsmon = efsmon.iter().map(|(metric, scope)| series(namespace, metric.name, scope.dimensions()));
    let compat = metrics(Scope::CronScript, Profile::Full);
    let compat =
        compat.map(|metric| series(CRON_SCRIPT_NAMESPACE, metric.name, Scope::CronScript.dimensions()));
    json!({
        "found": report.search.found.iter().map(found).collect::<Vec<_>>(),
        "not_looked_at": report.search.unread.iter().map(|unread| json!({
            "path": path(&unread.path),
            "crontab": unread.named_by.as_ref().map(|(crontab, _)| path(crontab)),
            "line": unread.named_by.as_ref().map(|(_, line)| line),
            "why": unread.why,
            "permission_denied": unread.denied,
        })).collect::<Vec<_>>(),
        "crontabs_read": report.search.crontabs,
        "efsmon_publishes": efsmon.collect::<Vec<_>>(),
        "compat": {
            "setting": "compat.cron_script",
            "is_on": report.config.compat.cron_script,
            "origin": report.config.origin("compat.cron_script").to_string(),
            "publishes": compat.collect::<Vec<_>>(),
            "cost": cost(report.compat),
        },
        "commands": commands,
    })
}

fn found(found: &Found) -> Value {
    let (what, named) = match &found.what {
        What::Inline(_) => ("inline", None),
        What::Runs { file, .. } => ("script", Some(file)),
        What::Misspelt { named, .. } => ("misspelt", Some(named)),
        What::Missing { named } => ("missing", Some(named)),
    };
    let script = found.what.script();
    let puts = script.map_or(&[][..], |script| &script.puts);
    let defects = script.map_or(&[][..], |script| &script.defects);
    json!({
        "crontab": path(&found.crontab.path),
        "line": found.entry.line,
        "text": found.entry.text,
        "user": found.entry.user,
        "schedule": found.entry.schedule,
        "runs_per_month": found.entry.runs_a_month(),
        "other_entries": found.others,
        "what": what,
        "names": named.map(|named| path(named)),
        "script": found.what.file().map(path),
        "runs": found.what.runs(),
        "publishes": puts.iter().map(|put| json!({
            "line": put.line,
            "namespace": put.namespace,
            "metric": put.metric,
            "dimensions": put.dimensions,
            "refused": put.dash.is_some(),
            "kept_by_compat": goes_on(put),
        })).collect::<Vec<_>>(),
        "defects": defects.iter().map(|defect| json!({
            "code": defect.code(),
            "text": defect.text(),
        })).collect::<Vec<_>>(),
        "appends_to": script.map(|script| &script.appends_to),
        "cost": bill(found).map(cost),
    })
}

fn series(namespace: &str, metric: &str, dimensions: &[&str]) -> Value {
    json!({ "namespace": namespace, "metric": metric, "dimensions": dimensions })
}

fn cost(bill: Bill) -> Value {
    json!({
        "series": bill.series,
        "series_usd": bill.series_cost().dollars(),
        "requests": bill.requests,
        "requests_usd_beyond_free": bill.request_cost().dollars(),
    })
}

fn path(path: &std::path::Path) -> String {
    utf8(path.as_os_str().as_encoded_bytes())
}
