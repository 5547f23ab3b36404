//! The first line of each mount.

use super::shown;

/// The first line of a record.
pub(super) struct DeviceLine<'a> {
    pub device: Option<&'a [u8]>,
    pub mount_point: &'a [u8],
    pub fs_type: &'a [u8],
    /// What `statvers=` says; `None` for a mount without statistics.
    pub statistics: Option<&'a [u8]>,
}

impl<'a> DeviceLine<'a> {
    /// `None` for a line that does not start as one.
    pub fn read(line: &'a [u8]) -> Option<Result<Self, String>> {
        let (device, rest) = match line.strip_prefix(b"device ") {
            Some(rest) => {
                let (device, rest) = split_at_space(rest);
                (Some(device), rest)
            }
            None => (None, line.strip_prefix(b"no device")?),
        };
        let found = Self::read_mount(device, rest);
        Some(found.ok_or_else(|| {
            format!(
                "expected `device .. mounted on /.. with fstype ..`, and ` statvers=..` for NFS, found {}",
                shown(line)
            )
        }))
    }

    /// The kernel escapes every space of the names, so that a space ends them.
    fn read_mount(device: Option<&'a [u8]>, rest: &'a [u8]) -> Option<Self> {
        let (mount_point, rest) = split_at_space(rest.strip_prefix(b" mounted on ")?);
        let (fs_type, rest) = split_at_space(rest.strip_prefix(b" with fstype ")?);
        let statistics = rest.strip_prefix(b" statvers=");
        // Every NFS mount has statistics; a shorter type is what the end of the text leaves of one.
        let complete = statistics.is_some() || !b"nfs4".starts_with(fs_type);
        let sound = mount_point.starts_with(b"/") && complete;
        sound.then_some(DeviceLine { device, mount_point, fs_type, statistics })
    }
}

/// The text before the first space, and the rest from it on.
fn split_at_space(text: &[u8]) -> (&[u8], &[u8]) {
    let at = memchr::memchr(b' ', text).unwrap_or(text.len());
    text.split_at_checked(at).unwrap_or((text, b""))
}
