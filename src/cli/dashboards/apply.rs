//! `efsmon dashboards apply`.

use std::io::{self, Write};

use clap::Args;

use super::super::provision::tag::{self, Tag};
use super::super::provision::{ChangeFlags, TargetFlags, coloured, confirm, note, wait, write_json};
use super::comparison::{Comparison, compare};
use super::result::{Outcome, Results};
use super::{as_it_should_be, counted, subject};
use crate::aws::dashboards::PutError;
use crate::cost::prices::{AS_OF, DASHBOARD, FREE_DASHBOARD_METRICS, FREE_DASHBOARDS, REGION, Usd};
use crate::provision::Mark;
use crate::provision::dashboards::mark_of;
use crate::provision::diff::{counts, lines};
use crate::provision::plan::{Change, Plan, Step, whose};

/// Arguments of `efsmon dashboards apply`
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Only these, by template (overview) or whole name
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    change: ChangeFlags,
    /// Delete, too, what is of this owner and Region and has no template any more
    #[arg(long, conflicts_with = "names")]
    prune: bool,
    /// A tag for those that are made; may be repeated. CloudWatch does not tag those that are there already
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    tags: Vec<Tag>,
}

/// Writes what is not as it should be.
///
/// # Errors
///
/// A bad configuration or template; what AWS refuses; what is somebody else's.
pub fn run(args: &ApplyArgs, out: &mut impl Write) -> anyhow::Result<()> {
    args.change.write.check()?;
    let tags = tag::pairs(&args.tags)?;
    wait(async {
        let comparison = compare(&args.target, &args.names, args.change.adopt, args.prune).await?;
        apply(args, &tags, &comparison, out).await
    })
}

async fn apply(
    args: &ApplyArgs,
    tags: &[(String, String)],
    comparison: &Comparison,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let plan = &comparison.plan;
    for (name, error) in &comparison.unread {
        note(format_args!("{name}: {error}"));
    }
    let shown = if args.change.write.json { Ok(()) } else { write_plan(args, comparison, out) };
    // What was decided is done, even when nobody reads about it any more.
    let mut shown = if args.change.write.yes { shown } else { Ok(shown?) };
    let mut results = Results::new(comparison, args.prune, args.change.write.dry_run);
    if results.open() > 0 && !args.change.write.dry_run {
        confirm(&question(args, comparison), "apply", args.change.write.yes)?;
        shown = shown.and(follow(args, tags, comparison, &mut results, out).await);
    }
    if args.change.write.json {
        shown = write_json(&results.json(&comparison.target, new_usd(plan)), out);
    }
    match results.failed() {
        0 => Ok(shown?),
        failed => anyhow::bail!("{failed} of {} not applied, for the reasons above", counted(results.len())),
    }
}

fn question(args: &ApplyArgs, comparison: &Comparison) -> String {
    let Comparison { plan, target, .. } = comparison;
    let deleted = if args.prune { plan.leftover.len() } else { 0 };
    let parts = [("write", plan.writes().count()), ("delete", deleted)];
    let parts = parts.iter().filter(|(_, of)| *of > 0).map(|(verb, of)| format!("{verb} {}", counted(*of)));
    let parts = parts.collect::<Vec<_>>().join(" and ");
    format!("To {parts} of {}, owner {}.", target.region, target.owner)
}

/// Whatever becomes of one, the others are done. The error is that of `out`.
async fn follow(
    args: &ApplyArgs,
    tags: &[(String, String)],
    comparison: &Comparison,
    results: &mut Results,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut told = Ok(());
    let Comparison { dashboards, plan, .. } = comparison;
    for step in plan.writes() {
        let put = dashboards.put(&step.name, &step.body.to_string(), tags).await;
        let outcome = match put {
            Ok(remarks) => Outcome::done(&step.body, &remarks),
            Err(PutError::Body(remarks)) => Outcome::refused(&step.body, &remarks),
            Err(PutError::Call(error)) => Outcome::failed(error.to_string()),
        };
        let verb = if step.change == Change::Create { "created" } else { "updated" };
        told = told.and(tell(&step.name, verb, &outcome, args.change.write.json, out));
        results.set(&step.name, outcome);
    }
    for name in plan.leftover.iter().filter(|_| args.prune) {
        let outcome = match dashboards.delete(name).await {
            Ok(()) => Outcome::done(&serde_json::Value::Null, &[]),
            Err(error) => Outcome::failed(error.to_string()),
        };
        told = told.and(tell(name, "deleted", &outcome, args.change.write.json, out));
        results.set(name, outcome);
    }
    told
}

