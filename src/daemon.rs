//! The loop: read on clock multiples, close minutes, keep them on disk, send what is there.
//!
//! One thread. Whatever waits for the network (data, questions to EFS, the search for this host's id) does so while
//! sampling goes on; no sample waits for it, not even the first.

use std::time::Duration;

use tracing::info;

use crate::aws::efs::Efs;
use crate::catalog::OwnFigures;
use crate::clock::Clock;
use crate::model::Moment;
use crate::monitor::{self, Monitor, Sighting};
use crate::publish::{Publisher, Sink};
use crate::source::Source;
use crate::spool::{Disk, Opened, Spool};

mod calls;
pub mod dry_run;
mod ending;
pub mod host;
mod instance;
mod kept;
pub mod look_up;
mod proxies;
mod reading;
pub mod runtime;
mod service;
pub mod status;

use calls::{result, sleep_until};
use host::{HostFinder, Identity, Metadata};
use instance::LastInstance;
use kept::resume;
use look_up::LookUp;
use reading::{Latch, Reader};
use runtime::RuntimeDirectory;
use service::Notice;
use status::Samples;

/// What the loop needs to be told.
#[derive(Clone, Debug)]
pub struct Settings {
    pub monitor: monitor::Settings,
    pub namespace: String,
    /// Whether minutes are kept and sent; else they are dropped as they close, so that no later one holds them.
    pub publishes: bool,
}

/// Where the daemon meets the machine.
#[derive(Clone, Copy, Debug)]
pub struct Edges<'a, C> {
    pub source: &'a Source,
    pub clock: &'a C,
    pub runtime: &'a RuntimeDirectory,
}

/// What the daemon works with; everything that touches the world is handed in.
pub struct Daemon<'a, C, D: Disk> {
    settings: Settings,
    source: &'a Source,
    clock: &'a C,
    spool: Spool<D>,
    publisher: Publisher,
    runtime: &'a RuntimeDirectory,
    monitor: Monitor,
    reader: Reader,
    /// Where EFS may be asked whose an address is.
    look_up: Option<(&'a Efs, LookUp)>,
    /// Of this host, as far as it is known.
    identity: Identity,
    /// The instance that the state on disk is of.
    last_instance: Option<LastInstance>,
    /// What an earlier process had still to say, while it may have been on another instance.
    doubt: Option<OwnFigures>,
    boot_id: Option<String>,
    /// Whether counting goes on from an earlier process.
    goes_on: bool,
    /// Whether a commit of this boot holds where counting starts.
    committed: bool,
    /// Where counting starts, while none does; empty before the first reading.
    start: Vec<u8>,
    own: OwnFigures,
    /// What of the spool's losses and the publisher's unknown outcomes `own` has had.
    reported: (u64, u64),
    samples: Samples,
    sighting: Sighting,
    last_tick: Option<Moment>,
    /// CLOCK_MONOTONIC.
    next_tick: Duration,
    /// Why the last sample is void, when it is.
    reading_error: Option<String>,
    failing: Failing,
    started: Moment,
    ended: bool,
}

/// What is wrong at present and has been said.
#[derive(Default)]
struct Failing {
    commit: bool,
    status: Latch,
    targets: Latch,
}

impl<'a, C: Clock, D: Disk> Daemon<'a, C, D> {
    /// Goes on from what the spool kept, when that is of this boot.
    pub fn new(
        settings: Settings,
        Edges { source, clock, runtime }: Edges<'a, C>,
        Opened { spool, counters }: Opened<D>,
        publisher: Publisher,
    ) -> Self {
        let boot_id = source.boot_id();
        let counters = counters.unwrap_or_default();
        let (state, own, last_instance, goes_on) = match resume(&counters, boot_id.as_deref(), clock.now()) {
            Some((kept, goes_on)) => (kept.state, kept.own, kept.instance, goes_on),
            None => Default::default(),
        };
        let may_be_another =
            last_instance.as_ref().is_some_and(|last| last.may_be_another(source, boot_id.as_deref()));
        let monitor = Monitor::new(settings.monitor.clone(), state);
        let mut daemon = Daemon {
            settings,
            source,
            clock,
            spool,
            publisher,
            runtime,
            reader: Reader::new(&monitor),
            monitor,
            look_up: None,
            identity: Identity::pending(),
            last_instance,
            doubt: None,
            boot_id,
            goes_on,
            committed: goes_on,
            start: Vec::new(),
            own,
            reported: (0, 0),
            samples: Samples::default(),
            sighting: Sighting::default(),
            last_tick: None,
            next_tick: Duration::ZERO,
            reading_error: None,
            failing: Failing::default(),
            started: clock.now(),
            ended: false,
        };
        if may_be_another {
            daemon.keep_apart();
        }
        daemon
    }

