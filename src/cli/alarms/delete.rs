//! `efsmon alarms delete`.

use std::io::{self, Write};

use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};

use super::flags;
use super::report::alarms;
use super::write;
use crate::aws::alarms::{Alarms, Found};
use crate::cli::provision::{AccountFlags, WriteFlags, confirm, wait, write_json};
use crate::config::Config;
use crate::names::printable;
use crate::provision::alarms::PREFIX;
use crate::provision::plan::whose;
use crate::provision::{Mark, Owner};

/// Delete alarms of ours: all of the owner's in the Region, or only those asked for
///
/// Shows them and asks first. What is another owner's, or nobody's, is left alone.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    account: AccountFlags,
    /// Whose they are: those of another owner are left alone
    #[arg(long, value_name = "NAME", default_value = "efsmon")]
    owner: Owner,
    #[command(flatten)]
    write: WriteFlags,
    /// Only these: a kind (credits-low), a file system, or an alarm's whole name
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// Deletes them after a confirmation.
///
/// # Errors
///
/// A bad configuration, no credentials, what CloudWatch refuses, an answer that is not yes, a NAME of nothing.
pub fn run(args: &DeleteArgs, out: &mut impl Write) -> anyhow::Result<()> {
    args.write.check()?;
    let config = args.account.config()?;
    wait(delete(args, &config, out))
}

async fn delete(args: &DeleteArgs, config: &Config, out: &mut impl Write) -> anyhow::Result<()> {
    let session = args.account.session(config).await?;
    let client = Alarms::of(&session);
    let found = client.beginning_with(PREFIX).await?;
    let mark = Mark { owner: args.owner.clone(), region: session.region().to_owned() };
    let ours = wanted(args, &mark, &found)?;
    let shown = if args.write.json { Ok(()) } else { write_plan(&ours, &mark, out) };
    // What was decided is done, even when nobody reads about it any more.
    let shown = if args.write.yes { shown } else { Ok(shown?) };
    let (mut done, mut failed) = (0, None);
    if !ours.is_empty() && !args.write.dry_run {
        confirm(&format!("Delete {} of {mark}?", alarms(ours.len())), "delete", args.write.yes)?;
        let work: Vec<_> = write::deletions(&ours).collect();
        failed = write::all(&client, &work, &[], &mut done).await.err();
    }
    let told = if args.write.json {
        let row = |(number, name): (usize, &String)| json!({ "name": name, "deleted": number < done });
        let rows: Vec<Value> = ours.iter().enumerate().map(row).collect();
        let owner = mark.owner.to_string();
        write_json(&json!({ "region": mark.region, "owner": owner, "alarms": rows }), out)
    } else {
        shown
    };
    if let Some(error) = failed {
        return Err(error);
    }
    told?;
    if !args.write.json && !ours.is_empty() {
        match args.write.dry_run {
            true => writeln!(out, "nothing was done: --dry-run")?,
            false => writeln!(out, "{} deleted", alarms(done))?,
        }
        out.flush()?;
    }
    Ok(())
}

fn write_plan(ours: &[String], mark: &Mark, out: &mut impl Write) -> io::Result<()> {
    if ours.is_empty() {
        writeln!(out, "nothing to delete: there is no alarm of {mark}")?;
    }
    for name in ours {
        writeln!(out, "  delete  {}", printable(name.as_bytes()))?;
    }
    out.flush()
}

/// The names of those that are ours, all or those asked for.
fn wanted(args: &DeleteArgs, mark: &Mark, found: &[Found]) -> anyhow::Result<Vec<String>> {
    let is = |found: &Found, wanted: &String| flags::names(wanted, &found.name, &mark.region);
    let (ours, others): (Vec<&Found>, Vec<&Found>) =
        found.iter().partition(|found| found.mark().as_ref() == Some(mark));
    let is_ours = |wanted: &&String| ours.iter().any(|found| is(found, wanted));
    if let Some(wanted) = args.names.iter().find(|wanted| !is_ours(wanted)) {
        let Some(other) = others.iter().find(|found| is(found, wanted)) else {
            bail!("found NAME {wanted:?}, and no alarm of {mark} is that: efsmon alarms list");
        };
        let (name, whose) = (printable(other.name.as_bytes()), whose(other.mark().as_ref()));
        bail!("{name} {whose}; delete it in the console");
    }
    let asked = |found: &&Found| args.names.is_empty() || args.names.iter().any(|wanted| is(found, wanted));
    Ok(ours.into_iter().filter(asked).map(|found| found.name.clone()).collect())
}
