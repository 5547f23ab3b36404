//! The built program, from `/proc` to CloudWatch: what it publishes is what the counters grew by.

mod addresses;
mod clones;
mod endings;
mod footprint;
mod identity;
mod late;
pub mod machine;
pub mod process;
mod promises;
mod publishing;
mod readings;
mod reboots;
mod reports;
mod rounds;
mod service;
mod state;
mod switched_off;

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::fake::cloudwatch::CloudWatch;
use crate::fake::imds::{Imds, Mode};
use crate::fake::limits::Recorded;
use crate::fake::tls::Certificate;
pub use machine::Machine;
use machine::{DEVICE_A, FS_A, FS_B};
pub use process::Efsmon;

/// Values times counts of every datum of `metric` with exactly these dimensions.
fn sum(data: &[Recorded], metric: &str, dimensions: &[(&str, &str)]) -> f64 {
    series(data, metric, dimensions)
        .flat_map(|datum| datum.values.iter().zip(&datum.counts))
        .map(|(v, c)| v * c)
        .sum()
}

fn series<'a>(
    data: &'a [Recorded],
    metric: &'a str,
    dimensions: &'a [(&'a str, &'a str)],
) -> impl Iterator<Item = &'a Recorded> {
    data.iter().filter(move |datum| {
        let its = datum.dimensions.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        datum.metric == metric && its.eq(dimensions.iter().copied())
    })
}

/// How many minutes a metric has, each of which must have one datum.
fn minutes(data: &[Recorded], metric: &str, dimensions: &[(&str, &str)]) -> usize {
    let mut minutes: Vec<_> =
        series(data, metric, dimensions).map(|datum| datum.timestamp.unwrap()).collect();
    minutes.sort_unstable();
    let all = minutes.len();
    minutes.dedup();
    assert_eq!(minutes.len(), all, "{metric} {dimensions:?} is said twice of a minute");
    all
}

/// The requests in the state directory.
fn spooled(machine: &Machine) -> Vec<String> {
    let names = fs::read_dir(machine.path().join("state")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".request")).collect();
    names.sort();
    names
}

/// Waits out the end of a minute, for what must not be cut by a new one. A sample in its first second may count as
/// the end of the one before.
pub fn early_in_a_minute() {
    let second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() % 60;
    if !(2..45).contains(&second) {
        std::thread::sleep(Duration::from_secs((62 - second) % 60));
    }
}

