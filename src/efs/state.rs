//! amazon-efs-utils' state files: one JSON text a mount, named `FSID.MOUNT.PORT`, where MOUNT is the mount
//! point with `.` for `/` and `~` in front of the name while the mount is being made (`mount_efs`,
//! write_tunnel_state_file; the watchdog rewrites the files every second).

use serde_json::Value;

use super::Identity;
use crate::model::FileSystemId;
use crate::source::StateFile;

/// What one state file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperMount {
    pub identity: Identity,
    pub port: u16,
    /// From the JSON text; versions before 1.32 (April 2022) do not write it.
    pub mount_point: Option<String>,
    /// From the file's name: the mount point with `.` for `/`, so not always one mount point's only.
    pub folded_mount_point: String,
    /// Whether the mount helper is still at it, or never finished.
    pub unfinished: bool,
    /// A mount of S3 Files, not of EFS.
    pub is_s3_files: bool,
}

/// What the state files tell. A file whose text cannot be read, or is half written, still has its name.
pub fn helper_mounts(files: &[StateFile]) -> Vec<HelperMount> {
    files.iter().filter_map(helper_mount).collect()
}

fn helper_mount(file: &StateFile) -> Option<HelperMount> {
    let unfinished = file.name.starts_with('~');
    let name = file.name.trim_start_matches('~');
    let (id, rest) = name.split_once('.')?;
    let (folded, port) = rest.rsplit_once('.')?;
    let named: FileSystemId = id.parse().ok()?;
    let json = file.text.as_deref().and_then(first_json).unwrap_or(Value::Null);
    let field = |name: &str| json.get(name).and_then(Value::as_str);
    if !json["unmount_time"].is_null() {
        return None;
    }
    Some(HelperMount {
        identity: Identity {
            file_system: field("fsId").and_then(|id| id.parse().ok()).unwrap_or(named),
            access_point: field("accessPoint").and_then(|id| id.parse().ok()),
            region: field("region").map(str::to_owned),
        },
        port: port.parse().ok()?,
        mount_point: field("mountpoint").map(str::to_owned),
        folded_mount_point: folded.to_owned(),
        unfinished,
        is_s3_files: field("service_type") == Some("s3files"),
    })
}

/// The first JSON value of a text: a file that was rewritten by a shorter one ends with bytes of the longer.
fn first_json(text: &[u8]) -> Option<Value> {
    serde_json::Deserializer::from_slice(text).into_iter().next()?.ok()
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
/// else the only one, else the only one whose name folds the mount point.
pub fn find<'a>(mounts: &'a [HelperMount], mount_point: &str, port: u16) -> Found<'a> {
    let folded = mount_point.replace('/', ".");
    let folded = folded.trim_start_matches('.');
    let with_port: Vec<&HelperMount> = mounts.iter().filter(|mount| mount.port == port).collect();
    let named = with_port.iter().filter(|mount| mount.mount_point.as_deref() == Some(mount_point));
    let folds = with_port.iter().filter(|mount| mount.folded_mount_point.trim_start_matches('.') == folded);
    match (only(named), only(with_port.iter()), only(folds)) {
        (Found::One(one), _, _) | (_, Found::One(one), _) | (_, _, Found::One(one)) => Found::One(one),
        (Found::None, Found::None, _) => Found::None,
        _ => Found::Several,
    }
}

/// One, when all of them say the same.
fn only<'a, 'b: 'a>(mut mounts: impl Iterator<Item = &'a &'b HelperMount>) -> Found<'b> {
    let Some(first) = mounts.next() else { return Found::None };
    match mounts.all(|mount| mount.identity == first.identity && mount.is_s3_files == first.is_s3_files) {
        true => Found::One(first),
        false => Found::Several,
    }
}
