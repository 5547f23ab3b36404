//! A reading's way through the pure stages: parsed, joined, named, sampled, added to its minute.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::{OwnFigures, Profile, ProxyUse};
use crate::efs::{
    Answer, Attribution, ConfiguredMount, HelperMount, Targets, Wanted, proxy_port, shared_ports,
};
use crate::health::Stalls;
use crate::minutes::{Dropped, Minutes, Observed, SeriesLimits, Subject};
use crate::model::{Datum, FileSystemId, Moment};
use crate::mountinfo::DeviceNumber;
use crate::mountstats::{self, unescape};
use crate::names::utf8;
use crate::sampler::Sampler;
use crate::sampler::join::{Seen, Superblock, join_texts};
use crate::source::{Reading, View};

pub mod subjects;

/// What the stages need to be told.
#[derive(Clone, Debug)]
pub struct Settings {
    pub sample_interval: Duration,
    pub series: SeriesLimits,
    pub mounts: Vec<ConfiguredMount>,
    /// How long requests may go without any reply before their mount counts as stalled.
    pub stall_after: Duration,
}

/// Follows a host's mounts from reading to reading.
#[derive(Debug)]
pub struct Monitor {
    settings: Settings,
    state: State,
    attribution: Attribution,
    stalls: Stalls,
    proxied: Vec<ProxiedMount>,
}

/// A superblock of EFS that goes through a mount helper's proxy on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxiedMount {
    pub number: DeviceNumber,
    pub file_system: FileSystemId,
    /// The proxy's.
    pub port: u16,
    /// Whether another superblock goes through a proxy with the same port, in another network namespace.
    pub port_is_shared: bool,
    /// Without octal escapes, bytes that are not UTF-8 replaced, as the mount helper's state has it.
    pub mount_points: Vec<String>,
    /// Whole seconds since it was mounted.
    pub age: Duration,
}

/// What a restart goes on from: where counting starts, and the minutes that are not closed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    sampler: Sampler,
    minutes: Minutes,
}

impl State {
    /// When the last reading was taken.
    pub fn last(&self) -> Option<Moment> {
        self.minutes.last()
    }

    /// What another boot can go on from: what was counted and said, but no place where counting starts.
    pub fn of_another_boot(self) -> State {
        State { sampler: Sampler::default(), minutes: self.minutes.of_another_boot() }
    }
}

/// What a reading showed, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    pub view: Option<View>,
    /// NFS superblocks, EFS or not.
    pub superblocks: usize,
    /// Superblocks of each EFS file system.
    pub file_systems: BTreeMap<FileSystemId, usize>,
    /// Mounts that are not published, with the reason.
    pub not_published: Vec<NotPublished>,
    /// Mounts whose server does not answer, with the reason.
    #[serde(default)]
    pub stalled: Vec<StalledMount>,
    /// Made by a mount helper, and not named in 10 minutes.
    pub unidentified: u64,
    /// Mounts that came, went or moved during the reading.
    pub unjoined: usize,
    /// Parts of mountstats and of mountinfo that could not be read.
    pub problems: Vec<String>,
}

impl Sighting {
    /// Whether the same mounts are published and not published as in `other`.
    pub fn same_mounts(&self, other: &Sighting) -> bool {
        self.file_systems == other.file_systems && self.not_published == other.not_published
    }
}

/// A mount that is not published; bytes of its names that are not UTF-8 as `\xNN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotPublished {
    pub mount_point: String,
    pub device: String,
    pub reason: String,
}

/// A superblock whose server does not answer; bytes of its names that are not UTF-8 as `\xNN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StalledMount {
    pub superblock: DeviceNumber,
    /// The first of its mounts.
    pub mount_point: String,
    pub device: String,
    pub reason: String,
}

/// Most stalled mounts that a [`Sighting`] names: as a rule all, since `efsmon mounts` tells them from there.
const STALLED_NAMED: usize = 1000;
/// Most mounts and problems that a [`Sighting`] names.
const NAMED: usize = 20;

impl Monitor {
    pub fn new(settings: Settings, state: State) -> Monitor {
        let (attribution, stalls) = Default::default();
        Monitor { settings, state, attribution, stalls, proxied: Vec::new() }
    }

    /// Takes in a reading. `helper_state` is asked only when there is a mount without a name.
    pub fn observe(&mut self, reading: &Reading, helper_state: impl FnMut() -> Vec<HelperMount>) -> Sighting {
        let parsed = mountstats::parse(&reading.mountstats);
        let (seen, unread_mounts) = join_texts(&reading.mountinfo_before, &parsed, &reading.mountinfo_after);
        let moment = reading.moment;
        self.attribution.update(moment, &seen, &self.settings.mounts, helper_state);
        self.stalls.observe(moment, &seen, self.settings.stall_after);
        let by_operation = self.settings.series.profile == Profile::Full;
        let held = self.attribution.held(moment);
        let intervals = self.state.sampler.observe(moment, &seen, &held, by_operation);
        // Intervals come in the order of the reading.
        let mut superblocks = seen.superblocks.iter();
        let observed = intervals.iter().filter_map(|interval| {
            let superblock = superblocks.find(|superblock| superblock.number == interval.number)?;
            let Some(Answer::Efs(identity)) = self.attribution.answer(interval.number) else { return None };
            let subjects = subjects::of(superblock, identity, &self.settings.series);
            let stalled = self.stalls.stalled(interval.number).is_some();
            Some(Observed { interval, subjects, stalled })
        });
        self.state.minutes.observe(moment, self.settings.sample_interval, observed);
        self.proxied = if self.publishes_proxies() { self.proxied_of(&seen) } else { Vec::new() };
        let mut sighting = self.sighting(&seen);
        sighting.view = Some(reading.view);
        sighting.unidentified = self.attribution.unidentified(moment);
        let problems = parsed.problems.iter().chain(&unread_mounts);
        sighting.problems = problems.take(NAMED).map(ToString::to_string).collect();
        sighting
    }

