//! An instance whose metadata service answers after seconds, after minutes, or never, in hours of a clock that stands
//! still while nothing happens: one name at most, the others' figures meanwhile, and every minute in its place.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use efsmon::aws::ecs::{Task, TaskError};
use efsmon::aws::host::{Answer, Instance};
use efsmon::daemon::host::{HostFinder, HostSource, Identity, Metadata, Surroundings};
use efsmon::model::{Datum, Host};
use tracing::level_filters::LevelFilter;

use crate::paused::{self, Home, Paused, Recorder};

const FS: &str = "fs-0123456789abcdef0";
pub const INSTANCE: &str = "i-0123456789abcdef0";
/// 2026-11-30T12:00:00Z.
const NOON: u64 = 1_796_040_000;

/// Silent until then, for a second each time.
struct Late {
    clock: Paused,
    from: Duration,
    instance: &'static str,
    task: Option<Task>,
    asked: RefCell<u32>,
}

impl Late {
    fn new(clock: Paused, from: Duration) -> Late {
        Late { clock, from, instance: INSTANCE, task: None, asked: RefCell::new(0) }
    }
}

impl Metadata for &Late {
    async fn instance(&self) -> Answer {
        *self.asked.borrow_mut() += 1;
        if self.clock.start.elapsed() < self.from {
            tokio::time::sleep(Duration::from_secs(1)).await;
            return Answer::Silent;
        }
        Answer::Found(Box::new(Instance {
            id: self.instance.to_owned(),
            region: "eu-west-1".to_owned(),
            availability_zone: "eu-west-1b".to_owned(),
            account_id: None,
            instance_type: None,
            availability_zone_id: Some("euw1-az2".to_owned()),
            tags: BTreeMap::new(),
        }))
    }

    async fn task(&self, _: &str) -> Result<Task, TaskError> {
        self.task.clone().ok_or(TaskError::Refused(500))
    }
}

/// One mount, `seconds` after the start: every 10 s a READ of 200 bytes out and 9,800 back.
fn mountstats(seconds: u64) -> String {
    let (requests, age) = (1_000 + seconds / 10, 3_600 + seconds);
    let (sent, received) = (requests * 200, requests * 9_800);
    format!(
        "device {FS}.efs.eu-west-1.amazonaws.com:/ mounted on /mnt/a with fstype nfs4 statvers=1.1\n\
         \topts:\trw,vers=4.1,rsize=1048576,wsize=1048576,hard,noresvport,proto=tcp,timeo=600,retrans=2,sec=sys\n\
         \tage:\t{age}\n\tcaps:\tcaps=0x3fffff,wtmult=512\n\tnfsv4:\tbm0=0xfdffbfff,acl=0x0\n\
         \tsec:\tflavor=1,pseudoflavor=1\n\tevents:\t{}\n\tbytes:\t0 0 0 0 0 0 0 0 \n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
         \txprt:\ttcp 0 0 1 0 3 900 900 0 900 0 2 0 0\n\tper-op statistics\n\
         \t        NULL: 1 1 0 44 24 0 1 1 0\n\
         \t        READ: {requests} {requests} 0 {sent} {received} 0 {requests} {requests} 0\n\n",
        "0 ".repeat(27)
    )
}

const MOUNTINFO: &str = "22 1 259:1 / / rw - ext4 /dev/vda1 rw\n\
    60 22 0:52 / /mnt/a rw - nfs4 fs-0123456789abcdef0.efs.eu-west-1.amazonaws.com:/ rw\n";

/// The kernel's text of each sample, in place half a second before it.
async fn be_the_kernel(procfs: &Path, start: tokio::time::Instant) {
    for ten in 1.. {
        tokio::time::sleep_until(start + Duration::from_millis(ten * 10_000 - 500)).await;
        fs::write(procfs.join("self/mountstats"), mountstats(ten * 10)).unwrap();
    }
}

/// What an instance published.
pub struct Run {
    /// When each was put, since the start.
    pub data: Vec<(Duration, Datum)>,
    log: String,
    pub status: serde_json::Value,
    asked: u32,
}

/// One life of a machine with one mount.
#[derive(Clone, Copy)]
pub struct Boot {
    pub id: &'static str,
    pub instance: &'static str,
    /// Since noon.
    pub begins: Duration,
    /// After so long the time of day is set forward by so much.
    pub step: (Duration, Duration),
    /// When the metadata service begins to answer.
    pub answers: Duration,
    pub lasts: Duration,
    /// At the end the power is cut; else the daemon is told.
    pub power_cut: bool,
}

