//! The `efsmon` command.

use std::process::ExitCode;

use clap::Parser;
use efsmon::cli::{self, Cli};

fn main() -> ExitCode {
    cli::end(cli::run(Cli::parse()))
}
