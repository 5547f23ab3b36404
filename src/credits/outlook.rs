//! What a file system's credits come to, from what CloudWatch has of it: drained, or full, and when.

use super::{Bucket, FLOOR, FileSystem, baseline};
use crate::metricmath::Points;

/// Present is what happened in so many seconds before the newest data.
pub const PRESENT: i64 = 900;
/// Data that end so many seconds ago, or earlier, are old: EFS publishes every minute.
pub const OLD: i64 = 900;
/// Of the permitted throughput: from here on the limit is what is seen, not the demand.
pub const CEILING: f64 = 0.95;
/// Of the cap: a bucket that holds so much is full. Its cap follows the bytes stored, which EFS tells late.
const FULL: f64 = 0.999;

/// Metrics of one file system in the namespace AWS/EFS, over some time up to now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// `BurstCreditBalance`, bytes.
    pub balance: Points,
    /// `PermittedThroughput`, metered bytes a second.
    pub permitted: Points,
    /// `MeteredIOBytes`, as bytes a second.
    pub metered: Points,
}

/// A value and its time, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    pub at: i64,
    pub value: f64,
}

impl Reading {
    fn newest(points: &Points) -> Option<Reading> {
        points.last_key_value().map(|(at, value)| Reading { at: *at, value: *value })
    }

    /// Whether it is too old to tell the present; `now` in seconds since 1970.
    pub fn is_old(&self, now: i64) -> bool {
        now - self.at > OLD
    }
}

/// What is used at present.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burn {
    /// The mean of those minutes, metered bytes a second.
    pub rate: f64,
    /// Minutes with data, of those before [`Burn::until`].
    pub minutes: usize,
    /// Of these, those at the limit.
    pub at_ceiling: usize,
    /// The end of the last one, in seconds since 1970.
    pub until: i64,
}

impl Burn {
    /// Whether there may be more demand than is seen: in some minute the limit was reached.
    pub fn is_censored(&self) -> bool {
        self.at_ceiling > 0
    }

    fn of(metrics: &Metrics, now: i64) -> Option<Burn> {
        let newest = Reading::newest(&metrics.metered).filter(|newest| !newest.is_old(now))?;
        let minutes: Vec<(&i64, &f64)> = metrics.metered.range(newest.at - PRESENT + 1..).collect();
        let at_ceiling = |(at, rate): &&(&i64, &f64)| {
            let permitted = metrics.permitted.range(..=**at).next_back();
            permitted.is_some_and(|(_, permitted)| **rate >= CEILING * permitted)
        };
        Some(Burn {
            rate: minutes.iter().map(|(_, rate)| **rate).sum::<f64>() / minutes.len() as f64,
            minutes: minutes.len(),
            at_ceiling: minutes.iter().filter(at_ceiling).count(),
            until: newest.at + 60,
        })
    }
}

/// What becomes of the credits if all goes on as at present. Times count from the newest balance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outlook {
    /// The file system has none: elastic, or more is provisioned than its storage earns.
    NoCredits,
    /// There are no present data of `BurstCreditBalance`.
    NoBalance,
    /// There are none left, and no more than the baseline is allowed.
    Empty {
        /// When the oldest balance is from that was empty, with none after it that was not; seconds since 1970.
        since: i64,
        /// Whether that is the oldest balance there is: it may have been empty before.
        or_before: bool,
        /// Seconds until they are full, if less is used than is earned, and not for want of more.
        refill: Option<f64>,
    },
    /// In so many seconds they are gone.
    Depletion { seconds: f64 },
    /// In so many seconds there are as many as there can be.
    Refill { seconds: f64 },
    /// There are as many as there can be, and no more is used than is earned.
    Full,
    /// As much is used as is earned.
    Steady,
    /// There are some, and no present data of `MeteredIOBytes`.
    NoBurn,
}

/// A file system at present.
#[derive(Clone, Debug, PartialEq)]
pub struct Situation {
    /// The newest `BurstCreditBalance`, bytes.
    pub balance: Option<Reading>,
    /// The newest `PermittedThroughput`, metered bytes a second.
    pub permitted: Option<Reading>,
    pub burn: Option<Burn>,
    pub outlook: Outlook,
}

impl Situation {
    /// `now` in seconds since 1970; the metrics' last hour is minute by minute.
    pub fn of(file_system: &FileSystem, metrics: &Metrics, now: i64) -> Situation {
        let balance = Reading::newest(&metrics.balance);
        let burn = Burn::of(metrics, now);
        let outlook = match balance.filter(|balance| !balance.is_old(now)) {
            _ if !file_system.may_have_credits() => Outlook::NoCredits,
            None => Outlook::NoBalance,
            Some(newest) => outlook(file_system, metrics, newest, burn),
        };
        Situation { balance, permitted: Reading::newest(&metrics.permitted), burn, outlook }
    }
}

