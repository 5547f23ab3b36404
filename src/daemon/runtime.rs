//! The runtime directory: the lock against a second daemon, and the status.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::status::Status;

const LOCK: &str = "lock";
const STATUS: &str = "status.json";

/// Who may read a file may lock it, and no daemon would start.
const LOCK_MODE: u32 = 0o600;

/// Everybody may ask for the status, whatever the process's umask.
const STATUS_MODE: u32 = 0o644;

/// The directory, locked for as long as this lives.
#[derive(Debug)]
pub struct RuntimeDirectory {
    path: PathBuf,
    _lock: File,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "another efsmon runs already (process {holder}, which holds {}); two would publish everything twice: stop it, \
         or give this one its own runtime_dir and state_dir", path.display()
    )]
    Held { path: PathBuf, holder: String },
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl RuntimeDirectory {
    /// Makes the directory when it is missing, and locks it. One that is there stays as it is, whosever it is.
    pub fn lock(path: &Path) -> Result<RuntimeDirectory, LockError> {
        let lock = path.join(LOCK);
        let unusable = |error| LockError::Io { path: lock.clone(), error };
        fs::DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(unusable)?;
        let file = File::options().create(true).read(true).append(true).mode(LOCK_MODE).open(&lock);
        let mut file = file.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&lock).unwrap_or_default().trim().to_owned();
                return Err(LockError::Held { path: lock, holder });
            }
        }
        // One of an earlier version; whose file is another user's works as well.
        let _ = file.set_permissions(fs::Permissions::from_mode(LOCK_MODE));
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(unusable)?;
        Ok(RuntimeDirectory { path: path.to_owned(), _lock: file })
    }

    /// Replaces the status: a reader sees the old one or the new one, whole.
    pub fn write_status(&self, status: &Status) -> io::Result<()> {
        let temporary = self.path.join(format!("{STATUS}.tmp"));
        let mut file = File::create(&temporary)?;
        file.write_all(&serde_json::to_vec(status)?)?;
        file.set_permissions(fs::Permissions::from_mode(STATUS_MODE))?;
        fs::rename(&temporary, self.path.join(STATUS))
    }
}

/// Reads the status that a daemon left in `directory`.
pub fn read_status(directory: &Path) -> io::Result<Status> {
    Ok(serde_json::from_slice(&fs::read(directory.join(STATUS))?)?)
}
