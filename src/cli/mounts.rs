//! `efsmon mounts`: every NFS mount, what it is, whether it is published, and what is wrong with it.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::Args;

use super::config::ConfigFlags;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::daemon::runtime::read_status;
use crate::efs::helper_mounts;
use crate::health::HostPlace;
use crate::model::FileSystemId;
use crate::mountstats::{self, Problem};
use crate::names::{printable, safe_json};
use crate::sampler::join::join_texts;
use crate::source::{Namespace, ReadError, View};

pub(super) mod fit;
mod groups;
mod json;
mod row;
mod table;

use row::{Inputs, Told, rows};
use table::Look;

/// Show every NFS mount: what it is, whether it is published, and what is wrong with it
///
/// Mounts of Amazon EFS are told by their names, by the mount helper's state, by [[mounts]], and by what EFS said of
/// addresses. Nothing on a mount is touched, so a server that hangs does not hang this. Which mounts are stalled, and
/// where this host is, the daemon knows.
#[derive(Debug, Args)]
pub struct MountsArgs {
    #[command(flatten)]
    flags: ConfigFlags,
    /// Only mounts of this file system; may be given several times
    #[arg(long, value_name = "ID")]
    file_system: Vec<FileSystemId>,
    /// Tell what is only good to know too, and name every mount
    #[arg(long, short)]
    verbose: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Lists the mounts.
///
/// # Errors
///
/// The mounts cannot be read.
pub fn run(args: &MountsArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = super::config::load(&args.flags)?.config;
    // A recording is another machine's, of which the daemon here knows nothing.
    let is_recording = super::replay::recording(&config, &args.flags)?.is_some();
    let (reading, efs_state) = super::replay::look(&config, &args.flags)?;
    let mut notes = Vec::new();
    let (helper, state_unread) = match efs_state {
        Ok(files) => (helper_mounts(&files), false),
        Err(error) => {
            notes.push(format!(
                "mounts made by the EFS mount helper have no name here: {}: {error}; run as root, or let this user's \
                 group read it",
                config.source.efs_state.display()
            ));
            (Vec::new(), true)
        }
    };
    notes.extend(view_note(&config, reading.view).filter(|_| !is_recording));
    let configured = super::run::configured_mounts(&config);
    let parsed = mountstats::parse(&reading.mountstats);
    let (seen, unread_mounts) = join_texts(&reading.mountinfo_before, &parsed, &reading.mountinfo_after);
    let told = told(&config.runtime_dir).filter(|_| !is_recording);
    if told.is_none() && parsed.records.iter().any(|record| record.statistics.is_some()) {
        let why = match is_recording {
            true => "this is a recording",
            false => "no daemon runs here (efsmon status)",
        };
        notes.push(format!(
            "{why}: which mounts are stalled, and which are in another zone than the host, is not known"
        ));
    }
    let host = told.as_ref().map(|told| told.host.clone()).unwrap_or_default();
    let targets = super::run::targets(&config);
    let moment = reading.moment;
    let inputs = Inputs { moment, configured: &configured, helper: &helper, state_unread, targets, told };
    let mut rows = rows(&parsed, &seen, inputs);
    if !args.file_system.is_empty() {
        rows.retain(|row| row.efs().is_some_and(|identity| args.file_system.contains(&identity.file_system)));
    }
    notes.extend(unread_mounts.iter().map(|problem| format!("mountinfo {}", shown(problem))));
    match args.json {
        true => {
            let object = json::object(&rows, reading.view, &host, &parsed.problems, &notes);
            writeln!(out, "{}", safe_json(&object.to_string()))?;
        }
        false if rows.is_empty() => {
            let which = if args.file_system.is_empty() { "NFS mounts" } else { "mounts of that file system" };
            writeln!(out, "no {which} in {}", namespace(reading.view))?;
        }
        false => {
            let closing = format!("Seen from {}{}.", namespace(reading.view), in_zone(&host));
            table::write(&rows, look(args.verbose), &closing, out)?;
        }
    }
    out.flush()?;
    let problems = parsed.problems.iter().filter(|_| !args.json);
    for note in problems.map(|problem| format!("mountstats {}", shown(problem))).chain(notes) {
        // A note: that nobody reads it does not matter.
        let _ = writeln!(io::stderr(), "efsmon: {note}");
    }
    Ok(())
}

fn shown(problem: &Problem<'_>) -> String {
    printable(problem.to_string().as_bytes())
}

/// What the daemon says, when one is at work.
fn told(runtime_dir: &Path) -> Option<Told> {
    let status = read_status(runtime_dir).ok()?;
    let now = SystemClock.now().wall.as_secs_f64();
    let (zone, zone_id, region) =
        (status.host_zone.clone(), status.host_zone_id.clone(), status.host_region.clone());
    status
        .is_current(now)
        .then_some(Told { host: HostPlace { zone, zone_id, region }, stalled: status.sighting.stalled })
}

/// Whether other mounts than process 1's are shown only because its are not readable.
fn view_note(config: &Config, view: View) -> Option<String> {
    if (config.source.namespace, view) != (Namespace::Auto, View::Own) {
        return None;
    }
    let source = super::run::source_of(config, Namespace::Init);
    refusal(&source.read(&SystemClock).err()?)
}

fn refusal(error: &ReadError) -> Option<String> {
    match error {
        ReadError::Io { error: cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => {
            Some(format!(
                "these are the mounts that this process sees; those of process 1 cannot be read ({error}): run as root"
            ))
        }
        _ => None,
    }
}

fn namespace(view: View) -> &'static str {
    match view {
        View::Own => "this process's mount namespace",
        View::Init => "process 1's mount namespace",
    }
}

fn in_zone(host: &HostPlace) -> String {
    match (&host.zone, &host.zone_id) {
        (Some(zone), Some(id)) => format!("; this host is in {zone} ({id})"),
        (Some(zone), None) | (None, Some(zone)) => format!("; this host is in {zone}"),
        (None, None) => String::new(),
    }
}

fn look(verbose: bool) -> Look {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let size = rustix::termios::tcgetwinsize(&stdout).ok().filter(|_| is_terminal);
    Look {
        width: size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0),
        colours: is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        verbose,
    }
}

#[cfg(test)]
mod tests;
