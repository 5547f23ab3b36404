//! `[[mounts]]`: which file system lies at a mount point that does not tell it itself.

use std::path::PathBuf;

use super::checks::{mount_point, region, text};
use super::settings::{assign, path};
use super::{Origin, Setting, Value};
use crate::model::{AccessPointId, FileSystemId};

/// One of the `[[mounts]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct MountRule {
    /// As the kernel prints it in mountinfo, escapes undone.
    pub mount_point: PathBuf,
    pub file_system_id: FileSystemId,
    pub access_point_id: Option<AccessPointId>,
    /// `None`: this host's.
    pub region: Option<String>,
    pub origin: Origin,
}

/// A [`MountRule`] of which any part may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MountText {
    pub mount_point: Option<PathBuf>,
    pub file_system_id: Option<FileSystemId>,
    pub access_point_id: Option<AccessPointId>,
    pub region: Option<String>,
}

impl From<&MountRule> for MountText {
    fn from(rule: &MountRule) -> Self {
        MountText {
            mount_point: Some(rule.mount_point.clone()),
            file_system_id: Some(rule.file_system_id.clone()),
            access_point_id: rule.access_point_id.clone(),
            region: rule.region.clone(),
        }
    }
}

impl MountText {
    pub(super) fn complete(self, origin: Origin) -> Option<MountRule> {
        Some(MountRule {
            mount_point: self.mount_point?,
            file_system_id: self.file_system_id?,
            access_point_id: self.access_point_id,
            region: self.region,
            origin,
        })
    }
}

/// The keys that each of the `[[mounts]]` must have.
pub(super) const REQUIRED: &[&str] = &["mounts.mount_point", "mounts.file_system_id"];

/// The settings of each of the `[[mounts]]`; they have no environment variable.
pub const MOUNT_SETTINGS: &[Setting<MountText>] = &[
    Setting {
        key: "mounts.mount_point",
        about: "Where it is mounted.",
        allowed: "an absolute path without . or .. and without a slash at its end",
        put: |mount, value| assign(&mut mount.mount_point, mount_point(value).map(Some)),
        get: |mount| path(mount.mount_point.as_deref()?),
    },
    Setting {
        key: "mounts.file_system_id",
        about: "The file system.",
        allowed: "fs- followed by 8 or 17 lower-case hex digits",
        put: |mount, value| assign(&mut mount.file_system_id, text(value)?.parse().ok().map(Some)),
        get: |mount| Some(Value::Text(mount.file_system_id.as_ref()?.to_string())),
    },
    Setting {
        key: "mounts.access_point_id",
        about: "The access point, if it is mounted through one.",
        allowed: "fsap- followed by 8 or 17 lower-case hex digits",
        put: |mount, value| assign(&mut mount.access_point_id, text(value)?.parse().ok().map(Some)),
        get: |mount| Some(Value::Text(mount.access_point_id.as_ref()?.to_string())),
    },
    Setting {
        key: "mounts.region",
        about: "The file system's Region, if it is not this host's.",
        allowed: "the name of a Region, such as eu-west-1",
        put: |mount, value| assign(&mut mount.region, region(value).map(Some)),
        get: |mount| Some(Value::Text(mount.region.clone()?)),
    },
];
