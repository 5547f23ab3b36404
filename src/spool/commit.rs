//! The commit of a minute, and the room that it needs.

use std::io;

use super::format::{self, Head};
use super::{Aside, COUNTERS, COUNTERS_NEXT, Disk, Doomed, FileId, Spool, SpoolError, blocks, temporary};
use crate::model::Batch;

/// A minute ready to be written.
struct Draft {
    files: Vec<(FileId, Head, Vec<u8>)>,
    counters: Vec<u8>,
}

impl<D: Disk> Spool<D> {
    /// Makes `batches` and the `counters` that they lead to durable, together. Deletes the oldest requests if there is
    /// no room otherwise. After an error nothing of it is there, and the caller keeps its old baseline.
    pub fn commit(&mut self, batches: &[Batch], counters: &[u8]) -> Result<(), SpoolError> {
        self.settle()?;
        let draft = self.draft(batches, counters)?;
        // The old counters stay until the new ones have their place.
        let needed = draft.files.iter().map(|(.., file)| blocks(file.len() as u64)).sum::<u64>()
            + blocks(draft.counters.len() as u64);
        let deleted_before = self.losses.deleted_data;
        let result = self.commit_deleting(&draft, needed);
        let deleted = self.losses.deleted_data - deleted_before;
        if deleted > 0 && !self.deleting {
            tracing::error!(data = deleted, "the spool is full; deleting the oldest data, which are lost");
        }
        self.deleting = deleted > 0;
        result?;
        self.number += 1;
        self.counters_bytes = blocks(draft.counters.len() as u64);
        for (id, head, file) in draft.files {
            self.insert(id, head, file.len() as u64);
        }
        // Decided: what fails from here on is caught up with by the next call.
        self.unsynced = true;
        let _ = self.settle();
        Ok(())
    }

    fn draft(&self, batches: &[Batch], counters: &[u8]) -> io::Result<Draft> {
        let number = self.number + 1;
        let mut files = Vec::new();
        for (batch, part) in batches.iter().filter(|batch| !batch.data.is_empty()).zip(0..) {
            let (head, file) = format::encode_request(&self.owner, batch)?;
            files.push((FileId { newest: head.newest, number, part }, head, file));
        }
        let parts = files.len() as u32;
        Ok(Draft { files, counters: format::encode_counters(&self.owner, number, parts, counters) })
    }

    fn commit_deleting(&mut self, draft: &Draft, needed: u64) -> Result<(), SpoolError> {
        while self.bytes() + needed > self.limits.max_bytes {
            let excess = self.bytes() + needed - self.limits.max_bytes;
            if !self.delete_oldest(excess)? {
                let reason = format!("spool.max_mib is {}", self.limits.max_bytes >> 20);
                return Err(SpoolError::Full { needed, reason });
            }
        }
        loop {
            let Err(error) = self.write(draft) else { return Ok(()) };
            let _ = self.settle();
            match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    if !self.delete_oldest(needed)? {
                        return Err(SpoolError::Full { needed, reason: error.to_string() });
                    }
                    self.settle()?;
                }
                _ => return Err(error.into()),
            }
        }
    }

    /// The commit, up to the rename that decides it.
    fn write(&mut self, draft: &Draft) -> io::Result<()> {
        self.unfinished = Some(draft.files.iter().map(|(id, ..)| id.name()).collect());
        self.disk.write_durable(COUNTERS_NEXT, &draft.counters)?;
        self.disk.sync()?;
        for (id, _, file) in &draft.files {
            let temporary = temporary(&id.name());
            self.disk.write_durable(&temporary, file)?;
            self.disk.rename(&temporary, &id.name())?;
        }
        self.disk.sync()?;
        self.disk.rename(COUNTERS_NEXT, COUNTERS)?;
        self.unfinished = None;
        Ok(())
    }

    /// Frees at least `bytes` if it can: what is done with, what is not ours, then our own oldest data. False when
    /// there was nothing left.
    fn delete_oldest(&mut self, bytes: u64) -> io::Result<bool> {
        let mut freed: u64 = self.doomed.iter().map(|file| file.bytes).sum();
        while freed < bytes
            && let Some(Aside { name, bytes, .. }) = self.aside.pop_front()
        {
            freed += bytes;
            self.doomed.push(Doomed { name, bytes });
        }
        while freed < bytes
            && let Some((id, entry)) = self.index.pop_first()
        {
            freed += blocks(entry.bytes);
            self.losses.deleted_files += 1;
            self.losses.deleted_data += u64::from(entry.data);
            self.doomed.push(Doomed { name: id.name(), bytes: blocks(entry.bytes) });
        }
        self.sweep()?;
        Ok(freed > 0)
    }

    fn bytes(&self) -> u64 {
        let index: u64 = self.index.values().map(|entry| blocks(entry.bytes)).sum();
        let aside: u64 = self.aside.iter().map(|file| file.bytes).sum();
        let doomed: u64 = self.doomed.iter().map(|file| file.bytes).sum();
        index + aside + doomed + self.counters_bytes
    }
}
