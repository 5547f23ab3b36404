//! The search for the data that CloudWatch refuses in a file that it refuses as a whole. Pure.

use std::ops::Range;
use std::time::Duration;

use crate::model::Datum;

/// One search stops after so many requests; what is left of the file waits.
const MAX_REQUESTS: u32 = 64;

/// The file's data in their order on disk, cut into pieces that are sent one by one.
#[derive(Debug)]
pub(super) struct Bisect {
    /// How many requests had been accepted, of all, when the file was first refused.
    began: u64,
    requests: u32,
    pieces: Vec<Piece>,
    parked: Option<Parked>,
    /// Data that went to `rejected.jsonl`.
    rejected: u32,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    length: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// A single datum that was refused when nothing else had been accepted either.
    Stuck,
    /// Accepted or rejected, and perhaps still on disk.
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Parked {
    until: Duration,
    accepted: u64,
}

impl Bisect {
    /// A file of `length` data, refused as a whole, alone or with others, when `accepted` requests had been accepted.
    pub(super) fn new(length: usize, alone: bool, accepted: u64) -> Bisect {
        let pieces = vec![Piece { length, state: State::Open }];
        Bisect { began: accepted, requests: alone.into(), pieces, parked: None, rejected: 0 }
    }

    /// Whether it may go on: when it was parked, only after its time and after another request was accepted.
    pub(super) fn ready(&self, now: Duration, accepted: u64) -> bool {
        self.parked.is_none_or(|parked| now >= parked.until && accepted > parked.accepted)
    }

    /// The next piece to send.
    pub(super) fn take(&mut self) -> Option<usize> {
        if self.parked.take().is_some() {
            self.requests = 0;
            self.reopen();
        }
        let index = self.pieces.iter().position(|piece| piece.state == State::Open)?;
        self.requests += 1;
        Some(index)
    }

    /// Where a piece is in the file.
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        let start = self.pieces.iter().take(index).map(|piece| piece.length).sum();
        start..start + self.pieces.get(index).map_or(0, |piece| piece.length)
    }

    /// A piece was refused; `blame`: for its data, not for its size. True when it is a single datum, and its own fault:
    /// another request was accepted meanwhile.
    pub(super) fn refused(&mut self, index: usize, blame: bool, accepted: u64) -> bool {
        let to_blame = blame && accepted > self.began;
        let Some(piece) = self.pieces.get_mut(index) else { return false };
        if piece.length > 1 {
            let second = Piece { length: piece.length / 2, state: State::Open };
            piece.length -= second.length;
            self.pieces.insert(index + 1, second);
        } else if to_blame {
            return true;
        } else {
            piece.state = State::Stuck;
        }
        false
    }

    /// A piece was accepted: what was refused before it may now be blamed.
    pub(super) fn accepted(&mut self, index: usize) {
        self.done(index);
        self.reopen();
    }

    /// A piece was rejected for good.
    pub(super) fn rejected(&mut self, index: usize) {
        self.done(index);
        self.rejected += 1;
    }

    fn done(&mut self, index: usize) {
        if let Some(piece) = self.pieces.get_mut(index) {
            piece.state = State::Done;
        }
    }

    fn reopen(&mut self) {
        for piece in self.pieces.iter_mut().filter(|piece| piece.state == State::Stuck) {
            piece.state = State::Open;
        }
    }

    /// The data of the file that are still to be sent.
    pub(super) fn left(&self, data: &[Datum]) -> Vec<Datum> {
        let open = (0..self.pieces.len()).filter(|index| self.pieces.get(*index).is_some_and(Piece::is_left));
        open.filter_map(|index| data.get(self.range(index))).flatten().cloned().collect()
    }

    /// The file now holds only what was left.
    pub(super) fn rewritten(&mut self) {
        self.pieces.retain(Piece::is_left);
    }

    /// Whether the search has come to its end without an end.
    pub(super) fn is_spent(&self) -> bool {
        self.requests >= MAX_REQUESTS || self.pieces.iter().all(|piece| piece.state != State::Open)
    }

    /// Whether the file was refused alone, and nothing at all has been accepted since.
    pub(super) fn is_fruitless(&self, accepted: u64) -> bool {
        accepted == self.began && self.requests > 0
    }

    /// Whether nothing has been rejected yet.
    pub(super) fn is_blameless(&self) -> bool {
        self.rejected == 0
    }

    /// Leaves the file alone until then.
    pub(super) fn park(&mut self, until: Duration, accepted: u64) {
        self.parked = Some(Parked { until, accepted });
    }
}

impl Piece {
    fn is_left(&self) -> bool {
        self.state != State::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_first_is_tried_again_once_another_piece_is_accepted() {
        let mut bisect = Bisect::new(3, true, 7);
        assert!(!bisect.refused(0, true, 7));
        assert_eq!((bisect.take(), bisect.range(0), bisect.range(1)), (Some(0), 0..2, 2..3));
        assert!(!bisect.refused(0, true, 7));
        assert_eq!((bisect.take(), bisect.range(0)), (Some(0), 0..1));
        assert!(!bisect.refused(0, true, 7));
        assert_eq!((bisect.take(), bisect.range(1)), (Some(1), 1..2));
        bisect.accepted(1);
        bisect.rewritten();
        assert_eq!((bisect.take(), bisect.range(0)), (Some(0), 0..1));
        assert!(bisect.refused(0, true, 8));
    }

    #[test]
    fn a_parked_search_waits_for_its_time_and_for_an_acceptance() {
        let (early, late) = (Duration::from_secs(9), Duration::from_secs(10));
        let mut bisect = Bisect::new(1, true, 7);
        assert!(bisect.ready(early, 7));
        assert!(!bisect.refused(0, true, 7));
        assert!(bisect.is_spent());
        bisect.park(late, 7);
        assert_eq!(
            (bisect.ready(late, 7), bisect.ready(early, 8), bisect.ready(late, 8)),
            (false, false, true)
        );
        assert_eq!((bisect.take(), bisect.is_spent()), (Some(0), false));
        assert!(bisect.ready(early, 7));
    }

    #[test]
    fn size_is_never_blamed() {
        let mut bisect = Bisect::new(1, true, 7);
        assert!(!bisect.refused(0, false, 8));
        assert!(bisect.is_spent() && bisect.is_blameless());
    }
}