fn tell(name: &str, verb: &str, outcome: &Outcome, json: bool, out: &mut impl Write) -> io::Result<()> {
    match &outcome.error {
        Some(error) => note(format_args!("{name}: {error}")),
        None if json => {}
        None => writeln!(out, "{verb} {name}")?,
    }
    for remark in &outcome.remarks {
        match outcome.error {
            Some(_) => note(format_args!("  {}{}", remark.place, remark.message)),
            None => note(format_args!("warning: {name}: {}{}", remark.place, remark.message)),
        }
    }
    out.flush()
}

/// What the new ones cost in a month.
fn new_usd(plan: &Plan) -> Usd {
    DASHBOARD.times_whole(created(plan) as u64)
}

fn created(plan: &Plan) -> usize {
    plan.steps.iter().filter(|step| step.change == Change::Create).count()
}

fn write_plan(args: &ApplyArgs, comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    let Comparison { plan, unread, .. } = comparison;
    let leftover: &[String] = if args.prune { &plan.leftover } else { &[] };
    if plan.is_empty() && leftover.is_empty() {
        if unread.is_empty() {
            writeln!(out, "no changes: {}", as_it_should_be(plan.kept(), &comparison.target))?;
        }
        return out.flush();
    }
    writeln!(out, "{}:", subject(&comparison.target))?;
    let coloured = coloured();
    let names = plan.steps.iter().map(|step| step.name.as_str()).chain(leftover.iter().map(String::as_str));
    let width = names.map(str::len).max().unwrap_or(0);
    let mut line = |verb: &str, colour: &str, name: &str, more: &str| {
        let verb = format!("{verb:6}");
        let verb = if coloured && !colour.is_empty() { format!("\x1b[{colour}m{verb}\x1b[0m") } else { verb };
        writeln!(out, "{}", format!("  {verb}  {name:width$}  {more}").trim_end())
    };
    for step in &plan.steps {
        let colour = match step.change {
            Change::Create => "32",
            Change::Update { .. } => "33",
            Change::Keep => "",
            Change::Refuse { .. } => "35",
        };
        line(step.change.name(), colour, &step.name, &told(step, &comparison.target.mark()))?;
    }
    for name in leftover {
        line("delete", "31", name, "no template makes it any more")?;
    }
    if created(plan) > 0 {
        let new = created(plan);
        writeln!(
            out,
            "{new} new dashboard{}: {} a month at {DASHBOARD} ({REGION}, {AS_OF}); an account's first \
             {FREE_DASHBOARDS} of up to {FREE_DASHBOARD_METRICS} metrics are free",
            if new == 1 { "" } else { "s" },
            new_usd(plan),
        )?;
    }
    if !args.tags.is_empty() && created(plan) < plan.writes().count() {
        note(format_args!(
            "--tag: CloudWatch tags dashboards only when they are made, not when they are updated"
        ));
    }
    out.flush()
}

fn told(step: &Step, ours: &Mark) -> String {
    match &step.change {
        Change::Create => String::new(),
        Change::Update { before } => {
            let (added, removed) = counts(&lines(step));
            let before = mark_of(before);
            let taken_over = match before.as_ref() == Some(ours) {
                true => String::new(),
                false => format!(", though it {}", whose(before.as_ref())),
            };
            format!("+{added} -{removed} lines{taken_over}")
        }
        Change::Keep => "as it should be".to_owned(),
        Change::Refuse { reason, .. } => reason.clone(),
    }
}
