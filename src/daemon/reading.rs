//! Taking a reading, and saying what is wrong with it: once while it lasts, and seldom when it comes and goes.

use std::fmt::Display;
use std::time::Duration;

use tracing::{error, info, warn};

use super::proxies::Proxies;
use crate::clock::Clock;
use crate::efs::helper_mounts;
use crate::model::Moment;
use crate::monitor::{Monitor, Sighting};
use crate::source::{ReadError, Reading, Source, StateFile};

/// Takes readings into a [`Monitor`].
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Some reading was not void.
    began: bool,
    void: Latch,
    problems: Latch,
    helper_state: Latch,
    stalled: Latch,
    proxies: Proxies,
    unpublished_bytes: u64,
}

impl Reader {
    /// For a monitor that may go on from an earlier process.
    pub(super) fn new(monitor: &Monitor) -> Reader {
        Reader { unpublished_bytes: monitor.unpublished_bytes(), ..Reader::default() }
    }

    /// Takes in a reading, and says what is new about how that goes.
    ///
    /// # Errors
    ///
    /// The reading is void; the next one that is not covers its time.
    pub(super) fn read(
        &mut self,
        source: &Source,
        clock: &impl Clock,
        monitor: &mut Monitor,
    ) -> Result<Sighting, ReadError> {
        let reading = source.read(clock);
        let moment = reading.as_ref().map_or_else(|_| clock.now(), |reading| reading.moment);
        let sighting = self.take(moment, reading, || source.efs_state(), monitor)?;
        if monitor.publishes_proxies() {
            let helper_state =
                || source.efs_state().map_or_else(|_| Vec::new(), |files| helper_mounts(&files));
            let used = self.proxies.observe(source, moment.monotonic, monitor.proxied(), helper_state);
            used.iter().for_each(|(file_system, used)| monitor.observe_proxies(file_system, *used));
        }
        Ok(sighting)
    }

    /// As [`Reader::read`], of what was read already; without what processes use, which is not in it.
    ///
    /// # Errors
    ///
    /// That of the reading.
    pub(super) fn take<E: Display, F: Display>(
        &mut self,
        moment: Moment,
        reading: Result<Reading, E>,
        helper_state: impl FnMut() -> Result<Vec<StateFile>, F>,
        monitor: &mut Monitor,
    ) -> Result<Sighting, E> {
        match reading {
            Ok(reading) => {
                if self.void.ends() {
                    info!("reading the mounts again");
                }
                Ok(self.take_in(&reading, helper_state, monitor))
            }
            Err(error) => {
                if self.void.begins(moment.monotonic) {
                    warn!(%error, "this sample is void; the next complete one covers its time");
                }
                Err(error)
            }
        }
    }

    fn take_in<F: Display>(
        &mut self,
        reading: &Reading,
        mut helper_state: impl FnMut() -> Result<Vec<StateFile>, F>,
        monitor: &mut Monitor,
    ) -> Sighting {
        let now = reading.moment.monotonic;
        let sighting = monitor.observe(reading, || match helper_state() {
            Ok(files) => {
                self.helper_state.ends();
                helper_mounts(&files)
            }
            Err(error) => {
                if self.helper_state.begins(now) {
                    warn!(%error, "the EFS mount helper's state cannot be read, so its mounts stay without a name; let efsmon's group read the directory");
                }
                Vec::new()
            }
        });
        match sighting.problems.first() {
            Some(first) if self.problems.begins(now) => {
                warn!(first, "a part of mountstats cannot be read; the other mounts go on");
            }
            Some(_) => {}
            None => {
                self.problems.ends();
            }
        }
        match sighting.stalled.first() {
            Some(first) if self.stalled.begins(now) => {
                let (mount_point, reason) = (&first.mount_point, &first.reason);
                warn!(
                    mount_point,
                    reason,
                    mounts = sighting.stalled.len(),
                    "a mount's server does not answer"
                );
            }
            Some(_) => {}
            None if self.stalled.ends() => info!("the servers of all mounts answer again"),
            None => {}
        }
        if !std::mem::replace(&mut self.began, true) && sighting.superblocks == 0 {
            info!("no NFS mounts yet; mounts are noticed as they come");
        }
        let unpublished = monitor.unpublished_bytes();
        let more = unpublished.saturating_sub(self.unpublished_bytes);
        if more > 0 {
            error!(
                bytes = more,
                "nobody read the counters for more than a day: which minutes these bytes belong to is not known, so \
                 they are not published"
            );
        }
        self.unpublished_bytes = unpublished;
        sighting
    }
}

/// How long nothing is said of what has been said, when it went and is there again.
const PAUSE: Duration = Duration::from_secs(300);

/// Something wrong that comes and goes, so that its lines in the log are few however often.
#[derive(Debug, Default)]
pub(super) struct Latch {
    is_said: bool,
    /// Monotonic.
    last: Option<Duration>,
}

impl Latch {
    /// It is there. Returns whether to say so: it is not said yet, nor was it lately.
    pub(super) fn begins(&mut self, now: Duration) -> bool {
        if self.is_said || self.last.is_some_and(|last| now.saturating_sub(last) < PAUSE) {
            return false;
        }
        self.is_said = true;
        self.last = Some(now);
        true
    }

    /// It is not there. Returns whether to say so: it was said that it is.
    pub(super) fn ends(&mut self) -> bool {
        std::mem::take(&mut self.is_said)
    }
}

#[cfg(test)]
mod tests;
