//! Asking EFS whose the addresses of mounts are: only when a mount waits for it, one question at a time, and what it
//! said is kept on disk, so that a restart asks nothing.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use tracing::{info, warn};

use super::Daemon;
use super::calls::Call;
use super::reading::Latch;
use crate::aws::efs::{Efs, Failure, Question, Reply, Said};
use crate::clock::Clock;
use crate::efs::{Targets, Wanted, Whose};
use crate::model::{FileSystemId, Moment};
use crate::spool::{Disk, Note};

/// From one round through all file systems to the next: the shortest, and the longest while rounds leave some out.
const ROUND: Duration = Duration::from_secs(600);
const LONGEST_ROUND: Duration = Duration::from_secs(3600);
/// After a question without an answer; doubled with each, up to the longest, and shortened by half at random: many hosts
/// may have begun at once.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
const LONGEST_PAUSE: Duration = Duration::from_secs(1800);

/// Most bytes that are read of what is kept.
const KEPT_BYTES: u64 = 8 << 20;

/// What to ask, and when.
#[derive(Debug)]
pub(super) struct LookUp {
    round: Option<Round>,
    /// CLOCK_MONOTONIC.
    not_before: Duration,
    /// CLOCK_MONOTONIC: when the next round may begin, and how long after it the one that follows.
    round_not_before: Duration,
    round_pause: Duration,
    failures: u32,
    failing: Latch,
    denied: BTreeSet<&'static str>,
    random: fastrand::Rng,
}

/// A way through all file systems.
#[derive(Debug)]
struct Round {
    /// Seconds since 1970.
    began: u64,
    /// Those that are still to be asked; `None` before EFS listed them.
    left: Option<Vec<FileSystemId>>,
    complete: bool,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Ask(Question),
    /// CLOCK_MONOTONIC.
    WaitUntil(Duration),
    Idle,
}

impl LookUp {
    /// An earlier process may have gone its round just now.
    pub(super) fn new(now: Moment, targets: &Targets, random: fastrand::Rng) -> LookUp {
        let since = now.wall.saturating_sub(Duration::from_secs(targets.last_round()));
        LookUp {
            round: None,
            not_before: Duration::ZERO,
            round_not_before: now.monotonic + ROUND.saturating_sub(since),
            round_pause: ROUND,
            failures: 0,
            failing: Latch::default(),
            denied: BTreeSet::new(),
            random,
        }
    }

    /// What to ask for the addresses `wanted`, given what is known of them: first the file systems that had them before,
    /// then all. A round that began goes on to its end.
    pub(super) fn next(&mut self, now: Moment, wanted: &[Wanted], targets: &Targets) -> Step {
        // What was answered since the last reading waits no more.
        let waits = |wanted: &&Wanted| targets.whose(wanted.address, wanted.made) == Whose::Unknown;
        let mut wanted = wanted.iter().filter(waits).peekable();
        if wanted.peek().is_none() && self.round.is_none() {
            return Step::Idle;
        }
        if now.monotonic < self.not_before {
            return Step::WaitUntil(self.not_before);
        }
        let outdated = wanted.find_map(|wanted| targets.outdated(wanted.address, wanted.made));
        if let Some(id) = outdated {
            return Step::Ask(Question::MountTargets(id.clone()));
        }
        match &self.round {
            Some(Round { left: Some(left), .. }) => match left.last() {
                Some(id) => Step::Ask(Question::MountTargets(id.clone())),
                None => Step::Idle,
            },
            Some(Round { left: None, .. }) => Step::Ask(Question::FileSystems),
            None if now.monotonic < self.round_not_before => Step::WaitUntil(self.round_not_before),
            None => {
                self.round = Some(Round { began: now.wall.as_secs(), left: None, complete: true });
                Step::Ask(Question::FileSystems)
            }
        }
    }

    /// Takes in what EFS said to a question that was asked at `asked` (seconds since 1970). Returns whether what is known
    /// is worth keeping now.
    pub(super) fn answered(
        &mut self,
        now: Moment,
        (question, asked): (&Question, u64),
        answer: Result<Reply, Failure>,
        targets: &mut Targets,
    ) -> bool {
        match (answer, question) {
            (Ok(Reply { region, said }), _) => {
                self.goes_well();
                if !targets.region().is_empty() && region != targets.region() {
                    self.round = None;
                }
                targets.answered_in(&region);
                match (said, question) {
                    (Said::FileSystems(list), _) => {
                        if let Some(round) = &mut self.round {
                            round.left = Some(list);
                        }
                    }
                    (Said::MountTargets(mut found), Question::MountTargets(id)) => {
                        found.iter_mut().for_each(|target| target.asked = asked);
                        targets.replace(id, found);
                        self.is_done(id, true);
                    }
                    (Said::MountTargets(_), Question::FileSystems) => {}
                }
            }
            (Err(Failure::Denied { action, message }), Question::MountTargets(id)) => {
                self.say_denied(action, &message);
                targets.replace(id, Vec::new());
                self.is_done(id, false);
            }
            (Err(Failure::Denied { action, message }), Question::FileSystems) => {
                self.say_denied(action, &message);
                self.fails(now);
            }
            (Err(Failure::Other(message)), _) => {
                if self.failing.begins(now.monotonic) {
                    warn!(
                        error = message,
                        "EFS does not say whose the addresses of mounts are; asking again later, and their traffic is \
                         kept for 10 minutes"
                    );
                }
                self.fails(now);
            }
        }
        self.end_round(now, targets)
    }

