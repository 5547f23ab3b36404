//! Finds out which records of mountstats are which superblock.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::mountinfo::{self, DeviceNumber, Mount};
use crate::mountstats::{Parsed, Problem, Record, Statistics};

/// One NFS superblock of a reading, with every record that shows it.
#[derive(Debug)]
pub struct Superblock<'a> {
    pub number: DeviceNumber,
    /// In the file's order, never empty; all of them show the same counters.
    pub records: Vec<&'a Record<'a>>,
    /// Of the first record.
    pub statistics: &'a Statistics<'a>,
    /// The options that mountinfo shows of it: those of mountstats, and `addr=`, its server's address.
    pub super_options: &'a [u8],
}

impl Superblock<'_> {
    /// The type of its mounts, as printed.
    pub fn fs_type(&self) -> &[u8] {
        self.records.first().map_or(&[], |record| record.fs_type)
    }

    /// The devices of its mounts, as printed: one server and export, but for the folder that is mounted.
    pub fn devices(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.records.iter().map(|record| String::from_utf8_lossy(record.device.unwrap_or_default()))
    }
}

/// The NFS superblocks of one reading.
#[derive(Debug, Default)]
pub struct Seen<'a> {
    /// In the order of their first record.
    pub superblocks: Vec<Superblock<'a>>,
    /// Whether every NFS mount could be read and joined. Only then does a superblock's not being here
    /// mean that it was not there.
    pub complete: bool,
    /// NFS records whose superblock is not known: their mount came, went or moved during the reading.
    pub unjoined: usize,
}

type Key<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// [`join`] with the texts of mountinfo. Also returns what could not be read of the later one.
pub fn join_texts<'a>(
    before: &'a [u8],
    parsed: &'a Parsed<'a>,
    after: &'a [u8],
) -> (Seen<'a>, Vec<Problem<'a>>) {
    let (mounts_after, problems) = mountinfo::parse(after);
    let seen = match before == after {
        true => join(&mounts_after, parsed, &mounts_after),
        false => join(&mountinfo::parse(before).0, parsed, &mounts_after),
    };
    (seen, problems)
}

/// Joins the k-th record of a mount point, device and type with the k-th line of mountinfo, where a
/// mountinfo read before and one read after mountstats agree on them, and mountstats holds as many.
pub fn join<'a>(before: &[Mount<'a>], parsed: &'a Parsed<'a>, after: &[Mount<'a>]) -> Seen<'a> {
    let records: Vec<_> =
        parsed.records.iter().filter_map(|record| Some((record, record.statistics.as_ref()?))).collect();
    let Mounts { of_records, all_shown } =
        in_step(before, &records, after).unwrap_or_else(|| by_key(before, &records, after));
    let mut seen = Seen { complete: all_shown && parsed.problems.is_empty(), ..Seen::default() };
    let mut place: HashMap<DeviceNumber, usize> = HashMap::with_capacity(records.len());
    for ((record, statistics), mount) in records.into_iter().zip(of_records) {
        let Some(&Mount { device_number: number, super_options, .. }) = mount else {
            seen.unjoined += 1;
            seen.complete = false;
            continue;
        };
        match place.get(&number).and_then(|place| seen.superblocks.get_mut(*place)) {
            Some(superblock) => superblock.records.push(record),
            None => {
                place.insert(number, seen.superblocks.len());
                let records = vec![record];
                seen.superblocks.push(Superblock { number, records, statistics, super_options });
            }
        }
    }
    seen
}

/// The line of mountinfo of each NFS record, where it is known.
struct Mounts<'b, 'a> {
    of_records: Vec<Option<&'b Mount<'a>>>,
    /// Whether every NFS line of mountinfo has its record. Where not, the texts are not of one moment.
    all_shown: bool,
}

type NfsRecord<'a> = (&'a Record<'a>, &'a Statistics<'a>);

/// The usual case: all three texts hold the same mounts in the same order, and nothing needs to be looked up.
fn in_step<'b, 'a>(
    before: &[Mount<'_>],
    records: &[NfsRecord<'_>],
    after: &'b [Mount<'a>],
) -> Option<Mounts<'b, 'a>> {
    let mut before = before.iter().filter(|mount| mount.is_nfs());
    let mut after = after.iter().filter(|mount| mount.is_nfs());
    let mut of_records = Vec::with_capacity(records.len());
    for (record, _) in records {
        let (before, after) = (before.next()?, after.next()?);
        let agree = before.device_number == after.device_number
            && mount_key(before) == key(record)
            && mount_key(after) == key(record);
        agree.then(|| of_records.push(Some(after)))?;
    }
    (before.next().is_none() && after.next().is_none()).then_some(Mounts { of_records, all_shown: true })
}

/// The case in general: mounts came, went or moved meanwhile, or a record could not be read.
fn by_key<'b, 'a>(
    before: &'b [Mount<'a>],
    records: &[NfsRecord<'a>],
    after: &'b [Mount<'a>],
) -> Mounts<'b, 'a> {
    let (before, after) = (keyed(before), keyed(after));
    let mut counts: HashMap<Key<'_>, usize> = HashMap::new();
    for (record, _) in records {
        *counts.entry(key(record)).or_default() += 1;
    }
    let numbers = |mounts: &[&Mount<'_>]| -> Vec<DeviceNumber> {
        mounts.iter().map(|mount| mount.device_number).collect()
    };
    let mut taken: HashMap<Key<'a>, usize> = HashMap::new();
    let of_record = |(record, _): &NfsRecord<'a>| {
        let key = key(record);
        let nth = taken.entry(key).or_default();
        *nth += 1;
        match (before.get(&key), after.get(&key)) {
            // With one more or one less, the k-th may be another mount's.
            (Some(before), Some(after))
                if numbers(before) == numbers(after) && counts.get(&key) == Some(&after.len()) =>
            {
                after.get(*nth - 1).copied()
            }
            _ => None,
        }
    };
    Mounts {
        of_records: records.iter().map(of_record).collect(),
        all_shown: after.iter().all(|(key, mounts)| counts.get(key) == Some(&mounts.len())),
    }
}

fn key<'a>(record: &Record<'a>) -> Key<'a> {
    (record.mount_point, record.device.unwrap_or_default(), record.fs_type)
}

fn mount_key<'a>(mount: &Mount<'a>) -> Key<'a> {
    (mount.mount_point, mount.device, mount.fs_type)
}

fn keyed<'b, 'a>(mounts: &'b [Mount<'a>]) -> HashMap<Key<'a>, Vec<&'b Mount<'a>>> {
    let mut keyed: HashMap<Key<'a>, Vec<&'b Mount<'a>>> = HashMap::new();
    for mount in mounts.iter().filter(|mount| mount.is_nfs()) {
        keyed.entry(mount_key(mount)).or_default().push(mount);
    }
    keyed
}
