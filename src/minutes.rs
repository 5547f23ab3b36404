//! Intervals become minutes, and minutes become data. Pure.
//!
//! - An interval ends at the wall time of its later reading and starts its elapsed time before that. Either
//!   end, when within 1 s of a multiple of the sample interval, is taken to be there.
//! - An interval that crosses minutes is cut in proportion to time, each counter by largest remainder, so
//!   that the parts add up exactly.
//! - All mounts of one [`Subject`] (a file system, an access point ..) are one, before anything is cut: counters
//!   add, a rate is all bytes of a sample over its time, a latency all milliseconds over all requests.
//! - A **window** is the time between two readings, cut at minutes: rates and latencies are one value for each;
//!   one of less than half a second has no rate.
//!   An interval that spans several windows is shared among them and what is between them. Readings more than a
//!   minute apart leave a gap, not a window: bytes and counts are spread over it, rates, latencies and stalls are not.
//! - A minute closes at the first reading at or after its end. What arrives for a closed minute is a late
//!   piece: totals only, a second datum with the same timestamp.
//! - Timestamps are the start of the minute, so that a minute here lies under the same minute of AWS/EFS.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::{OwnFigures, ProxyUse};
use crate::model::{Datum, Minute, Moment};
use crate::sampler::Interval;
use crate::traffic::{Traffic, shares};

mod account;
mod data;
mod series;
mod span;
mod subject;

use account::{Open, Window};
pub use series::{Dropped, OPERATIONS, Series, SeriesLimits, reckoned};
use span::{Span, minute_ended_by, snap};
pub use subject::Subject;

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
    /// The windows that the last reading ended: minute, and place in it.
    #[serde(skip)]
    ended: Vec<(Minute, usize)>,
    open: BTreeMap<Minute, Open>,
    late: BTreeMap<Minute, BTreeMap<Subject, Traffic>>,
    closed_through: Option<Minute>,
    /// The last minute whose `Hosts` is on its way, and the file systems whose `Clients` of it are: each is
    /// said once, also of a minute that is closed early and goes on after a restart.
    announced: Option<Minute>,
    announced_clients: BTreeSet<Subject>,
    /// RPC bytes of reads and writes that no minute will hold: their interval was longer than a day.
    unpublished_bytes: u64,
    series: Series,
}

/// One superblock of a reading.
#[derive(Debug)]
pub struct Observed<'a> {
    /// What it did since the reading before.
    pub interval: &'a Interval,
    /// Whose figures it counts among.
    pub subjects: Vec<Subject>,
    /// Whether its requests get no answer at present.
    pub stalled: bool,
}

/// A minute that is ready to be published.
struct Closed {
    minute: Minute,
    open: Open,
    /// Whether `Hosts` is still to be said, and of which file systems `Clients`.
    announce: bool,
    clients: BTreeSet<Subject>,
}

