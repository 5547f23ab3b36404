//! Minutes made durable, together with where a restart goes on from.

use serde::{Deserialize, Serialize};
use tracing::{error, info, warn};

use super::Daemon;
use super::instance::LastInstance;
use crate::batch;
use crate::catalog::OwnFigures;
use crate::clock::Clock;
use crate::minutes::Dropped;
use crate::model::{Datum, Host, Moment};
use crate::monitor::State;
use crate::names::printable;
use crate::spool::Disk;

/// What the spool keeps for the daemon beside the requests: where to go on from.
#[derive(Deserialize)]
pub(super) struct Kept {
    boot_id: Option<String>,
    pub(super) state: State,
    /// What the host has not said of itself yet.
    #[serde(default)]
    pub(super) own: OwnFigures,
    #[serde(default)]
    pub(super) instance: Option<LastInstance>,
}

/// Of the same, what another version can go on from, too: whose it is must be known before anything is sent.
#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    own: OwnFigures,
    #[serde(default)]
    instance: Option<LastInstance>,
}

/// The same to be written, without a copy: with a thousand mounts it is large.
#[derive(Serialize)]
struct ToKeep<'a> {
    boot_id: Option<&'a str>,
    state: &'a State,
    own: OwnFigures,
    instance: Option<&'a LastInstance>,
}

/// Most subjects that one line of the log names.
const NAMED: usize = 10;

impl<C: Clock, D: Disk> Daemon<'_, C, D> {
    /// What the host says of itself for the minute that closes now.
    pub(super) fn own_figures(&self) -> OwnFigures {
        let losses = self.spool.losses().data().saturating_sub(self.reported.0);
        let unknown = self.publisher.standing().unknown_outcomes.saturating_sub(self.reported.1);
        let (void, missed) = (self.samples.void, self.samples.missed);
        OwnFigures {
            unidentified_mounts: self.sighting.unidentified,
            samples_lost: self.own.samples_lost + void + missed - self.samples.reported + losses,
            unknown_outcomes: self.own.unknown_outcomes + unknown,
        }
    }

    /// Whether there is something that only another minute, or the next process, can say.
    pub(super) fn has_untold_figures(&self) -> bool {
        let own = self.own_figures();
        own.samples_lost + own.unknown_outcomes > 0
    }

    /// The figures are on disk; `losses` of them were known when they were made.
    fn figures_reported(&mut self, losses: u64) {
        self.samples.reported = self.samples.void + self.samples.missed;
        self.reported = (losses, self.publisher.standing().unknown_outcomes);
        self.own = OwnFigures::default();
    }

    /// Makes a minute durable. When that fails, counting goes back to where the last commit left off: nothing is
    /// lost but the detail, and nothing grows. Returns whether it is durable.
    pub(super) fn commit(&mut self, data: Vec<Datum>) -> bool {
        let dropped = self.monitor.newly_dropped();
        // Without a minute of this host in them, its figures are still to be told.
        let told = data.iter().any(|datum| datum.dimensions.is_empty());
        let data = if self.settings.publishes { data } else { Vec::new() };
        let split = batch::split(&self.settings.namespace, self.named(data));
        if split.unfit_values > 0 {
            error!(values = split.unfit_values, "values that CloudWatch cannot take were left out");
        }
        let mut own = if told { OwnFigures::default() } else { self.own_figures() };
        own.samples_lost += split.unfit_values;
        own += self.doubt.unwrap_or_default();
        let kept = ToKeep {
            boot_id: self.boot_id.as_deref(),
            state: self.monitor.state(),
            own,
            instance: self.last_instance.as_ref(),
        };
        let counters = match serde_json::to_vec(&kept) {
            Ok(counters) => counters,
            Err(error) => {
                error!(%error, "the counters cannot be written down; going on without");
                return false;
            }
        };
        let losses = self.spool.losses().data();
        let committed = self.spool.commit(&split.batches, &counters);
        let is_kept = committed.is_ok();
        match committed {
            Ok(()) => {
                say_what_is_left_out(&dropped);
                if told {
                    self.figures_reported(losses);
                }
                self.own.samples_lost += split.unfit_values;
                self.committed = true;
                self.start = Vec::new();
                if std::mem::take(&mut self.failing.commit) {
                    info!("the state directory takes data again");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut self.failing.commit, true) {
                    error!(%error, "minutes cannot be kept on disk; their bytes and counts go into the next that can");
                }
                self.go_back(counters);
            }
        }
        is_kept
    }

    /// Back to where the last commit left off, which is read from the disk: with many mounts it is too large to keep
    /// twice. Before the first commit, `counters` may be where counting starts.
    fn go_back(&mut self, counters: Vec<u8>) {
        let earlier = match self.committed {
            true => self.spool.counters().ok().flatten(),
            false => Some(std::mem::take(&mut self.start)),
        };
        let kept = earlier.as_deref().and_then(|earlier| serde_json::from_slice::<Kept>(earlier).ok());
        match kept {
            Some(kept) => {
                self.monitor.go_back(kept.state);
                self.start = earlier.filter(|_| !self.committed).unwrap_or_default();
            }
            None if self.committed => error!("nor can the last counters be read: these minutes are lost"),
            None => self.start = counters,
        }
    }

    /// The data with this host's id in them, as far as it is known.
    fn named(&self, mut data: Vec<Datum>) -> Vec<Datum> {
        match &self.identity.host {
            Host::Pending => {}
            Host::Unknown => data.retain(|datum| !datum.needs_host()),
            Host::Known(id) => data.iter_mut().for_each(|datum| datum.name_host(id)),
        }
        data
    }
}

