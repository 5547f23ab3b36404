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

#[cfg(test)]
mod tests {
    use super::super::failing_disk::FailingDisk;
    use super::super::tests::{OWNER, batch, datum, minute};
    use super::super::{Limits, Opened};
    use super::*;

    const OTHER: &str = "i-0123456789abcdef0";

    fn open(disk: &FailingDisk) -> Spool<FailingDisk> {
        let Opened { spool, .. } = Spool::open(disk.clone(), OWNER, Limits::default()).unwrap();
        spool
    }

    fn commit(spool: &mut Spool<FailingDisk>, index: u64) {
        spool.commit(&[batch(vec![datum("ReadBytes", minute(index))])], b"counters").unwrap();
    }

    fn sendable(spool: &Spool<FailingDisk>) -> Vec<u64> {
        spool.files().map(|(id, _)| (id.newest.seconds() - minute(0).seconds()) as u64 / 60).collect()
    }

    fn left_by_an_image() -> FailingDisk {
        let disk = FailingDisk::default();
        let mut spool = open(&disk);
        (0..3).for_each(|index| commit(&mut spool, index));
        disk
    }

    #[test]
    fn what_is_held_is_not_sent_and_what_comes_after_is() {
        let mut spool = open(&left_by_an_image());
        spool.hold();
        commit(&mut spool, 7);
        assert_eq!((sendable(&spool), spool.held_files()), (vec![7], 3));
        assert_eq!((spool.standing().files, spool.standing().held_files), (4, 3));
        spool.release();
        assert_eq!((sendable(&spool), spool.held_files()), (vec![0, 1, 2, 7], 0));
    }

    #[test]
    fn what_is_another_s_stays_so_for_the_next_process() {
        let disk = left_by_an_image();
        let mut spool = open(&disk);
        spool.hold();
        commit(&mut spool, 7);
        spool.set_held_aside(OTHER).unwrap();
        assert_eq!((sendable(&spool), spool.standing().aside_files), (vec![7], 3));
        let spool = open(&disk);
        assert_eq!((sendable(&spool), spool.standing().aside_files), (vec![7], 3));
    }

    #[test]
    fn a_step_that_fails_lets_nothing_of_another_out() {
        for failing in 0..12 {
            let disk = left_by_an_image();
            let mut spool = open(&disk);
            spool.hold();
            disk.fail_once_after(failing);
            let _ = spool.set_held_aside(OTHER);
            assert_eq!(sendable(&spool), [0; 0], "{failing}");
            // The next process does not know either, and asks again.
            let mut spool = open(&disk);
            spool.hold();
            spool.set_held_aside(OTHER).unwrap();
            let standing = spool.standing();
            assert_eq!((sendable(&spool), standing.files, standing.aside_files), (vec![], 0, 3), "{failing}");
        }
    }
}