impl Minutes {
    /// Takes in a reading.
    pub fn observe<'a>(
        &mut self,
        moment: Moment,
        grid: Duration,
        superblocks: impl IntoIterator<Item = Observed<'a>>,
    ) {
        self.forgive_the_clock(moment.wall);
        let last = self.last.replace(moment);
        let elapsed = last.map(|last| moment.monotonic.saturating_sub(last.monotonic));
        self.ended.clear();
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
        let mut stalled: BTreeMap<Subject, u64> = BTreeMap::new();
        let mut together: BTreeMap<Duration, BTreeMap<Subject, Traffic>> = BTreeMap::new();
        for Observed { interval, subjects, stalled: is_stalled } in superblocks {
            let counts = interval.elapsed <= LONGEST_INTERVAL;
            if !counts {
                let bytes = interval.traffic.read.bytes().saturating_add(interval.traffic.write.bytes());
                self.unpublished_bytes = self.unpublished_bytes.saturating_add(bytes);
            }
            for subject in subjects {
                *stalled.entry(subject.clone()).or_default() += u64::from(is_stalled);
                if counts {
                    let as_long = together.entry(interval.elapsed).or_default();
                    as_long.entry(subject).or_default().add(&interval.traffic);
                }
            }
        }
        for (elapsed, subjects) in together {
            self.add(Span::before(moment.wall, elapsed, grid), subjects);
        }
        for (subject, stalled) in stalled {
            if let Some(account) = self.open.get_mut(&minute).and_then(|open| open.accounts.get_mut(&subject))
            {
                account.shown = true;
            }
            for (minute, place) in &self.ended {
                let open = self.open.get_mut(minute);
                if let Some(share) = open.and_then(|open| open.share_mut(&subject, *place)) {
                    share.stalled = Some(stalled);
                }
            }
        }
    }

    /// Takes in what the proxies of a subject's mounts used since the reading before the last, up to the last.
    pub fn observe_proxies(&mut self, subject: &Subject, used: ProxyUse) {
        let mut parts: Vec<(&mut account::Share, u128)> = Vec::with_capacity(self.ended.len());
        for (minute, open) in &mut self.open {
            let place = self.ended.iter().find(|(ended, _)| ended == minute).map(|(_, place)| *place);
            let Some(place) = place else { continue };
            let length = open.windows.get(place).map_or(0, |window| window.span.length().as_nanos());
            parts.extend(open.share_mut(subject, place).map(|share| (share, length)));
        }
        let weights: Vec<u128> = parts.iter().map(|(_, weight)| *weight).collect();
        for ((share, _), cpu_ms) in parts.into_iter().zip(shares(used.cpu_ms, &weights)) {
            share.proxies = Some(ProxyUse { cpu_ms, ..used });
        }
    }

    /// What another boot can go on from: what was counted and said, but not the time since then.
    pub fn of_another_boot(self) -> Minutes {
        Minutes { last: None, ..self }
    }

    /// Forgets what was chosen and lost before: it was another host's.
    pub fn disown(&mut self) {
        self.series = Series::default();
        self.unpublished_bytes = 0;
    }

    /// When the last reading was taken.
    pub fn last(&self) -> Option<Moment> {
        self.last
    }

    /// Closes the minutes that end at or before the last reading and returns their data, late pieces first.
    pub fn close(&mut self, grid: Duration, own: &OwnFigures, limits: &SeriesLimits) -> Vec<Datum> {
        let Some(last) = self.last else { return Vec::new() };
        let end = snap(last.wall, grid);
        let due: Vec<Minute> = self.open.keys().copied().filter(|minute| minute.end() <= end).collect();
        if due.is_empty() {
            return Vec::new();
        }
        self.closed_through = self.closed_through.max(due.last().copied());
        self.take(due, own, limits)
    }

    /// Closes every minute, the current one before its end: what comes after is a second datum of it.
    pub fn close_early(&mut self, own: &OwnFigures, limits: &SeriesLimits) -> Vec<Datum> {
        let due = self.open.keys().copied().collect();
        self.take(due, own, limits)
    }

    /// RPC bytes of reads and writes that were not published: their interval was longer than a day.
    pub fn unpublished_bytes(&self) -> u64 {
        self.unpublished_bytes
    }

    /// Which series are published.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// What is over the limits, since the last call.
    pub fn newly_dropped(&mut self) -> Vec<Dropped> {
        self.series.newly_dropped()
    }

    fn take(&mut self, due: Vec<Minute>, own: &OwnFigures, limits: &SeriesLimits) -> Vec<Datum> {
        let Some(newest) = due.last().copied() else { return Vec::new() };
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
                    .filter(|subject| self.announced_clients.insert((*subject).clone()))
                    .cloned()
                    .collect(),
                false => BTreeSet::new(),
            };
            closed.push(Closed { minute, open, announce, clients });
        }
        let mut late = std::mem::take(&mut self.late);
        let accounts = closed.iter().flat_map(|closed| &closed.open.accounts);
        let totals = accounts.map(|(subject, account)| (subject, &account.total));
        self.series.choose(limits, newest, totals.chain(late.values().flatten()));
        closed.iter_mut().for_each(|closed| closed.open.gather(|subject| self.series.place(subject)));
        late.values_mut().for_each(|pieces| self.gather(pieces));
        let chosen = data::Chosen { profile: limits.profile, series: &self.series };
        let mut data = chosen.of_late_pieces(&late);
        let mut own = Some(own);
        for closed in closed.iter().rev() {
            // What the host says of itself is of the newest minute that it was awake in.
            let own = if closed.open.observed { own.take() } else { None };
            data.extend(chosen.of_minute(closed, own));
        }
        data
    }

    /// Counts each late piece where it is published.
    fn gather(&self, pieces: &mut BTreeMap<Subject, Traffic>) {
        for (subject, traffic) in std::mem::take(pieces) {
            pieces.entry(self.series.place(subject)).or_default().add(&traffic);
        }
    }

    fn add_windows(&mut self, span: Span, elapsed: Duration) {
        let whole = span.length().as_secs_f64();
        for (minute, part) in span.by_minute() {
            if self.is_closed(minute) {
                continue;
            }
            let share = if whole > 0.0 { part.length().as_secs_f64() / whole } else { 1.0 };
            let window = Window { span: part, seconds: elapsed.as_secs_f64() * share };
            let windows = &mut self.open.entry(minute).or_default().windows;
            self.ended.push((minute, windows.len()));
            windows.push(window);
        }
    }

    /// Counts what subjects did in `span`, in its minutes.
    fn add(&mut self, span: Span, subjects: BTreeMap<Subject, Traffic>) {
        let parts = span.by_minute();
        let weights: Vec<u128> = parts.iter().map(|(_, part)| part.length().as_nanos()).collect();
        for (subject, traffic) in subjects {
            let split = if parts.len() > 1 { traffic.split(&weights) } else { vec![traffic] };
            for ((minute, part), traffic) in parts.iter().zip(&split) {
                match self.is_closed(*minute) {
                    true => {
                        let pieces = self.late.entry(*minute).or_default();
                        pieces.entry(subject.clone()).or_default().add(traffic);
                    }
                    false => self.open.entry(*minute).or_default().add(&subject, *part, traffic),
                }
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
        for (subject, account) in ahead.into_values().flat_map(|open| open.accounts) {
            let present = self.open.entry(Minute::of(now)).or_default();
            present.accounts.entry(subject).or_default().total.add(&account.total);
        }
    }
}

#[cfg(test)]
mod tests;
