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
