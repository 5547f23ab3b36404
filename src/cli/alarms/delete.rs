//! `efsmon alarms delete`.

use std::io::Write;

use clap::Args;

use super::report::alarms;
use super::situation::{self, PREFIX, mark};
use super::write;
use crate::aws::Session;
use crate::aws::alarms::Alarms;
use crate::cli::UsageError;
use crate::cli::provision::{TargetFlags, confirm, wait, write_json};
use crate::names::printable;
use crate::provision::Mark;

/// Delete alarms of ours: all of the owner's in the Region, or only those asked for
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    target: TargetFlags,
    /// Show what would be deleted, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Write JSON; needs --yes or --dry-run
    #[arg(long)]
    json: bool,
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
    if args.json && !args.yes && !args.dry_run {
        return Err(UsageError("--json needs --yes or --dry-run".to_owned()).into());
    }
    let config = args.target.config()?;
    let (client, region, found) = wait(async {
        let session = Session::open(args.target.region(&config)).await?;
        let client = Alarms::of(&session);
        let found = client.beginning_with(PREFIX).await?;
        Ok((client, session.region().to_owned(), found))
    })?;
    let ours = Mark { owner: args.target.owner().clone(), region: region.clone() };
    let systems = args.target.file_systems();
    let ours: Vec<String> = found
        .iter()
        .filter(|found| mark(found).as_ref() == Some(&ours))
        .map(|found| found.name.clone())
        .filter(|name| {
            systems.is_empty() || situation::file_system(name).is_some_and(|of| systems.contains(&of))
        })
        .collect();
    let is_of = |name: &String, wanted: &String| situation::names(wanted, name, &region);
    if let Some(nothing) = args.names.iter().find(|wanted| !ours.iter().any(|name| is_of(name, wanted))) {
        let nothing = printable(nothing.as_bytes());
        return Err(UsageError(format!(
            "no alarm of efsmon owner {} is {nothing:?}: efsmon alarms list --all names those that are there",
            args.target.owner()
        ))
        .into());
    }
    let wanted = |name: &String| args.names.is_empty() || args.names.iter().any(|wanted| is_of(name, wanted));
    let names: Vec<String> = ours.into_iter().filter(wanted).collect();
    if !args.json {
        names.iter().try_for_each(|name| writeln!(out, "delete  {}", printable(name.as_bytes())))?;
        out.flush()?;
    }
    if !names.is_empty() && !args.dry_run {
        confirm(&format!("Delete {}?", alarms(names.len())), "yes", args.yes)?;
        let work: Vec<_> = write::deletions(&names).collect();
        wait(write::all(&client, &work, &[]))?;
    }
    match args.json {
        true => write_json(&serde_json::json!({ "deleted": names, "applied": !args.dry_run }), out)?,
        false if names.is_empty() => writeln!(out, "no changes")?,
        false if args.dry_run => writeln!(out, "nothing was done: --dry-run")?,
        false => writeln!(out, "{} deleted", alarms(names.len()))?,
    }
    out.flush()?;
    Ok(())
}
