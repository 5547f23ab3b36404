//! `efsmon alarms apply`.

use std::io::Write;

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use super::flags::Flags;
use super::report::{Report, alarms, are};
use super::situation::{self, Situation};
use super::write::{self, Work};
use crate::cli::provision::tag::{self, Tag};
use crate::cli::provision::{ChangeFlags, coloured, confirm, note, wait, write_json};
use crate::config::Config;
use crate::provision::plan::{Change, Plan};

/// Create and update the alarms; one that is as it should be is not written
///
/// Shows what it will do, how long that takes and what it costs a month, then asks.
///
/// Never deletes without --prune, and never touches what is another owner's or nobody's without --adopt. What was
/// interrupted is finished by the next run.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    change: ChangeFlags,
    /// Delete, too, what is of this owner and Region and useless: of file systems that are gone, or without a template
    #[arg(long)]
    prune: bool,
    /// A tag for those that are made, which needs cloudwatch:TagResource; may be repeated. CloudWatch does not tag those
    /// that are there already
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    tags: Vec<Tag>,
}

/// Writes the plan, asks, and follows it.
///
/// # Errors
///
/// A bad configuration, no credentials, what AWS refuses, an answer that is not yes, alarms that are not ours.
pub fn run(args: &ApplyArgs, out: &mut impl Write) -> anyhow::Result<()> {
    args.change.write.check()?;
    let tags = tag::pairs(&args.tags)?;
    let config = args.flags.target.config()?;
    wait(apply(args, &tags, &config, out))
}

async fn apply(
    args: &ApplyArgs,
    tags: &[(String, String)],
    config: &Config,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let situation = situation::look(&args.flags, config).await?;
    let plan = situation.plan(args.change.adopt)?;
    let report = Report { situation: &situation, plan: &plan, prune: args.prune };
    let shown = match args.change.write.json {
        true => Ok(()),
        false => report.write(coloured(), out).and_then(|()| out.flush()),
    };
    // What was decided is done, even when nobody reads about it any more.
    let shown = if args.change.write.yes { shown } else { Ok(shown?) };
    warn(&situation, &plan);
    let (changes, mut done, mut failed) = (report.changes(), 0, None);
    if changes > 0 && !args.change.write.dry_run {
        let whose = situation.target.mark();
        confirm(&format!("Change {} of {whose}?", alarms(changes)), "apply", args.change.write.yes)?;
        let written = plan.writes().filter_map(|step| situation.desired.get(&step.name));
        let mut work: Vec<Work<'_>> = written.map(|one| Work::Put(&one.alarm)).collect();
        work.extend(write::deletions(report.deleted()));
        failed = write::all(&situation.alarms, &work, tags, &mut done).await.err();
    }
    let told = match args.change.write.json {
        true => write_json(&report.json(done, args.change.write.dry_run, false), out),
        false => shown,
    };
    if let Some(error) = failed {
        return Err(error);
    }
    told?;
    if !args.change.write.json && changes > 0 {
        match args.change.write.dry_run {
            true => writeln!(out, "nothing was done: --dry-run")?,
            false => writeln!(out, "{} changed", alarms(done))?,
        }
        out.flush()?;
    }
    match plan.refused().count() {
        0 => Ok(()),
        refused => bail!("{} not ours and left alone", are(refused)),
    }
}

/// An alarm of which nobody hears is worth a line, and so is one that fewer will hear of.
fn warn(situation: &Situation, plan: &Plan) {
    let all = situation.desired.len();
    let silent = situation.desired.values().filter(|one| one.alarm.alarm_actions.is_empty()).count();
    if silent > 0 {
        note(format_args!(
            "warning: {silent} of {} have no actions, so that nobody is told: give --sns, or --page-sns and --ticket-sns",
            alarms(all)
        ));
    }
    let told =
        |body: &Value, kind: &str| body.get(kind).and_then(Value::as_array).cloned().unwrap_or_default();
    let loses = plan.steps.iter().filter(|step| match &step.change {
        Change::Update { before } => ["AlarmActions", "OKActions"].into_iter().any(|kind| {
            let after = told(&step.body, kind);
            told(before, kind).iter().any(|arn| !after.contains(arn))
        }),
        _ => false,
    });
    let losing = loses.count();
    if losing > 0 {
        note(format_args!(
            "warning: topics are taken away from {}: those that are not given now",
            alarms(losing)
        ));
    }
}
