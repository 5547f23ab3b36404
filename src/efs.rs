//! Which file system a mount is, or why it is not one of EFS. Pure, given what was looked up.
//!
//! In this order: a DNS name in the device; amazon-efs-utils' state files for mounts of `127.0.0.1`, which
//! since version 2.0 is every mount that it makes; the configuration's `[[mounts]]`, which overrules both.

use std::borrow::Cow;

use crate::model::{AccessPointId, FileSystemId};
use crate::mountstats::unescape;
use crate::sampler::join::Superblock;

mod attribution;
mod state;

pub use attribution::Attribution;
pub use state::{HelperMount, helper_mounts};

/// What a mount of EFS is a mount of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub file_system: FileSystemId,
    pub access_point: Option<AccessPointId>,
    /// The region that the name, or the mount helper, gives.
    pub region: Option<String>,
    /// The mount target that the traffic goes to: its DNS name or address, as far as it is known.
    pub mount_target: Option<String>,
    /// The mount target's Availability Zone, by name (`us-east-1a`) or id (`use1-az1`), as far as it is known.
    pub zone: Option<String>,
}

/// What is known of a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Efs(Identity),
    /// An S3 Files mount (mount.s3files): NFS to a bucket, no EFS file system.
    S3Files,
    /// Not EFS, as far as its name tells.
    NotEfs(&'static str),
    /// Made by a mount helper, but its state does not say for which file system, or not yet.
    Pending(&'static str),
}

/// One entry of the configuration's `[[mounts]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredMount {
    /// As a person writes it, without octal escapes.
    pub mount_point: String,
    pub identity: Identity,
}

/// One mount, as the kernel shows it (octal escapes kept).
#[derive(Clone, Copy, Debug)]
pub struct MountName<'a> {
    pub device: &'a [u8],
    pub mount_point: &'a [u8],
    /// The options of the `opts:` line.
    pub options: &'a [u8],
}

/// What can be looked up: handed in, so that nothing here reads anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookups<'a> {
    pub configured: &'a [ConfiguredMount],
    pub helper: &'a [HelperMount],
}

/// The port of an NFS server that names no other.
const NFS_PORT: u16 = 2049;

/// Domains that EFS mount targets' names end with, one for each partition of AWS (botocore,
/// `endpoints.json`, `dnsSuffix`).
const SUFFIXES: [&str; 7] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "c2s.ic.gov",
    "sc2s.sgov.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
];

/// Says what a mount is.
pub fn identify(mount: MountName<'_>, lookups: Lookups<'_>) -> Answer {
    if let Some(identity) = configured(mount, lookups) {
        return Answer::Efs(identity.clone());
    }
    let device = text(mount.device);
    let Some(host) = host(&device) else {
        return Answer::NotEfs("its device names no server");
    };
    if let Some(identity) = from_dns_name(host) {
        return Answer::Efs(identity);
    }
    if !is_this_host(host) {
        return Answer::NotEfs("its server is not an EFS name; name the file system in [[mounts]] if it is");
    }
    let port = port(mount.options);
    match state::find(lookups.helper, &text(mount.mount_point), port.unwrap_or(NFS_PORT)) {
        state::Found::One(helper) => match helper.is_s3_files {
            Some(true) => Answer::S3Files,
            // EFS speaks NFS 4.0 and 4.1, S3 Files 4.2 (amazon-efs-utils, README).
            None if option(mount.options, "vers") == Some("4.2") => {
                Answer::Pending("its state file cannot be read, so it may be a mount of S3 Files")
            }
            _ => Answer::Efs(helper.identity.clone()),
        },
        _ if port.is_none() => Answer::NotEfs("a server on this host, without a mount helper's port"),
        state::Found::None => Answer::Pending("no state file of amazon-efs-utils for its port"),
        state::Found::Several => Answer::Pending("several state files of amazon-efs-utils for its port"),
    }
}

/// What the configuration says of a mount.
fn configured<'a>(mount: MountName<'_>, lookups: Lookups<'a>) -> Option<&'a Identity> {
    let mount_point = text(mount.mount_point);
    let entry = lookups.configured.iter().find(|entry| entry.mount_point == mount_point)?;
    Some(&entry.identity)
}

/// Whether the server of a mount is on this host: a mount helper's proxy, or a server of its own.
fn is_local(device: &[u8]) -> bool {
    host(&text(device)).is_some_and(is_this_host)
}

fn is_this_host(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "::1")
}

/// The file system and region of a mount target's DNS name: `[ZONE.]fs-ID.efs.REGION.SUFFIX` (EFS user
/// guide, "Mounting on EC2 with a DNS name").
pub fn from_dns_name(host: &str) -> Option<Identity> {
    let lower = host.trim_end_matches('.').to_ascii_lowercase();
    let name = match lower.split_once('.')? {
        (id, _) if id.starts_with("fs-") => &lower,
        (zone, name) if is_label(zone) => name,
        _ => return None,
    };
    let (id, rest) = name.split_once('.')?;
    let (region, suffix) = rest.strip_prefix("efs.")?.split_once('.')?;
    if !is_label(region) || !SUFFIXES.contains(&suffix) {
        return None;
    }
    Some(Identity {
        file_system: id.parse().ok()?,
        access_point: None,
        region: Some(region.to_owned()),
        mount_target: None,
        zone: None,
    })
}

/// Whether a text can stand between two dots of such a name.
fn is_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// The server part of a device: before `:/`, brackets of an IPv6 address taken off.
fn host(device: &str) -> Option<&str> {
    let (host, _) = device.split_once(":/")?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then_some(host)
}

/// The kernel prints `port=` only when it is not [`NFS_PORT`].
fn port(options: &[u8]) -> Option<u16> {
    option(options, "port")?.parse().ok()
}

/// The port of the proxy on this host that a mount goes through, if it does: a mount helper's.
pub fn proxy_port(superblock: &Superblock<'_>) -> Option<u16> {
    let local = superblock.records.iter().any(|record| is_local(record.device.unwrap_or_default()));
    local.then(|| port(superblock.statistics.options)).flatten()
}

/// The mount helper's state of the mount at `mount_point` (as the helper has it) over `port`, where it is clear.
pub fn helper_mount<'a>(helper: &'a [HelperMount], mount_point: &str, port: u16) -> Option<&'a HelperMount> {
    match state::find(helper, mount_point, port) {
        state::Found::One(mount) => Some(mount),
        state::Found::None | state::Found::Several => None,
    }
}

/// The value of a mount option.
fn option<'a>(options: &'a [u8], name: &str) -> Option<&'a str> {
    let mut options = options.split(|byte| *byte == b',');
    let value = options.find_map(|option| option.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(value).ok()
}

fn text(printed: &[u8]) -> String {
    match unescape(printed) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests;
