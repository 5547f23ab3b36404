//! CloudWatch is away, slow, deaf or says no: nothing is lost, nothing doubled that need not be, and the log says what
//! to do.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use efsmon::model::{Batch, Datum, Minute, Unit};
use efsmon::source::{Namespace, Roots, Source};
use efsmon::spool::{Directory, Limits, Spool};
use rustix::process::{Pid, Signal, kill_process};

use super::machine::{DEVICE_A, FS_A, Machine};
use super::process::{Efsmon, Running, stdout};
use super::{early_in_a_minute, minutes, spooled, sum};
use crate::fake::cloudwatch::{CloudWatch, Fault};

/// Puts minutes of an hour ago into the state directory, one request each: `data` data of the value 1, named after
/// their place. A minute that ends would come between them: its end is waited out.
pub fn leave_behind(machine: &Machine, requests: usize, data: usize) {
    early_in_a_minute();
    let root = |name: &str| machine.path().join(name);
    let roots = Roots { procfs: root("proc"), sysfs: root("sys"), efs_state: root("efs") };
    let owner = Source::new(roots, Namespace::Own).installation();
    let directory = Directory::open(&machine.path().join("state")).unwrap();
    let mut spool = Spool::open(directory, &owner, Limits::default()).unwrap().spool;
    let hour_ago = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() - Duration::from_secs(3600);
    for request in 0..requests {
        let datum = |place| Datum {
            metric: format!("Left{request}-{place}").into(),
            dimensions: Vec::new(),
            timestamp: Minute::of(hour_ago + Duration::from_secs(60 * request as u64)),
            unit: Unit::Count,
            values: vec![1.0],
            counts: vec![1.0],
        };
        let batch = Batch { namespace: "EFSMon".to_owned(), data: (0..data).map(datum).collect() };
        spool.commit(&[batch], b"").unwrap();
    }
}

/// How often each of the data that were left behind has arrived.
fn arrivals(cloudwatch: &CloudWatch, requests: usize, data: usize) -> Vec<Vec<f64>> {
    let arrived = cloudwatch.data();
    let of = |request| (0..data).map(|place| sum(&arrived, &format!("Left{request}-{place}"), &[])).collect();
    (0..requests).map(of).collect()
}

/// The state alone says `ok` before the first failure too, and a log line comes before the status that goes with it.
fn wait_for_a_success(running: &Running<'_>) {
    running.wait_for("success", |status| !status["publish"]["last_success"].is_null());
}

#[test]
fn while_nobody_answers_all_is_kept_and_then_goes_out_newest_first() {
    let (cloudwatch, opener) = CloudWatch::start_shut();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    leave_behind(&machine, 3, 1);
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());

    let running = efsmon.start();
    running.wait_for_log("publishing stopped; keeping data in the spool");
    machine.read(a, 3, (600, 12_672), 12_288);
    running.wait_for_a_sample();
    assert!(running.log().contains("no connection to 127.0.0.1:"), "{}", running.log());
    let status = running.status();
    assert_eq!(status["publish"]["state"], "backoff");
    assert_eq!(status["spool"]["files"], 3);
    opener.open();
    running.wait("requests", || !cloudwatch.puts().is_empty());
    wait_for_a_success(&running);
    let log = running.terminate();
    assert_eq!(log.matches("publishing stopped").count(), 1, "{log}");
    assert!(log.contains("publishing resumed"), "{log}");
    // What a host that comes back holds back, so that a fleet does not come back at once, is sent by the next process.
    efsmon.start().terminate();

    assert_eq!(arrivals(&cloudwatch, 3, 1), [[1.0], [1.0], [1.0]]);
    let data = cloudwatch.data();
    let first: Vec<_> = data.iter().take(3).map(|datum| datum.metric.as_str()).collect();
    assert_eq!(first, ["Left2-0", "Left1-0", "Left0-0"]);
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_A)]), 13_272.0);
    assert_eq!(spooled(&machine), [""; 0]);
}

