//! `run --once` and `run --dry-run`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::machine::{DEVICE_A, FS_A, Fault, Machine};
use super::process::{Efsmon, HOST, stderr, stdout};
use super::{early_in_a_minute, minutes, spooled, sum};
use crate::fake::cloudwatch::CloudWatch;

#[test]
fn rounds_one_after_the_other_publish_all_that_happened_between_them() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let once = || {
        let output = efsmon.output(&["run", "--once"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(spooled(&machine), [""; 0]);
        let status: Value =
            serde_json::from_slice(&fs::read(machine.path().join("run/status.json")).unwrap()).unwrap();
        status["samples"]["taken"].as_u64().unwrap()
    };
    assert_eq!(once(), 2, "the first has nothing to count from");
    machine.read(a, 3, (600, 12_672), 12_288);
    assert_eq!(once(), 1);
    machine.read(a, 1, (200, 4_224), 4_096);
    assert_eq!(once(), 1);
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_A)]), 17_696.0);
    assert_eq!(minutes(&data, "Hosts", &[]), minutes(&data, "Clients", &[("FileSystemId", FS_A)]));
}

#[test]
fn a_round_that_could_send_nothing_fails_and_keeps_its_data() {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let (cloudwatch, opener) = CloudWatch::start_shut();
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let output = efsmon.output(&["run", "--once"]);
    assert_eq!(output.status.code(), Some(1), "a cron job must notice\n{}", stderr(&output));
    assert!(stderr(&output).contains("efsmon: not all was sent"), "{}", stderr(&output));
    assert_ne!(spooled(&machine), [""; 0]);
    opener.open();
    assert!(efsmon.output(&["run", "--once"]).status.success());
    assert_eq!(spooled(&machine), [""; 0]);
}

/// A machine without any state, and no AWS to be asked.
fn bare() -> Machine {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    fs::remove_dir(machine.path().join("state")).unwrap();
    fs::remove_dir(machine.path().join("run")).unwrap();
    machine
}

#[test]
fn a_dry_run_prints_the_requests_and_leaves_no_trace() {
    let cloudwatch = CloudWatch::start();
    let machine = bare();
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let output = efsmon.output(&["run", "--once", "--dry-run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let requests: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(requests.iter().all(|request| request["namespace"] == "EFSMon"));
    let data: Vec<&Value> = requests.iter().flat_map(|request| request["data"].as_array().unwrap()).collect();
    for datum in &data {
        let keys: Vec<&String> = datum.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["counts", "dimensions", "metric", "timestamp", "unit", "values"]);
        let timestamp = datum["timestamp"].as_str().unwrap();
        assert!(timestamp.ends_with(":00Z"), "{timestamp}");
    }
    let find = |metric: &str| *data.iter().find(|datum| datum["metric"] == metric).unwrap();
    let expected = r#"{"FileSystemId":"fs-0123456789abcdef0"}"#;
    assert_eq!(find("ReadBytes")["dimensions"].to_string(), expected);
    assert_eq!(find("ReadBytes")["unit"], "Bytes");
    assert_eq!(find("ReadBytes")["values"].to_string(), "[0.0]");
    assert_eq!(find("ReadThroughput")["dimensions"]["InstanceId"], HOST);
    assert_eq!(find("Hosts")["dimensions"].to_string(), "{}");

    for gone in ["state", "run"] {
        assert!(!machine.path().join(gone).exists(), "{gone} was made");
    }
    assert_eq!(cloudwatch.connections(), 0);
}

#[test]
fn a_dry_run_says_when_to_expect_something_and_minds_no_daemon_beside_it() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let daemon = efsmon.start();
    let output = efsmon.output(&["run", "--once", "--dry-run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("taking two samples, 1 s apart"), "{}", stderr(&output));
    daemon.terminate();
}

#[test]
fn a_dry_run_whose_reader_has_gone_ends_quietly() {
    let machine = bare();
    let efsmon = Efsmon::on(&machine).set("EFSMON_LOG__LEVEL", "warn");
    let mut command = efsmon.command(&["run", "--once", "--dry-run"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn a_dry_run_counts_and_says_what_could_not_be_read() {
    let machine = bare();
    early_in_a_minute();
    machine.set_fault(Some(Fault::NoMountstats));
    let efsmon = Efsmon::on(&machine);
    let mut command = efsmon.command(&["run", "--dry-run"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(log.any(|line| line.contains("this sample is void")));
    // Two more at least, one a second.
    std::thread::sleep(Duration::from_millis(2500));
    machine.set_fault(Some(Fault::BadRecord(0)));
    assert!(log.any(|line| line.contains("reading the mounts again")));
    assert!(log.any(|line| line.contains("a part of mountstats cannot be read")));
    machine.set_fault(None);
    let requests = BufReader::new(child.stdout.take().unwrap()).lines();
    let requests =
        requests.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["data"].clone());
    let mut data = requests.flat_map(|data| data.as_array().unwrap().clone());
    let lost = data.find(|datum| datum["metric"] == "SamplesLost").unwrap();
    assert!(lost["values"][0].as_f64().unwrap() >= 3.0, "{lost}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_cron_scripts_metrics_go_to_their_own_namespace_beside_the_others() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url()).set("EFSMON_COMPAT__CRON_SCRIPT", "true");
    let dry = efsmon.output(&["run", "--once", "--dry-run"]);
    let requests: Vec<Value> = stdout(&dry).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut namespaces: Vec<&str> =
        requests.iter().map(|request| request["namespace"].as_str().unwrap()).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    assert_eq!(namespaces, ["CustomEC2", "EFSMon"]);
    for _ in 0..2 {
        let output = efsmon.output(&["run", "--once"]);
        assert!(output.status.success(), "{}", stderr(&output));
        machine.read(a, 3, (600, 12_672), 12_288);
        std::thread::sleep(Duration::from_secs(1));
    }
    let data = cloudwatch.data();
    let theirs: Vec<_> = data.iter().filter(|datum| datum.namespace == "CustomEC2").collect();
    assert!(theirs.iter().any(|datum| datum.metric == "ec2-efs-write-throughput"), "{data:?}");
    for datum in theirs {
        assert!(datum.metric.starts_with("ec2-efs-"), "{datum:?}");
        assert_eq!(datum.dimensions, [("InstanceID".to_owned(), HOST.to_owned())]);
    }
    let others = data.iter().filter(|datum| datum.namespace == "EFSMon");
    assert!(others.inspect(|datum| assert!(!datum.metric.starts_with("ec2-efs-"), "{datum:?}")).count() > 0);
}
