//! Mounts by address: whose they are EFS says, once, and their figures go out under its name.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::machine::{DEVICE_B, FS_A, FS_B, Machine};
use super::process::{Efsmon, stdout};
use super::publishing::leave_behind;
use super::{early_in_a_minute, sum};
use crate::fake::cloudwatch::CloudWatch;
use crate::fake::efs::{Efs, Fault};

fn looking_up<'a>(machine: &'a Machine, cloudwatch: &CloudWatch, efs: &Efs) -> Efsmon<'a> {
    Efsmon::on(machine)
        .with_aws(&cloudwatch.url())
        .set("AWS_ENDPOINT_URL_EFS", &efs.url())
        .set("EFSMON_IDENTITY__LOOKUP", "true")
}

fn not_published(status: &Value) -> Vec<String> {
    let mounts = status["sighting"]["not_published"].as_array().unwrap();
    mounts.iter().map(|mount| format!("{} {}", mount["mount_point"], mount["reason"])).collect()
}

#[test]
fn a_mount_by_address_is_published_under_its_file_system() {
    let (cloudwatch, efs, machine) = (CloudWatch::start(), Efs::start(), Machine::new());
    efs.create(FS_A, &["10.0.1.5", "10.0.2.5"]);
    efs.create(FS_B, &["fd00::5"]);
    let address = machine.mount_from("10.0.2.5:/", "10.0.2.5", "/mnt/address");
    let ipv6 = machine.mount_from("[fd00::5]:/", "fd00::5", "/mnt/ipv6");
    let alias = machine.mount_from("files.example.com:/x", "10.0.1.5", "/mnt/alias");
    let nas = machine.mount_from("10.9.9.9:/vol", "10.9.9.9", "/mnt/nas");
    let efsmon = looking_up(&machine, &cloudwatch, &efs);
    let running = efsmon.start();
    // Counted from the first reading on, whenever EFS answers.
    for place in [address, ipv6, alias, nas] {
        machine.read(place, 3, (600, 12_672), 12_288);
    }
    let named = |status: &Value| {
        status["sighting"]["file_systems"][FS_A] == 2 && status["sighting"]["file_systems"][FS_B] == 1
    };
    let status = running.wait_for("names", named);
    let nobodys = "\"/mnt/nas\" \"its server's address is no mount target of this account and Region; if it is EFS, name \
                   the file system in [[mounts]]\"";
    assert_eq!(not_published(&status), [nobodys]);
    running.wait_for_a_sample();
    running.terminate();
    let data = cloudwatch.data();
    // 600 + 12,672 each.
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_A)]), 26_544.0);
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_B)]), 13_272.0);
    assert_eq!(sum(&data, "ReadOperations", &[("FileSystemId", FS_A)]), 6.0);
    assert_eq!(efs.requests().len(), 3, "{:?}", efs.requests());

    // A second start asks nothing, and neither does the list of mounts.
    let running = efsmon.start();
    let status = running.wait_for("names", named);
    assert_eq!(not_published(&status), [nobodys]);
    machine.read(address, 1, (200, 4_224), 4_096);
    running.wait_for_a_sample();
    running.terminate();
    assert_eq!(sum(&cloudwatch.data(), "ReadBytes", &[("FileSystemId", FS_A)]), 30_968.0);
    assert_eq!(efs.requests().len(), 3, "{:?}", efs.requests());
}

#[test]
fn what_is_kept_is_believed_only_whole_and_by_the_machine_that_asked() {
    let (cloudwatch, efs, machine) = (CloudWatch::start(), Efs::start(), Machine::new());
    efs.create(FS_A, &["10.0.1.5"]);
    machine.mount_from("10.0.1.5:/", "10.0.1.5", "/mnt/address");
    let named = |status: &Value| status["sighting"]["file_systems"][FS_A] == 1;
    let start = || {
        let running = looking_up(&machine, &cloudwatch, &efs).start();
        running.wait_for("a name", named);
        running.terminate();
        efs.requests().len()
    };
    assert_eq!((start(), start()), (2, 2));
    let kept = machine.path().join("state/mount-targets.json");
    let text = fs::read(&kept).unwrap();
    fs::write(&kept, &text[..text.len() / 2]).unwrap();
    assert_eq!((start(), start()), (4, 4));
    assert_eq!(fs::read(&kept).unwrap().last(), Some(&b'}'));
    // An instance that was made from this one's image: another one in its asset tag.
    machine.write("sys/class/dmi/id/board_asset_tag", "i-0fedcba9876543210\n");
    assert_eq!((start(), start()), (6, 6));
}

#[test]
fn an_address_that_changed_hands_is_not_taken_for_its_last_owner_s() {
    let (cloudwatch, efs, machine) = (CloudWatch::start(), Efs::start(), Machine::new());
    efs.create(FS_A, &["10.0.1.5"]);
    let old = machine.mount_from("10.0.1.5:/", "10.0.1.5", "/mnt/address");
    let running = looking_up(&machine, &cloudwatch, &efs).start();
    running.wait_for("a name", |status| status["sighting"]["file_systems"][FS_A] == 1);
    efs.delete(FS_A);
    efs.create(FS_B, &["10.0.1.5"]);
    machine.unmount(old);
    // Later than the answer, by the whole seconds of an age.
    std::thread::sleep(Duration::from_secs(3));
    machine.mount_now("10.0.1.5:/", "/mnt/address");
    // Asked whether it is still A's: it is not. Whose it is, the next round will say.
    running.wait("a question", || efs.requests().len() == 3);
    running.wait_for_a_sample();
    let status = running.status();
    assert_eq!(status["sighting"]["file_systems"], serde_json::json!({}));
    assert_eq!(
        not_published(&status),
        ["\"/mnt/address\" \"EFS has not said yet whose its server's address is\""]
    );
    running.terminate();
    // Without what is kept a start knows of no round.
    fs::remove_file(machine.path().join("state/mount-targets.json")).unwrap();
    let running = looking_up(&machine, &cloudwatch, &efs).start();
    running.wait_for("a name", |status| status["sighting"]["file_systems"][FS_B] == 1);
    running.terminate();
}

