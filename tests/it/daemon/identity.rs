//! Which host this is: what carries its name waits for it, the rest goes out, and there is never a second name.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use efsmon::daemon::host::{HostFinder, Surroundings};
use efsmon::model::Host;
use efsmon::source::{Namespace, Roots, Source};

use super::machine::{DEVICE_A, FS_A, HOST_NAME, Machine};
use super::process::{Efsmon, Running, stdout};
use super::{early_in_a_minute, series, spooled, sum};
use crate::fake::cloudwatch::CloudWatch;
use crate::fake::ecs::{Agent, TASK};
use crate::fake::imds::{INSTANCE, Imds, Mode};
use crate::fake::server::free_address;

fn on_ec2<'a>(machine: &'a Machine, cloudwatch: &CloudWatch, imds: &Imds) -> Efsmon<'a> {
    machine.be_ec2();
    Efsmon::on(machine)
        .with_aws(&cloudwatch.url())
        .unset("EFSMON_HOST__ID")
        .unset("AWS_EC2_METADATA_DISABLED")
        .set("AWS_EC2_METADATA_SERVICE_ENDPOINT", &imds.url())
}

/// Reads within a whole sample: a rate needs half a second at least.
fn read_for_a_second(running: &Running<'_>, machine: &Machine, mount: usize) {
    running.wait_for_a_sample();
    machine.read(mount, 3, (600, 12_672), 12_288);
    running.wait_for_a_sample();
}

/// Without an answer, the figures of the single host stay on the disk; the next process sends them under its name.
fn no_answer_in_time(mode: Mode, said: &str) {
    let cloudwatch = CloudWatch::start();
    early_in_a_minute();
    let imds = Imds::start(mode);
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = on_ec2(&machine, &cloudwatch, &imds);
    let running = efsmon.start();
    running.wait_for_log("this host's id is not known yet; figures of single hosts wait for it");
    read_for_a_second(&running, &machine, a);
    let text = stdout(&efsmon.output(&["status"]));
    assert!(text.contains("as a host whose id is still looked for"), "{text}");
    let log = running.terminate();
    assert_eq!(log.matches(said).count(), 1, "{log}");

    let data = cloudwatch.data();
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_A)]), 13_272.0);
    assert!(sum(&data, "Hosts", &[]) > 0.0);
    assert!(
        data.iter().all(|datum| datum.dimensions.iter().all(|(name, _)| name != "InstanceId")),
        "{data:?}"
    );
    assert_eq!(spooled(&machine).len(), 1, "ReadThroughput and WriteThroughput");

    imds.set_mode(Mode::Ok);
    let running = efsmon.start();
    running.wait_for("an id", |status| status["host_id"] == INSTANCE);
    running.terminate();
    assert_eq!(spooled(&machine), [""; 0]);
    only_one_name(&cloudwatch);
}

fn only_one_name(cloudwatch: &CloudWatch) {
    let data = cloudwatch.data();
    let here = [("FileSystemId", FS_A), ("InstanceId", INSTANCE)];
    assert!(series(&data, "ReadThroughput", &here).count() > 0);
    assert!(sum(&data, "ReadThroughput", &here) > 0.0);
    let names = data.iter().flat_map(|datum| &datum.dimensions).filter(|(name, _)| name == "InstanceId");
    assert!(names.into_iter().all(|(_, value)| value == INSTANCE), "{data:?}");
}

#[test]
fn figures_of_a_host_wait_for_its_id_and_the_others_do_not() {
    std::thread::scope(|scope| {
        scope.spawn(|| no_answer_in_time(Mode::Status(403), "the instance metadata service answers 403"));
        scope.spawn(|| {
            no_answer_in_time(
                Mode::TokenSilent,
                "the instance metadata service does not answer the token request",
            )
        });
    });
}

#[test]
fn an_id_that_comes_late_is_taken_without_a_restart() {
    let cloudwatch = CloudWatch::start();
    let imds = Imds::start(Mode::Status(503));
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let running = on_ec2(&machine, &cloudwatch, &imds).start();
    read_for_a_second(&running, &machine, a);
    running.wait_for_log("this host's id is not known yet");
    imds.set_mode(Mode::Ok);
    running.wait_for("an id", |status| status["host_id"] == INSTANCE);
    running.terminate();
    assert_eq!(spooled(&machine), [""; 0]);
    only_one_name(&cloudwatch);
}

