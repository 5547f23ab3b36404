//! What the daemon tells of itself: `status.json`, replaced with every sample.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Host;
use crate::monitor::Sighting;
use crate::publish;
use crate::spool;

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
    /// Since 1970.
    pub started: Duration,
    /// Since 1970: when this was written. Older than a few sample intervals: the daemon does not run.
    pub written: Duration,
    pub sample_interval: Duration,
    pub namespace: String,
    pub profile: String,
    pub host: Host,
    pub samples: Samples,
    /// What the last reading showed.
    pub sighting: Sighting,
    /// Series that are published, and scopes of file systems that are over the limit.
    pub series: (usize, usize),
    /// RPC bytes that were not published: nobody read the counters for more than a day.
    pub unpublished_bytes: u64,
    /// Minutes cannot be written to the state directory at present.
    pub commits_fail: bool,
    pub spool: spool::Standing,
    pub publish: publish::Standing,
}
