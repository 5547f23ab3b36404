//! `efsmon status`: what the daemon is doing, for a person at 3 a.m.

use std::io::{self, Write};

use anyhow::{Context, bail};
use clap::Args;

use super::config::ConfigFlags;
use crate::clock::{Clock, SystemClock};
use crate::daemon::runtime::read_status;
use crate::daemon::status::{Status, count};
use crate::publish::State;
use crate::source::View;

/// Show what the daemon is doing; exit status 1 when it does not run
///
/// Tells when it last published, or why it does not; what waits on disk, what was lost, which mounts stall. It reads what
/// the daemon writes with every sample: nobody is asked, and no credentials are needed.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    flags: ConfigFlags,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Most stalled mounts that are shown.
const STALLED_SHOWN: usize = 10;

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
        status => status.with_context(|| {
            let directory = directory.display();
            format!(
                "the status in {directory} cannot be read: it is another user's, damaged, or of another version; a \
                 daemon of this version replaces it with every sample"
            )
        })?,
    };
    let now = SystemClock.now().wall.as_secs_f64();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?,
        false => write(&status, now, out)?,
    }
    out.flush()?;
    let age = now - status.written;
    if status.ended {
        bail!("the daemon does not run: it ended {} ago", ago(age));
    }
    if !status.is_current(now) {
        bail!("the status is {} old: the daemon does not run, or hangs", ago(age));
    }
    Ok(())
}

fn write(status: &Status, now: f64, out: &mut impl Write) -> io::Result<()> {
    let Status { version, pid, .. } = status;
    let host = match (&status.host_id, status.host_id_pending) {
        (Some(id), _) => id.escape_debug().to_string(),
        (None, true) => "a host whose id is still looked for (its own figures wait for it)".to_owned(),
        (None, false) => "a host without an id (set host.id)".to_owned(),
    };
    writeln!(out, "efsmon {version}, process {pid}, started {} ago", ago(now - status.started))?;
    writeln!(out, "publishes    {} (profile {}) as {host}", status.namespace, status.profile)?;
    write_host(status, out)?;
    match status.publishes {
        true => write_publish(status, now, out)?,
        false => writeln!(out, "NOT SENDING  publish.enabled is false: minutes are dropped as they end")?,
    }
    write_mounts(status, out)?;
    match (status.series, status.scopes_left_out) {
        (series, 0) => writeln!(out, "series       {series}")?,
        (series, left_out) => {
            writeln!(
                out,
                "series       {series}; {left_out} groups are left out, over a limit that the log names"
            )?;
        }
    }
    let samples = &status.samples;
    let (taken, void, missed) = (samples.taken, samples.void, samples.missed);
    writeln!(out, "samples      {taken} taken, {void} void, {missed} missed")?;
    write_spool(status, out)
}

/// Where the id comes from, and where the host is.
fn write_host(status: &Status, out: &mut impl Write) -> io::Result<()> {
    let source = status.host_source.map(|source| format!("id from {}", source.name()));
    let zone = match (&status.host_zone, &status.host_zone_id) {
        (Some(zone), Some(id)) => Some(format!("in {zone} ({id})")),
        (Some(place), None) | (None, Some(place)) => Some(format!("in {place}")),
        (None, None) => status.host_region.as_ref().map(|region| format!("in {region}")),
    };
    let account = status.host_account_id.as_ref().map(|id| format!("account {id}"));
    let facts: Vec<String> =
        [source, status.host_instance_type.clone(), zone, account].into_iter().flatten().collect();
    if !facts.is_empty() {
        writeln!(out, "host         {}", facts.join(", ").escape_debug())?;
    }
    let mut tags: Vec<(&String, &String)> = status.host_tags.iter().collect();
    tags.sort_by_key(|(key, _)| *key != "Name");
    let tags: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    match tags.is_empty() {
        true => Ok(()),
        false => writeln!(out, "tags         {}", tags.join(", ").escape_debug()),
    }
}

