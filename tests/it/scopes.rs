//! Whose figures a mount's are: file system, host, access point, mount point; and that many mounts of one are one.

use std::fmt::Write;
use std::time::Duration;

use efsmon::batch;
use efsmon::catalog::{OwnFigures, Profile};
use efsmon::efs::{ConfiguredMount, Identity};
use efsmon::minutes::SeriesLimits;
use efsmon::model::{Datum, Moment};
use efsmon::monitor::{Monitor, Settings, State};
use efsmon::source::{Reading, View};

const ONE: &str = "fs-0a1b2c3d4e5f60711";
const TWO: &str = "fs-0123456789abcdef0";
const NOON: u64 = 1_796_040_000;

/// One superblock of a reading.
#[derive(Clone)]
struct Mount {
    minor: usize,
    /// As the kernel prints them.
    points: Vec<String>,
    file_system: &'static str,
    age: u64,
    /// READ, WRITE, COMMIT, GETATTR: eight numbers and the errors.
    counters: [[u64; 9]; 4],
    payload: [u64; 2],
    /// Requests that were sent without a reply.
    unanswered: u64,
}

impl Mount {
    fn new(minor: usize, point: &str, file_system: &'static str) -> Mount {
        let points = vec![point.to_owned()];
        Mount {
            minor,
            points,
            file_system,
            age: 90_000,
            counters: [[0; 9]; 4],
            payload: [0; 2],
            unanswered: 0,
        }
    }

    /// Reads so many bytes.
    fn read(&mut self, bytes: u64) {
        let read = &mut self.counters[0];
        (read[0], read[1], read[4]) = (read[0] + 1, read[1] + 1, read[4] + bytes);
    }
}

fn reading(milliseconds: u64, mounts: &[Mount]) -> Reading {
    let (mut mountinfo, mut mountstats) = (String::new(), String::new());
    for Mount { minor, points, file_system, age, counters, payload: [read, written], unanswered } in mounts {
        let device = format!("{file_system}.efs.eu-west-1.amazonaws.com:/");
        for point in points {
            writeln!(mountinfo, "60 31 0:{minor} / {point} rw - nfs4 {device} rw,addr=10.0.0.1").unwrap();
            write!(
                mountstats,
                "device {device} mounted on {point} with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1\n\
                 \tage:\t{}\n\tcaps:\tx\n\tsec:\tx\n\tevents:\t{}\n\tbytes:\t0 0 0 0 {read} {written} 0 0 \n\
                 \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\txprt:\ttcp 0 0 1 0 0 {} 7 0 9 0 2 0 0\n\tper-op statistics\n",
                age + milliseconds / 1000,
                "0 ".repeat(27),
                7 + unanswered,
            )
            .unwrap();
            for (name, row) in ["READ", "WRITE", "COMMIT", "GETATTR"].iter().zip(counters) {
                let row = row.map(|number| number.to_string()).join(" ");
                writeln!(mountstats, "\t{name:>12}: {row}").unwrap();
            }
            mountstats.push('\n');
        }
    }
    let since = Duration::from_millis(milliseconds);
    Reading {
        moment: Moment {
            wall: Duration::from_secs(NOON) + since,
            monotonic: Duration::from_secs(90_000) + since,
        },
        view: View::Init,
        mountinfo_before: mountinfo.clone().into_bytes(),
        mountstats: mountstats.into_bytes(),
        mountinfo_after: mountinfo.into_bytes(),
    }
}

fn rule(mount_point: &str, file_system: &str, access_point: &str) -> ConfiguredMount {
    let identity = Identity {
        file_system: file_system.parse().unwrap(),
        access_point: Some(access_point.parse().unwrap()),
        region: None,
        mount_target: None,
        zone: None,
    };
    ConfiguredMount { mount_point: mount_point.to_owned(), identity }
}

fn monitor(series: SeriesLimits, mounts: Vec<ConfiguredMount>) -> Monitor {
    let (sample_interval, stall_after) = (Duration::from_secs(10), Duration::from_secs(30));
    Monitor::new(Settings { sample_interval, series, mounts, stall_after }, State::default())
}

/// Everything on.
fn limits(profile: Profile) -> SeriesLimits {
    SeriesLimits {
        access_points: Some(50),
        mount_points: Some(50),
        cron_script: true,
        ..SeriesLimits::new(profile, 1000)
    }
}