    /// Whether the table is in order as it is: a file system was asked again, or a round came to its end.
    fn end_round(&mut self, now: Moment, targets: &mut Targets) -> bool {
        let Some(round) = self.round.take_if(|round| round.left.as_ref().is_some_and(Vec::is_empty)) else {
            return self.round.is_none() && self.failures == 0;
        };
        targets.swept(round.began, round.complete);
        self.round_pause = if round.complete { ROUND } else { (self.round_pause * 2).min(LONGEST_ROUND) };
        self.round_not_before = now.monotonic + self.round_pause;
        info!(
            mount_targets = targets.len(),
            region = targets.region(),
            "EFS has said whose its mount targets are"
        );
        true
    }

    fn is_done(&mut self, id: &FileSystemId, answered: bool) {
        if let Some(Round { left: Some(left), complete, .. }) = &mut self.round {
            let before = left.len();
            left.retain(|left| left != id);
            *complete &= answered || left.len() == before;
        }
    }

    fn goes_well(&mut self) {
        self.failures = 0;
        if self.failing.ends() {
            info!("EFS says again whose the addresses of mounts are");
        }
    }

    fn fails(&mut self, now: Moment) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
        self.failures += 1;
        self.not_before = now.monotonic + pause.mul_f64(1.0 - self.random.f64() / 2.0);
    }

    fn say_denied(&mut self, action: &'static str, message: &str) {
        if self.denied.insert(action) {
            warn!(
                action,
                error = message,
                "EFS may not be asked whose the addresses of mounts are: allow the action to this host's role, or name \
                 the file systems in [[mounts]]"
            );
        }
    }
}

/// A question that was asked, when (seconds since 1970), and what EFS said.
pub(super) struct Asked {
    question: Question,
    at: u64,
    answer: Result<Reply, Failure>,
}

impl<'a, C: Clock, D: Disk> Daemon<'a, C, D> {
    /// Lets EFS be asked whose an address is, beginning with what it said to an earlier process.
    pub fn look_up_with(&mut self, efs: &'a Efs) {
        let kept = self.spool.kept(Note::MountTargets);
        let targets = kept.and_then(|text| Targets::from_json(&text, Some(&self.source.installation())));
        let targets = targets.unwrap_or_default();
        self.look_up = Some((efs, LookUp::new(self.clock.now(), &targets, fastrand::Rng::new())));
        self.monitor.look_up(targets);
    }

    /// The next question, or when there will be one (CLOCK_MONOTONIC), if that is known.
    pub(super) fn next_question(&mut self) -> Result<Call<'a, Asked>, Option<Duration>> {
        let (Some((efs, look_up)), Some(targets)) = (&mut self.look_up, self.monitor.targets()) else {
            return Err(None);
        };
        let now = self.clock.now();
        match look_up.next(now, &self.monitor.wanted(), targets) {
            Step::Ask(question) => {
                let (efs, asked) = (*efs, now.wall.as_secs());
                Ok(Box::pin(async move {
                    let answer = efs.ask(&question).await;
                    Asked { question, at: asked, answer }
                }))
            }
            Step::WaitUntil(monotonic) => Err(Some(monotonic)),
            Step::Idle => Err(None),
        }
    }

    /// Takes in an answer; it counts from the next reading on.
    pub(super) fn learned(&mut self, Asked { question, at, answer }: Asked) {
        let now = self.clock.now();
        let (Some((_, look_up)), Some(targets)) = (&mut self.look_up, self.monitor.targets_mut()) else {
            return;
        };
        if !look_up.answered(now, (&question, at), answer, targets) {
            return;
        }
        let text = targets.to_json(&self.source.installation()).map_err(std::io::Error::from);
        let kept = text.map_err(Into::into).and_then(|text| self.spool.keep(Note::MountTargets, &text));
        match kept {
            Ok(()) => {
                self.failing.targets.ends();
            }
            Err(error) if self.failing.targets.begins(now.monotonic) => {
                warn!(%error, "what EFS said of addresses cannot be kept; the next start asks again");
            }
            Err(_) => {}
        }
    }

    /// Asks all that is to be asked now.
    pub(super) async fn ask_all(&mut self) {
        while let Ok(asking) = self.next_question() {
            let answer = asking.await;
            self.learned(answer);
        }
    }
}

/// What EFS said to the daemon whose state directory this is; `host` as in [`Targets::from_json`]. Nothing where it may
/// not be read.
pub fn kept_targets(state_directory: &Path, host: Option<&str>) -> Option<Targets> {
    let mut text = Vec::new();
    let file = File::open(state_directory.join(Note::MountTargets.name())).ok()?;
    file.take(KEPT_BYTES).read_to_end(&mut text).ok()?;
    Targets::from_json(&text, host)
}

#[cfg(test)]
mod tests;