impl Boot {
    /// From noon on.
    pub fn lasting(lasts: Duration) -> Boot {
        Boot {
            id: "1b4e28ba-2fa1-4d2e-883f-0016d3cca427",
            instance: INSTANCE,
            begins: Duration::ZERO,
            step: (Duration::MAX, Duration::ZERO),
            answers: Duration::ZERO,
            lasts,
            power_cut: false,
        }
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What an instance published in so many minutes from noon on, when its metadata service answers from then on.
fn run(minutes: u64, from: Duration) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let lasts = Duration::from_secs(60 * minutes + 1);
    boot(directory.path(), Boot { answers: from, ..Boot::lasting(lasts) })
}

/// Boots the machine of that directory, which keeps the daemon's state.
pub fn boot(directory: &Path, boot: Boot) -> Run {
    let path = |name: &str| directory.join(name);
    for folder in ["proc/self", "proc/sys/kernel/random", "sys/class/dmi/id"] {
        fs::create_dir_all(path(folder)).unwrap();
    }
    fs::write(path("proc/self/mountinfo"), MOUNTINFO).unwrap();
    fs::write(path("proc/self/mountstats"), mountstats(0)).unwrap();
    fs::write(path("proc/sys/kernel/random/boot_id"), boot.id).unwrap();
    fs::write(path("proc/sys/kernel/hostname"), "ip-10-0-1-5\n").unwrap();
    fs::write(path("sys/class/dmi/id/sys_vendor"), "Amazon EC2\n").unwrap();
    let home = Home::at(directory);
    let log = Log::default();
    let writer = log.clone();
    // A line that another thread logs for the first time while nobody listens is switched off, and if this one begins
    // to listen at that moment, it stays off. So somebody always listens.
    let everything = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(std::io::sink);
    let _ = tracing::subscriber::set_global_default(everything.finish());
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let (data, asked) = tracing::subscriber::with_default(subscriber, || {
        paused::live(async {
            let clock = Paused { step: boot.step, ..Paused::at(Duration::from_secs(NOON) + boot.begins) };
            let late = Late { instance: boot.instance, ..Late::new(clock, boot.answers) };
            let procfs = path("proc");
            let finder = HostFinder::new(None, &home.source, Surroundings::Host).with_metadata(&late);
            let sink = Recorder::that_takes(Duration::from_millis(50));
            let publisher = paused::publisher("m", Duration::from_secs(60));
            let mut daemon = home.daemon(paused::settings(), &clock, publisher);
            let end = async || match boot.power_cut {
                true => std::future::pending().await,
                false => tokio::time::sleep(boot.lasts).await,
            };
            tokio::select! {
                () = daemon.run(&sink, &finder, end) => {}
                () = tokio::time::sleep(boot.lasts), if boot.power_cut => {}
                () = be_the_kernel(&procfs, clock.start) => unreachable!(),
            }
            (sink.data(), late.asked.take())
        })
    });
    let status = home.status();
    Run { data, log: String::from_utf8(log.0.lock().unwrap().clone()).unwrap(), status, asked }
}

impl Run {
    /// The data of a metric with these dimensions, by minute after noon: when they were put, and their value.
    pub fn series(&self, metric: &str, names: &[&str]) -> BTreeMap<i64, (Duration, f64)> {
        let mut series = BTreeMap::new();
        for (at, datum) in &self.data {
            let its = datum.dimensions.iter().map(|dimension| dimension.name.as_ref());
            if datum.metric == metric && its.eq(names.iter().copied()) {
                let minute = (datum.timestamp.seconds() - NOON as i64) / 60;
                let sum = datum.values.iter().zip(&datum.counts).map(|(value, count)| value * count).sum();
                assert_eq!(
                    series.insert(minute, (*at, sum)),
                    None,
                    "{metric} of minute {minute} is put twice"
                );
            }
        }
        series
    }

    pub fn names(&self) -> BTreeSet<&str> {
        let dimensions = self.data.iter().flat_map(|(_, datum)| &datum.dimensions);
        dimensions.filter(|d| d.name == "InstanceId").map(|d| d.value.as_deref().unwrap()).collect()
    }

    /// The file system's bytes of every whole minute, each put within the two minutes after it.
    fn file_system_is_in_time(&self, minutes: i64) {
        let bytes = self.series("ReadBytes", &["FileSystemId"]);
        for minute in 0..minutes {
            let (at, sum) = bytes[&minute];
            // Six READs of 10,000 bytes.
            assert_eq!(sum, 60_000.0, "minute {minute}");
            let end = Duration::from_secs(60 * (minute as u64 + 1));
            assert!((end..end + Duration::from_secs(60)).contains(&at), "minute {minute} at {at:?}");
        }
    }

