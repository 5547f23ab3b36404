//! The `efsmond` command: `efsmon run` without the other commands, which would take memory on every host.

use std::process::ExitCode;

use clap::Parser;
use efsmon::cli::{self, Efsmond};

fn main() -> ExitCode {
    cli::end(cli::run_daemon(&Efsmond::parse()))
}
