//! The mount targets that EFS told of: whose an address is.
//!
//! An address may be another file system's tomorrow, and in another VPC today. So an answer counts only for a mount
//! that was there when EFS was asked, and two file systems with one address are none.

// core's: addresses, and nothing that could open a connection.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::FileSystemId;

/// Most mount targets that are kept: 1,000 file systems of an account (EFS quotas) in 6 zones, and some more.
const MAX_TARGETS: usize = 8_000;

/// The version of the text that [`Targets::to_json`] writes.
const VERSION: u32 = 1;

/// Slack for the whole seconds in which the kernel prints `age:`.
const AGE_SLACK: u64 = 1;

/// One mount target (EFS API, MountTargetDescription). A part that EFS does not tell is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `fsmt-..`
    pub mount_target: String,
    pub file_system: FileSystemId,
    pub ipv4: Option<Ipv4Addr>,
    pub ipv6: Option<Ipv6Addr>,
    /// The zone's name: `us-east-1a`.
    pub zone: Option<String>,
    /// The zone's id, the same in every account: `use1-az1`.
    pub zone_id: Option<String>,
    pub vpc: Option<String>,
    /// The account.
    pub owner: Option<String>,
    /// When EFS was asked: seconds since 1970.
    pub asked: u64,
}

impl Target {
    fn has(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.ipv4 == Some(address),
            IpAddr::V6(address) => self.ipv6 == Some(address),
        }
    }
}

/// The mount targets of one account in one Region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    region: String,
    /// When the last round through all file systems began that came to its end: seconds since 1970, 0 for never.
    swept: u64,
    /// Whether that round saw all of them.
    complete: bool,
    targets: Vec<Target>,
}

/// What is known of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    Target(&'a Target),
    /// Several file systems', in different VPCs.
    Several,
    /// No file system's of this account and Region.
    Nobodys,
    /// EFS is to be asked.
    Unknown,
}

/// The text on disk. A member that is not known, or a text that is cut, makes it worthless.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text<H, T> {
    version: u32,
    /// The installation that asked: addresses mean nothing to a machine made from its image.
    host: H,
    region: String,
    swept: u64,
    complete: bool,
    targets: T,
}

impl Targets {
    /// The Region that was asked; empty before.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// When the last round through all file systems began that came to its end: seconds since 1970, 0 for never.
    pub fn last_round(&self) -> u64 {
        self.swept
    }

    /// How many mount targets are known.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Whose the address of a mount is that was made at `made` (since 1970).
    pub fn whose(&self, address: IpAddr, made: Duration) -> Whose<'_> {
        let Some(first) = self.with(address).next() else {
            return match self.complete && is_since(self.swept, made) {
                true => Whose::Nobodys,
                false => Whose::Unknown,
            };
        };
        // Before the first round has come to its end, another VPC's may still turn up.
        if self.swept == 0 || self.with(address).any(|target| !is_since(target.asked, made)) {
            return Whose::Unknown;
        }
        match self.with(address).all(|target| target.file_system == first.file_system) {
            true => Whose::Target(first),
            false => Whose::Several,
        }
    }

    /// A file system that had the address before the mount was made, and must be asked again.
    pub fn outdated(&self, address: IpAddr, made: Duration) -> Option<&FileSystemId> {
        let outdated = self.with(address).find(|target| !is_since(target.asked, made))?;
        Some(&outdated.file_system)
    }

    /// The zone, or else its id, of a file system's mount target.
    pub fn zone(&self, file_system: &FileSystemId, address: IpAddr) -> Option<&str> {
        let target = self.with(address).find(|target| target.file_system == *file_system)?;
        target.zone.as_deref().or(target.zone_id.as_deref())
    }

    /// Takes in that EFS answered in `region`; what another Region said is forgotten.
    pub fn answered_in(&mut self, region: &str) {
        if self.region != region {
            *self = Targets { region: region.to_owned(), ..Targets::default() };
        }
    }

    /// Takes in what EFS said of a file system. What is over the limit of 8,000 is left out.
    pub fn replace(&mut self, file_system: &FileSystemId, targets: Vec<Target>) {
        self.targets.retain(|target| target.file_system != *file_system);
        let room = MAX_TARGETS.saturating_sub(self.targets.len());
        self.targets.extend(targets.into_iter().take(room));
    }

    /// Takes in that a round through all file systems has come to its end, which began at `began` (seconds since
    /// 1970). `complete`: it left none out.
    pub fn swept(&mut self, began: u64, complete: bool) {
        self.targets.retain(|target| target.asked >= began);
        self.swept = began;
        self.complete = complete && self.targets.len() < MAX_TARGETS;
    }

    /// The text to keep for this installation.
    pub fn to_json(&self, host: &str) -> serde_json::Result<Vec<u8>> {
        let Targets { region, swept, complete, targets } = self;
        serde_json::to_vec(&Text {
            version: VERSION,
            host,
            region: region.clone(),
            swept: *swept,
            complete: *complete,
            targets,
        })
    }

    /// What a kept text says; nothing, when it is not whole, or another version's or installation's. `host` `None`:
    /// any installation's, for a recording.
    pub fn from_json(text: &[u8], host: Option<&str>) -> Option<Targets> {
        let Text { version, host: kept_by, region, swept, complete, targets } =
            serde_json::from_slice::<Text<String, Vec<Target>>>(text).ok()?;
        let fits = version == VERSION
            && host.is_none_or(|host| host == kept_by)
            && targets.len() <= MAX_TARGETS
            && !region.is_empty();
        fits.then_some(Targets { region, swept, complete, targets })
    }

    fn with(&self, address: IpAddr) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(move |target| target.has(address))
    }
}

/// Whether a mount made at `made` (since 1970) was there when EFS was asked at `asked` (seconds since 1970).
fn is_since(asked: u64, made: Duration) -> bool {
    asked.saturating_add(AGE_SLACK) >= made.as_secs()
}

#[cfg(test)]
mod tests;
