//! `efsmon status`: what the daemon is doing, for a person at 3 a.m.

use std::io::{self, Write};

use anyhow::{Context, bail};
use clap::Args;

use super::config::ConfigFlags;
use crate::clock::{Clock, SystemClock};
use crate::daemon::runtime::read_status;
use crate::daemon::status::Status;

/// Show what the daemon is doing; exit status 1 when it does not run
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    flags: ConfigFlags,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// A daemon writes its status with every sample; after this many without one it is taken for gone.
const LATE_SAMPLES: f64 = 3.0;

/// Writes the status.
///
/// # Errors
///
/// There is no status, or it is out of date: the daemon does not run.
pub fn run(args: &StatusArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = super::config::load(&args.flags)?.config;
    let directory = &config.runtime_dir;
    let status = match read_status(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("no status in {}: the daemon does not run, or has another runtime_dir", directory.display())
        }
        status => status.with_context(|| format!("reading the status in {}", directory.display()))?,
    };
    let now = SystemClock.now().wall.as_secs_f64();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?,
        false => write(&status, now, out)?,
    }
    let age = now - status.written;
    if age > status.sample_interval_seconds * LATE_SAMPLES + 5.0 {
        out.flush()?;
        bail!("the status is {} old: the daemon does not run, or hangs", ago(age));
    }
    Ok(())
}

fn write(status: &Status, now: f64, out: &mut impl Write) -> io::Result<()> {
    let host = match (&status.host_id, status.host_id_pending) {
        (Some(id), _) => id.escape_debug().to_string(),
        (None, true) => "a host whose id is still looked for".to_owned(),
        (None, false) => "a host without an id (set host.id)".to_owned(),
    };
    writeln!(
        out,
        "efsmon {}, process {}, started {} ago",
        status.version,
        status.pid,
        ago(now - status.started)
    )?;
    writeln!(out, "publishes    {} (profile {}) as {host}", status.namespace, status.profile)?;
    write_publish(status, now, out)?;
    write_mounts(status, out)?;
    match (status.series, status.scopes_left_out) {
        (series, 0) => writeln!(out, "series       {series}")?,
        (series, left_out) => {
            writeln!(out, "series       {series}; {left_out} groups are left out, over limits.max_series")?;
        }
    }
    let samples = &status.samples;
    let (taken, void, missed) = (samples.taken, samples.void, samples.missed);
    writeln!(out, "samples      {taken} taken, {void} void, {missed} missed")?;
    let spool = &status.spool;
    let state = if status.commits_fail { "  CANNOT BE WRITTEN: see the log" } else { "" };
    writeln!(out, "spool        {} requests, {} KiB{state}", spool.files, spool.bytes / 1024)?;
    if let Some(oldest) = spool.oldest {
        writeln!(out, "             oldest of {oldest}")?;
    }
    if spool.aside_files > 0 {
        writeln!(out, "             {} files of another host set aside, never sent", spool.aside_files)?;
    }
    let lost = spool.losses.data();
    if lost > 0 || status.unpublished_bytes > 0 {
        let bytes = status.unpublished_bytes;
        writeln!(out, "lost         {lost} data; {bytes} bytes of a gap longer than a day")?;
    }
    Ok(())
}

fn write_publish(status: &Status, now: f64, out: &mut impl Write) -> io::Result<()> {
    let publish = &status.publish;
    let since = |seconds: u64| ago(now - seconds as f64);
    match publish.last_success {
        Some(at) => writeln!(out, "last sent    {} ago", since(at))?,
        None => writeln!(out, "last sent    never")?,
    }
    if let Some(failure) = &publish.last_failure
        && publish.last_success.is_none_or(|success| success < failure.time)
    {
        let message = failure.message.escape_debug();
        writeln!(out, "failing      {} ago: {message}", since(failure.time))?;
    }
    if publish.unknown_outcomes > 0 {
        writeln!(
            out,
            "unknown      {} requests of which it is not known whether they arrived",
            publish.unknown_outcomes
        )?;
    }
    Ok(())
}

fn write_mounts(status: &Status, out: &mut impl Write) -> io::Result<()> {
    let sighting = &status.sighting;
    if let Some(error) = &status.reading_error {
        writeln!(out, "mounts       CANNOT BE READ: {}", error.escape_debug())?;
    } else if sighting.superblocks == 0 {
        writeln!(out, "mounts       no NFS mounts; only `Hosts` and the daemon's own figures are published")?;
    }
    for (file_system, superblocks) in &sighting.file_systems {
        let mounts = if *superblocks == 1 { "mount" } else { "mounts" };
        writeln!(out, "mounts       {file_system}: {superblocks} {mounts}")?;
    }
    for mount in &sighting.not_published {
        let (mount_point, device) = (mount.mount_point.escape_debug(), mount.device.escape_debug());
        writeln!(out, "not EFS      {mount_point} ({device}): {}", mount.reason)?;
    }
    for problem in &sighting.problems {
        writeln!(out, "unreadable   mountstats {}", problem.escape_debug())?;
    }
    Ok(())
}

fn ago(seconds: f64) -> String {
    match seconds.max(0.0) {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.0} h", seconds / 3600.0),
        seconds => format!("{:.0} days", seconds / 86_400.0),
    }
}
