//! `efsmon completions`: what a shell needs to complete efsmon's commands and flags.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

/// Arguments of `efsmon completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that is to complete
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes the shell's script.
///
/// # Errors
///
/// It cannot be written.
pub fn run(args: &CompletionsArgs, out: &mut impl Write) -> anyhow::Result<()> {
    // Not straight to `out`: clap_complete panics when the reader of a pipe has gone.
    let mut script = Vec::new();
    generate(args.shell, &mut super::Cli::command(), "efsmon", &mut script);
    out.write_all(&script)?;
    Ok(out.flush()?)
}
