//! The counters of one superblock, and the difference of two readings of them.

use serde::{Deserialize, Serialize};

use crate::mountstats::{OpCounters, Statistics};
use crate::traffic::{Calls, Kind, Times, Traffic};

/// The operations' names as the kernel prints them; an operation is its index here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Names {
    names: Vec<String>,
    /// The operation that was last found at each place of a record: the next record most likely agrees.
    #[serde(skip)]
    places: Vec<u16>,
    /// How many operations the last record used: the next one most likely uses as many.
    #[serde(skip)]
    used: usize,
}

impl Names {
    /// The name of an operation.
    pub fn name(&self, operation: u16) -> &str {
        self.names.get(usize::from(operation)).map_or("", String::as_str)
    }

    fn find(&mut self, place: usize, name: &[u8]) -> u16 {
        if let Some(operation) = self.places.get(place)
            && self.name(*operation).as_bytes() == name
        {
            return *operation;
        }
        let name = String::from_utf8_lossy(name);
        let known = self.names.iter().position(|known| *known == name);
        let operation = known.unwrap_or_else(|| {
            self.names.push(name.into_owned());
            self.names.len() - 1
        });
        let operation = u16::try_from(operation).unwrap_or(u16::MAX);
        if self.places.len() <= place {
            self.places.resize(place + 1, operation);
        }
        if let Some(entry) = self.places.get_mut(place) {
            *entry = operation;
        }
        operation
    }
}

/// What one superblock counted since it was made: operations that are not its server's, and not zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Counters {
    payload_read: u64,
    payload_written: u64,
    operations: Vec<(u16, OpCounters)>,
    /// How many operations the kernel printed, those that were never used too. It prints all that it knows,
    /// so this never changes; where it does, the text was damaged.
    lines: usize,
}

const ZERO: OpCounters = OpCounters {
    requests: 0,
    transmissions: 0,
    timeouts: 0,
    bytes_sent: 0,
    bytes_received: 0,
    queue_ms: 0,
    rtt_ms: 0,
    execute_ms: 0,
    errors: Some(0),
};

fn is_used(counters: &OpCounters) -> bool {
    let OpCounters { requests, transmissions, timeouts, bytes_sent, bytes_received, .. } = *counters;
    let OpCounters { queue_ms, rtt_ms, execute_ms, errors, .. } = *counters;
    let counts = requests | transmissions | timeouts | bytes_sent | bytes_received | errors.unwrap_or(0);
    counts != 0 || queue_ms | rtt_ms | execute_ms != 0
}

impl Counters {
    /// The counters of a reading.
    pub fn of(statistics: &Statistics<'_>, names: &mut Names) -> Counters {
        let mut operations = Vec::with_capacity(names.used);
        for (place, operation) in statistics.operations.iter().enumerate() {
            if is_used(&operation.counters) && Kind::of(operation.name) != Kind::Session {
                operations.push((names.find(place, operation.name), operation.counters));
            }
        }
        names.used = operations.len();
        Counters {
            operations,
            payload_read: statistics.bytes.get(4).copied().unwrap_or(0),
            payload_written: statistics.bytes.get(5).copied().unwrap_or(0),
            lines: statistics.operations.len(),
        }
    }

    /// What the superblock of these counters had counted when it was made: nothing.
    pub fn at_birth(&self) -> Counters {
        Counters { lines: self.lines, ..Counters::default() }
    }

    /// Whether operations are missing that `earlier` was taken with: what they count is not known.
    pub fn lack_lines_of(&self, earlier: &Counters) -> bool {
        self.lines < earlier.lines
    }