#[test]
fn a_daemon_that_is_killed_loses_nothing_and_repeats_only_what_it_could_not_strike_off() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    // Too large to be merged: three requests, one a second.
    leave_behind(&machine, 3, 600);
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());

    let victim = Arc::new(AtomicU32::new(0));
    cloudwatch.on_accepting({
        let victim = victim.clone();
        move |request| {
            while request == 2 && victim.load(Ordering::SeqCst) == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
            if request == 2 {
                let pid = Pid::from_raw(victim.load(Ordering::SeqCst) as i32).unwrap();
                kill_process(pid, Signal::KILL).unwrap();
            }
        }
    });
    let mut running = efsmon.start();
    machine.read(a, 3, (600, 12_672), 12_288);
    victim.store(running.pid(), Ordering::SeqCst);
    running.end();
    // The newest is off, the second is in CloudWatch and still on the disk.
    assert_eq!(spooled(&machine).len(), 2);
    machine.read(a, 1, (200, 4_224), 4_096);

    let running = efsmon.start();
    running.wait("what was left behind", || cloudwatch.puts().len() >= 4);
    machine.read(a, 2, (400, 8_448), 8_192);
    running.terminate();
    let expected = [vec![1.0; 600], vec![2.0; 600], vec![1.0; 600]];
    assert_eq!(arrivals(&cloudwatch, 3, 600), expected);
    // 600 + 12,672 + 200 + 4,224 + 400 + 8,448: the first two from before the kill.
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "ReadBytes", &[("FileSystemId", FS_A)]), 26_544.0);
    minutes(&data, "Hosts", &[]);
    minutes(&data, "Clients", &[("FileSystemId", FS_A)]);
    assert_eq!(spooled(&machine), [""; 0]);
}

/// A request of which nobody knows whether it arrived is not sent again at once, and is counted.
fn unknown_outcome(fault: Fault, arrives: f64) {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    leave_behind(&machine, 2, 1);
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    cloudwatch.fail_next(1, fault);
    let running = efsmon.start();
    running.wait_for("an unknown outcome", |status| status["publish"]["unknown_outcomes"] == 1);
    running.wait_for_a_sample();
    running.wait_for_a_sample();
    assert_eq!(cloudwatch.puts().len(), 1);
    let text = stdout(&efsmon.output(&["status"]));
    assert!(text.contains("1 request of which it is not known whether it arrived"), "{text}");
    let log = running.terminate();
    assert_eq!(log.matches("publishing stopped").count(), 1, "{log}");
    assert!(log.contains("no answer from 127.0.0.1:"), "{log}");
    assert_eq!(cloudwatch.puts().len(), 1);

    efsmon.start().terminate();
    assert_eq!(arrivals(&cloudwatch, 2, 1), [[arrives], [arrives]]);
    assert_eq!(sum(&cloudwatch.data(), "UnknownOutcomes", &[]), 1.0);
    assert_eq!(spooled(&machine), [""; 0]);
}

#[test]
fn a_request_without_an_answer_is_counted_and_not_repeated_at_once() {
    std::thread::scope(|scope| {
        scope.spawn(|| unknown_outcome(Fault::CloseAfterAccepting, 2.0));
        scope.spawn(|| unknown_outcome(Fault::Mute, 1.0));
    });
}

#[test]
fn an_unknown_outcome_of_the_last_seconds_is_told_by_the_next_process() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let running = efsmon.start();
    machine.read(a, 3, (600, 12_672), 12_288);
    cloudwatch.fail_next(1, Fault::CloseAfterAccepting);
    running.terminate();
    assert_eq!(cloudwatch.puts().len(), 1);
    assert_ne!(spooled(&machine), [""; 0]);
    efsmon.start().terminate();
    let data = cloudwatch.data();
    assert_eq!(
        sum(&data, "ReadBytes", &[("FileSystemId", FS_A)]),
        26_544.0,
        "once too often, and that is said:"
    );
    assert_eq!(sum(&data, "UnknownOutcomes", &[]), 1.0);
    efsmon.start().terminate();
    assert_eq!(sum(&cloudwatch.data(), "UnknownOutcomes", &[]), 1.0);
}

