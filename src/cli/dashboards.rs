//! `efsmon dashboards`.

use std::io::Write;

use clap::Args;

/// List, render, compare, apply or delete the CloudWatch dashboards
#[derive(Debug, Args)]
pub struct DashboardsArgs {}

/// Not built yet.
///
/// # Errors
///
/// None.
pub fn run(_: &DashboardsArgs, _: &mut impl Write) -> anyhow::Result<()> {
    Ok(())
}
