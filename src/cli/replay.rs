//! What a command looks at: this machine, or the recording of one that `--procfs` names.

use std::io;
use std::path::Path;

use anyhow::{Context, anyhow, bail};

use super::config::ConfigFlags;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::recording::Recording;
use crate::source::{Reading, StateFile};

/// The recording that `--procfs` or `source.procfs` names, if it is one. `--efs-state` goes before its own state of
/// amazon-efs-utils' mounts; the configuration of the machine that replays it does not.
///
/// # Errors
///
/// It is one, and cannot be read.
pub(super) fn recording(config: &Config, flags: &ConfigFlags) -> anyhow::Result<Option<Recording>> {
    open(&config.source.procfs, flags.efs_state.as_ref().map(Path::new))
}

/// The recording in a directory, if it is one; see [`recording`].
///
/// # Errors
///
/// It is one, and cannot be read.
pub(super) fn open(procfs: &Path, efs_state: Option<&Path>) -> anyhow::Result<Option<Recording>> {
    let recording = Recording::open(procfs).context("the recording cannot be read")?;
    Ok(recording.map(|recording| match efs_state {
        Some(directory) => recording.with_efs_state(directory.to_owned()),
        None => recording,
    }))
}

/// The mounts and the state of amazon-efs-utils' mounts: as they are now, or as a recording saw them last. The state
/// may not be readable, as a person is to be told.
///
/// # Errors
///
/// The mounts cannot be read.
pub(super) fn look(
    config: &Config,
    flags: &ConfigFlags,
) -> anyhow::Result<(Reading, Result<Vec<StateFile>, String>)> {
    if let Some(recording) = recording(config, flags)? {
        return recording.last().ok_or_else(nothing_to_see);
    }
    let source = super::run::source(config);
    let reading = source.read(&SystemClock).context("the mounts cannot be read")?;
    Ok((reading, source.efs_state().map_err(|error: io::Error| error.to_string())))
}

/// For a recording in which no tick has a reading.
pub(super) fn nothing_to_see() -> anyhow::Error {
    anyhow!("no tick of the recording holds the mounts: every one is void or damaged")
}

/// Refuses a recording.
///
/// # Errors
///
/// `procfs` is one.
pub(super) fn refuse(procfs: &Path, why: &str) -> anyhow::Result<()> {
    match Recording::open(procfs) {
        Ok(None) => Ok(()),
        _ => bail!("{} is a recording: {why}", procfs.display()),
    }
}
