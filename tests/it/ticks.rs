//! The loop on a clock of the test's: a sample at every multiple, whatever else wakes it.

use std::cell::RefCell;
use std::fs;
use std::time::Duration;

use efsmon::catalog::Profile;
use efsmon::clock::Clock;
use efsmon::daemon::host::{HostFinder, Surroundings};
use efsmon::daemon::runtime::RuntimeDirectory;
use efsmon::daemon::{Daemon, Edges, Settings};
use efsmon::minutes::SeriesLimits;
use efsmon::model::{Batch, Datum, Moment};
use efsmon::monitor;
use efsmon::publish::{Failure, Publisher, Sink};
use efsmon::source::{Namespace, Roots, Source};
use efsmon::spool::{Directory, Limits, Spool};

/// Time that passes when everybody waits.
struct Paused {
    start: tokio::time::Instant,
}

impl Clock for Paused {
    fn now(&self) -> Moment {
        let since = self.start.elapsed();
        Moment {
            wall: Duration::from_secs(1_796_040_000) + since,
            monotonic: Duration::from_secs(5000) + since,
        }
    }
}

/// Takes 50 ms for everything.
#[derive(Default)]
struct Recorder {
    data: RefCell<Vec<Datum>>,
}

impl Sink for Recorder {
    async fn put(&self, batch: &Batch) -> Result<(), Failure> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.data.borrow_mut().extend(batch.data.iter().cloned());
        Ok(())
    }
}

/// Ten minutes of a host that sends at that place of the minute: samples taken and missed, and `SamplesLost`.
fn ten_minutes(place: std::ops::Range<u32>) -> (u64, u64, f64) {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::create_dir_all(path("proc/self")).unwrap();
    fs::create_dir_all(path("proc/sys/kernel/random")).unwrap();
    fs::write(path("proc/self/mountstats"), "device proc mounted on /proc with fstype proc\n").unwrap();
    fs::write(path("proc/self/mountinfo"), "22 1 0:21 / /proc rw - proc proc rw\n").unwrap();
    fs::write(path("proc/sys/kernel/random/boot_id"), "b\n").unwrap();
    let roots = Roots { procfs: path("proc"), sysfs: path("sys"), efs_state: path("efs") };
    let source = Source::new(roots, Namespace::Own);
    let runtime = RuntimeDirectory::lock(&path("run")).unwrap();
    let opened = Spool::open(Directory::open(&path("state")).unwrap(), "m", Limits::default()).unwrap();
    let is_there = |id: &String| place.contains(&(crc32fast::hash(id.as_bytes()) % 50_001));
    let identity = (0..).map(|number| format!("host-{number}")).find(is_there).unwrap();
    let publisher = Publisher::new(&identity, Duration::from_secs(60), fastrand::Rng::with_seed(1));
    let settings = Settings {
        monitor: monitor::Settings {
            sample_interval: Duration::from_secs(10),
            series: SeriesLimits::new(Profile::Minimal, 50),
            mounts: Vec::new(),
            stall_after: Duration::from_secs(30),
        },
        namespace: "EFSMon".to_owned(),
        publishes: true,
    };
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    tokio.block_on(async {
        let clock = Paused { start: tokio::time::Instant::now() };
        let finder = HostFinder::new(Some("host".to_owned()), &source, Surroundings::Host);
        let sink = Recorder::default();
        let edges = Edges { source: &source, clock: &clock, runtime: &runtime };
        let mut daemon = Daemon::new(settings, edges, opened, publisher);
        let end = async || tokio::time::sleep(Duration::from_secs(605)).await;
        daemon.run(&sink, &finder, end).await;
        let data = sink.data.borrow();
        let lost =
            data.iter().filter(|datum| datum.metric == "SamplesLost").flat_map(|datum| &datum.values).sum();
        let status: serde_json::Value =
            serde_json::from_slice(&fs::read(path("run/status.json")).unwrap()).unwrap();
        let samples = |kind: &str| status["samples"][kind].as_u64().unwrap();
        (samples("taken"), samples("missed"), lost)
    })
}

/// At the start, at 60 multiples of 10 s, and at the end.
#[test]
fn no_sample_is_skipped_wherever_in_the_minute_a_host_sends() {
    assert_eq!(ten_minutes(35_000..35_900), (62, 0, 0.0));
    assert_eq!(ten_minutes(39_100..39_900), (62, 0, 0.0));
}
