//! What a file system may do: its Region's quotas, what is permitted, and how requests are metered.

use super::{FLOOR, FileSystem, GIB, MIB, ThroughputMode, baseline, burst};

/// Bytes of file data a second, as clients see them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    pub read: f64,
    pub write: f64,
}

impl Rates {
    const fn gib(read: f64, write: f64) -> Rates {
        Rates { read: read * GIB, write: write * GIB }
    }

    /// How much of these limits so much reading and writing takes, together: more than 1 is not to be had.
    pub fn used(&self, read: f64, write: f64) -> f64 {
        read / self.read + write / self.write
    }
}

/// Regions with 60 GiB/s of reads in elastic mode.
const LARGE_ELASTIC: [&str; 11] = [
    "us-east-1",
    "us-east-2",
    "us-west-2",
    "ap-south-1",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "eu-central-1",
    "eu-west-1",
    "eu-west-2",
];
const LARGE_PROVISIONED: [&str; 4] = ["us-east-1", "us-east-2", "us-west-2", "eu-west-1"];
const LARGE_BURSTING: [&str; 5] = ["us-east-1", "us-east-2", "us-west-2", "ap-southeast-2", "eu-west-1"];

/// The most that any file system of its kind gets in the Region by default (EFS User Guide, "Amazon EFS quotas"); some can
/// be raised. None in a mode that is not known here.
///
/// In bursting mode those of One Zone may get as much as Regional ones ("Amazon EFS performance").
pub fn quota(file_system: &FileSystem, region: &str) -> Option<Rates> {
    let one_zone = file_system.zone.is_some();
    Some(match file_system.mode {
        ThroughputMode::Bursting if LARGE_BURSTING.contains(&region) => Rates::gib(5.0, 3.0),
        ThroughputMode::Provisioned { .. } if LARGE_PROVISIONED.contains(&region) && !one_zone => {
            // 3.33 GiB/s: that page has it as 3,414 MiB/s.
            Rates { read: 10.0 * GIB, write: 3_414.0 * MIB }
        }
        ThroughputMode::Bursting | ThroughputMode::Provisioned { .. } => Rates::gib(3.0, 1.0),
        ThroughputMode::Elastic if one_zone => Rates::gib(3.0, 1.0),
        ThroughputMode::Elastic if LARGE_ELASTIC.contains(&region) => Rates::gib(60.0, 5.0),
        ThroughputMode::Elastic => Rates::gib(20.0, 1.0),
        ThroughputMode::Other(_) => return None,
    })
}

/// What clients get of so many permitted metered bytes a second, when they only read or only write: reads are metered at
/// a third.
pub fn limits(permitted: f64, quota: Rates) -> Rates {
    Rates { read: (3.0 * permitted).min(quota.read), write: permitted.min(quota.write) }
}

/// The least that a request is metered as, in bytes.
const SMALLEST_REQUEST: f64 = 4_096.0;

/// What a read of so many bytes is metered as.
pub fn metered_read(bytes: u64) -> f64 {
    (bytes as f64 / 3.0).max(SMALLEST_REQUEST)
}

/// What any other request of so many bytes is metered as.
pub fn metered_write(bytes: u64) -> f64 {
    (bytes as f64).max(SMALLEST_REQUEST)
}

impl FileSystem {
    /// Metered bytes a second that it may do with so many bytes of credits: what `PermittedThroughput` shows. None in a
    /// mode that is not known here.
    ///
    /// In elastic mode that is the Region's quota of writes. In provisioned mode storage that earns more than is
    /// provisioned makes it behave as in bursting mode.
    pub fn permitted(&self, credits: f64, region: &str) -> Option<f64> {
        let quota = quota(self, region)?;
        let standard = self.standard_bytes;
        let rate = match self.mode {
            _ if self.has_credits() && credits > 0.0 => burst(standard),
            ThroughputMode::Provisioned { mibps } => (mibps * MIB).max(baseline(standard)),
            ThroughputMode::Elastic => quota.write,
            ThroughputMode::Bursting | ThroughputMode::Other(_) => baseline(standard).max(FLOOR),
        };
        Some(rate.min(quota.write))
    }

