//! What the machine shows: nothing, half a text, one bad record, mounts that come and go, a restart, a reboot.

use super::machine::{DEVICE_A, DEVICE_B, FS_A, FS_B, Fault, Machine};
use super::process::{Efsmon, stdout};
use super::{minutes, spooled, sum};
use crate::fake::cloudwatch::CloudWatch;

const A: [(&str, &str); 1] = [("FileSystemId", FS_A)];
const B: [(&str, &str); 1] = [("FileSystemId", FS_B)];

#[test]
fn a_host_without_nfs_mounts_is_healthy_and_says_that_it_is_there() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let running = efsmon.start();
    running.wait_for_a_sample();
    let text = stdout(&efsmon.output(&["status"]));
    assert!(
        text.contains("no NFS mounts; only `Hosts` and the daemon's own figures are published"),
        "{text}"
    );
    let log = running.terminate();
    assert!(log.contains("no NFS mounts yet; mounts are noticed as they come"), "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "Hosts", &[]), minutes(&data, "Hosts", &[]) as f64);
    let fleet = ["Hosts", "UnidentifiedMounts", "SamplesLost", "UnknownOutcomes"];
    assert!(data.iter().all(|datum| fleet.contains(&datum.metric.as_str())), "{data:?}");
}

/// The reading fails for a while: said once, counted, and the next one that is whole covers the time.
fn void(fault: Fault, said: &str) {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let running = efsmon.start();
    machine.read(a, 3, (600, 12_672), 12_288);
    running.wait_for_a_sample();
    machine.set_fault(Some(fault));
    machine.read(a, 1, (200, 4_224), 4_096);
    running.wait_for("void samples", |status| status["samples"]["void"].as_u64() >= Some(2));
    let text = stdout(&efsmon.output(&["status"]));
    assert!(text.contains("CANNOT BE READ: ") && text.contains(said), "{text}");
    machine.set_fault(None);
    running.wait_for_log("reading the mounts again");
    let void = running.status()["samples"]["void"].as_u64().unwrap();
    let log = running.terminate();
    assert_eq!(log.matches("this sample is void").count(), 1, "{log}");
    assert!(log.contains(said), "{log}");
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "ReadBytes", &A), 17_696.0);
    assert_eq!(sum(&data, "SamplesLost", &[]), void as f64);
    minutes(&data, "Clients", &A);
}

#[test]
fn a_void_reading_is_said_once_counted_and_made_good_by_the_next() {
    std::thread::scope(|scope| {
        scope.spawn(|| void(Fault::NoMountstats, "mountstats: No such file or directory"));
        scope.spawn(|| void(Fault::Cut, "mountstats: it is cut off within a line"));
    });
}

#[test]
fn what_is_void_from_the_start_is_counted_too() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    machine.set_fault(Some(Fault::NoMountstats));
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let running = efsmon.start();
    running.wait_for("void samples", |status| status["samples"]["void"].as_u64() >= Some(2));
    machine.set_fault(None);
    let status = running.wait_for("a sample", |status| status["samples"]["taken"].as_u64() >= Some(1));
    let void = status["samples"]["void"].as_u64().unwrap();
    machine.read(a, 3, (600, 12_672), 12_288);
    // The first sample that is not void is on the disk at once, with the number of those that were.
    running.kill();
    efsmon.start().terminate();
    assert_eq!(sum(&cloudwatch.data(), "ReadBytes", &A), 13_272.0);

    machine.set_fault(Some(Fault::NoMountstats));
    let running = efsmon.start();
    running.wait_for("void samples", |status| status["samples"]["void"].as_u64() >= Some(2));
    machine.set_fault(None);
    running.wait_for_log("reading the mounts again");
    let void = void + running.status()["samples"]["void"].as_u64().unwrap();
    running.terminate();
    assert_eq!(sum(&cloudwatch.data(), "SamplesLost", &[]), void as f64);
}

