//! What becomes of a request that CloudWatch refuses for what is in it.

use super::bisect::Bisect;
use super::outage::{MAX_BACKOFF, Reason};
use super::{Publisher, Source};
use crate::model::Moment;
use crate::spool::{Disk, FileId, Spool};

impl Publisher {
    /// A request was refused because of its data (`blame`: CloudWatch's reason) or of its size.
    pub(super) fn faulted(
        &mut self,
        now: Moment,
        source: Source,
        blame: Option<&str>,
        spool: &mut Spool<impl Disk>,
    ) {
        let accepted = self.accepted;
        let (id, piece) = match source {
            Source::Piece(id, piece) => (id, piece),
            Source::Files(files) => {
                let alone = files.len() == 1;
                for id in &files {
                    let length = spool.entry(*id).map_or(0, |entry| entry.data as usize);
                    self.bisects.insert(*id, Bisect::new(length, alone, accepted));
                }
                match files[..] {
                    [id] => (id, 0),
                    // First each file by itself.
                    _ => return self.end_outage(now),
                }
            }
        };
        let mut others = self.bisects.iter().filter(|(other, _)| **other != id);
        if let Some(reason) = blame
            && others.any(|(_, bisect)| bisect.is_fruitless(accepted))
        {
            // No use looking for the bad datum of a second file while not one is good.
            self.park(now, id);
            return self.failed(now, Reason::AllInvalid, reason);
        }
        self.end_outage(now);
        let Some(bisect) = self.bisects.get_mut(&id) else { return };
        if bisect.refused(piece, blame.is_some(), accepted) {
            self.reject(now, id, piece, blame.unwrap_or_default(), spool);
            self.shorten(now, id, spool);
        } else if bisect.is_spent() {
            self.park(now, id);
        }
    }

    fn park(&mut self, now: Moment, id: FileId) {
        if let Some(bisect) = self.bisects.get_mut(&id) {
            bisect.park(now.monotonic + MAX_BACKOFF, self.accepted);
        }
    }

    fn reject(&mut self, now: Moment, id: FileId, piece: usize, reason: &str, spool: &mut Spool<impl Disk>) {
        let Some(batch) = spool.read(id) else { return };
        let Some(bisect) = self.bisects.get_mut(&id) else { return };
        let Some(datum) = batch.data.get(bisect.range(piece).start) else { return };
        if bisect.is_blameless() {
            tracing::error!(
                metric = %datum.metric.escape_debug(),
                reason,
                "CloudWatch refuses a datum for good; such data are kept in rejected.jsonl in the state directory"
            );
        }
        bisect.rejected(piece);
        let kept = spool.reject(now.wall, &batch.namespace, datum, reason);
        self.note(kept);
    }

    /// Takes off the disk what needs no further request. If that fails, it is tried again with the next piece.
    pub(super) fn shorten(&mut self, now: Moment, id: FileId, spool: &mut Spool<impl Disk>) {
        let Some(mut batch) = spool.read(id) else { return };
        let Some(bisect) = self.bisects.get_mut(&id) else { return };
        batch.data = bisect.left(&batch.data);
        let rewritten = spool.rewrite(id, &batch);
        if rewritten.is_ok() {
            bisect.rewritten();
        }
        if bisect.is_spent() {
            self.park(now, id);
        }
        self.note(rewritten);
    }
}
