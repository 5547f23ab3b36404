//! `efsmon state`: what the daemon keeps on this disk.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use rustix::process::geteuid;

use super::config::ConfigFlags;
use super::provision::confirm;
use crate::config::Config;
use crate::names::printable;
use crate::spool::{Directory, DirectoryError, Limits, Spool, SpoolError, Standing, is_request};

/// `efsmon state ..`
#[derive(Debug, Args)]
pub struct StateArgs {
    #[command(subcommand)]
    command: StateCommand,
}

#[derive(Debug, Subcommand)]
enum StateCommand {
    /// Remove what is this host's own from the state directory: counters, requests, what EFS said
    ///
    /// For the disk of an image, or of a copy of a host: each of its copies then begins as a new host. The daemon must
    /// be stopped, and sends what it can when it stops. What was never sent would be lost, so that is asked about.
    /// Files that are not efsmon's stay.
    Reset {
        #[command(flatten)]
        flags: ConfigFlags,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// Runs `efsmon state ..`.
///
/// # Errors
///
/// A daemon runs, nobody agreed, or a file cannot be removed.
pub fn run(args: &StateArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let StateCommand::Reset { flags, yes } = &args.command;
    let config = super::config::load(flags)?.config;
    reset(&config, *yes, out).map_err(|error| match is_denied(&error) && !geteuid().is_root() {
        // The spool's own remedy is for the daemon: whose the directory is must not change.
        true => anyhow!(
            "{}: this user may not read and remove everything in it: run as root",
            config.state_dir.display()
        ),
        false => error,
    })
}

/// These errors are transparent: the chain has them in place of what the system said.
fn is_denied(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let directory = cause.downcast_ref().and_then(|error| match error {
            DirectoryError::Io(error) => Some(error),
            DirectoryError::Held { .. } => None,
        });
        let spool = cause.downcast_ref().and_then(|error| match error {
            SpoolError::Disk(error) => Some(error),
            SpoolError::Full { .. } => None,
        });
        directory.or(spool).is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied)
    })
}

fn reset(config: &Config, yes: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let path = &config.state_dir;
    let directory = path.display();
    let disk = match Directory::open_existing(path) {
        Err(DirectoryError::Held { path }) => bail!(
            "the daemon runs: it holds {}; stop it first (systemctl stop efsmon), and nothing was removed",
            path.display()
        ),
        disk => disk?,
    };
    let Some(disk) = disk else {
        return Ok(writeln!(out, "{directory}: not there, so nothing to remove")?);
    };
    let owner = super::run::source(config).installation();
    let spool = Spool::open(disk, &owner, Limits::default()).context("nothing was removed")?.spool;
    let standing = spool.standing();
    if let Some(unsent) = unsent(&standing) {
        confirm(&format!("{directory}: {unsent}. They would be lost."), "yes", yes)
            .with_context(|| format!("{directory}: {unsent} and would be lost"))?;
    }
    let removed = spool.clear().context("not everything was removed; try again")?;
    write_removed(path, &removed, &standing, out)
}

/// What a daemon would still send.
fn unsent(standing: &Standing) -> Option<String> {
    let (oldest, newest) = (standing.oldest?, standing.newest?);
    let minutes = match oldest == newest {
        true => format!("of {oldest}"),
        false => format!("of {oldest} to {newest}"),
    };
    match standing.files {
        1 => Some(format!("1 request {minutes} was never sent")),
        files => Some(format!("{files} requests {minutes} were never sent")),
    }
}

fn write_removed(
    path: &Path,
    removed: &[String],
    standing: &Standing,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let directory = path.display();
    let requests = removed.iter().filter(|name| is_request(name)).count();
    let mut names: Vec<String> = removed.iter().filter(|name| !is_request(name)).cloned().collect();
    names.sort();
    match requests {
        0 => {}
        1 => names.push("1 request".to_owned()),
        many => names.push(format!("{many} requests")),
    }
    match names.is_empty() {
        true => writeln!(out, "{directory}: nothing to remove")?,
        false => writeln!(out, "{directory}: removed {}", names.join(", "))?,
    }
    if let Some(unsent) = unsent(standing) {
        writeln!(out, "{directory}: {unsent}")?;
    }
    let left = left(path).with_context(|| format!("listing what is left in {directory}"))?;
    if !left.is_empty() {
        let left: Vec<String> = left.iter().map(|name| printable(name.as_bytes())).collect();
        writeln!(out, "{directory}: left what is not efsmon's: {}", left.join(", "))?;
    }
    Ok(())
}

/// Everything but the lock, which says nothing of a host.
fn left(path: &Path) -> io::Result<Vec<OsString>> {
    let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    let mut names: Vec<OsString> = names.into_iter().filter(|name| name != "lock").collect();
    names.sort();
    Ok(names)
}
