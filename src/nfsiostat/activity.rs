//! What each mount did between two readings, or since it was mounted: differences that hold.

use std::collections::HashMap;

use crate::efs::{Answer, Lookups, MountName, identify};
use crate::model::FileSystemId;
use crate::mountstats::{OpCounters, Operation, Operations, Parsed, Record, Statistics};
use crate::traffic::Kind;

/// Seconds by which an age may seem to lag: the kernel prints whole ones.
const AGE_SLACK_SECONDS: f64 = 2.0;

/// The reading before.
#[derive(Clone, Copy, Debug)]
pub struct Earlier<'a> {
    pub parsed: &'a Parsed<'a>,
    /// How long before (CLOCK_MONOTONIC). `None` when nobody knows: then each mount's age tells.
    pub elapsed_seconds: Option<f64>,
}

/// What the counters of an [`Activity`] are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The reading before.
    Reading,
    /// The mount's birth, after the reading before: everything that it ever did.
    Birth,
    /// The mount's birth, before any reading that it can be compared with.
    Mount,
}

impl Since {
    /// `reading`, `birth` or `mount`: its name in JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Since::Reading => "reading",
            Since::Birth => "birth",
            Since::Mount => "mount",
        }
    }
}

/// What one mount did.
#[derive(Clone, Debug)]
pub struct Activity<'a> {
    pub mount: &'a Record<'a>,
    /// Where the device, or what was looked up, tells.
    pub file_system_id: Option<FileSystemId>,
    /// The mount point (as printed) of an earlier mount of the same superblock: the same figures again.
    pub same_as: Option<&'a [u8]>,
    pub since: Since,
    /// The time that the counters are of; a mount younger than a second counts as a second old.
    pub seconds: f64,
    /// Every operation that the kernel printed, in its order.
    pub operations: Vec<Operation<'a>>,
    /// As [`Statistics::events`].
    pub events: Vec<u64>,
    /// As [`Statistics::bytes`].
    pub bytes: Vec<u64>,
    pub connections: Connections,
}

/// A mount's connections to its server, summed. Other mounts of that server may share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    pub count: usize,
    /// What they did since the reading before; `None` without one, or when a connection was replaced:
    /// they may be older than the mount.
    pub since: Option<ConnectionCounters>,
}

/// Sums over connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionCounters {
    pub sends: u64,
    pub receives: u64,
    /// Sum over sends of the number of requests that waited for an RPC slot.
    pub backlog: u64,
}

/// Every NFS mount of a text, in its order.
pub fn since<'a>(
    new: &'a Parsed<'a>,
    earlier: Option<Earlier<'a>>,
    lookups: Lookups<'_>,
) -> Vec<Activity<'a>> {
    let mut before = Before::of(earlier);
    let activity = |record: &'a Record<'a>| {
        let now = record.statistics.as_ref()?;
        let mut activity = between(record, now, before.of_the_same(record), earlier);
        activity.file_system_id = file_system_id(record, now, lookups);
        Some(activity)
    };
    new.records.iter().filter_map(activity).collect()
}

fn between<'a>(
    mount: &'a Record<'a>,
    now: &'a Statistics<'a>,
    before: Option<&Statistics<'a>>,
    earlier: Option<Earlier<'a>>,
) -> Activity<'a> {
    let elapsed = earlier.and_then(|earlier| earlier.elapsed_seconds);
    let age = now.age_seconds as f64;
    let operations = last_of_each(&now.operations);
    let difference = before.and_then(|before| {
        let grown = now.age_seconds.checked_sub(before.age_seconds)? as f64;
        let same = elapsed.is_none_or(|elapsed| grown + AGE_SLACK_SECONDS >= elapsed);
        let seconds = elapsed.unwrap_or(grown.max(1.0));
        same.then_some(())?;
        Some((
            seconds,
            operations_since(&operations, &last_of_each(&before.operations))?,
            counts_since(&now.events, &before.events)?,
            counts_since(&now.bytes, &before.bytes)?,
        ))
    });
    let born = elapsed.is_some_and(|elapsed| age <= elapsed);
    let since = match difference {
        Some(_) => Since::Reading,
        None if born => Since::Birth,
        None => Since::Mount,
    };
    let connections = Connections {
        count: now.transports.len(),
        since: before.filter(|_| since == Since::Reading).and_then(|before| connections_since(now, before)),
    };
    let (seconds, operations, events, bytes) =
        difference.unwrap_or_else(|| (age.max(1.0), operations, now.events.to_vec(), now.bytes.to_vec()));
    Activity {
        mount,
        file_system_id: None,
        same_as: None,
        since,
        seconds,
        operations,
        events,
        bytes,
        connections,
    }
}

/// The mounts of the reading before. The n-th of a mount point, device and type is the n-th of the next.
struct Before<'a> {
    mounts: HashMap<Key<'a>, Vec<&'a Statistics<'a>>>,
    seen: HashMap<Key<'a>, usize>,
}

type Key<'a> = (&'a [u8], Option<&'a [u8]>, &'a [u8]);

fn key<'a>(record: &Record<'a>) -> Key<'a> {
    (record.mount_point, record.device, record.fs_type)
}

impl<'a> Before<'a> {
    fn of(earlier: Option<Earlier<'a>>) -> Self {
        let mut mounts: HashMap<_, Vec<_>> = HashMap::new();
        for record in earlier.iter().flat_map(|earlier| &earlier.parsed.records) {
            if let Some(statistics) = &record.statistics {
                mounts.entry(key(record)).or_default().push(statistics);
            }
        }
        Before { mounts, seen: HashMap::new() }
    }

    fn of_the_same(&mut self, record: &Record<'a>) -> Option<&'a Statistics<'a>> {
        let seen = self.seen.entry(key(record)).or_default();
        let index = *seen;
        *seen += 1;
        self.mounts.get(&key(record))?.get(index).copied()
    }
}

