//! amazon-efs-utils' state files: one JSON text a mount, named `FSID.MOUNT.PORT`, where MOUNT is the mount
//! point with `.` for `/`. A name with `~` in front is one that is being written: by the mount helper, or by
//! its watchdog, which rewrites every file each second (`mount_efs`, write_tunnel_state_file). Beside it
//! `stunnel-config.FSID.MOUNT.PORT` is what its proxy was started with.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;

use super::device::without_brackets;
use super::dns::is_label;
use super::{Identity, from_dns_name};
use crate::model::FileSystemId;
use crate::source::StateFile;

/// How far the clock may have been set, or a mount helper may have waited for its mount, between the time in a state
/// file and the one that the kernel's age of the mount gives.
const TIME_SLACK: Duration = Duration::from_secs(600);

/// What one state file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperMount {
    pub identity: Identity,
    pub port: u16,
    /// The proxy's process, by its number where the mount helper runs.
    pub pid: Option<u32>,
    /// From the JSON text; versions before 1.32 (April 2022) do not write it.
    pub mount_point: Option<String>,
    /// When the mount helper began to mount, since 1970; versions before 1.32 do not write it.
    pub mounting_began: Option<Duration>,
    /// From the file's name: the mount point with `.` for `/`, so not always one mount point's only.
    pub folded_mount_point: String,
    /// Whether the mount helper is still at it, or never finished.
    pub unfinished: bool,
    /// Whether it is a mount of S3 Files, not of EFS; `None` where the text is not there to tell, for the name is the
    /// same.
    pub is_s3_files: Option<bool>,
    /// Whether the text is empty or only a part of one. Whatever its name says, it may be the file of a mount that is
    /// long gone.
    pub is_half: bool,
    /// Whether its proxy encrypts what it sends, where its command line tells.
    pub tls: Option<bool>,
    /// Whether the configuration of its proxy, which there is, gave no region; it may be half written.
    pub lacks_region: bool,
}

/// What the configuration of a mount's proxy tells (`stunnel-config.*`, `[efs]`).
#[derive(Clone, Debug, Default)]
struct Proxy {
    region: Option<String>,
    /// The mount target's DNS name or address, and its zone where the name has it.
    mount_target: Option<String>,
    zone: Option<String>,
}

/// What the state files tell. A file whose text may not be read still has its name.
pub fn helper_mounts(files: &[StateFile]) -> Vec<HelperMount> {
    let names: HashSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let proxies: HashMap<&str, Proxy> = files.iter().filter_map(proxy).collect();
    let is_copy = |file: &&StateFile| file.name.strip_prefix('~').is_some_and(|name| names.contains(name));
    files.iter().filter(|file| !is_copy(file)).filter_map(|file| helper_mount(file, &proxies)).collect()
}

fn helper_mount(file: &StateFile, proxies: &HashMap<&str, Proxy>) -> Option<HelperMount> {
    let (name, unfinished) = match file.name.strip_prefix('~') {
        Some(name) => (name, true),
        None => (file.name.as_str(), false),
    };
    let (id, rest) = name.split_once('.')?;
    let (folded, port) = rest.rsplit_once('.')?;
    let file_system: FileSystemId = id.parse().ok()?;
    let json = file.text.as_deref().and_then(first_json);
    let field = |name: &str| json.as_ref()?.get(name)?.as_str();
    let unmounted = json.as_ref().is_some_and(|json| !json["unmount_time"].is_null());
    // Mounts without TLS have no `fsId`. One that differs from the name is nothing to build on.
    if unmounted || field("fsId").is_some_and(|id| id != file_system.as_str()) {
        return None;
    }
    let proxy = proxies.get(name);
    let region = field("region").and_then(region_named).or_else(|| proxy?.region.clone());
    let is_listed = |file: &Value| file.as_str().is_some_and(|path| path.contains("/stunnel-config."));
    let listed = json.as_ref().and_then(|json| json["files"].as_array());
    let has_proxy = proxy.is_some() || listed.is_some_and(|files| files.iter().any(is_listed));
    Some(HelperMount {
        is_half: file.text.is_some() && json.is_none(),
        lacks_region: has_proxy && region.is_none(),
        identity: Identity {
            file_system,
            access_point: field("accessPoint").and_then(|id| id.parse().ok()),
            region,
            mount_target: proxy.and_then(|proxy| proxy.mount_target.clone()),
            zone: proxy.and_then(|proxy| proxy.zone.clone()),
        },
        port: port.parse().ok()?,
        pid: json.as_ref().and_then(|json| json.get("pid")?.as_u64()?.try_into().ok()),
        mount_point: field("mountpoint").map(str::to_owned),
        mounting_began: json
            .as_ref()
            .and_then(|json| Duration::try_from_secs_f64(json["mount_time"].as_f64()?).ok()),
        folded_mount_point: folded.to_owned(),
        unfinished,
        is_s3_files: json.as_ref().map(|_| field("service_type") == Some("s3files")),
        tls: json.as_ref().and_then(|json| tls(json["cmd"].as_array()?)),
    })
}

