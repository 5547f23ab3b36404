//! Emptying the directory, for a disk that becomes other machines' disks.

use super::{COUNTERS, COUNTERS_ASIDE, COUNTERS_NEXT, Disk, Note, REJECTED, Spool, SpoolError, reopen};

impl<D: Disk> Spool<D> {
    /// Removes everything that efsmon keeps, whosever it is, and returns the names of the files. Files that are not
    /// efsmon's stay, and so does the lock.
    ///
    /// # Errors
    ///
    /// A file cannot be removed; those before it may be gone, and the counters go last.
    pub fn clear(self) -> Result<Vec<String>, SpoolError> {
        let names = self.disk.list()?.into_iter().map(|(name, _)| name);
        let mut names: Vec<String> = names.filter(|name| is_kept(name)).collect();
        names.sort_by_key(|name| (name.starts_with(COUNTERS), name.clone()));
        for name in &names {
            self.disk.remove(name)?;
        }
        self.disk.sync()?;
        Ok(names)
    }
}

/// Whether it is the name of a file of requests.
pub fn is_request(name: &str) -> bool {
    reopen::numbers(name).is_some()
}

fn is_kept(name: &str) -> bool {
    let name = name.strip_suffix(".tmp").unwrap_or(name);
    let is_rejected = name.strip_suffix(".1").unwrap_or(name) == REJECTED;
    let others = [COUNTERS, COUNTERS_NEXT, COUNTERS_ASIDE, Note::MountTargets.name()];
    is_rejected || others.contains(&name) || is_request(name)
}

#[cfg(test)]
mod tests {
    use super::super::failing_disk::FailingDisk;
    use super::super::tests::{OWNER, batch, datum, minute};
    use super::super::{Limits, Opened};
    use super::*;

    fn open(disk: &FailingDisk) -> Opened<FailingDisk> {
        Spool::open(disk.clone(), OWNER, Limits::default()).unwrap()
    }

    /// It removes five files and syncs.
    #[test]
    fn what_could_not_all_be_removed_goes_with_the_next_try_and_the_counters_last() {
        for failing in 0..6 {
            let disk = FailingDisk::default();
            let mut spool = open(&disk).spool;
            for index in 0..3 {
                spool.commit(&[batch(vec![datum("ReadBytes", minute(index))])], b"counters").unwrap();
            }
            spool.keep(Note::MountTargets, b"{}").unwrap();
            disk.fail_once_after(failing);
            assert!(spool.clear().is_err(), "{failing}");
            let left = disk.list().unwrap();
            assert!(left.is_empty() || left.iter().any(|(name, _)| name == COUNTERS), "{failing}: {left:?}");
            open(&disk).spool.clear().unwrap();
            assert_eq!(disk.list().unwrap(), []);
        }
    }

    #[test]
    fn only_names_of_the_spool_s_own_are_removed() {
        let kept = [
            "counters",
            "counters.aside",
            "counters.next",
            "counters.next.tmp",
            "000000000042-000.request",
            "000000000042-000.request.tmp",
            "mount-targets.json",
            "rejected.jsonl",
            "rejected.jsonl.1",
            "rejected.jsonl.tmp",
        ];
        assert!(kept.iter().all(|name| is_kept(name)));
        let others = [
            "lock",
            "credentials",
            "counters.old",
            "42-0.request",
            "000000000042-000.request.gz",
            "counters.1",
            ".tmp",
            "mount-targets.json.1",
        ];
        assert!(!others.iter().any(|name| is_kept(name)));
    }
}