#[test]
fn the_board_names_the_instance_when_the_metadata_service_does_not() {
    let cloudwatch = CloudWatch::start();
    let imds = Imds::start(Mode::TokenSilent);
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    machine.write("sys/class/dmi/id/board_asset_tag", "i-0123456789abcdef0\n");
    let running = on_ec2(&machine, &cloudwatch, &imds).start();
    read_for_a_second(&running, &machine, a);
    running.wait_for("an id", |status| status["host_id"] == INSTANCE);
    let log = running.terminate();
    assert!(log.contains("taking this host's id from the machine itself"), "{log}");
    only_one_name(&cloudwatch);
}

fn without_network(machine: &Machine, surroundings: Surroundings) -> Host {
    let path = |folder: &str| machine.path().join(folder);
    let roots = Roots { procfs: path("proc"), sysfs: path("sys"), efs_state: path("efs") };
    HostFinder::new(None, &Source::new(roots, Namespace::Own), surroundings).without_network()
}

#[test]
fn a_host_name_is_an_id_only_off_ec2_and_outside_of_containers() {
    let machine = Machine::new();
    assert_eq!(without_network(&machine, Surroundings::Host), Host::Known(HOST_NAME.to_owned()));
    assert_eq!(without_network(&machine, Surroundings::Container), Host::Pending);
    assert_eq!(without_network(&machine, Surroundings::Pod), Host::Pending);
    machine.be_ec2();
    assert_eq!(without_network(&machine, Surroundings::Host), Host::Pending);
}

#[test]
fn off_ec2_the_daemon_goes_by_its_host_name_unless_it_is_a_container_s() {
    early_in_a_minute();
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url()).unset("EFSMON_HOST__ID");
    // The variable makes it a container, wherever this test runs.
    let running = efsmon.set("container", "podman").start();
    running.wait_for_log("this host's id is not known yet");
    assert_eq!(running.status()["host_id_pending"], true);
    running.wait_for_a_sample();
    running.terminate();
    assert_eq!(spooled(&machine).len(), 1);

    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url()).unset("EFSMON_HOST__ID");
    let running = efsmon.start();
    if ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists()) {
        running.wait_for_log("this host's id is not known yet");
        running.wait_for_a_sample();
        running.terminate();
        assert_eq!(spooled(&machine).len(), 2);
    } else {
        running.wait_for("an id", |status| status["host_id"] == HOST_NAME);
        running.wait_for_a_sample();
        running.terminate();
        assert_eq!(spooled(&machine), [""; 0]);
    }
}

#[test]
fn a_pod_that_does_not_reach_the_instance_is_told_how_and_takes_the_node_s_name_when_given() {
    let cloudwatch = CloudWatch::start();
    let imds = Imds::start(Mode::TokenSilent);
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = on_ec2(&machine, &cloudwatch, &imds).set("KUBERNETES_SERVICE_HOST", "10.100.0.1");
    let running = efsmon.start();
    running.wait_for_log("this host's id is not known yet");
    read_for_a_second(&running, &machine, a);
    let log = running.terminate();
    let line = log.lines().find(|line| line.contains("not known yet")).unwrap();
    for part in [
        "the instance metadata service does not answer the token request",
        "hostNetwork: true",
        "HttpPutResponseHopLimit to 2",
        "EFSMON_HOST__ID from spec.nodeName",
        "host.id",
    ] {
        assert!(line.contains(part), "{part}\n{line}");
    }
    assert_eq!(spooled(&machine).len(), 1);
    let node = "ip-10-0-1-5.eu-west-1.compute.internal";
    let running = efsmon.set("EFSMON_HOST__ID", node).start();
    read_for_a_second(&running, &machine, a);
    // Its place is still to be asked for.
    imds.set_mode(Mode::Ok);
    let status = running.wait_for("a zone", |status| status["host_zone"] == "eu-west-1b");
    assert_eq!((&status["host_id"], &status["host_source"]), (&node.into(), &"config".into()));
    running.terminate();
    let here = [("FileSystemId", FS_A), ("InstanceId", node)];
    assert!(sum(&cloudwatch.data(), "ReadThroughput", &here) > 0.0);
}

#[test]
fn a_task_of_fargate_goes_by_its_own_id() {
    let (cloudwatch, agent) = (CloudWatch::start(), Agent::start("FARGATE"));
    // What answers here would be the instance under the task, which is AWS's own.
    let imds = Imds::start(Mode::Ok);
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    machine.write("sys/class/dmi/id/board_asset_tag", "i-0fedcba9876543210\n");
    let nobody = format!("http://{}", free_address());
    let running = on_ec2(&machine, &cloudwatch, &imds)
        .set("ECS_CONTAINER_METADATA_URI_V4", &agent.url())
        .set("HTTP_PROXY", &nobody)
        .start();
    let status = running.wait_for("an id", |status| status["host_id"] == TASK);
    assert_eq!((&status["host_source"], &status["host_zone"]), (&"ecs".into(), &"eu-west-1a".into()));
    read_for_a_second(&running, &machine, a);
    running.terminate();
    let here = [("FileSystemId", FS_A), ("InstanceId", TASK)];
    assert!(sum(&cloudwatch.data(), "ReadThroughput", &here) > 0.0);
    assert_eq!(imds.requests(), [""; 0]);
}

