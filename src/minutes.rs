//! Intervals become minutes, and minutes become data. Pure.
//!
//! - An interval ends at the wall time of its later reading and starts its elapsed time before that. Either
//!   end, when within 1 s of a multiple of the sample interval, is taken to be there.
//! - An interval that crosses minutes is cut in proportion to time, each counter by largest remainder, so
//!   that the parts add up exactly.
//! - All mounts of one file system are one: counters add, a rate is all bytes of a sample over its time, a
//!   latency all milliseconds over all requests.
//! - A **window** is the time between two readings, cut at minutes: rates and latencies are one value for each;
//!   one of less than half a second has no rate.
//!   An interval that spans several windows is shared among them. Readings more than a minute apart leave a
//!   gap, not a window: bytes and counts are spread over it, rates and latencies are not.
//! - A minute closes at the first reading at or after its end. What arrives for a closed minute is a late
//!   piece: totals only, a second datum with the same timestamp.
//! - Timestamps are the start of the minute, so that a minute here lies under the same minute of AWS/EFS.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::OwnFigures;
use crate::model::{Datum, FileSystemId, Minute, Moment};
use crate::sampler::Interval;
use crate::traffic::Traffic;

mod data;
mod series;
mod span;

pub use series::{Dropped, SeriesLimit};
use span::{Span, minute_ended_by, overlap, snap};

/// Readings further apart leave a gap.
const GAP: Duration = Duration::from_secs(60);
/// An interval longer than this is not counted: figures of a day ago belong to nobody's dashboard.
pub const LONGEST_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// A clock that went back further than this was wrong before: what it closed does not count.
const CLOCK_WAS_WRONG: Duration = Duration::from_secs(120);

/// The minutes that are not closed yet. Serialised with the sampler, it is what a restart goes on from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Minutes {
    /// The last reading.
    last: Option<Moment>,
    open: BTreeMap<Minute, Open>,
    late: BTreeMap<Minute, BTreeMap<FileSystemId, Traffic>>,
    closed_through: Option<Minute>,
    /// The last minute whose `Hosts` is on its way, and the file systems whose `Clients` of it are: each is
    /// said once, also of a minute that is closed early and goes on after a restart.
    announced: Option<Minute>,
    announced_clients: BTreeSet<FileSystemId>,
    /// RPC bytes of reads and writes that no minute will hold: their interval was longer than a day.
    unpublished_bytes: u64,
}

/// One minute, as far as it has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Open {
    /// Whether a reading was taken in it.
    observed: bool,
    windows: Vec<Window>,
    file_systems: BTreeMap<FileSystemId, Account>,
}

/// The time between two readings, or its part in one minute.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Window {
    span: Span,
    /// CLOCK_MONOTONIC seconds: rates are per these.
    seconds: f64,
}

/// What one file system did in a minute.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Account {
    /// Whether the minute's own reading showed it.
    shown: bool,
    total: Traffic,
    /// The share of each window, by its place in [`Open::windows`].
    windows: BTreeMap<usize, Traffic>,
}

/// A minute that is ready to be published.
struct Closed {
    minute: Minute,
    open: Open,
    /// Whether `Hosts` is still to be said, and of which file systems `Clients`.
    announce: bool,
    clients: BTreeSet<FileSystemId>,
}

