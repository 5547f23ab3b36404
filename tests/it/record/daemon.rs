//! What a replay prints is what the daemon sent.

use std::fs;
use std::path::Path;
use std::time::Duration;

use efsmon::catalog::Profile;
use efsmon::clock::Clock;
use efsmon::daemon::dry_run::DryRun;
use efsmon::daemon::host::{HostFinder, Surroundings};
use efsmon::daemon::{Settings, until_multiple};
use efsmon::minutes::SeriesLimits;
use efsmon::model::{Datum, Host};
use efsmon::monitor;
use efsmon::recording::{About, Header, Recorder, Recording, Tick};
use serde_json::{Map, Value, json};

use super::data;
use crate::paused::{self, Home, Paused};

const NUMBERS: &str = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);
/// Of the daemon and of the recording, in the middle of a minute.
const END: Duration = Duration::from_millis(605_400);

/// The machine `seconds` after it began: three mounts, one by the mount helper, one that is made later. A reading is
/// cut off now and then.
fn show(root: &Path, seconds: u64) {
    let mut mounts = vec![
        ("fs-0123456789abcdef0.efs.eu-west-1.amazonaws.com:/", "/mnt/a", 40, ""),
        ("127.0.0.1:/", "/mnt/b\\040c", 41, ",port=20127"),
    ];
    if seconds > 130 {
        mounts.push(("fs-0fedcba9876543210.efs.eu-west-1.amazonaws.com:/", "/mnt/d", 42, ""));
    }
    let mut mountinfo = "22 1 0:21 / /proc rw - proc proc rw\n".to_owned();
    let mut mountstats = "device proc mounted on /proc with fstype proc\n".to_owned();
    for (device, mount_point, minor, port) in mounts {
        let age = if minor == 42 { seconds - 130 } else { 3600 + seconds };
        let calls = age * age / 7 * minor;
        mountinfo += &format!("{minor} 1 0:{minor} / {mount_point} rw - nfs4 {device} rw,vers=4.1{port}\n");
        mountstats += &format!(
            "device {device} mounted on {mount_point} with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1{port}\n\
             \tage:\t{age}\n\tcaps:\tcaps=0x1\n\tsec:\tflavor=1\n\tevents:\t{NUMBERS}\n\tbytes:\t0 0 0 0 {calls} 0 0 0\n\
             \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\tper-op statistics\n\
             \t        READ: {calls} {calls} 0 {} {} 0 {} {} 0\n\
             \t      LOOKUP: {seconds} {seconds} 0 {seconds} {seconds} 0 1 1 0\n\n",
            calls * 200,
            calls * 4096,
            calls * 3,
            calls * 5,
        );
    }
    if seconds % 170 == 65 {
        mountstats.truncate(mountstats.len() - 40);
    }
    fs::write(root.join("proc/self/mountinfo"), mountinfo).unwrap();
    fs::write(root.join("proc/self/mountstats"), mountstats).unwrap();
}

fn as_json(datum: &Datum) -> Value {
    let dimensions = datum.dimensions.iter().map(|d| (d.name.to_string(), json!(d.value)));
    json!({
        "metric": datum.metric,
        "dimensions": dimensions.collect::<Map<String, Value>>(),
        "timestamp": datum.timestamp.to_string(),
        "unit": datum.unit.name(),
        "values": datum.values,
        "counts": datum.counts,
    })
}

#[test]
fn a_replay_prints_what_the_daemon_sent() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for folder in ["proc/self", "proc/sys/kernel/random", "efs"] {
        fs::create_dir_all(path(folder)).unwrap();
    }
    fs::write(path("proc/sys/kernel/random/boot_id"), "b\n").unwrap();
    show(root.path(), 0);
    let home = Home::at(root.path());
    let settings = Settings {
        monitor: monitor::Settings {
            series: SeriesLimits::new(Profile::Full, 100),
            ..paused::settings().monitor
        },
        ..paused::settings()
    };
    let sent = paused::live(async {
        let clock = Paused::at(Duration::from_millis(1_796_040_003_250));
        let finder = HostFinder::new(Some("host".to_owned()), &home.source, Surroundings::Container);
        let sink = paused::Recorder::that_takes(Duration::from_millis(50));
        let publisher = paused::publisher("host", Duration::from_secs(60));
        let mut daemon = home.daemon(settings.clone(), &clock, publisher);
        let life = daemon.run(&sink, &finder, async || tokio::time::sleep(END).await);
        let world = async {
            for second in (5..600).step_by(5) {
                tokio::time::sleep(Duration::from_secs(5)).await;
                show(root.path(), second);
                if second == 50 {
                    let state = r#"{"fsId": "fs-00112233445566778", "mountpoint": "/mnt/b c"}"#;
                    fs::write(path("efs/fs-00112233445566778.mnt.b c.20127"), state).unwrap();
                }
            }
        };
        let recorder = async {
            let header = Header::new(SAMPLE_INTERVAL, false);
            let mut recorder = Recorder::create(&path("kept"), &header, &About::default()).unwrap();
            for number in 1.. {
                recorder.write(&Tick::take(number, &home.source, &clock)).unwrap();
                let left = END.saturating_sub(clock.start.elapsed());
                if left.is_zero() {
                    break;
                }
                tokio::time::sleep(left.min(until_multiple(clock.now().wall, SAMPLE_INTERVAL))).await;
            }
        };
        tokio::join!(life, world, recorder);
        sink.data()
    });
    let mut sent: Vec<Value> = sent.iter().map(|(_, datum)| as_json(datum)).collect();
    sent.sort_by_key(Value::to_string);
    let lost: f64 =
        sent.iter().filter(|d| d["metric"] == "SamplesLost").filter_map(|d| d["values"][0].as_f64()).sum();
    assert!(lost > 0.0 && sent.len() > 400, "{lost} {}", sent.len());

    let recording = Recording::open(&path("kept")).unwrap().unwrap();
    let host = Host::Known("host".to_owned());
    let mut requests = Vec::new();
    DryRun { settings: &settings, host: &host, targets: None, once: false }
        .replay(&recording, &mut requests)
        .unwrap();
    let printed = data(str::from_utf8(&requests).unwrap());
    assert_eq!(printed.len(), sent.len());
    for (printed, sent) in printed.iter().zip(&sent) {
        assert_eq!(printed, sent);
    }
}
