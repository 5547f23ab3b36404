//! Which file system a mount is, or why it is not one of EFS. Pure, given what was looked up.
//!
//! In this order: a DNS name in the device; amazon-efs-utils' state files for mounts of `127.0.0.1`, which
//! since version 2.0 is every mount that it makes; the configuration's `[[mounts]]`, which overrules both.

use std::borrow::Cow;

use crate::model::{AccessPointId, FileSystemId};
use crate::mountstats::unescape;

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
    let mount_point = text(mount.mount_point);
    if let Some(configured) = lookups.configured.iter().find(|entry| entry.mount_point == mount_point) {
        return Answer::Efs(configured.identity.clone());
    }
    let device = text(mount.device);
    let Some(host) = host(&device) else {
        return Answer::NotEfs("its device names no server");
    };
    if let Some(identity) = from_dns_name(host) {
        return Answer::Efs(identity);
    }
    if host != "127.0.0.1" && host != "::1" {
        return Answer::NotEfs("its server is not an EFS name; name the file system in [[mounts]] if it is");
    }
    let Some(port) = port(mount.options) else {
        return Answer::NotEfs("a server on this host, without a mount helper's port");
    };
    match state::find(lookups.helper, &mount_point, port) {
        state::Found::One(helper) if helper.is_s3_files => Answer::S3Files,
        state::Found::One(helper) => Answer::Efs(helper.identity.clone()),
        state::Found::None => Answer::Pending("no state file of amazon-efs-utils for its port"),
        state::Found::Several => Answer::Pending("several state files of amazon-efs-utils for its port"),
    }
}

/// The file system and region of a mount target's DNS name: `[ZONE.]fs-ID.efs.REGION.SUFFIX` (EFS user
/// guide, "Mounting on EC2 with a DNS name").
pub fn from_dns_name(host: &str) -> Option<Identity> {
    let lower = host.trim_end_matches('.').to_ascii_lowercase();
    let (id, rest) = match lower.starts_with("fs-") {
        true => lower.split_once('.')?,
        false => lower.split_once('.')?.1.split_once('.')?,
    };
    let (region, suffix) = rest.strip_prefix("efs.")?.split_once('.')?;
    if !SUFFIXES.contains(&suffix) {
        return None;
    }
    Some(Identity { file_system: id.parse().ok()?, access_point: None, region: Some(region.to_owned()) })
}

/// The server part of a device: before `:/`, brackets of an IPv6 address taken off.
fn host(device: &str) -> Option<&str> {
    let (host, _) = device.split_once(":/")?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then_some(host)
}

/// The kernel prints `port=` only when it is not 2049.
fn port(options: &[u8]) -> Option<u16> {
    let mut options = options.split(|byte| *byte == b',');
    options.find_map(|option| std::str::from_utf8(option.strip_prefix(b"port=")?).ok()?.parse().ok())
}

fn text(printed: &[u8]) -> String {
    match unescape(printed) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests;