impl Minutes {
    /// Takes in a reading: the intervals that end with it, each with the file system that it is of.
    pub fn observe<'a>(
        &mut self,
        moment: Moment,
        grid: Duration,
        intervals: impl IntoIterator<Item = (&'a FileSystemId, &'a Interval)>,
    ) {
        self.forgive_the_clock(moment.wall);
        let last = self.last.replace(moment);
        let elapsed = last.map(|last| moment.monotonic.saturating_sub(last.monotonic));
        // A reading that follows another ends a minute; one that does not begins it.
        let mut minute = Minute::of(moment.wall);
        if let Some(elapsed) = elapsed.filter(|elapsed| *elapsed <= GAP) {
            minute = minute_ended_by(snap(moment.wall, grid));
            if !elapsed.is_zero() {
                self.add_windows(Span::before(moment.wall, elapsed, grid), elapsed);
            }
        }
        if !self.is_closed(minute) {
            self.open.entry(minute).or_default().observed = true;
        }
        for (file_system, interval) in intervals {
            self.add(file_system, interval, grid);
            if let Some(account) =
                self.open.get_mut(&minute).and_then(|open| open.file_systems.get_mut(file_system))
            {
                account.shown = true;
            }
        }
    }

    /// What another boot can go on from: what was counted and said, but not the time since then.
    pub fn of_another_boot(self) -> Minutes {
        Minutes { last: None, ..self }
    }

    /// When the last reading was taken.
    pub fn last(&self) -> Option<Moment> {
        self.last
    }

    /// Closes the minutes that end at or before the last reading and returns their data, late pieces first.
    pub fn close(&mut self, grid: Duration, own: &OwnFigures, limit: &mut SeriesLimit) -> Vec<Datum> {
        let Some(last) = self.last else { return Vec::new() };
        let end = snap(last.wall, grid);
        let due: Vec<Minute> = self.open.keys().copied().filter(|minute| minute.end() <= end).collect();
        if due.is_empty() {
            return Vec::new();
        }
        self.closed_through = self.closed_through.max(due.last().copied());
        self.take(due, own, limit)
    }

    /// Closes every minute, the current one before its end: what comes after is a second datum of it.
    pub fn close_early(&mut self, own: &OwnFigures, limit: &mut SeriesLimit) -> Vec<Datum> {
        let due = self.open.keys().copied().collect();
        self.take(due, own, limit)
    }

    /// RPC bytes of reads and writes that were not published: their interval was longer than a day.
    pub fn unpublished_bytes(&self) -> u64 {
        self.unpublished_bytes
    }

    fn take(&mut self, due: Vec<Minute>, own: &OwnFigures, limit: &mut SeriesLimit) -> Vec<Datum> {
        let mut closed = Vec::with_capacity(due.len());
        for minute in due {
            let Some(open) = self.open.remove(&minute) else { continue };
            let announce = open.observed && self.announced < Some(minute);
            if announce {
                self.announced = Some(minute);
                self.announced_clients.clear();
            }
            let clients = match open.observed && self.announced == Some(minute) {
                true => open
                    .mounted()
                    .filter(|id| self.announced_clients.insert((*id).clone()))
                    .cloned()
                    .collect(),
                false => BTreeSet::new(),
            };
            closed.push(Closed { minute, open, announce, clients });
        }
        limit.choose(&closed, &self.late);
        let late = std::mem::take(&mut self.late);
        let mut data = data::of_late_pieces(&late, limit);
        let mut own = Some(own);
        for closed in closed.iter().rev() {
            // What the host says of itself is of the newest minute that it was awake in.
            let own = if closed.open.observed { own.take() } else { None };
            data.extend(data::of_minute(closed, own, limit));
        }
        data
    }

    fn add_windows(&mut self, span: Span, elapsed: Duration) {
        let whole = span.length().as_secs_f64();
        for (minute, part) in span.by_minute() {
            if self.is_closed(minute) {
                continue;
            }
            let share = if whole > 0.0 { part.length().as_secs_f64() / whole } else { 1.0 };
            let window = Window { span: part, seconds: elapsed.as_secs_f64() * share };
            self.open.entry(minute).or_default().windows.push(window);
        }
    }

    fn add(&mut self, file_system: &FileSystemId, interval: &Interval, grid: Duration) {
        if interval.elapsed > LONGEST_INTERVAL {
            let bytes = interval.traffic.read.bytes().saturating_add(interval.traffic.write.bytes());
            self.unpublished_bytes = self.unpublished_bytes.saturating_add(bytes);
            return;
        }
        let span = Span::before(interval.end.wall, interval.elapsed, grid);
        let parts = span.by_minute();
        let weights: Vec<u128> = parts.iter().map(|(_, part)| part.length().as_nanos()).collect();
        let split = if parts.len() > 1 { interval.traffic.split(&weights) } else { Vec::new() };
        let traffic = if parts.len() > 1 { &split } else { std::slice::from_ref(&interval.traffic) };
        for ((minute, part), traffic) in parts.into_iter().zip(traffic) {
            match self.is_closed(minute) {
                true => {
                    self.late.entry(minute).or_default().entry(file_system.clone()).or_default().add(traffic)
                }
                false => self.open.entry(minute).or_default().add(file_system, part, traffic),
            }
        }
    }

    fn is_closed(&self, minute: Minute) -> bool {
        self.closed_through.is_some_and(|through| minute <= through)
    }

    /// A clock that was ahead and was set right: the minutes that it dated are closed no more, and what was
    /// counted for minutes that are still to come is of the present one.
    fn forgive_the_clock(&mut self, now: Duration) {
        let latest = Minute::of(now + CLOCK_WAS_WRONG);
        self.closed_through.take_if(|minute| *minute > latest);
        if self.announced.take_if(|minute| *minute > latest).is_some() {
            self.announced_clients.clear();
        }
        let ahead = self.open.split_off(&latest.next());
        for (file_system, account) in ahead.into_values().flat_map(|open| open.file_systems) {
            let present = self.open.entry(Minute::of(now)).or_default();
            present.file_systems.entry(file_system).or_default().total.add(&account.total);
        }
    }
}

impl Open {
    /// The file systems that were mounted while readings were taken.
    fn mounted(&self) -> impl Iterator<Item = &FileSystemId> {
        self.file_systems.iter().filter(|(_, account)| account.mounted()).map(|(id, _)| id)
    }

    fn add(&mut self, file_system: &FileSystemId, part: Span, traffic: &Traffic) {
        let account = self.file_systems.entry(file_system.clone()).or_default();
        account.total.add(traffic);
        let mut weights: Vec<(usize, u128)> = self
            .windows
            .iter()
            .enumerate()
            .map(|(place, window)| (place, overlap(part, window.span).as_nanos()))
            .filter(|(_, weight)| *weight > 0)
            .collect();
        if weights.is_empty() && part.length().is_zero() {
            // A mount of this very second: it is the last window's.
            weights.extend(self.windows.len().checked_sub(1).map(|last| (last, 1)));
        }
        match weights.as_slice() {
            [(place, _)] => account.windows.entry(*place).or_default().add(traffic),
            _ => {
                let shares = traffic.split(&weights.iter().map(|(_, weight)| *weight).collect::<Vec<_>>());
                for ((place, _), share) in weights.iter().zip(shares) {
                    account.windows.entry(*place).or_default().add(&share);
                }
            }
        }
    }
}

impl Account {
    /// Whether it was mounted while readings were taken, and not only named by the traffic of a gap.
    fn mounted(&self) -> bool {
        self.shown || !self.windows.is_empty()
    }
}
