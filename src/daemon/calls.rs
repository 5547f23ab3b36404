//! What is under way over the network, and the requests to CloudWatch among it.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use super::Daemon;
use crate::clock::Clock;
use crate::model::Moment;
use crate::publish::{Failure, Request, Sink, Step};
use crate::spool::Disk;

/// Something under way that comes back with a `T`.
pub(super) type Call<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A request that was sent, and what became of it.
pub(super) struct Put {
    request: Request,
    answer: Result<(), Failure>,
}

impl<C: Clock, D: Disk> Daemon<'_, C, D> {
    /// The next request, or when there will be one (CLOCK_MONOTONIC), if that is known. There is none where nothing is
    /// published.
    pub(super) fn next_put<'s>(&mut self, sink: &'s impl Sink) -> Result<Call<'s, Put>, Option<Duration>> {
        if !self.settings.publishes {
            return Err(None);
        }
        match self.publisher.next(self.clock.now(), &mut self.spool, &self.identity.host) {
            Step::Send(request) => Ok(Box::pin(async move {
                let answer = sink.put(&request.batch).await;
                Put { request, answer }
            })),
            Step::WaitUntil(monotonic) => Err(Some(monotonic)),
            Step::Idle => Err(None),
        }
    }

    pub(super) fn answered(&mut self, Put { request, answer }: Put) {
        self.publisher.answered(self.clock.now(), request, &answer, &mut self.spool);
        self.write_status();
    }
}

/// What comes back, when something is under way.
pub(super) async fn result<T>(call: &mut Option<Call<'_, T>>) -> T {
    match call {
        Some(call) => call.await,
        None => pending().await,
    }
}

/// Until then (CLOCK_MONOTONIC); for ever without a time.
pub(super) async fn sleep_until(monotonic: Option<Duration>, now: Moment) {
    match monotonic {
        Some(monotonic) => tokio::time::sleep(monotonic.saturating_sub(now.monotonic)).await,
        None => pending().await,
    }
}