/// A minute of readings every 10 s, in each of which every mount reads so many bytes.
fn minute(monitor: &mut Monitor, mut mounts: Vec<(Mount, u64)>) -> Vec<Datum> {
    for sample in 0..=6 {
        let now: Vec<Mount> = mounts.iter().map(|(mount, _)| mount.clone()).collect();
        monitor.observe(&reading(sample * 10_000, &now), Vec::new);
        mounts.iter_mut().for_each(|(mount, bytes)| mount.read(*bytes));
    }
    monitor.close(&OwnFigures::default())
}

/// The dimensions of a metric's data, and the sum of each.
fn sums(data: &[Datum], metric: &str) -> Vec<(String, f64)> {
    let of_metric = data.iter().filter(|datum| datum.metric == metric);
    let sum = |datum: &Datum| {
        let dimensions = datum.dimensions.iter();
        let dimension =
            dimensions.map(|d| format!("{}={}", d.name, d.value.as_deref().unwrap_or("(this host)")));
        (
            dimension.collect::<Vec<_>>().join(" "),
            datum.values.iter().zip(&datum.counts).map(|(v, c)| v * c).sum(),
        )
    };
    let mut sums: Vec<_> = of_metric.map(sum).collect();
    sums.sort_by(|one, other| one.0.cmp(&other.0));
    sums
}

/// What `count` superblocks do in ten minutes with everything in them: readings on their multiple and off it, a
/// void one, mounts, a gap. Their counters together are the same for every `count`.
fn published(count: usize, profile: Profile) -> Vec<Datum> {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut monitor = monitor(limits(profile), vec![rule("/mnt/efs", ONE, "fsap-89abcdef")]);
    let mut mounts: Vec<Mount> = (0..count).map(|n| Mount::new(40 + n, "/mnt/efs", ONE)).collect();
    let mut data = Vec::new();
    let moments =
        [0, 10, 20, 30, 50, 60, 75, 80, 93, 110, 115, 120, 130, 170, 250, 431, 440, 450, 460, 475, 480, 600];
    for (index, seconds) in moments.into_iter().enumerate() {
        let late = [3, 900, 20, 450][index % 4];
        monitor.observe(&reading(seconds * 1000 + late, &mounts), Vec::new);
        data.extend(monitor.close(&OwnFigures::default()));
        // A hundred shares of a load, each of its own size; whoever is there takes them.
        for share in 0..100 {
            let mount = &mut mounts[share % count];
            for row in &mut mount.counters {
                let requests = rng.u64(..9);
                let more =
                    [requests, requests + rng.u64(..2), rng.u64(..2), rng.u64(..5000), rng.u64(..9000)];
                let times = [rng.u64(..30), rng.u64(..30), rng.u64(..60), rng.u64(..2)];
                row.iter_mut().zip(more.into_iter().chain(times)).for_each(|(number, more)| *number += more);
            }
            mount.payload.iter_mut().for_each(|bytes| *bytes += rng.u64(..9000));
        }
        if index == 8 {
            // All are mounted anew, 8 seconds before they are read next.
            for mount in &mut mounts {
                (mount.counters, mount.payload) = ([[0; 9]; 4], [0; 2]);
                mount.minor += 200;
                mount.age = 0;
            }
        }
    }
    data.extend(monitor.close_early(&OwnFigures::default()));
    data
}

#[test]
fn a_hundred_superblocks_publish_exactly_what_one_with_their_load_publishes() {
    for profile in Profile::ALL {
        let (hundred, one) = (published(100, profile), published(1, profile));
        assert!(one.len() > 100, "{}", one.len());
        for (hundred, one) in hundred.iter().zip(&one) {
            assert_eq!(hundred, one, "{}", profile.name());
        }
        assert_eq!(hundred.len(), one.len(), "{}", profile.name());
    }
}

