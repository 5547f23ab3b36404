//! `publish.enabled = false`: sampled, and nothing kept or sent.

use std::fs;

use super::machine::{DEVICE_A, FS_A, Machine};
use super::process::{Efsmon, stderr, stdout};
use super::publishing::leave_behind;
use super::{spooled, sum};
use crate::fake::cloudwatch::CloudWatch;
use crate::fake::imds::{Imds, Mode};

#[test]
fn a_daemon_that_is_switched_off_samples_and_keeps_nothing_of_it() {
    let (cloudwatch, imds) = (CloudWatch::start(), Imds::start(Mode::Ok));
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    machine.be_ec2();
    // What waits from before is neither sent nor dropped.
    leave_behind(&machine, 1, 1);
    let on = || {
        Efsmon::on(&machine)
            .with_aws(&cloudwatch.url())
            .unset("EFSMON_HOST__ID")
            .unset("AWS_EC2_METADATA_DISABLED")
            .set("AWS_EC2_METADATA_SERVICE_ENDPOINT", &imds.url())
    };
    // The credentials would have to be asked for.
    let off = on()
        .unset("AWS_ACCESS_KEY_ID")
        .unset("AWS_SECRET_ACCESS_KEY")
        .set("EFSMON_PUBLISH__ENABLED", "false");
    let running = off.start();
    running.wait_for("an id", |status| status["host_id"] == "i-0123456789abcdef0");
    machine.read(a, 3, (600, 12_672), 12_288);
    running.wait_for_a_sample();
    let text = stdout(&off.output(&["status"]));
    assert!(text.contains("\nNOT SENDING  publish.enabled is false"), "{text}");
    assert!(
        text.contains("\nhost         id from imds, m7g.large, in eu-west-1b (euw1-az2), account 1234567"),
        "{text}"
    );
    let log = running.terminate();
    assert!(
        log.contains("publish.enabled is false: sampling without keeping or sending any minute"),
        "{log}"
    );
    assert_eq!(cloudwatch.connections(), 0);
    let requests = imds.requests();
    assert!(requests.iter().all(|request| !request.contains("security-credentials")), "{requests:?}");
    let left = spooled(&machine);
    assert_eq!(left.len(), 1);

    let once = off.output(&["run", "--once"]);
    assert!(once.status.success(), "{}", stderr(&once));
    assert_eq!((spooled(&machine), cloudwatch.connections()), (left, 0));
    assert!(fs::read_dir(machine.path().join("state")).unwrap().count() <= 3);

    let running = on().start();
    machine.read(a, 1, (200, 4_224), 4_096);
    running.wait_for_a_sample();
    let text = stdout(&on().output(&["status"]));
    assert!(!text.contains("publish.enabled"), "{text}");
    running.terminate();
    let data = cloudwatch.data();
    // The three READs of the dark time are nobody's.
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_A)]), 4_424.0);
    assert_eq!(sum(&data, "Left0-0", &[]), 1.0);
    assert_eq!(spooled(&machine), [""; 0]);
}
