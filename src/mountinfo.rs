//! `/proc/self/mountinfo`: which superblock is mounted where. Pure; it never fails and never panics.
//!
//! The format is `Documentation/filesystems/proc.rst` section 3.5 and the kernel's `fs/proc_namespace.c`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::mountstats::Problem;

/// A superblock's `major:minor`, the `st_dev` of its files. The kernel reuses a minor once it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DeviceNumber {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once(':').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match numbers {
            Some((major, minor)) => Ok(DeviceNumber { major, minor }),
            None => Err(format!("{text:?} is not major:minor")),
        }
    }
}

impl TryFrom<String> for DeviceNumber {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<DeviceNumber> for String {
    fn from(number: DeviceNumber) -> String {
        number.to_string()
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount<'a> {
    /// Line number in the text, from 1.
    pub line: usize,
    pub device_number: DeviceNumber,
    /// As printed, octal escapes kept (see [`crate::mountstats::unescape`]).
    pub mount_point: &'a [u8],
    /// `nfs4`, `nfs`, `ext4` ..
    pub fs_type: &'a [u8],
    /// The device (mount source) as printed, octal escapes kept.
    pub device: &'a [u8],
    /// The superblock's options; for NFS with `addr=`.
    pub super_options: &'a [u8],
}

impl Mount<'_> {
    /// Whether it is a mount of NFS, whose statistics mountstats has (`fs/nfs/super.c`); `nfsd` is none.
    pub fn is_nfs(&self) -> bool {
        matches!(self.fs_type, b"nfs" | b"nfs4")
    }
}

/// Reads a whole text: the mounts in its order, and the lines that could not be read.
pub fn parse(text: &[u8]) -> (Vec<Mount<'_>>, Vec<Problem<'_>>) {
    let mut mounts = Vec::new();
    let mut problems = Vec::new();
    for (index, text) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        match mount(line, text) {
            _ if text.is_empty() => {}
            Ok(mount) => mounts.push(mount),
            Err((mount_point, missing)) => {
                let reason = format!("expected {missing}; is this a mountinfo text?");
                problems.push(Problem { line, mount_point, reason });
            }
        }
    }
    (mounts, problems)
}

/// Reads one line, or gives what was read of it and what is missing.
fn mount(line: usize, text: &[u8]) -> Result<Mount<'_>, (Option<&[u8]>, &'static str)> {
    // One space between fields; an empty device leaves two.
    let mut fields = text.split(|byte| *byte == b' ');
    let device_number =
        fields.nth(2).and_then(device_number).ok_or((None, "`major:minor` as the third field"))?;
    let mount_point = fields.nth(1).filter(|name| !name.is_empty()).ok_or((None, "a mount point"))?;
    // The mount's own options, then optional fields, as many as there are, then a lone dash.
    let dash = fields.by_ref().skip(1).any(|field| field == b"-");
    let mut after_dash = || fields.next().filter(|_| dash);
    let fs_type = after_dash().ok_or((Some(mount_point), "` - ` and a file system type"))?;
    let device = after_dash().ok_or((Some(mount_point), "a device after the file system type"))?;
    let super_options = after_dash().unwrap_or_default();
    Ok(Mount { line, device_number, mount_point, fs_type, device, super_options })
}

fn device_number(text: &[u8]) -> Option<DeviceNumber> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