#[test]
fn an_access_point_has_figures_that_all_hosts_share_and_a_mount_without_one_is_in_none() {
    let rules = vec![
        rule("/a", ONE, "fsap-0000000a"),
        rule("/b", ONE, "fsap-0000000b"),
        rule("/c", TWO, "fsap-0000000c"),
    ];
    let mut monitor = monitor(limits(Profile::Fleet), rules);
    let mount = |minor, point, file_system, bytes| (Mount::new(minor, point, file_system), bytes);
    let data = minute(
        &mut monitor,
        vec![
            mount(40, "/a", ONE, 100),
            mount(41, "/b", ONE, 10),
            mount(42, "/c", TWO, 7),
            mount(43, "/d", TWO, 1),
        ],
    );
    let text = |text: &str| text.replace("ONE", ONE).replace("TWO", TWO);
    let expected = [
        ("FileSystemId=TWO", 48.0),
        ("FileSystemId=TWO AccessPointId=fsap-0000000c", 42.0),
        ("FileSystemId=ONE", 660.0),
        ("FileSystemId=ONE AccessPointId=fsap-0000000a", 600.0),
        ("FileSystemId=ONE AccessPointId=fsap-0000000b", 60.0),
    ];
    assert_eq!(sums(&data, "ReadBytes"), expected.map(|(name, sum)| (text(name), sum)));
    let reads = sums(&data, "ReadOperations");
    assert_eq!(reads[1], (text("FileSystemId=TWO AccessPointId=fsap-0000000c"), 6.0));
    let of_access_points =
        data.iter().filter(|datum| datum.dimensions.iter().any(|d| d.name == "AccessPointId"));
    assert!(of_access_points.inspect(|datum| assert!(!datum.needs_host(), "{datum:?}")).count() > 0);
}

#[test]
fn a_mount_point_is_named_as_cloudwatch_takes_it_and_a_pods_is_not() {
    let long = format!("/srv/{}", "x".repeat(1100));
    let points = [
        "/mnt/with\\040space",
        "/mnt/d\u{fc}nn",
        &long,
        "/var/lib/kubelet/pods/0aa6e1c2-6c5c-4c34-9a3c-6a9d3c0f1e29/volumes/kubernetes.io~csi/pvc-1/mount",
        "/var/lib/ecs/volumes/ecs-task-1-data",
        "/var/lib/docker/volumes/data/_data",
        "/run/containerd/io.containerd.runtime.v2.task/k8s.io/1/rootfs/data",
    ];
    let mounts = (40..).zip(points).map(|(minor, point)| (Mount::new(minor, point, ONE), 1 << 20)).collect();
    let mut monitor = monitor(limits(Profile::Fleet), Vec::new());
    let data = minute(&mut monitor, mounts);
    let data: Vec<Datum> =
        batch::split("EFSMon", data).batches.into_iter().flat_map(|batch| batch.data).collect();
    let found = sums(&data, "ReadThroughput");
    let mut values: Vec<&str> =
        found.iter().map(|(name, _)| name.split_once("MountPoint=").unwrap().1).collect();
    values.sort_unstable();
    // 1 MiB in each 10 s, for 60 s.
    assert!(found.iter().all(|(_, sum)| (sum - 6.0).abs() < 1e-9), "{found:?}");
    assert_eq!(values.len(), 3, "{values:?}");
    assert_eq!(&values[..2], ["/mnt/d\\xc3\\xbcnn", "/mnt/with space"]);
    // The CRC-32 of the whole, as zlib gives it.
    assert_eq!(values[2], format!("/srv/{}~f8325915", "x".repeat(1024 - 5 - 9)));
    for metric in ["WriteThroughput", "MountStalled"] {
        let of_mount_points = sums(&data, metric).into_iter().filter(|(name, _)| name.contains("MountPoint"));
        assert_eq!(of_mount_points.count(), 3, "{metric}");
    }
    let everything = serde_json::to_string(&data).unwrap();
    assert!(
        !["kubelet", "pvc", "ecs-task", "docker", "containerd"].iter().any(|text| everything.contains(text))
    );
}

