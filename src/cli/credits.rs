//! `efsmon credits`.

use std::io::Write;

use clap::Args;

/// Tell how long burst credits last: mode, storage, balance, baseline, burn
#[derive(Debug, Args)]
pub struct CreditsArgs {}

/// Not built yet.
///
/// # Errors
///
/// None.
pub fn run(_: &CreditsArgs, _: &mut impl Write) -> anyhow::Result<()> {
    Ok(())
}
