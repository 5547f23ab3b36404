//! What is to be said about a mount: each with a stable code, how grave it is, and what to do.

use core::net::IpAddr;

use super::options::Options;
use crate::efs::{Answer, Identity, Place, from_dns_name, is_this_host, is_zone_id, server};
use crate::mountstats::unescape;
use crate::names::printable;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; may well be meant so.
    Info,
    /// Costs time, money or figures: to be changed.
    Warning,
    /// Something does not work now.
    Critical,
}

impl Severity {
    /// Its name, as programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// One thing to be said about a mount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    pub severity: Severity,
    /// The [`Kind::code`].
    pub code: &'static str,
    /// What was found and what to do.
    pub text: String,
}

/// Where this host is, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPlace {
    /// The Availability Zone's name: `us-east-1a`, which may be another zone for another account.
    pub zone: Option<String>,
    /// The Availability Zone's id: `use1-az1`.
    pub zone_id: Option<String>,
    pub region: Option<String>,
}

impl HostPlace {
    /// Whether the host is in a zone, which is given by name or by id; `None` when that is not known.
    pub fn is_in(&self, zone: &str) -> Option<bool> {
        let own = if is_zone_id(zone) { &self.zone_id } else { &self.zone };
        own.as_deref().map(|own| own == zone)
    }
}

/// What is known of a mount.
#[derive(Clone, Copy, Debug)]
pub struct MountFacts<'a> {
    pub answer: &'a Answer,
    /// As printed.
    pub device: &'a [u8],
    /// The options of the `opts:` line.
    pub options: &'a [u8],
    pub host: &'a HostPlace,
    /// Why it counts as stalled, if it does.
    pub stalled: Option<&'a str>,
    /// The first mount of its superblock, as printed, when that is another.
    pub same_as: Option<&'a [u8]>,
    /// Superblocks at its mount point, it included.
    pub stacked: usize,
    /// Whether the mount helper left its state unfinished.
    pub unfinished: bool,
    /// Whether its mount helper's proxy encrypts; `None` when that is not known, or there is none.
    pub encrypted: Option<bool>,
    /// Whether it is not known what mount helpers wrote: their state could not be read.
    pub state_unread: bool,
    pub place: Place<'a>,
}

/// One kind of finding.
pub struct Kind {
    /// Stable: programs go by it.
    pub code: &'static str,
    pub severity: Severity,
    /// What is to be said about a mount, if anything.
    text: fn(&MountFacts<'_>) -> Option<String>,
}

const fn kind(severity: Severity, code: &'static str, text: fn(&MountFacts<'_>) -> Option<String>) -> Kind {
    Kind { code, severity, text }
}

use Severity::{Critical, Info, Warning};

/// Every kind, the gravest first.
pub const KINDS: &[Kind] = &[
    kind(Critical, "stalled", stalled),
    kind(Warning, "unidentified", unidentified),
    kind(Warning, "unfinished_state", unfinished_state),
    kind(Warning, "stacked", stacked),
    kind(Warning, "other_region", other_region),
    kind(Warning, "other_zone", other_zone),
    kind(Warning, "soft", |mount| mount.efs_options()?.soft()),
    kind(Warning, "nfs_version", |mount| mount.efs_options()?.version()),
    kind(Warning, "rsize", |mount| mount.efs_options()?.size("rsize")),
    kind(Warning, "wsize", |mount| mount.efs_options()?.size("wsize")),
    kind(Warning, "timeo", |mount| mount.efs_options()?.timeo()),
    kind(Warning, "noresvport", |mount| mount.efs_options()?.reserved_port()),
    kind(Warning, "no_cache", |mount| mount.efs_options()?.caching()),
    kind(Info, "retrans", |mount| mount.efs_options()?.retrans()),
    kind(Info, "other_account", other_account),
    kind(Info, "by_address", by_address),
    kind(Info, "by_alias", by_alias),
    kind(Info, "not_encrypted", not_encrypted),
    kind(Info, "not_efs", not_efs),
    kind(Info, "s3_files", s3_files),
    kind(Info, "same_as", same_as),
    kind(Info, "volume", volume),
];

/// What is to be said about a mount, the gravest first.
pub fn findings(mount: &MountFacts<'_>) -> Vec<Finding> {
    let found = |kind: &Kind| {
        let text = (kind.text)(mount)?;
        Some(Finding { severity: kind.severity, code: kind.code, text })
    };
    KINDS.iter().filter_map(found).collect()
}

impl<'a> MountFacts<'a> {
    fn efs(&self) -> Option<&'a Identity> {
        match self.answer {
            Answer::Efs(identity) => Some(identity),
            _ => None,
        }
    }

    /// The options, of a mount of EFS.
    fn efs_options(&self) -> Option<Options<'a>> {
        self.efs().map(|_| Options(self.options))
    }

    /// The server, of a mount of EFS.
    fn efs_server(&self) -> Option<Server> {
        self.efs().map(|_| Server::of(self.device))
    }
}

/// How a mount's device names its server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Server {
    /// A mount helper's proxy.
    ThisHost,
    /// By EFS's own name.
    MountTarget,
    Address,
    /// By a name of someone's own.
    Alias,
}

