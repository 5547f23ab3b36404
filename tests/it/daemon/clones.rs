//! A copy of an image that efsmon ran on, on an instance whose board has no asset tag: the machine-id is the same, and
//! only the instance metadata tell that the state on disk is another's.

use std::collections::BTreeSet;

use super::early_in_a_minute;
use super::machine::{DEVICE_A, FS_A, Machine};
use super::process::{Efsmon, stdout};
use super::{spooled, sum};
use crate::fake::cloudwatch::CloudWatch;
use crate::fake::imds::{INSTANCE, Imds, Mode};

const COPY: &str = "i-0fedcba9876543210";

fn on_xen<'a>(machine: &'a Machine, cloudwatch: &CloudWatch, imds: &Imds) -> Efsmon<'a> {
    machine.write("sys/class/dmi/id/sys_vendor", "Xen\n");
    Efsmon::on(machine)
        .with_aws(&cloudwatch.url())
        .unset("EFSMON_HOST__ID")
        .unset("AWS_EC2_METADATA_DISABLED")
        .set("container", "podman")
        .set("AWS_EC2_METADATA_SERVICE_ENDPOINT", &imds.url())
}

fn boot_again(machine: &Machine) {
    machine.write("proc/sys/kernel/random/boot_id", "6fa459ea-ee8a-4ca4-894e-db77e160355e\n");
}

/// Three READs, that no CloudWatch has got yet.
fn leave_something(machine: &Machine, imds: &Imds, mount: usize) {
    early_in_a_minute();
    let (cloudwatch, _shut) = CloudWatch::start_shut();
    let running = on_xen(machine, &cloudwatch, imds).start();
    running.wait_for("an id", |status| status["host_id"] == INSTANCE);
    running.wait_for_a_sample();
    machine.read(mount, 3, (600, 12_672), 12_288);
    running.wait_for_a_sample();
    running.terminate();
    assert_ne!(spooled(machine), [""; 0]);
}

fn bytes(cloudwatch: &CloudWatch) -> f64 {
    sum(&cloudwatch.data(), "ReadBytes", &[("FileSystemId", FS_A)])
}

fn names(cloudwatch: &CloudWatch) -> BTreeSet<String> {
    let data = cloudwatch.data();
    let dimensions = data.into_iter().flat_map(|datum| datum.dimensions);
    dimensions.filter(|(name, _)| name == "InstanceId").map(|(_, value)| value).collect()
}

/// The copy's own READ is sent, and nothing of the image's; neither by the next process.
fn what_the_image_holds_stays_on_the_disk(at_first: Mode) {
    let imds = Imds::start(Mode::Ok);
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    leave_something(&machine, &imds, a);
    let left = spooled(&machine);

    boot_again(&machine);
    imds.set_instance(COPY);
    imds.set_mode(at_first);
    let cloudwatch = CloudWatch::start();
    let efsmon = on_xen(&machine, &cloudwatch, &imds);
    let running = efsmon.start();
    if at_first != Mode::Ok {
        running.wait_for_log("this host's id is not known yet");
        running.wait_for_a_sample();
        imds.set_mode(Mode::Ok);
    }
    running.wait_for("an id", |status| status["host_id"] == COPY);
    running.wait_for_a_sample();
    machine.read(a, 1, (200, 4_224), 4_096);
    running.wait_for_a_sample();
    let text = stdout(&efsmon.output(&["status"]));
    assert!(text.contains("of another machine or version set aside, never sent"), "{text}");
    let log = running.terminate();
    assert_eq!(log.matches("the state directory is another instance's").count(), 1, "{log}");
    let late = usize::from(at_first != Mode::Ok);
    assert_eq!(log.matches("this host's id is not known yet").count(), late, "{log}");
    assert_eq!(log.matches("holds data of another instance; they are kept aside").count(), 1, "{log}");

    // What it commits before it knows the id would wait for the next process.
    let next = efsmon.start();
    next.wait_for("an id", |status| status["host_id"] == COPY);
    next.terminate();
    assert_eq!((bytes(&cloudwatch), names(&cloudwatch)), (4_424.0, [COPY.to_owned()].into()));
    assert_eq!(spooled(&machine), left);
}

#[test]
fn what_another_instance_left_in_an_image_is_never_sent() {
    what_the_image_holds_stays_on_the_disk(Mode::Ok);
}

#[test]
fn what_another_instance_may_have_left_waits_until_the_instance_is_known() {
    what_the_image_holds_stays_on_the_disk(Mode::TokenSilent);
}

/// All of it arrives, also when the service is late.
fn what_was_left_is_sent_after_a_reboot(at_first: Mode) {
    let imds = Imds::start(Mode::Ok);
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    leave_something(&machine, &imds, a);

    boot_again(&machine);
    imds.set_mode(at_first);
    let cloudwatch = CloudWatch::start();
    let running = on_xen(&machine, &cloudwatch, &imds).start();
    if at_first != Mode::Ok {
        running.wait_for_log("this host's id is not known yet");
        running.wait_for_a_sample();
        assert_eq!(bytes(&cloudwatch), 0.0);
        imds.set_mode(Mode::Ok);
    }
    running.wait_for("an id", |status| status["host_id"] == INSTANCE);
    running.terminate();
    assert_eq!((bytes(&cloudwatch), names(&cloudwatch)), (13_272.0, [INSTANCE.to_owned()].into()));
    assert_eq!(spooled(&machine), [""; 0]);
}

#[test]
fn what_an_instance_left_itself_is_sent_after_a_reboot() {
    what_was_left_is_sent_after_a_reboot(Mode::Ok);
    what_was_left_is_sent_after_a_reboot(Mode::TokenSilent);
}
