//! `efsmon dashboards render`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::super::provision::{TargetFlags, mistakes, wait, write_bodies};
use super::comparison::rendered;
use crate::provision::dashboards::templates;

/// Arguments of `efsmon dashboards render`
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Only these, by template (overview) or whole name
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    target: TargetFlags,
    /// Write a file for each, called like it with .json behind, into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes the bodies.
///
/// # Errors
///
/// A bad configuration or template; file systems that cannot be listed; files that cannot be written.
pub fn run(args: &RenderArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.target.config()?;
    let templates = templates(&args.target.templates("")?).map_err(|bad| mistakes(&bad))?;
    let target = wait(async {
        match args.target.file_systems().is_empty() {
            false => args.target.target_unasked(&config).await,
            true => args.target.target(&config, &args.target.session(&config).await?).await,
        }
    })?;
    let bodies = rendered(&target, &templates, &args.names)?;
    write_bodies(bodies, args.names.len() == 1, args.out.as_deref(), out)
}
