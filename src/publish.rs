//! What is sent when, and what an answer means for the data. It reads and changes the spool, and does no other I/O:
//! the daemon asks [`Publisher::next`], sends, and hands the answer to [`Publisher::answered`].
//!
//! The newest minute goes first and alone, then what waits, newest to oldest. A clear refusal keeps the data and backs
//! off. An unknown outcome is repeated, and may be counted twice, only for the newest file and once an interval.

mod bisect;
mod faults;
mod order;
mod outage;
#[cfg(test)]
pub(crate) mod logged;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{Batch, Host, Minute, Moment};
use crate::spool::{Disk, Ending, FileId, Spool, SpoolError};
use bisect::Bisect;
use outage::{Outage, Reason};

pub use order::MAX_AHEAD;
pub use verdict::{Refusal, Verdict, verdict};

/// The latest point in a minute that hosts spread over.
const MAX_OFFSET_MS: u32 = 50_000;

/// Between two requests of old data, at best and at worst.
const PACE: Duration = Duration::from_secs(1);
const SLOWEST_PACE: Duration = Duration::from_secs(64);

/// Takes requests: CloudWatch, or a test's double of it.
#[expect(async_fn_in_trait, reason = "one thread: no caller needs the future to be Send")]
pub trait Sink {
    /// Sends one request; `Ok` only when CloudWatch said that it has the data.
    async fn put(&self, batch: &Batch) -> Result<(), Failure>;
}

/// Why a request was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// CloudWatch's name for the error (PutMetricData, Errors), when the answer had one.
    pub code: Option<String>,
    /// One line for a person: what happened. What to do about it is [`Refusal::remedy`]'s.
    pub message: String,
    /// There was no answer, and the request may have reached CloudWatch. Never together with a status.
    pub may_have_left: bool,
}

/// What to do now.
#[derive(Debug)]
pub enum Step {
    /// Nothing until the next commit.
    Idle,
    /// Nothing until this moment (monotonic) or the next commit.
    WaitUntil(Duration),
    /// Send this, and hand the answer to [`Publisher::answered`] before asking again. A request that is broken off has
    /// an unknown outcome and must be answered so.
    Send(Request),
}

/// A request, with the host's id filled in.
#[derive(Debug)]
pub struct Request {
    pub batch: Batch,
    source: Source,
    /// Monotonic.
    sent: Duration,
}

/// Where the data of a request are on disk.
#[derive(Debug)]
enum Source {
    Files(Vec<FileId>),
    Piece(FileId, usize),
}

/// The publisher for `status.json`; what was rejected or lost is in the spool's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub state: State,
    /// Seconds since 1970.
    pub last_success: Option<u64>,
    pub last_failure: Option<LastFailure>,
    /// Requests that CloudWatch may have got twice or not at all, since the process started.
    pub unknown_outcomes: u64,
}

/// How it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// Refused: trying again at growing intervals.
    Backoff,
    /// No answer was understood: trying the newest file once an interval.
    Unknown,
}

/// The latest failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    /// Seconds since 1970.
    pub time: u64,
    /// What to do, if that is known, and what happened.
    pub message: String,
}

/// Decides what is sent when. At most one request is under way.
#[derive(Debug)]
pub struct Publisher {
    interval: Duration,
    offset: Duration,
    rng: fastrand::Rng,
    /// The newest minute that went out by itself; what is older is backlog.
    led: Minute,
    /// Files that were refused as they were.
    bisects: BTreeMap<FileId, Bisect>,
    /// Requests, since the process started.
    accepted: u64,
    outage: Option<Outage>,
    /// Monotonic, like all that follow: nothing goes out before.
    not_before: Duration,
    /// No old data go out before.
    backlog_not_before: Duration,
    pace: Duration,
    announced: Option<Duration>,
    shutdown: Option<Shutdown>,
    disk_failing: bool,
    unattributable: bool,
    last_success: Option<Duration>,
    last_failure: Option<LastFailure>,
    unknown_outcomes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shutdown {
    Draining,
    /// A request failed: what is left goes out after the next start.
    GaveUp,
}

impl Publisher {
    /// `identity` (any name that only this host has) places this host within the minute; `interval` is a multiple of 60 s.
    pub fn new(identity: &str, interval: Duration, rng: fastrand::Rng) -> Publisher {
        let offset = crc32fast::hash(identity.as_bytes()) % (MAX_OFFSET_MS + 1);
        Publisher {
            interval: interval.max(Duration::from_secs(60)),
            offset: Duration::from_millis(offset.into()),
            rng,
            led: Minute::of(Duration::ZERO),
            bisects: BTreeMap::new(),
            accepted: 0,
            outage: None,
            not_before: Duration::ZERO,
            backlog_not_before: Duration::ZERO,
            pace: PACE,
            announced: None,
            shutdown: None,
            disk_failing: false,
            unattributable: false,
            last_success: None,
            last_failure: None,
            unknown_outcomes: 0,
        }
    }

