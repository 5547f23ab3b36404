//! `efsmon record`, and what the other commands make of a recording.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use efsmon::recording::{About, Header, Recorder};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{data, efsmon, record, state_file, stderr, stdout, tick, value};
use crate::daemon::machine::{DEVICE_A, FS_A, FS_B, Fault, Machine};
use crate::daemon::process::Efsmon;

fn kept(machine: &Machine) -> String {
    machine.path().join("kept").to_str().unwrap().to_owned()
}

#[test]
fn a_recorded_machine_shows_the_mounts_of_the_machine() {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    machine.mount_by_proxy(FS_B, "/mnt/b", 20_049);
    let program = Efsmon::on(&machine);
    let output = program.output(&["record", &kept(&machine), "1", "2"]);
    assert!(stdout(&output).starts_with(&format!("{}: 2 ticks, ", kept(&machine))), "{}", stdout(&output));
    let live = stdout(&program.output(&["mounts"]));
    assert!(live.contains(FS_A) && live.contains(FS_B), "{live}");
    assert_eq!(stdout(&efsmon(machine.path(), &["mounts", "--procfs", "kept"])), live);
    // Another state of the mount helper goes before the recording's own.
    let other = stdout(&efsmon(machine.path(), &["mounts", "--procfs", "kept", "--efs-state", "/none"]));
    assert!(other.contains(FS_A) && !other.contains(FS_B), "{other}");
    let stat =
        |flags: &[&str]| stdout(&efsmon(machine.path(), &[&["stat", "--procfs", "kept"], flags].concat()));
    assert!(stat(&[]).contains(FS_B));
    assert!(!stat(&["--efs-state", "/none"]).contains(FS_B));
}

