//! What goes out next.

use std::time::Duration;

use super::{Publisher, Request, Source, State, Step};
use crate::batch::{self, MAX_BYTES, MAX_DATA};
use crate::model::{Batch, Host, Minute, Moment};
use crate::spool::{Disk, FileId, Spool};

/// How far ahead of its clock CloudWatch takes data (PutMetricData, `Timestamp`).
pub const MAX_AHEAD: Duration = Duration::from_secs(2 * 3600);

impl Publisher {
    /// The files or the piece of a file to send next, or what to do instead. How many of the files' bytes fit together is
    /// found out when they are read.
    pub(super) fn choose(
        &mut self,
        now: Moment,
        spool: &Spool<impl Disk>,
        host: &Host,
    ) -> Result<Source, Step> {
        let mut wake: Option<Duration> = None;
        let mut ready = Vec::new();
        for (id, entry) in spool.files().rev() {
            if entry.needs_host && *host == Host::Pending {
                continue;
            }
            if self.bisects.get(&id).is_some_and(|bisect| !bisect.ready(now.monotonic, self.accepted)) {
                continue;
            }
            let wait = self.due(id.newest, now).saturating_sub(now.wall);
            if wait.is_zero() {
                ready.push((id, entry));
                if self.state() == State::Unknown {
                    // Only the newest may be counted twice, and while minutes come each only once.
                    return self.one_file(id);
                }
            } else {
                let due = now.monotonic + wait;
                wake = Some(wake.map_or(due, |wake| wake.min(due)));
            }
        }
        let whole = |id: &FileId| !self.bisects.contains_key(id);
        let newest = ready.iter().map(|(id, _)| *id).find(whole).filter(|id| self.is_fresh(id.newest, now));
        let Some(first) = newest.or(ready.first().map(|(id, _)| *id)) else {
            return Err(wake.map_or(Step::Idle, Step::WaitUntil));
        };
        if let Some(newest) = newest {
            self.led = newest.newest;
        } else {
            if now.monotonic < self.backlog_not_before {
                let next = self.backlog_not_before;
                return Err(Step::WaitUntil(wake.map_or(next, |wake| wake.min(next))));
            }
            self.backlog_not_before = now.monotonic + self.pace;
        }
        if self.bisects.contains_key(&first) {
            return self.one_file(first);
        }
        let mut files = Vec::new();
        let mut data = 0;
        let namespace = spool.entry(first).map(|entry| entry.namespace.clone());
        for (id, entry) in ready {
            let apart = newest.is_some_and(|newest| id.newest != newest.newest);
            if apart || Some(&entry.namespace) != namespace.as_ref() || self.bisects.contains_key(&id) {
                continue;
            }
            data += entry.data as usize;
            if !files.is_empty() && data > MAX_DATA {
                break;
            }
            files.push(id);
        }
        Ok(Source::Files(files))
    }

    /// A file by itself, or the next piece of it.
    pub(super) fn one_file(&mut self, id: FileId) -> Result<Source, Step> {
        match self.bisects.get_mut(&id) {
            None => Ok(Source::Files(vec![id])),
            Some(bisect) => bisect.take().map(|piece| Source::Piece(id, piece)).ok_or(Step::Idle),
        }
    }

    /// Reads what was chosen; `None` if nothing of it could be read.
    pub(super) fn request(
        &mut self,
        source: Source,
        now: Moment,
        spool: &mut Spool<impl Disk>,
        host: &Host,
    ) -> Option<Request> {
        let (mut batch, source) = match source {
            Source::Piece(id, index) => {
                let mut batch = spool.read(id)?;
                let range = self.bisects.get(&id)?.range(index);
                let Some(piece) = batch.data.get(range) else {
                    // Not the file that was cut: from the start.
                    self.bisects.remove(&id);
                    return None;
                };
                batch.data = piece.to_vec();
                (batch, Source::Piece(id, index))
            }
            Source::Files(files) => {
                let mut merged: Option<Batch> = None;
                let (mut read, mut bytes) = (Vec::new(), 0);
                for id in files {
                    let Some(batch) = spool.read(id) else { continue };
                    bytes += batch.data.iter().map(batch::size).sum::<usize>();
                    if !read.is_empty() && bytes > MAX_BYTES {
                        break;
                    }
                    read.push(id);
                    match &mut merged {
                        None => merged = Some(batch),
                        Some(merged) => merged.data.extend(batch.data),
                    }
                }
                (merged?, Source::Files(read))
            }
        };
        if let Host::Known(id) = host {
            batch.data.iter_mut().for_each(|datum| datum.name_host(id));
        }
        Some(Request { batch, source, sent: now.monotonic })
    }

    /// When a minute's data are to go out (since 1970): in this host's place of the first interval after it.
    fn slot(&self, minute: Minute) -> Duration {
        let interval = self.interval.as_secs();
        Duration::from_secs(minute.end().as_secs().div_ceil(interval) * interval) + self.offset
    }

    fn due(&self, minute: Minute, now: Moment) -> Duration {
        let slot = self.slot(minute);
        let plausible = now.wall + self.interval + Duration::from_secs(120);
        if self.shutdown.is_some() || slot > plausible {
            // The clock was set back, or there is no time to wait: as early as CloudWatch takes them.
            return minute.start().saturating_sub(MAX_AHEAD);
        }
        slot
    }

    fn is_fresh(&self, minute: Minute, now: Moment) -> bool {
        let slot = self.slot(minute);
        let leads = minute >= self.led;
        leads && (slot <= now.wall || self.shutdown.is_some()) && now.wall < slot + self.interval
    }
}