    /// Runs until a `signal`, then takes a last reading, closes the open minute and begins requests for 5 s more, or
    /// until another signal. The last request is waited for.
    pub async fn run(
        &mut self,
        sink: &impl Sink,
        finder: &HostFinder<impl Metadata>,
        mut signal: impl AsyncFnMut(),
    ) {
        let mut shutdown = Box::pin(signal());
        let (mut put, mut question) = (None, None);
        info!(
            version = env!("CARGO_PKG_VERSION"),
            namespace = self.settings.namespace,
            profile = self.settings.monitor.series.profile.name(),
            goes_on = self.goes_on,
            "starting"
        );
        if !self.settings.publishes {
            info!("publish.enabled is false: sampling without keeping or sending any minute");
        }
        let mut finding = self.find(finder, finder.configured());
        self.tick();
        let mut ready = service::tell(Notice::Ready);
        loop {
            let mut wake = None;
            // One request at a time, so that neither memory nor threads add up. Data go first.
            if put.is_none() && question.is_none() {
                match self.next_put(sink) {
                    Ok(next) => put = Some(next),
                    Err(put_at) => match self.next_question() {
                        Ok(next) => question = Some(next),
                        Err(ask_at) => wake = put_at.into_iter().chain(ask_at).min(),
                    },
                }
            }
            let now = self.clock.now();
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = sleep_until(Some(self.next_tick), now) => {
                    self.tick();
                    ready = ready || service::tell(Notice::Ready);
                }
                identity = &mut finding => finding = self.find(finder, Some(identity)),
                answered = result(&mut put) => {
                    put = None;
                    self.answered(answered);
                }
                learned = result(&mut question) => {
                    question = None;
                    self.learned(learned);
                }
                () = sleep_until(wake, now) => {}
            }
        }
        info!("stopping: taking a last reading");
        service::tell(Notice::Stopping);
        drop((shutdown, question));
        self.finish(sink, put, signal()).await;
    }

    fn tick(&mut self) {
        let now = self.clock.now();
        self.next_tick = now.monotonic + until_multiple(now.wall, self.settings.monitor.sample_interval);
        if let Some(last) = self.last_tick.replace(now) {
            self.samples.missed +=
                missed(now.monotonic.saturating_sub(last.monotonic), &self.settings.monitor);
        }
        self.read();
        let data = self.monitor.close(&self.own_figures());
        // The very first reading is where counting starts, whatever becomes of this process.
        let first = !self.committed && self.start.is_empty() && self.samples.taken > 0;
        if first || !data.is_empty() {
            self.commit(data);
        }
        self.write_status();
        service::tell(Notice::Watchdog);
    }

    fn read(&mut self) {
        match self.reader.read(self.source, self.clock, &mut self.monitor) {
            Ok(sighting) => {
                self.samples.taken += 1;
                self.sighting = sighting;
                self.reading_error = None;
            }
            Err(error) => {
                self.samples.void += 1;
                self.reading_error = Some(error.to_string());
            }
        }
    }
}

/// From a sample at `wall` to the next multiple of `interval`. One that is almost reached is that sample's own: a
/// timer may be a little early by the clock.
pub fn until_multiple(wall: Duration, interval: Duration) -> Duration {
    let (wall, interval) = (wall.as_nanos(), interval.as_nanos().max(1));
    let left = interval - wall % interval;
    let left = if left < interval / 10 { left + interval } else { left };
    Duration::from_nanos(left as u64)
}

/// Readings that should have been between two that are `elapsed` apart.
fn missed(elapsed: Duration, settings: &monitor::Settings) -> u64 {
    let intervals = elapsed.as_secs_f64() / settings.sample_interval.as_secs_f64();
    (intervals.round() as u64).saturating_sub(1)
}