#[test]
fn a_signal_ends_a_recording_with_a_last_tick() {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let mut command = Efsmon::on(&machine).command(&["record", &kept(&machine), "20"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !Path::new(&kept(&machine)).join("000001").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    // Another, when a multiple of 20 s came in between.
    let text = stdout(&output);
    assert!(text.contains(": 2 ticks, ") || text.contains(": 3 ticks, "), "{text}");
    assert!(Path::new(&kept(&machine)).join("000002/proc/self/mountstats").exists());
}

#[test]
fn a_void_reading_is_recorded_with_its_reason() {
    let machine = Machine::new();
    machine.set_fault(Some(Fault::NoMountstats));
    let output = Efsmon::on(&machine).output(&["record", &kept(&machine), "1", "2"]);
    assert!(stdout(&output).contains(": 2 ticks (2 of them void), "), "{}", stdout(&output));
    assert_eq!(stderr(&output).matches("is void: reading ").count(), 1, "what stays is said once");
    let moment = fs::read_to_string(Path::new(&kept(&machine)).join("000002/moment.json")).unwrap();
    assert!(moment.contains("proc/self/mountstats: No such file or directory"), "{moment}");
    let output = efsmon(machine.path(), &["mounts", "--procfs", "kept"]);
    assert_eq!(
        stderr(&output),
        "efsmon: no tick of the recording holds the mounts: every one is void or damaged\n"
    );
}

#[test]
fn a_recording_is_neither_published_nor_recorded_nor_copied_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    record(&path.join("kept"), &About::default(), &[tick(1, 0.0, "x\n", "y\n")]);
    let check = |arguments: &[&str], expected: &str| {
        let output = efsmon(path, arguments);
        assert!(!output.status.success() && stderr(&output).contains(expected), "{}", stderr(&output));
    };
    let state = path.join("state");
    let run = ["run", "--procfs", "kept", "--state-dir", state.to_str().unwrap()];
    check(&run, "kept is a recording: what it holds is over, and is not published; add --dry-run");
    check(&["record", "--procfs", "kept", "new"], "kept is a recording: name the machine's own --procfs");
    check(&["record", "--from", "kept", "new"], "--redact");
    check(
        &["record", "--redact", "--from", ".", "new"],
        "is no recording: there is no efsmon-recording.json in it",
    );
    check(&["record", "new", "7"], "a number of seconds that divides 60, at most 20, is expected");
    assert!(!state.exists() && !path.join("new").exists());
}

/// A mount's record with so many READs, each of 200 bytes out, 4,096 back and 5 ms.
fn mountstats(age: u64, reads: u64) -> String {
    format!(
        "device {DEVICE_A} mounted on /mnt/a with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1\n\tage:\t{age}\n\
         \tcaps:\tcaps=0x1\n\tsec:\tflavor=1\n\tevents:\t{}\n\tbytes:\t0 0 0 0 0 0 0 0 \n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\tper-op statistics\n\
         \t        READ: {reads} {reads} 0 {} {} 0 {} {} 0\n\n",
        "0 ".repeat(27),
        reads * 200,
        reads * 4096,
        reads * 5,
        reads * 5,
    )
}

/// Seven ticks, one every 10 s: 100 READs in each interval, 700 in the last.
fn seven_ticks(directory: &Path) {
    let mountinfo = format!("40 1 0:40 / /mnt/a rw - nfs4 {DEVICE_A} rw,vers=4.1\n");
    let ticks: Vec<_> = (0..7)
        .map(|index| {
            let reads = 1000 + 100 * index + if index == 6 { 600 } else { 0 };
            tick(index as u32 + 1, index as f64 * 10.0, &mountinfo, &mountstats(3600 + index * 10, reads))
        })
        .collect();
    record(directory, &About::default(), &ticks);
}

#[test]
fn stat_walks_through_a_recording_in_its_own_time() {
    let directory = tempfile::tempdir().unwrap();
    seven_ticks(&directory.path().join("kept"));
    let reports = |numbers: &[&str]| -> Vec<(Option<f64>, u64)> {
        let flags = [&["stat", "--json", "--procfs", "kept"], numbers].concat();
        let text = stdout(&efsmon(directory.path(), &flags));
        let report = |line: &str| {
            let mount = &serde_json::from_str::<serde_json::Value>(line).unwrap()["mounts"][0];
            let interval = mount["interval_seconds"].as_f64();
            (interval, mount["operations"]["READ"]["requests"].as_u64().unwrap())
        };
        text.lines().map(report).collect()
    };
    let first = reports(&["10", "1"])[0];
    assert_eq!(first.1, 1000);
    assert_eq!(reports(&[])[0].1, 2200, "the last tick, since the mount");
    let each = [100, 100, 100, 100, 100, 700].map(|reads| (Some(10.0), reads));
    assert_eq!(reports(&["10"])[1..], each);
    assert_eq!(reports(&["1"])[1..], each, "there is nothing in between");
    assert_eq!(reports(&["25"])[1..], [(Some(30.0), 300), (Some(30.0), 900)]);
    assert_eq!(reports(&["40"])[1..], [(Some(40.0), 400), (Some(20.0), 800)], "what is left is told, too");
    assert_eq!(reports(&["86400"])[1..], [(Some(60.0), 1200)], "from the first to the last");
    assert_eq!(reports(&["20", "2"])[1..], [(Some(20.0), 200)]);
}

#[test]
fn a_dry_run_tells_the_figures_of_the_recorded_minute() {
    let directory = tempfile::tempdir().unwrap();
    seven_ticks(&directory.path().join("kept"));
    let requests = stdout(&efsmon(directory.path(), &["run", "--dry-run", "--procfs", "kept"]));
    let data = data(&requests);
    assert!(data.iter().all(|datum| datum["timestamp"] == "2026-11-30T16:00:00Z"), "{data:#?}");
    // 1,200 READs of 200 + 4,096 bytes.
    assert_eq!(value(&data, "ReadBytes", json!({"FileSystemId": FS_A})), 5_155_200.0);
    assert_eq!(value(&data, "SamplesLost", json!({})), 0.0);
    // Two samples only.
    let once = stdout(&efsmon(directory.path(), &["run", "--dry-run", "--once", "--procfs", "kept"]));
    assert_eq!(value(&super::data(&once), "ReadBytes", json!({"FileSystemId": FS_A})), 429_600.0);
}

#[test]
fn what_a_damaged_tick_held_is_in_the_next_interval() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    seven_ticks(&kept);
    fs::remove_dir_all(kept.join("000002")).unwrap();
    fs::write(kept.join("000004/moment.json"), "").unwrap();
    fs::write(kept.join("000005/proc/self/mountstats"), "device").unwrap();
    let output = efsmon(directory.path(), &["run", "--dry-run", "--procfs", "kept"]);
    let told = stderr(&output);
    for part in
        ["tick 000002 is missing", "tick 000004 cannot be read", "000005/proc/self/mountstats: it is cut off"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let data = data(&stdout(&output));
    assert_eq!(value(&data, "ReadBytes", json!({"FileSystemId": FS_A})), 5_155_200.0);
    assert_eq!(value(&data, "SamplesLost", json!({})), 3.0);
}

/// Counters begin anew with a boot: what was counted before it is no earlier reading of what is counted after.
#[test]
fn a_reboot_in_a_recording_is_no_interval() {
    let directory = tempfile::tempdir().unwrap();
    let mountinfo = format!("40 1 0:40 / /mnt/a rw - nfs4 {DEVICE_A} rw,vers=4.1\n");
    let mut ticks = [(3600, 100), (3610, 110), (3620, 1110), (3630, 1112)].map(|(age, reads)| {
        let index = (age - 3600) / 10;
        tick(index as u32 + 1, index as f64 * 10.0, &mountinfo, &mountstats(age, reads))
    });
    for tick in &mut ticks[2..] {
        tick.boot_id = Some("another".to_owned());
    }
    record(&directory.path().join("kept"), &About::default(), &ticks);
    let requests = stdout(&efsmon(directory.path(), &["run", "--dry-run", "--procfs", "kept"]));
    // 10 READs of the first boot and 2 of the second.
    assert_eq!(value(&data(&requests), "ReadBytes", json!({"FileSystemId": FS_A})), 12.0 * 4296.0);
}

#[test]
fn stat_begins_anew_with_a_boot() {
    let directory = tempfile::tempdir().unwrap();
    let mountinfo = format!("40 1 0:40 / /mnt/a rw - nfs4 {DEVICE_A} rw,vers=4.1\n");
    let mut ticks = [(3600, 100), (3610, 110), (20, 7), (30, 9)].map(|(age, reads)| {
        let number = if age >= 3600 { (age - 3600) / 10 + 1 } else { age / 10 + 1 };
        tick(number as u32, number as f64 * 10.0, &mountinfo, &mountstats(age, reads))
    });
    for (tick, uptime) in ticks[2..].iter_mut().zip([40, 50]) {
        tick.boot_id = Some("another".to_owned());
        tick.reading.as_mut().unwrap().moment.monotonic = Duration::from_secs(uptime);
        tick.moment.monotonic = Duration::from_secs(uptime);
    }
    record(&directory.path().join("kept"), &About::default(), &ticks);
    let text = stdout(&efsmon(directory.path(), &["stat", "--json", "--procfs", "kept", "10"]));
    let reports = text.lines().map(|line| {
        let mount = &serde_json::from_str::<serde_json::Value>(line).unwrap()["mounts"][0];
        (
            mount["interval_seconds"].as_f64().unwrap(),
            mount["operations"]["READ"]["requests"].as_u64().unwrap(),
        )
    });
    // Since the mount, and from there on, of each boot.
    assert_eq!(reports.collect::<Vec<_>>(), [(3600.0, 100), (10.0, 10), (20.0, 7), (10.0, 2)]);
}

/// The host's names, and the mounts of process 1, as the recorded machine had them.
#[test]
fn a_replay_is_of_the_recorded_host() {
    let directory = tempfile::tempdir().unwrap();
    let about =
        About { board_asset_tag: Some("i-0123456789abcdef0".to_owned()), is_ec2: true, host_name: None };
    let mountinfo = "40 1 0:40 / /mnt/b rw - nfs4 127.0.0.1:/ rw,vers=4.1,port=20127\n";
    let ticks = [1, 2].map(|number: u32| {
        let text = mountstats(3600 + u64::from(number) * 10, u64::from(number) * 10);
        let text = text.replace(DEVICE_A, "127.0.0.1:/").replace("/mnt/a", "/mnt/b");
        let text = text.replace("vers=4.1", "vers=4.1,port=20127");
        let mut tick = tick(number, f64::from(number) * 10.0, mountinfo, &text);
        tick.reading.as_mut().unwrap().view = efsmon::source::View::Init;
        tick.efs_state =
            Ok(vec![state_file(&format!("{FS_B}.mnt.b.20127"), Some(r#"{"mountpoint": "/mnt/b"}"#))]);
        tick
    });
    record(&directory.path().join("kept"), &about, &ticks);
    let requests = stdout(&efsmon(directory.path(), &["run", "--dry-run", "--procfs", "kept"]));
    let client = json!({"FileSystemId": FS_B, "InstanceId": "i-0123456789abcdef0"});
    // 10 READs of 4,296 bytes in 10 s, in MiB/s.
    let data = data(&requests);
    let throughput =
        data.iter().find(|datum| datum["metric"] == "ReadThroughput" && datum["dimensions"] == client);
    assert_eq!(throughput.unwrap()["values"], json!([4296.0 / 1_048_576.0]));
}

/// What a Linux 6.1 host counted, once a second, while its NFS server was stopped and started again: in all as much
/// as its last text has more than its first.
#[test]
fn a_capture_of_a_real_client_is_replayed_whole() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/replays/server-restart");
    let read = |name: &str| fs::read_to_string(fixtures.join(name)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let header = Header::new(Duration::from_secs(1), false);
    let mut recorder = Recorder::create(&directory.path().join("kept"), &header, &About::default()).unwrap();
    for second in 0..40 {
        let text = read(&format!("{second:03}.mountstats"));
        recorder.write(&tick(second + 1, 10.0 + f64::from(second), &read("mountinfo"), &text)).unwrap();
    }
    let requests = stdout(&efsmon(directory.path(), &["run", "--dry-run", "--procfs", "kept"]));
    let data = data(&requests);
    let file_system = json!({"FileSystemId": "fs-0123456789abcdef0"});
    assert_eq!(value(&data, "ReadBytes", file_system.clone()), 7_969_500.0 + 367_139_884.0);
    assert_eq!(value(&data, "WriteBytes", file_system.clone()), 158_197_512.0 + 2_115_052.0);
    assert_eq!(value(&data, "Clients", file_system), 1.0);
}
