//! What must be published, worked out from what the host did, with arithmetic of its own: whole nanoseconds,
//! and a map of named amounts for everything that is counted.

use std::collections::{BTreeMap, BTreeSet};

use super::amounts::{Amounts, add, difference, split};
use super::host::{Counters, Owner, SECOND};
use super::table::{Minute, Table, Whose};
use super::text::{Shown, Sight};

const MINUTE: i128 = 60 * SECOND;
const DAY: i128 = 24 * 3600 * SECOND;

/// From, to: nanoseconds of the time of day.
type Span = (i128, i128);

/// What a host says of itself: unidentified mounts, samples lost, unknown outcomes.
pub type Own = [u64; 3];

#[derive(Clone)]
pub struct Rules {
    grid: i128,
    known: BTreeMap<u32, Known>,
    /// When each superblock was first seen: from then on its name is waited for.
    first_seen: BTreeMap<usize, i128>,
    /// The last complete reading, by the monotonic clock.
    complete: Option<i128>,
    /// The last reading, by the monotonic clock.
    last: Option<i128>,
    open: BTreeMap<i128, Open>,
    late: BTreeMap<(i128, Whose), Amounts>,
    /// What is counted at this reading, by how long it took.
    counted: BTreeMap<(Whose, i128), Amounts>,
    /// The windows that this reading ended: minute and place.
    ended: Vec<(i128, usize)>,
    /// The end of the last minute that is closed for good.
    closed: i128,
    /// What is said once: the minute, of the host and of its file systems.
    said: BTreeSet<(i128, Option<&'static str>)>,
    /// Where the last reading is, on its grid point when it is near one.
    reached: i128,
    /// The minute of the last reading.
    reading: i128,
}

#[derive(Clone)]
struct Known {
    truth: usize,
    devices: Vec<String>,
    /// Where counting starts.
    age: i128,
    since: i128,
    counters: Counters,
    missed: u32,
}

#[derive(Clone, Default)]
struct Open {
    observed: bool,
    windows: Vec<Window>,
    accounts: BTreeMap<Whose, Account>,
}

#[derive(Clone)]
struct Window {
    span: Span,
    /// Seconds that truly passed.
    seconds: f64,
}

#[derive(Clone, Default)]
struct Account {
    total: Amounts,
    /// By a reading of the minute.
    shown: bool,
    /// By the window's place.
    shares: BTreeMap<usize, Amounts>,
    /// The windows at whose end it was looked at.
    looked: BTreeSet<usize>,
}

/// The grid point that is within a second of it, or itself.
fn near(time: i128, grid: i128) -> i128 {
    let after = time.rem_euclid(grid);
    match after {
        _ if after <= SECOND => time - after,
        _ if grid - after <= SECOND => time + grid - after,
        _ => time,
    }
}

/// Both ends on their grid points, unless that would leave nothing of what there was between them.
fn snapped((from, to): Span, grid: i128) -> Span {
    let moved = (near(from, grid), near(to, grid));
    if moved.0 < moved.1 || from == to { moved } else { (from, to) }
}

/// The minute, by its start, that a reading belongs to: an end of a minute is that minute's.
fn minute_that_ends(time: i128) -> i128 {
    (time - 1).div_euclid(MINUTE) * MINUTE
}

fn cut((from, to): Span) -> Vec<(i128, Span)> {
    if from == to {
        return vec![(minute_that_ends(to), (from, to))];
    }
    let mut parts = Vec::new();
    let mut start = from;
    while start < to {
        let minute = start.div_euclid(MINUTE) * MINUTE;
        let end = to.min(minute + MINUTE);
        parts.push((minute, (start, end)));
        start = end;
    }
    parts
}

fn overlap(one: Span, other: Span) -> i128 {
    (one.1.min(other.1) - one.0.max(other.0)).max(0)
}

/// Whose figures a superblock's are. A pod's mount point is nobody's.
fn whose(file_system: &'static str, shown: &Shown) -> Vec<Whose> {
    let mut whose = vec![Whose::Host, Whose::FileSystem(file_system)];
    whose.extend(shown.access_point.map(|id| Whose::AccessPoint(file_system, id)));
    if !shown.mount_point.contains("/kubelet/") {
        whose.push(Whose::MountPoint(file_system, shown.mount_point.clone()));
    }
    whose
}

impl Rules {
    pub fn new(grid: i128) -> Rules {
        Rules {
            grid,
            known: BTreeMap::new(),
            first_seen: BTreeMap::new(),
            complete: None,
            last: None,
            open: BTreeMap::new(),
            late: BTreeMap::new(),
            counted: BTreeMap::new(),
            ended: Vec::new(),
            closed: i128::MIN,
            said: BTreeSet::new(),
            reached: 0,
            reading: 0,
        }
    }

