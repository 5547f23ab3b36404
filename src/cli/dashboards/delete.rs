//! `efsmon dashboards delete`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use clap::Args;
use serde_json::{Value, json};

use super::super::provision::{OwnFlags, WriteFlags, confirm, mistakes, note, wait, write_json};
use super::comparison::{full_name, look};
use super::counted;
use crate::aws::dashboards::Dashboards;
use crate::provision::dashboards::{Templates, names, templates};
use crate::provision::plan::{Plan, whose};

/// Arguments of `efsmon dashboards delete`
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Only these, by template (overview) or whole name; without it, one for each template
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    write: WriteFlags,
}

/// Deletes what is ours.
///
/// # Errors
///
/// A bad configuration or template; what AWS refuses; a dashboard that was named and is not there, or is not ours.
pub fn run(args: &DeleteArgs, out: &mut impl Write) -> anyhow::Result<()> {
    args.write.check()?;
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
    if !args.write.json {
        match ours.as_slice() {
            // What could not be looked at may be one, and is told below.
            [] if !looked.is_empty() => {}
            [] => writeln!(out, "nothing to delete: there is no such dashboard of {mark}")?,
            ours => ours.iter().try_for_each(|name| writeln!(out, "  delete  {name}"))?,
        }
        out.flush()?;
    }
    for (name, obstacle) in looked.iter().filter_map(|l| Some((&l.name, l.obstacle.as_ref()?))) {
        note(format_args!("{name}: {obstacle}"));
    }
    if !args.write.dry_run && !ours.is_empty() {
        let question = format!("To delete {} of {}, owner {}.", counted(ours.len()), mark.region, mark.owner);
        confirm(&question, "delete", args.write.yes)?;
        for of in looked.iter_mut().filter(|l| l.obstacle.is_none()) {
            match dashboards.delete(&of.name).await {
                Ok(()) => of.deleted = true,
                Err(error) => of.obstacle = Some(error.to_string()),
            }
            match &of.obstacle {
                Some(obstacle) => note(format_args!("{}: {obstacle}", of.name)),
                None if args.write.json => {}
                None => writeln!(out, "deleted {}", of.name)?,
            }
            out.flush()?;
        }
    }
    if args.write.json {
        let dashboards: Vec<Value> = looked.iter().map(as_json).collect();
        let owner = mark.owner.to_string();
        write_json(&json!({ "region": mark.region, "owner": owner, "dashboards": dashboards }), out)?;
    }
    match looked.iter().filter(|l| l.obstacle.is_some()).count() {
        0 => Ok(()),
        left => anyhow::bail!("{} not deleted", counted(left)),
    }
}

/// Those that are ours, and of those that were named also what is not to be deleted.
async fn look_for(
    args: &DeleteArgs,
    templates: &Templates,
    region: &str,
    dashboards: &Dashboards,
) -> Vec<Looked> {
    let named = !args.names.is_empty();
    let asked: Vec<&String> = if named { args.names.iter().collect() } else { names(templates).collect() };
    let asked: BTreeSet<_> = asked.into_iter().map(|name| full_name(name, templates, region)).collect();
    let (found, unread) = look(dashboards, asked.iter().cloned()).await;
    let ours = Plan::new(BTreeMap::new(), &found, &args.own.mark(region), false).leftover;
    let mut looked: Vec<Looked> = Vec::new();
    let mut push = |name, obstacle| looked.push(Looked { name, obstacle, deleted: false });
    ours.iter().for_each(|name| push(name.clone(), None));
    for (name, error) in &unread {
        push(name.clone(), Some(error.to_string()));
    }
    for name in asked.iter().filter(|_| named) {
        match found.get(name) {
            Some(theirs) if !ours.contains(name) => {
                let whose = whose(theirs.mark.as_ref());
                push(name.clone(), Some(format!("{whose}; delete it in the console")));
            }
            None if unread.iter().all(|(unread, _)| unread != name) => {
                push(name.clone(), Some("there is no dashboard of that name".to_owned()));
            }
            _ => {}
        }
    }
    looked
}

fn as_json(looked: &Looked) -> Value {
    json!({ "name": looked.name, "deleted": looked.deleted, "reason": looked.obstacle })
}
