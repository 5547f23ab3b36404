//! A day of a busy Kubernetes node: 300 pods' volumes of three file systems, 2,000 of them mounted and as many
//! unmounted every hour. A kernel of the test's own keeps the books that the figures are held against.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use efsmon::catalog::{OwnFigures, Profile};
use efsmon::efs::{HelperMount, helper_mounts};
use efsmon::minutes::SeriesLimits;
use efsmon::model::{Datum, Moment};
use efsmon::monitor::{Monitor, Settings, State};
use efsmon::source::{Reading, StateFile, View};

const FILE_SYSTEMS: [&str; 3] = ["fs-0a1b2c3d4e5f60711", "fs-0123456789abcdef0", "fs-12345678"];
const VOLUMES: usize = 300;
const AN_HOUR: u64 = 2_000;
/// The longest interval that is allowed, so that a day is done soon.
const INTERVAL: u64 = 20;
const START: u64 = 1_796_040_000;
const HOUR: u64 = 3600;

/// A pod's volume. Which file system and access point it is of is its place's, so that each keeps its number.
struct Volume {
    minor: u32,
    born: u64,
    /// The mount helper has said what it is from this time on.
    named: u64,
    helper: HelperMount,
    device_line: String,
    mountinfo_line: String,
    /// READ, WRITE, COMMIT, GETATTR: requests, bytes sent and received, ms.
    counters: [[u64; 4]; 4],
    /// Their lines.
    operations: String,
    /// READ requests, READ bytes, WRITE bytes that a reading has shown.
    shown: Option<[u64; 3]>,
}

struct Node {
    rng: fastrand::Rng,
    now: u64,
    volumes: Vec<Volume>,
    made: u64,
    /// How much of the next volume is due to be replaced.
    due: u64,
    next: usize,
    free: BTreeSet<u32>,
    /// What the readings could see.
    seen: [u64; 3],
}

impl Node {
    fn new() -> Node {
        let mut node = Node {
            rng: fastrand::Rng::with_seed(300),
            now: 0,
            volumes: Vec::new(),
            made: 0,
            due: 0,
            next: 0,
            free: (40..100_000).collect(),
            seen: [0; 3],
        };
        for place in 0..VOLUMES {
            let volume = node.volume(place, 0);
            node.volumes.push(volume);
        }
        node.work();
        node
    }

    fn volume(&mut self, place: usize, born: u64) -> Volume {
        let serial = self.made;
        self.made += 1;
        // The kernel gives the lowest number that is free; every other time something else was faster.
        let minor =
            if serial.is_multiple_of(2) { self.free.pop_first() } else { self.free.pop_last() }.unwrap();
        let port = 20_049 + serial % 1000;
        let id = FILE_SYSTEMS[place % 3];
        let point = format!(
            "/var/lib/kubelet/pods/6f1d0000-6c5c-4c34-9a3c-0000{serial:08x}/volumes/kubernetes.io~csi/pvc-{serial:08x}/mount"
        );
        let text = format!(
            r#"{{"pid": 7, "fsId": "{id}", "mountpoint": "{point}", "accessPoint": "fsap-0000000{:x}"}}"#,
            place % 12
        );
        let name = format!("{id}.{}.{port}", point.trim_start_matches('/').replace('/', "."));
        let late = if self.rng.u32(..10) == 0 { self.rng.u64(..3 * INTERVAL) } else { 0 };
        Volume {
            minor,
            born,
            named: born + late,
            helper: helper_mounts(&[StateFile { name, text: Some(text.into_bytes()) }]).remove(0),
            device_line: format!(
                "device 127.0.0.1:/ mounted on {point} with fstype nfs4 statvers=1.1\n\
                 \topts:\trw,vers=4.1,hard,proto=tcp,port={port},timeo=600,retrans=2\n"
            ),
            mountinfo_line: format!(
                "60 22 0:{minor} / {point} rw shared:7 - nfs4 127.0.0.1:/ rw,vers=4.1,port={port}\n"
            ),
            counters: [[0; 4]; 4],
            operations: operations(&[[0; 4]; 4]),
            shown: None,
        }
    }

    /// 20 seconds, in which some volumes go and others come, if it churns.
    fn pass(&mut self, churns: bool) {
        self.now += INTERVAL;
        self.due += if churns { AN_HOUR * INTERVAL } else { 0 };
        while self.due >= HOUR {
            self.due -= HOUR;
            let place = self.next;
            self.next = (self.next + 1) % VOLUMES;
            // What is high is not used again.
            let minor = self.volumes[place].minor;
            self.free.extend((minor < 1000).then_some(minor));
            let born = self.now - self.rng.u64(1..INTERVAL);
            self.volumes[place] = self.volume(place, born);
        }
        self.work();
    }

