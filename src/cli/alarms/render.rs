//! `efsmon alarms render`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::flags::Flags;
use super::report::write_skipped;
use super::situation;
use crate::cli::provision::{wait, write_bodies};

/// Write the alarms as JSON, each as aws cloudwatch put-metric-alarm --cli-input-json takes it
///
/// A NAME of a single alarm: that alarm. Else an object of all by name, or with --out a file for each.
#[derive(Debug, Args)]
pub struct RenderArgs {
    #[command(flatten)]
    flags: Flags,
    /// Write a file for each, called like it with .json behind, into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes the alarms. Which file systems get none of a kind, and why, is said on standard error.
///
/// # Errors
///
/// A bad configuration, no credentials, what EFS refuses, templates that cannot be used, files that cannot be written.
pub fn run(args: &RenderArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.flags.target.config()?;
    let alarms = wait(situation::render(&args.flags, &config))?;
    write_skipped(&alarms.skipped, &mut io::stderr())?;
    let mut bodies = BTreeMap::new();
    for one in &alarms.rendered {
        let body = serde_json::to_value(&one.alarm).context("writing an alarm")?;
        bodies.insert(one.alarm.alarm_name.clone(), body);
    }
    write_bodies(bodies, args.flags.names().len() == 1, args.out.as_deref(), out)
}
