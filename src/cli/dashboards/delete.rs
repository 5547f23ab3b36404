//! `efsmon dashboards delete`.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use serde_json::{Value, json};

use super::super::UsageError;
use super::super::provision::{OwnFlags, confirm, mistakes, note, wait, write_json};
use super::comparison::{full_name, look};
use super::counted;
use crate::aws::dashboards::Dashboards;
use crate::provision::dashboards::{Templates, templates};
use crate::provision::plan::whose;

/// Arguments of `efsmon dashboards delete`
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Only these, by template (overview) or whole name; without it, one for each template
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    own: OwnFlags,
    /// Show what would be deleted, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Write JSON; needs --yes or --dry-run
    #[arg(long)]
    json: bool,
}

/// Deletes what is ours.
///
/// # Errors
///
/// A bad configuration or template; what AWS refuses; a dashboard that was named and is not there, or is not ours.
pub fn run(args: &DeleteArgs, out: &mut impl Write) -> anyhow::Result<()> {
    if args.json && !args.yes && !args.dry_run {
        return Err(UsageError(
            "found --json alone, which asks nothing; allowed: with --yes or --dry-run".into(),
        )
        .into());
    }
    let templates = templates(&args.own.templates("")?).map_err(|bad| mistakes(&bad))?;
    wait(delete(args, &templates, out))
}

/// A dashboard that was looked at.
struct Looked {
    name: String,
    /// Why it cannot be deleted.
    obstacle: Option<String>,
    deleted: bool,
}

async fn delete(args: &DeleteArgs, templates: &Templates, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.own.account().config()?;
    let session = args.own.account().session(&config).await?;
    let dashboards = Dashboards::new(&session);
    let mut looked = look_for(args, templates, session.region(), &dashboards).await;
    let ours: Vec<&str> = looked.iter().filter(|l| l.obstacle.is_none()).map(|l| l.name.as_str()).collect();
    let mark = args.own.mark(session.region());
    if !args.json {
        match ours.as_slice() {
            [] => writeln!(out, "nothing to delete: there is no such dashboard of {mark}")?,
            ours => ours.iter().try_for_each(|name| writeln!(out, "  delete  {name}"))?,
        }
        out.flush()?;
    }
    for (name, obstacle) in looked.iter().filter_map(|l| Some((&l.name, l.obstacle.as_ref()?))) {
        note(format_args!("{name}: {obstacle}"));
    }
    if !args.dry_run && !ours.is_empty() {
        confirm(&format!("Delete {} of {mark}?", counted(ours.len())), "delete", args.yes)?;
        for of in looked.iter_mut().filter(|l| l.obstacle.is_none()) {
            match dashboards.delete(&of.name).await {
                Ok(()) => of.deleted = true,
                Err(error) => of.obstacle = Some(error.to_string()),
            }
            match &of.obstacle {
                Some(obstacle) => note(format_args!("{}: {obstacle}", of.name)),
                None if args.json => {}
                None => writeln!(out, "deleted {}", of.name)?,
            }
            out.flush()?;
        }
    }
    if args.json {
        let dashboards: Vec<Value> = looked.iter().map(as_json).collect();
        let owner = mark.owner.to_string();
        write_json(&json!({ "region": mark.region, "owner": owner, "dashboards": dashboards }), out)?;
    }
    match looked.iter().filter(|l| l.obstacle.is_some()).count() {
        0 => Ok(()),
        left => anyhow::bail!("{} not deleted", counted(left)),
    }
}

/// One that nobody named is only looked at when it is there and ours.
async fn look_for(
    args: &DeleteArgs,
    templates: &Templates,
    region: &str,
    dashboards: &Dashboards,
) -> Vec<Looked> {
    let asked = if args.names.is_empty() {
        templates.keys().collect()
    } else {
        args.names.iter().collect::<Vec<_>>()
    };
    let names: BTreeSet<_> = asked.into_iter().map(|name| full_name(name, templates, region)).collect();
    let (found, unread) = look(dashboards, names.iter().cloned()).await;
    let ours = args.own.mark(region);
    let obstacle = |name: &String| {
        if let Some((_, error)) = unread.iter().find(|(unread, _)| unread == name) {
            return Some(Some(error.to_string()));
        }
        match found.get(name) {
            Some(found) if found.mark.as_ref() == Some(&ours) => Some(None),
            Some(found) => (!args.names.is_empty())
                .then(|| Some(format!("{}; delete it in the console", whose(found.mark.as_ref())))),
            None => (!args.names.is_empty()).then(|| Some("there is no dashboard of that name".to_owned())),
        }
    };
    let looked = |name: String| Some(Looked { obstacle: obstacle(&name)?, name, deleted: false });
    names.into_iter().filter_map(looked).collect()
}

fn as_json(looked: &Looked) -> Value {
    json!({ "name": looked.name, "deleted": looked.deleted, "reason": looked.obstacle })
}
