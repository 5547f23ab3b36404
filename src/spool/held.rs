//! Requests of which it is not known yet whether this machine made them: kept, not sent.

use std::io;

use super::{Aside, Disk, FileId, Spool, SpoolError, blocks, format};

impl<D: Disk> Spool<D> {
    /// Keeps what is there from being sent until [`Spool::release`] or [`Spool::set_held_aside`]. What is committed
    /// from here on is not touched by either.
    pub fn hold(&mut self) {
        self.held = Some(self.number);
    }

    /// What was held is this machine's.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// How many requests are held.
    pub fn held_files(&self) -> usize {
        self.index.keys().filter(|id| self.is_held(**id)).count()
    }

    /// What was held is that of `other`: it becomes so on disk, durably, and is set aside. What fails stays held.
    ///
    /// # Errors
    ///
    /// A request cannot be written; those before it are done.
    pub fn set_held_aside(&mut self, other: &str) -> Result<(), SpoolError> {
        let owner = format!("{}/{}", self.owner, super::reopen::one_word(other));
        let held: Vec<FileId> = self.index.keys().copied().filter(|id| self.is_held(*id)).collect();
        let files = held.len();
        for id in held {
            // A damaged one is counted as such.
            let Some(batch) = self.read(id) else { continue };
            let (_, file) = format::encode_request(&owner, &batch).map_err(io::Error::from)?;
            self.replace(&id.name(), &file)?;
            self.index.remove(&id);
            let aside = Aside::of(id.name(), blocks(file.len() as u64));
            self.aside.push_back(Aside { newest: Some(id.newest), ..aside });
        }
        self.held = None;
        if files > 0 {
            tracing::warn!(
                files,
                instance = other,
                "the state directory holds data of another instance; they are kept aside and never sent"
            );
        }
        Ok(())
    }

    pub(super) fn is_held(&self, id: FileId) -> bool {
        self.held.is_some_and(|last| id.number <= last)
    }
}
