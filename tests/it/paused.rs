//! Daemons in time that passes only while everybody waits: hours of it in a moment.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use efsmon::catalog::Profile;
use efsmon::clock::Clock;
use efsmon::daemon::runtime::RuntimeDirectory;
use efsmon::daemon::{Daemon, Edges, Settings};
use efsmon::minutes::SeriesLimits;
use efsmon::model::{Batch, Datum, Moment};
use efsmon::monitor;
use efsmon::publish::{Failure, Publisher, Sink};
use efsmon::source::{Namespace, Roots, Source};
use efsmon::spool::{Directory, Limits, Spool};
use tokio::time::Instant;

/// Lives a life in such time.
pub fn live<T>(life: impl Future<Output = T>) -> T {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    tokio.unwrap().block_on(life)
}

#[derive(Clone, Copy)]
pub struct Paused {
    pub start: Instant,
    /// The time of day at the start, since 1970.
    pub wall: Duration,
    /// After so long the time of day is set forward by so much.
    pub step: (Duration, Duration),
}

impl Paused {
    /// From now on, which is that time of day.
    pub fn at(wall: Duration) -> Paused {
        Paused { start: Instant::now(), wall, step: (Duration::MAX, Duration::ZERO) }
    }
}

impl Clock for Paused {
    fn now(&self) -> Moment {
        let since = self.start.elapsed();
        let step = if since > self.step.0 { self.step.1 } else { Duration::ZERO };
        Moment { wall: self.wall + since + step, monotonic: Duration::from_secs(5000) + since }
    }
}

/// Takes everything, a while later.
pub struct Recorder {
    start: Instant,
    takes: Duration,
    /// What was put, and when, since the start.
    puts: RefCell<Vec<(Duration, Batch)>>,
}

impl Recorder {
    pub fn that_takes(takes: Duration) -> Recorder {
        Recorder { start: Instant::now(), takes, puts: RefCell::default() }
    }

    pub fn requests(&self) -> usize {
        self.puts.borrow().len()
    }

    /// What was put, and when, since the start.
    pub fn data(&self) -> Vec<(Duration, Datum)> {
        let puts = self.puts.borrow();
        puts.iter().flat_map(|(at, batch)| batch.data.iter().map(|datum| (*at, datum.clone()))).collect()
    }
}

impl Sink for Recorder {
    async fn put(&self, batch: &Batch) -> Result<(), Failure> {
        tokio::time::sleep(self.takes).await;
        self.puts.borrow_mut().push((self.start.elapsed(), batch.clone()));
        Ok(())
    }
}

/// The default settings, as far as the loop knows them.
pub fn settings() -> Settings {
    Settings {
        monitor: monitor::Settings {
            sample_interval: Duration::from_secs(10),
            series: SeriesLimits::new(Profile::Minimal, 50),
            mounts: Vec::new(),
            stall_after: Duration::from_secs(30),
        },
        namespace: "EFSMon".to_owned(),
        publishes: true,
    }
}

/// A machine in a folder: `proc`, `sys` and `efs`, and the daemon's own `state` and `run`.
pub struct Home<'a> {
    root: &'a Path,
    pub source: Source,
    runtime: RuntimeDirectory,
}

impl Home<'_> {
    pub fn at(root: &Path) -> Home<'_> {
        let path = |name: &str| root.join(name);
        let roots = Roots { procfs: path("proc"), sysfs: path("sys"), efs_state: path("efs") };
        let runtime = RuntimeDirectory::lock(&path("run")).unwrap();
        Home { root, source: Source::new(roots, Namespace::Own), runtime }
    }

    /// A daemon there, which goes on from what an earlier one kept.
    pub fn daemon<'a>(
        &'a self,
        settings: Settings,
        clock: &'a Paused,
        publisher: Publisher,
    ) -> Daemon<'a, Paused, Directory> {
        let state = Directory::open(&self.root.join("state")).unwrap();
        let opened = Spool::open(state, "m", Limits::default()).unwrap();
        let edges = Edges { source: &self.source, clock, runtime: &self.runtime };
        Daemon::new(settings, edges, opened, publisher)
    }

    /// What the daemon last said of itself.
    pub fn status(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.root.join("run/status.json")).unwrap()).unwrap()
    }
}

/// Sends every so often, like the host of that name.
pub fn publisher(identity: &str, interval: Duration) -> Publisher {
    Publisher::new(identity, interval, fastrand::Rng::with_seed(1))
}
