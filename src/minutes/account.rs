//! What is counted in one minute, and in each window of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Subject;
use super::span::{Span, overlap};
use crate::catalog::ProxyUse;
use crate::traffic::Traffic;

/// One minute, as far as it has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Open {
    /// Whether a reading was taken in it.
    pub observed: bool,
    pub windows: Vec<Window>,
    pub accounts: BTreeMap<Subject, Account>,
}

/// The time between two readings, or its part in one minute.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Window {
    pub span: Span,
    /// CLOCK_MONOTONIC seconds: rates are per these.
    pub seconds: f64,
}

/// What one subject did in a minute.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Account {
    /// Whether the minute's own reading showed it.
    pub shown: bool,
    pub total: Traffic,
    /// The share of each window, by its place in [`Open::windows`].
    pub windows: BTreeMap<usize, Share>,
}

/// What one subject did in a window, and how it was found at its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Share {
    pub traffic: Traffic,
    /// How many of its mounts were stalled; `None` when no reading ended the window that showed it.
    pub stalled: Option<u64>,
    /// Of file systems only, and only when it is known of every mount that has a proxy.
    pub proxies: Option<ProxyUse>,
}

impl Open {
    /// The file systems that were mounted while readings were taken.
    pub fn mounted(&self) -> impl Iterator<Item = &Subject> {
        let mounted = self.accounts.iter().filter(|(_, account)| account.mounted());
        mounted.map(|(subject, _)| subject).filter(|subject| matches!(subject, Subject::FileSystem(_)))
    }

    /// Counts what a subject did in a part of this minute.
    pub fn add(&mut self, subject: &Subject, part: Span, traffic: &Traffic) {
        let account = match self.accounts.get_mut(subject) {
            Some(account) => account,
            None => self.accounts.entry(subject.clone()).or_default(),
        };
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
        // What was done in a gap is in no window: a rate over the windows alone would be a peak that never was.
        let covered: u128 = weights.iter().map(|(_, weight)| *weight).sum();
        let gap = part.length().as_nanos().saturating_sub(covered);
        match weights.as_slice() {
            [(place, _)] if gap == 0 => account.windows.entry(*place).or_default().traffic.add(traffic),
            _ => {
                let of_windows = weights.iter().map(|(_, weight)| *weight);
                let shares = traffic.split(&of_windows.chain([gap]).collect::<Vec<_>>());
                for ((place, _), share) in weights.iter().zip(shares) {
                    account.windows.entry(*place).or_default().traffic.add(&share);
                }
            }
        }
    }

    /// The share of a subject in a window, when it has one.
    pub fn share_mut(&mut self, subject: &Subject, place: usize) -> Option<&mut Share> {
        self.accounts.get_mut(subject)?.windows.get_mut(&place)
    }

    /// Counts each subject's figures where `place` has them published.
    pub fn gather(&mut self, place: impl Fn(Subject) -> Subject) {
        for (subject, account) in std::mem::take(&mut self.accounts) {
            self.accounts.entry(place(subject)).or_default().add(account);
        }
    }
}

impl Account {
    /// Whether it was mounted while readings were taken, and not only named by the traffic of a gap.
    pub fn mounted(&self) -> bool {
        self.shown || !self.windows.is_empty()
    }

    fn add(&mut self, other: Account) {
        self.shown |= other.shown;
        self.total.add(&other.total);
        for (place, theirs) in other.windows {
            let mine = self.windows.entry(place).or_default();
            mine.traffic.add(&theirs.traffic);
            if let Some(stalled) = theirs.stalled {
                *mine.stalled.get_or_insert(0) += stalled;
            }
            mine.proxies = mine.proxies.or(theirs.proxies);
        }
    }
}
