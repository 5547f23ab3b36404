//! amazon-efs-utils' state files: one JSON text a mount, named `FSID.MOUNT.PORT`, where MOUNT is the mount
//! point with `.` for `/`. A name with `~` in front is one that is being written: by the mount helper, or by
//! its watchdog, which rewrites every file each second (`mount_efs`, write_tunnel_state_file). Beside it
//! `stunnel-config.FSID.MOUNT.PORT` is what its proxy was started with.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Identity, from_dns_name};
use crate::model::FileSystemId;
use crate::source::StateFile;

/// What one state file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperMount {
    pub identity: Identity,
    pub port: u16,
    /// The proxy's process, by its number where the mount helper runs.
    pub pid: Option<u32>,
    /// From the JSON text; versions before 1.32 (April 2022) do not write it.
    pub mount_point: Option<String>,
    /// From the file's name: the mount point with `.` for `/`, so not always one mount point's only.
    pub folded_mount_point: String,
    /// Whether the mount helper is still at it, or never finished.
    pub unfinished: bool,
    /// Whether it is a mount of S3 Files, not of EFS; `None` when the text could not be read, for the name is
    /// the same.
    pub is_s3_files: Option<bool>,
}

/// What the state files tell. A file whose text cannot be read, or is half written, still has its name.
pub fn helper_mounts(files: &[StateFile]) -> Vec<HelperMount> {
    let names: HashSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let regions: HashMap<&str, String> = files.iter().filter_map(proxys_region).collect();
    let is_copy = |file: &&StateFile| file.name.strip_prefix('~').is_some_and(|name| names.contains(name));
    files.iter().filter(|file| !is_copy(file)).filter_map(|file| helper_mount(file, &regions)).collect()
}

fn helper_mount(file: &StateFile, regions: &HashMap<&str, String>) -> Option<HelperMount> {
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
    Some(HelperMount {
        identity: Identity {
            file_system,
            access_point: field("accessPoint").and_then(|id| id.parse().ok()),
            region: field("region").map(str::to_owned).or_else(|| regions.get(name).cloned()),
            mount_target: None,
            zone: None,
        },
        port: port.parse().ok()?,
        pid: json.as_ref().and_then(|json| json.get("pid")?.as_u64()?.try_into().ok()),
        mount_point: field("mountpoint").map(str::to_owned),
        folded_mount_point: folded.to_owned(),
        unfinished,
        is_s3_files: json.as_ref().map(|_| field("service_type") == Some("s3files")),
    })
}

/// The first JSON object of a text: a file that was rewritten by a shorter one ends with bytes of the longer.
fn first_json(text: &[u8]) -> Option<Value> {
    let value = serde_json::Deserializer::from_slice(text).into_iter().next()?.ok();
    value.filter(Value::is_object)
}

/// The name of a mount's state file, and the region that the configuration of its proxy gives: `region = ..`
/// since version 3.0, else in the server's name, `connect = NAME:2049`.
fn proxys_region(file: &StateFile) -> Option<(&str, String)> {
    let name = file.name.strip_prefix("stunnel-config.")?;
    let text = std::str::from_utf8(file.text.as_deref()?).ok()?;
    // A last line without its end may be half a line.
    let (lines, _) = text.rsplit_once('\n')?;
    let value = |key: &str| {
        let mut settings = lines.lines().filter_map(|line| line.split_once('='));
        settings.find(|(found, _)| found.trim() == key).map(|(_, value)| value.trim())
    };
    let server = || from_dns_name(value("connect")?.split(':').next()?)?.region;
    Some((name, value("region").map(str::to_owned).or_else(server)?))
}

/// What [`find`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    One(&'a HelperMount),
    None,
    /// They name different file systems: no guess is made.
    Several,
}

/// The state of the mount at `mount_point` over `port`: of those with the port, the one with the mount point,
/// else the only one (a parent directory may have been renamed since), else the only one that has no mount
/// point but in its name, where it is folded.
pub fn find<'a>(mounts: &'a [HelperMount], mount_point: &str, port: u16) -> Found<'a> {
    let with_port = || mounts.iter().filter(|mount| mount.port == port);
    match only(with_port().filter(|mount| mount.mount_point.as_deref() == Some(mount_point))) {
        Found::None => {}
        found => return found,
    }
    match only(with_port()) {
        Found::Several => {}
        found => return found,
    }
    // Versions differ in the dots that they leave at the front.
    let folded = mount_point.replace('/', ".");
    let folds = |mount: &&HelperMount| {
        let name = mount.folded_mount_point.trim_start_matches('.');
        mount.mount_point.is_none() && name == folded.trim_start_matches('.')
    };
    match only(with_port().filter(folds)) {
        Found::None => Found::Several,
        found => found,
    }
}

/// One, when all of them say the same.
fn only<'a>(mut mounts: impl Iterator<Item = &'a HelperMount>) -> Found<'a> {
    let Some(first) = mounts.next() else { return Found::None };
    match mounts.all(|mount| mount.identity == first.identity && mount.is_s3_files == first.is_s3_files) {
        true => Found::One(first),
        false => Found::Several,
    }
}