    /// Of four volumes one is at work.
    fn work(&mut self) {
        let Node { rng, volumes, .. } = self;
        for volume in volumes {
            if rng.u32(..4) > 0 {
                continue;
            }
            for (counters, (most, sent, received)) in
                volume.counters.iter_mut().zip([(40, 0, 60_000), (12, 90_000, 0), (3, 0, 0), (90, 0, 0)])
            {
                let requests = rng.u64(..most);
                counters[0] += requests;
                counters[1] += requests * (220 + rng.u64(..=sent));
                counters[2] += requests * (120 + rng.u64(..=received));
                counters[3] += requests * rng.u64(1..9);
            }
            volume.operations = operations(&volume.counters);
        }
    }

    /// What is there now. In one of five, the newest volume is mounted while the texts are read.
    fn reading(&mut self) -> Reading {
        let comes_meanwhile =
            (self.rng.u32(..5) == 0 && self.now > 0).then(|| (self.next + VOLUMES - 1) % VOLUMES);
        let root = "22 1 259:1 / / rw shared:1 - ext4 /dev/nvme0n1p1 rw\n";
        let (mut before, mut after) = (root.to_owned(), root.to_owned());
        let mut stats = "device /dev/nvme0n1p1 mounted on / with fstype ext4\n".to_owned();
        for (place, volume) in self.volumes.iter_mut().enumerate() {
            after.push_str(&volume.mountinfo_line);
            record(&mut stats, volume, self.now - volume.born);
            if Some(place) == comes_meanwhile {
                continue;
            }
            before.push_str(&volume.mountinfo_line);
            let [read, write, ..] = &volume.counters;
            let counted = [read[0], read[1] + read[2], write[1] + write[2]];
            // Those of the beginning were there before: where counting starts is what they had.
            let earlier =
                volume.shown.replace(counted).unwrap_or(if self.now == 0 { counted } else { [0; 3] });
            for (seen, (now, earlier)) in self.seen.iter_mut().zip(counted.into_iter().zip(earlier)) {
                *seen += now - earlier;
            }
        }
        Reading {
            moment: Moment {
                wall: Duration::from_secs(START + self.now),
                monotonic: Duration::from_secs(500_000 + self.now),
            },
            view: View::Init,
            mountinfo_before: before.into_bytes(),
            mountstats: stats.into_bytes(),
            mountinfo_after: after.into_bytes(),
        }
    }

    fn helper_state(&self) -> Vec<HelperMount> {
        let named = self.volumes.iter().filter(|volume| volume.named <= self.now);
        named.map(|volume| volume.helper.clone()).collect()
    }
}

fn record(text: &mut String, volume: &Volume, age: u64) {
    text.push_str(&volume.device_line);
    write!(
        text,
        "\tage:\t{age}\n\tcaps:\tcaps=0x3ffdf\n\tsec:\tflavor=1\n\tevents:\t0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \
         0 0 0 0 0 0 \n\tbytes:\t0 0 0 0 0 0 0 0 \n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
         \txprt:\ttcp 0 0 1 0 13 39702 39702 0 79404 0 32 13234 19851\n\tper-op statistics\n"
    )
    .unwrap();
    text.push_str(&volume.operations);
}

fn operations(counters: &[[u64; 4]; 4]) -> String {
    let mut text = String::new();
    for (name, [requests, sent, received, ms]) in ["READ", "WRITE", "COMMIT", "GETATTR"].iter().zip(counters)
    {
        writeln!(text, "\t{name:>12}: {requests} {requests} 0 {sent} {received} {ms} {ms} {ms} 0").unwrap();
    }
    text + "\n"
}

/// How large what is kept and what is known is.
struct Size {
    /// Bytes on disk.
    state: usize,
    /// Superblocks whose counters are remembered.
    baselines: usize,
    /// Everything in memory, written out.
    memory: usize,
}

fn size(monitor: &Monitor) -> Size {
    let state = serde_json::to_string(monitor.state()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&state).unwrap();
    let baselines = json["sampler"]["known"].as_object().unwrap().len();
    Size { state: state.len(), baselines, memory: format!("{monitor:?}").len() }
}

/// What was published.
#[derive(Default)]
struct Day {
    /// Metric and dimensions of the first minute.
    series: BTreeSet<String>,
    /// By metric and names of dimensions.
    sums: BTreeMap<(String, String), u64>,
    /// Every dimension value.
    values: BTreeSet<String>,
}

