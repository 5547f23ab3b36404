//! Files of this host's own disks: crontabs, and what they run. The names are a stranger's and may lead anywhere, so
//! each part of a path is held against the list of mounts before it is looked at. What is on another kind of file
//! system (NFS above all, but also automounts, FUSE and what only looks like a file) is not touched.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use super::{ReadError, read_lines};
use crate::mountinfo;
use crate::mountstats::unescape;

/// File systems of a host's own disks and memory.
const LOCAL: [&str; 14] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "reiserfs", "tmpfs", "ramfs", "overlay",
    "squashfs", "erofs",
];

/// As many symbolic links as the kernel follows (path_resolution(7)).
const LINKS: usize = 40;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error("it is not there")]
    Missing,
    #[error("it is on {}, a mount of {fs_type}, where efsmon opens nothing", mount_point.display())]
    Elsewhere { mount_point: PathBuf, fs_type: String },
    #[error("it is no file")]
    NotAFile,
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for LocalError {
    fn from(error: io::Error) -> LocalError {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => LocalError::Missing,
            _ => LocalError::Io(error),
        }
    }
}

/// Local files of this machine, or of a copy of one.
#[derive(Debug)]
pub struct LocalFiles {
    root: PathBuf,
    /// Mount points as the paths below `root` have them, and their file system types.
    mounts: Vec<(PathBuf, String)>,
}

impl LocalFiles {
    /// The files below `root`, an absolute path: `/`, or a copy of another machine's files, whose list of mounts is
    /// its `proc/self/mountinfo`, if it has one.
    ///
    /// # Errors
    ///
    /// The mounts cannot be read: nothing can be opened then.
    pub fn new(root: &Path) -> Result<LocalFiles, ReadError> {
        const MOUNTINFO: &str = "proc/self/mountinfo";
        let here = read_lines(Path::new("/").join(MOUNTINFO))?;
        let mounts_here = mounts(&here);
        // What `root` itself is on was named by a person.
        let below = |(point, fs_type): &(PathBuf, String)| {
            let path = point.strip_prefix(root).ok().filter(|path| !path.as_os_str().is_empty())?;
            Some((Path::new("/").join(path), fs_type.clone()))
        };
        let mut files =
            LocalFiles { root: root.to_owned(), mounts: mounts_here.iter().filter_map(below).collect() };
        if root != Path::new("/")
            && let Ok(text) = files.read(&Path::new("/").join(MOUNTINFO), u64::MAX)
        {
            let is_root = |(point, _): &(PathBuf, String)| point == Path::new("/");
            files.mounts.extend(mounts(&text).into_iter().filter(|mount| !is_root(mount)));
        }
        Ok(files)
    }

    /// The file's bytes, at most so many.
    ///
    /// # Errors
    ///
    /// It is not there, is none, is not on a local file system, or may not be read.
    pub fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>, LocalError> {
        let resolved = self.resolved(path)?;
        let resolved = self.on_disk(&resolved);
        let open = |flags: OFlags| {
            // The last part is no link any more.
            let flags = (flags | OFlags::NOFOLLOW).bits() as i32;
            let file = File::options().read(true).custom_flags(flags).open(&resolved)?;
            file.metadata()?.is_file().then_some(file).ok_or(LocalError::NotAFile)
        };
        // To open a device or a FIFO does something to it, if only to let its writer go on: first as a mere path. What
        // took the file's place since then must not hold us.
        open(OFlags::PATH)?;
        let file = open(OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let mut text = Vec::new();
        file.take(most).read_to_end(&mut text)?;
        Ok(text)
    }

    /// The names in a directory, sorted.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn names(&self, directory: &Path) -> Result<Vec<OsString>, LocalError> {
        /// More than a directory of crontabs has.
        const MOST: usize = 20_000;
        let resolved = self.resolved(directory)?;
        let entries = std::fs::read_dir(self.on_disk(&resolved))?;
        let mut names: Vec<OsString> =
            entries.take(MOST).map_while(Result::ok).map(|entry| entry.file_name()).collect();
        names.sort();
        Ok(names)
    }