    pub fn observe(&mut self, sight: &Sight) {
        self.window(sight);
        for known in self.known.values_mut() {
            known.missed += 1;
        }
        let mut shown_here = BTreeSet::new();
        for shown in &sight.superblocks {
            shown_here.extend(self.superblock(sight, shown));
        }
        // All mounts of one are one before anything is cut.
        for ((whose, elapsed), amounts) in std::mem::take(&mut self.counted) {
            self.interval(&whose, sight.wall, elapsed, &amounts);
        }
        for whose in shown_here {
            let open = self.open.get_mut(&self.reading);
            if let Some(account) = open.and_then(|open| open.accounts.get_mut(&whose)) {
                account.shown = true;
            }
            for (minute, place) in &self.ended {
                let account = self.open.get_mut(minute).and_then(|open| open.accounts.get_mut(&whose));
                if let Some(account) = account.filter(|account| account.shares.contains_key(place)) {
                    account.looked.insert(*place);
                }
            }
        }
        self.known.retain(|_, known| known.missed <= 6);
        if sight.complete {
            self.complete = Some(sight.monotonic);
        }
        self.last = Some(sight.monotonic);
    }

    /// The time since the last reading.
    fn window(&mut self, sight: &Sight) {
        self.ended.clear();
        self.reached = near(sight.wall, self.grid);
        // A reading that follows another ends a minute, any other begins it.
        let follows = self.last.is_some_and(|last| sight.monotonic - last <= MINUTE);
        let minute = match follows {
            true => minute_that_ends(self.reached),
            false => sight.wall.div_euclid(MINUTE) * MINUTE,
        };
        self.reading = minute;
        if minute >= self.closed {
            self.open.entry(minute).or_default().observed = true;
        }
        let Some(last) = self.last else { return };
        let elapsed = sight.monotonic - last;
        if elapsed == 0 || elapsed > MINUTE {
            return;
        }
        let span = snapped((sight.wall - elapsed, sight.wall), self.grid);
        let length = span.1 - span.0;
        for (minute, part) in cut(span) {
            if minute >= self.closed {
                let seconds = elapsed as f64 / 1e9 * (part.1 - part.0) as f64 / length as f64;
                let windows = &mut self.open.entry(minute).or_default().windows;
                self.ended.push((minute, windows.len()));
                windows.push(Window { span: part, seconds });
            }
        }
    }

    /// Returns whose it is, when it counted.
    fn superblock(&mut self, sight: &Sight, shown: &Shown) -> Vec<Whose> {
        let now = sight.monotonic;
        let earlier = self.known.remove(&shown.minor).filter(|known| {
            let grew = (shown.age + 2 - known.age) * SECOND >= now - known.since;
            let same_device = shown.devices.iter().any(|device| known.devices.contains(device));
            let same = grew && same_device && difference(&shown.counters, &known.counters, false).is_some();
            assert!(!same || known.truth == shown.truth, "this host cannot be told from another");
            same
        });
        let first = earlier.is_none();
        let born = now - shown.age * SECOND;
        let mut known = earlier.unwrap_or_else(|| Known {
            truth: shown.truth,
            devices: Vec::new(),
            age: shown.age,
            since: now,
            counters: shown.counters.clone(),
            missed: 0,
        });
        let is_birth = first && self.complete.is_some_and(|complete| born >= complete);
        if is_birth {
            known.age = 0;
            known.since = born;
            known.counters = Counters::new();
        }
        known.devices.clone_from(&shown.devices);
        known.missed = 0;
        let first_seen = *self.first_seen.entry(shown.truth).or_insert(now);
        let held = shown.owner == Owner::Unnamed && now - first_seen < 600 * SECOND;
        let mut counted = Vec::new();
        if !held && (!first || is_birth) {
            if let Owner::FileSystem(file_system) = shown.owner {
                let amounts = difference(&shown.counters, &known.counters, shown.counts_errors).unwrap();
                counted = whose(file_system, shown);
                for whose in &counted {
                    add(self.counted.entry((whose.clone(), now - known.since)).or_default(), &amounts);
                }
            }
            known.age = shown.age;
            known.since = now;
            known.counters = shown.counters.clone();
        }
        self.known.insert(shown.minor, known);
        counted
    }

