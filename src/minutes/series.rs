//! How many series this host publishes: each is billed, so there is a limit, and what is over it is left out
//! whole, in the same way every minute.
//!
//! A share of the limit is a subject's as long as it is seen, and for an hour more: CloudWatch bills a series by the
//! hour, so what comes and goes within one costs nothing more when it keeps its share, and twice when it is exchanged.
//! Then it is free for those that wait.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::subject::{OTHER, Subject};
use crate::catalog::{Profile, Scope, series};
use crate::model::Minute;
use crate::traffic::Traffic;

/// The settings that say which series there may be, and how many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesLimits {
    pub profile: Profile,
    /// `limits.max_series`.
    pub max_series: usize,
    /// With `publish.access_points`, `limits.max_access_points`: those that have figures of their own.
    pub access_points: Option<usize>,
    /// With `publish.mount_points`, `limits.max_mount_points`.
    pub mount_points: Option<usize>,
    /// `compat.cron_script`.
    pub cron_script: bool,
}

impl SeriesLimits {
    /// Without the scopes that are off by default.
    pub fn new(profile: Profile, max_series: usize) -> SeriesLimits {
        SeriesLimits { profile, max_series, access_points: None, mount_points: None, cron_script: false }
    }

    /// Whether a scope is published at all. A minute that began under other settings may hold figures of others.
    fn publishes(&self, scope: Scope) -> bool {
        let is_on = match scope {
            Scope::AccessPoint => self.access_points.is_some(),
            Scope::MountPoint => self.mount_points.is_some(),
            Scope::CronScript => self.cron_script,
            Scope::Fleet | Scope::FileSystem | Scope::Client | Scope::Operation => true,
        };
        is_on && reckoned(self.profile, scope) > 0
    }

    /// The most subjects of a scope, and the setting that says so.
    fn most(&self, scope: Scope) -> Option<(usize, &'static str)> {
        match scope {
            Scope::AccessPoint => Some((self.access_points?, "limits.max_access_points")),
            Scope::MountPoint => Some((self.mount_points?, "limits.max_mount_points")),
            _ => None,
        }
    }
}

/// What was chosen under the limits, and when each subject was last seen. Serialised with the counters, so that a
/// restart chooses the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    limits: Option<SeriesLimits>,
    kept: BTreeMap<Scope, BTreeMap<Subject, Minute>>,
    left_out: BTreeMap<Scope, BTreeMap<Subject, Minute>>,
    /// The operations of a subject that are published by their own names.
    #[serde(default)]
    operations: BTreeMap<Subject, BTreeMap<String, Minute>>,
    #[serde(skip)]
    unreported: Vec<Dropped>,
}

/// A subject's figures of one scope that are over a limit: named once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    pub scope: Scope,
    pub subject: Subject,
    /// The setting that is in the way.
    pub limit: &'static str,
}

/// The order in which the limit is used up, after the fleet's own four.
const SCOPES: [Scope; 6] = [
    Scope::CronScript,
    Scope::FileSystem,
    Scope::Client,
    Scope::Operation,
    Scope::AccessPoint,
    Scope::MountPoint,
];
/// The most series by operation of a file system: kernels know some 70, of which a host uses few. When it uses more,
/// the last of these is of the others together.
pub const OPERATIONS: usize = 20;
/// Seconds for which a share is kept for a subject that is not seen.
const KEPT_FOR: i64 = 3600;

impl Series {
    /// Whether a subject's figures of a scope are published.
    pub fn keeps(&self, scope: Scope, subject: &Subject) -> bool {
        scope == Scope::Fleet || self.kept.get(&scope).is_some_and(|kept| kept.contains_key(subject))
    }

    /// How many series are published.
    pub fn used(&self, profile: Profile) -> usize {
        let kept: usize = self.kept.iter().map(|(scope, kept)| reckoned(profile, *scope) * kept.len()).sum();
        series(profile, Scope::Fleet) + kept
    }

    /// How many subjects' scopes are left out.
    pub fn left_out(&self) -> usize {
        self.left_out.values().map(BTreeMap::len).sum()
    }

