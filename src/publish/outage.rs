//! How long to wait after failures, and when to say so.

use std::time::Duration;

use super::verdict::Refusal;

/// The longest wait after a refusal.
pub(super) const MAX_BACKOFF: Duration = Duration::from_secs(300);

/// Why nothing goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Refused(Refusal),
    /// CloudWatch finds fault with every datum.
    AllInvalid,
    /// CloudWatch may have the data, or not.
    Unknown,
}

/// From the first failure to the next success.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    /// Monotonic.
    pub(super) since: Duration,
    pub(super) reason: Reason,
    failures: u32,
    announced: Option<Reason>,
}

impl Outage {
    pub(super) fn new(since: Duration, reason: Reason) -> Outage {
        Outage { since, reason, failures: 0, announced: None }
    }

    /// One more failure. Returns how long to wait: any time up to twice the last limit (full jitter), so that a fleet
    /// that failed together does not come back together.
    pub(super) fn failed(&mut self, reason: Reason, rng: &mut fastrand::Rng) -> Duration {
        self.reason = reason;
        self.failures = self.failures.saturating_add(1);
        let limit = Duration::from_secs(1 << self.failures.min(16)).min(MAX_BACKOFF);
        limit.mul_f64(rng.f64())
    }

    /// Says once that publishing stopped, and once more when the reason changes; `last` bounds how often in all.
    pub(super) fn announce(&mut self, now: Duration, last: &mut Option<Duration>, message: &str) {
        let recently = last.is_some_and(|last| now.saturating_sub(last) < MAX_BACKOFF);
        // Two bad files in a row are no outage yet.
        let doubtful = self.reason == Reason::AllInvalid && self.failures < 3;
        if self.announced == Some(self.reason) || recently || doubtful {
            return;
        }
        self.announced = Some(self.reason);
        *last = Some(now);
        let remedy = match self.reason {
            Reason::Refused(refusal) => refusal.remedy(),
            Reason::AllInvalid => {
                Some("check the setting namespace; CloudWatch finds fault with every datum")
            }
            Reason::Unknown => None,
        };
        tracing::warn!(
            reason = message,
            remedy,
            "publishing stopped; keeping data in the spool and trying again"
        );
    }

    /// The first success after it.
    pub(super) fn over(self, now: Duration) {
        if self.announced.is_some() {
            let outage_secs = now.saturating_sub(self.since).as_secs();
            tracing::info!(outage_secs, "publishing resumed");
        }
    }
}