#[test]
fn a_missing_permission_is_named_and_its_data_wait_for_it() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    leave_behind(&machine, 2, 1);
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    cloudwatch.fail_next(1000, Fault::AccessDenied);
    let running = efsmon.start();
    running.wait_for_log("cloudwatch:PutMetricData");
    machine.read(a, 3, (600, 12_672), 12_288);
    let text = stdout(&efsmon.output(&["status"]));
    assert!(text.contains("allow cloudwatch:PutMetricData"), "{text}");
    cloudwatch.recover();
    wait_for_a_success(&running);
    let log = running.terminate();
    assert_eq!(log.matches("publishing stopped").count(), 1, "{log}");
    efsmon.start().terminate();
    assert_eq!(arrivals(&cloudwatch, 2, 1), [[1.0], [1.0]]);
    assert_eq!(sum(&cloudwatch.data(), "ReadBytes", &[("FileSystemId", FS_A)]), 13_272.0);
}

fn write_credentials(machine: &Machine, key: &str) {
    let directory = machine.path().join("home/.aws");
    fs::create_dir_all(&directory).unwrap();
    let text =
        format!("[default]\naws_access_key_id = {key}\naws_secret_access_key = secret\nregion = eu-west-1\n");
    write_whole(&directory.join("credentials"), &text);
}

fn write_whole(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

#[test]
fn credentials_that_expired_are_read_again_without_a_restart() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    leave_behind(&machine, 2, 1);
    write_credentials(&machine, "AKIDEXPIRED");
    cloudwatch.expire("AKIDEXPIRED");
    let running = Efsmon::on(&machine)
        .set("AWS_ENDPOINT_URL", &cloudwatch.url())
        .set("AWS_REGION", "eu-west-1")
        .start();
    running.wait_for_log("renew this host's credentials");
    write_credentials(&machine, "AKIDNEW");
    wait_for_a_success(&running);
    running.terminate();
    assert_eq!(arrivals(&cloudwatch, 2, 1), [[1.0], [1.0]]);
}

#[test]
fn without_a_region_or_credentials_it_says_how_to_give_them_and_goes_on_sampling() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    leave_behind(&machine, 2, 1);
    let without = Efsmon::on(&machine).set("AWS_ENDPOINT_URL", &cloudwatch.url());
    let region =
        "no AWS region: set publish.region or AWS_REGION, or `region` in ~/.aws/config, or let this host";
    let credentials = "no AWS credentials: give the instance, task or service account a role, or set \
                       AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials";

    let running = without.start();
    running.wait_for_log(region);
    machine.read(a, 3, (600, 12_672), 12_288);
    running.wait_for_a_sample();
    let text = stdout(&without.output(&["status"]));
    assert!(text.contains(region), "{text}");
    let log = running.terminate();
    assert_eq!(
        log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).count(),
        1,
        "{log}"
    );

    let running = without.set("AWS_REGION", "eu-west-1").start();
    running.wait_for_log(credentials);
    machine.read(a, 1, (200, 4_224), 4_096);
    let log = running.terminate();
    assert_eq!(
        log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).count(),
        1,
        "{log}"
    );

    assert_eq!(cloudwatch.puts(), []);
    Efsmon::on(&machine).with_aws(&cloudwatch.url()).start().terminate();
    assert_eq!(arrivals(&cloudwatch, 2, 1), [[1.0], [1.0]]);
    assert_eq!(sum(&cloudwatch.data(), "ReadBytes", &[("FileSystemId", FS_A)]), 17_696.0);
}