    /// Seconds for which so many bytes of credits allow the highest rate; none if they never end, because the storage earns as
    /// much as the Region allows.
    pub fn burst_seconds(&self, credits: f64, region: &str) -> Option<f64> {
        super::Bucket::of(self, credits).to_depletion(self.permitted(credits.max(1.0), region)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_system(gib: u64, mode: ThroughputMode, zone: Option<&str>) -> FileSystem {
        FileSystem {
            id: "fs-0123456789abcdef0".parse().unwrap(),
            name: None,
            mode,
            general_purpose: true,
            standard_bytes: gib << 30,
            infrequent_bytes: 0,
            archive_bytes: 0,
            zone: zone.map(str::to_owned),
        }
    }

    /// MiB/s with credits, and without.
    #[track_caller]
    fn check(gib: u64, mode: ThroughputMode, region: &str, expected: (f64, f64)) {
        let file_system = file_system(gib, mode, None);
        let permitted = |credits| file_system.permitted(credits, region).unwrap() / MIB;
        assert_eq!((permitted(1.0), permitted(0.0)), expected);
    }

    #[test]
    fn bursting_is_limited_by_the_regions_writes() {
        // 10 TiB: 1,000 and 500 MiB/s. 40 TiB: 4,000 and 2,000, where 3 GiB/s or 1 GiB/s is the quota.
        check(10_240, ThroughputMode::Bursting, "eu-west-1", (1_000.0, 500.0));
        check(40_960, ThroughputMode::Bursting, "eu-west-1", (3_072.0, 2_000.0));
        check(40_960, ThroughputMode::Bursting, "eu-central-1", (1_024.0, 1_024.0));
        check(1, ThroughputMode::Bursting, "eu-central-1", (100.0, 1.0));
    }

    #[test]
    fn provisioned_is_the_higher_of_what_is_paid_for_and_what_storage_earns() {
        let provisioned = |mibps| ThroughputMode::Provisioned { mibps };
        check(1_024, provisioned(300.0), "eu-west-1", (300.0, 300.0));
        check(1_024, provisioned(50.0), "eu-west-1", (50.0, 50.0));
        check(1_024, provisioned(49.0), "eu-west-1", (100.0, 50.0));
        check(1, provisioned(2_000.0), "eu-north-1", (1_024.0, 1_024.0));
        check(1, provisioned(3_414.0), "us-east-2", (3_414.0, 3_414.0));
    }

    #[test]
    fn elastic_shows_the_regions_writes_and_an_unknown_mode_nothing() {
        check(1, ThroughputMode::Elastic, "eu-west-1", (5_120.0, 5_120.0));
        check(1, ThroughputMode::Elastic, "eu-west-3", (1_024.0, 1_024.0));
        let unknown = file_system(1, ThroughputMode::Other("new".to_owned()), None);
        assert_eq!(unknown.permitted(1.0, "eu-west-1"), None);
    }

    #[test]
    fn one_zone_has_lower_quotas_but_in_bursting_mode() {
        let quota = |mode| quota(&file_system(1, mode, Some("eu-west-1a")), "eu-west-1");
        assert_eq!(quota(ThroughputMode::Elastic), Some(Rates::gib(3.0, 1.0)));
        assert_eq!(quota(ThroughputMode::Provisioned { mibps: 1.0 }), Some(Rates::gib(3.0, 1.0)));
        assert_eq!(quota(ThroughputMode::Bursting), Some(Rates::gib(5.0, 3.0)));
    }

    #[test]
    fn reads_get_three_times_as_much_and_share_with_writes() {
        // 1 TiB: 100 MiB/s of writes or 300 of reads; a third of each limit leaves a third.
        let both = limits(100.0 * MIB, Rates::gib(5.0, 3.0));
        assert_eq!(both, Rates { read: 300.0 * MIB, write: 100.0 * MIB });
        assert_eq!(both.used(150.0 * MIB, 50.0 * MIB), 1.0);
        assert_eq!(both.used(300.0 * MIB, 50.0 * MIB), 1.5);
        // 10 TiB in a small Region: 1,000 MiB/s of writes, and 3,000 of reads, below 3 GiB/s; 2,000 are cut to 1 and 3 GiB/s.
        assert_eq!(limits(1_000.0 * MIB, Rates::gib(3.0, 1.0)).read, 3_000.0 * MIB);
        assert_eq!(limits(2_000.0 * MIB, Rates::gib(3.0, 1.0)), Rates::gib(3.0, 1.0));
    }

    #[test]
    fn a_request_is_metered_as_4_kib_at_least() {
        assert_eq!((metered_read(3 << 20), metered_write(1 << 20)), (1_048_576.0, 1_048_576.0));
        assert_eq!(
            (metered_read(12_288), metered_read(12_285), metered_read(0)),
            (4_096.0, 4_096.0, 4_096.0)
        );
        assert_eq!((metered_write(4_097), metered_write(1)), (4_097.0, 4_096.0));
    }

    #[test]
    fn the_popular_192_gigabytes_are_half_an_hour_of_burst() {
        // 192e9 / (100 x 2^20) = 1,831 s without what is earned meanwhile: 1 GiB earns next to nothing.
        let seconds =
            file_system(0, ThroughputMode::Bursting, None).burst_seconds(192e9, "eu-west-1").unwrap();
        assert!((seconds / 60.0 - 30.517_578_125).abs() < 1e-6, "{seconds}");
        // 40 TiB earn 2,000 MiB/s, twice what a small Region allows.
        let large = file_system(40_960, ThroughputMode::Bursting, None);
        assert_eq!(large.burst_seconds(1e12, "eu-central-1"), None);
    }
}
