//! Counters and requests on disk: a minute is either there with the counters that it leads to, or not at all.
//!
//! The state directory holds
//!
//! ```text
//! counters                     where the next minute starts: the daemon's baseline after commit N
//! counters.aside               the same of another version
//! counters.next                the same for a commit that is under way
//! 000000000042-000.request     part 0 of commit 42: what one PutMetricData request carries
//! lock                         held by the process that uses the directory
//! mount-targets.json           what the daemon keeps beside them ([`Spool::keep`]), whole or not at all
//! *.tmp                        a file that is being written
//! rejected.jsonl[.1]           data that CloudWatch refused for good, one JSON object a line, for people
//! ```
//!
//! The first line of a file says what it is; the checksum (CRC-32 as in zip, 8 hex digits) covers everything after the
//! space that follows it.
//!
//! ```text
//! efsmon-counters/1 CHECKSUM OWNER NUMBER PARTS\n             and the daemon's bytes
//! efsmon-request/1 CHECKSUM OWNER OLDEST NEWEST DATA HOST NAMESPACE\n    and the batch as JSON
//! ```
//!
//! OWNER is the machine that wrote it (machine-id, and the instance id where the board's asset tag is one); OLDEST and
//! NEWEST are minutes in seconds since 1970; DATA counts the data; HOST is `host` if they wait for the host's id, else
//! `-`. A file of another owner or of another version is set aside: never sent, and the first to go when space is
//! needed. So is one that cannot be read, which is lost to this process and may be there for the next. What turns out to
//! be another instance's ([`Spool::set_held_aside`]) becomes a file of the owner OWNER/INSTANCE.
//!
//! Commit N: write `counters.next` and sync; write each part under a temporary name and rename it; sync; rename
//! `counters.next` to `counters`; sync. A start that finds `counters.next` completes the commit if all its parts are
//! there, else it removes them. A part numbered above `counters` is from a commit that never was. Nothing of commit N
//! is removed before the last sync, so that no part is missing for another reason.

mod clear;
mod commit;
#[cfg(test)]
mod crash_tests;
mod disk;
#[cfg(test)]
pub(crate) mod failing_disk;
mod format;
mod held;
mod reopen;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::model::{Batch, Datum, Minute};
use format::{Content, Head};

pub use clear::is_request;
pub use disk::{Directory, DirectoryError, Disk};
pub use standing::{Losses, Standing};

const COUNTERS: &str = "counters";
const COUNTERS_NEXT: &str = "counters.next";
const COUNTERS_ASIDE: &str = "counters.aside";
const REJECTED: &str = "rejected.jsonl";
const REJECTED_BYTES: usize = 1 << 20;

/// A file takes whole blocks of this many bytes.
const BLOCK: u64 = 4096;

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of all requests and counters together, in whole blocks of 4 KiB. `rejected.jsonl` comes on top, 2 MiB at most.
    pub max_bytes: u64,
    /// CloudWatch refuses older data (PutMetricData, `Timestamp`).
    pub max_age: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_bytes: 64 << 20, max_age: Duration::from_secs(14 * 86_400) }
    }
}

/// Why the spool did not do it. What was there before is still there.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error(transparent)]
    Disk(#[from] io::Error),
    #[error(
        "no room for a minute of {needed} bytes, and no older data left to delete ({reason}); make room in the state \
         directory or raise spool.max_mib"
    )]
    Full { needed: u64, reason: String },
}

/// A request on disk. They sort by age, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// The newest minute in it when it was committed.
    pub newest: Minute,
    number: u64,
    part: u32,
}

impl FileId {
    fn name(self) -> String {
        request_name(self.number, self.part)
    }
}

/// What is known of a request without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Of the file.
    pub bytes: u64,
    pub oldest: Minute,
    pub data: u32,
    /// Some dimension waits for the host's id.
    pub needs_host: bool,
    pub namespace: Arc<str>,
}

/// A text that is kept beside the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// What EFS said of addresses.
    MountTargets,
}

impl Note {
    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Note::MountTargets => "mount-targets.json",
        }
    }
}

/// Why a request leaves the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// CloudWatch has it.
    Acknowledged,
    /// Its host has no id and will not have one.
    Unattributable,
}

/// A spool as it was found.
#[derive(Debug)]
pub struct Opened<D> {
    pub spool: Spool<D>,
    /// The counters of the last commit, if this machine made it.
    pub counters: Option<Vec<u8>>,
}

