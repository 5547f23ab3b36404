use std::fs;
use std::path::Path;

use super::*;
use crate::catalog::Profile;
use crate::minutes::SeriesLimits;
use crate::model::Moment;
use crate::monitor::{Settings, State};
use crate::publish::logged::logged;
use crate::source::{Namespace, Roots};

#[test]
fn what_comes_and_goes_is_said_once_in_five_minutes() {
    let mut latch = Latch::default();
    let second = Duration::from_secs;
    assert!(latch.begins(second(1000)));
    assert!(!latch.begins(second(1010)), "it lasts");
    assert!(latch.ends());
    assert!(!latch.ends());
    for time in (1020..1300).step_by(20) {
        assert!(!latch.begins(second(time)), "said at 1000");
        assert!(!latch.ends(), "what was not said does not end");
    }
    assert!(latch.begins(second(1300)));
    assert!(!latch.begins(second(9000)), "it lasts");
}

/// Seconds since boot; noon of some day was at 1,000.
struct Seconds(u64);

impl Clock for Seconds {
    fn now(&self) -> Moment {
        Moment {
            wall: Duration::from_secs(1_796_040_000 - 1000 + self.0),
            monotonic: Duration::from_secs(self.0),
        }
    }
}

struct Machine {
    directory: tempfile::TempDir,
    source: Source,
    monitor: Monitor,
    reader: Reader,
    /// Requests that were sent to every mount's server without a reply.
    unanswered: u64,
}

impl Machine {
    fn new() -> Machine {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("proc/self")).unwrap();
        let roots = Roots { procfs: path("proc"), sysfs: path("sys"), efs_state: path("efs") };
        let settings = Settings {
            sample_interval: Duration::from_secs(10),
            series: SeriesLimits::new(Profile::Minimal, 50),
            mounts: Vec::new(),
            stall_after: Duration::from_secs(30),
        };
        let monitor = Monitor::new(settings, State::default());
        let reader = Reader::new(&monitor);
        Machine { source: Source::new(roots, Namespace::Own), directory, monitor, reader, unanswered: 0 }
    }

    /// Mounts of `devices` that are as old as the machine, each of which has read `bytes` over the network.
    fn show(&self, now: u64, devices: &[&str], bytes: u64) {
        let (mut mountinfo, mut mountstats) = (String::new(), String::new());
        for (place, device) in devices.iter().enumerate() {
            mountinfo += &format!("6{place} 22 0:5{place} / /mnt/{place} rw - nfs4 {device} rw\n");
            mountstats += &format!(
                "device {device} mounted on /mnt/{place} with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1,port=20049\n\tage:\t{now}\n\
                 \tcaps:\tx\n\tsec:\tx\n\tevents:\t{}\n\tbytes:\t{}\n\tRPC iostats version: 1.1\n\
                 \txprt:\ttcp 0 0 1 0 0 {} 7 0 9 0 2 0 0\n\tper-op statistics\n\
                 \t        READ: 1 1 0 {bytes} 0 0 0 0 0\n\n",
                "0 ".repeat(27),
                "0 ".repeat(8),
                7 + self.unanswered,
            );
        }
        let this = self.directory.path().join("proc/self");
        fs::write(this.join("mountinfo"), mountinfo).unwrap();
        fs::write(this.join("mountstats"), mountstats).unwrap();
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn read(&mut self, now: u64) -> bool {
        self.reader.read(&self.source, &Seconds(now), &mut self.monitor).is_ok()
    }
}

const A: &str = "fs-01234567.efs.us-east-1.amazonaws.com:/";

#[test]
fn a_reading_that_fails_every_other_time_is_said_twice_in_five_minutes() {
    let mut machine = Machine::new();
    let log = logged(|| {
        for now in (1000..1300).step_by(20) {
            machine.show(now, &[A], 0);
            assert!(machine.read(now));
            fs::remove_file(machine.path().join("proc/self/mountstats")).unwrap();
            assert!(!machine.read(now + 10));
        }
    });
    assert_eq!(log.matches("this sample is void").count(), 1, "{log}");
    assert_eq!(log.matches("reading the mounts again").count(), 1, "{log}");
}

#[test]
fn a_helper_s_state_that_cannot_be_read_is_said_once_however_many_mounts_come() {
    let mut machine = Machine::new();
    fs::write(machine.path().join("efs"), "not a directory").unwrap();
    let log = logged(|| {
        for mounts in 1..=9 {
            let now = 1000 + 400 * mounts as u64;
            machine.show(now, &vec!["127.0.0.1:/"; mounts], 0);
            assert!(machine.read(now));
        }
    });
    assert_eq!(log.matches("the EFS mount helper's state cannot be read").count(), 1, "{log}");
}

