//! `efsmon alarms diff`.

use std::io::Write;

use clap::Args;

use super::flags::Flags;
use super::report::{Report, alarms};
use super::situation;
use crate::cli::Differences;
use crate::cli::provision::{coloured, note, wait, write_diff, write_json};
use crate::provision::diff::{lines, unified};

/// Show what apply would change, line by line; exit status 3 when it would
///
/// A unified diff for each alarm that differs. Nothing is written.
#[derive(Debug, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    flags: Flags,
    /// As if what is another owner's, or nobody's, were taken over
    #[arg(long)]
    adopt: bool,
    /// As if what is useless were deleted: alarms of file systems that are gone, or without a template
    #[arg(long)]
    prune: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Writes a unified diff for each alarm that differs.
///
/// # Errors
///
/// [`Differences`]; a bad configuration, no credentials, what AWS refuses.
pub fn run(args: &DiffArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.flags.target.config()?;
    let situation = wait(situation::look(&args.flags, &config))?;
    let plan = situation.plan(args.adopt)?;
    let report = Report { situation: &situation, plan: &plan, prune: args.prune };
    if args.json {
        write_json(&report.json(0, true, true), out)?;
    } else {
        for step in plan.writes() {
            write_diff(&lines(step), coloured(), out)?;
        }
        for found in report.deleted().iter().filter_map(|name| situation.found.get(name)) {
            write_diff(&unified(&found.name, Some(&found.body), None), coloured(), out)?;
        }
        report.write_rest(out)?;
        out.flush()?;
    }
    for (step, reason) in plan.refused() {
        note(format_args!("{}: {reason}", step.name));
    }
    match report.changes() + plan.refused().count() {
        0 => Ok(()),
        differing => {
            let all = alarms(plan.steps.len() + report.deleted().len());
            Err(Differences(format!("{differing} of {all} differ: efsmon alarms apply")).into())
        }
    }
}