    fn interval(&mut self, whose: &Whose, wall: i128, elapsed: i128, amounts: &Amounts) {
        if elapsed > DAY {
            return;
        }
        let parts = cut(snapped((wall - elapsed, wall), self.grid));
        let lengths: Vec<i128> = match parts.as_slice() {
            [_] => vec![1],
            _ => parts.iter().map(|(_, part)| part.1 - part.0).collect(),
        };
        for ((minute, part), amounts) in parts.into_iter().zip(split(amounts, &lengths)) {
            if minute < self.closed {
                add(self.late.entry((minute, whose.clone())).or_default(), &amounts);
                continue;
            }
            let open = self.open.entry(minute).or_default();
            let account = open.accounts.entry(whose.clone()).or_default();
            add(&mut account.total, &amounts);
            let mut weights: Vec<i128> =
                open.windows.iter().map(|window| overlap(window.span, part)).collect();
            if elapsed == 0
                && let Some(last) = weights.last_mut()
            {
                *last = 1;
            }
            // What was done while nobody looked is in no window.
            let windows = weights.len();
            weights.push((part.1 - part.0 - weights.iter().sum::<i128>()).max(0));
            for (place, amounts) in split(&amounts, &weights).iter().enumerate().take(windows) {
                if weights[place] > 0 {
                    add(account.shares.entry(place).or_default(), amounts);
                }
            }
        }
    }

    pub fn close(&mut self, own: Own, table: &mut Table) {
        let end = self.reached.div_euclid(MINUTE) * MINUTE;
        self.closed = self.closed.max(end);
        self.close_up_to(self.closed, own, table);
    }

    /// Readings after it open the minute again: only what is said once is not said again.
    pub fn close_early(&mut self, own: Own, table: &mut Table) {
        self.close_up_to(i128::MAX, own, table);
    }

    fn close_up_to(&mut self, end: i128, own: Own, table: &mut Table) {
        let rest = self.open.split_off(&end);
        let closing = std::mem::replace(&mut self.open, rest);
        // Late pieces leave together with the next minute.
        if closing.is_empty() {
            return;
        }
        for ((minute, whose), amounts) in std::mem::take(&mut self.late) {
            table.totals(Minute(minute / SECOND), &whose, &amounts, false);
        }
        let newest = closing.iter().rev().find(|(_, open)| open.observed).map(|(minute, _)| *minute);
        for (minute, open) in closing {
            let at = Minute(minute / SECOND);
            let first = open.observed && self.said.insert((minute, None));
            if first {
                table.fleet(at, "Hosts", 1);
            }
            if Some(minute) == newest {
                // What is so at present is said once, what is since the last time whenever there is some.
                let names = ["UnidentifiedMounts", "SamplesLost", "UnknownOutcomes"];
                for (name, value) in names.into_iter().zip(own) {
                    if first || value > 0 && name != "UnidentifiedMounts" {
                        table.fleet(at, name, value);
                    }
                }
            }
            for (whose, account) in open.accounts {
                let seen = account.shown || !account.shares.is_empty();
                table.totals(at, &whose, &account.total, seen);
                if let Whose::FileSystem(id) = whose
                    && seen
                    && open.observed
                    && self.said.insert((minute, Some(id)))
                {
                    table.client(at, id);
                }
                // On this host nothing ever stalls.
                account.looked.iter().for_each(|_| table.stalled(at, &whose, 0));
                for (place, amounts) in &account.shares {
                    let Window { span, seconds } = open.windows[*place];
                    let whole = (span.1 - span.0 + SECOND / 2) / SECOND;
                    table.window(at, &whose, amounts, seconds, whole as f64);
                }
            }
        }
    }
}