#[test]
fn bytes_of_more_than_a_day_without_a_reading_are_said_once() {
    let mut machine = Machine::new();
    let log = logged(|| {
        // A day and 10 s.
        for (now, bytes) in [(1000, 0), (87_410, 5000), (87_420, 6000)] {
            machine.show(now, &[A], bytes);
            assert!(machine.read(now));
        }
    });
    let expected = "ERROR efsmon::daemon::reading: nobody read the counters for more than a day: which minutes these \
                    bytes belong to is not known, so they are not published bytes=5000";
    assert_eq!(log.lines().collect::<Vec<_>>(), [expected]);
}

#[test]
fn a_stalled_mount_is_said_once_and_so_is_its_end() {
    let mut machine = Machine::new();
    let log = logged(|| {
        for (now, unanswered) in [(1000, 0), (1010, 3), (1020, 3), (1040, 3), (1050, 4), (1060, 0)] {
            machine.unanswered = unanswered;
            machine.show(now, &[A, "nas:/"], 0);
            assert!(machine.read(now));
        }
    });
    let expected = [
        " WARN efsmon::daemon::reading: a mount's server does not answer mount_point=\"/mnt/0\" \
         reason=\"no reply for 30 s, while 3 requests were sent\" mounts=2",
        " INFO efsmon::daemon::reading: the servers of all mounts answer again",
    ];
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
}

/// Writes what a process shows, with so many hundredths of a second of CPU.
fn show_proxy(machine: &Machine, cpu: u64) {
    let process = machine.path().join("proc/4211");
    fs::create_dir_all(&process).unwrap();
    let stat = format!(
        "4211 (efs-proxy) S 1 4211 4211 0 -1 4194304 100 0 0 0 {cpu} 0 0 0 20 0 3 0 77 31334400 500 1 1 1 0 0 0 0 0 \
         4096 16386 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    );
    fs::write(process.join("stat"), stat).unwrap();
    let zeros = ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "CapInh", "CapPrm", "CapEff"];
    let zeros: String = zeros.iter().map(|name| format!("{name}:\t0\n")).collect();
    let status = format!(
        "Name:\tefs-proxy\nState:\tS (sleeping)\nTgid:\t4211\nPid:\t4211\nPPid:\t1\nTracerPid:\t0\nUid:\t0\t0\t0\t0\n\
         Gid:\t0\t0\t0\t0\nFDSize:\t256\nGroups:\t\nNSpid:\t4211\nThreads:\t3\nSigQ:\t0/96364\n{zeros}"
    );
    fs::write(process.join("status"), status).unwrap();
}

#[test]
fn what_a_proxy_uses_is_published_under_the_profile_that_has_it_and_not_looked_at_under_others() {
    for profile in [Profile::Standard, Profile::Full] {
        let mut machine = Machine::new();
        let mut settings = Settings {
            sample_interval: Duration::from_secs(10),
            series: SeriesLimits::new(profile, 500),
            mounts: Vec::new(),
            stall_after: Duration::from_secs(30),
        };
        settings.series.cron_script = true;
        machine.monitor = Monitor::new(settings, State::default());
        fs::create_dir_all(machine.path().join("efs")).unwrap();
        let state = r#"{"pid": 4211, "mountpoint": "/mnt/0"}"#;
        fs::write(machine.path().join("efs/fs-01234567.mnt.0.20049"), state).unwrap();
        for sample in 0..=6 {
            let now = 1000 + 10 * sample;
            machine.show(now, &["127.0.0.1:/"], 0);
            show_proxy(&machine, 900 + 250 * sample);
            assert!(machine.read(now));
        }
        let data = machine.monitor.close(&crate::catalog::OwnFigures::default());
        let values = |metric: &str| {
            let of_metric = data.iter().filter(|datum| datum.metric == metric);
            of_metric.map(|datum| (datum.values.clone(), datum.counts.clone())).collect::<Vec<_>>()
        };
        if profile == Profile::Full {
            // 2.5 s of CPU in each 10 s, 500 pages at the end of each.
            assert_eq!(values("ProxyCpu"), [(vec![25.0], vec![60.0])]);
            assert_eq!(values("ProxyMemory"), [(vec![(500 * procfs::page_size()) as f64], vec![6.0])]);
        } else {
            assert_eq!((values("ProxyCpu"), machine.monitor.proxied()), (vec![], &[][..]));
        }
    }
}
