//! Which mounts' servers do not answer, told by the counters alone.
//!
//! A mount whose server is gone looks idle: an operation counts when it ends, and it does not end. What tells is
//! that the kernel goes on trying: it sends requests or makes connections, and no reply comes. Connections
//! belong to a server, so all its mounts that share them stall together.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use crate::model::Moment;
use crate::mountinfo::DeviceNumber;
use crate::mountstats::{Statistics, Transport};
use crate::sampler::can_be_the_same;
use crate::sampler::join::Seen;

/// How long a superblock is remembered that no reading shows: mounts may be missing from one under churn.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The stalled mounts of the last reading.
#[derive(Debug, Default)]
pub struct Stalls {
    known: HashMap<DeviceNumber, Followed>,
}

/// A superblock whose server does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// CLOCK_MONOTONIC from which on requests have waited, at the least.
    pub since: Duration,
    /// How long that is, to the nearest second.
    pub waited: Duration,
    /// Requests that were sent since the last reply, repetitions and those of other mounts of the server included.
    pub sends: u64,
    /// Connections that were made or tried since.
    pub connects: u64,
}

#[derive(Debug)]
struct Followed {
    /// The last reading that showed it.
    seen: Moment,
    age: Duration,
    totals: Totals,
    /// The last reading that showed a reply, or the first one.
    answered: Totals,
    answered_at: Moment,
    /// CLOCK_MONOTONIC from which on something is known to wait for a reply.
    asked_at: Option<Duration>,
    stall: Option<Stall>,
}

impl Stalls {
    /// Takes in a reading. A mount is stalled once a request of its server client has waited for `stall_after` and no
    /// reply came to any: the time is counted from the reading that shows the request, or from the last
    /// reply when it was sent before that. So a quiet mount that begins to work, or one whose requests were lost
    /// long ago, is none.
    pub fn observe(&mut self, moment: Moment, seen: &Seen<'_>, stall_after: Duration) {
        for superblock in &seen.superblocks {
            let age = Duration::from_secs(superblock.statistics.age_seconds);
            let Some(totals) = Totals::of(superblock.statistics) else {
                self.known.remove(&superblock.number);
                continue;
            };
            let new = || Followed::new(moment, age, totals);
            let followed = self.known.entry(superblock.number).or_insert_with(new);
            match followed.goes_on(moment, age, totals) {
                Some(since) if since.replies == 0 => followed.no_reply(since, stall_after),
                _ => *followed = new(),
            }
        }
        self.known.retain(|_, followed| {
            let missed = moment.monotonic.saturating_sub(followed.seen.monotonic);
            if !missed.is_zero() {
                followed.stall = None;
            }
            missed < FORGET_AFTER
        });
    }

    /// Whether the superblock was stalled at the last reading, and how.
    pub fn stalled(&self, number: DeviceNumber) -> Option<&Stall> {
        self.known.get(&number)?.stall.as_ref()
    }
}

impl Followed {
    fn new(moment: Moment, age: Duration, totals: Totals) -> Followed {
        Followed {
            seen: moment,
            age,
            totals,
            answered: totals,
            answered_at: moment,
            asked_at: None,
            stall: None,
        }
    }

    /// What happened since the last reply; `None` when this is another superblock, or its transports are others.
    fn goes_on(&mut self, moment: Moment, age: Duration, totals: Totals) -> Option<Totals> {
        let elapsed = moment.monotonic.saturating_sub(self.seen.monotonic);
        if !can_be_the_same(self.age, elapsed, age) {
            return None;
        }
        totals.since(&self.totals)?;
        (self.seen, self.age, self.totals) = (moment, age, totals);
        totals.since(&self.answered)
    }

    /// `since`: what happened since the last reply.
    fn no_reply(&mut self, since: Totals, stall_after: Duration) {
        let now = self.seen.monotonic;
        if since.sends > 0 || since.connects > 0 {
            self.asked_at.get_or_insert(now);
        }
        if since.proves_older_requests() {
            self.asked_at = Some(self.answered_at.monotonic);
        }
        // Readings come at their time within milliseconds: by whole seconds, the one that is due tells.
        let waited = |asked_at| Duration::from_secs_f64(now.saturating_sub(asked_at).as_secs_f64().round());
        let stall = self.asked_at.map(|asked_at| Stall {
            since: asked_at,
            waited: waited(asked_at),
            sends: since.sends,
            connects: since.connects,
        });
        self.stall = stall.filter(|stall| stall.waited >= stall_after);
    }
}

/// The counters of all transports of a superblock together.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    transports: usize,
    sends: u64,
    replies: u64,
    connects: u64,
    /// `None` where the kernel does not count it.
    pending: Option<u64>,
}

impl Totals {
    /// `None` without a transport, or with one that this version does not know: nothing can be told then.
    fn of(statistics: &Statistics<'_>) -> Option<Totals> {
        let none = Totals { pending: Some(0), ..Totals::default() };
        let totals = statistics.transports.iter().try_fold(none, |sum, transport| sum.and(transport))?;
        (totals.transports > 0).then_some(totals)
    }

    fn and(self, transport: &Transport<'_>) -> Option<Totals> {
        // A reply that came too late for its request shows that the server lives.
        let replies = transport.receives()?.saturating_add(transport.unmatched()?);
        Some(Totals {
            transports: self.transports + 1,
            sends: self.sends.saturating_add(transport.sends()?),
            replies: self.replies.saturating_add(replies),
            connects: self.connects.saturating_add(transport.connects()?),
            pending: self.pending.zip(transport.pending()).map(|(sum, pending)| sum.saturating_add(pending)),
        })
    }

    /// `None` when a counter fell or the transports are not as many: then they are others.
    fn since(&self, earlier: &Totals) -> Option<Totals> {
        if self.transports != earlier.transports {
            return None;
        }
        let pending = match (self.pending, earlier.pending) {
            (Some(now), Some(before)) => Some(now.checked_sub(before)?),
            _ => None,
        };
        Some(Totals {
            transports: self.transports,
            sends: self.sends.checked_sub(earlier.sends)?,
            replies: self.replies.checked_sub(earlier.replies)?,
            connects: self.connects.checked_sub(earlier.connects)?,
            pending,
        })
    }

    /// Whether requests from before these sends are waiting as well. At each send the kernel adds up how many wait
    /// for their reply (`net/sunrpc/xprt.c`, `pending_u`); with no reply in between, n sends alone make at most
    /// 0 + 1 + .. + n, if each counts itself as well. But requests that wait for a connection stand in the same queue
    /// (`xprt_connect`), and those may be as young as the sends.
    fn proves_older_requests(&self) -> bool {
        let own = u128::from(self.sends) * (u128::from(self.sends) + 1) / 2;
        self.connects == 0 && self.pending.is_some_and(|pending| u128::from(pending) > own)
    }
}

/// Why the mount counts as stalled: `no reply for 34 s, while 3 requests were sent and 2 connections tried`.
impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |number: u64, noun: &str, verb: bool| {
            let plural = if number == 1 { "" } else { "s" };
            let were = if number == 1 { " was" } else { " were" };
            format!("{number} {noun}{plural}{}", if verb { were } else { "" })
        };
        write!(f, "no reply for {} s, while ", self.waited.as_secs())?;
        match (self.sends, self.connects) {
            (sends, 0) => write!(f, "{} sent", count(sends, "request", true)),
            (0, connects) => write!(f, "{} tried", count(connects, "connection", true)),
            (sends, connects) => {
                let connects = count(connects, "connection", false);
                write!(f, "{} sent and {connects} tried", count(sends, "request", true))
            }
        }
    }
}
