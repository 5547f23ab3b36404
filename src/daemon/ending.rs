//! The end: a last reading, and what can be sent of it in a few seconds. `run --once` is little else.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use anyhow::bail;
use tracing::{error, info};

use super::Daemon;
use super::calls::{Call, Put, result, sleep_until};
use super::host::{HostFinder, Metadata};
use crate::clock::Clock;
use crate::model::Host;
use crate::publish::{MAX_AHEAD, Sink, State};
use crate::spool::Disk;

/// How long requests are begun at the end; what is not sent by then stays on disk. The last of them is waited for,
/// so that the end takes as long as one request more: 17 s at most with CloudWatch, which has 12 s for its answer.
const LAST_DRAIN: Duration = Duration::from_secs(5);

/// How it ended.
pub(super) struct End {
    /// The last minute is on disk.
    kept: bool,
    stopped: Stopped,
}

/// Why no further request was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    NothingToSend,
    TimeIsUp,
    Interrupted,
}

impl<C: Clock, D: Disk> Daemon<'_, C, D> {
    /// What happened since the last run, or in one sample interval when there was none; then sends and ends. After
    /// `shutdown` nothing more is sent, but what was read is kept.
    ///
    /// # Errors
    ///
    /// Something went wrong that the daemon would wait out, or something is left to be sent. Nothing is lost by it:
    /// the next round has it.
    pub async fn once(
        &mut self,
        sink: &impl Sink,
        finder: &HostFinder<impl Metadata>,
        shutdown: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let mut shutdown = pin!(shutdown);
        let mut interrupted = false;
        let mut finding = self.find(finder, finder.configured());
        if !self.goes_on {
            self.tick();
            tokio::select! {
                biased;
                () = &mut shutdown => interrupted = true,
                () = tokio::time::sleep(self.settings.monitor.sample_interval) => {}
            }
        }
        if !interrupted && self.look_up.is_some() {
            if self.goes_on {
                self.read();
            }
            tokio::select! {
                biased;
                () = &mut shutdown => interrupted = true,
                () = self.ask_all() => {}
                () = tokio::time::sleep(LAST_DRAIN) => {}
            }
        }
        if !interrupted && (self.identity.host == Host::Pending || self.is_doubtful()) {
            tokio::select! {
                biased;
                () = &mut shutdown => interrupted = true,
                identity = &mut finding => self.identified(&identity),
                () = tokio::time::sleep(LAST_DRAIN) => {}
            }
        }
        let hurry = async {
            if !interrupted {
                shutdown.await;
            }
        };
        let end = self.finish(sink, None, hurry).await;
        if let Some(error) = &self.reading_error {
            bail!("the mounts cannot be read: {error}");
        }
        if !end.kept {
            bail!(
                "what was read could not be kept in the state directory and was not sent; the next round has it, \
                 see the log"
            );
        }
        if !self.settings.publishes {
            return Ok(());
        }
        match self.left(end.stopped) {
            Some(left) => bail!("not all was sent, {left}"),
            None => Ok(()),
        }
    }

    /// What is left of that which could be sent by now, and why.
    fn left(&self, stopped: Stopped) -> Option<String> {
        let takes_until = self.clock.now().wall + MAX_AHEAD;
        let left = self.spool.files().filter(|(id, _)| id.newest.start() <= takes_until);
        let (waiting, others): (Vec<_>, Vec<_>) =
            left.partition(|(_, entry)| entry.needs_host && self.identity.host == Host::Pending);
        let held = self.spool.held_files();
        let files = waiting.len() + others.len() + held;
        let publish = self.publisher.standing();
        let failure = publish.last_failure.map(|failure| failure.message);
        let why = match stopped {
            _ if files == 0 => return None,
            _ if held == files => {
                "they may be another instance's, and the instance metadata service does not say".to_owned()
            }
            _ if others.is_empty() => {
                "this host's id is not known yet; where it stays so, set host.id".to_owned()
            }
            Stopped::Interrupted => "a signal ended the round".to_owned(),
            Stopped::TimeIsUp if publish.state == State::Ok => "the time of the round was over".to_owned(),
            Stopped::TimeIsUp | Stopped::NothingToSend => failure.unwrap_or_default(),
        };
        let requests = if files == 1 { "request is" } else { "requests are" };
        Some(format!("{files} {requests} left for the next round: {why}"))
    }

    /// The last reading, the open minute, and what can be sent of it in a few seconds or until `hurry`.
    pub(super) async fn finish<'s>(
        &mut self,
        sink: &'s impl Sink,
        mut put: Option<Call<'s, Put>>,
        hurry: impl Future<Output = ()>,
    ) -> End {
        self.read();
        let data = self.monitor.close_early(&self.own_figures());
        let kept = self.commit(data);
        if !kept {
            error!(
                "what was read last could not be kept; the next start of this boot counts on from the last that was"
            );
        }
        self.publisher.begin_shutdown();
        let stopped = self.drain(sink, &mut put, hurry).await;
        // Waited for even after the end: broken off, it might count twice.
        if let Some(put) = put {
            let answered = put.await;
            self.answered(answered);
        }
        let left = self.spool.standing().files;
        if left > 0 {
            info!(requests = left, "stopping: what was not sent stays in the spool");
        }
        if self.has_untold_figures() {
            self.commit(Vec::new());
        }
        self.ended = true;
        self.write_status();
        End { kept, stopped }
    }

    /// Sends what can be sent; what is in flight at the end is left so.
    async fn drain<'s>(
        &mut self,
        sink: &'s impl Sink,
        put: &mut Option<Call<'s, Put>>,
        hurry: impl Future<Output = ()>,
    ) -> Stopped {
        let mut hurry = pin!(hurry);
        let mut time_is_up = pin!(tokio::time::sleep(LAST_DRAIN));
        let mut now = self.clock.now();
        let mut wake = Some(now.monotonic);
        loop {
            tokio::select! {
                biased;
                () = &mut hurry => return Stopped::Interrupted,
                () = &mut time_is_up => return Stopped::TimeIsUp,
                answered = result(put) => {
                    *put = None;
                    self.answered(answered);
                }
                () = sleep_until(wake, now) => {}
            }
            if put.is_some() {
                wake = None;
                continue;
            }
            now = self.clock.now();
            match self.next_put(sink) {
                Ok(next) => (*put, wake) = (Some(next), None),
                Err(Some(monotonic)) => wake = Some(monotonic),
                Err(None) => return Stopped::NothingToSend,
            }
        }
    }
}
