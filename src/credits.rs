//! How EFS limits throughput: modes, baseline, burst credits (EFS User Guide, "Amazon EFS performance"). Pure.
//!
//! Throughput here is metered: reads of file data count a third of their bytes.

mod bucket;
mod outlook;
mod throughput;

pub use bucket::Bucket;
pub use outlook::{Burn, Metrics, Outlook, Reading, Situation};
pub use throughput::{Rates, limits, metered_read, metered_write, quota};

use crate::model::FileSystemId;

/// Bytes of a MiB, a GiB and a TiB.
pub const MIB: f64 = 1_048_576.0;
pub const GIB: f64 = 1_073_741_824.0;
pub const TIB: f64 = 1_099_511_627_776.0;

/// A file system, as far as throughput goes (DescribeFileSystems).
#[derive(Clone, Debug, PartialEq)]
pub struct FileSystem {
    pub id: FileSystemId,
    /// Its tag `Name`.
    pub name: Option<String>,
    pub mode: ThroughputMode,
    /// False with the performance mode Max I/O, which has no `PercentIOLimit`.
    pub general_purpose: bool,
    /// Bytes in the class Standard, or One Zone: those that earn credits.
    pub standard_bytes: u64,
    pub infrequent_bytes: u64,
    pub archive_bytes: u64,
    /// The Availability Zone of one of One Zone.
    pub zone: Option<String>,
}

/// `ThroughputMode` of DescribeFileSystems.
#[derive(Clone, Debug, PartialEq)]
pub enum ThroughputMode {
    Bursting,
    Provisioned {
        /// What is paid for, at least: metered MiB/s.
        mibps: f64,
    },
    Elastic,
    /// One that this version does not know.
    Other(String),
}

impl ThroughputMode {
    /// The name that EFS has for it.
    pub fn name(&self) -> &str {
        match self {
            ThroughputMode::Bursting => "bursting",
            ThroughputMode::Provisioned { .. } => "provisioned",
            ThroughputMode::Elastic => "elastic",
            ThroughputMode::Other(name) => name,
        }
    }
}

/// Metered bytes a second that are always allowed, however little is stored.
pub const FLOOR: f64 = MIB;

/// Metered bytes a second that `standard` bytes earn, and are always allowed but for the [`FLOOR`]: 50 KiB/s for
/// each GiB.
pub fn baseline(standard: u64) -> f64 {
    standard as f64 * (50.0 * 1024.0 / GIB)
}

/// Credits that `standard` bytes earn, in bytes a second: at the [`baseline`].
///
/// Below 20 GiB that is less than the [`FLOOR`], and AWS's pages do not say which of the two the credits grow by. The
/// smaller one is taken: a forecast may be too early, never too late.
pub fn accrual(standard: u64) -> f64 {
    baseline(standard)
}

/// Metered bytes a second that are allowed while there are credits, whatever the Region's quota says: 100 MiB/s for
/// each TiB, and at least 100 MiB/s.
pub fn burst(standard: u64) -> f64 {
    100.0 * MIB * (standard as f64 / TIB).max(1.0)
}

/// The most credits that a file system can have, in bytes: 2.1 TiB for each TiB, and at least 2.1 TiB.
pub fn cap(standard: u64) -> f64 {
    2.1 * TIB * (standard as f64 / TIB).max(1.0)
}

impl FileSystem {
    /// Whether it earns and spends burst credits: in bursting mode, and in provisioned mode while its storage earns more
    /// than is provisioned.
    pub fn has_credits(&self) -> bool {
        match self.mode {
            ThroughputMode::Bursting => true,
            ThroughputMode::Provisioned { mibps } => baseline(self.standard_bytes) > mibps * MIB,
            ThroughputMode::Elastic | ThroughputMode::Other(_) => false,
        }
    }

    /// The same, and of a mode that this version does not know: whether `BurstCreditBalance` is worth asking for.
    pub fn may_have_credits(&self) -> bool {
        self.has_credits() || matches!(self.mode, ThroughputMode::Other(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB_BYTES: u64 = 1 << 30;

    #[test]
    fn a_tebibyte_has_50_mib_a_second_and_bursts_to_100() {
        assert_eq!(baseline(1024 * GIB_BYTES), 50.0 * MIB);
        assert_eq!(burst(1024 * GIB_BYTES), 100.0 * MIB);
        assert_eq!(burst(0), 100.0 * MIB);
        assert_eq!(burst(4096 * GIB_BYTES), 400.0 * MIB);
        // 2.1 x 2^40 = 2,308,974,418,329.6
        assert_eq!(cap(GIB_BYTES).round(), 2_308_974_418_330.0);
        assert_eq!(cap(2048 * GIB_BYTES).round(), 4_617_948_836_659.0);
    }
}
