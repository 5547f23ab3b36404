//! How it ends: what a round's exit status says, what signals do, and that nothing holds it.

use std::fs;
use std::future::{pending, ready};
use std::time::Duration;

use efsmon::daemon::host::{HostFinder, Surroundings};
use rustix::process::{Pid, Signal, kill_process};

use super::machine::{DEVICE_A, FS_A, Machine};
use super::process::{Efsmon, stderr};
use super::{spooled, sum};
use crate::fake::cloudwatch::{CloudWatch, Fault};
use crate::fake::imds::{Imds, Mode};
use crate::paused::{self, Home, Paused, Recorder};

#[test]
fn a_round_that_sent_everything_in_two_pieces_succeeds() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    cloudwatch.fail_next(1, Fault::TooLarge);
    let output = Efsmon::on(&machine).with_aws(&cloudwatch.url()).output(&["run", "--once"]);
    assert_eq!((spooled(&machine).len(), output.status.code()), (0, Some(0)), "{}", stderr(&output));
}

#[test]
fn a_round_whose_figures_wait_for_the_host_s_id_fails_and_says_so() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    machine.be_ec2();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url()).unset("EFSMON_HOST__ID");
    efsmon.output(&["run", "--once"]);
    machine.read(a, 3, (600, 12_672), 12_288);
    let output = efsmon.output(&["run", "--once"]);
    let left = match spooled(&machine).len() {
        1 => "1 request is".to_owned(),
        several => format!("{several} requests are"),
    };
    let expected = format!(
        "efsmon: not all was sent, {left} left for the next round: this host's id is not known yet; where it stays so, \
         set host.id"
    );
    assert_eq!(stderr(&output).lines().last(), Some(expected.as_str()));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        sum(&cloudwatch.data(), "ReadBytes", &[("FileSystemId", FS_A)]),
        13_272.0,
        "the fleet's are sent"
    );
}

#[test]
fn a_round_without_a_place_to_keep_its_figures_fails_and_says_so() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let mut running = efsmon.start_with(efsmon.command(&["run", "--once"]));
    fs::remove_dir_all(machine.path().join("state")).unwrap();
    let (status, log) = running.end();
    let expected = "efsmon: what was read could not be kept in the state directory and was not sent; the next round has it, see the log";
    assert_eq!((status.code(), log.lines().last()), (Some(1), Some(expected)), "{log}");
}

#[test]
fn a_signal_ends_a_round_that_looks_for_the_host_s_id() {
    let cloudwatch = CloudWatch::start();
    let imds = Imds::start(Mode::Status(503));
    let machine = Machine::new();
    machine.be_ec2();
    machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine)
        .with_aws(&cloudwatch.url())
        .unset("EFSMON_HOST__ID")
        .unset("AWS_EC2_METADATA_DISABLED")
        .set("AWS_EC2_METADATA_SERVICE_ENDPOINT", &imds.url());
    let mut running = efsmon.start_with(efsmon.command(&["run", "--once"]));
    running.wait_for_log("this host's id is not known yet");
    kill_process(Pid::from_raw(running.pid() as i32).unwrap(), Signal::INT).unwrap();
    let (status, log) = running.end();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(
        log.lines().last().unwrap().ends_with("left for the next round: a signal ended the round"),
        "{log}"
    );
    assert_eq!(cloudwatch.puts(), [], "nothing was begun after it");
    assert_ne!(spooled(&machine), [""; 0]);
}

/// `getaddrinfo` cannot be broken off: here it takes a quarter of an hour for its own file.
#[test]
fn a_resolver_that_hangs_does_not_hold_the_end() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let mut efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url().replace("127.0.0.1", "localhost"));
    let trace = machine.path().join("trace");
    let hang = ["-P", "/etc/hosts", "-e", "inject=openat:delay_enter=900s", "-o", trace.to_str().unwrap()];
    efsmon
        .program
        .splice(0..0, ["strace", "-D", "-f", "-q"].iter().chain(&hang).map(|&word| word.to_owned()));
    let running = efsmon.start();
    running.wait_for_a_sample();
    let pid = Pid::from_raw(running.pid() as i32).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    running.wait_for("the last request's failure", |status| status["ended"] == true);
    // strace lets go of it only when the quarter of an hour is over.
    let of_process = || fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    running.wait("its end", || of_process().contains("State:\tZ"));
    let status = of_process();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:\t")).unwrap();
    kill_process(Pid::from_raw(tracer.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    assert_eq!(cloudwatch.puts(), []);
}

/// The requests that were sent and the files that are left after four minutes of which nothing was due, and an end
/// that a second signal may shorten.
fn sent_and_left(second_signal: impl AsyncFn()) -> (usize, usize) {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let home = Home::at(machine.path());
    let sent = paused::live(async {
        let clock = Paused::at(Duration::from_secs(1_796_040_030));
        let finder = HostFinder::new(Some("h".to_owned()), &home.source, Surroundings::Host);
        let sink = Recorder::that_takes(Duration::from_secs(1));
        let publisher = paused::publisher("m", Duration::from_secs(6000));
        let mut daemon = home.daemon(paused::settings(), &clock, publisher);
        let mut signals = 0;
        let signal = async || {
            signals += 1;
            match signals {
                1 => tokio::time::sleep(Duration::from_secs(245)).await,
                _ => second_signal().await,
            }
        };
        daemon.run(&sink, &finder, signal).await;
        sink.requests()
    });
    (sent, spooled(&machine).len())
}

#[test]
fn a_second_signal_ends_the_last_sending() {
    // The minute that is not over goes out first and alone, and then the others in one request.
    assert_eq!(sent_and_left(async || pending().await), (2, 0));
    let (sent, left) = sent_and_left(async || ready(()).await);
    assert_eq!(sent, 0);
    assert!(left >= 4, "{left}");
    // What is in flight is waited for.
    let (sent, left) = sent_and_left(async || tokio::time::sleep(Duration::from_millis(500)).await);
    assert_eq!(sent, 1);
    assert!(left >= 3, "{left}");
}
