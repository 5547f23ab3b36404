//! How many series this host publishes: each is billed, so there is a limit, and what is over it is left out
//! whole, in the same way every minute.

use std::collections::{BTreeMap, BTreeSet};

use super::Closed;
use crate::catalog::{METRICS, Profile, Scope, series};
use crate::model::{FileSystemId, Minute};
use crate::traffic::Traffic;

/// The settings `profile` and `limits.max_series`, and what was chosen under them so far.
#[derive(Clone, Debug)]
pub struct SeriesLimit {
    pub profile: Profile,
    max_series: usize,
    /// What is published. A choice holds while this process runs: series that come and go cost, too.
    kept: BTreeSet<(Scope, FileSystemId)>,
    dropped: BTreeSet<(Scope, FileSystemId)>,
    unreported: Vec<Dropped>,
}

/// A file system's figures of one scope that are over the limit: named once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    pub scope: Scope,
    pub file_system: FileSystemId,
}

/// The order in which the limit is used up, after the fleet's own four.
const SCOPES: [Scope; 3] = [Scope::FileSystem, Scope::Client, Scope::Operation];
/// An allowance for a file system's series by operation, whose number is not known beforehand.
const OPERATIONS: usize = 20;

impl SeriesLimit {
    pub fn new(profile: Profile, max_series: usize) -> SeriesLimit {
        let (kept, dropped) = Default::default();
        SeriesLimit { profile, max_series, kept, dropped, unreported: Vec::new() }
    }

    /// Whether a file system's figures of a scope are published.
    pub fn keeps(&self, scope: Scope, file_system: &FileSystemId) -> bool {
        scope == Scope::Fleet || self.kept.contains(&(scope, file_system.clone()))
    }

    /// How many series are published.
    pub fn used(&self) -> usize {
        let kept: usize = self.kept.iter().map(|(scope, _)| self.cost(*scope)).sum();
        series(self.profile, Scope::Fleet) + kept
    }

    /// How many scopes of file systems are left out.
    pub fn dropped(&self) -> usize {
        self.dropped.len()
    }

