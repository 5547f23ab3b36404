//! What the daemon tells of itself: `status.json`, replaced with every sample, and a line for `systemctl status`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::Daemon;
use super::host::HostSource;
use super::service::{self, Notice};
use crate::clock::Clock;
use crate::model::{Host, Minute};
use crate::monitor::Sighting;
use crate::names::printable;
use crate::publish;
use crate::spool::{self, Disk};

/// Readings since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    pub taken: u64,
    /// Tried, but the machine gave no whole text.
    pub void: u64,
    /// Not even tried: the process did not get to run.
    pub missed: u64,
    /// Of the void and missed ones, those that `SamplesLost` has had.
    #[serde(skip)]
    pub reported: u64,
}

/// The daemon's state, for `efsmon status` and for other programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    pub pid: u32,
    /// Seconds since 1970.
    pub started: f64,
    /// Seconds since 1970: when this was written. Older than a few sample intervals: the daemon does not run.
    pub written: f64,
    /// The daemon ended in good order after writing this.
    #[serde(default)]
    pub ended: bool,
    pub sample_interval_seconds: f64,
    pub namespace: String,
    pub profile: String,
    /// The value of the dimension `InstanceId`.
    pub host_id: Option<String>,
    /// The id is still looked for.
    pub host_id_pending: bool,
    /// Who gave the id.
    #[serde(default)]
    pub host_source: Option<HostSource>,
    /// `eu-west-1`.
    #[serde(default)]
    pub host_region: Option<String>,
    /// The Availability Zone's name in this account: `eu-west-1b`.
    #[serde(default)]
    pub host_zone: Option<String>,
    /// Its name in every account: `euw1-az2`.
    #[serde(default)]
    pub host_zone_id: Option<String>,
    #[serde(default)]
    pub host_account_id: Option<String>,
    #[serde(default)]
    pub host_instance_type: Option<String>,
    /// The instance's tags, where its metadata give them out.
    #[serde(default)]
    pub host_tags: BTreeMap<String, String>,
    /// The setting `publish.enabled`.
    #[serde(default = "yes")]
    pub publishes: bool,
    pub samples: Samples,
    /// Why the last sample is void, when it is.
    pub reading_error: Option<String>,
    /// What the last reading that was not void showed.
    pub sighting: Sighting,
    /// Series that are published.
    pub series: usize,
    /// Subjects' scopes that are left out: over `limits.max_series` or `limits.max_mount_points`.
    pub scopes_left_out: usize,
    /// RPC bytes that were not published: nobody read the counters for more than a day.
    pub unpublished_bytes: u64,
    /// Minutes cannot be written to the state directory at present.
    pub commits_fail: bool,
    pub spool: spool::Standing,
    pub publish: publish::Standing,
}

/// Daemons that did not say so published.
fn yes() -> bool {
    true
}

/// A daemon writes its status with every sample; after this many without one it is taken for gone.
const LATE_SAMPLES: f64 = 3.0;

impl Status {
    /// Whether the daemon is at work at `now` (seconds since 1970), as far as its status tells.
    pub fn is_current(&self, now: f64) -> bool {
        !self.ended && now - self.written <= self.sample_interval_seconds * LATE_SAMPLES + 5.0
    }

    /// The most important of it in one line, which may be read long after it was written.
    pub fn line(&self) -> String {
        let sighting = &self.sighting;
        let mounts = match &self.reading_error {
            Some(error) => format!("the mounts cannot be read: {error}"),
            None => {
                let mounts = sighting.file_systems.values().sum::<usize>();
                let stalled = match sighting.stalled.len() {
                    0 => String::new(),
                    stalled => format!(" ({stalled} STALLED)"),
                };
                let file_systems = count(sighting.file_systems.len() as u64, "file system");
                format!("{}{stalled} of {file_systems}", count(mounts as u64, "mount"))
            }
        };
        let sent = match (&self.publish, self.publishes) {
            (_, false) => "nothing is sent: publish.enabled is false".to_owned(),
            (publish::Standing { state, last_failure: Some(failure), .. }, _)
                if *state != publish::State::Ok =>
            {
                format!("NOT SENDING: {}", failure.message)
            }
            (publish::Standing { last_success: Some(at), .. }, _) => {
                format!("last sent at {}", Minute::of(Duration::from_secs(*at)))
            }
            _ => "nothing sent yet".to_owned(),
        };
        let spool = match self.commits_fail {
            true => "THE STATE DIRECTORY CANNOT BE WRITTEN".to_owned(),
            false => format!("{} on disk", count(self.spool.files, "request")),
        };
        // A second line would be a message of its own to systemd.
        printable(format!("{mounts}; {sent}; {spool}").as_bytes())
    }
}

/// `1 request`, `2 requests`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

