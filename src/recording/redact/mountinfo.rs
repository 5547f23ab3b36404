//! mountinfo with other names. Of mounts that are not NFS little more than the place is left.

use super::names::Names;
use super::options;
use crate::mountinfo;

/// Types that say nothing about whose host it is (Linux, `Documentation/filesystems`); others become `other`.
const TYPES: &[&str] = &[
    "9p",
    "autofs",
    "binfmt_misc",
    "bpf",
    "btrfs",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "ext2",
    "ext3",
    "ext4",
    "fuse",
    "fusectl",
    "hugetlbfs",
    "iso9660",
    "mqueue",
    "nfs",
    "nfs4",
    "nfsd",
    "nsfs",
    "overlay",
    "proc",
    "pstore",
    "ramfs",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "squashfs",
    "sysfs",
    "tmpfs",
    "tracefs",
    "vfat",
    "xfs",
];

/// The text with its names replaced; lines that cannot be read are left out.
pub(super) fn redacted(text: &[u8], names: &mut Names) -> Vec<u8> {
    let mut redacted = String::with_capacity(text.len());
    for line in text.split(|byte| *byte == b'\n') {
        redacted.extend(mountinfo::parse(line).0.iter().map(|mount| mount_line(line, mount, names)));
    }
    // The kernel's text is never empty, and ends with a line feed.
    if redacted.is_empty() {
        redacted.push('\n');
    }
    redacted.into_bytes()
}

fn mount_line(line: &[u8], mount: &mountinfo::Mount<'_>, names: &mut Names) -> String {
    let field = |index| line.split(|byte| *byte == b' ').nth(index).unwrap_or_default();
    let number =
        |index| str::from_utf8(field(index)).ok().and_then(|text| text.parse().ok()).unwrap_or(0_u32);
    let (id, parent, device_number) = (number(0), number(1), mount.device_number);
    let mount_point = names.printed_path(mount.mount_point);
    let fs_type = fs_type(mount.fs_type);
    let (root, own, device, super_options) = match mount.is_nfs() {
        true => (
            names.printed_path(field(3)),
            options::redacted(field(5), names),
            names.printed_device(mount.device),
            options::redacted(mount.super_options, names),
        ),
        false => ("/".to_owned(), "rw".to_owned(), "none".to_owned(), "rw".to_owned()),
    };
    let optional: String = line
        .split(|byte| *byte == b' ')
        .skip(6)
        .take_while(|field| *field != b"-")
        .filter_map(peer_group)
        .map(|group| group + " ")
        .collect();
    format!(
        "{id} {parent} {device_number} {root} {mount_point} {own} {optional}- {fs_type} {device} {super_options}\n"
    )
}

/// `shared:7` and its like (`Documentation/filesystems/sharedsubtree.rst`).
fn peer_group(field: &[u8]) -> Option<String> {
    let (kind, number) = str::from_utf8(field).ok()?.split_once(':')?;
    let number: u32 = number.parse().ok()?;
    matches!(kind, "shared" | "master" | "propagate_from").then(|| format!("{kind}:{number}"))
}

/// The type of a mount, when it is a common one.
pub(super) fn fs_type(printed: &[u8]) -> &'static str {
    TYPES.iter().find(|known| known.as_bytes() == printed).copied().unwrap_or("other")
}
