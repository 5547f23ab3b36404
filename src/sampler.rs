//! Two readings of a superblock become one interval. Pure; knows nothing of AWS or of file systems.
//!
//! All NFS superblocks are followed, whatever they turn out to be. The rules:
//!
//! - **The same** superblock as before has the same major:minor and type, a device in common, an age that
//!   grew by at least the elapsed time (less 2 s: the kernel prints whole seconds) and no counter that fell.
//!   Otherwise the old one is gone and this is another: minors are used again.
//! - **Born** since the last complete reading: that reading did not hold it and its age is not more than
//!   the time since. Its whole counters are one interval that begins at its birth.
//! - **First seen** otherwise: its counters are where counting starts.
//! - **Absent** from a reading: it is remembered for 6 readings. If it comes back as the same, the absence is
//!   one interval.
//!
//! Elapsed time is CLOCK_MONOTONIC, which stands still in suspend as the kernel's age does.

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
        let mut earlier = std::mem::take(&mut self.known);
        let mut intervals = Vec::with_capacity(seen.superblocks.len());
        for superblock in &seen.superblocks {
            let counters = Counters::of(superblock.statistics, &mut self.names);
            let age = Duration::from_secs(superblock.statistics.age_seconds);
            let known = earlier.remove(&superblock.number);
            let start = known
                .filter(|known| known.is(superblock, age, moment))
                .and_then(|known| Some((counters.since(&known.counters, &self.names, by_operation)?, known)))
                .or_else(|| {
                    let born = Known::born(superblock, age, moment, self.complete?)?;
                    Some((counters.since(&born.counters, &self.names, by_operation)?, born))
                });
            let next = match start {
                Some((_, known)) if held.contains(&superblock.number) => {
                    Known { missed: 0, ..known.shown_by(superblock) }
                }
                Some((traffic, known)) => {
                    let elapsed = moment.monotonic.saturating_sub(known.since.monotonic);
                    intervals.push(Interval { number: superblock.number, end: moment, elapsed, traffic });
                    Known { since: moment, age, counters, missed: 0, ..known.shown_by(superblock) }
                }
                None => Known::first_seen(superblock, age, moment, counters),
            };
            self.known.insert(superblock.number, next);
        }
        for (number, known) in earlier {
            let missed = known.missed + 1;
            if missed <= ABSENT_READINGS && !self.known.contains_key(&number) {
                self.known.insert(number, Known { missed, ..known });
            }
        }
        if seen.complete {
            self.complete = Some(moment);
        }
        intervals
    }

    /// How many superblocks are followed.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

impl Known {
    fn first_seen(superblock: &Superblock<'_>, age: Duration, moment: Moment, counters: Counters) -> Known {
        let fs_type = String::from_utf8_lossy(superblock.fs_type()).into_owned();
        let devices = superblock.devices().map(|device| device.into_owned()).collect();
        Known { fs_type, devices, since: moment, age, counters, missed: 0 }
    }

    /// The superblock at its birth, when that was after the complete reading that did not hold it.
    fn born(superblock: &Superblock<'_>, age: Duration, moment: Moment, complete: Moment) -> Option<Known> {
        let since =
            Moment { wall: moment.wall.saturating_sub(age), monotonic: moment.monotonic.saturating_sub(age) };
        (since.monotonic >= complete.monotonic)
            .then(|| Known::first_seen(superblock, Duration::ZERO, since, Counters::default()))
    }

    /// Whether `superblock` is this one, as far as its names and its age tell.
    fn is(&self, superblock: &Superblock<'_>, age: Duration, moment: Moment) -> bool {
        let elapsed = moment.monotonic.saturating_sub(self.since.monotonic);
        age + AGE_SLACK >= self.age + elapsed
            && self.fs_type.as_bytes() == superblock.fs_type()
            && superblock.devices().any(|device| self.devices.iter().any(|known| *known == device))
    }

    /// With the devices that the superblock is mounted as now.
    fn shown_by(mut self, superblock: &Superblock<'_>) -> Known {
        if !superblock.devices().eq(self.devices.iter().map(|known| known.as_str())) {
            self.devices = superblock.devices().map(|device| device.into_owned()).collect();
        }
        self
    }
}

#[cfg(test)]
mod tests;
