//! The directory that the spool lives in, as little of it as the spool needs.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// One flat directory. Names are bare file names. Errors name the path and, for a missing permission, the remedy.
pub trait Disk {
    /// Every regular file: its name and its size in bytes.
    fn list(&self) -> io::Result<Vec<(String, u64)>>;

    /// The whole of a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Creates or truncates a file, writes all of it and makes its content durable. Its name is durable only after
    /// [`Disk::sync`].
    fn write_durable(&self, name: &str, content: &[u8]) -> io::Result<()>;

    /// Gives a file another name, replacing what had it. Durable after [`Disk::sync`].
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file; one that is not there is fine. Durable after [`Disk::sync`].
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all names durable.
    fn sync(&self) -> io::Result<()>;
}

const LOCK: &str = "lock";

/// A directory of the machine, locked for as long as this lives: two that send what is in it send it twice.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// `None`: no daemon has used the directory yet.
    _lock: Option<File>,
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error(
        "another efsmon uses this state directory (it holds {}); two would publish everything twice: stop it, or give \
         this one its own state_dir", path.display()
    )]
    Held { path: PathBuf },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Directory {
    /// Opens the directory and locks it. One that is missing is made, with mode 0700; what is above it, with the
    /// process's usual mode.
    pub fn open(path: &Path) -> Result<Directory, DirectoryError> {
        let error = |verb, name, error| explained(path, verb, name, error);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| DirBuilder::new().recursive(true).mode(0o700).create(path))
            .map_err(|cause| error("create the directory", "", cause))?;
        let mut options = OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false).mode(0o600).open(path.join(LOCK));
        Directory::locked(path, lock.map_err(|cause| error("write", LOCK, cause))?)
    }

    /// Opens and locks a directory that is there and makes nothing in it, so that another user (root) leaves nothing
    /// behind that the daemon could not open. `None`: it is not there.
    pub fn open_existing(path: &Path) -> Result<Option<Directory>, DirectoryError> {
        match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(|cause| explained(path, "list", "", cause))?,
        };
        // A symbolic link under this name is none of the daemon's.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        match File::options().read(true).custom_flags(flags.bits() as i32).open(path.join(LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Some(Directory { path: path.to_owned(), _lock: None }))
            }
            lock => {
                let lock = lock.map_err(|cause| explained(path, "read", LOCK, cause))?;
                Directory::locked(path, lock).map(Some)
            }
        }
    }

    fn locked(path: &Path, lock: File) -> Result<Directory, DirectoryError> {
        match lock.try_lock() {
            Ok(()) => Ok(Directory { path: path.to_owned(), _lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::Held { path: path.join(LOCK) }),
            Err(TryLockError::Error(cause)) => Err(explained(path, "lock", LOCK, cause).into()),
        }
    }

    fn error(&self, verb: &str, name: &str, error: io::Error) -> io::Error {
        explained(&self.path, verb, name, error)
    }
}

fn explained(directory: &Path, verb: &str, name: &str, error: io::Error) -> io::Error {
    let path = if name.is_empty() { directory.to_owned() } else { directory.join(name) };
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "; {} must belong to the user that efsmon runs as, with mode 0700, and its files with mode 0600; or set \
             state_dir",
            directory.display()
        ),
        io::ErrorKind::ReadOnlyFilesystem => "; the state directory must be writable".to_owned(),
        _ => String::new(),
    };
    io::Error::new(error.kind(), format!("cannot {verb} {}: {error}{remedy}", path.display()))
}

impl Disk for Directory {
    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let list = || {
            let mut files = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                let about = entry.metadata()?;
                if let (true, Ok(name)) = (about.is_file(), entry.file_name().into_string()) {
                    files.push((name, about.len()));
                }
            }
            Ok(files)
        };
        list().map_err(|error| self.error("list", "", error))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let read = || {
            // Under a name of ours may be anything: a FIFO would be waited for, a device read without end.
            let mut options = File::options();
            let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
            let mut file = options.read(true).custom_flags(flags.bits() as i32).open(self.path.join(name))?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is no file"));
            }
            let mut content = Vec::new();
            file.read_to_end(&mut content)?;
            Ok(content)
        };
        read().map_err(|error| self.error("read", name, error))
    }

    fn write_durable(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let write = || {
            let mut options = OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(self.path.join(name))?;
            file.write_all(content)?;
            file.sync_all()
        };
        write().map_err(|error| self.error("write", name, error))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to)).map_err(|error| self.error("write", to, error))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.error("remove", name, error)),
            _ => Ok(()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let sync = || File::open(&self.path)?.sync_all();
        sync().map_err(|error| self.error("sync", "", error))
    }
}