    /// What was left out since the last call.
    pub fn newly_dropped(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.unreported)
    }

    /// The subject that publishes a subject's figures: itself, or those that have no series of their own together.
    pub(super) fn place(&self, subject: Subject) -> Subject {
        let fallback = subject.fallback().filter(|fallback| {
            SCOPES.iter().all(|scope| !fallback.is_in(*scope) || !self.keeps(*scope, &subject))
        });
        fallback.unwrap_or(subject)
    }

    /// The name under which a subject's operation is published: its own, or that of those that have no series of
    /// their own together.
    pub(super) fn operation<'a>(&self, subject: &Subject, name: &'a str) -> &'a str {
        let own = self.operations.get(subject).is_some_and(|names| names.contains_key(name));
        if own { name } else { OTHER }
    }

    /// Finds room for those that were seen, by scope and then by traffic.
    pub(super) fn choose<'a>(
        &mut self,
        limits: &SeriesLimits,
        now: Minute,
        seen: impl IntoIterator<Item = (&'a Subject, &'a Traffic)>,
    ) {
        if self.limits.as_ref() != Some(limits) {
            *self = Series { limits: Some(limits.clone()), ..Series::default() };
        }
        let mut bytes: BTreeMap<Subject, u64> = BTreeMap::new();
        let mut operations: BTreeMap<&Subject, BTreeMap<&str, u64>> = BTreeMap::new();
        for (subject, traffic) in seen {
            for (name, requests) in &traffic.by_operation {
                let sum = operations.entry(subject).or_default().entry(name).or_default();
                *sum = sum.saturating_add(*requests);
            }
            let more = traffic.read.bytes().saturating_add(traffic.write.bytes());
            // Room for those that will find none comes before their own.
            for subject in subject.fallback().into_iter().chain([subject.clone()]) {
                let sum = bytes.entry(subject).or_default();
                *sum = sum.saturating_add(more);
            }
        }
        self.give_back(now, &bytes);
        let mut busiest_first: Vec<(&Subject, u64)> =
            bytes.iter().map(|(subject, sum)| (subject, *sum)).collect();
        busiest_first.sort_by_key(|(_, sum)| Reverse(*sum));
        for scope in SCOPES.into_iter().filter(|scope| limits.publishes(*scope)) {
            for (subject, _) in busiest_first.iter().filter(|(subject, _)| subject.is_in(scope)) {
                if !self.keeps(scope, subject) {
                    self.admit(limits, scope, subject, now);
                }
            }
        }
        self.choose_operations(now, &operations);
    }

    /// Finds room for the operations of those that have any, by requests.
    fn choose_operations(&mut self, now: Minute, used: &BTreeMap<&Subject, BTreeMap<&str, u64>>) {
        let nothing = BTreeMap::new();
        self.operations.retain(|subject, names| {
            let used = used.get(subject).unwrap_or(&nothing);
            keep_for_a_while(names, now, |name| used.contains_key(name.as_str()));
            !names.is_empty()
        });
        for (subject, used) in used {
            if !self.keeps(Scope::Operation, subject) {
                continue;
            }
            let names = self.operations.entry((*subject).clone()).or_default();
            let mut busiest_first: Vec<_> =
                used.iter().filter(|(name, _)| !names.contains_key(**name)).collect();
            busiest_first.sort_by_key(|(_, requests)| Reverse(**requests));
            let room = (OPERATIONS - 1).saturating_sub(names.len());
            names.extend(busiest_first.into_iter().take(room).map(|(name, _)| ((*name).to_owned(), now)));
        }
    }

    /// Takes note of who was seen, and forgets who was not for an hour.
    fn give_back(&mut self, now: Minute, seen: &BTreeMap<Subject, u64>) {
        for subjects in self.kept.values_mut().chain(self.left_out.values_mut()) {
            keep_for_a_while(subjects, now, |subject| seen.contains_key(subject));
        }
    }

    fn admit(&mut self, limits: &SeriesLimits, scope: Scope, subject: &Subject, now: Minute) {
        let kept = self.kept.get(&scope).into_iter().flat_map(BTreeMap::keys);
        let with_their_own = kept.filter(|subject| !subject.is_rest()).count();
        let most = limits.most(scope).filter(|_| !subject.is_rest());
        let limit = match most {
            Some((most, setting)) if with_their_own >= most => Some(setting),
            _ if self.used(limits.profile) + reckoned(limits.profile, scope) > limits.max_series => {
                Some("limits.max_series")
            }
            _ => None,
        };
        let left_out = self.left_out.entry(scope).or_default();
        match limit {
            None => {
                left_out.remove(subject);
                self.kept.entry(scope).or_default().insert(subject.clone(), now);
            }
            // It is among the others.
            Some(_) if subject.fallback().is_some() => {}
            Some(limit) => {
                if left_out.insert(subject.clone(), now).is_none() {
                    self.unreported.push(Dropped { scope, subject: subject.clone(), limit });
                }
            }
        }
    }
}

/// Takes note of what is seen, and forgets what was not for an hour.
fn keep_for_a_while<K: Ord>(known: &mut BTreeMap<K, Minute>, now: Minute, is_seen: impl Fn(&K) -> bool) {
    known.retain(|key, last_seen| {
        // A clock that was ahead does not keep a share for longer.
        *last_seen = if is_seen(key) { now } else { now.min(*last_seen) };
        now.seconds() - last_seen.seconds() < KEPT_FOR
    });
}

/// How many series of the limit a subject takes in a scope: of operations, as many as it may ever have.
pub fn reckoned(profile: Profile, scope: Scope) -> usize {
    let series = series(profile, scope);
    if scope == Scope::Operation { series * OPERATIONS } else { series }
}

#[cfg(test)]
mod tests;
