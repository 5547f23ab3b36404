//! A recording: what was read of a machine, time after time, in a directory that a person can look into, and that
//! `--procfs` takes in place of `/proc`.
//!
//! ```text
//! efsmon-recording.json                     what this is: Header
//! proc/sys/kernel/hostname                  what the machine says of itself, once: About
//! sys/class/dmi/id/sys_vendor, ../board_asset_tag
//! 000001/                                   a tick
//!   moment.json                             both clocks, whose mounts, and what could not be read
//!   proc/self/mountstats                    proc/1 when process 1's mounts were read
//!   proc/self/mountinfo                     as read after mountstats
//!   proc/self/mountinfo.before              as read before, only where that differs
//!   proc/sys/kernel/random/boot_id
//!   efs/fs-0123456789abcdef0.mnt.efs.20127  each file of amazon-efs-utils' state directory
//! 000002/ ..
//! ```
//!
//! Each tick is a machine of its own: its `proc` and `efs` can be given to `--procfs` and `--efs-state`. A file that
//! is what it was at the tick before is the same file (a hard link). A tick gets its name when all of it is written,
//! so that a recording is good however it ended. The machine-id is left out: it is confidential (machine-id(5)), and
//! nothing needs it; so is what processes use, so that a replay has no ProxyCpu and no ProxyMemory. Directories have mode 0700, files 0600.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::model::Moment;
use crate::source::{Reading, Source, StateFile, View};

mod read;
pub mod redact;
mod write;

pub use read::{Damage, OpenError, Recording};
pub use write::{CreateError, Recorder};

/// The file that makes a directory a recording.
pub const MARKER: &str = "efsmon-recording.json";

/// The format that is written, and the only one that is read.
const FORMAT: &str = "efsmon-recording/1";
const WHAT_IT_IS: &str = "What efsmon read of a machine, a folder for each time. To look at it: efsmon mounts --procfs DIR, \
                          efsmon stat --procfs DIR, efsmon run --dry-run --procfs DIR.";

/// What the marker holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    format: String,
    what: String,
    /// The version that recorded it.
    efsmon: String,
    /// Seconds from tick to tick.
    interval_seconds: u64,
    /// Whether names, ids and addresses were replaced.
    redacted: bool,
}

impl Header {
    pub fn new(interval: Duration, redacted: bool) -> Header {
        Header {
            format: FORMAT.to_owned(),
            what: WHAT_IT_IS.to_owned(),
            efsmon: env!("CARGO_PKG_VERSION").to_owned(),
            interval_seconds: interval.as_secs(),
            redacted,
        }
    }

    /// From tick to tick.
    pub fn interval(&self) -> Duration {
        Duration::from_secs(self.interval_seconds)
    }

    /// Whether names, ids and addresses were replaced.
    pub fn is_redacted(&self) -> bool {
        self.redacted
    }

    /// The same of a recording whose names are replaced, in this program's words only.
    pub fn of_redacted(&self) -> Header {
        Header::new(self.interval(), true)
    }
}

/// What a machine says of itself, as far as a replay asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Not inside a container, whose name is nobody's.
    pub host_name: Option<String>,
    pub board_asset_tag: Option<String>,
    pub is_ec2: bool,
}

impl About {
    pub fn ask(source: &Source, in_container: bool) -> About {
        About {
            host_name: source.host_name().filter(|_| !in_container),
            board_asset_tag: source.board_asset_tag(),
            is_ec2: source.is_ec2(),
        }
    }
}

/// All that was read at one time.
#[derive(Clone, Debug)]
pub struct Tick {
    /// From 1.
    pub number: u32,
    pub moment: Moment,
    pub boot_id: Option<String>,
    /// Or why the reading is void.
    pub reading: Result<Reading, String>,
    /// The state of amazon-efs-utils' mounts, or why it could not be read; none beside a void reading.
    pub efs_state: Result<Vec<StateFile>, String>,
}

impl Tick {
    /// Reads the machine, in the daemon's order.
    pub fn take(number: u32, source: &Source, clock: &impl Clock) -> Tick {
        let reading = source.read(clock).map_err(|error| error.to_string());
        let (moment, efs_state) = match &reading {
            Ok(reading) => (reading.moment, source.efs_state().map_err(|error| error.to_string())),
            Err(_) => (clock.now(), Ok(Vec::new())),
        };
        Tick { number, moment, boot_id: source.boot_id(), reading, efs_state }
    }
}

/// `moment.json`.
#[derive(Debug, Serialize, Deserialize)]
struct MomentFile {
    /// RFC 3339, to the nanosecond.
    wall: String,
    /// CLOCK_MONOTONIC.
    monotonic_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    view: Option<View>,
    /// Why the reading is void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    void: Option<String>,
    /// Why the state directory could not be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    efs_state_error: Option<String>,
    /// Files of the state directory whose text could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    efs_state_unread: Vec<String>,
}

impl MomentFile {
    fn of(tick: &Tick) -> MomentFile {
        let Moment { wall, monotonic } = tick.moment;
        let wall = jiff::Timestamp::UNIX_EPOCH.checked_add(wall).unwrap_or(jiff::Timestamp::MAX);
        let unread = tick.efs_state.iter().flatten().filter(|file| file.text.is_none());
        MomentFile {
            wall: wall.to_string(),
            monotonic_ns: u64::try_from(monotonic.as_nanos()).unwrap_or(u64::MAX),
            view: tick.reading.as_ref().ok().map(|reading| reading.view),
            void: tick.reading.as_ref().err().cloned(),
            efs_state_error: tick.efs_state.as_ref().err().cloned(),
            efs_state_unread: unread.map(|file| file.name.clone()).collect(),
        }
    }

    fn moment(&self) -> Result<Moment, String> {
        let wall: jiff::Timestamp = self.wall.parse().map_err(|error| format!("wall: {error}"))?;
        let wall = Duration::try_from(wall.duration_since(jiff::Timestamp::UNIX_EPOCH))
            .map_err(|_| format!("wall: {} is before 1970", self.wall))?;
        Ok(Moment { wall, monotonic: Duration::from_nanos(self.monotonic_ns) })
    }
}

/// The folder of a tick.
fn folder(number: u32) -> String {
    format!("{number:06}")
}

/// Where a view's texts are, below a tick's folder.
fn texts(view: View) -> PathBuf {
    PathBuf::from(match view {
        View::Own => "proc/self",
        View::Init => "proc/1",
    })
}

const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";
const MOMENT: &str = "moment.json";
const EFS_STATE: &str = "efs";
