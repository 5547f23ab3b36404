//! `efsmon alarms list`.

use std::io::Write;

use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::flags::file_system;
use super::situation::mark;
use crate::aws::alarms::{Alarms, Found};
use crate::cli::provision::{AccountFlags, wait, write_json};
use crate::names::printable;
use crate::provision::alarms::PREFIX;

/// List the Region's alarms that are called efsmon-.., of every owner, with their state
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    account: AccountFlags,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Writes a line for each alarm.
///
/// # Errors
///
/// A bad configuration, no credentials, what CloudWatch refuses.
pub fn run(args: &ListArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.account.config()?;
    let (region, found) = wait(async {
        let session = args.account.session(&config).await?;
        let found = Alarms::of(&session).beginning_with(PREFIX).await?;
        Ok((session.region().to_owned(), found))
    })?;
    if args.json {
        let alarms: Vec<Value> = found.iter().map(document).collect();
        return Ok(write_json(&json!({ "region": region, "alarms": alarms }), out)?);
    }
    if found.is_empty() {
        writeln!(out, "no alarm in {region} is called {PREFIX}..")?;
        return Ok(out.flush()?);
    }
    let mut rows = vec![["ALARM", "STATE", "SINCE", "ACTIONS", "OWNER"].map(str::to_owned)];
    rows.extend(found.iter().map(row));
    let widths: Vec<usize> =
        (0..5).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    out.flush()?;
    Ok(())
}

/// Whether CloudWatch does something when its state changes.
pub fn actions_enabled(found: &Found) -> bool {
    found.body.get("ActionsEnabled") == Some(&json!(true))
}

/// Its actions of that kind: `AlarmActions`, `OKActions`.
pub fn actions<'a>(found: &'a Found, kind: &str) -> impl Iterator<Item = &'a str> {
    found.body.get(kind).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn row(found: &Found) -> [String; 5] {
    let all = ["AlarmActions", "OKActions", "InsufficientDataActions"];
    let actions: usize = all.iter().map(|kind| actions(found, kind).count()).sum();
    [
        printable(found.name.as_bytes()),
        found.state.clone(),
        since(found).unwrap_or_else(|| "-".to_owned()),
        if actions_enabled(found) { actions.to_string() } else { "off".to_owned() },
        mark(found).map_or("-".to_owned(), |mark| mark.owner.to_string()),
    ]
}

fn since(found: &Found) -> Option<String> {
    Some(Timestamp::from_second(found.since?).ok()?.to_string())
}

fn document(found: &Found) -> Value {
    json!({
        "name": found.name,
        "state": found.state,
        "reason": found.reason,
        "since": since(found),
        "actions_enabled": actions_enabled(found),
        "alarm_actions": actions(found, "AlarmActions").collect::<Vec<_>>(),
        "ok_actions": actions(found, "OKActions").collect::<Vec<_>>(),
        "owner": mark(found).map(|mark| mark.owner.to_string()),
        "file_system": file_system(&found.name).map(|id| id.to_string()),
    })
}
