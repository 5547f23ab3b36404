//! `efsmon alarms ..`.

mod apply;
mod checks;
mod delete;
mod diff;
mod fire;
mod flags;
mod list;
mod render;
mod report;
mod situation;
pub mod test;
mod verify;
mod write;

use std::io::Write;

use clap::{Args, Subcommand};

/// List, render, compare, apply, delete, verify or test the CloudWatch alarms
///
/// Every file system gets those that fit its throughput mode: burst credits low or running out, throughput and operations
/// at their limit, stalled mounts, slow clients, hosts that fell silent. They are made from templates: efsmon's own, of
/// which the packages keep a copy in /usr/share/efsmon/dashboards/alarms, and those in /etc/efsmon/dashboards/alarms,
/// which are added or take the place of one. All but test needs credentials for the account, on any machine.
#[derive(Debug, Args)]
pub struct AlarmsArgs {
    #[command(subcommand)]
    command: AlarmsCommand,
}

#[derive(Debug, Subcommand)]
enum AlarmsCommand {
    List(list::ListArgs),
    Render(render::RenderArgs),
    Diff(diff::DiffArgs),
    Apply(apply::ApplyArgs),
    Delete(delete::DeleteArgs),
    Verify(verify::VerifyArgs),
    Test(test::TestArgs),
}

/// Runs `efsmon alarms ..`.
///
/// # Errors
///
/// What the single command fails with.
pub fn run(args: &AlarmsArgs, out: &mut impl Write) -> anyhow::Result<()> {
    match &args.command {
        AlarmsCommand::List(args) => list::run(args, out),
        AlarmsCommand::Render(args) => render::run(args, out),
        AlarmsCommand::Diff(args) => diff::run(args, out),
        AlarmsCommand::Apply(args) => apply::run(args, out),
        AlarmsCommand::Delete(args) => delete::run(args, out),
        AlarmsCommand::Verify(args) => verify::run(args, out),
        AlarmsCommand::Test(args) => test::run(args, out),
    }
}
