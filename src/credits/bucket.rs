//! Burst credits as water in a bucket: what flows in and out, and for how long.

use super::{FileSystem, accrual, cap};

/// A file system's burst credits at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Bytes.
    pub balance: f64,
    /// What is earned, bytes a second.
    pub accrual: f64,
    /// The most that there can be, bytes.
    pub cap: f64,
}

impl Bucket {
    /// That of a file system of this size, with so many bytes in it.
    pub fn of(file_system: &FileSystem, balance: f64) -> Bucket {
        let standard = file_system.standard_bytes;
        Bucket { balance, accrual: accrual(standard), cap: cap(standard) }
    }

    /// After so many seconds at `metered` bytes a second.
    pub fn after(self, metered: f64, seconds: f64) -> Bucket {
        let balance = self.balance + (self.accrual - metered) * seconds;
        Bucket { balance: balance.clamp(0.0, self.cap), ..self }
    }

    /// Seconds until it is empty at `metered` bytes a second; none if it does not drain.
    pub fn to_depletion(&self, metered: f64) -> Option<f64> {
        let net = metered - self.accrual;
        (net > 0.0).then(|| self.balance / net)
    }

    /// Seconds until it is full at `metered` bytes a second; none if it does not fill.
    pub fn to_refill(&self, metered: f64) -> Option<f64> {
        let net = self.accrual - metered;
        (net > 0.0).then(|| (self.cap - self.balance).max(0.0) / net)
    }

    /// What is in it, of what can be: 0 to 1.
    pub fn share(&self) -> f64 {
        self.balance / self.cap
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ThroughputMode, baseline, burst};
    use super::*;
    use crate::credits::{GIB, MIB, TIB};

    fn gib(number: u64) -> FileSystem {
        FileSystem {
            id: "fs-0123456789abcdef0".parse().unwrap(),
            name: None,
            mode: ThroughputMode::Bursting,
            general_purpose: true,
            standard_bytes: number << 30,
            infrequent_bytes: 0,
            archive_bytes: 0,
            zone: None,
        }
    }

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= expected.abs() * 1e-9
    }

    #[test]
    fn sizes_have_the_rates_and_times_that_follow_from_the_user_guide() {
        // Standard GiB; accrual, allowed at 0 credits and burst in MiB/s; MiB earned a day; minutes of burst that these
        // are; hours that a full bucket lasts at burst. The accrual is GiB x 50 / 1,024; a day has 86,400 s; a bucket
        // of 2.1 TiB, 2,202,009.6 MiB, drains at burst - accrual.
        for (size, earned, allowed, burst_rate, a_day, minutes, hours) in [
            (1, 0.048_828_125, 1.0, 100.0, 4_218.75, 0.703_125, 6.119_681),
            (10, 0.488_281_25, 1.0, 100.0, 42_187.5, 7.031_25, 6.146_707),
            (20, 0.976_562_5, 1.0, 100.0, 84_375.0, 14.062_5, 6.177_016),
            (100, 4.882_812_5, 4.882_812_5, 100.0, 421_875.0, 70.312_5, 6.430_692),
            (256, 12.5, 12.5, 100.0, 1_080_000.0, 180.0, 6.990_507),
            (512, 25.0, 25.0, 100.0, 2_160_000.0, 360.0, 8.155_591),
            (1_024, 50.0, 50.0, 100.0, 4_320_000.0, 720.0, 12.233_387),
            (4_096, 200.0, 200.0, 400.0, 17_280_000.0, 720.0, 12.233_387),
            (10_240, 500.0, 500.0, 1_000.0, 43_200_000.0, 720.0, 12.233_387),
        ] {
            let file_system = gib(size);
            let standard = file_system.standard_bytes;
            let full = Bucket::of(&file_system, cap(standard));
            assert!(near(full.accrual, earned * MIB), "{size} GiB");
            assert!(near(file_system.permitted(0.0, "eu-west-1").unwrap(), allowed * MIB), "{size} GiB");
            assert!(near(file_system.permitted(1.0, "eu-west-1").unwrap(), burst_rate * MIB), "{size} GiB");
            assert!(near(full.accrual * 86_400.0, a_day * MIB), "{size} GiB");
            assert!(near(full.accrual * 86_400.0 / burst(standard) / 60.0, minutes), "{size} GiB");
            let lasts = full.to_depletion(burst(standard)).unwrap() / 3_600.0;
            assert!((lasts - hours).abs() < 1e-6, "{size} GiB: {lasts}");
        }
    }

    #[test]
    fn the_examples_of_the_user_guide_hold() {
        // 100 GiB: "5 MiB/s", and "72 minutes a day", which is 5 x 86,400 / 100 s; with the exact 4.88 it is 70.3.
        let hundred = gib(100).standard_bytes;
        assert_eq!((baseline(hundred) / MIB).round(), 5.0);
        assert!((70.0..=72.0).contains(&(accrual(hundred) * 86_400.0 / burst(hundred) / 60.0)));
        // 1 TiB: 50 MiB/s, and 100 MiB/s for 12 hours a day: half of the time.
        let tebibyte = gib(1_024).standard_bytes;
        assert_eq!(accrual(tebibyte) * 86_400.0 / burst(tebibyte), 12.0 * 3_600.0);
    }

    #[test]
    fn what_is_used_above_the_accrual_drains_and_what_is_not_used_fills_up_to_the_cap() {
        // 1 TiB earns 50 MiB/s: at 80 MiB/s 30 MiB/s go, 1,800 MiB a minute.
        let bucket = Bucket::of(&gib(1_024), 10_000.0 * MIB);
        assert_eq!(bucket.after(80.0 * MIB, 60.0).balance, 8_200.0 * MIB);
        assert_eq!(bucket.after(20.0 * MIB, 60.0).balance, 11_800.0 * MIB);
        assert_eq!(bucket.after(80.0 * MIB, 1e6).balance, 0.0);
        assert_eq!(bucket.after(0.0, 1e6).balance, 2.1 * TIB);
        // An hour of 100 MiB/s, then an hour of rest: back where it was.
        let hour =
            (0..60).fold(Bucket { balance: TIB, ..bucket }, |bucket, _| bucket.after(100.0 * MIB, 60.0));
        assert_eq!(hour.balance, TIB - 180_000.0 * MIB);
        assert_eq!(hour.after(0.0, 3_600.0).balance, TIB);
    }

    #[test]
    fn times_come_from_balance_accrual_and_burn() {
        // 90 GiB at 80 - 50 MiB/s: 92,160 / 30 = 3,072 s.
        let bucket = Bucket::of(&gib(1_024), 90.0 * GIB);
        assert_eq!(bucket.to_depletion(80.0 * MIB), Some(3_072.0));
        assert_eq!((bucket.to_depletion(50.0 * MIB), bucket.to_refill(50.0 * MIB)), (None, None));
        // 2,202,009.6 - 92,160 MiB at 50 MiB/s.
        assert!(near(bucket.to_refill(0.0).unwrap(), 42_196.992));
        assert_eq!(Bucket { balance: 3.0 * TIB, ..bucket }.to_refill(0.0), Some(0.0));
        // A tiny one refills in a year and a half: 2,202,009.6 MiB / 0.048828125 MiB/s = 45,097,156.6 s.
        let tiny = Bucket::of(&gib(1), 0.0).to_refill(0.0).unwrap();
        assert!((tiny - 45_097_156.608).abs() < 0.001, "{tiny}");
        assert_eq!(Bucket::of(&gib(1_024), 1.05 * TIB).share(), 0.5);
    }
}