impl Server {
    fn of(device: &[u8]) -> Server {
        let device = String::from_utf8_lossy(device);
        let host = server(&device).unwrap_or(&device);
        if is_this_host(host) {
            Server::ThisHost
        } else if from_dns_name(host).is_some() {
            Server::MountTarget
        } else if host.parse::<IpAddr>().is_ok() {
            Server::Address
        } else {
            Server::Alias
        }
    }
}

fn stalled(mount: &MountFacts<'_>) -> Option<String> {
    let reason = mount.stalled?;
    let proxy = match Server::of(mount.device) {
        Server::ThisHost => ", and whether its proxy and amazon-efs-mount-watchdog run",
        _ => "",
    };
    Some(format!(
        "its server does not answer: {reason}; see whether the mount target is there and lets TCP port 2049 in{proxy}; \
         umount -f lets the programs that wait fail"
    ))
}

fn unidentified(mount: &MountFacts<'_>) -> Option<String> {
    let Answer::Pending(reason) = mount.answer else { return None };
    let not_published = format!("{reason}; its figures are not published");
    Some(match mount.state_unread {
        true => {
            "the mount helper's state, which says which file system it is, cannot be read here".to_owned()
        }
        // What else is missing, EFS may still say, or the reason says what to do.
        false if reason.contains("state file") => {
            format!("{not_published}; if that lasts, mount it anew, or name the file system in [[mounts]]")
        }
        false => not_published,
    })
}

fn unfinished_state(mount: &MountFacts<'_>) -> Option<String> {
    mount.unfinished.then(|| {
        "the mount helper has not finished (its state file's name begins with ~), and while it has not nobody revives \
         its proxy; if that lasts, unmount it and mount it anew"
            .to_owned()
    })
}

fn stacked(mount: &MountFacts<'_>) -> Option<String> {
    (mount.stacked > 1).then(|| {
        format!(
            "{} mounts lie over one another at this mount point, and only the last is reached; unmount what is not meant",
            mount.stacked
        )
    })
}

fn other_region(mount: &MountFacts<'_>) -> Option<String> {
    let region = mount.efs()?.region.as_deref()?;
    let own = mount.host.region.as_deref().filter(|own| *own != region)?;
    Some(format!(
        "its file system is in {region}, this host in {own}: every request goes that far, and every byte is paid for"
    ))
}

fn other_zone(mount: &MountFacts<'_>) -> Option<String> {
    let zone = mount.efs()?.zone.as_deref()?;
    // Another Region says more.
    if mount.host.is_in(zone)? || other_region(mount).is_some() {
        return None;
    }
    let HostPlace { zone: name, zone_id, .. } = mount.host;
    let own = if is_zone_id(zone) { zone_id } else { name };
    Some(format!(
        "its mount target is in {zone}, this host in {}: slower, and every byte between zones is paid for, both ways; \
         mount by the file system's plain DNS name, which leads to this zone's target where there is one",
        own.as_deref().unwrap_or_default()
    ))
}

fn other_account(mount: &MountFacts<'_>) -> Option<String> {
    mount.efs()?.is_cross_account().then(|| {
        "its file system is another account's: that account's CloudWatch has what EFS meters of it".to_owned()
    })
}

fn by_address(mount: &MountFacts<'_>) -> Option<String> {
    (mount.efs_server()? == Server::Address).then(|| {
        "mounted by address: a mount target that is made anew has another; mount by the file system's DNS name".to_owned()
    })
}

fn by_alias(mount: &MountFacts<'_>) -> Option<String> {
    (mount.efs_server()? == Server::Alias).then(|| {
        "mounted by a name that is not EFS's own: it may lead to another zone's mount target; mount by the file \
         system's DNS name"
            .to_owned()
    })
}

fn not_encrypted(mount: &MountFacts<'_>) -> Option<String> {
    let encrypted = match mount.efs_server()? {
        Server::ThisHost => mount.encrypted?,
        _ => false,
    };
    (!encrypted).then(|| {
        "its traffic is not encrypted; where that is required, mount with amazon-efs-utils and the option tls".to_owned()
    })
}

fn not_efs(mount: &MountFacts<'_>) -> Option<String> {
    let Answer::NotEfs(reason) = mount.answer else { return None };
    Some(format!("not published: {reason}"))
}

fn s3_files(mount: &MountFacts<'_>) -> Option<String> {
    matches!(mount.answer, Answer::S3Files)
        .then(|| "not published: a mount of S3 Files, which EFS's figures do not cover".to_owned())
}

fn same_as(mount: &MountFacts<'_>) -> Option<String> {
    let first = printable(&unescape(mount.same_as?));
    Some(format!("the same as {first}: both show the same counters, which are published once"))
}

fn volume(mount: &MountFacts<'_>) -> Option<String> {
    match mount.place {
        Place::Kubelet { pod: Some(pod), volume: Some(volume) } => {
            Some(format!("the volume {volume} of the pod {pod}"))
        }
        Place::Kubelet { pod: Some(pod), volume: None } => Some(format!("a volume of the pod {pod}")),
        Place::Kubelet { pod: None, volume: Some(volume) } => {
            Some(format!("kubelet's mount of the volume {volume}"))
        }
        Place::Kubelet { pod: None, volume: None } => Some("a mount of kubelet's own".to_owned()),
        Place::Ecs { volume } => Some(format!("the volume {volume} of an ECS task")),
        Place::Runtime => Some("inside of a container, as its runtime sees it".to_owned()),
        Place::Plain => None,
    }
}