impl<C: Clock, D: Disk> Daemon<'_, C, D> {
    /// Replaces the status on disk, and systemd's line of it, as far as that works.
    pub(super) fn write_status(&mut self) {
        let (series, scopes_left_out) = self.monitor.series();
        let host_id = match &self.identity.host {
            Host::Known(id) => Some(id.clone()),
            Host::Pending | Host::Unknown => None,
        };
        let place = self.identity.place.clone();
        let status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            started: self.started.wall.as_secs_f64(),
            written: self.clock.now().wall.as_secs_f64(),
            ended: self.ended,
            sample_interval_seconds: self.settings.monitor.sample_interval.as_secs_f64(),
            namespace: self.settings.namespace.clone(),
            profile: self.settings.monitor.series.profile.name().to_owned(),
            host_id,
            host_id_pending: self.identity.host == Host::Pending,
            host_source: self.identity.source,
            host_region: place.region,
            host_zone: place.zone,
            host_zone_id: place.zone_id,
            host_account_id: place.account_id,
            host_instance_type: place.instance_type,
            host_tags: place.tags,
            publishes: self.settings.publishes,
            samples: self.samples,
            reading_error: self.reading_error.clone(),
            sighting: self.sighting.clone(),
            series,
            scopes_left_out,
            unpublished_bytes: self.monitor.unpublished_bytes(),
            commits_fail: self.failing.commit,
            spool: self.spool.standing(),
            publish: self.publisher.standing(),
        };
        service::tell(Notice::Status(&status.line()));
        match self.runtime.write_status(&status) {
            Ok(()) => {
                self.failing.status.ends();
            }
            Err(error) if self.failing.status.begins(self.clock.now().monotonic) => {
                warn!(%error, "the status cannot be written; `efsmon status` will be out of date");
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The line of a daemon that differs in `changes` from one that has sent and keeps nothing.
    fn line(changes: Value) -> String {
        let mut status = json!({
            "version": "1.2.3", "pid": 7, "started": 0.0, "written": 0.0, "sample_interval_seconds": 10.0,
            "namespace": "EFSMon", "profile": "minimal", "host_id": null, "host_id_pending": false,
            "samples": {"taken": 1, "void": 0, "missed": 0}, "reading_error": null,
            "sighting": {
                "view": "own", "superblocks": 3, "not_published": [], "unidentified": 0, "unjoined": 0, "problems": [],
                "file_systems": {"fs-0123456789abcdef0": 2, "fs-00000000000000001": 1},
            },
            "series": 0, "scopes_left_out": 0, "unpublished_bytes": 0, "commits_fail": false,
            "spool": {
                "files": 0, "bytes": 0, "data": 0, "oldest": null, "newest": null, "aside_files": 0, "aside_bytes": 0,
                "unremoved_files": 0, "deleted_files": 0, "deleted_data": 0, "expired_files": 0, "expired_data": 0,
                "damaged_files": 0, "damaged_data": 0, "unattributable_files": 0, "unattributable_data": 0,
                "rejected_data": 0,
            },
            // 2026-11-30 08:14:05 UTC.
            "publish": {"state": "ok", "last_success": 1_796_026_445, "last_failure": null, "unknown_outcomes": 0},
        });
        for (key, value) in changes.as_object().unwrap() {
            status[key] = value.clone();
        }
        serde_json::from_value::<Status>(status).unwrap().line()
    }

    #[test]
    fn the_line_tells_mounts_sending_and_what_waits() {
        let sent = "last sent at 2026-11-30T08:14:00Z";
        assert_eq!(line(json!({})), format!("3 mounts of 2 file systems; {sent}; 0 requests on disk"));
        let nothing_yet =
            json!({"state": "ok", "last_success": null, "last_failure": null, "unknown_outcomes": 0});
        assert!(line(json!({"publish": nothing_yet})).contains("; nothing sent yet; "));
        assert!(line(json!({"publishes": false})).contains("; nothing is sent: publish.enabled is false; "));
        assert!(line(json!({"commits_fail": true})).ends_with("; THE STATE DIRECTORY CANNOT BE WRITTEN"));
    }

    #[test]
    fn the_line_is_one_line_whatever_others_say() {
        let failure = json!({"time": 1, "message": "no\nSTOPPING=1"});
        let publish =
            json!({"state": "backoff", "last_success": null, "last_failure": failure, "unknown_outcomes": 0});
        let text = line(json!({"publish": publish, "reading_error": "reading /proc/self/mountstats: EIO"}));
        assert_eq!(
            text,
            "the mounts cannot be read: reading /proc/self/mountstats: EIO; NOT SENDING: no\\x0aSTOPPING=1; 0 requests \
             on disk"
        );
    }

    #[test]
    fn the_line_names_stalled_mounts_first() {
        let stalled = json!([{"superblock": "0:44", "mount_point": "/a", "device": "d", "reason": "r"}]);
        let sighting = json!({
            "view": "own", "superblocks": 1, "not_published": [], "unidentified": 0, "unjoined": 0, "problems": [],
            "file_systems": {"fs-0123456789abcdef0": 1}, "stalled": stalled,
        });
        assert!(line(json!({"sighting": sighting})).starts_with("1 mount (1 STALLED) of 1 file system; "));
    }
}
