//! `efsmon alarms list`.

use std::io::Write;

use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::flags::file_system;
use crate::aws::alarms::{Alarms, Found};
use crate::cli::provision::{AccountFlags, wait, write_json, write_table};
use crate::names::printable;
use crate::provision::alarms::PREFIX;

/// List the Region's alarms that are called efsmon-.., of every owner, with their state
///
/// Since when they are in it, whom they tell, and whose they are.
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
    Ok(write_table(&rows, &[], out)?)
}

fn row(found: &Found) -> [String; 5] {
    let all = ["AlarmActions", "OKActions", "InsufficientDataActions"];
    let actions: usize = all.iter().map(|kind| found.actions(kind).count()).sum();
    [
        printable(found.name.as_bytes()),
        found.state.clone(),
        since(found).unwrap_or_else(|| "-".to_owned()),
        if found.actions_enabled() { actions.to_string() } else { "off".to_owned() },
        found.mark().map_or("-".to_owned(), |mark| mark.owner.to_string()),
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
        "actions_enabled": found.actions_enabled(),
        "alarm_actions": found.actions("AlarmActions").collect::<Vec<_>>(),
        "ok_actions": found.actions("OKActions").collect::<Vec<_>>(),
        "owner": found.mark().map(|mark| mark.owner.to_string()),
        "file_system": file_system(&found.name).map(|id| id.to_string()),
    })
}
