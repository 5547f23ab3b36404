//! `efsmon alarms test`: what the alarms would do with given data.

use std::io::Write;

use clap::Args;

/// Try the alarms out on written-down data, before they are needed
#[derive(Debug, Args)]
pub struct TestArgs {}

/// Not built yet.
///
/// # Errors
///
/// None.
pub fn run(_: &TestArgs, _: &mut impl Write) -> anyhow::Result<()> {
    Ok(())
}
