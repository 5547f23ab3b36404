//! `efsmon iam-policy`.

use std::io::Write;

use clap::Args;

/// Print the least IAM policy for the daemon, for provisioning or for reading
#[derive(Debug, Args)]
pub struct IamPolicyArgs {}

/// Not built yet.
///
/// # Errors
///
/// None.
pub fn run(_: &IamPolicyArgs, _: &mut impl Write) -> anyhow::Result<()> {
    Ok(())
}
