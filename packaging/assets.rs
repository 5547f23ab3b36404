//! What packages have besides the programs: man pages, completions, templates and policies.
//!
//! `cargo run --example assets DIRECTORY` leaves there:
//!
//! - `man/NAME.1` and `man/NAME.5`, not compressed
//! - `completions/bash/NAME`, `completions/zsh/_NAME` and `completions/fish/NAME.fish`
//! - `share/`, which is `/usr/share/efsmon`: `dashboards/*.json`, `dashboards/alarms/*.json` and `iam/*.json`
//!
//! With `SOURCE_DATE_EPOCH` in the environment, that day stands on the man pages; without it, none does.

#[path = "assets/mod.rs"]
mod assets;

use std::path::PathBuf;

use anyhow::Context;

fn main() -> anyhow::Result<()> {
    let directory: PathBuf = std::env::args_os().nth(1).context("usage: assets DIRECTORY")?.into();
    let date = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => assets::day(&seconds)?,
        Err(_) => String::new(),
    };
    assets::write(&directory, &date)
}