    /// What to do now.
    pub fn next(&mut self, now: Moment, spool: &mut Spool<impl Disk>, host: &Host) -> Step {
        self.bisects.retain(|id, _| spool.entry(*id).is_some());
        if *host == Host::Unknown {
            self.drop_unattributable(spool);
        }
        if self.shutdown == Some(Shutdown::GaveUp) {
            return Step::Idle;
        }
        if now.monotonic < self.not_before {
            return Step::WaitUntil(self.not_before);
        }
        loop {
            let source = match self.choose(now, spool, host) {
                Ok(source) => source,
                Err(step) => return step,
            };
            // A damaged file has left the spool: another choice.
            if let Some(request) = self.request(source, now, spool, host) {
                return Step::Send(request);
            }
        }
    }

    /// Draws the consequences of an answer.
    pub fn answered(
        &mut self,
        now: Moment,
        request: Request,
        answer: &Result<(), Failure>,
        spool: &mut Spool<impl Disk>,
    ) {
        let message = answer.as_ref().err().map_or("", |failure| failure.message.as_str());
        let verdict = verdict(answer);
        if answer.is_err() {
            let message = match verdict.remedy() {
                Some(remedy) => format!("{remedy}: {message}"),
                None => message.to_owned(),
            };
            self.last_failure = Some(LastFailure { time: now.wall.as_secs(), message });
        }
        match verdict {
            Verdict::Accepted => {
                self.succeeded(now);
                match request.source {
                    Source::Files(files) => self.note(spool.finish(&files, Ending::Acknowledged)),
                    Source::Piece(id, piece) => {
                        if let Some(bisect) = self.bisects.get_mut(&id) {
                            bisect.accepted(piece);
                        }
                        self.shorten(now, id, spool);
                    }
                }
                self.note(spool.expire(now.wall));
            }
            Verdict::Invalid => self.faulted(now, request.source, Some(message), spool),
            Verdict::TooLarge => self.faulted(now, request.source, None, spool),
            Verdict::Refused(refusal) => {
                if refusal == Refusal::Throttled {
                    self.pace = (self.pace * 2).min(SLOWEST_PACE);
                }
                self.failed(now, Reason::Refused(refusal), message);
            }
            Verdict::Unknown => {
                self.unknown_outcomes += 1;
                self.failed(now, Reason::Unknown, message);
                self.not_before = request.sent + self.interval;
            }
        }
    }

    /// From now on nothing waits for its place in the minute or for the end of a backoff, until a request fails.
    pub fn begin_shutdown(&mut self) {
        if self.shutdown.is_some() {
            return;
        }
        self.shutdown = Some(match self.state() {
            State::Ok | State::Backoff => Shutdown::Draining,
            // Nothing is worth counting it twice.
            State::Unknown => Shutdown::GaveUp,
        });
        self.not_before = Duration::ZERO;
    }

    /// How it goes.
    pub fn standing(&self) -> Standing {
        Standing {
            state: self.state(),
            last_success: self.last_success.map(|wall| wall.as_secs()),
            last_failure: self.last_failure.clone(),
            unknown_outcomes: self.unknown_outcomes,
        }
    }

    fn state(&self) -> State {
        match self.outage.map(|outage| outage.reason) {
            None => State::Ok,
            Some(Reason::Refused(_) | Reason::AllInvalid) => State::Backoff,
            Some(Reason::Unknown) => State::Unknown,
        }
    }

    fn succeeded(&mut self, now: Moment) {
        self.accepted += 1;
        self.last_success = Some(now.wall);
        self.pace = (self.pace - self.pace / 8).max(PACE);
        self.end_outage(now);
    }

    fn end_outage(&mut self, now: Moment) {
        self.not_before = Duration::ZERO;
        if let Some(outage) = self.outage.take() {
            outage.over(now.monotonic);
            // A fleet that comes back together does not empty its spools together.
            let spread = Duration::from_secs(60).mul_f64(self.rng.f64());
            self.backlog_not_before = now.monotonic + spread;
        }
    }

    fn failed(&mut self, now: Moment, reason: Reason, message: &str) {
        let outage = self.outage.get_or_insert_with(|| Outage::new(now.monotonic, reason));
        self.not_before = now.monotonic + outage.failed(reason, &mut self.rng);
        outage.announce(now.monotonic, &mut self.announced, message);
        if self.shutdown.is_some() {
            self.shutdown = Some(Shutdown::GaveUp);
        }
    }

    fn drop_unattributable(&mut self, spool: &mut Spool<impl Disk>) {
        let waiting: Vec<FileId> =
            spool.files().filter(|(_, entry)| entry.needs_host).map(|(id, _)| id).collect();
        if waiting.is_empty() {
            return;
        }
        if !self.unattributable {
            self.unattributable = true;
            tracing::error!(
                requests = waiting.len(),
                "this host's id was not found; the figures per host are lost until host.id is set"
            );
        }
        let removed = spool.finish(&waiting, Ending::Unattributable);
        self.note(removed);
    }

    /// The spool could, or could not, be changed as it should.
    fn note(&mut self, result: Result<(), SpoolError>) {
        match result {
            Err(error) if !self.disk_failing => {
                self.disk_failing = true;
                tracing::warn!(%error, "the spool cannot be changed; a restart would send some data again");
            }
            Ok(()) if self.disk_failing => {
                self.disk_failing = false;
                tracing::info!("the spool can be changed again");
            }
            Ok(()) | Err(_) => {}
        }
    }
}
