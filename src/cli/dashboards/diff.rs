//! `efsmon dashboards diff`.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};

use super::super::Differences;
use super::super::provision::{TargetFlags, coloured, note, wait, write_diff, write_json};
use super::comparison::{Comparison, compare};
use super::{as_it_should_be, counted};
use crate::provision::diff::lines;
use crate::provision::plan::{Change, Step};

/// Arguments of `efsmon dashboards diff`
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Only these, by template (overview) or whole name
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    target: TargetFlags,
    /// As if what is another owner's, or nobody's, were taken over
    #[arg(long)]
    adopt: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Writes what `apply` would change.
///
/// # Errors
///
/// [`Differences`]; everything that keeps one from looking.
pub fn run(args: &DiffArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let comparison = wait(compare(&args.target, &args.names, args.adopt, false))?;
    let Comparison { target, plan, unread, .. } = &comparison;
    for (name, error) in unread {
        note(format_args!("{name}: {error}"));
    }
    match args.json {
        true => {
            let mut dashboards: Vec<Value> = plan.steps.iter().map(step_json).collect();
            dashboards.extend(unread.iter().map(
                |(name, error)| json!({ "name": name, "change": "unknown", "reason": error.to_string(), "diff": [] }),
            ));
            let document = json!({ "region": target.region, "owner": target.owner.to_string(), "dashboards": dashboards });
            write_json(&document, out)?;
        }
        false => {
            let coloured = coloured();
            for step in plan.writes() {
                write_diff(&lines(step), coloured, out)?;
            }
            for (step, reason) in plan.refused() {
                note(format_args!("{}: {reason}", step.name));
            }
            if plan.is_empty() && unread.is_empty() {
                writeln!(out, "no changes: {}", as_it_should_be(plan.kept(), target))?;
            }
            out.flush()?;
        }
    }
    if !unread.is_empty() {
        anyhow::bail!("{} could not be looked at", counted(unread.len()));
    }
    if plan.is_empty() {
        return Ok(());
    }
    let all = counted(plan.steps.len());
    let parts = [
        (plan.writes().count(), "to change: efsmon dashboards apply"),
        (plan.refused().count(), "left alone without --adopt"),
    ];
    let parts = parts.iter().filter(|(of, _)| *of > 0).map(|(of, what)| format!("{of} of {all} {what}"));
    Err(Differences(parts.collect::<Vec<_>>().join("; ")).into())
}

fn step_json(step: &Step) -> Value {
    let reason = match &step.change {
        Change::Refuse { reason, .. } => Some(reason),
        _ => None,
    };
    let lines: Vec<_> = lines(step).iter().map(|line| line.print(false)).collect();
    json!({ "name": step.name, "change": step.change.name(), "reason": reason, "diff": lines })
}
