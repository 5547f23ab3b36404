//! Keeps what is known of each superblock: an answer holds until the superblock is another one. What it leaves open, a
//! later reading may add; what it says, none takes back.

use core::net::IpAddr;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::address::wanted;
use super::{
    Answer, ConfiguredMount, HelperMount, Lookups, MountName, Targets, configured, helper_mount, identify,
    is_local, port, shared_ports,
};
use crate::model::Moment;
use crate::mountinfo::DeviceNumber;
use crate::sampler::can_be_the_same;
use crate::sampler::join::{Seen, Superblock};

/// How long a mount helper, or EFS, may take to say what was mounted; until then the traffic is kept. As long a
/// superblock is remembered that no reading shows.
const PATIENCE: Duration = Duration::from_secs(600);

/// What every superblock is.
#[derive(Debug, Default)]
pub struct Attribution {
    known: HashMap<DeviceNumber, Entry>,
    /// What EFS said of addresses; `None` where it may not be asked.
    targets: Option<Targets>,
}

/// An address of which EFS must say whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub address: IpAddr,
    /// When the youngest mount with it was made, since 1970.
    pub made: Duration,
}

#[derive(Debug)]
struct Entry {
    answer: Answer,
    open: Open,
    /// CLOCK_MONOTONIC of the first and of the last reading that showed it.
    first_seen: Duration,
    last_seen: Duration,
    /// CLOCK_MONOTONIC of when the mount helper's state was last asked.
    asked: Duration,
    wanted: Option<Wanted>,
    /// In the last reading.
    age: Duration,
    port: Option<u16>,
    /// Device and mount point of each of its mounts, as printed.
    mounts: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What the mount helper's state has not told yet of a mount whose file system is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Open {
    Nothing,
    /// The configuration of its proxy, which should give the region, could not be read.
    Region,
    /// Its text could not be read: its name gave the file system, and the access point is not known.
    Text,
}

/// What was read of the mount helper's state.
struct State {
    mounts: Vec<HelperMount>,
    shared_ports: Vec<u16>,
}

impl Attribution {
    /// One that may learn from EFS whose an address is, beginning with what it said before.
    pub fn with_targets(targets: Option<Targets>) -> Attribution {
        Attribution { targets, ..Attribution::default() }
    }

    /// What EFS said of addresses; `None` where it may not be asked.
    pub fn targets(&self) -> Option<&Targets> {
        self.targets.as_ref()
    }

    /// The same, to be added to. What is new counts from the next reading on.
    pub fn targets_mut(&mut self) -> Option<&mut Targets> {
        self.targets.as_mut()
    }

    /// Takes in a reading. `helper_state` is asked only when there is a mount of this host's own server of which not
    /// all is known.
    pub fn update(
        &mut self,
        moment: Moment,
        seen: &Seen<'_>,
        configured: &[ConfiguredMount],
        mut helper_state: impl FnMut() -> Vec<HelperMount>,
    ) {
        let mut state: Option<State> = None;
        let targets = self.targets.as_ref();
        for superblock in &seen.superblocks {
            let new = || Entry::new(superblock, moment);
            let entry = self.known.entry(superblock.number).or_insert_with(new);
            match entry.is(superblock, moment) {
                true => entry.seen_again(superblock, moment),
                false => *entry = new(),
            }
            if !entry.asks(moment) {
                continue;
            }
            let mut lookups = Lookups { configured, targets, ..Lookups::default() };
            if is_local(superblock) && !is_configured(superblock, moment, lookups) {
                let state = state.get_or_insert_with(|| State {
                    mounts: helper_state(),
                    shared_ports: shared_ports(seen),
                });
                (lookups.helper, lookups.shared_ports) = (&state.mounts, &state.shared_ports);
            }
            entry.learn(superblock, moment, lookups);
        }
        // A superblock that this reading lacks may be back in the next.
        self.known.retain(|_, entry| moment.monotonic.saturating_sub(entry.last_seen) < PATIENCE);
    }

    /// The addresses of the reading at `now` that EFS must be asked about, each once.
    pub fn wanted(&self, now: Moment) -> Vec<Wanted> {
        let mut youngest: HashMap<IpAddr, Duration> = HashMap::new();
        for Wanted { address, made } in self.pending(now).filter_map(|(_, entry)| entry.wanted) {
            let known = youngest.entry(address).or_insert(made);
            *known = made.max(*known);
        }
        let mut wanted: Vec<Wanted> =
            youngest.into_iter().map(|(address, made)| Wanted { address, made }).collect();
        wanted.sort_by_key(|wanted| wanted.address);
        wanted
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
            open: Open::Nothing,
            wanted: None,
            asked: moment.monotonic,
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

    /// Whether there is something left to be found out. What only a person can mend (who may read the state) is asked
    /// seldom in the long run.
    fn asks(&self, now: Moment) -> bool {
        let since = |then| now.monotonic.saturating_sub(then);
        match (&self.answer, self.open) {
            (Answer::Pending(_), _) => true,
            (_, Open::Nothing) => false,
            _ => since(self.first_seen) < PATIENCE || since(self.asked) >= PATIENCE,
        }
    }

    /// Looks again. An answer that is one of a file system becomes no other.
    fn learn(&mut self, superblock: &Superblock<'_>, moment: Moment, lookups: Lookups<'_>) {
        let answer = best_answer(superblock, moment, lookups);
        let open = open(&answer, superblock, moment, lookups);
        self.asked = moment.monotonic;
        match (&mut self.answer, answer) {
            (Answer::Efs(known), Answer::Efs(mut told)) if known.file_system == told.file_system => {
                // A text that was read has said whether there is an access point.
                if self.open != Open::Text {
                    told.access_point = None;
                }
                known.learn(told);
                self.open = self.open.min(open);
            }
            (Answer::Efs(_), _) => {}
            (known, told) => (*known, self.open) = (told, open),
        }
        self.wanted = names(superblock, moment).find_map(|name| {
            let address = wanted(name, lookups)?;
            Some(Wanted { address, made: name.made? })
        });
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

fn names<'a>(superblock: &'a Superblock<'_>, moment: Moment) -> impl Iterator<Item = MountName<'a>> {
    superblock.records.iter().map(move |record| MountName::of(superblock, record, moment))
}

fn is_configured(superblock: &Superblock<'_>, moment: Moment, lookups: Lookups<'_>) -> bool {
    names(superblock, moment).any(|name| configured(name, lookups).is_some())
}

/// A superblock may be mounted at several places: the first that says which file system it is, but what the
/// configuration says of any of them before that.
fn best_answer(superblock: &Superblock<'_>, moment: Moment, lookups: Lookups<'_>) -> Answer {
    let names = || names(superblock, moment);
    if let Some(identity) = names().find_map(|name| configured(name, lookups)) {
        return Answer::Efs(identity);
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

/// What an answer that the mount helper's state gave leaves open.
fn open(answer: &Answer, superblock: &Superblock<'_>, moment: Moment, lookups: Lookups<'_>) -> Open {
    let found = names(superblock, moment).find_map(|name| helper_mount(name, lookups));
    match (answer, found) {
        (Answer::Efs(_), Some(HelperMount { is_s3_files: None, .. })) => Open::Text,
        (Answer::Efs(_), Some(HelperMount { lacks_region: true, .. })) => Open::Region,
        _ => Open::Nothing,
    }
}
