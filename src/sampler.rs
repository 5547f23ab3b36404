//! Two readings of a superblock become one interval. Pure; knows nothing of AWS or of file systems.
//!
//! All NFS superblocks are followed, whatever they turn out to be. The rules:
//!
//! - **The same** superblock as before has the same major:minor and type, a device in common, an age that
//!   grew by at least the elapsed time (less 2 s: the kernel prints whole seconds) and no counter that fell.
//!   Otherwise the old one is gone and this is another: minors are used again.
//! - **Born** since the last complete reading: that reading did not hold it and its age is not more than
//!   the time since, nor than the time since another one with its number was counted. Its whole counters are
//!   one interval that begins at its birth.
//! - **First seen** otherwise: its counters are where counting starts.
//! - **Absent** from a reading, or shown without some of its operations: it is remembered for 6 readings. If
//!   it comes back as the same, the absence is one interval.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Moment;
use crate::mountinfo::DeviceNumber;
use crate::traffic::Traffic;

pub mod counters;
pub mod join;

use counters::{Counters, Names};
use join::{Seen, Superblock};

/// Readings that a superblock may miss before it is forgotten.
const ABSENT_READINGS: u32 = 6;
/// Slack for the whole seconds in which the kernel prints `age:`.
const AGE_SLACK: Duration = Duration::from_secs(2);

/// What one superblock did between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    pub number: DeviceNumber,
    /// When the later reading was taken.
    pub end: Moment,
    /// How long before that the interval began (CLOCK_MONOTONIC).
    pub elapsed: Duration,
    pub traffic: Traffic,
}

/// The superblocks and where counting starts for each. Serialised, it is the baseline that survives a restart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sampler {
    names: Names,
    known: BTreeMap<DeviceNumber, Known>,
    /// When the last reading was taken that held every NFS mount.
    complete: Option<Moment>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Known {
    fs_type: String,
    devices: Vec<String>,
    /// The moment that `age` and `counters` are of: counting starts there.
    since: Moment,
    age: Duration,
    counters: Counters,
    #[serde(default)]
    missed: u32,
}

impl Sampler {
    /// Takes in a reading and returns an interval for every superblock that one can be given for.
    ///
    /// Superblocks in `held` (it is not known yet whose they are) keep the place where counting starts.
    /// `by_operation` also counts requests by the name of their operation.
    pub fn observe(
        &mut self,
        moment: Moment,
        seen: &Seen<'_>,
        held: &HashSet<DeviceNumber>,
        by_operation: bool,
    ) -> Vec<Interval> {
        self.known.values_mut().for_each(|known| known.missed += 1);
        let mut intervals = Vec::with_capacity(seen.superblocks.len());
        for superblock in &seen.superblocks {
            let number = superblock.number;
            let counters = Counters::of(superblock.statistics, &mut self.names);
            let age = Duration::from_secs(superblock.statistics.age_seconds);
            let mut known = self.known.get_mut(&number);
            let mut traffic = None;
            if let Some(known) = known.as_deref_mut().filter(|known| known.is(superblock, age, moment)) {
                if counters.lack_lines_of(&known.counters) {
                    continue;
                }
                traffic = counters.since(&known.counters, &self.names, by_operation);
            }
            let mut interval = |traffic, since: Moment| {
                let elapsed = moment.monotonic.saturating_sub(since.monotonic);
                intervals.push(Interval { number, end: moment, elapsed, traffic });
            };
            let is_held = held.contains(&number);
            if let (Some(known), Some(traffic)) = (known.as_deref_mut(), traffic) {
                known.seen_again(superblock);
                if !is_held {
                    interval(traffic, known.since);
                    known.count_from(moment, age, counters);
                }
                continue;
            }
            let counted = known.map_or(Duration::ZERO, |known| known.since.monotonic);
            let born = self.complete.and_then(|complete| {
                let earliest = complete.monotonic.max(counted);
                let born = Known::born(superblock, age, moment, earliest, counters.at_birth())?;
                Some((counters.since(&born.counters, &self.names, by_operation)?, born))
            });
            let next = match born {
                Some((_, born)) if is_held => born,
                Some((traffic, mut born)) => {
                    interval(traffic, born.since);
                    born.count_from(moment, age, counters);
                    born
                }
                None => Known::first_seen(superblock, age, moment, counters),
            };
            self.known.insert(number, next);
        }
        self.known.retain(|_, known| known.missed <= ABSENT_READINGS);
        if seen.complete {
            self.complete = Some(moment);
        }
        intervals
    }
}

/// Whether a superblock of age `now` can be the one that was of age `before`, `elapsed` ago (CLOCK_MONOTONIC,
/// which stands still in suspend as the kernel's age does). A recording may be replayed faster than it was
/// recorded, so one that aged faster can be.
pub fn can_be_the_same(before: Duration, elapsed: Duration, now: Duration) -> bool {
    now.saturating_add(AGE_SLACK) >= before.saturating_add(elapsed)
}

impl Known {
    fn first_seen(superblock: &Superblock<'_>, age: Duration, moment: Moment, counters: Counters) -> Known {
        let fs_type = String::from_utf8_lossy(superblock.fs_type()).into_owned();
        let devices = superblock.devices().map(|device| device.into_owned()).collect();
        Known { fs_type, devices, since: moment, age, counters, missed: 0 }
    }

    /// The superblock at its birth, when that was not before `earliest` (CLOCK_MONOTONIC).
    fn born(
        superblock: &Superblock<'_>,
        age: Duration,
        moment: Moment,
        earliest: Duration,
        counters: Counters,
    ) -> Option<Known> {
        let since =
            Moment { wall: moment.wall.saturating_sub(age), monotonic: moment.monotonic.saturating_sub(age) };
        (since.monotonic >= earliest).then(|| Known::first_seen(superblock, Duration::ZERO, since, counters))
    }

    /// Whether `superblock` is this one, as far as its names and its age tell.
    fn is(&self, superblock: &Superblock<'_>, age: Duration, moment: Moment) -> bool {
        let elapsed = moment.monotonic.saturating_sub(self.since.monotonic);
        can_be_the_same(self.age, elapsed, age)
            && self.fs_type.as_bytes() == superblock.fs_type()
            && superblock.devices().any(|device| self.devices.iter().any(|known| *known == device))
    }

    /// Takes note that this reading shows it, and as which devices.
    fn seen_again(&mut self, superblock: &Superblock<'_>) {
        self.missed = 0;
        if !superblock.devices().eq(self.devices.iter().map(|known| known.as_str())) {
            self.devices = superblock.devices().map(|device| device.into_owned()).collect();
        }
    }

    fn count_from(&mut self, moment: Moment, age: Duration, counters: Counters) {
        (self.since, self.age, self.counters) = (moment, age, counters);
    }
}

#[cfg(test)]
mod tests;
