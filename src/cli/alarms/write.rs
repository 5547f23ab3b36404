//! Writes alarms one after another, at the pace that CloudWatch takes.

use std::io::{self, IsTerminal, Write};
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::alarm::Alarm;
use crate::aws::alarms::{Alarms, PAGE};
use crate::aws::call::CallError;
use crate::cli::provision::note;
use crate::clock::{Clock, SystemClock};
use crate::provision::alarms::PAUSE;

/// Alarms from which on it is shown how far it is.
const LONG: usize = 20;
/// Between two lines that say it, where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Attempts at a request that may still pass.
const ATTEMPTS: u32 = 3;
/// Before the second attempt, and twice before the third.
const BACKOFF: Duration = Duration::from_secs(1);

/// One request.
pub enum Work<'a> {
    Put(&'a Alarm),
    /// At most [`PAGE`] of them.
    Delete(&'a [String]),
}

impl Work<'_> {
    async fn send(&self, alarms: &Alarms, tags: &[(String, String)]) -> Result<(), CallError> {
        match self {
            Work::Put(alarm) => alarms.put(alarm, tags).await,
            Work::Delete(names) => alarms.delete(names).await,
        }
    }

    /// How many alarms it is about.
    fn alarms(&self) -> usize {
        match self {
            Work::Put(_) => 1,
            Work::Delete(names) => names.len(),
        }
    }
}

/// The requests that delete these.
pub fn deletions(names: &[String]) -> impl Iterator<Item = Work<'_>> {
    names.chunks(PAGE).map(Work::Delete)
}

/// Sends all of it, [`PAUSE`] after each answer, and counts in `done` of how many alarms it was. What CloudWatch does not
/// take is said, and the rest is sent. SIGINT and SIGTERM end it between two attempts.
///
/// # Errors
///
/// The first request that fails for a reason that the others would meet too, or the signal, with how far it came; at
/// the end, alarms that were not taken.
pub async fn all(
    alarms: &Alarms,
    work: &[Work<'_>],
    tags: &[(String, String)],
    done: &mut usize,
) -> anyhow::Result<()> {
    let total: usize = work.iter().map(Work::alarms).sum();
    let mut stop = pin!(stopped()?);
    let mut progress = Progress::of(total);
    let mut next = Instant::now();
    let mut not_taken = 0;
    for one in work {
        let so_far = |done: usize| {
            format!("{done} of {total} alarms are done, and running this again goes on with the rest")
        };
        for attempt in 1..=ATTEMPTS {
            tokio::select! {
                biased;
                () = &mut stop => bail!("interrupted: {}", so_far(*done)),
                () = sleep_until(next) => {}
            }
            let answer = one.send(alarms, tags).await;
            next = Instant::now() + PAUSE;
            match answer {
                Err(error) if error.may_pass() && attempt < ATTEMPTS => next += BACKOFF * attempt,
                Err(error @ CallError::Invalid { .. }) => {
                    progress.aside(|| note(format_args!("{error}")));
                    not_taken += one.alarms();
                    break;
                }
                Err(error) => return Err(error).with_context(|| so_far(*done)),
                Ok(()) => {
                    *done += one.alarms();
                    break;
                }
            }
        }
        progress.show(*done + not_taken);
    }
    match not_taken {
        0 => Ok(()),
        _ => bail!(
            "{done} of {total} alarms are done; CloudWatch does not take the others, for the reasons above"
        ),
    }
}

/// Waits for SIGINT or SIGTERM.
///
/// # Errors
///
/// They cannot be caught.
pub fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    let catch = |kind| signal(kind).context("catching signals");
    let (mut interrupt, mut terminate) = (catch(SignalKind::interrupt())?, catch(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// How far it is: a bar on a terminal, else a line now and then.
struct Progress {
    total: usize,
    bar: Option<ProgressBar>,
    /// Since boot.
    said: Duration,
}

impl Progress {
    fn of(total: usize) -> Progress {
        let shown = total > LONG && io::stderr().is_terminal();
        let bar = shown.then(|| {
            let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:40} {pos} of {len} alarms, {eta} left");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress { total, bar, said: SystemClock.now().monotonic }
    }

    /// Lets something be written to standard error.
    fn aside(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn show(&mut self, done: usize) {
        let now = SystemClock.now().monotonic;
        match &self.bar {
            Some(bar) => bar.set_position(done as u64),
            None if self.total > LONG && now >= self.said + BETWEEN_LINES && done < self.total => {
                self.said = now;
                // Whoever waits may have gone.
                let _ = writeln!(io::stderr(), "{} of {} alarms are done", done, self.total);
            }
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