fn write_publish(status: &Status, now: f64, out: &mut impl Write) -> io::Result<()> {
    let publish = &status.publish;
    let since = |seconds: u64| ago(now - seconds as f64);
    match publish.last_success {
        Some(at) => writeln!(out, "last sent    {} ago", since(at))?,
        None => writeln!(out, "last sent    nothing yet: a minute goes out within a minute of its end")?,
    }
    if let Some(failure) = &publish.last_failure
        && publish.last_success.is_none_or(|success| success < failure.time)
    {
        let (title, then) = match publish.state {
            State::Ok => ("failed", ""),
            State::Backoff => ("NOT SENDING", "; the data are kept, it is tried again at least every 5 min"),
            State::Unknown => {
                ("NOT SENDING", "; the data are kept, it is tried again once a publish_interval")
            }
        };
        writeln!(out, "{title:12} {} ago: {}{then}", since(failure.time), failure.message.escape_debug())?;
    }
    match publish.unknown_outcomes {
        0 => Ok(()),
        1 => writeln!(out, "unknown      1 request of which it is not known whether it arrived"),
        many => writeln!(out, "unknown      {many} requests of which it is not known whether they arrived"),
    }
}

fn write_mounts(status: &Status, out: &mut impl Write) -> io::Result<()> {
    let sighting = &status.sighting;
    if let Some(error) = &status.reading_error {
        writeln!(out, "mounts       CANNOT BE READ: {}", error.escape_debug())?;
    } else if sighting.superblocks == 0 {
        writeln!(out, "mounts       no NFS mounts; only `Hosts` and the daemon's own figures are published")?;
    }
    for (file_system, superblocks) in &sighting.file_systems {
        writeln!(out, "mounts       {file_system}: {}", count(*superblocks as u64, "mount"))?;
    }
    for mount in sighting.stalled.iter().take(STALLED_SHOWN) {
        let (mount_point, device) = (mount.mount_point.escape_debug(), mount.device.escape_debug());
        writeln!(out, "STALLED      {mount_point} ({device}): {}", mount.reason)?;
    }
    if let Some(more @ 1..) = sighting.stalled.len().checked_sub(STALLED_SHOWN) {
        writeln!(out, "             and {more} more; efsmon mounts shows them")?;
    }
    for mount in &sighting.not_published {
        let (mount_point, device) = (mount.mount_point.escape_debug(), mount.device.escape_debug());
        writeln!(out, "not sent     {mount_point} ({device}): {}", mount.reason)?;
    }
    for problem in &sighting.problems {
        writeln!(out, "unreadable   mountstats {}", problem.escape_debug())?;
    }
    match sighting.view {
        Some(View::Own) => writeln!(out, "seen by      efsmon's own process"),
        Some(View::Init) => writeln!(out, "seen by      process 1"),
        None => Ok(()),
    }
}

fn write_spool(status: &Status, out: &mut impl Write) -> io::Result<()> {
    let spool = &status.spool;
    let state = if status.commits_fail { "  CANNOT BE WRITTEN: see the log" } else { "" };
    writeln!(out, "spool        {}, {} KiB{state}", count(spool.files, "request"), spool.bytes / 1024)?;
    if let Some(oldest) = spool.oldest {
        writeln!(out, "             oldest of {oldest}")?;
    }
    if spool.held_files > 0 {
        let files = count(spool.held_files, "request");
        let why = "they may be another instance's, and the instance metadata have not named this one yet";
        writeln!(out, "             {files} held: {why}")?;
    }
    if spool.aside_files > 0 {
        let files = count(spool.aside_files, "file");
        writeln!(out, "             {files} of another machine or version set aside, never sent")?;
    }
    let losses = &spool.losses;
    let lost = [
        (losses.deleted_data, "data: there was no room on the disk or in spool.max_mib"),
        (losses.expired_data, "data: older than CloudWatch takes"),
        (losses.damaged_data, "data: their files are damaged"),
        (losses.unattributable_data, "data: this host has no id"),
        (losses.rejected_data, "data: CloudWatch refuses them, see rejected.jsonl in the state directory"),
        (status.unpublished_bytes, "bytes: nobody read the counters for more than a day"),
    ];
    for (amount, why) in lost.into_iter().filter(|(amount, _)| *amount > 0) {
        writeln!(out, "LOST         {amount} {why}")?;
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
