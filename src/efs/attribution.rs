//! Keeps what is known of each superblock: an answer holds until the superblock is another one.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{Answer, ConfiguredMount, HelperMount, Lookups, MountName, identify};
use crate::model::Moment;
use crate::mountinfo::DeviceNumber;
use crate::sampler::join::{Seen, Superblock};

/// How long a mount helper may take to say what it mounted; until then the traffic is kept.
const PATIENCE: Duration = Duration::from_secs(600);
/// Slack for the kernel's whole seconds when two ages are compared.
const AGE_SLACK: Duration = Duration::from_secs(3);

/// What every superblock is.
#[derive(Debug, Default)]
pub struct Attribution {
    known: HashMap<DeviceNumber, Entry>,
}

#[derive(Debug)]
struct Entry {
    answer: Answer,
    /// CLOCK_MONOTONIC at its birth, and when it was first and last seen here.
    born: Duration,
    first_seen: Duration,
    last_seen: Duration,
    device: Vec<u8>,
    mount_point: Vec<u8>,
}

impl Attribution {
    /// Takes in a reading. `helper_state` is asked only when there is a superblock without an answer.
    pub fn update(
        &mut self,
        moment: Moment,
        seen: &Seen<'_>,
        configured: &[ConfiguredMount],
        mut helper_state: impl FnMut() -> Vec<HelperMount>,
    ) {
        let mut helper: Option<Vec<HelperMount>> = None;
        let mut earlier = std::mem::take(&mut self.known);
        for superblock in &seen.superblocks {
            let entry = earlier.remove(&superblock.number).filter(|entry| entry.is(superblock, moment));
            let mut entry = entry.unwrap_or_else(|| Entry::new(superblock, moment));
            entry.last_seen = moment.monotonic;
            if matches!(entry.answer, Answer::Pending(_)) {
                let mut lookups = Lookups { configured, helper: &[] };
                entry.answer = best_answer(superblock, lookups);
                if matches!(entry.answer, Answer::Pending(_)) {
                    lookups.helper = helper.get_or_insert_with(&mut helper_state);
                    entry.answer = best_answer(superblock, lookups);
                }
            }
            self.known.insert(superblock.number, entry);
        }
        // A superblock that this reading lacks may be back in the next.
        earlier.retain(|number, entry| {
            !self.known.contains_key(number) && moment.monotonic.saturating_sub(entry.last_seen) < PATIENCE
        });
        self.known.extend(earlier);
    }

    /// What a superblock is.
    pub fn answer(&self, number: DeviceNumber) -> Option<&Answer> {
        self.known.get(&number).map(|entry| &entry.answer)
    }

    /// Those whose traffic waits for an answer.
    pub fn held(&self, now: Moment) -> HashSet<DeviceNumber> {
        self.pending().filter(|(_, entry)| !entry.is_overdue(now)).map(|(number, _)| *number).collect()
    }

    /// How many of those that the last reading held have waited for an answer too long.
    pub fn unidentified(&self, now: Moment) -> u64 {
        let here = |entry: &Entry| entry.last_seen == now.monotonic;
        self.pending().filter(|(_, entry)| here(entry) && entry.is_overdue(now)).count() as u64
    }

    fn pending(&self) -> impl Iterator<Item = (&DeviceNumber, &Entry)> {
        self.known.iter().filter(|(_, entry)| matches!(entry.answer, Answer::Pending(_)))
    }
}

impl Entry {
    fn new(superblock: &Superblock<'_>, moment: Moment) -> Entry {
        let record = superblock.records.first();
        Entry {
            answer: Answer::Pending("new"),
            born: birth(superblock, moment),
            first_seen: moment.monotonic,
            last_seen: moment.monotonic,
            device: record.and_then(|record| record.device).unwrap_or_default().to_owned(),
            mount_point: record.map(|record| record.mount_point).unwrap_or_default().to_owned(),
        }
    }

    /// Whether `superblock` is the one of this entry, and not a later one with the same number.
    fn is(&self, superblock: &Superblock<'_>, moment: Moment) -> bool {
        birth(superblock, moment).abs_diff(self.born) <= AGE_SLACK
            && superblock.records.iter().any(|record| {
                record.mount_point == self.mount_point && record.device.unwrap_or_default() == self.device
            })
    }

    fn is_overdue(&self, now: Moment) -> bool {
        now.monotonic.saturating_sub(self.first_seen) >= PATIENCE
    }
}

fn birth(superblock: &Superblock<'_>, moment: Moment) -> Duration {
    moment.monotonic.saturating_sub(Duration::from_secs(superblock.statistics.age_seconds))
}

/// A superblock may be mounted at several places: the first that says which file system it is.
fn best_answer(superblock: &Superblock<'_>, lookups: Lookups<'_>) -> Answer {
    let answers = superblock.records.iter().map(|record| {
        let options = superblock.statistics.options;
        let device = record.device.unwrap_or_default();
        identify(MountName { device, mount_point: record.mount_point, options }, lookups)
    });
    let rank = |answer: &Answer| match answer {
        Answer::Efs(_) => 0,
        Answer::S3Files => 1,
        Answer::Pending(_) => 2,
        Answer::NotEfs(_) => 3,
    };
    answers.min_by_key(rank).unwrap_or(Answer::NotEfs("it has no mount"))
}