/// The state directory, and a small index of what is in it; the data themselves stay on disk.
#[derive(Debug)]
pub struct Spool<D> {
    disk: D,
    owner: String,
    limits: Limits,
    /// Of the last commit.
    number: u64,
    index: BTreeMap<FileId, Entry>,
    /// Oldest commit first.
    aside: VecDeque<Aside>,
    /// The last commit of which it is not known whether this machine made it: it and those before are not sent.
    held: Option<u64>,
    /// Done with, and still on disk.
    doomed: Vec<Doomed>,
    /// The parts of a commit that failed and may have left something behind.
    unfinished: Option<Vec<String>>,
    /// The last renames and removals may not be durable yet.
    unsynced: bool,
    counters_bytes: u64,
    namespaces: BTreeSet<Arc<str>>,
    losses: Losses,
    /// The last commit had to delete data.
    deleting: bool,
}

#[derive(Debug)]
struct Aside {
    name: String,
    bytes: u64,
    newest: Option<Minute>,
    /// Not another's, but counted as damaged.
    unreadable: bool,
}

#[derive(Debug)]
struct Doomed {
    name: String,
    bytes: u64,
}

impl Aside {
    /// A file of which no more is known; `bytes` in whole blocks.
    fn of(name: String, bytes: u64) -> Aside {
        Aside { name, bytes, newest: None, unreadable: false }
    }
}

impl<D: Disk> Spool<D> {
    /// The requests that may be sent, oldest first.
    pub fn files(&self) -> impl DoubleEndedIterator<Item = (FileId, &Entry)> {
        self.index.iter().filter(|(id, _)| !self.is_held(**id)).map(|(id, entry)| (*id, entry))
    }

    /// One of [`Spool::files`], while it is there.
    pub fn entry(&self, id: FileId) -> Option<&Entry> {
        self.index.get(&id)
    }

    /// Reads a request. One that cannot be read is counted as lost and leaves the index.
    pub fn read(&mut self, id: FileId) -> Option<Batch> {
        let entry = self.index.get(&id)?;
        let (data, bytes) = (entry.data, blocks(entry.bytes));
        let content = self.disk.read(&id.name());
        if let Ok(Content::Intact(batch)) = content.as_deref().map(format::request_batch) {
            return Some(batch);
        }
        tracing::error!(
            file = id.name(),
            data,
            error = content.as_ref().err().map(tracing::field::display),
            "a spooled request is damaged; its data are lost"
        );
        self.index.remove(&id);
        self.damaged(data);
        // What could not be read may be readable after a restart.
        match content {
            Err(_) => self.aside.push_back(Aside { unreadable: true, ..Aside::of(id.name(), bytes) }),
            Ok(_) => {
                self.doomed.push(Doomed { name: id.name(), bytes });
                let _ = self.sweep();
            }
        }
        None
    }

    /// Takes requests off the disk, durably. They are not sent again by this process even if that fails.
    pub fn finish(&mut self, files: &[FileId], ending: Ending) -> Result<(), SpoolError> {
        for id in files {
            if let Some(entry) = self.forget(*id)
                && ending == Ending::Unattributable
            {
                self.losses.unattributable_files += 1;
                self.losses.unattributable_data += u64::from(entry.data);
            }
        }
        Ok(self.sweep()?)
    }

    /// Replaces what is left to send of a request, durably. One that has been deleted meanwhile stays so.
    pub fn rewrite(&mut self, id: FileId, batch: &Batch) -> Result<(), SpoolError> {
        if batch.data.is_empty() {
            return self.finish(&[id], Ending::Acknowledged);
        }
        if !self.index.contains_key(&id) {
            return Ok(());
        }
        let (head, file) = format::encode_request(&self.owner, batch).map_err(io::Error::from)?;
        self.replace(&id.name(), &file)?;
        self.insert(id, head, file.len() as u64);
        Ok(())
    }

    /// Removes what is older than CloudWatch takes. `now` (since 1970) must be known to be right: that CloudWatch just
    /// accepted a request proves it.
    pub fn expire(&mut self, now: Duration) -> Result<(), SpoolError> {
        let Some(limit) = now.checked_sub(self.limits.max_age) else { return Ok(()) };
        let expired: Vec<FileId> =
            self.index.keys().copied().take_while(|id| id.newest.start() < limit).collect();
        let mut data = 0;
        for id in &expired {
            data += self.forget(*id).map_or(0, |entry| u64::from(entry.data));
        }
        if data > 0 {
            self.losses.expired_files += expired.len() as u64;
            self.losses.expired_data += data;
            tracing::error!(data, "spooled data are older than CloudWatch takes; they are lost");
        }
        let stale = |aside: &Aside| aside.newest.is_some_and(|newest| newest.start() < limit);
        let (stale, kept) = self.aside.drain(..).partition::<VecDeque<_>, _>(stale);
        self.aside = kept;
        self.doomed.extend(stale.into_iter().map(|Aside { name, bytes, .. }| Doomed { name, bytes }));
        Ok(self.sweep()?)
    }

