//! Taking a reading, and saying what is wrong with it: once, and once more when it is right again.

use tracing::{info, warn};

use super::Daemon;
use crate::clock::Clock;
use crate::efs::helper_mounts;
use crate::source::Reading;
use crate::spool::Disk;

impl<C: Clock, D: Disk> Daemon<'_, C, D> {
    pub(super) fn read(&mut self) {
        match self.source.read(self.clock) {
            Ok(reading) => {
                self.samples.taken += 1;
                if self.failing.reading.take().is_some() {
                    info!("reading the mounts again");
                }
                self.take_in(&reading);
            }
            Err(error) => {
                self.samples.void += 1;
                if self.failing.reading.replace(error.to_string()).is_none() {
                    warn!(%error, "this sample is void; the next complete one covers its time");
                }
            }
        }
    }

    fn take_in(&mut self, reading: &Reading) {
        let source = self.source;
        let mut unreadable = None;
        let sighting = self.monitor.observe(reading, || match source.efs_state() {
            Ok(files) => helper_mounts(&files),
            Err(error) => {
                unreadable = Some(error);
                Vec::new()
            }
        });
        if let Some(error) = unreadable
            && !sighting.same_mounts(&self.sighting)
        {
            warn!(%error, "the EFS mount helper's state cannot be read, so its mounts stay without a name; let efsmon's group read the directory");
        }
        if !sighting.problems.is_empty() && !std::mem::replace(&mut self.failing.problems, true) {
            warn!(
                first = sighting.problems.first(),
                "a part of mountstats cannot be read; the other mounts go on"
            );
        }
        self.failing.problems = !sighting.problems.is_empty();
        if sighting.superblocks == 0 && self.samples.taken == 1 {
            info!("no NFS mounts yet; mounts are noticed as they come");
        }
        self.sighting = sighting;
    }
}
