//! What the daemon tells of itself: `status.json`, replaced with every sample.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::Daemon;
use super::host::HostSource;
use crate::clock::Clock;
use crate::model::Host;
use crate::monitor::Sighting;
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
}

impl<C: Clock, D: Disk> Daemon<'_, C, D> {
    /// Replaces the status on disk, as far as that works.
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