    /// What was left out since the last call.
    pub fn newly_dropped(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.unreported)
    }

    /// Finds room for the file systems of these minutes: file-system scope first, then clients, each by traffic.
    pub(super) fn choose(
        &mut self,
        closed: &[Closed],
        late: &BTreeMap<Minute, BTreeMap<FileSystemId, Traffic>>,
    ) {
        let mut bytes: BTreeMap<&FileSystemId, u64> = BTreeMap::new();
        let accounts = closed.iter().flat_map(|closed| &closed.open.file_systems);
        let totals = accounts.map(|(file_system, account)| (file_system, &account.total));
        for (file_system, traffic) in totals.chain(late.values().flatten()) {
            let sum = bytes.entry(file_system).or_default();
            *sum = sum.saturating_add(traffic.read.bytes()).saturating_add(traffic.write.bytes());
        }
        let settled = |file_system: &FileSystemId, scope: Scope, limit: &SeriesLimit| {
            let key = (scope, file_system.clone());
            limit.kept.contains(&key) || limit.dropped.contains(&key)
        };
        let mut busiest_first: Vec<&FileSystemId> = bytes.keys().copied().collect();
        busiest_first.sort_by_key(|file_system| std::cmp::Reverse(bytes.get(file_system)));
        for scope in SCOPES {
            let cost = self.cost(scope);
            for file_system in &busiest_first {
                if cost == 0 || settled(file_system, scope, self) {
                    continue;
                }
                let key = (scope, (*file_system).clone());
                if self.used() + cost <= self.max_series {
                    self.kept.insert(key);
                } else {
                    self.unreported.push(Dropped { scope, file_system: key.1.clone() });
                    self.dropped.insert(key);
                }
            }
        }
    }

    fn cost(&self, scope: Scope) -> usize {
        let by_operation = METRICS.iter().any(|metric| {
            scope == Scope::Operation && metric.published(self.profile).any(|published| published == scope)
        });
        if by_operation { OPERATIONS } else { series(self.profile, scope) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_system(name: u8) -> FileSystemId {
        format!("fs-0000000{name:x}").parse().unwrap()
    }

    /// Has the limit choose among file systems that read and wrote so many bytes in a minute.
    fn choose(limit: &mut SeriesLimit, bytes: &[(u8, u64)]) {
        let traffic = |read: u64| {
            let mut traffic = Traffic::default();
            (traffic.read.bytes_received, traffic.write.bytes_sent) = (read / 2, read - read / 2);
            traffic
        };
        let minute = bytes.iter().map(|(name, bytes)| (file_system(*name), traffic(*bytes))).collect();
        limit.choose(&[], &BTreeMap::from([(Minute::of(std::time::Duration::ZERO), minute)]));
    }

    fn kept(limit: &SeriesLimit, scope: Scope) -> Vec<u8> {
        (0..16).filter(|name| limit.keeps(scope, &file_system(*name))).collect()
    }

    /// What is named as dropped since the last call: scope and file system.
    fn dropped(limit: &mut SeriesLimit) -> Vec<(Scope, FileSystemId)> {
        limit.newly_dropped().into_iter().map(|dropped| (dropped.scope, dropped.file_system)).collect()
    }

    #[test]
    fn file_systems_come_before_clients_and_the_busiest_first() {
        let mut limit = SeriesLimit::new(Profile::Minimal, 50);
        assert_eq!(limit.used(), 4, "the fleet's, always");
        choose(&mut limit, &[(1, 10), (2, 500), (3, 20), (4, 400), (5, 30)]);
        // The fleet's 4, then 10 for each of 4 file systems; the fifth would be 54. Then 2 for each of 3 clients.
        assert_eq!(kept(&limit, Scope::FileSystem), [2, 3, 4, 5]);
        assert_eq!(kept(&limit, Scope::Client), [2, 4, 5]);
        assert_eq!((limit.used(), limit.dropped()), (50, 3));
        let expected = [(Scope::FileSystem, 1), (Scope::Client, 3), (Scope::Client, 1)];
        assert_eq!(dropped(&mut limit), expected.map(|(scope, name)| (scope, file_system(name))));
    }

    #[test]
    fn of_equally_busy_ones_the_first_by_name_is_kept() {
        let mut limit = SeriesLimit::new(Profile::Fleet, 14);
        choose(&mut limit, &[(7, 0), (3, 0), (5, 0)]);
        assert_eq!(kept(&limit, Scope::FileSystem), [3]);
        // Sums beyond the largest number are equally busy, too.
        let mut limit = SeriesLimit::new(Profile::Fleet, 14);
        choose(&mut limit, &[(7, u64::MAX), (3, u64::MAX)]);
        assert_eq!(kept(&limit, Scope::FileSystem), [3]);
    }

    #[test]
    fn a_choice_stays_and_what_is_left_out_is_named_once() {
        let mut limit = SeriesLimit::new(Profile::Minimal, 16);
        choose(&mut limit, &[(1, 10), (2, 5)]);
        assert_eq!((kept(&limit, Scope::FileSystem), kept(&limit, Scope::Client)), (vec![1], vec![1]));
        let expected = [Scope::FileSystem, Scope::Client].map(|scope| (scope, file_system(2)));
        assert_eq!(dropped(&mut limit), expected);
        // Busier since, and the other one gone.
        choose(&mut limit, &[(1, 10), (2, 5000)]);
        choose(&mut limit, &[(2, 5000)]);
        choose(&mut limit, &[]);
        assert_eq!((kept(&limit, Scope::FileSystem), kept(&limit, Scope::Client)), (vec![1], vec![1]));
        assert_eq!((dropped(&mut limit), limit.dropped(), limit.used()), (vec![], 2, 16));
        // A new one is named, but no more than once.
        choose(&mut limit, &[(2, 1), (3, 1)]);
        choose(&mut limit, &[(2, 1), (3, 1)]);
        let expected = [Scope::FileSystem, Scope::Client].map(|scope| (scope, file_system(3)));
        assert_eq!(
            (dropped(&mut limit), dropped(&mut limit), limit.dropped()),
            (expected.to_vec(), vec![], 4)
        );
    }

    #[test]
    fn a_limit_holds_to_the_last_series() {
        let used = |profile: Profile, max_series: usize| {
            let mut limit = SeriesLimit::new(profile, max_series);
            choose(&mut limit, &[(1, 10)]);
            (limit.used(), limit.dropped())
        };
        assert_eq!(used(Profile::Fleet, 0), (4, 1), "the fleet's four are published under any limit");
        assert_eq!(used(Profile::Fleet, 13), (4, 1));
        assert_eq!(used(Profile::Fleet, 14), (14, 0));
        assert_eq!(used(Profile::Minimal, 15), (14, 1));
        assert_eq!(used(Profile::Minimal, 16), (16, 0));
        assert_eq!(used(Profile::Standard, 24), (14, 1));
        assert_eq!(used(Profile::Standard, 25), (25, 0));
        // Also 10 of each host's detail, and an allowance of 20 for its operations.
        assert_eq!(used(Profile::Full, 54), (35, 1));
        assert_eq!(used(Profile::Full, 55), (55, 0));
    }

    #[test]
    fn a_scope_that_the_profile_lacks_is_neither_kept_nor_dropped() {
        let mut limit = SeriesLimit::new(Profile::Fleet, 50);
        choose(&mut limit, &[(1, 10)]);
        assert_eq!((kept(&limit, Scope::Client), kept(&limit, Scope::Operation)), (vec![], vec![]));
        assert!(limit.keeps(Scope::Fleet, &file_system(9)));
        assert_eq!(dropped(&mut limit), []);
    }
}