/// Of two lines of one operation the last counts, as nfsiostat has it; no kernel is known to print two.
fn last_of_each<'a>(operations: &Operations<'a>) -> Vec<Operation<'a>> {
    let all: Vec<_> = operations.iter().collect();
    let is_last = |(index, operation): &(usize, &Operation<'_>)| {
        !all.iter().skip(index + 1).any(|later| later.name == operation.name)
    };
    all.iter().enumerate().filter(is_last).map(|(_, operation)| *operation).collect()
}

/// `None` when a counter fell: then it is another mount's.
fn operations_since<'a>(now: &[Operation<'a>], before: &[Operation<'a>]) -> Option<Vec<Operation<'a>>> {
    let mut differences = Vec::with_capacity(now.len());
    for (index, operation) in now.iter().enumerate() {
        // The kernel keeps its order, so this is nearly always the first look.
        let named = |before: &&Operation<'_>| before.name == operation.name;
        let before = before.get(index).filter(named).or_else(|| before.iter().find(named));
        let counters = match before {
            Some(before) => counters_since(&operation.counters, &before.counters)?,
            None => operation.counters,
        };
        differences.push(Operation { name: operation.name, counters });
    }
    Some(differences)
}

/// Times are left out of the judgement: before Linux 4.19 they may fall.
fn counters_since(now: &OpCounters, before: &OpCounters) -> Option<OpCounters> {
    Some(OpCounters {
        requests: now.requests.checked_sub(before.requests)?,
        transmissions: now.transmissions.checked_sub(before.transmissions)?,
        timeouts: now.timeouts.checked_sub(before.timeouts)?,
        bytes_sent: now.bytes_sent.checked_sub(before.bytes_sent)?,
        bytes_received: now.bytes_received.checked_sub(before.bytes_received)?,
        queue_ms: now.queue_ms.wrapping_sub(before.queue_ms),
        rtt_ms: now.rtt_ms.wrapping_sub(before.rtt_ms),
        execute_ms: now.execute_ms.wrapping_sub(before.execute_ms),
        errors: match (now.errors, before.errors) {
            (Some(now), Some(before)) => Some(now.checked_sub(before)?),
            _ => None,
        },
    })
}

fn counts_since(now: &[u64], before: &[u64]) -> Option<Vec<u64>> {
    let mut before = before.iter();
    now.iter().map(|now| now.checked_sub(before.next().copied().unwrap_or(0))).collect()
}

fn connections_since(now: &Statistics<'_>, before: &Statistics<'_>) -> Option<ConnectionCounters> {
    let total = |statistics: &Statistics<'_>| {
        let none = ConnectionCounters { sends: 0, receives: 0, backlog: 0 };
        statistics.transports.iter().try_fold(none, |sum, transport| {
            Some(ConnectionCounters {
                sends: sum.sends.saturating_add(transport.sends()?),
                receives: sum.receives.saturating_add(transport.receives()?),
                backlog: sum.backlog.saturating_add(transport.backlog()?),
            })
        })
    };
    let (now, before) = (total(now)?, total(before)?);
    Some(ConnectionCounters {
        sends: now.sends.checked_sub(before.sends)?,
        receives: now.receives.checked_sub(before.receives)?,
        backlog: now.backlog.checked_sub(before.backlog)?,
    })
}

impl Activity<'_> {
    /// The sum over the operations of a kind; `errors` is `None` only if no operation has it.
    pub fn total(&self, kind: Kind) -> OpCounters {
        self.sum(|name| Kind::of(name) == kind)
    }

    /// One operation; `None` if the kernel does not print it.
    pub fn operation(&self, name: &[u8]) -> Option<OpCounters> {
        let known = self.operations.iter().any(|operation| operation.name == name);
        known.then(|| self.sum(|other| other == name))
    }

    /// The mount's own requests: all but the upkeep of the session, which its server's mounts share.
    pub fn requests(&self) -> u64 {
        self.sum(|name| Kind::of(name) != Kind::Session).requests
    }

    /// [`Self::requests`] a second.
    pub fn requests_per_second(&self) -> f64 {
        self.requests() as f64 / self.seconds
    }

    fn sum(&self, wanted: impl Fn(&[u8]) -> bool) -> OpCounters {
        let wanted = self.operations.iter().filter(|operation| wanted(operation.name));
        wanted.fold(OpCounters::default(), |sum, operation| added(sum, &operation.counters))
    }
}

fn added(sum: OpCounters, more: &OpCounters) -> OpCounters {
    OpCounters {
        requests: sum.requests.saturating_add(more.requests),
        transmissions: sum.transmissions.saturating_add(more.transmissions),
        timeouts: sum.timeouts.saturating_add(more.timeouts),
        bytes_sent: sum.bytes_sent.saturating_add(more.bytes_sent),
        bytes_received: sum.bytes_received.saturating_add(more.bytes_received),
        queue_ms: sum.queue_ms.saturating_add(more.queue_ms),
        rtt_ms: sum.rtt_ms.saturating_add(more.rtt_ms),
        execute_ms: sum.execute_ms.saturating_add(more.execute_ms),
        errors: match (sum.errors, more.errors) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            (sum, more) => sum.or(more),
        },
    }
}

fn file_system_id(mount: &Record<'_>, now: &Statistics<'_>, lookups: Lookups<'_>) -> Option<FileSystemId> {
    let (device, mount_point, options) = (mount.device?, mount.mount_point, now.options);
    let name = MountName { device, mount_point, options, ..MountName::default() };
    match identify(name, lookups) {
        Answer::Efs(identity) => Some(identity.file_system),
        _ => None,
    }
}
