//! What is read from the machine, and nothing else is: files under `/proc`, the EFS mount helper's state
//! directory and two files of `/sys`. Never a mounted file system: a hung server must not hang its monitor.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::clock::Clock;
use crate::model::Moment;

pub mod local;
mod processes;

pub use processes::Process;

/// Where to look.
#[derive(Clone, Debug)]
pub struct Roots {
    /// `/proc`.
    pub procfs: PathBuf,
    /// `/sys`.
    pub sysfs: PathBuf,
    /// amazon-efs-utils' state directory, `/var/run/efs`.
    pub efs_state: PathBuf,
}

/// Whose mounts to read: the setting `source.namespace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// PID 1's where it is readable and shows NFS mounts, else our own.
    Auto,
    /// Our own (`/proc/self`).
    Own,
    /// PID 1's (`/proc/1`).
    Init,
}

impl Namespace {
    /// Every choice.
    pub const ALL: [Namespace; 3] = [Namespace::Auto, Namespace::Own, Namespace::Init];

    /// The choice of that name in the configuration.
    pub fn named(name: &str) -> Option<Namespace> {
        Namespace::ALL.into_iter().find(|namespace| namespace.name() == name)
    }

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Namespace::Auto => "auto",
            Namespace::Own => "self",
            Namespace::Init => "init",
        }
    }
}

/// Whose mounts a reading holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    Own,
    Init,
}

/// The texts of one sample, and when they were read.
#[derive(Clone, Debug)]
pub struct Reading {
    pub moment: Moment,
    pub view: View,
    /// `mountinfo` before and after `mountstats`: what both agree on held meanwhile.
    pub mountinfo_before: Vec<u8>,
    pub mountstats: Vec<u8>,
    pub mountinfo_after: Vec<u8>,
}

/// Why there is no reading.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("reading {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("reading {}: it is {found}; the kernel's text ends with a line feed", path.display())]
    Short { path: PathBuf, found: &'static str },
}

/// A file of amazon-efs-utils' state directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFile {
    pub name: String,
    /// What it held; `None` when it may not be read.
    pub text: Option<Vec<u8>>,
}

/// Most files of the state directory that are looked at, and most bytes of one: it holds one or two small
/// files a mount.
const STATE_FILES: usize = 20_000;
const STATE_FILE_BYTES: u64 = 64 * 1024;

/// What is read of a text at once: most of a mountinfo, or some mounts of a mountstats.
const FIRST_BYTES: usize = 16 * 1024;

/// Reads the machine.
#[derive(Clone, Debug)]
pub struct Source {
    roots: Roots,
    namespace: Namespace,
    /// Where the installation's own files are: `/`.
    installation: PathBuf,
}

impl Source {
    pub fn new(roots: Roots, namespace: Namespace) -> Source {
        Source { roots, namespace, installation: PathBuf::from("/") }
    }

    /// The same on another installation, with `etc` and `var` below `root`.
    pub fn installed_at(self, root: &Path) -> Source {
        Source { installation: root.to_owned(), ..self }
    }

    /// Reads one sample. A read error, or a text that was cut, voids the whole of it: half a list of mounts
    /// would look like mounts that went away.
    pub fn read(&self, clock: &impl Clock) -> Result<Reading, ReadError> {
        match self.namespace {
            Namespace::Own => self.read_view(View::Own, clock),
            Namespace::Init => self.read_view(View::Init, clock),
            Namespace::Auto => match self.read_view(View::Init, clock) {
                Ok(reading) if reading.shows_nfs() => Ok(reading),
                Ok(reading) => match self.read_view(View::Own, clock) {
                    Ok(own) if own.shows_nfs() => Ok(own),
                    _ => Ok(reading),
                },
                Err(_) => self.read_view(View::Own, clock),
            },
        }
    }

    fn read_view(&self, view: View, clock: &impl Clock) -> Result<Reading, ReadError> {
        let directory = self.roots.procfs.join(match view {
            View::Own => "self",
            View::Init => "1",
        });
        // Opened first: where PID 1's is not readable, nothing else needs to be read to know.
        let mountstats = Opened::open(directory.join("mountstats"))?;
        let mountinfo_before = read_lines(directory.join("mountinfo"))?;
        let moment = clock.now();
        let mountstats = mountstats.read_lines()?;
        let mountinfo_after = read_lines(directory.join("mountinfo"))?;
        Ok(Reading { moment, view, mountinfo_before, mountstats, mountinfo_after })
    }

    /// This boot's id: baselines of another boot are of no use.
    pub fn boot_id(&self) -> Option<String> {
        self.line(self.roots.procfs.join("sys/kernel/random/boot_id"))
    }

    /// This installation's id (machine-id(5)).
    pub fn machine_id(&self) -> Option<String> {
        ["etc/machine-id", "var/lib/dbus/machine-id"]
            .iter()
            .find_map(|path| self.line(self.installation.join(path)))
    }

    /// Which installation on which machine this is: the machine-id, or else the host name, and the board's asset tag
    /// when there is one. Instances of an image that has a machine-id in it are told apart by their tags.
    pub fn installation(&self) -> String {
        let id = self.machine_id().or_else(|| self.host_name()).unwrap_or_default();
        match self.board_asset_tag() {
            Some(tag) => format!("{id}/{tag}"),
            None => id,
        }
    }