    /// What happened since `earlier`; `None` when a counter fell: then it is not the same superblock. Nor is
    /// there a difference when `earlier` was taken without some of the operations.
    pub fn since(&self, earlier: &Counters, names: &Names, by_operation: bool) -> Option<Traffic> {
        if self.lines != earlier.lines {
            return None;
        }
        let mut traffic = Traffic {
            payload_read: self.payload_read.checked_sub(earlier.payload_read)?,
            payload_written: self.payload_written.checked_sub(earlier.payload_written)?,
            ..Traffic::default()
        };
        let mut rest = earlier.operations.as_slice();
        let mut found = 0;
        for (operation, now) in &self.operations {
            let before = match rest {
                [(first, before), tail @ ..] if first == operation => {
                    rest = tail;
                    Some(before)
                }
                _ => {
                    earlier.operations.iter().find(|(known, _)| known == operation).map(|(_, before)| before)
                }
            };
            found += usize::from(before.is_some());
            let before = before.unwrap_or(&ZERO);
            if before == now {
                continue;
            }
            let calls = difference(now, before)?;
            let name = names.name(*operation);
            if let Some(sum) = traffic.calls_mut(Kind::of(name.as_bytes())) {
                sum.add(&calls);
            }
            if by_operation && calls.requests > 0 {
                let sum = traffic.by_operation.entry(name.to_owned()).or_default();
                *sum = sum.saturating_add(calls.requests);
            }
        }
        (found == earlier.operations.len()).then_some(traffic)
    }
}

/// `None` when a counter fell. A sum of times that fell (kernels before 4.19) is left out instead.
fn difference(now: &OpCounters, before: &OpCounters) -> Option<Calls> {
    let requests = now.requests.checked_sub(before.requests)?;
    let transmissions = now.transmissions.checked_sub(before.transmissions)?;
    let times = |now: i64, before: i64| match now.checked_sub(before) {
        Some(ms) if ms >= 0 => Times { ms: ms as u64, requests },
        _ => Times::default(),
    };
    Some(Calls {
        requests,
        retransmissions: transmissions.saturating_sub(requests),
        timeouts: now.timeouts.checked_sub(before.timeouts)?,
        errors: match (now.errors, before.errors) {
            (Some(now), Some(before)) => now.checked_sub(before)?,
            _ => 0,
        },
        bytes_sent: now.bytes_sent.checked_sub(before.bytes_sent)?,
        bytes_received: now.bytes_received.checked_sub(before.bytes_received)?,
        queue: times(now.queue_ms, before.queue_ms),
        rtt: times(now.rtt_ms, before.rtt_ms),
        execute: times(now.execute_ms, before.execute_ms),
    })
}

/// How [`Counters`] are written: an operation is one row of numbers, not a map of names.
#[derive(Serialize, Deserialize)]
struct Stored {
    payload: (u64, u64),
    lines: usize,
    operations: Vec<Row>,
}

/// Operation; requests, transmissions, timeouts, bytes sent and received; queue, rtt, execute; errors.
type Row = (u16, [u64; 5], [i64; 3], Option<u64>);

impl From<Counters> for Stored {
    fn from(counters: Counters) -> Stored {
        let row = |(operation, c): (u16, OpCounters)| {
            let numbers = [c.requests, c.transmissions, c.timeouts, c.bytes_sent, c.bytes_received];
            (operation, numbers, [c.queue_ms, c.rtt_ms, c.execute_ms], c.errors)
        };
        Stored {
            payload: (counters.payload_read, counters.payload_written),
            lines: counters.lines,
            operations: counters.operations.into_iter().map(row).collect(),
        }
    }
}

impl From<Stored> for Counters {
    fn from(stored: Stored) -> Counters {
        let counters = |(operation, numbers, times, errors): Row| {
            let [requests, transmissions, timeouts, bytes_sent, bytes_received] = numbers;
            let [queue_ms, rtt_ms, execute_ms] = times;
            let counters = OpCounters {
                requests,
                transmissions,
                timeouts,
                bytes_sent,
                bytes_received,
                queue_ms,
                rtt_ms,
                execute_ms,
                errors,
            };
            (operation, counters)
        };
        Counters {
            payload_read: stored.payload.0,
            payload_written: stored.payload.1,
            lines: stored.lines,
            operations: stored.operations.into_iter().map(counters).collect(),
        }
    }
}
