//! Mounts whose device has an address, or a name of a person's own: EFS may be asked whose the address is.

use core::net::IpAddr;
use std::time::Duration;

use super::{Answer, Identity, Lookups, MountName, Whose, identify, option, server, text};

/// Why a mount by address waits.
const UNASKED: &str = "EFS has not said yet whose its server's address is";

/// What a mount is whose server is `host`, no name of EFS and not this host.
pub(super) fn by_address(mount: MountName<'_>, host: &str, lookups: Lookups<'_>) -> Answer {
    let address = mount.address.or_else(|| parsed(host));
    let version = option(mount.options, "vers").unwrap_or("4.1");
    if !matches!(version, "4" | "4.0" | "4.1") {
        return Answer::NotEfs("its server is not an EFS name, and EFS speaks no NFS but 4.0 and 4.1");
    }
    if address.is_some_and(|address| address.is_loopback()) {
        return Answer::NotEfs("a server on this host, without a mount helper's port");
    }
    let Some(targets) = lookups.targets else {
        return Answer::NotEfs(
            "its server is not an EFS name; if it is EFS, set identity.lookup or name the file system in [[mounts]]",
        );
    };
    let Some(address) = address else {
        return Answer::NotEfs(
            "its server is not an EFS name, and its address is not known; if it is EFS, name the file system in \
             [[mounts]]",
        );
    };
    // One that may have been made after EFS was asked waits.
    match targets.whose(address, mount.made.unwrap_or(Duration::MAX)) {
        Whose::Target(target) => Answer::Efs(Identity {
            file_system: target.file_system.clone(),
            access_point: None,
            region: Some(targets.region().to_owned()),
            mount_target: Some(address.to_string()),
            zone: target.zone.clone().or_else(|| target.zone_id.clone()),
        }),
        Whose::Several => Answer::Pending(
            "several file systems have a mount target with its address; name the right one in [[mounts]]",
        ),
        Whose::Nobodys => Answer::NotEfs(
            "its server's address is no mount target of this account and Region; if it is EFS, name the file system in \
             [[mounts]]",
        ),
        Whose::Unknown => Answer::Pending(UNASKED),
    }
}

/// The address that EFS must be asked about before more can be said of a mount.
pub(super) fn wanted(mount: MountName<'_>, lookups: Lookups<'_>) -> Option<IpAddr> {
    let unasked = identify(mount, lookups) == Answer::Pending(UNASKED);
    let address = || mount.address.or_else(|| parsed(server(&text(mount.device))?));
    unasked.then(address)?
}

/// Adds the zone of the mount target, where EFS told it.
pub(super) fn locate(identity: &mut Identity, mount: MountName<'_>, lookups: Lookups<'_>) {
    let (Some(targets), None) = (lookups.targets, &identity.zone) else { return };
    let named = identity.mount_target.as_deref().and_then(parsed);
    if let Some(address) = named.or(mount.address) {
        identity.zone = targets.zone(&identity.file_system, address).map(str::to_owned);
    }
}

/// An address as a text has it; a link-local one may name its interface (`fe80::1%eth0`).
pub(super) fn parsed(text: &str) -> Option<IpAddr> {
    text.split('%').next()?.parse().ok()
}
