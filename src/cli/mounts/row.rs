//! One line of the list: a mount, and what is known of it.

use std::collections::HashMap;

use crate::efs::{
    Answer, Attribution, ConfiguredMount, HelperMount, Identity, Lookups, MountName, Place, Targets,
    helper_mount, identify, shared_ports,
};
use crate::health::{Finding, HostPlace, MountFacts, Severity, findings};
use crate::model::Moment;
use crate::monitor::StalledMount;
use crate::mountinfo::DeviceNumber;
use crate::mountstats::{Parsed, Record, Statistics, unescape};
use crate::names::utf8;
use crate::sampler::join::{Seen, Superblock};

/// One mount of the list.
pub struct Row<'a> {
    pub record: &'a Record<'a>,
    pub answer: Answer,
    /// Its superblock, when mountinfo told.
    pub number: Option<DeviceNumber>,
    /// The first mount of the same superblock, when that is another.
    pub same_as: Option<&'a [u8]>,
    /// `None` when no daemon watches it.
    pub stalled: Option<bool>,
    /// The gravest first.
    pub findings: Vec<Finding>,
}

impl Row<'_> {
    /// The file system, of a mount of EFS.
    pub fn efs(&self) -> Option<&Identity> {
        match &self.answer {
            Answer::Efs(identity) => Some(identity),
            _ => None,
        }
    }

    /// How many of its findings are as grave as that.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// What a daemon that runs told.
#[derive(Debug, Default)]
pub struct Told {
    pub host: HostPlace,
    pub stalled: Vec<StalledMount>,
}

/// What the rows are made from, beside the mounts themselves.
pub struct Inputs<'i> {
    pub moment: Moment,
    pub configured: &'i [ConfiguredMount],
    pub helper: &'i [HelperMount],
    /// Whether the mount helper's state could not be read.
    pub state_unread: bool,
    /// What EFS said of addresses, when it may be asked.
    pub targets: Option<Targets>,
    /// What the daemon says, when one runs.
    pub told: Option<Told>,
}

/// A row for each NFS mount, in the order of mountstats.
pub fn rows<'a>(parsed: &'a Parsed<'a>, seen: &Seen<'a>, inputs: Inputs<'_>) -> Vec<Row<'a>> {
    let Inputs { moment, configured, helper, state_unread, targets, told } = inputs;
    // As the daemon does it: what one mount of a superblock tells holds for all of them.
    let mut attribution = Attribution::with_targets(targets);
    attribution.update(moment, seen, configured, || helper.to_vec());
    let shared_ports = shared_ports(seen);
    let targets = attribution.targets();
    let lookups = Lookups { configured, helper, shared_ports: &shared_ports, targets };
    let superblocks: HashMap<usize, &Superblock<'a>> = seen
        .superblocks
        .iter()
        .flat_map(|superblock| superblock.records.iter().map(move |record| (record.line, superblock)))
        .collect();
    let stacked = stacked(parsed, &superblocks);
    let host = told.as_ref().map(|told| told.host.clone()).unwrap_or_default();
    let nfs = parsed.records.iter().filter_map(|record| Some((record, record.statistics.as_ref()?)));
    let row = |(record, statistics): (&'a Record<'a>, &Statistics<'a>)| {
        let superblock = superblocks.get(&record.line).copied();
        let number = superblock.map(|superblock| superblock.number);
        let name = match superblock {
            Some(superblock) => MountName::of(superblock, record, moment),
            None => MountName::without_superblock(record, statistics, moment),
        };
        let known = number.and_then(|number| attribution.answer(number)).cloned();
        let answer = known.unwrap_or_else(|| identify(name, lookups));
        let state = helper_mount(name, lookups);
        let first = superblock.and_then(|superblock| superblock.records.first());
        let same_as = first.filter(|first| first.line != record.line).map(|first| first.mount_point);
        let stall = told.as_ref().and_then(|told| told.stall(number?));
        let findings = findings(&MountFacts {
            answer: &answer,
            device: name.device,
            options: name.options,
            host: &host,
            stalled: stall.map(|stall| &*stall.reason),
            same_as,
            stacked: stacked.get(record.mount_point).copied().unwrap_or(1),
            unfinished: state.as_ref().is_some_and(|state| state.unfinished),
            encrypted: state.and_then(|state| state.tls),
            state_unread,
            place: Place::of(&utf8(&unescape(record.mount_point))),
        });
        Row { record, number, same_as, stalled: told.as_ref().map(|_| stall.is_some()), findings, answer }
    };
    nfs.map(row).collect()
}

/// How many superblocks each mount point has.
fn stacked<'a>(
    parsed: &'a Parsed<'a>,
    superblocks: &HashMap<usize, &Superblock<'a>>,
) -> HashMap<&'a [u8], usize> {
    let mut found: HashMap<&[u8], Vec<DeviceNumber>> = HashMap::new();
    for record in &parsed.records {
        let Some(superblock) = superblocks.get(&record.line) else { continue };
        let numbers = found.entry(record.mount_point).or_default();
        if !numbers.contains(&superblock.number) {
            numbers.push(superblock.number);
        }
    }
    found.into_iter().map(|(mount_point, numbers)| (mount_point, numbers.len())).collect()
}

impl Told {
    fn stall(&self, number: DeviceNumber) -> Option<&StalledMount> {
        self.stalled.iter().find(|mount| mount.superblock == number)
    }
}
