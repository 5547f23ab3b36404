//! Which file system a mount is, or why it is not one of EFS. Pure, given what was looked up.
//!
//! In this order: the configuration's `[[mounts]]`, which overrules the rest; a DNS name in the device;
//! amazon-efs-utils' state files for mounts of `127.0.0.1`, which since version 2.0 is every mount that it makes; and,
//! when EFS may be asked, whose the server's address is.

// core's: addresses, and nothing that could open a connection.
use core::net::IpAddr;
use std::borrow::Cow;
use std::time::Duration;

use crate::model::{AccessPointId, FileSystemId, Moment};
use crate::mountstats::{Record, Statistics, unescape};
use crate::sampler::join::{Seen, Superblock};

mod address;
mod attribution;
mod device;
mod dns;
mod place;
mod state;
mod targets;

use address::{by_address, locate, parsed};
pub use attribution::{Attribution, Wanted};
pub use device::{is_this_host, option, server};
pub use dns::{from_dns_name, is_zone_id};
pub use place::Place;
pub use state::{HelperMount, helper_mounts};
pub use targets::{Target, Targets, Whose};

/// What a mount of EFS is a mount of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub file_system: FileSystemId,
    pub access_point: Option<AccessPointId>,
    /// The region that the name, the mount helper or EFS gives.
    pub region: Option<String>,
    /// The mount target that the traffic goes to: its DNS name or address, as far as it is known.
    pub mount_target: Option<String>,
    /// The mount target's Availability Zone, by name (`us-east-1a`) or id (`use1-az1`), as far as it is known.
    pub zone: Option<String>,
}

impl Identity {
    /// Whether the file system is named as one of another account: by a zone's id in its DNS name, which is what
    /// amazon-efs-utils' option `crossaccount` does.
    pub fn is_cross_account(&self) -> bool {
        let named = self.mount_target.as_deref().and_then(|name| name.split_once(".fs-"));
        named.is_some_and(|(zone, _)| is_zone_id(zone))
    }

    /// Takes what is not known yet from what another text says of the same mount.
    fn learn(&mut self, other: Identity) {
        if self.file_system != other.file_system {
            return;
        }
        self.access_point = self.access_point.take().or(other.access_point);
        self.region = self.region.take().or(other.region);
        self.mount_target = self.mount_target.take().or(other.mount_target);
        self.zone = self.zone.take().or(other.zone);
    }
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
#[derive(Clone, Copy, Debug, Default)]
pub struct MountName<'a> {
    pub device: &'a [u8],
    pub mount_point: &'a [u8],
    /// The options of the `opts:` line.
    pub options: &'a [u8],
    /// The server's address: `addr=` in mountinfo, also where the device has a name.
    pub address: Option<IpAddr>,
    /// When it was mounted, since 1970; `None` when that is not known.
    pub made: Option<Duration>,
}

impl<'a> MountName<'a> {
    /// A record of a superblock in a reading that was taken at `moment`.
    pub fn of(superblock: &Superblock<'a>, record: &Record<'a>, moment: Moment) -> MountName<'a> {
        MountName {
            address: option(superblock.super_options, "addr").and_then(parsed),
            ..MountName::without_superblock(record, superblock.statistics, moment)
        }
    }

    /// The same of a record whose superblock is not known.
    pub fn without_superblock(
        record: &Record<'a>,
        statistics: &Statistics<'a>,
        moment: Moment,
    ) -> MountName<'a> {
        MountName {
            device: record.device.unwrap_or_default(),
            mount_point: record.mount_point,
            options: statistics.options,
            address: None,
            made: Some(moment.wall.saturating_sub(Duration::from_secs(statistics.age_seconds))),
        }
    }
}

/// What can be looked up: handed in, so that nothing here reads anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookups<'a> {
    pub configured: &'a [ConfiguredMount],
    pub helper: &'a [HelperMount],
    /// Ports that several superblocks of this host's own server have (see [`shared_ports`]): alone, such a port does
    /// not tell which state is whose.
    pub shared_ports: &'a [u16],
    /// What EFS said of addresses; `None` where it may not be asked (`identity.lookup`).
    pub targets: Option<&'a Targets>,
}

/// The port of an NFS server that names no other.
const NFS_PORT: u16 = 2049;

/// Says what a mount is.
pub fn identify(mount: MountName<'_>, lookups: Lookups<'_>) -> Answer {
    if let Some(identity) = configured(mount, lookups) {
        return Answer::Efs(identity);
    }
    let device = text(mount.device);
    let Some(host) = server(&device) else {
        return Answer::NotEfs("its device names no server");
    };
    let mut answer = match from_dns_name(host) {
        Some(identity) => Answer::Efs(identity),
        None if is_this_host(host) => by_state(mount, lookups),
        None => by_address(mount, host, lookups),
    };
    if let Answer::Efs(identity) = &mut answer {
        locate(identity, mount, lookups);
    }
    answer
}