/// Two file systems, one named by its device and one by the mount helper's state, and known growth.
fn what_is_published_is_what_the_counters_grew_by(cloudwatch: &CloudWatch, settings: &[(&str, &str)]) {
    let imds = Imds::start(Mode::Ok);
    let machine = Machine::new();
    machine.be_ec2();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let b = machine.mount_by_proxy(FS_B, "/mnt/b", 20_049);
    let mut efsmon = Efsmon::on(&machine)
        .with_aws(&cloudwatch.url())
        .set("EFSMON_PROFILE", "standard")
        .set("AWS_EC2_METADATA_SERVICE_ENDPOINT", &imds.url())
        // The region as well is the instance's.
        .unset("AWS_REGION")
        .unset("AWS_EC2_METADATA_DISABLED")
        .unset("EFSMON_HOST__ID");
    for (name, value) in settings {
        efsmon = efsmon.set(name, value);
    }

    let running = efsmon.start();
    // The first sample is of no full second, so its rate would be out of the ordinary.
    running.wait_for_a_sample();
    machine.read(a, 40, (8_000, 10_490_880), 10_485_760);
    running.wait_for_a_sample();
    machine.read(a, 2, (400, 524_544), 524_288);
    machine.written(a, 5, (5_243_880, 800), 5_242_880);
    machine.look_up(a, 30);
    machine.read(b, 7, (1_400, 1_001_792), 1_000_000);
    running.wait_for_a_sample();
    machine.read(b, 1, (200, 4_224), 4_096);
    running.wait_for("an id", |status| status["host_id"] == "i-0123456789abcdef0");
    let log = running.terminate();

    let data = cloudwatch.data();
    let a = [("FileSystemId", FS_A)];
    let b = [("FileSystemId", FS_B)];
    let a_here = [("FileSystemId", FS_A), ("InstanceId", "i-0123456789abcdef0")];
    let b_here = [("FileSystemId", FS_B), ("InstanceId", "i-0123456789abcdef0")];
    // 8,000 + 10,490,880 + 400 + 524,544
    assert_eq!(sum(&data, "ReadBytes", &a), 11_023_824.0, "{log}");
    assert_eq!(sum(&data, "ReadBytes", &a_here), 11_023_824.0);
    assert_eq!(sum(&data, "WriteBytes", &a), 5_244_680.0);
    assert_eq!(sum(&data, "ReadOperations", &a), 42.0);
    assert_eq!(sum(&data, "WriteOperations", &a), 5.0);
    assert_eq!(sum(&data, "MetadataOperations", &a), 30.0);
    // 1,400 + 1,001,792 + 200 + 4,224
    assert_eq!(sum(&data, "ReadBytes", &b), 1_007_616.0);
    assert_eq!(sum(&data, "ReadBytes", &b_here), 1_007_616.0);
    assert_eq!(sum(&data, "WriteBytes", &b), 0.0);
    assert_eq!(sum(&data, "ReadOperations", &b), 8.0);
    // 42 READs of 5 ms: a datum's counts are operations.
    assert_eq!(sum(&data, "ReadLatency", &a), 210.0);
    assert_eq!(sum(&data, "WriteLatency", &a), 40.0);
    // MiB/s times seconds: 11,023,824 / 1,048,576 = 10.513, whatever the length of the samples, all about 1 s.
    let mebibytes = sum(&data, "ReadThroughput", &a_here);
    assert!((8.0..13.0).contains(&mebibytes), "{mebibytes}");

    let hosts = minutes(&data, "Hosts", &[]);
    assert!((1..=2).contains(&hosts), "{hosts} minutes");
    assert_eq!(sum(&data, "Hosts", &[]), hosts as f64);
    assert_eq!(minutes(&data, "Clients", &a), hosts);
    assert_eq!(minutes(&data, "Clients", &b), hosts);
    assert_eq!(sum(&data, "SamplesLost", &[]), 0.0);
    assert_eq!(sum(&data, "UnknownOutcomes", &[]), 0.0);
    assert!(data.iter().all(|datum| datum.namespace == "EFSMon"));
    assert!(cloudwatch.puts().iter().all(|put| put.signed && put.accepted > 0));
    assert_eq!(spooled(&machine), [""; 0], "all of it was acknowledged");
}

#[test]
fn a_host_publishes_what_its_counters_grew_by() {
    what_is_published_is_what_the_counters_grew_by(&CloudWatch::start(), &[]);
}

#[test]
fn a_host_publishes_over_tls() {
    let certificate = Certificate::new();
    let authority = certificate.authority().to_str().unwrap();
    let cloudwatch = CloudWatch::start_tls(&certificate);
    what_is_published_is_what_the_counters_grew_by(&cloudwatch, &[("SSL_CERT_FILE", authority)]);
}

#[test]
fn a_minute_goes_out_by_itself_when_it_has_ended() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    early_in_a_minute();
    let running = Efsmon::on(&machine).with_aws(&cloudwatch.url()).start();
    machine.read(a, 3, (600, 12_672), 12_288);
    // A host with a machine-id goes by that, and waits up to 50 s more.
    running.wait("a minute", || !cloudwatch.puts().is_empty());
    running.wait_for("an empty spool", |status| status["spool"]["files"] == 0);
    running.kill();
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_A)]), 13_272.0);
    assert_eq!((minutes(&data, "Hosts", &[]), cloudwatch.puts().len()), (1, 1));
    assert_eq!(spooled(&machine), [""; 0]);
}