    /// The host name (uname(2), `nodename`).
    pub fn host_name(&self) -> Option<String> {
        self.line(self.roots.procfs.join("sys/kernel/hostname"))
    }

    /// The instance id that the Nitro system shows as the board's asset tag: `i-..`.
    pub fn board_asset_tag(&self) -> Option<String> {
        self.line(self.roots.sysfs.join("class/dmi/id/board_asset_tag")).filter(|tag| tag.starts_with("i-"))
    }

    /// Whether the firmware says that this is an EC2 instance.
    pub fn is_ec2(&self) -> bool {
        let vendor = self.line(self.roots.sysfs.join("class/dmi/id/sys_vendor")).unwrap_or_default();
        let uuid = self.line(self.roots.sysfs.join("hypervisor/uuid")).unwrap_or_default();
        vendor == "Amazon EC2" || uuid.starts_with("ec2")
    }

    /// The state of amazon-efs-utils' mounts. Its watchdog rewrites the files every second: half a file or a
    /// vanished one is normal. No directory: no files.
    pub fn efs_state(&self) -> io::Result<Vec<StateFile>> {
        // A file that is replaced meanwhile may be missing from a list, but hardly from two.
        let mut names = self.state_names()?;
        names.append(&mut self.state_names()?);
        Ok(names.iter().filter_map(|name| self.state_file(name, &names)).collect())
    }

    /// A file that was listed among `names`. A mount helper that is done takes the `~` off a name: were its file
    /// passed over then, what is left of a dead mount would be the only one of its port.
    fn state_file(&self, name: &str, names: &BTreeSet<String>) -> Option<StateFile> {
        let text = match Opened::open(self.roots.efs_state.join(name)) {
            Ok(file) => file.read_at_most(STATE_FILE_BYTES),
            Err(ReadError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                let finished = name.strip_prefix('~').filter(|name| !names.contains(*name))?;
                return self.state_file(finished, names);
            }
            Err(_) => None,
        };
        Some(StateFile { name: name.to_owned(), text })
    }

    fn state_names(&self) -> io::Result<BTreeSet<String>> {
        let entries = match std::fs::read_dir(&self.roots.efs_state) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(error),
        };
        let is_state = |name: &String| {
            ["fs-", "~fs-", "stunnel-config.fs-"].iter().any(|prefix| name.starts_with(prefix))
                && !name.ends_with('+')
        };
        let names = entries.take(STATE_FILES).map_while(Result::ok);
        Ok(names.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_state).collect())
    }

    fn line(&self, path: PathBuf) -> Option<String> {
        let text = Opened::open(path).ok()?.read_at_most(4096)?;
        let text = String::from_utf8(text).ok()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }
}

impl Reading {
    fn shows_nfs(&self) -> bool {
        crate::mountinfo::parse(&self.mountinfo_after).0.iter().any(crate::mountinfo::Mount::is_nfs)
    }
}

struct Opened {
    path: PathBuf,
    file: File,
}

impl Opened {
    fn open(path: PathBuf) -> Result<Opened, ReadError> {
        // O_NONBLOCK: a FIFO under the name of a file must not hold us.
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        match File::options().read(true).custom_flags(flags).open(&path) {
            Ok(file) => Ok(Opened { path, file }),
            Err(error) => Err(ReadError::Io { path, error }),
        }
    }

    fn read(mut self) -> Result<Vec<u8>, ReadError> {
        // The kernel's texts do not tell their size, and an empty buffer is filled from 32 bytes on.
        let mut text = Vec::with_capacity(FIRST_BYTES);
        match self.file.read_to_end(&mut text) {
            Err(error) => Err(ReadError::Io { path: self.path, error }),
            Ok(_) => Ok(text),
        }
    }

    fn read_lines(self) -> Result<Vec<u8>, ReadError> {
        let path = self.path.clone();
        match self.read()? {
            text if text.is_empty() => Err(ReadError::Short { path, found: "empty" }),
            text if text.last() != Some(&b'\n') => {
                Err(ReadError::Short { path, found: "cut off within a line" })
            }
            text => Ok(text),
        }
    }

    fn read_at_most(self, bytes: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        self.file.take(bytes).read_to_end(&mut text).ok().map(|_| text)
    }
}

/// Reads a text of the kernel's, or a copy of one.
///
/// # Errors
///
/// An I/O error, or a text that does not end with a line feed.
pub fn read_lines(path: PathBuf) -> Result<Vec<u8>, ReadError> {
    Opened::open(path)?.read_lines()
}

/// Reads a file of a recording. It may be a stranger's, so nothing is waited for.
pub fn read_recorded(path: PathBuf) -> Result<Vec<u8>, ReadError> {
    Opened::open(path)?.read()
}

/// Reads a kept mountstats text, for offline reports. A person names it, so a pipe is waited for.
pub fn read_text(path: &Path) -> Result<Vec<u8>, ReadError> {
    std::fs::read(path).map_err(|error| ReadError::Io { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests;