    /// This host's rate of every whole minute is put under its own minute, and none before it has a name.
    fn host_is_complete(&self, minutes: i64, named: Duration) {
        let rates = self.series("ReadThroughput", &["FileSystemId", "InstanceId"]);
        for minute in 0..minutes {
            let (at, sum) = rates[&minute];
            // 1,000 bytes a second for 60 s, in MiB.
            assert!((sum - 60_000.0 / 1_048_576.0).abs() < 1e-9, "minute {minute}: {sum}");
            assert!(at >= named, "minute {minute} at {at:?}");
        }
        assert_eq!(self.names(), BTreeSet::from([INSTANCE]));
        assert_eq!(
            (&self.status["host_id"], &self.status["host_source"]),
            (&INSTANCE.into(), &"imds".into())
        );
        assert_eq!(self.status["host_zone_id"], "euw1-az2");
    }
}

#[test]
fn an_instance_that_names_itself_after_seconds_has_one_name_from_the_first_minute_on() {
    let run = run(5, Duration::from_secs(5));
    run.file_system_is_in_time(5);
    run.host_is_complete(5, Duration::from_secs(60));
    assert_eq!(run.log.matches("this host's id is not known yet").count(), 1, "{}", run.log);
}

#[test]
fn minutes_that_wait_for_the_name_arrive_under_their_own_time() {
    let run = run(12, Duration::from_secs(300));
    run.file_system_is_in_time(12);
    run.host_is_complete(12, Duration::from_secs(300));
    assert_eq!(run.log.matches("this host's id is not known yet").count(), 1, "{}", run.log);
    // At 0, 6, 17, 38, 79, 140, 201, 262 and 323 s, each silence of a second before its pause; and then no more.
    assert_eq!(run.asked, 9);
}

#[test]
fn an_instance_that_never_names_itself_has_no_series_and_says_so_once() {
    let run = run(30, Duration::MAX);
    run.file_system_is_in_time(30);
    assert_eq!(run.names(), BTreeSet::new());
    for said in ["this host's id is not known yet", "this host has no id", "the figures per host are lost"] {
        assert_eq!(run.log.matches(said).count(), 1, "{said}\n{}", run.log);
    }
    let line = run.log.lines().find(|line| line.contains("this host has no id")).unwrap();
    for part in
        ["does not answer the token request", "no asset tag", "HttpPutResponseHopLimit", "or set host.id"]
    {
        assert!(line.contains(part), "{part}\n{line}");
    }
    assert_eq!((&run.status["host_id"], &run.status["host_id_pending"]), (&().into(), &false.into()));
    // Nine minutes ended before it gave up.
    assert_eq!(run.status["spool"]["unattributable_files"], 9);
    // At 0, 6, 17, 38 and 79 s, and then every 61 s up to 567 s: the next would be later than ten minutes.
    assert_eq!(run.asked, 13);
}

/// What is found in a task whose agent says that, with a metadata service that answers from then on.
fn in_a_task(
    task: Option<Task>,
    from: Duration,
    asset_tag: bool,
    on_fargate: bool,
) -> (Identity, Duration, u32) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir_all(path("sys/class/dmi/id")).unwrap();
    if asset_tag {
        fs::write(path("sys/class/dmi/id/board_asset_tag"), "i-0fedcba9876543210\n").unwrap();
    }
    let home = Home::at(directory.path());
    paused::live(async {
        let clock = Paused::at(Duration::from_secs(NOON));
        let late = Late { task, ..Late::new(clock, from) };
        let surroundings = Surroundings::Task { endpoint: "http://agent".to_owned(), on_fargate };
        let finder = HostFinder::new(None, &home.source, surroundings).with_metadata(&late);
        let identity = finder.find(&clock).await;
        (identity, clock.start.elapsed(), late.asked.take())
    })
}

fn task(on_instance: bool) -> Option<Task> {
    Some(Task {
        id: "158d1c8083dd49d6b527399fd6414f5c".to_owned(),
        region: Some("eu-west-1".to_owned()),
        account_id: Some("123456789012".to_owned()),
        availability_zone: Some("eu-west-1a".to_owned()),
        availability_zone_id: None,
        on_instance,
    })
}

fn known(identity: &Identity) -> (&str, HostSource) {
    match &identity.host {
        Host::Known(id) => (id, identity.source.unwrap()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_goes_by_its_instance_where_it_has_one_and_by_itself_where_not() {
    let by_itself = ("158d1c8083dd49d6b527399fd6414f5c", HostSource::Ecs);
    let (identity, after, asked) = in_a_task(task(false), Duration::ZERO, true, false);
    assert_eq!((known(&identity), after, asked), (by_itself, Duration::ZERO, 0));
    assert_eq!(identity.place.zone.as_deref(), Some("eu-west-1a"));

    let (identity, ..) = in_a_task(task(true), Duration::ZERO, true, false);
    assert_eq!(known(&identity), (INSTANCE, HostSource::Imds));
    let (identity, ..) = in_a_task(task(true), Duration::MAX, true, false);
    assert_eq!(known(&identity), ("i-0fedcba9876543210", HostSource::AssetTag));
    // Rather late than two names.
    let (identity, after, _) = in_a_task(task(true), Duration::from_secs(300), false, false);
    assert_eq!(known(&identity), (INSTANCE, HostSource::Imds));
    assert!(after < Duration::from_secs(400), "{after:?}");
    let (identity, after, _) = in_a_task(task(true), Duration::MAX, false, false);
    assert_eq!(known(&identity), by_itself);
    assert!((Duration::from_secs(500)..=Duration::from_secs(600)).contains(&after), "{after:?}");
}

#[test]
fn a_task_of_fargate_is_no_instance_even_when_its_agent_is_silent() {
    let (identity, _, asked) = in_a_task(None, Duration::ZERO, true, true);
    assert_eq!((identity.host, asked), (Host::Unknown, 0));
}
