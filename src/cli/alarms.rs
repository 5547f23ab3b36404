//! `efsmon alarms`.

use std::io::Write;

use clap::Args;

/// List, render, compare, apply, delete, verify or test the CloudWatch alarms
#[derive(Debug, Args)]
pub struct AlarmsArgs {}

/// Not built yet.
///
/// # Errors
///
/// None.
pub fn run(_: &AlarmsArgs, _: &mut impl Write) -> anyhow::Result<()> {
    Ok(())
}
