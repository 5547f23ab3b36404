//! Reading a recording: what can be read of it, and what is damaged.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{EFS_STATE, FORMAT, Header, MARKER, MOMENT, MomentFile, Tick, folder, texts};
use crate::clock::Clock;
use crate::model::Moment;
use crate::source::{
    Namespace, ReadError, Reading, Roots, Source, StateFile, View, read_lines, read_recorded,
};

/// A directory that holds a recording.
#[derive(Debug)]
pub struct Recording {
    directory: PathBuf,
    header: Header,
    /// In order.
    numbers: Vec<u32>,
    efs_state: Option<PathBuf>,
}

/// Why a directory that says it is a recording cannot be read as one.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Read(ReadError),
    #[error("{}: no recording's header: {reason}", path.display())]
    Header { path: PathBuf, reason: String },
    #[error("{} is a recording in the format {found:?}, and this efsmon reads {FORMAT} only; use the efsmon that recorded it, or a later one", path.display())]
    Version { path: PathBuf, found: String },
    #[error("{} is a recording without a single tick", .0.display())]
    Empty(PathBuf),
}

/// A part of a recording that is not there any more. It costs that part.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("tick {} is missing", folder(*.0))]
    Missing(u32),
    #[error("ticks {} to {} are missing", folder(*.0), folder(*.1))]
    ManyMissing(u32, u32),
    #[error("tick {} cannot be read: {reason}", folder(*number))]
    Unreadable { number: u32, reason: String },
}

impl Recording {
    /// The recording in a directory; `None` when it is no recording.
    ///
    /// # Errors
    ///
    /// It is one, but of another version, damaged as a whole, or empty.
    pub fn open(directory: &Path) -> Result<Option<Recording>, OpenError> {
        let path = directory.join(MARKER);
        let text = match read_recorded(path.clone()) {
            Err(ReadError::Io { error, .. })
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            text => text.map_err(OpenError::Read)?,
        };
        // The format first: the rest may be another version's.
        let header: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|error| OpenError::Header { path: path.clone(), reason: error.to_string() })?;
        match header["format"].as_str() {
            Some(FORMAT) => {}
            Some(found) => {
                return Err(OpenError::Version { path: directory.to_owned(), found: found.to_owned() });
            }
            None => return Err(OpenError::Header { path, reason: "it names no `format`".to_owned() }),
        }
        let header: Header = serde_json::from_value(header)
            .map_err(|error| OpenError::Header { path: path.clone(), reason: error.to_string() })?;
        let seconds = header.interval_seconds;
        if !(1..=20).contains(&seconds) || 60 % seconds != 0 {
            let reason = format!("`interval_seconds` is {seconds}, and no sample interval");
            return Err(OpenError::Header { path, reason });
        }
        let failed = |error| OpenError::Read(ReadError::Io { path: directory.to_owned(), error });
        let mut numbers = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            numbers.extend(number.filter(|number| folder(*number).as_str() == name));
        }
        numbers.sort_unstable();
        if numbers.is_empty() {
            return Err(OpenError::Empty(directory.to_owned()));
        }
        Ok(Some(Recording { directory: directory.to_owned(), header, numbers, efs_state: None }))
    }

    /// The same, with the state of amazon-efs-utils' mounts read from another directory.
    pub fn with_efs_state(self, directory: PathBuf) -> Recording {
        Recording { efs_state: Some(directory), ..self }
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What its machine said of itself, and no mounts.
    pub fn machine(&self) -> Source {
        let (procfs, sysfs) = (self.directory.join("proc"), self.directory.join("sys"));
        Source::new(Roots { procfs, sysfs, efs_state: PathBuf::new() }, Namespace::Own)
    }

    /// How many ticks there are, whole or not.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Every tick in order, and what is damaged.
    pub fn ticks(&self) -> impl Iterator<Item = Result<Tick, Damage>> {
        let first = self.numbers.first().copied().unwrap_or_default();
        let before = std::iter::once(first.saturating_sub(1)).chain(self.numbers.iter().copied());
        self.numbers.iter().zip(before).flat_map(|(number, before)| {
            let missing = match number.saturating_sub(before) {
                0 | 1 => None,
                2 => Some(Damage::Missing(before + 1)),
                _ => Some(Damage::ManyMissing(before + 1, number - 1)),
            };
            missing.map(Err).into_iter().chain([self.tick(*number)])
        })
    }

    /// The last tick whose reading is not void; the mounts as they were last seen.
    pub fn last(&self) -> Option<(Reading, Result<Vec<StateFile>, String>)> {
        self.numbers.iter().rev().find_map(|number| {
            let tick = self.tick(*number).ok()?;
            Some((tick.reading.ok()?, tick.efs_state))
        })
    }

    fn tick(&self, number: u32) -> Result<Tick, Damage> {
        let path = self.directory.join(folder(number));
        let unreadable = |reason| Damage::Unreadable { number, reason };
        let text = read_recorded(path.join(MOMENT)).map_err(|error| unreadable(error.to_string()))?;
        let file: MomentFile =
            serde_json::from_slice(&text).map_err(|error| unreadable(format!("{MOMENT}: {error}")))?;
        let moment = file.moment().map_err(|reason| unreadable(format!("{MOMENT}: {reason}")))?;
        let view = file.view.unwrap_or(View::Own);
        let roots = Roots {
            procfs: path.join("proc"),
            sysfs: PathBuf::new(),
            efs_state: self.efs_state.clone().unwrap_or_else(|| path.join(EFS_STATE)),
        };
        let namespace = match view {
            View::Own => Namespace::Own,
            View::Init => Namespace::Init,
        };
        let machine = Source::new(roots, namespace);
        let reading = match file.void {
            Some(reason) => Err(reason),
            None => reading(&machine, moment, &path.join(texts(view))),
        };
        let mut efs_state = match &file.efs_state_error {
            Some(reason) if self.efs_state.is_none() => Err(reason.clone()),
            _ => machine.efs_state().map_err(|error| error.to_string()),
        };
        if let (Ok(files), None) = (&mut efs_state, &self.efs_state) {
            let unread = file.efs_state_unread.into_iter();
            files.extend(unread.map(|name| StateFile { name, text: None }));
            files.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(Tick { number, moment, boot_id: machine.boot_id(), reading, efs_state })
    }
}

/// The texts of a tick: torn ones void it, as they do on the machine.
fn reading(machine: &Source, moment: Moment, texts: &Path) -> Result<Reading, String> {
    let mut reading = machine.read(&Then(moment)).map_err(|error| error.to_string())?;
    match read_lines(texts.join("mountinfo.before")) {
        Ok(text) => reading.mountinfo_before = text,
        Err(ReadError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.to_string()),
    }
    Ok(reading)
}

/// The clock of a tick.
struct Then(Moment);

impl Clock for Then {
    fn now(&self) -> Moment {
        self.0
    }
}