/// Names what is over the limits of series, in one line.
pub(super) fn say_what_is_left_out(dropped: &[Dropped]) {
    if dropped.is_empty() {
        return;
    }
    let name = |Dropped { scope, subject, limit }: &Dropped| {
        format!("{} ({}): {limit}", printable(subject.to_string().as_bytes()), scope.dimensions().join(", "))
    };
    let first: Vec<String> = dropped.iter().take(NAMED).map(name).collect();
    warn!(
        groups = dropped.len(),
        first = first.join("; "),
        "not published: over a limit of series; raise the limit that is named or choose a smaller profile"
    );
}

/// What `counters` hold, and whether counting goes on from there. Counters of another boot, or of a later time of
/// this one (a machine that was set back to a snapshot), are not these counters' past; what was counted and said
/// before still holds.
pub(super) fn resume(counters: &[u8], boot_id: Option<&str>, now: Moment) -> Option<(Kept, bool)> {
    if counters.is_empty() {
        return None;
    }
    let kept: Kept = match serde_json::from_slice(counters) {
        Ok(kept) => kept,
        Err(error) => {
            warn!(%error, "the counters that were kept are not this version's; counting starts anew");
            let Told { own, instance } = serde_json::from_slice(counters).ok()?;
            return Some((Kept { boot_id: None, state: State::default(), own, instance }, false));
        }
    };
    let of_this_boot = kept.boot_id.is_some() && kept.boot_id.as_deref() == boot_id;
    let goes_on = of_this_boot && kept.state.last().is_some_and(|last| last.monotonic <= now.monotonic);
    match goes_on {
        true => Some((kept, true)),
        false => Some((Kept { state: kept.state.of_another_boot(), ..kept }, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumed(counters: &str) -> Option<(Kept, bool)> {
        let now = Moment { wall: std::time::Duration::ZERO, monotonic: std::time::Duration::MAX };
        resume(counters.as_bytes(), Some("b"), now)
    }

    #[test]
    fn counters_of_another_version_are_no_place_to_go_on_from() {
        let goes_on = |counters: &str| resumed(counters).map(|(_, goes_on)| goes_on);
        let last = r#""last":{"wall":{"secs":1,"nanos":0},"monotonic":{"secs":1,"nanos":0}}"#;
        let nothing = serde_json::to_string(&State::default()).unwrap();
        let state = nothing.replace(r#""last":null"#, last);
        let kept = |state: &str| format!(r#"{{"boot_id":"b","state":{state}}}"#);
        assert_eq!(goes_on(&kept(&state)), Some(true));
        assert_eq!(goes_on(&kept(&nothing)), Some(false), "there is no place where counting starts");
        // A minute that was kept by file system, and one without a choice of series.
        let by_file_system = r#""open":{"60":{"observed":true,"windows":[],"file_systems":{}}}"#;
        assert_eq!(goes_on(&kept(&state.replace(r#""open":{}"#, by_file_system))), Some(false));
        assert_eq!(goes_on(&kept(&state.replace(r#""series""#, r#""choice""#))), Some(false));
        // As they were before operations were chosen.
        let without_operations = state.replace(r#","operations":{}"#, "");
        assert_ne!(without_operations, state);
        assert_eq!(goes_on(&kept(&without_operations)), Some(true));
        assert_eq!((goes_on(""), goes_on("{"), goes_on("7")), (None, None, None));
    }

    #[test]
    fn counters_of_another_version_still_tell_whose_they_are_and_what_was_lost() {
        let counters = r#"{"boot_id":"b","state":"of tomorrow","instance":{"id":"i-0123456789abcdef0","boot_id":"b"},
            "own":{"unidentified_mounts":0,"samples_lost":3,"unknown_outcomes":1}}"#;
        let (kept, goes_on) = resumed(counters).unwrap();
        assert!(!goes_on && kept.state.last().is_none());
        assert_eq!((kept.own.samples_lost, kept.own.unknown_outcomes), (3, 1));
        let instance = serde_json::to_value(kept.instance.unwrap()).unwrap();
        assert_eq!(instance["id"], "i-0123456789abcdef0");
    }
}