/// What the state of amazon-efs-utils says of a mount of this host's own server, where it is not ambiguous.
pub fn helper_mount(mount: MountName<'_>, lookups: Lookups<'_>) -> Option<HelperMount> {
    match server(&text(mount.device)).is_some_and(is_this_host).then(|| find_state(mount, lookups)) {
        Some(state::Found::One(helper)) => Some(helper),
        _ => None,
    }
}

/// The ports that more than one superblock of this host's own server has: proxies in several network namespaces.
pub fn shared_ports(seen: &Seen<'_>) -> Vec<u16> {
    let local = seen.superblocks.iter().filter(|superblock| is_local(superblock));
    let mut ports: Vec<u16> =
        local.map(|superblock| port(superblock.statistics.options).unwrap_or(NFS_PORT)).collect();
    ports.sort_unstable();
    let mut shared: Vec<u16> = ports
        .windows(2)
        .filter_map(|pair| (pair.first() == pair.last()).then(|| pair.first().copied())?)
        .collect();
    shared.dedup();
    shared
}

/// What the configuration says of a mount, and the mount target that its device names.
fn configured(mount: MountName<'_>, lookups: Lookups<'_>) -> Option<Identity> {
    let mount_point = text(mount.mount_point);
    let entry = lookups.configured.iter().find(|entry| entry.mount_point == mount_point)?;
    let mut identity = entry.identity.clone();
    let device = text(mount.device);
    if let Some(host) = server(&device).filter(|host| !is_this_host(host)) {
        match from_dns_name(host) {
            Some(named) => identity.learn(named),
            None => {
                let address = mount.address.map(|address| address.to_string());
                identity.mount_target.get_or_insert_with(|| address.unwrap_or_else(|| host.to_owned()));
            }
        }
    }
    locate(&mut identity, mount, lookups);
    Some(identity)
}

fn by_state(mount: MountName<'_>, lookups: Lookups<'_>) -> Answer {
    match find_state(mount, lookups) {
        state::Found::One(helper) => match helper.is_s3_files {
            Some(true) => Answer::S3Files,
            None if helper.is_half => Answer::Pending("its state file is empty or half written"),
            // EFS speaks NFS 4.0 and 4.1, S3 Files 4.2 (amazon-efs-utils, README).
            None if option(mount.options, "vers") == Some("4.2") => {
                Answer::Pending("its state file cannot be read, so it may be a mount of S3 Files")
            }
            _ => Answer::Efs(helper.identity),
        },
        _ if port(mount.options).is_none() => {
            Answer::NotEfs("a server on this host, without a mount helper's port")
        }
        state::Found::None => Answer::Pending("no state file of amazon-efs-utils for its port"),
        state::Found::Others => {
            Answer::Pending("the state file of amazon-efs-utils for its port is, or may be, another mount's")
        }
        state::Found::Several => Answer::Pending("several state files of amazon-efs-utils for its port"),
    }
}

fn find_state(mount: MountName<'_>, lookups: Lookups<'_>) -> state::Found {
    let port = port(mount.options).unwrap_or(NFS_PORT);
    let is_shared = lookups.shared_ports.contains(&port);
    state::find(lookups.helper, &text(mount.mount_point), port, is_shared, mount.made)
}

/// Whether the server of a superblock is on this host: a mount helper's proxy, or a server of its own.
fn is_local(superblock: &Superblock<'_>) -> bool {
    superblock
        .records
        .iter()
        .any(|record| server(&text(record.device.unwrap_or_default())).is_some_and(is_this_host))
}

/// The kernel prints `port=` only when it is not [`NFS_PORT`].
fn port(options: &[u8]) -> Option<u16> {
    option(options, "port")?.parse().ok()
}

/// The port of the proxy on this host that a superblock goes through, if it does: a mount helper's.
pub fn proxy_port(superblock: &Superblock<'_>) -> Option<u16> {
    is_local(superblock).then(|| port(superblock.statistics.options)).flatten()
}

/// The mount helper's state of a proxy, where it is clear: of the mount at `mount_point` (without octal escapes) over
/// `port`, which other superblocks have too when it `is_shared` (see [`shared_ports`]).
pub fn state_of_proxy(
    helper: &[HelperMount],
    mount_point: &str,
    port: u16,
    is_shared: bool,
) -> Option<HelperMount> {
    match state::find(helper, mount_point, port, is_shared, None) {
        state::Found::One(mount) => Some(mount),
        state::Found::None | state::Found::Others | state::Found::Several => None,
    }
}

fn text(printed: &[u8]) -> String {
    match unescape(printed) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests;
