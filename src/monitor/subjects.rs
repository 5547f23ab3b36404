//! Whose figures a superblock's are.

use crate::batch::fit_text;
use crate::efs::Identity;
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

/// The first of a superblock's mount points that is neither a pod's nor a container's, as CloudWatch takes it.
fn mount_point(superblock: &Superblock<'_>) -> Option<String> {
    let mut paths = superblock.records.iter().map(|record| unescape(record.mount_point));
    let path = paths.find(|path| is_plain(path))?;
    Some(fit_text(&utf8(&path)).into_owned())
}

/// Where kubelet, ECS and the container runtimes mount what containers see: paths that change with every start.
const OF_CONTAINERS: [&str; 8] = [
    "/var/lib/ecs/",
    "/var/lib/docker/",
    "/var/lib/containerd/",
    "/var/lib/containers/",
    "/run/containerd/",
    "/run/docker/",
    "/run/containers/",
    "/run/user/",
];

/// Whether a mount point (without octal escapes) stays what it is, so that it may be a dimension.
fn is_plain(path: &[u8]) -> bool {
    let kubelets = path.split(|byte| *byte == b'/').any(|part| part == b"kubelet");
    let absolute = path.first() == Some(&b'/');
    absolute && !kubelets && !OF_CONTAINERS.iter().any(|root| path.starts_with(root.as_bytes()))
}
