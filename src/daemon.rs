//! The loop: read on clock multiples, close minutes, keep them on disk, send what is there.
//!
//! One thread. Sending waits for the network while sampling goes on; neither waits for the other.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use tracing::{info, warn};

use crate::aws::efs::Efs;
use crate::catalog::OwnFigures;
use crate::clock::Clock;
use crate::model::{Host, Moment};
use crate::monitor::{self, Monitor, Sighting};
use crate::publish::{Failure, Publisher, Request, Sink, Step};
use crate::source::Source;
use crate::spool::{Disk, Opened, Spool};

pub mod dry_run;
mod ending;
pub mod host;
mod instance;
mod kept;
pub mod look_up;
mod proxies;
mod reading;
pub mod runtime;
pub mod status;

use host::{HostFinder, HostSource, Metadata, Place};
use instance::LastInstance;
use kept::resume;
use look_up::{Asking, LookUp};
use reading::{Latch, Reader};
use runtime::RuntimeDirectory;
use status::{Samples, Status};

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
    host: Host,
    host_source: Option<HostSource>,
    place: Place,
    /// The instance that the state on disk is of, and whether this may be another.
    last_instance: Option<LastInstance>,
    doubtful: bool,
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

type InFlight<'a> = Pin<Box<dyn Future<Output = (Request, Result<(), Failure>)> + 'a>>;

impl<'a, C: Clock, D: Disk> Daemon<'a, C, D> {
    /// Goes on from what the spool kept, when that is of this boot.
    pub fn new(
        settings: Settings,
        Edges { source, clock, runtime }: Edges<'a, C>,
        Opened { mut spool, counters }: Opened<D>,
        publisher: Publisher,
    ) -> Self {
        let boot_id = source.boot_id();
        let counters = counters.unwrap_or_default();
        let (state, own, last_instance, goes_on) = match resume(&counters, boot_id.as_deref(), clock.now()) {
            Some((kept, goes_on)) => (kept.state, kept.own, kept.instance, goes_on),
            None => Default::default(),
        };
        let doubtful =
            last_instance.as_ref().is_some_and(|last| last.is_doubtful(source, boot_id.as_deref()));
        if doubtful {
            spool.hold();
        }
        let monitor = Monitor::new(settings.monitor.clone(), state);
        Daemon {
            settings,
            source,
            clock,
            spool,
            publisher,
            runtime,
            reader: Reader::new(&monitor),
            monitor,
            look_up: None,
            host: Host::Pending,
            host_source: None,
            place: Place::default(),
            last_instance,
            doubtful,
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
        }
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
        let mut in_flight: Option<InFlight<'_>> = None;
        let mut asking: Option<Asking<'_>> = None;
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
        let mut finding = self.begin_to_find(finder).await;
        self.tick();
        self.tell_systemd(sd_notify::NotifyState::Ready);
        loop {
            let mut wake = None;
            if in_flight.is_none() {
                match self.next_step(self.clock.now()) {
                    Step::Send(request) => in_flight = Some(send(sink, request)),
                    Step::WaitUntil(monotonic) => wake = Some(monotonic),
                    Step::Idle => {}
                }
            }
            let mut ask_at = None;
            if asking.is_none() {
                (asking, ask_at) = self.next_question();
            }
            let now = self.clock.now();
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = sleep_until(Some(self.next_tick), now) => self.tick(),
                identity = &mut finding => finding = self.find(finder, Some(identity)),
                (request, answer) = answered(&mut in_flight) => {
                    in_flight = None;
                    self.answered(request, &answer);
                }
                answer = answered(&mut asking) => {
                    asking = None;
                    self.learned(answer);
                }
                () = sleep_until(wake, now) => {}
                () = sleep_until(ask_at, now) => {}
            }
        }
        info!("stopping: taking a last reading");
        self.tell_systemd(sd_notify::NotifyState::Stopping);
        drop(shutdown);
        self.finish(sink, in_flight, signal()).await;
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
        self.tell_systemd(sd_notify::NotifyState::Watchdog);
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

    fn answered(&mut self, request: Request, answer: &Result<(), Failure>) {
        self.publisher.answered(self.clock.now(), request, answer, &mut self.spool);
        self.write_status();
    }

    /// What to send next, when anything is sent at all.
    fn next_step(&mut self, now: Moment) -> Step {
        match self.settings.publishes {
            true => self.publisher.next(now, &mut self.spool, &self.host),
            false => Step::Idle,
        }
    }

    fn write_status(&mut self) {
        let (series, scopes_left_out) = self.monitor.series();
        let host_id = match &self.host {
            Host::Known(id) => Some(id.clone()),
            Host::Pending | Host::Unknown => None,
        };
        let status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            started: self.started.wall.as_secs_f64(),
            written: self.clock.now().wall.as_secs_f64(),
            ended: self.ended,
            sample_interval_seconds: self.settings.monitor.sample_interval.as_secs_f64(),
            namespace: self.settings.namespace.clone(),
            profile: self.settings.monitor.series.profile.name().to_owned(),
            host_id,
            host_id_pending: self.host == Host::Pending,
            host_source: self.host_source,
            host_region: self.place.region.clone(),
            host_zone: self.place.zone.clone(),
            host_zone_id: self.place.zone_id.clone(),
            host_account_id: self.place.account_id.clone(),
            host_instance_type: self.place.instance_type.clone(),
            host_tags: self.place.tags.clone(),
            publishes: self.settings.publishes,
            samples: self.samples,
            reading_error: self.reading_error.clone(),
            sighting: self.sighting.clone(),
            series,
            scopes_left_out,
            unpublished_bytes: self.monitor.unpublished_bytes(),
            commits_fail: self.failing.commit,
            spool: self.spool.standing(),
            publish: self.publisher.standing(),
        };
        match self.runtime.write_status(&status) {
            Ok(()) => {
                self.failing.status.ends();
            }
            Err(error) if self.failing.status.begins(self.clock.now().monotonic) => {
                warn!(%error, "the status cannot be written; `efsmon status` will be out of date");
            }
            Err(_) => {}
        }
    }

    /// Without systemd there is nobody to tell.
    fn tell_systemd(&self, state: sd_notify::NotifyState<'_>) {
        let _ = sd_notify::notify(&[state]);
    }
}

fn send<'a>(sink: &'a impl Sink, request: Request) -> InFlight<'a> {
    Box::pin(async move {
        let answer = sink.put(&request.batch).await;
        (request, answer)
    })
}

/// What comes back, when something is under way.
async fn answered<T>(under_way: &mut Option<Pin<Box<dyn Future<Output = T> + '_>>>) -> T {
    match under_way {
        Some(answer) => answer.await,
        None => pending().await,
    }
}

async fn sleep_until(monotonic: Option<Duration>, now: Moment) {
    match monotonic {
        Some(monotonic) => tokio::time::sleep(monotonic.saturating_sub(now.monotonic)).await,
        None => pending().await,
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
