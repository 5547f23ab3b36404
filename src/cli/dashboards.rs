//! `efsmon dashboards`.

mod apply;
mod comparison;
mod delete;
mod diff;
mod list;
mod render;
mod result;

use std::io::Write;

use clap::{Args, Subcommand};

use crate::provision::Target;

/// List, render, compare, apply or delete the CloudWatch dashboards
///
/// efsmon-REGION-overview shows all file systems of a Region, efsmon-REGION-file-system one in depth. They are made from
/// templates: efsmon's own, of which the packages keep a copy in /usr/share/efsmon/dashboards, and those in
/// /etc/efsmon/dashboards, which are added or take the place of one. It needs credentials for the account, on any
/// machine.
#[derive(Debug, Args)]
pub struct DashboardsArgs {
    #[command(subcommand)]
    command: DashboardsCommand,
}

#[derive(Debug, Subcommand)]
enum DashboardsCommand {
    /// List the account's dashboards that are called efsmon-.., of every Region and owner
    ///
    /// The only one, with apply --prune, that needs cloudwatch:ListDashboards.
    List(list::ListArgs),
    /// Write the dashboards as JSON, as PutDashboard and the console's source view take it
    ///
    /// A NAME alone: the body of that dashboard. Else an object of all bodies by name, or with --out a file for each.
    /// With --file-system, and a Region by flag, setting or AWS_REGION, nobody is asked and no credentials are needed;
    /// then file systems are called by their ids, not by their names.
    Render(render::RenderArgs),
    /// Show what apply would change, line by line; exit status 3 when it would
    ///
    /// A unified diff for each dashboard that differs, each hunk with its widget. Nothing is written.
    Diff(diff::DiffArgs),
    /// Create and update the dashboards; one that is as it should be is not written
    ///
    /// Shows what it will do and what that costs a month, then asks.
    ///
    /// Never deletes without --prune, and never touches what is another owner's or nobody's without --adopt. What was
    /// interrupted is finished by the next run.
    Apply(apply::ApplyArgs),
    /// Delete the dashboards of this owner and Region, and no others
    ///
    /// Shows them and asks first. What is another owner's, or nobody's, is left alone.
    Delete(delete::DeleteArgs),
}

/// Runs `efsmon dashboards ..`; what people should know besides goes to stderr.
///
/// # Errors
///
/// A bad configuration or template, what AWS refuses, what is somebody else's; for `diff`,
/// [`Differences`](super::Differences).
pub fn run(args: &DashboardsArgs, out: &mut impl Write) -> anyhow::Result<()> {
    match &args.command {
        DashboardsCommand::List(args) => list::run(args, out),
        DashboardsCommand::Render(args) => render::run(args, out),
        DashboardsCommand::Diff(args) => diff::run(args, out),
        DashboardsCommand::Apply(args) => apply::run(args, out),
        DashboardsCommand::Delete(args) => delete::run(args, out),
    }
}

fn counted(dashboards: usize) -> String {
    format!("{dashboards} dashboard{}", if dashboards == 1 { "" } else { "s" })
}

fn as_it_should_be(dashboards: usize, target: &Target) -> String {
    let are = if dashboards == 1 { "is as it" } else { "are as they" };
    format!("{} of {} {are} should be", counted(dashboards), target.region)
}

/// Of what the dashboards are, and whose.
fn subject(target: &Target) -> String {
    let file_systems = match target.file_systems.len() {
        0 => "no file system (is it the right Region?)".to_owned(),
        1 => "1 file system".to_owned(),
        many => format!("{many} file systems"),
    };
    format!("{}, {file_systems}, owner {}", target.region, target.owner)
}
