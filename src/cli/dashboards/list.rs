//! `efsmon dashboards list`.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;

use super::super::provision::{AccountFlags, note, wait, write_json, write_table};
use super::comparison::look;
use super::counted;
use crate::aws::call::CallError;
use crate::aws::dashboards::{Dashboards, Entry};
use crate::cost::prices::thousands;
use crate::names::printable;
use crate::provision::Mark;
use crate::provision::dashboards::PREFIX;

/// Arguments of `efsmon dashboards list`
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    account: AccountFlags,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// A dashboard in the list.
struct Listed {
    entry: Entry,
    mark: Option<Mark>,
}

/// Writes the list.
///
/// # Errors
///
/// No region, no credentials; what CloudWatch refuses.
pub fn run(args: &ListArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.account.config()?;
    let (listed, unread) = wait(async {
        let session = args.account.session(&config).await?;
        list(&Dashboards::new(&session)).await
    })?;
    match args.json {
        true => {
            let dashboards: Vec<_> = listed.iter().map(as_json).collect();
            write_json(&json!({ "dashboards": dashboards }), out)?;
        }
        false => write(&listed, out)?,
    }
    for (name, error) in &unread {
        note(format_args!("{name}: {error}"));
    }
    match unread.len() {
        0 => Ok(()),
        unread => anyhow::bail!("whose they are is unknown of {}", counted(unread)),
    }
}

async fn list(dashboards: &Dashboards) -> anyhow::Result<(Vec<Listed>, Vec<(String, CallError)>)> {
    let entries = dashboards.list(PREFIX).await?;
    let names = entries.iter().map(|entry| entry.name.clone());
    let (mut found, unread) = look(dashboards, names).await;
    let listed = entries.into_iter().map(|entry| {
        let mark = found.remove(&entry.name).and_then(|found| found.mark);
        Listed { entry, mark }
    });
    Ok((listed.collect(), unread))
}

fn modified(listed: &Listed) -> Option<String> {
    Some(jiff::Timestamp::from_second(listed.entry.modified?).ok()?.to_string())
}

fn as_json(listed: &Listed) -> serde_json::Value {
    let mark = listed.mark.as_ref();
    json!({
        "name": listed.entry.name,
        "owner": mark.map(|mark| mark.owner.to_string()),
        "region": mark.map(|mark| mark.region.as_str()),
        "modified": modified(listed),
        "bytes": listed.entry.bytes,
    })
}

fn write(listed: &[Listed], out: &mut impl Write) -> io::Result<()> {
    if listed.is_empty() {
        writeln!(out, "no dashboard of this account is called {PREFIX}..")?;
        return out.flush();
    }
    let row = |listed: &Listed| {
        let mark = listed.mark.as_ref();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let bytes = listed.entry.bytes.and_then(|bytes| u64::try_from(bytes).ok());
        [
            printable(listed.entry.name.as_bytes()),
            or_dash(mark.map(|mark| mark.owner.to_string())),
            or_dash(mark.map(|mark| mark.region.clone())),
            or_dash(modified(listed)),
            or_dash(bytes.map(thousands)),
        ]
    };
    let titles = ["DASHBOARD", "OWNER", "REGION", "MODIFIED", "BYTES"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(titles).chain(listed.iter().map(row)).collect();
    write_table(&rows, &[4], out)
}
