//! The files themselves, made in memory, so that tests look at what packages get.

mod commands;
mod page;
mod sections;
mod settings;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use efsmon::cli::{Cli, Efsmond, iam_policy};

/// A file: where, below the directory of all, and what it holds.
pub type File = (PathBuf, Vec<u8>);

/// Everything. `date` stands on the man pages; it may be empty.
///
/// # Errors
///
/// A template that cannot be read.
pub fn files(date: &str) -> anyhow::Result<Vec<File>> {
    let mut files = commands::pages(date);
    files.push(("man/efsmon.toml.5".into(), settings::page(date).into()));
    files.extend(completions(Cli::command()));
    files.extend(completions(Efsmond::command()));
    files.extend(templates("dashboards")?);
    files.extend(templates("dashboards/alarms")?);
    for (who, policy) in iam_policy::defaults()? {
        files.push((format!("share/iam/{who}.json").into(), policy.into()));
    }
    Ok(files)
}

/// Writes everything below a directory, in place of what an earlier run left there.
///
/// # Errors
///
/// What cannot be read or written.
pub fn write(directory: &Path, date: &str) -> anyhow::Result<()> {
    for part in ["man", "completions", "share"] {
        let old = directory.join(part);
        match fs::remove_dir_all(&old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.with_context(|| format!("removing {}", old.display()))?,
        }
    }
    for (name, text) in files(date)? {
        let path = directory.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// The day of so many seconds since 1970, in UTC.
///
/// # Errors
///
/// No number of seconds.
pub fn day(seconds: &str) -> anyhow::Result<String> {
    let moment =
        seconds.parse().map_err(anyhow::Error::new).and_then(|s| Ok(jiff::Timestamp::from_second(s)?));
    let moment = moment
        .with_context(|| format!("SOURCE_DATE_EPOCH: found {seconds:?}; allowed: seconds since 1970"))?;
    Ok(moment.strftime("%Y-%m-%d").to_string())
}

/// Named as each shell looks for them.
fn completions(mut program: Command) -> Vec<File> {
    let name = program.get_name().to_owned();
    let places = [
        (Shell::Bash, format!("completions/bash/{name}")),
        (Shell::Zsh, format!("completions/zsh/_{name}")),
        (Shell::Fish, format!("completions/fish/{name}.fish")),
    ];
    let file = |(shell, place): (Shell, String)| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut program, name.as_str(), &mut script);
        (place.into(), script)
    };
    places.into_iter().map(file).collect()
}

/// The templates of a folder of the repository, to begin one's own with.
fn templates(folder: &str) -> anyhow::Result<Vec<File>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(&root).with_context(|| format!("reading {}", root.display()))? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|e| e == "json")) {
            let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            files.push((Path::new("share").join(folder).join(name), text));
        }
    }
    files.sort();
    Ok(files)
}
