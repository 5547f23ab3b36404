//! What packages have besides the programs: man pages, completions, templates and policies.
//!
//! `cargo run --example assets DIRECTORY`

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;
use efsmon::cli::Cli;

fn main() -> anyhow::Result<()> {
    let directory: PathBuf =
        std::env::args_os().nth(1).ok_or_else(|| anyhow::anyhow!("usage: assets DIRECTORY"))?.into();
    fs::create_dir_all(directory.join("man"))?;
    clap_mangen::generate_to(Cli::command(), directory.join("man"))?;
    Ok(())
}