#[test]
fn one_bad_record_costs_its_mount_only_and_is_shown_with_its_line() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let b = machine.mount(DEVICE_B, "/mnt/b");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let running = efsmon.start();
    machine.set_fault(Some(Fault::BadRecord(b)));
    machine.read(a, 3, (600, 12_672), 12_288);
    machine.read(b, 1, (200, 4_224), 4_096);
    running.wait_for_log("a part of mountstats cannot be read; the other mounts go on");
    running.wait_for_a_sample();
    // One line of the root's, 17 of /mnt/a's record with the empty one, and READ is the 13th of the next.
    let problem = "line 31, /mnt/b: `READ`: ";
    let text = stdout(&efsmon.output(&["status"]));
    assert!(text.contains(problem), "{text}");
    assert!(running.log().contains(problem), "{}", running.log());
    machine.read(a, 1, (200, 4_224), 4_096);
    running.wait_for_a_sample();
    machine.set_fault(None);
    running.wait_for_a_sample();
    let log = running.terminate();
    assert_eq!(log.matches("a part of mountstats cannot be read").count(), 1, "{log}");
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "ReadBytes", &A), 17_696.0);
    // It was absent for less than six samples: nothing of it is lost.
    assert_eq!(sum(&data, "ReadBytes", &B), 4_424.0);
}

#[test]
fn a_new_mount_counts_from_its_birth_and_a_remount_is_another() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let running = Efsmon::on(&machine).with_aws(&cloudwatch.url()).start();
    let a = machine.mount_now(DEVICE_A, "/mnt/a");
    machine.read(a, 3, (600, 12_672), 12_288);
    running.wait_for_a_sample();
    running.wait_for_a_sample();
    machine.unmount(a);
    let again = machine.mount_now(DEVICE_A, "/mnt/a");
    machine.read(again, 1, (200, 4_224), 4_096);
    running.wait_for_a_sample();
    running.wait_for_a_sample();
    running.terminate();
    assert_eq!(sum(&cloudwatch.data(), "ReadBytes", &A), 17_696.0);
    assert_eq!(sum(&cloudwatch.data(), "ReadOperations", &A), 4.0);
}

#[test]
fn restarts_within_a_minute_change_no_sum_and_say_hosts_once() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let running = efsmon.start();
    machine.read(a, 3, (600, 12_672), 12_288);
    running.terminate();
    // While no daemon runs.
    machine.read(a, 1, (200, 4_224), 4_096);
    let running = efsmon.start();
    machine.read(a, 1, (200, 4_224), 4_096);
    running.kill();
    machine.read(a, 1, (200, 4_224), 4_096);
    let running = efsmon.start();
    machine.read(a, 1, (200, 4_224), 4_096);
    running.terminate();
    let data = cloudwatch.data();
    // 13,272 + 4 x 4,424
    assert_eq!(sum(&data, "ReadBytes", &A), 30_968.0);
    assert_eq!(sum(&data, "ReadOperations", &A), 7.0);
    let hosts = minutes(&data, "Hosts", &[]);
    assert!((1..=2).contains(&hosts), "{hosts}");
    assert_eq!(minutes(&data, "Clients", &A), hosts);
    assert_eq!(spooled(&machine), [""; 0]);
}

#[test]
fn after_a_reboot_counting_starts_with_the_first_sample_and_survives_a_kill() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    efsmon.start().terminate();
    machine.write("proc/sys/kernel/random/boot_id", "9f1b0c52-6f2e-4b53-a3a7-0a4f3f4a7e11\n");
    // What the counters of the boot before would have made of it is none of this boot's.
    machine.read(a, 1000, (200_000, 4_224_000), 4_096_000);
    let running = efsmon.start();
    machine.read(a, 3, (600, 12_672), 12_288);
    running.kill();
    efsmon.start().terminate();
    assert_eq!(sum(&cloudwatch.data(), "ReadBytes", &A), 13_272.0);
}