    /// Keeps a refused datum for people to look at: the newest 1 MiB, and the 1 MiB before that.
    pub fn reject(
        &mut self,
        now: Duration,
        namespace: &str,
        datum: &Datum,
        reason: &str,
    ) -> Result<(), SpoolError> {
        #[derive(Serialize)]
        struct Rejected<'a> {
            rejected_at: u64,
            reason: &'a str,
            namespace: &'a str,
            datum: &'a Datum,
        }
        self.losses.rejected_data += 1;
        let rejected = Rejected { rejected_at: now.as_secs(), reason, namespace, datum };
        let mut line = serde_json::to_vec(&rejected).map_err(io::Error::from)?;
        line.push(b'\n');
        let mut file = match self.disk.read(REJECTED) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            content => content.unwrap_or_default(),
        };
        if !file.is_empty() && file.len() + line.len() > REJECTED_BYTES {
            self.disk.rename(REJECTED, &format!("{REJECTED}.1"))?;
            file.clear();
        }
        file.extend_from_slice(&line);
        Ok(self.replace(REJECTED, &file)?)
    }

    /// The counters of the last commit, if this machine made it.
    pub fn counters(&self) -> Result<Option<Vec<u8>>, SpoolError> {
        let counters = reopen::read_counters(&self.disk, COUNTERS)?;
        Ok(counters.filter(|counters| counters.owner == self.owner).map(|counters| counters.blob))
    }

    /// Keeps a text of the daemon's own beside the requests: durably, the old one or the new one, whole.
    pub fn keep(&mut self, note: Note, content: &[u8]) -> Result<(), SpoolError> {
        Ok(self.replace(note.name(), content)?)
    }

    /// What is kept under that name, if it can be read.
    pub fn kept(&self, note: Note) -> Option<Vec<u8>> {
        self.disk.read(note.name()).ok()
    }

    /// What was lost; cheaper than the whole [`Spool::standing`].
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// What is there, and what was lost.
    pub fn standing(&self) -> Standing {
        let foreign = || self.aside.iter().filter(|file| !file.unreadable);
        Standing {
            files: self.index.len() as u64,
            bytes: self.index.values().map(|entry| blocks(entry.bytes)).sum(),
            data: self.index.values().map(|entry| u64::from(entry.data)).sum(),
            oldest: self.index.values().map(|entry| entry.oldest).min(),
            newest: self.index.keys().next_back().map(|id| id.newest),
            held_files: self.held_files() as u64,
            aside_files: foreign().count() as u64,
            aside_bytes: foreign().map(|file| file.bytes).sum(),
            unremoved_files: self.doomed.len() as u64,
            losses: self.losses,
        }
    }

    /// Completes what an earlier call left half done: the last sync of a commit, the removal of one that failed.
    fn settle(&mut self) -> io::Result<()> {
        if self.unsynced {
            self.disk.sync()?;
            self.unsynced = false;
        }
        if let Some(parts) = &self.unfinished {
            reopen::undo(&self.disk, parts)?;
            self.unfinished = None;
        }
        Ok(())
    }

    /// Removes what is done with, durably; what cannot be removed now stays on the list.
    fn sweep(&mut self) -> io::Result<()> {
        self.settle()?;
        if self.doomed.is_empty() {
            return Ok(());
        }
        let mut failed = None;
        self.doomed.retain(|file| match self.disk.remove(&file.name) {
            Ok(()) => false,
            Err(error) => {
                failed = Some(error);
                true
            }
        });
        self.unsynced = true;
        self.settle()?;
        failed.map_or(Ok(()), Err)
    }

    fn damaged(&mut self, data: u32) {
        self.losses.damaged_files += 1;
        self.losses.damaged_data += u64::from(data);
    }

    fn forget(&mut self, id: FileId) -> Option<Entry> {
        let entry = self.index.remove(&id)?;
        self.doomed.push(Doomed { name: id.name(), bytes: blocks(entry.bytes) });
        Some(entry)
    }

    fn insert(&mut self, id: FileId, head: Head, bytes: u64) {
        let namespace = match self.namespaces.get(head.namespace.as_str()) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = head.namespace.into();
                self.namespaces.insert(new.clone());
                new
            }
        };
        let Head { oldest, data, needs_host, .. } = head;
        self.index.insert(id, Entry { bytes, oldest, data, needs_host, namespace });
    }

    /// Replaces a file's content, durably.
    fn replace(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.settle()?;
        let temporary = temporary(name);
        let written = self.disk.write_durable(&temporary, content);
        written.and_then(|()| self.disk.rename(&temporary, name)).inspect_err(|_| {
            let _ = self.disk.remove(&temporary);
        })?;
        self.unsynced = true;
        self.settle()
    }
}

fn request_name(number: u64, part: u32) -> String {
    format!("{number:012}-{part:03}.request")
}

fn temporary(name: &str) -> String {
    format!("{name}.tmp")
}

fn blocks(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK)
}
