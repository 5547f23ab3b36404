//! Writing a recording.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{About, BOOT_ID, EFS_STATE, Header, MARKER, MOMENT, MomentFile, Tick, folder, texts};

/// Where a tick is made; it gets its name when it is whole.
const UNFINISHED: &str = "unfinished";

/// Writes ticks into a directory of its own.
#[derive(Debug)]
pub struct Recorder {
    directory: PathBuf,
    /// The last tick's folder, and its files.
    last: Option<(PathBuf, HashMap<PathBuf, Vec<u8>>)>,
}

/// Why there is no new recording.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("{} is not empty; name a directory that is new or empty: nothing is ever overwritten", .0.display())]
    NotEmpty(PathBuf),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl Recorder {
    /// Makes the directory, if there is none, and writes what a recording begins with.
    ///
    /// # Errors
    ///
    /// The directory holds something already, or cannot be written to.
    pub fn create(directory: &Path, header: &Header, about: &About) -> Result<Recorder, CreateError> {
        let failed = |error| CreateError::Io { path: directory.to_owned(), error };
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read_dir(directory).map_err(failed)?.next().is_some() {
                    return Err(CreateError::NotEmpty(directory.to_owned()));
                }
            }
            made => made.map_err(failed)?,
        }
        let recorder = Recorder { directory: directory.to_owned(), last: None };
        recorder.begin(header, about).map_err(failed)?;
        Ok(recorder)
    }

    /// The marker comes last: without it this is no recording.
    fn begin(&self, header: &Header, about: &About) -> io::Result<()> {
        let vendor = about.is_ec2.then_some("Amazon EC2");
        let lines = [
            ("proc/sys/kernel/hostname", about.host_name.as_deref()),
            ("sys/class/dmi/id/board_asset_tag", about.board_asset_tag.as_deref()),
            ("sys/class/dmi/id/sys_vendor", vendor),
        ];
        for (name, line) in lines {
            let Some(line) = line else { continue };
            write(&self.directory.join(name), format!("{line}\n").as_bytes())?;
        }
        write(&self.directory.join(MARKER), &as_json(header)?)
    }

    /// Adds a tick: all of it or nothing. Returns how many bytes that took; what has not changed takes none.
    ///
    /// # Errors
    ///
    /// It cannot be written. The ticks before are whole.
    pub fn write(&mut self, tick: &Tick) -> io::Result<u64> {
        let unfinished = self.directory.join(UNFINISHED);
        let files = files(tick)?;
        let written = self.write_files(&unfinished, &files);
        let finished = self.directory.join(folder(tick.number));
        let bytes = written.and_then(|bytes| fs::rename(&unfinished, &finished).map(|()| bytes));
        match bytes {
            Ok(_) => self.last = Some((finished, files)),
            // Half a tick is of no use, and the disk may be full.
            Err(_) => drop(fs::remove_dir_all(&unfinished)),
        }
        bytes
    }

    fn write_files(&self, folder: &Path, files: &HashMap<PathBuf, Vec<u8>>) -> io::Result<u64> {
        let mut bytes = 0;
        for (name, content) in files {
            let path = folder.join(name);
            let earlier = self.last.as_ref().filter(|(_, files)| files.get(name) == Some(content));
            if let Some((last, _)) = earlier {
                make_parent(&path)?;
                // Not every file system has links, and none has links without end.
                if fs::hard_link(last.join(name), &path).is_ok() {
                    continue;
                }
            }
            write(&path, content)?;
            bytes += content.len() as u64;
        }
        Ok(bytes)
    }
}

/// The files of a tick, below its folder.
fn files(tick: &Tick) -> io::Result<HashMap<PathBuf, Vec<u8>>> {
    let mut files = HashMap::from([(PathBuf::from(MOMENT), as_json(&MomentFile::of(tick))?)]);
    if let Some(boot_id) = &tick.boot_id {
        files.insert(PathBuf::from(BOOT_ID), format!("{boot_id}\n").into_bytes());
    }
    if let Ok(reading) = &tick.reading {
        let texts = texts(reading.view);
        files.insert(texts.join("mountstats"), reading.mountstats.clone());
        files.insert(texts.join("mountinfo"), reading.mountinfo_after.clone());
        if reading.mountinfo_before != reading.mountinfo_after {
            files.insert(texts.join("mountinfo.before"), reading.mountinfo_before.clone());
        }
    }
    for file in tick.efs_state.iter().flatten() {
        if let Some(text) = &file.text {
            files.insert(Path::new(EFS_STATE).join(&file.name), text.clone());
        }
    }
    Ok(files)
}

fn as_json(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}

/// Writes a new file, in folders that are made for it.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    make_parent(path)?;
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)
}

fn make_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => DirBuilder::new().mode(0o700).recursive(true).create(parent),
        None => Ok(()),
    }
}
