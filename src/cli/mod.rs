//! The command line: one file for each command.

pub mod config;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::ConfigError;

/// Client-side monitoring for Amazon EFS.
#[derive(Debug, Parser)]
#[command(name = "efsmon", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write, check or show the configuration
    Config(config::ConfigArgs),
}

/// Runs the command.
///
/// # Errors
///
/// Whatever kept it from its end; [`exit_code`] tells what the process ends with.
pub fn run(cli: Cli) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match cli.command {
        Command::Config(args) => config::run(args, &mut out),
    }
}

/// 78 for a bad configuration, 1 for everything else.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<ConfigError>() {
        Some(_) => ExitCode::from(ConfigError::EXIT_CODE),
        None => ExitCode::FAILURE,
    }
}
