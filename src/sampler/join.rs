//! Finds out which records of mountstats are which superblock.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::mountinfo::{DeviceNumber, Mount};
use crate::mountstats::{Parsed, Record, Statistics};

/// One NFS superblock of a reading, with every record that shows it.
#[derive(Debug)]
pub struct Superblock<'a> {
    pub number: DeviceNumber,
    /// In the file's order, never empty; all of them show the same counters.
    pub records: Vec<&'a Record<'a>>,
    /// Of the first record.
    pub statistics: &'a Statistics<'a>,
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

/// Joins the k-th record of a mount point, device and type with the k-th line of mountinfo, where a
/// mountinfo read before and one read after mountstats agree on them, and mountstats holds as many.
pub fn join<'a>(before: &[Mount<'a>], parsed: &'a Parsed<'a>, after: &[Mount<'a>]) -> Seen<'a> {
    let (before, after) = (numbers(before), numbers(after));
    let mut records: HashMap<Key<'_>, usize> = HashMap::new();
    for record in parsed.records.iter().filter(|record| record.statistics.is_some()) {
        *records.entry(key(record)).or_default() += 1;
    }
    // A line of mountinfo without a record of mountstats: the texts are not of one moment.
    let all_shown = after.iter().all(|(key, numbers)| records.get(key) == Some(&numbers.len()));
    let mut seen = Seen { complete: all_shown && parsed.problems.is_empty(), ..Seen::default() };
    let mut taken: HashMap<Key<'_>, usize> = HashMap::new();
    let mut place: HashMap<DeviceNumber, usize> = HashMap::new();
    for record in &parsed.records {
        let Some(statistics) = &record.statistics else { continue };
        let key = key(record);
        let nth = taken.entry(key).or_default();
        let number = match (before.get(&key), after.get(&key)) {
            // With one more or one less, the k-th may be another mount's.
            (Some(before), Some(after)) if before == after && records.get(&key) == Some(&after.len()) => {
                after.get(*nth).copied()
            }
            _ => None,
        };
        *nth += 1;
        let Some(number) = number else {
            seen.unjoined += 1;
            seen.complete = false;
            continue;
        };
        match place.get(&number).and_then(|place| seen.superblocks.get_mut(*place)) {
            Some(superblock) => superblock.records.push(record),
            None => {
                place.insert(number, seen.superblocks.len());
                seen.superblocks.push(Superblock { number, records: vec![record], statistics });
            }
        }
    }
    seen
}

fn key<'a>(record: &Record<'a>) -> Key<'a> {
    (record.mount_point, record.device.unwrap_or_default(), record.fs_type)
}

fn numbers<'a>(mounts: &[Mount<'a>]) -> HashMap<Key<'a>, Vec<DeviceNumber>> {
    let mut numbers: HashMap<Key<'a>, Vec<DeviceNumber>> = HashMap::new();
    for mount in mounts.iter().filter(|mount| mount.is_nfs()) {
        let key = (mount.mount_point, mount.device, mount.fs_type);
        numbers.entry(key).or_default().push(mount.device_number);
    }
    numbers
}