#[test]
fn efs_is_asked_only_for_a_mount_that_waits() {
    let (cloudwatch, efs, machine) = (CloudWatch::start(), Efs::start(), Machine::new());
    efs.create(FS_A, &["10.0.1.5"]);
    machine.mount(DEVICE_B, "/mnt/b");
    machine.mount_by_proxy(FS_B, "/mnt/p", 20_049);
    let running = looking_up(&machine, &cloudwatch, &efs).start();
    running.wait_for_a_sample();
    running.wait_for_a_sample();
    assert_eq!(efs.requests(), [""; 0]);
    machine.mount_from("10.0.1.5:/", "10.0.1.5", "/mnt/address");
    running.wait_for("a name", |status| status["sighting"]["file_systems"][FS_A] == 1);
    running.terminate();
    assert_eq!(efs.requests().len(), 2);

    // Nor ever, when it may not be asked.
    let running = looking_up(&machine, &cloudwatch, &efs).unset("EFSMON_IDENTITY__LOOKUP").start();
    let status = running.wait_for("a first sample", |status| !status.is_null());
    assert_eq!(
        not_published(&status),
        [
            "\"/mnt/address\" \"its server is not an EFS name; if it is EFS, set identity.lookup or name the file system in \
          [[mounts]]\""
        ]
    );
    running.terminate();
    assert_eq!(efs.requests().len(), 2);
}

#[test]
fn a_missing_permission_is_named_once_and_nothing_else_waits() {
    let (cloudwatch, efs, machine) = (CloudWatch::start(), Efs::start(), Machine::new());
    efs.create(FS_A, &["10.0.1.5"]);
    efs.fail_next(1000, Fault::Denied("mount-targets"));
    let b = machine.mount(DEVICE_B, "/mnt/b");
    machine.mount_from("10.0.1.5:/", "10.0.1.5", "/mnt/address");
    let running = looking_up(&machine, &cloudwatch, &efs).start();
    machine.read(b, 3, (600, 12_672), 12_288);
    running.wait_for_log("allow the action to this host's role");
    running.wait_for_a_sample();
    let waiting = "\"/mnt/address\" \"EFS has not said yet whose its server's address is\"";
    assert_eq!(not_published(&running.status()), [waiting]);
    let log = running.terminate();
    assert_eq!(log.matches("elasticfilesystem:DescribeMountTargets").count(), 1, "{log}");
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_B)]), 13_272.0);
    assert_eq!(sum(&data, "UnidentifiedMounts", &[]), 0.0, "not before ten minutes");
}

#[test]
fn one_round_asks_too_and_a_dry_run_does_not() {
    early_in_a_minute();
    let (cloudwatch, efs, machine) = (CloudWatch::start(), Efs::start(), Machine::new());
    efs.create(FS_A, &["10.0.1.5"]);
    let address = machine.mount_from("10.0.1.5:/", "10.0.1.5", "/mnt/address");
    let efsmon = looking_up(&machine, &cloudwatch, &efs);
    let dry = efsmon.output(&["run", "--dry-run", "--once"]);
    assert!(dry.status.success());
    assert!(!stdout(&dry).contains(FS_A), "{}", stdout(&dry));
    assert_eq!(efs.requests(), [""; 0]);

    assert!(efsmon.output(&["run", "--once"]).status.success());
    assert_eq!(efs.requests().len(), 2);
    machine.read(address, 3, (600, 12_672), 12_288);
    assert!(efsmon.output(&["run", "--once"]).status.success());
    assert_eq!(sum(&cloudwatch.data(), "ReadBytes", &[("FileSystemId", FS_A)]), 13_272.0);
    assert_eq!(efs.requests().len(), 2);
    assert!(stdout(&efsmon.output(&["run", "--dry-run", "--once"])).contains(FS_A));
    assert_eq!(efs.requests().len(), 2);
}

#[test]
fn efs_is_not_asked_while_a_request_waits_for_cloudwatch() {
    let (cloudwatch, efs, machine) = (CloudWatch::start(), Arc::new(Efs::start()), Machine::new());
    efs.create(FS_A, &["10.0.1.5"]);
    machine.mount_from("10.0.1.5:/", "10.0.1.5", "/mnt/address");
    leave_behind(&machine, 1, 1);
    let (sender, asked) = std::sync::mpsc::channel();
    cloudwatch.on_accepting({
        let efs = efs.clone();
        move |_| {
            // Ample time for a question that does not wait.
            std::thread::sleep(Duration::from_millis(1500));
            let _ = sender.send(efs.requests().len());
        }
    });
    let running = looking_up(&machine, &cloudwatch, &efs).start();
    running.wait_for("a name", |status| status["sighting"]["file_systems"][FS_A] == 1);
    assert_eq!(asked.recv(), Ok(0));
    running.terminate();
}
