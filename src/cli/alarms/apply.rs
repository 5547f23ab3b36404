//! `efsmon alarms apply`.

use std::io::{self, Write};

use anyhow::bail;
use clap::Args;

use super::diff::are;
use super::report::{self, Report};
use super::situation::{self, Flags, Situation};
use super::write::{self, Work};
use crate::cli::UsageError;
use crate::cli::provision::{ChangeFlags, coloured, confirm, wait, write_json};
use crate::provision::plan::Plan;

/// Make the alarms as they should be
///
/// What is as it should be is not written. An apply that was interrupted goes on where it ended when it is run again.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    change: ChangeFlags,
    /// Delete alarms of ours that should not be: of file systems that are gone, or without a template
    #[arg(long)]
    prune: bool,
    /// A tag of each alarm that is created, which needs cloudwatch:TagResource; alarms that are there keep theirs
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    tags: Vec<(String, String)>,
    /// Write JSON; needs --yes or --dry-run
    #[arg(long)]
    json: bool,
}

/// A tag (CloudWatch API Reference, Tag).
fn tag(text: &str) -> Result<(String, String), String> {
    let allowed = "allowed: KEY=VALUE, KEY with 1 to 128 characters and not beginning with aws:, VALUE with at most 256";
    let (key, value) = text.split_once('=').ok_or(allowed)?;
    let fits = (1..=128).contains(&key.chars().count()) && !key.to_ascii_lowercase().starts_with("aws:");
    match fits && value.chars().count() <= 256 {
        true => Ok((key.to_owned(), value.to_owned())),
        false => Err(allowed.to_owned()),
    }
}

/// Writes the plan, asks, and follows it.
///
/// # Errors
///
/// A bad configuration, no credentials, what AWS refuses, an answer that is not yes, alarms that are not ours.
pub fn run(args: &ApplyArgs, out: &mut impl Write) -> anyhow::Result<()> {
    if args.json && !args.change.yes && !args.change.dry_run {
        return Err(UsageError("--json needs --yes or --dry-run".to_owned()).into());
    }
    let config = args.flags.target.config()?;
    let situation = wait(situation::look(&args.flags, &config))?;
    let plan = situation.plan(args.change.adopt)?;
    let report = Report { situation: &situation, plan: &plan, prune: args.prune };
    if !args.json {
        report.write(coloured(), out)?;
        out.flush()?;
    }
    warn_of_silence(&situation)?;
    let changes = report.changes();
    if changes > 0 && !args.change.dry_run {
        confirm(&format!("Change {}?", report::alarms(changes)), "yes", args.change.yes)?;
        let alarms = plan.writes().filter_map(|step| situation.desired.get(&step.name));
        let mut work: Vec<Work<'_>> = alarms.map(|one| Work::Put(&one.alarm)).collect();
        work.extend(write::deletions(report.deleted()));
        wait(write::all(&situation.alarms, &work, &args.tags))?;
    }
    match args.json {
        true => write_json(&report.json(!args.change.dry_run), out)?,
        false if changes == 0 => writeln!(out, "no changes")?,
        false if args.change.dry_run => writeln!(out, "nothing was done: --dry-run")?,
        false => writeln!(out, "{} changed", report::alarms(changes))?,
    }
    out.flush()?;
    refused(&plan)
}

fn refused(plan: &Plan) -> anyhow::Result<()> {
    match plan.refused().count() {
        0 => Ok(()),
        refused => bail!("{} not ours and left alone", are(refused)),
    }
}

/// An alarm that nobody hears of is worth a line.
fn warn_of_silence(situation: &Situation) -> io::Result<()> {
    let silent = situation.desired.values().filter(|one| one.alarm.alarm_actions.is_empty()).count();
    match silent {
        0 => Ok(()),
        silent => writeln!(
            io::stderr(),
            "efsmon: {} of {} have no actions, and nobody is told: give --sns ARN, or --page-sns and --ticket-sns",
            silent,
            report::alarms(situation.desired.len())
        ),
    }
}