    /// Lets EFS be asked whose an address is, beginning with what it said before.
    pub fn look_up(&mut self, targets: Targets) {
        self.attribution = Attribution::with_targets(Some(targets));
    }

    /// What EFS said of addresses; `None` where it may not be asked.
    pub fn targets(&self) -> Option<&Targets> {
        self.attribution.targets()
    }

    /// The same, to be added to. What is new counts from the next reading on.
    pub fn targets_mut(&mut self) -> Option<&mut Targets> {
        self.attribution.targets_mut()
    }

    /// The addresses of the last reading that EFS must be asked about.
    pub fn wanted(&self) -> Vec<Wanted> {
        self.state.last().map_or_else(Vec::new, |last| self.attribution.wanted(last))
    }

    /// The data of the minutes that end at or before the last reading.
    pub fn close(&mut self, own: &OwnFigures) -> Vec<Datum> {
        self.state.minutes.close(self.settings.sample_interval, own, &self.settings.series)
    }

    /// The data of every minute so far, the current one before its end.
    pub fn close_early(&mut self, own: &OwnFigures) -> Vec<Datum> {
        self.state.minutes.close_early(own, &self.settings.series)
    }

    /// What to go on from after a restart.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Goes back to an earlier state: what happened since is counted from there again.
    pub fn go_back(&mut self, state: State) {
        self.state = state;
    }

    /// Forgets what was chosen and lost before: it was another host's.
    pub fn disown(&mut self) {
        self.state.minutes.disown();
    }

    /// Subjects' scopes that are over the limits of series, since the last call.
    pub fn newly_dropped(&mut self) -> Vec<Dropped> {
        self.state.minutes.newly_dropped()
    }

    /// The series that are published, and the subjects' scopes that are not.
    pub fn series(&self) -> (usize, usize) {
        let series = self.state.minutes.series();
        (series.used(self.settings.series.profile), series.left_out())
    }

    /// Whether what proxies use is published, so that it is worth finding out.
    pub fn publishes_proxies(&self) -> bool {
        self.settings.series.profile == Profile::Full
    }

    /// The superblocks of the last reading that go through proxies, when [`Monitor::publishes_proxies`].
    pub fn proxied(&self) -> &[ProxiedMount] {
        &self.proxied
    }

    /// Takes in what the proxies of a file system's mounts used between the last two readings.
    pub fn observe_proxies(&mut self, file_system: &FileSystemId, used: ProxyUse) {
        self.state.minutes.observe_proxies(&Subject::FileSystem(file_system.clone()), used);
    }

    /// RPC bytes that no minute holds: their interval was longer than a day.
    pub fn unpublished_bytes(&self) -> u64 {
        self.state.minutes.unpublished_bytes()
    }

    fn proxied_of(&self, seen: &Seen<'_>) -> Vec<ProxiedMount> {
        let shared_ports = shared_ports(seen);
        let proxied = seen.superblocks.iter().filter_map(|superblock| {
            let Some(Answer::Efs(identity)) = self.attribution.answer(superblock.number) else { return None };
            let text = |printed: &[u8]| String::from_utf8_lossy(&unescape(printed)).into_owned();
            let port = proxy_port(superblock)?;
            Some(ProxiedMount {
                number: superblock.number,
                file_system: identity.file_system.clone(),
                port,
                port_is_shared: shared_ports.contains(&port),
                mount_points: superblock.records.iter().map(|record| text(record.mount_point)).collect(),
                age: Duration::from_secs(superblock.statistics.age_seconds),
            })
        });
        proxied.collect()
    }

    fn sighting(&self, seen: &Seen<'_>) -> Sighting {
        let mut sighting =
            Sighting { superblocks: seen.superblocks.len(), unjoined: seen.unjoined, ..Sighting::default() };
        for superblock in &seen.superblocks {
            let reason = match self.attribution.answer(superblock.number) {
                Some(Answer::Efs(identity)) => {
                    *sighting.file_systems.entry(identity.file_system.clone()).or_default() += 1;
                    continue;
                }
                Some(Answer::S3Files) => "a mount of S3 Files",
                Some(Answer::NotEfs(reason) | Answer::Pending(reason)) => reason,
                None => continue,
            };
            if sighting.not_published.len() < NAMED {
                let (mount_point, device) = names(superblock);
                sighting.not_published.push(NotPublished { mount_point, device, reason: reason.to_owned() });
            }
        }
        let stalled = seen.superblocks.iter().filter_map(|superblock| {
            let reason = self.stalls.stalled(superblock.number)?.to_string();
            let (mount_point, device) = names(superblock);
            Some(StalledMount { superblock: superblock.number, mount_point, device, reason })
        });
        sighting.stalled = stalled.take(STALLED_NAMED).collect();
        sighting
    }
}

/// Mount point and device of its first mount.
fn names(superblock: &Superblock<'_>) -> (String, String) {
    let name = |printed: &[u8]| utf8(&unescape(printed));
    let record = superblock.records.first();
    let device = record.and_then(|record| record.device).unwrap_or_default();
    (record.map(|record| name(record.mount_point)).unwrap_or_default(), name(device))
}

#[cfg(test)]
mod tests;