    /// The path without links, `.` and `..`; every part of it is on a local file system.
    fn resolved(&self, path: &Path) -> Result<PathBuf, LocalError> {
        let mut resolved = PathBuf::from("/");
        let mut left: VecDeque<OsString> = parts(path);
        let mut links = 0;
        while let Some(part) = left.pop_front() {
            match part.as_bytes() {
                b"/" => resolved = PathBuf::from("/"),
                b".." => {
                    resolved.pop();
                }
                _ => {
                    let here = resolved.join(&part);
                    self.is_local(&here)?;
                    match std::fs::read_link(self.on_disk(&here)) {
                        Ok(target) => {
                            links += 1;
                            if links > LINKS {
                                return Err(LocalError::Io(rustix::io::Errno::LOOP.into()));
                            }
                            let mut target = parts(&target);
                            target.append(&mut left);
                            left = target;
                        }
                        // Not a link.
                        Err(error) if error.kind() == io::ErrorKind::InvalidInput => resolved = here,
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
        Ok(resolved)
    }

    fn is_local(&self, path: &Path) -> Result<(), LocalError> {
        // Of several at one place the last is on top.
        let covering = self.mounts.iter().filter(|(point, _)| path.starts_with(point));
        match covering.max_by_key(|(point, _)| point.components().count()) {
            Some((point, fs_type)) if !LOCAL.contains(&fs_type.as_str()) => {
                Err(LocalError::Elsewhere { mount_point: point.clone(), fs_type: fs_type.clone() })
            }
            _ => Ok(()),
        }
    }

    fn on_disk(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

fn mounts(mountinfo: &[u8]) -> Vec<(PathBuf, String)> {
    let (mounts, _) = mountinfo::parse(mountinfo);
    let place = |mount: &mountinfo::Mount<'_>| {
        let point = unescape(mount.mount_point).into_owned();
        let fs_type = String::from_utf8_lossy(mount.fs_type).into_owned();
        (PathBuf::from(OsString::from(std::ffi::OsStr::from_bytes(&point))), fs_type)
    };
    mounts.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const NFS: &str = "36 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                       40 36 0:40 / /mnt/efs rw - nfs4 fs-1:/ rw,addr=10.0.0.1\n\
                       41 36 0:41 / /home rw - autofs systemd-1 rw\n\
                       42 36 8:2 / /opt/my\\040disk rw - xfs /dev/sdb rw\n";

    fn tree() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for place in ["proc/self", "mnt/efs/bin", "home/me", "opt/my disk", "etc"] {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        fs::write(root.join("proc/self/mountinfo"), NFS).unwrap();
        for file in ["mnt/efs/bin/x", "home/me/x", "opt/my disk/x", "etc/x"] {
            fs::write(root.join(file), "text").unwrap();
        }
        directory
    }

    fn read(root: &Path, path: &str) -> String {
        match LocalFiles::new(root).unwrap().read(Path::new(path), 3) {
            Ok(text) => String::from_utf8(text).unwrap(),
            Err(error) => error.to_string(),
        }
    }

    const ON_EFS: &str = "it is on /mnt/efs, a mount of nfs4, where efsmon opens nothing";

    #[test]
    fn what_is_on_a_mount_of_another_kind_is_not_opened() {
        let tree = tree();
        let read = |path| read(tree.path(), path);
        assert_eq!(read("/etc/x"), "tex");
        assert_eq!(read("/opt/my disk/x"), "tex");
        assert_eq!(read("/mnt/efs/bin/x"), ON_EFS);
        assert_eq!(read("/mnt/efs"), ON_EFS);
        assert_eq!(read("/mnt/../mnt/./efs/bin/../bin/x"), ON_EFS);
        assert_eq!(read("/home/me/x"), "it is on /home, a mount of autofs, where efsmon opens nothing");
        assert_eq!(read("/mnt/efs-other"), "it is not there");
        assert_eq!(read("/etc/x/y"), "it is not there");
        assert_eq!(read("/etc"), "it is no file");
    }

    /// `..` after a link is the target's parent, not the link's.
    #[test]
    fn links_are_followed_within_the_tree_and_not_onto_a_mount() {
        let tree = tree();
        let link = |target: &str, name: &str| symlink(target, tree.path().join(name)).unwrap();
        link("/etc", "absolute");
        link("../etc/x", "etc/relative");
        link("/mnt/efs/bin", "opt/bin");
        link("/opt/bin/x", "etc/far");
        link("loop", "loop");
        let read = |path| read(tree.path(), path);
        assert_eq!(read("/absolute/x"), "tex");
        assert_eq!(read("/etc/relative"), "tex");
        assert_eq!(read("/opt/bin/x"), ON_EFS);
        assert_eq!(read("/etc/far"), ON_EFS);
        assert_eq!(read("/opt/bin/../etc"), ON_EFS);
        assert!(read("/loop").contains("Too many levels of symbolic links"));
    }

    /// The names below this machine's own mounts are held against its own list too.
    #[test]
    fn this_machines_own_special_files_are_no_files() {
        let read = |path| read(Path::new("/"), path);
        assert_eq!(
            read("/proc/self/mountinfo"),
            "it is on /proc, a mount of proc, where efsmon opens nothing"
        );
    }

    #[test]
    fn a_fifo_is_not_waited_for() {
        let tree = tree();
        let fifo = tree.path().join("etc/fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        assert_eq!(read(tree.path(), "/etc/fifo"), "it is no file");
    }

    #[test]
    fn names_are_sorted_and_a_directory_on_a_mount_is_not_listed() {
        let tree = tree();
        fs::write(tree.path().join("etc/a"), "").unwrap();
        let files = LocalFiles::new(tree.path()).unwrap();
        assert_eq!(files.names(Path::new("/etc")).unwrap(), ["a", "x"]);
        assert_eq!(files.names(Path::new("/mnt/efs/bin")).unwrap_err().to_string(), ON_EFS);
    }
}