impl Day {
    /// Takes in what closed at the end of a minute.
    #[track_caller]
    fn minute(&mut self, data: &[Datum], minute: u64) {
        let mut found = BTreeSet::new();
        for datum in data {
            let names: Vec<&str> = datum.dimensions.iter().map(|dimension| &*dimension.name).collect();
            let values: Vec<&str> =
                datum.dimensions.iter().map(|dimension| dimension.value.as_deref().unwrap_or("?")).collect();
            if ["ReadOperations", "ReadBytes", "WriteBytes"].contains(&&*datum.metric) {
                let sum: f64 =
                    datum.values.iter().zip(&datum.counts).map(|(value, count)| value * count).sum();
                *self.sums.entry((datum.metric.to_string(), names.join(" "))).or_default() += sum as u64;
            }
            found.insert(format!("{} {} {}", datum.metric, names.join(" "), values.join(" ")));
            self.values.extend(values.into_iter().map(str::to_owned));
        }
        if self.series.is_empty() {
            self.series = found;
        } else {
            assert_eq!(found, self.series, "minute {minute}");
        }
    }

    fn sum(&self, metric: &str, dimensions: &str) -> u64 {
        self.sums[&(metric.to_owned(), dimensions.to_owned())]
    }
}

/// 4 of the fleet, 2 of the script, 55 of each file system, of which 20 are an allowance for operations, and 6 of each
/// of 5 access points and of the others of 3 file systems.
const SERIES: usize = 4 + 2 + 3 * 55 + (5 + 3) * 6;

#[test]
fn a_day_of_pods_that_come_and_go_is_exact_and_costs_what_its_first_minute_costs() {
    let settings = Settings {
        sample_interval: Duration::from_secs(INTERVAL),
        series: SeriesLimits {
            access_points: Some(5),
            mount_points: Some(20),
            cron_script: true,
            ..SeriesLimits::new(Profile::Full, SERIES)
        },
        mounts: Vec::new(),
        stall_after: Duration::from_secs(30),
    };
    let mut monitor = Monitor::new(settings, State::default());
    let own = OwnFigures::default();
    let (mut node, mut day, mut sizes) = (Node::new(), Day::default(), Vec::new());
    monitor.observe(&node.reading(), || node.helper_state());
    while node.now < 24 * HOUR {
        node.pass(true);
        monitor.observe(&node.reading(), || node.helper_state());
        if node.now.is_multiple_of(60) {
            day.minute(&monitor.close(&own), node.now / 60);
        }
        if node.now.is_multiple_of(HOUR) {
            assert_eq!(monitor.series(), (SERIES, 0));
            sizes.push(size(&monitor));
        }
    }
    // Until the mount helper has said of the last ones what they are.
    while !node.now.is_multiple_of(60) || node.now == 24 * HOUR {
        node.pass(false);
        monitor.observe(&node.reading(), || node.helper_state());
    }
    day.minute(&monitor.close(&own), node.now / 60);

    assert_eq!(node.made, VOLUMES as u64 + 24 * AN_HOUR);
    for (metric, seen) in ["ReadOperations", "ReadBytes", "WriteBytes"].into_iter().zip(node.seen) {
        for dimensions in ["FileSystemId", "FileSystemId InstanceId", "FileSystemId AccessPointId"] {
            assert_eq!(day.sum(metric, dimensions), seen, "{metric} by {dimensions}");
        }
    }
    // Of each file system none of proxies, which nobody looked at, and 4 operations instead of 20.
    assert_eq!(day.series.len(), SERIES - 3 * (2 + 16));
    let access_points = day.values.iter().filter(|value| value.starts_with("fsap-0000000")).count();
    let others: Vec<&str> =
        day.values.iter().map(String::as_str).filter(|value| !value.starts_with("fsap-")).collect();
    let mut expected = vec!["?", "COMMIT", "GETATTR", "READ", "WRITE", "other"];
    expected.extend(FILE_SYSTEMS);
    expected.sort_unstable();
    assert_eq!((others, access_points), (expected, 5));

    // What a mount leaves behind does not pile up.
    let first = &sizes[0];
    for size in &sizes {
        // Those of the last reading, and those that were gone in the last 6: of 12 the numbers of 6 are not used again.
        assert!(size.baselines <= VOLUMES + 6 * 6 + 6, "{}", size.baselines);
        assert!(size.state < first.state * 102 / 100, "{} {}", first.state, size.state);
        assert!(size.memory < first.memory * 102 / 100, "{} {}", first.memory, size.memory);
    }
}
