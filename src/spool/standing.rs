//! The spool in numbers, for `status.json` and the metric `SamplesLost`.

use serde::{Deserialize, Serialize};

use crate::model::Minute;

/// What the spool holds, and what it lost since the process started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub files: u64,
    /// Of `files`, in whole blocks.
    pub bytes: u64,
    pub data: u64,
    pub oldest: Option<Minute>,
    pub newest: Option<Minute>,
    /// Of `files`, those that may be another instance's: not sent before that is known.
    #[serde(default)]
    pub held_files: u64,
    /// Another machine's or another version's files: never sent.
    pub aside_files: u64,
    pub aside_bytes: u64,
    /// Acknowledged files that could not be removed yet: sent again only after a restart.
    pub unremoved_files: u64,
    #[serde(flatten)]
    pub losses: Losses,
}

/// What never reached CloudWatch, since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Deleted because there was no room.
    pub deleted_files: u64,
    pub deleted_data: u64,
    /// Older than CloudWatch takes.
    pub expired_files: u64,
    pub expired_data: u64,
    /// Torn or altered on disk, or not readable. When they are found at the start, their data are as many as their heads
    /// say, as far as that can be believed, and at least one each.
    pub damaged_files: u64,
    pub damaged_data: u64,
    /// Of a host whose id was not found.
    pub unattributable_files: u64,
    pub unattributable_data: u64,
    /// Refused by CloudWatch, each by itself.
    pub rejected_data: u64,
}

impl Losses {
    /// The data of all kinds, for the metric `SamplesLost`.
    pub fn data(&self) -> u64 {
        self.deleted_data
            + self.expired_data
            + self.damaged_data
            + self.unattributable_data
            + self.rejected_data
    }
}
