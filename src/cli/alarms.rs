//! `efsmon alarms ..`.

pub mod test;

use std::io::Write;

use clap::{Args, Subcommand};

/// List, render, compare, apply, delete, verify or test the CloudWatch alarms
#[derive(Debug, Args)]
pub struct AlarmsArgs {
    #[command(subcommand)]
    command: AlarmsCommand,
}

#[derive(Debug, Subcommand)]
enum AlarmsCommand {
    Test(test::TestArgs),
}

/// Runs `efsmon alarms ..`.
///
/// # Errors
///
/// What the single command fails with.
pub fn run(args: &AlarmsArgs, out: &mut impl Write) -> anyhow::Result<()> {
    match &args.command {
        AlarmsCommand::Test(args) => test::run(args, out),
    }
}