impl HelperMount {
    /// Whether a mount that was made at `made` (since 1970) may be its, as far as the time tells: what a dead mount
    /// left behind is older, and its port may be another's by now.
    fn may_be_of(&self, made: Option<Duration>) -> bool {
        let apart = self.mounting_began.zip(made).map(|(began, made)| made.abs_diff(began));
        apart.is_none_or(|apart| apart <= TIME_SLACK)
    }
}

/// Whether a proxy that was started so encrypts: stunnel does nothing else, efs-proxy when it is told to.
fn tls(command: &[Value]) -> Option<bool> {
    let words = || command.iter().filter_map(Value::as_str);
    let runs = |names: &[&str]| words().any(|word| names.contains(&word.rsplit('/').next().unwrap_or(word)));
    match runs(&["stunnel", "stunnel5"]) || words().any(|word| word == "--tls") {
        true => Some(true),
        false => runs(&["efs-proxy"]).then_some(false),
    }
}

/// The first JSON object of a text: a file that was rewritten by a shorter one ends with bytes of the longer.
fn first_json(text: &[u8]) -> Option<Value> {
    let value = serde_json::Deserializer::from_slice(text).into_iter().next()?.ok();
    value.filter(Value::is_object)
}

/// The name of a mount's state file, and what the configuration of its proxy says.
fn proxy(file: &StateFile) -> Option<(&str, Proxy)> {
    let name = file.name.strip_prefix("stunnel-config.")?;
    let (id, _) = name.split_once('.')?;
    let text = file.text.as_deref().and_then(|text| std::str::from_utf8(text).ok());
    Some((name, text.and_then(|text| settings(id, text)).unwrap_or_default()))
}

/// The configuration of the proxy of file system `id`: `connect = SERVER:2049`, and since version 3.0 `region` and
/// `fs_id`. One of another file system is nothing to build on.
fn settings(id: &str, text: &str) -> Option<Proxy> {
    // A last line without its end may be half a line.
    let (lines, _) = text.rsplit_once('\n')?;
    let value = |key: &str| {
        let mut settings = lines.lines().filter_map(|line| line.split_once('='));
        settings.find(|(found, _)| found.trim() == key).map(|(_, value)| value.trim())
    };
    let server = value("connect").and_then(|server| Some(without_brackets(server.rsplit_once(':')?.0)));
    let named = server.and_then(from_dns_name);
    let is_others = value("fs_id").is_some_and(|found| found != id)
        || named.as_ref().is_some_and(|named| named.file_system.as_str() != id);
    if is_others {
        return None;
    }
    let region = value("region").and_then(region_named);
    Some(match named {
        Some(Identity { region: named, mount_target, zone, .. }) => {
            Proxy { region: region.or(named), mount_target, zone }
        }
        None => Proxy { region, mount_target: server.map(str::to_owned), zone: None },
    })
}

/// A Region as it is shown to people: a name that is none could hold any byte.
fn region_named(name: &str) -> Option<String> {
    is_label(name).then(|| name.to_owned())
}

/// What [`find`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    One(HelperMount),
    None,
    /// One that is another mount's, or may be.
    Others,
    /// They name different file systems or access points: no guess is made.
    Several,
}

/// The state of the mount at `mount_point` over `port`: of those with the port, the one with the mount point,
/// else the only one (a parent directory may have been renamed since) that is not too old or too young for a mount that
/// was `made` then (since 1970, where that is known), else the only one that has no mount point but in its name, where
/// it is folded. Where the port `is_shared` with another mount, the only one may be that one's; and where its text
/// cannot be read, it may be what a dead mount left behind.
pub fn find(
    mounts: &[HelperMount],
    mount_point: &str,
    port: u16,
    is_shared: bool,
    made: Option<Duration>,
) -> Found {
    let with_port = || mounts.iter().filter(|mount| mount.port == port);
    match only(with_port().filter(|mount| mount.mount_point.as_deref() == Some(mount_point))) {
        Found::None => {}
        found => return found,
    }
    let in_time = || with_port().filter(|mount| mount.may_be_of(made));
    let nothing = match only(in_time()) {
        Found::One(mount) if is_shared || mount.is_s3_files.is_none() => Found::Others,
        Found::None if with_port().next().is_some() => Found::Others,
        Found::Several => Found::Several,
        found => return found,
    };
    // Versions differ in the dots that they leave at the front.
    let folded = mount_point.replace('/', ".");
    let folds = |mount: &&HelperMount| {
        let name = mount.folded_mount_point.trim_start_matches('.');
        mount.mount_point.is_none() && name == folded.trim_start_matches('.')
    };
    match only(in_time().filter(folds)) {
        Found::None => nothing,
        found => found,
    }
}

/// One, when all of them are of one file system and access point; of what else they tell, what none contradicts.
fn only<'a>(mut mounts: impl Iterator<Item = &'a HelperMount>) -> Found {
    let Some(mut first) = mounts.next().cloned() else { return Found::None };
    for mount in mounts {
        let (known, other) = (&mut first.identity, &mount.identity);
        let same = known.file_system == other.file_system
            && known.access_point == other.access_point
            && first.is_s3_files == mount.is_s3_files;
        if !same {
            return Found::Several;
        }
        if known.region != other.region {
            known.region = None;
        }
        if first.pid != mount.pid {
            first.pid = None;
        }
        if known.mount_target != other.mount_target {
            (known.mount_target, known.zone) = (None, None);
        }
    }
    Found::One(first)
}
