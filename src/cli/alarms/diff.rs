//! `efsmon alarms render` and `efsmon alarms diff`.

use std::io::{self, Write};

use clap::Args;

use super::report::{self, Report};
use super::situation::{self, Flags};
use crate::cli::Differences;
use crate::cli::provision::{coloured, wait, write_diff, write_json};
use crate::provision::diff::unified;
use crate::provision::plan::Change;

/// Print the alarms, each as `aws cloudwatch put-metric-alarm --cli-input-json` takes it
#[derive(Debug, Args)]
pub struct RenderArgs {
    #[command(flatten)]
    flags: Flags,
}

/// Writes the alarms as JSON documents, one after another. Which are skipped is said on standard error.
///
/// # Errors
///
/// A bad configuration, no credentials, what EFS refuses, templates that cannot be used.
pub fn render(args: &RenderArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.flags.target.config()?;
    let alarms = wait(situation::render(&args.flags, &config))?;
    for one in &alarms.rendered {
        write_json(&serde_json::to_value(&one.alarm)?, out)?;
    }
    report::write_skipped(&alarms.skipped, &mut io::stderr())?;
    Ok(())
}

/// Show what `apply` would change; exit status 3 when that is anything
#[derive(Debug, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    flags: Flags,
    /// Take over what is another owner's, or nobody's
    #[arg(long)]
    adopt: bool,
    /// Count alarms of ours too that should not be: of file systems that are gone, or without a template
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
        write_json(&report.json(false), out)?;
    } else {
        for step in &plan.steps {
            let before = match &step.change {
                Change::Keep => continue,
                Change::Create => None,
                Change::Update { before } => Some(before),
                Change::Refuse { before, reason } => {
                    writeln!(out, "{}: it {reason}", step.name)?;
                    Some(before)
                }
            };
            write_diff(&unified(&step.name, before, Some(&step.body)), coloured(), out)?;
        }
        for found in report.deleted().iter().filter_map(|name| situation.found.get(name)) {
            write_diff(&unified(&found.name, Some(&found.body), None), coloured(), out)?;
        }
        report.write_rest(out)?;
        out.flush()?;
    }
    let differ = report.changes() + plan.refused().count();
    match differ {
        0 => Ok(()),
        differ => Err(Differences(format!("{} not as they should be", are(differ))).into()),
    }
}

/// `1 alarm is`, `2 alarms are`.
pub fn are(number: usize) -> String {
    format!("{} {}", report::alarms(number), if number == 1 { "is" } else { "are" })
}