#[test]
fn what_is_mounted_at_several_places_counts_once_at_the_first() {
    let mut mount = Mount::new(40, "/srv/first", ONE);
    mount.points.push("/srv/second".to_owned());
    let mut behind_a_pod = Mount::new(
        41,
        "/var/lib/kubelet/pods/0aa6e1c2-6c5c-4c34-9a3c-6a9d3c0f1e29/volumes/kubernetes.io~csi/x/mount",
        ONE,
    );
    behind_a_pod.points.push("/srv/third".to_owned());
    let mut monitor = monitor(limits(Profile::Minimal), Vec::new());
    let data = minute(&mut monitor, vec![(mount, 2 << 20), (behind_a_pod, 1 << 20)]);
    let found: Vec<String> =
        sums(&data, "ReadThroughput").into_iter().map(|(name, sum)| format!("{name}: {sum:.3}")).collect();
    let client = format!("FileSystemId={ONE} InstanceId=(this host)");
    let expected = [
        format!("{client}: 18.000"),
        format!("{client} MountPoint=/srv/first: 12.000"),
        format!("{client} MountPoint=/srv/third: 6.000"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_cron_scripts_metrics_are_the_whole_hosts_in_a_namespace_of_their_own() {
    let mounts = || vec![(Mount::new(40, "/a", ONE), 3 << 20), (Mount::new(41, "/b", TWO), 2 << 20)];
    let data = minute(&mut monitor(limits(Profile::Fleet), Vec::new()), mounts());
    let of_script: Vec<&Datum> = data.iter().filter(|datum| datum.metric.starts_with("ec2-efs-")).collect();
    let [read, write] = of_script.as_slice() else { panic!("{of_script:?}") };
    // 5 MiB in each 10 s: six values that are one, of 60 seconds.
    assert_eq!((&*read.metric, read.unit.name()), ("ec2-efs-read-throughput", "None"));
    assert_eq!((read.values.as_slice(), read.counts.as_slice()), (&[0.5][..], &[60.0][..]));
    assert_eq!((write.values.as_slice(), write.counts.as_slice()), (&[0.0][..], &[60.0][..]));
    let [dimension] = read.dimensions.as_slice() else { panic!("{read:?}") };
    assert_eq!((&*dimension.name, &dimension.value), ("InstanceID", &None));
    let batches = batch::split("EFSMon", data.clone()).batches;
    let theirs: Vec<_> = batches.iter().filter(|batch| batch.namespace == "CustomEC2").collect();
    assert_eq!(theirs.iter().map(|batch| batch.data.len()).collect::<Vec<_>>(), [2]);
    let others = batches.iter().filter(|batch| batch.namespace == "EFSMon");
    assert_eq!(others.map(|batch| batch.data.len()).sum::<usize>(), data.len() - 2);
}

#[test]
fn a_mount_whose_server_does_not_answer_is_stalled_in_each_sample() {
    let mut monitor = monitor(limits(Profile::Standard), Vec::new());
    let mut mounts = vec![Mount::new(40, "/stuck", ONE), Mount::new(41, "/fine", ONE)];
    let mut data = Vec::new();
    for sample in 0..=12 {
        monitor.observe(&reading(sample * 10_000, &mounts), Vec::new);
        data = monitor.close(&OwnFigures::default());
        mounts[0].unanswered = 3;
    }
    let client = format!("FileSystemId={ONE} InstanceId=(this host)");
    let stalled: Vec<(String, f64)> = sums(&data, "MountStalled");
    // The second minute, in whose six samples it had been silent for more than 30 s.
    let expected = [
        (format!("FileSystemId={ONE}"), 6.0),
        (client.clone(), 6.0),
        (format!("{client} MountPoint=/fine"), 0.0),
        (format!("{client} MountPoint=/stuck"), 6.0),
    ];
    assert_eq!(stalled, expected);
    let counts =
        data.iter().filter(|datum| datum.metric == "MountStalled").map(|datum| datum.counts.as_slice());
    assert!(counts.into_iter().all(|counts| counts == [6.0]));
}

#[test]
fn what_is_not_turned_on_is_nowhere() {
    let rules = vec![rule("/a", ONE, "fsap-0000000a")];
    for profile in Profile::ALL {
        let mut monitor = monitor(SeriesLimits::new(profile, 1000), rules.clone());
        let data = minute(&mut monitor, vec![(Mount::new(40, "/a", ONE), 3 << 20)]);
        let batches = batch::split("EFSMon", data.clone()).batches;
        assert!(batches.iter().all(|batch| batch.namespace == "EFSMon"));
        let text = serde_json::to_string(&(data, monitor.state())).unwrap();
        for absent in ["fsap-", "/a\"", "ec2-efs", "AccessPointId", "MountPoint", "InstanceID"] {
            assert!(!text.contains(absent), "{}: {absent}", profile.name());
        }
    }
}
