//! How many series this host publishes: each is billed, so there is a limit, and what is over it is left out
//! whole, in the same way every minute.
//!
//! A share of the limit is a subject's as long as it is seen, and for an hour more: CloudWatch bills a series by the
//! hour, so what comes and goes within one costs nothing more when it keeps its share, and twice when it is exchanged.
//! Then it is free for those that wait.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Subject;
use crate::catalog::{METRICS, Profile, Scope, series};
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
/// An allowance for a file system's series by operation, whose number is not known beforehand.
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
        let kept: usize = self.kept.iter().map(|(scope, kept)| cost(profile, *scope) * kept.len()).sum();
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
        for (subject, traffic) in seen {
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
        for scope in SCOPES.into_iter().filter(|scope| cost(limits.profile, *scope) > 0) {
            for (subject, _) in busiest_first.iter().filter(|(subject, _)| subject.is_in(scope)) {
                if !self.keeps(scope, subject) {
                    self.admit(limits, scope, subject, now);
                }
            }
        }
    }

    /// Takes note of who was seen, and forgets who was not for an hour.
    fn give_back(&mut self, now: Minute, seen: &BTreeMap<Subject, u64>) {
        for subjects in self.kept.values_mut().chain(self.left_out.values_mut()) {
            subjects.retain(|subject, last_seen| {
                // A clock that was ahead does not keep a share for longer.
                *last_seen = if seen.contains_key(subject) { now } else { now.min(*last_seen) };
                now.seconds() - last_seen.seconds() < KEPT_FOR
            });
        }
    }

    fn admit(&mut self, limits: &SeriesLimits, scope: Scope, subject: &Subject, now: Minute) {
        let kept = self.kept.get(&scope).into_iter().flat_map(BTreeMap::keys);
        let with_their_own = kept.filter(|subject| !subject.is_rest()).count();
        let most = limits.most(scope).filter(|_| !subject.is_rest());
        let limit = match most {
            Some((most, setting)) if with_their_own >= most => Some(setting),
            _ if self.used(limits.profile) + cost(limits.profile, scope) > limits.max_series => {
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

fn cost(profile: Profile, scope: Scope) -> usize {
    let by_operation = METRICS.iter().any(|metric| {
        scope == Scope::Operation && metric.published(profile).any(|published| published == scope)
    });
    if by_operation { OPERATIONS } else { series(profile, scope) }
}

#[cfg(test)]
mod tests;
