//! Lists of options, `key=value,key`: those that are known, with values that are numbers, words of the kernel's own,
//! or addresses.

use super::names::Names;

/// Options of mounts (`fs/namespace.c`, `fs/proc_namespace.c`, `fs/nfs/super.c`, nfs_show_mount_options), and what
/// the lines `caps:`, `nfsv4:` and `sec:` of mountstats hold (`fs/nfs/super.c`, nfs_show_stats).
const KEYS: &[&str] = &[
    "acdirmax",
    "acdirmin",
    "acl",
    "acregmax",
    "acregmin",
    "addr",
    "alignwrite",
    "bm0",
    "bm1",
    "bm2",
    "bsize",
    "caps",
    "clientaddr",
    "dirsync",
    "dtsize",
    "fatal_neterrors",
    "flavor",
    "fsc",
    "hard",
    "intr",
    "lazytime",
    "lease_expired",
    "lease_time",
    "local_lock",
    "lookupcache",
    "mand",
    "max_connect",
    "migration",
    "minorversion",
    "mountaddr",
    "mountport",
    "mountproto",
    "mountvers",
    "namlen",
    "nconnect",
    "noac",
    "noacl",
    "noalignwrite",
    "noatime",
    "nocto",
    "nodev",
    "nodiratime",
    "noexec",
    "nointr",
    "nolock",
    "nordirplus",
    "noresvport",
    "nosharecache",
    "nosoftreval",
    "nosuid",
    "nosymfollow",
    "pnfs",
    "port",
    "posix",
    "proto",
    "pseudoflavor",
    "rdirplus",
    "relatime",
    "retrans",
    "ro",
    "rsize",
    "rw",
    "sec",
    "sessions",
    "soft",
    "softerr",
    "softreval",
    "sync",
    "timeo",
    "trunkdiscovery",
    "vers",
    "write",
    "wsize",
    "wtmult",
    "xprtsec",
];

/// Values that are words.
const WORDS: &[&str] = &[
    "ENETDOWN:ENETUNREACH",
    "LAYOUT_BLOCK_VOLUME",
    "LAYOUT_FLEX_FILES",
    "LAYOUT_NFSV4_1_FILES",
    "LAYOUT_SCSI",
    "all",
    "default",
    "eager",
    "flock",
    "force",
    "krb5",
    "krb5i",
    "krb5p",
    "lazy",
    "mtls",
    "none",
    "not configured",
    "null",
    "pos",
    "positive",
    "posix",
    "rdma",
    "rdma6",
    "sys",
    "tcp",
    "tcp6",
    "tls",
    "udp",
    "udp6",
    "wait",
];

/// The list without what is not known.
pub(super) fn redacted(list: &[u8], names: &mut Names) -> String {
    let options = list.split(|byte| *byte == b',').filter_map(|option| {
        let text = std::str::from_utf8(option).ok()?;
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (text, None),
        };
        let key = KEYS.contains(&key).then_some(key)?;
        let Some(value) = value else { return Some(key.to_owned()) };
        match key {
            // A name that the administrator gives to a cache.
            "fsc" => Some(key.to_owned()),
            "addr" | "clientaddr" | "mountaddr" => Some(format!("{key}={}", names.host(value.as_bytes()))),
            _ => (is_number(value) || WORDS.contains(&value)).then(|| text.to_owned()),
        }
    });
    options.collect::<Vec<_>>().join(",")
}

/// `255`, `4.1`, `0xfdffbfff`, `-1`.
fn is_number(value: &str) -> bool {
    let (digits, is_digit): (&str, fn(&u8) -> bool) = match value.strip_prefix("0x") {
        Some(digits) => (digits, u8::is_ascii_hexdigit),
        None => (value.strip_prefix('-').unwrap_or(value), |byte| byte.is_ascii_digit() || *byte == b'.'),
    };
    (1..=20).contains(&digits.len()) && digits.as_bytes().iter().all(is_digit)
}
