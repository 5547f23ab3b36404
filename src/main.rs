use std::process::ExitCode;

use clap::Parser;
use efsmon::cli::{self, Cli};

fn main() -> ExitCode {
    match cli::run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("efsmon: {error:#}");
            cli::exit_code(&error)
        }
    }
}
