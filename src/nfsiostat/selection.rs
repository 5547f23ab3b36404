//! Which mounts a report shows, in which order, and which of them are one and the same.

use std::collections::HashMap;

use super::activity::Activity;
use super::cleaned;
use crate::mountinfo::DeviceNumber;
use crate::mountstats::{Record, unescape};
use crate::sampler::join::Seen;

/// Marks every mount whose superblock an earlier one shows already, as far as mountinfo told which is which.
pub fn mark_same<'a>(activities: &mut [Activity<'a>], seen: &Seen<'a>) {
    let mut first: HashMap<DeviceNumber, &'a [u8]> = HashMap::new();
    let numbers: HashMap<usize, DeviceNumber> = seen
        .superblocks
        .iter()
        .flat_map(|superblock| superblock.records.iter().map(|record| (record.line, superblock.number)))
        .collect();
    for activity in activities {
        let Some(number) = numbers.get(&activity.mount.line) else { continue };
        match first.get(number) {
            Some(mount_point) => activity.same_as = Some(mount_point),
            None => drop(first.insert(*number, activity.mount.mount_point)),
        }
    }
}

/// Keeps the mounts at the `wanted` mount points (escaped as the kernel prints them, or not); all if none is
/// named.
pub fn keep_wanted(activities: &mut Vec<Activity<'_>>, wanted: &[Vec<u8>]) {
    if !wanted.is_empty() {
        activities.retain(|activity| wanted.iter().any(|wanted| is_at(activity.mount, wanted)));
    }
}

/// Whether a mount is at a path, by its text alone.
pub fn is_at(mount: &Record<'_>, path: &[u8]) -> bool {
    let path = cleaned(path);
    path == mount.mount_point || path == *unescape(mount.mount_point)
}

/// Busiest first.
pub fn sort_by_requests(activities: &mut [Activity<'_>]) {
    activities.sort_by(|a, b| b.requests_per_second().total_cmp(&a.requests_per_second()));
}