#[test]
fn two_hosts_of_one_file_system_add_up() {
    early_in_a_minute();
    let cloudwatch = CloudWatch::start();
    let (one, two) = (Machine::new(), Machine::new());
    let (a, b) = (one.mount(DEVICE_A, "/mnt/a"), two.mount(DEVICE_A, "/srv/data"));
    let start = |machine, id| {
        let efsmon = Efsmon::on(machine).with_aws(&cloudwatch.url()).set("EFSMON_PROFILE", "standard");
        efsmon.set("EFSMON_HOST__ID", id).start()
    };
    let running = [start(&one, "i-0000000000000000a"), start(&two, "i-0000000000000000b")];
    one.read(a, 3, (600, 12_672), 12_288);
    one.written(a, 1, (1_049_000, 160), 1_048_576);
    two.read(b, 40, (8_000, 10_490_880), 10_485_760);
    running.iter().for_each(Running::wait_for_a_sample);
    for host in running {
        host.terminate();
    }

    let data = cloudwatch.data();
    let all = [("FileSystemId", FS_A)];
    let of = |id| [("FileSystemId", FS_A), ("InstanceId", id)];
    let at = |metric: &str, dimensions: &[(&str, &str)], minute: i64| {
        let data: Vec<_> = data.iter().filter(|datum| datum.timestamp == Some(minute)).cloned().collect();
        sum(&data, metric, dimensions)
    };
    let minutes: BTreeSet<i64> = data.iter().map(|datum| datum.timestamp.unwrap()).collect();
    for minute in &minutes {
        assert_eq!(at("Clients", &all, *minute), at("Hosts", &[], *minute));
        for metric in ["ReadBytes", "WriteBytes", "ReadOperations", "WriteOperations"] {
            let hosts = [of("i-0000000000000000a"), of("i-0000000000000000b")];
            let apart: f64 = hosts.iter().map(|host| at(metric, host, *minute)).sum();
            assert_eq!(at(metric, &all, *minute), apart, "{metric} {minute}");
        }
    }
    assert_eq!(at("Hosts", &[], *minutes.first().unwrap()), 2.0);
    // 600 + 12,672 + 8,000 + 10,490,880
    assert_eq!(sum(&data, "ReadBytes", &all), 10_512_152.0);
    assert_eq!(sum(&data, "ReadBytes", &of("i-0000000000000000a")), 13_272.0);
    assert_eq!(sum(&data, "WriteBytes", &all), 1_049_160.0);
    assert_eq!(sum(&data, "ReadOperations", &all), 43.0);
}

#[test]
fn metadata_that_answer_after_five_seconds_name_every_minute_of_the_host() {
    early_in_a_minute();
    let cloudwatch = CloudWatch::start();
    let imds = Imds::start(Mode::TokenSilent);
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let running = on_ec2(&machine, &cloudwatch, &imds).start();
    read_for_a_second(&running, &machine, a);
    std::thread::sleep(Duration::from_secs(5));
    imds.set_mode(Mode::Ok);
    running.wait_for("an id", |status| status["host_id"] == INSTANCE);
    running.terminate();
    only_one_name(&cloudwatch);
    let data = cloudwatch.data();
    let minutes = |metric, dimensions: &[(&str, &str)]| {
        series(&data, metric, dimensions).map(|datum| datum.timestamp).collect::<BTreeSet<_>>()
    };
    let here = [("FileSystemId", FS_A), ("InstanceId", INSTANCE)];
    let (rates, mut bytes) =
        (minutes("ReadThroughput", &here), minutes("ReadBytes", &[("FileSystemId", FS_A)]));
    // Stopped within a second of a minute's start, that minute has bytes and no rate.
    if bytes.len() > 1 && rates.len() < bytes.len() {
        bytes.pop_last();
    }
    assert_eq!(rates, bytes);
    // 13,272 bytes of one second's READs.
    let mebibytes = sum(&data, "ReadThroughput", &here);
    assert!((0.006..0.03).contains(&mebibytes), "{mebibytes}");
}