fn outlook(file_system: &FileSystem, metrics: &Metrics, newest: Reading, burn: Option<Burn>) -> Outlook {
    let bucket = Bucket::of(file_system, newest.value);
    // What a minute without credits uses anyhow.
    let empty = 60.0 * baseline(file_system.standard_bytes).max(FLOOR);
    if newest.value < empty {
        let before = metrics.balance.iter().rev().take_while(|(_, balance)| **balance < empty);
        let since = before.last().map_or(newest.at, |(at, _)| *at);
        return Outlook::Empty {
            since,
            or_before: metrics.balance.first_key_value().is_some_and(|(first, _)| *first == since),
            refill: burn.filter(|burn| !burn.is_censored()).and_then(|burn| bucket.to_refill(burn.rate)),
        };
    }
    let is_full = bucket.share() >= FULL;
    let Some(burn) = burn else {
        return if is_full { Outlook::Full } else { Outlook::NoBurn };
    };
    match (bucket.to_depletion(burn.rate), bucket.to_refill(burn.rate)) {
        (Some(seconds), _) => Outlook::Depletion { seconds },
        _ if is_full => Outlook::Full,
        (None, Some(seconds)) => Outlook::Refill { seconds },
        (None, None) => Outlook::Steady,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GIB, MIB, TIB, ThroughputMode};
    use super::*;

    /// A whole minute.
    const NOW: i64 = 1_796_040_000;

    fn tebibyte(mode: ThroughputMode) -> FileSystem {
        FileSystem {
            id: "fs-0123456789abcdef0".parse().unwrap(),
            name: None,
            mode,
            general_purpose: true,
            standard_bytes: 1 << 40,
            infrequent_bytes: 0,
            archive_bytes: 0,
            zone: None,
        }
    }

    /// The last of these values is a minute old, the one before two, and so on.
    fn points(values: &[f64]) -> Points {
        let first = NOW - 60 * values.len() as i64;
        (0..).map(|minute| first + 60 * minute).zip(values.iter().copied()).collect()
    }

    fn of(mode: ThroughputMode, metrics: &Metrics) -> Situation {
        Situation::of(&tebibyte(mode), metrics, NOW)
    }

    fn bursting(balance: &[f64], permitted: f64, metered: &[f64]) -> Situation {
        let (balance, metered) = (points(balance), points(metered));
        let permitted = metered.keys().map(|at| (*at, permitted)).collect();
        of(ThroughputMode::Bursting, &Metrics { balance, permitted, metered })
    }

    #[test]
    fn more_use_than_is_earned_drains() {
        // 90 GiB at 80 MiB/s, where 50 MiB/s are earned: 92,160 / 30 s. What was before the last 15 minutes is past.
        let metered = [[0.0; 10].as_slice(), &[80.0 * MIB; 15]].concat();
        let situation = bursting(&[100.0 * GIB, 90.0 * GIB], 100.0 * MIB, &metered);
        assert_eq!(situation.outlook, Outlook::Depletion { seconds: 3_072.0 });
        let burn = situation.burn.unwrap();
        assert_eq!(burn, Burn { rate: 80.0 * MIB, minutes: 15, at_ceiling: 0, until: NOW });
        assert!(!burn.is_censored());
        assert_eq!(situation.balance, Some(Reading { at: NOW - 60, value: 90.0 * GIB }));
        assert_eq!(situation.permitted, Some(Reading { at: NOW - 60, value: 100.0 * MIB }));
    }

    #[test]
    fn less_use_than_is_earned_refills_and_at_the_cap_it_is_full() {
        // 2.1 - 1.05 TiB, 1,101,004.8 MiB, at 50 - 30 MiB/s.
        let Outlook::Refill { seconds } = bursting(&[1.05 * TIB], 100.0 * MIB, &[30.0 * MIB]).outlook else {
            panic!()
        };
        assert!((seconds - 55_050.24).abs() < 1e-6, "{seconds}");
        assert_eq!(bursting(&[2.1 * TIB], 100.0 * MIB, &[30.0 * MIB]).outlook, Outlook::Full);
        assert_eq!(bursting(&[2.0 * TIB], 100.0 * MIB, &[50.0 * MIB]).outlook, Outlook::Steady);
        // A full one that drains: 2,202,009.6 / 50 s.
        let Outlook::Depletion { seconds } = bursting(&[2.1 * TIB], 100.0 * MIB, &[100.0 * MIB]).outlook
        else {
            panic!()
        };
        assert!((seconds - 44_040.192).abs() < 1e-6, "{seconds}");
    }

    #[test]
    fn from_95_percent_of_the_permitted_on_the_demand_is_not_known() {
        let at_ceiling = |metered: &[f64]| bursting(&[TIB], 100.0, metered).burn.unwrap().at_ceiling;
        assert_eq!(at_ceiling(&[94.9, 95.0, 100.0, 101.0]), 3);
        // The limit of a minute without one is that of the minute before.
        let (balance, metered) = (points(&[TIB; 3]), points(&[95.0; 3]));
        let permitted = Points::from([(NOW - 180, 1_000.0), (NOW - 120, 100.0)]);
        let metrics = Metrics { balance, permitted, metered };
        assert_eq!(of(ThroughputMode::Bursting, &metrics).burn.unwrap().at_ceiling, 2);
        // Nothing to hold against.
        let metrics = Metrics { permitted: Points::new(), ..metrics };
        assert_eq!(of(ThroughputMode::Bursting, &metrics).burn.unwrap().at_ceiling, 0);
    }

    #[test]
    fn an_empty_bucket_is_empty_since_the_last_balance_that_was_not() {
        // A minute at 50 MiB/s is 3,000 MiB.
        let balance = [0.0, 3_000.0 * MIB, 2_999.0 * MIB, 0.0, 10.0];
        let throttled = bursting(&balance, 50.0 * MIB, &[50.0 * MIB; 15]);
        let empty = Outlook::Empty { since: NOW - 180, or_before: false, refill: None };
        assert_eq!(throttled.outlook, empty);
        assert!(throttled.burn.unwrap().is_censored());
        let always = bursting(&[0.0; 5], 50.0 * MIB, &[50.0 * MIB; 15]).outlook;
        assert_eq!(always, Outlook::Empty { since: NOW - 300, or_before: true, refill: None });
        // A little less than the limit is the limit still.
        let below = bursting(&[0.0; 5], 50.0 * MIB, &[48.0 * MIB; 15]).outlook;
        assert_eq!(below, Outlook::Empty { since: NOW - 300, or_before: true, refill: None });
        // Nothing is used any more: 2,202,009.6 / 50 s.
        let Outlook::Empty { refill: Some(seconds), .. } =
            bursting(&[0.0; 5], 50.0 * MIB, &[0.0; 15]).outlook
        else {
            panic!()
        };
        assert!((seconds - 44_040.192).abs() < 1e-6, "{seconds}");
    }

    #[test]
    fn without_data_nothing_is_guessed() {
        assert_eq!(bursting(&[], 100.0, &[]).outlook, Outlook::NoBalance);
        assert_eq!(bursting(&[], 100.0, &[]).burn, None);
        assert_eq!(bursting(&[TIB], 100.0, &[]).outlook, Outlook::NoBurn);
        assert_eq!(bursting(&[2.1 * TIB], 100.0, &[]).outlook, Outlook::Full);
        // The newest is 901 s old, then 900 s.
        let metrics = |age| Metrics { metered: Points::from([(NOW - age, 1.0)]), ..Metrics::default() };
        assert_eq!(of(ThroughputMode::Bursting, &metrics(901)).burn, None);
        assert_eq!(of(ThroughputMode::Bursting, &metrics(900)).burn.map(|burn| burn.until), Some(NOW - 840));
        // An old balance tells nothing: what is used now may have drained it long ago, or it was full since.
        let drained = |age| {
            let balance = Points::from([(NOW - age, 90.0 * GIB)]);
            let metrics = Metrics { balance, metered: points(&[100.0 * MIB; 15]), ..Metrics::default() };
            of(ThroughputMode::Bursting, &metrics).outlook
        };
        assert_eq!(drained(901), Outlook::NoBalance);
        assert!(matches!(drained(900), Outlook::Depletion { .. }));
        // A minute without data is no minute of nothing.
        let gaps = Metrics { metered: Points::from([(NOW - 600, 30.0), (NOW - 60, 10.0)]), ..metrics(0) };
        let burn = of(ThroughputMode::Bursting, &gaps).burn.unwrap();
        assert_eq!((burn.rate, burn.minutes), (20.0, 2));
    }

    #[test]
    fn only_storage_that_earns_more_than_is_provisioned_has_credits() {
        let metrics = Metrics { balance: points(&[TIB]), metered: points(&[0.0]), ..Metrics::default() };
        let provisioned = |mibps| of(ThroughputMode::Provisioned { mibps }, &metrics).outlook;
        assert_eq!(provisioned(50.0), Outlook::NoCredits);
        assert!(matches!(provisioned(49.0), Outlook::Refill { .. }));
        assert_eq!(of(ThroughputMode::Elastic, &metrics).outlook, Outlook::NoCredits);
        assert_eq!(of(ThroughputMode::Elastic, &Metrics::default()).outlook, Outlook::NoCredits);
        let unknown = ThroughputMode::Other("new".to_owned());
        assert!(matches!(of(unknown, &metrics).outlook, Outlook::Refill { .. }));
    }
}
