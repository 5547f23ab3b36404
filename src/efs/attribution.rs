//! Keeps what is known of each superblock: an answer holds until the superblock is another one.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{Answer, ConfiguredMount, HelperMount, Lookups, MountName, configured, identify, is_local, port};
use crate::model::Moment;
use crate::mountinfo::DeviceNumber;
use crate::sampler::can_be_the_same;
use crate::sampler::join::{Seen, Superblock};

/// How long a mount helper may take to say what it mounted; until then the traffic is kept. As long a
/// superblock is remembered that no reading shows.
const PATIENCE: Duration = Duration::from_secs(600);

/// What every superblock is.
#[derive(Debug, Default)]
pub struct Attribution {
    known: HashMap<DeviceNumber, Entry>,
}

#[derive(Debug)]
struct Entry {
    answer: Answer,
    /// CLOCK_MONOTONIC of the first and of the last reading that showed it.
    first_seen: Duration,
    last_seen: Duration,
    /// In the last reading.
    age: Duration,
    port: Option<u16>,
    /// Device and mount point of each of its mounts, as printed.
    mounts: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Attribution {
    /// Takes in a reading. `helper_state` is asked only when there is a mount of this host's own server whose
    /// file system is not known.
    pub fn update(
        &mut self,
        moment: Moment,
        seen: &Seen<'_>,
        configured: &[ConfiguredMount],
        mut helper_state: impl FnMut() -> Vec<HelperMount>,
    ) {
        let mut helper: Option<Vec<HelperMount>> = None;
        for superblock in &seen.superblocks {
            let new = || Entry::new(superblock, moment);
            let entry = self.known.entry(superblock.number).or_insert_with(new);
            match entry.is(superblock, moment) {
                true => entry.seen_again(superblock, moment),
                false => *entry = new(),
            }
            if matches!(entry.answer, Answer::Pending(_)) {
                let mut lookups = Lookups { configured, helper: &[] };
                entry.answer = best_answer(superblock, lookups);
                let local =
                    superblock.records.iter().any(|record| is_local(record.device.unwrap_or_default()));
                if local && !matches!(entry.answer, Answer::Efs(_)) {
                    lookups.helper = helper.get_or_insert_with(&mut helper_state);
                    entry.answer = best_answer(superblock, lookups);
                }
            }
        }
        // A superblock that this reading lacks may be back in the next.
        self.known.retain(|_, entry| moment.monotonic.saturating_sub(entry.last_seen) < PATIENCE);
    }

    /// What a superblock is.
    pub fn answer(&self, number: DeviceNumber) -> Option<&Answer> {
        self.known.get(&number).map(|entry| &entry.answer)
    }

    /// Those of the reading at `now` whose traffic waits for an answer.
    pub fn held(&self, now: Moment) -> HashSet<DeviceNumber> {
        self.pending(now).filter(|(_, entry)| !entry.is_overdue(now)).map(|(number, _)| *number).collect()
    }

    /// How many of the reading at `now` have waited for an answer too long.
    pub fn unidentified(&self, now: Moment) -> u64 {
        self.pending(now).filter(|(_, entry)| entry.is_overdue(now)).count() as u64
    }

    fn pending(&self, now: Moment) -> impl Iterator<Item = (&DeviceNumber, &Entry)> {
        self.known.iter().filter(move |(_, entry)| {
            entry.last_seen == now.monotonic && matches!(entry.answer, Answer::Pending(_))
        })
    }
}

impl Entry {
    fn new(superblock: &Superblock<'_>, moment: Moment) -> Entry {
        Entry {
            answer: Answer::Pending("new"),
            first_seen: moment.monotonic,
            last_seen: moment.monotonic,
            age: age(superblock),
            port: port(superblock.statistics.options),
            mounts: mounts(superblock).map(owned).collect(),
        }
    }

    /// Whether `superblock` is the one of this entry, and not a later one with the same number. Mounts by a
    /// mount helper differ in nothing but their port.
    fn is(&self, superblock: &Superblock<'_>, moment: Moment) -> bool {
        let elapsed = moment.monotonic.saturating_sub(self.last_seen);
        can_be_the_same(self.age, elapsed, age(superblock))
            && self.port == port(superblock.statistics.options)
            && mounts(superblock).any(|(device, _)| self.mounts.iter().any(|(known, _)| known == device))
    }

    fn seen_again(&mut self, superblock: &Superblock<'_>, moment: Moment) {
        self.last_seen = moment.monotonic;
        self.age = age(superblock);
        let known =
            self.mounts.iter().map(|(device, mount_point)| (device.as_slice(), mount_point.as_slice()));
        if !mounts(superblock).eq(known) {
            self.mounts = mounts(superblock).map(owned).collect();
            // Another place may be one that the configuration names.
            if let Answer::NotEfs(_) = self.answer {
                self.answer = Answer::Pending("mounted elsewhere");
            }
        }
    }

    fn is_overdue(&self, now: Moment) -> bool {
        now.monotonic.saturating_sub(self.first_seen) >= PATIENCE
    }
}

fn age(superblock: &Superblock<'_>) -> Duration {
    Duration::from_secs(superblock.statistics.age_seconds)
}

/// Device and mount point of each of its mounts, as printed.
fn mounts<'a>(superblock: &'a Superblock<'_>) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    superblock.records.iter().map(|record| (record.device.unwrap_or_default(), record.mount_point))
}

fn owned((device, mount_point): (&[u8], &[u8])) -> (Vec<u8>, Vec<u8>) {
    (device.to_owned(), mount_point.to_owned())
}

/// A superblock may be mounted at several places: the first that says which file system it is, but what the
/// configuration says of any of them before that.
fn best_answer(superblock: &Superblock<'_>, lookups: Lookups<'_>) -> Answer {
    let names = || {
        let options = superblock.statistics.options;
        mounts(superblock).map(move |(device, mount_point)| MountName { device, mount_point, options })
    };
    if let Some(identity) = names().find_map(|name| configured(name, lookups)) {
        return Answer::Efs(identity.clone());
    }
    let rank = |answer: &Answer| match answer {
        Answer::Efs(_) => 0,
        Answer::S3Files => 1,
        Answer::Pending(_) => 2,
        Answer::NotEfs(_) => 3,
    };
    let answers = names().map(|name| identify(name, lookups));
    answers.min_by_key(rank).unwrap_or(Answer::NotEfs("it has no mount"))
}
