//! The `efsmon` command: parse, run, say what went wrong.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use efsmon::cli::{self, Cli};

fn main() -> ExitCode {
    match cli::run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(std::io::stderr(), "efsmon: {error:#}");
            cli::exit_code(&error)
        }
    }
}
