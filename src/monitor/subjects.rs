//! Whose figures a superblock's are.

use crate::efs::{Identity, Place};
use crate::minutes::{SeriesLimits, Subject};
use crate::mountstats::unescape;
use crate::names::utf8;
use crate::sampler::join::Superblock;

/// The subjects that a superblock of EFS counts among, as far as they are published.
pub fn of(superblock: &Superblock<'_>, identity: &Identity, limits: &SeriesLimits) -> Vec<Subject> {
    let file_system = &identity.file_system;
    let mut subjects = vec![Subject::FileSystem(file_system.clone())];
    if limits.cron_script {
        subjects.push(Subject::Host);
    }
    if let Some(access_point) = identity.access_point.as_ref().filter(|_| limits.access_points.is_some()) {
        subjects.push(Subject::AccessPoint(file_system.clone(), Some(access_point.clone())));
    }
    if limits.mount_points.is_some() {
        let mount_point = mount_point(superblock);
        subjects.extend(mount_point.map(|path| Subject::MountPoint(file_system.clone(), path)));
    }
    subjects
}

/// The first of a superblock's mount points that is neither a pod's nor a container's.
fn mount_point(superblock: &Superblock<'_>) -> Option<String> {
    let mut paths = superblock.records.iter().map(|record| utf8(&unescape(record.mount_point)));
    paths.find(|path| path.starts_with('/') && Place::of(path).is_lasting())
}
