//! Stalled mounts, by the counters of a real client whose server was gone, and by made-up ones; and what else is
//! found of a mount.

mod findings;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use efsmon::health::Stalls;
use efsmon::model::Moment;
use efsmon::mountinfo::DeviceNumber;
use efsmon::mountstats;
use efsmon::sampler::join::join_texts;

/// At no second.
const NEVER: [u64; 0] = [];
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}

/// Follows mounts by their mount points, each with a superblock of its own.
struct Follower {
    stalls: Stalls,
    stall_after: Duration,
    numbers: HashMap<String, DeviceNumber>,
}

impl Follower {
    fn new(stall_after: Duration) -> Follower {
        Follower { stalls: Stalls::default(), stall_after, numbers: HashMap::new() }
    }

    fn number(&mut self, mount_point: &str) -> DeviceNumber {
        let next = DeviceNumber { major: 0, minor: 40 + self.numbers.len() as u32 };
        *self.numbers.entry(mount_point.to_owned()).or_insert(next)
    }

    /// Takes in a mountstats text read at `seconds`; the stalled mounts with their reasons.
    fn read(&mut self, seconds: f64, text: &[u8]) -> Vec<(String, String)> {
        let parsed = mountstats::parse(text);
        assert_eq!(parsed.problems, []);
        let nfs = parsed.records.iter().filter(|record| record.statistics.is_some());
        let mut mounts: Vec<(String, DeviceNumber)> = Vec::new();
        let mut mountinfo = String::new();
        for record in nfs {
            let shown = |name: &[u8]| String::from_utf8(name.to_owned()).unwrap();
            let (mount_point, device) = (shown(record.mount_point), shown(record.device.unwrap()));
            let number = self.number(&mount_point);
            mountinfo +=
                &format!("60 31 {number} / {mount_point} rw - {} {device} rw\n", shown(record.fs_type));
            mounts.push((mount_point, number));
        }
        let (seen, _) = join_texts(mountinfo.as_bytes(), &parsed, mountinfo.as_bytes());
        let monotonic = Duration::from_secs_f64(seconds);
        let moment = Moment { wall: Duration::from_secs(1_790_000_000) + monotonic, monotonic };
        self.stalls.observe(moment, &seen, self.stall_after);
        let stalled = mounts.into_iter().filter_map(|(mount_point, number)| {
            Some((mount_point, self.stalls.stalled(number)?.to_string()))
        });
        stalled.collect()
    }

    /// [`Follower::read`] of mounts of `MOUNT_POINT AGE XPRT`, further transports after ` + `.
    fn read_lines(&mut self, seconds: f64, lines: &[&str]) -> Vec<(String, String)> {
        self.read(seconds, mountstats_text(lines).as_bytes())
    }
}

fn mountstats_text(lines: &[&str]) -> String {
    let record = |line: &&str| {
        let [mount_point, age, xprts] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let xprts: String = xprts.split(" + ").map(|xprt| format!("\txprt:\t{xprt}\n")).collect();
        format!(
            "device fs:/ mounted on {mount_point} with fstype nfs4 statvers=1.1\n\topts:\trw\n\tage:\t{age}\n\tcaps:\tx\n\
             \tsec:\tx\n\tevents:\t{}\n\tbytes:\t{}\n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n{xprts}\
             \tper-op statistics\n\t        READ: 1 1 0 0 0 0 0 0 0\n\n",
            "0 ".repeat(27),
            "0 ".repeat(8),
        )
    };
    lines.iter().map(record).collect()
}

/// The captured readings: their seconds, and the mounts of each.
fn captured(name: &str) -> Vec<(f64, Vec<String>)> {
    let mut readings: Vec<(f64, Vec<String>)> = Vec::new();
    for line in fs::read_to_string(fixture(name)).unwrap().lines() {
        let (seconds, mount) = line.split_once(' ').unwrap();
        let seconds = seconds.parse().unwrap();
        match readings.last_mut() {
            Some((last, mounts)) if *last == seconds => mounts.push(mount.to_owned()),
            _ => readings.push((seconds, vec![mount.to_owned()])),
        }
    }
    readings
}

/// When `/mnt/efs` was found stalled for the first and the last time, and the first reason. Between them it
/// always was.
fn stalled_in(readings: &[(f64, Vec<String>)]) -> Option<(f64, f64, String)> {
    let mut follower = Follower::new(HALF_A_MINUTE);
    let mut found: Option<(f64, f64, String)> = None;
    let mut before = 0.0;
    for (seconds, mounts) in readings {
        let mounts: Vec<&str> = mounts.iter().map(String::as_str).collect();
        let stalled = follower.read_lines(*seconds, &mounts);
        if let Some((_, reason)) = stalled.iter().find(|(mount_point, _)| mount_point == "/mnt/efs") {
            match &mut found {
                Some((_, last, _)) => {
                    assert_eq!(*last, before, "it was not stalled in between");
                    *last = *seconds;
                }
                None => found = Some((*seconds, *seconds, reason.clone())),
            }
        }
        before = *seconds;
    }
    found
}

#[test]
fn a_server_whose_packets_are_dropped_is_found_within_30_seconds_and_until_it_is_back() {
    let readings = captured("stalls/drop");
    assert_eq!(readings.len(), 38);
    // The last reply came before 26.749. At 50.749 one request is sent while 8 wait: they are from before 26.749.
    let reason = "no reply for 30 s, while 1 request was sent".to_owned();
    assert_eq!(stalled_in(&readings), Some((56.745, 236.747, reason)));
}

#[test]
fn it_is_found_by_readings_at_longer_intervals_as_well() {
    let every =
        |nth: usize, first| captured("stalls/drop").into_iter().skip(first).step_by(nth).collect::<Vec<_>>();
    let times = |readings: Vec<_>| stalled_in(&readings).map(|(first, last, _)| (first, last));
    // 12 s: the last reply before 32.746; then before 26.749, and the readings at 26.749 + 12 n.
    assert_eq!(times(every(2, 0)), Some((68.749, 236.747)));
    assert_eq!(times(every(2, 1)), Some((62.766, 230.753)));
    assert_eq!(times(every(3, 0)), Some((74.812, 236.747)));
}

#[test]
fn mounts_that_share_the_connections_stall_together() {
    let mut follower = Follower::new(HALF_A_MINUTE);
    for (seconds, mounts) in captured("stalls/drop") {
        let mounts: Vec<&str> = mounts.iter().map(String::as_str).collect();
        let stalled = follower.read_lines(seconds, &mounts);
        let expected = if seconds > 56.0 && seconds < 240.0 { mounts.len() } else { 0 };
        assert_eq!(stalled.len(), expected, "{seconds}");
    }
}

#[test]
fn without_a_count_of_waiting_requests_the_wait_begins_when_one_is_seen_to_be_sent() {
    let mut readings = captured("stalls/drop");
    for (_, mounts) in &mut readings {
        for mount in mounts {
            // As before Linux 3.4: ten numbers.
            *mount = mount.split(' ').take(13).collect::<Vec<_>>().join(" ");
        }
    }
    assert!(readings[0].1[0].ends_with("tcp 0 0 2 0 1 171 171 0 171 0"), "{}", readings[0].1[0]);
    // 50.749 + 30 s: the reading at 80.748 comes a millisecond early.
    let reason = "no reply for 30 s, while 5 requests were sent".to_owned();
    assert_eq!(stalled_in(&readings), Some((80.748, 236.747, reason)));
}

/// No mount.
fn none() -> Vec<(String, String)> {
    Vec::new()
}

/// The texts of a server that was stopped for 6 s, a second apart.
fn server_restart() -> Vec<Vec<u8>> {
    let text = |n| fs::read(fixture(&format!("replays/server-restart/{n:03}.mountstats"))).unwrap();
    (0..40).map(text).collect()
}

#[test]
fn a_server_that_is_down_is_found_by_the_connections_that_are_tried() {
    let mut follower = Follower::new(Duration::from_secs(2));
    let mut found = Vec::new();
    for (second, text) in server_restart().iter().enumerate() {
        let stalled = follower.read(100.0 + second as f64, text);
        found.extend(stalled.into_iter().map(|(_, reason)| (second, reason)));
    }
    // No reply after second 9; 8 connections are tried by second 12, and 2 with the next requests at 15.
    assert_eq!(found, [(14, "no reply for 2 s, while 8 connections were tried".to_owned())]);
    // Shorter than the time that is allowed.
    let mut follower = Follower::new(HALF_A_MINUTE);
    for (second, text) in server_restart().iter().enumerate() {
        assert_eq!(follower.read(100.0 + second as f64, text), none());
    }
}

#[test]
fn no_other_capture_shows_a_stall() {
    let mut runs = 0;
    for scenario in fs::read_dir(fixture("captures")).unwrap() {
        let scenario = scenario.unwrap().path();
        // There the server did not answer.
        if !scenario.is_dir() || scenario.ends_with("drop") || scenario.ends_with("server-restart") {
            continue;
        }
        for run in fs::read_dir(&scenario).unwrap().map(|run| run.unwrap().path()).filter(|run| run.is_dir())
        {
            let command = fs::read_to_string(run.join("cmd")).unwrap();
            let interval: f64 = command.split(' ').find_map(|word| word.trim().parse().ok()).unwrap();
            let mut follower = Follower::new(Duration::from_secs(1));
            let texts = (0..).map_while(|n| fs::read(run.join(format!("{n}.mountstats"))).ok());
            for (n, text) in texts.enumerate() {
                assert_eq!(
                    follower.read(100.0 + n as f64 * interval, &text),
                    none(),
                    "{} {n}",
                    run.display()
                );
                runs += 1;
            }
        }
    }
    assert!(runs > 60, "{runs}");
}

/// Readings of one mount 10 s apart, each `SENDS RECEIVES CONNECTS UNMATCHED PENDING`; the seconds at which
/// it is stalled.
fn stalled_at(readings: &[&str]) -> Vec<u64> {
    let mut follower = Follower::new(HALF_A_MINUTE);
    let mut stalled = Vec::new();
    for (second, reading) in (0_u64..).step_by(10).zip(readings) {
        let [sends, receives, connects, unmatched, pending] = reading.split(' ').collect::<Vec<_>>()[..]
        else {
            panic!("{reading}")
        };
        let age = 1000 + second;
        let line =
            format!("/mnt/efs {age} tcp 0 0 {connects} 0 0 {sends} {receives} {unmatched} 9 0 2 0 {pending}");
        if !follower.read_lines(5000.0 + second as f64, &[&line]).is_empty() {
            stalled.push(second);
        }
    }
    stalled
}

#[test]
fn a_quiet_mount_is_not_stalled_however_long_and_whatever_was_lost() {
    assert_eq!(stalled_at(&["100 100 1 0 0"; 60]), NEVER);
    assert_eq!(stalled_at(&["117 100 5 0 7"; 60]), NEVER);
}

#[test]
fn a_quiet_mount_that_begins_to_work_is_not_stalled_while_its_first_replies_are_due() {
    let mut readings = vec!["117 100 5 0 7"; 30];
    // Two requests, the second of them while the first waits; 20 s later they are answered.
    readings.extend(["119 100 5 0 8", "119 100 5 0 8", "119 102 5 0 8", "119 102 5 0 8"]);
    assert_eq!(stalled_at(&readings), NEVER);
}

#[test]
fn a_slow_server_that_answers_now_and_then_is_not_stalled() {
    let readings: Vec<String> =
        (0..60).map(|n| format!("{} {} 1 0 {}", 100 + n, 92 + n / 2, 8 * n)).collect();
    assert_eq!(stalled_at(&readings.iter().map(String::as_str).collect::<Vec<_>>()), NEVER);
}

#[test]
fn a_reply_to_a_request_that_was_given_up_is_a_reply() {
    let given_up = ["100 100 1 0 0", "101 100 1 1 0", "101 100 1 1 0", "101 100 1 1 0", "101 100 1 1 0"];
    assert_eq!(stalled_at(&given_up), NEVER);
}

#[test]
fn a_request_without_a_reply_counts_from_the_reading_that_shows_it() {
    let mut readings = vec!["100 100 1 0 0"; 10];
    readings.extend(["101 100 1 0 0"; 5]);
    readings.extend(["101 101 1 0 0"; 5]);
    assert_eq!(stalled_at(&readings), [130, 140]);
}

#[test]
fn a_reading_that_comes_a_moment_early_tells_as_well() {
    let stalled_at = |moments: [f64; 5]| {
        let mut follower = Follower::new(HALF_A_MINUTE);
        let readings = ["100", "101", "101", "101", "101"].map(|sends| format!("{sends} 100"));
        let found = moments.iter().zip(readings).enumerate().filter_map(|(nth, (&seconds, counts))| {
            let line = format!("/mnt/efs {} tcp 0 0 1 0 0 {counts} 0 9 0 2 0 0", seconds as u64);
            follower.read_lines(seconds, &[&line]).first().map(|(_, reason)| (nth, reason.clone()))
        });
        found.collect::<Vec<_>>()
    };
    // 29.75 s, then 30.25 s, from the reading that shows the request to the last one.
    let reason = "no reply for 30 s, while 1 request was sent".to_owned();
    assert_eq!(stalled_at([5000.0, 5010.25, 5020.0, 5030.0, 5040.0]), [(4, reason.clone())]);
    assert_eq!(stalled_at([5000.0, 5009.75, 5020.0, 5030.0, 5040.0]), [(4, reason)]);
    // 28.5 s are not 30 s.
    assert_eq!(stalled_at([5000.0, 5011.5, 5020.0, 5030.0, 5040.0]), []);
}

#[test]
fn requests_that_wait_since_before_count_from_the_last_reply() {
    // At second 10 the last reply, at 40 one more request is sent while 4 wait.
    let readings = [
        "100 98 1 0 0",
        "200 196 1 0 50",
        "200 196 1 0 50",
        "200 196 1 0 50",
        "201 196 1 0 54",
        "201 197 1 0 54",
    ];
    assert_eq!(stalled_at(&readings), [40]);
    // Five requests one after the other make 0 + 1 + 2 + 3 + 4 themselves.
    let readings = [
        "200 196 1 0 50",
        "200 196 1 0 50",
        "200 196 1 0 50",
        "205 196 1 0 60",
        "205 196 1 0 60",
        "205 201 1 0 60",
    ];
    assert_eq!(stalled_at(&readings), NEVER);
}

#[test]
fn requests_that_waited_for_the_connection_are_not_from_before_the_last_reply() {
    // At second 0 the last reply, then the server closes the idle connection. Just before 40 a program sends 20 requests
    // at once: they wait for the new connection, and the first two that are sent find them waiting.
    let readings = [
        "100 100 1 0 0",
        "100 100 1 0 0",
        "100 100 1 0 0",
        "100 100 1 0 0",
        "102 100 2 0 40",
        "120 120 2 0 40",
        "120 120 2 0 40",
    ];
    assert_eq!(stalled_at(&readings), NEVER);
}

#[test]
fn connections_that_are_tried_without_a_reply_are_a_stall() {
    let readings = ["100 100 1 0 0", "100 100 30 0 0", "100 100 60 0 0", "100 100 90 0 0", "100 100 120 0 0"];
    assert_eq!(stalled_at(&readings), [40]);
}

#[test]
fn another_superblock_or_other_transports_begin_anew() {
    let stalled = |changed: &str, transports: &str| {
        let mut follower = Follower::new(HALF_A_MINUTE);
        let mut stalled = Vec::new();
        for second in 0..6_u64 {
            let sends = 100 + second;
            let mut line =
                format!("/m {} tcp 0 0 1 0 0 {sends} 90 0 9 0 2 0 0{transports}", 500 + 10 * second);
            if second == 3 {
                line = changed.to_owned();
            }
            stalled.extend(follower.read_lines(10.0 * second as f64, &[&line]).first().map(|_| second));
        }
        stalled
    };
    let one = "tcp 0 0 1 0 0 103 90 0 9 0 2 0 0";
    assert_eq!(stalled(&format!("/m 530 {one}"), ""), [4, 5]);
    assert_eq!(stalled(&format!("/m 530 {one} + {one}"), &format!(" + {one}")), [4, 5]);
    // Younger: another one that got the number. It is followed from there.
    assert_eq!(stalled(&format!("/m 4 {one}"), ""), NEVER);
    // A counter fell; a transport less, or more; one that is not known.
    assert_eq!(stalled("/m 530 tcp 0 0 1 0 0 103 89 0 9 0 2 0 0", ""), NEVER);
    assert_eq!(stalled(&format!("/m 530 {one}"), &format!(" + {one}")), NEVER);
    assert_eq!(stalled(&format!("/m 530 {one} + {one}"), ""), NEVER);
    assert_eq!(stalled("/m 530 quic id=4 5", ""), NEVER);
}

#[test]
fn a_mount_that_a_reading_lacks_is_not_stalled_then_and_not_forgotten() {
    let mut follower = Follower::new(HALF_A_MINUTE);
    let mut at = |second: u32, shown: bool| {
        let line = format!("/m {} tcp 0 0 1 0 0 {} 90 0 9 0 2 0 0", 500 + second, 100 + second);
        let lines = if shown { vec![line.as_str()] } else { Vec::new() };
        follower.read_lines(f64::from(second), &lines).len()
    };
    assert_eq!([at(0, true), at(10, true), at(20, true), at(30, true), at(40, true)], [0, 0, 0, 0, 1]);
    assert_eq!([at(50, false), at(60, true)], [0, 1]);
    // A minute is too long.
    assert_eq!([at(70, false), at(120, false), at(130, true), at(140, true)], [0, 0, 0, 0]);
}

#[test]
fn the_reason_gives_the_figures() {
    let reason = |line: &str| {
        let mut follower = Follower::new(HALF_A_MINUTE);
        follower.read_lines(0.0, &["/m 500 tcp 0 0 1 0 0 100 90 0 9 0 2 0 0"]);
        follower.read_lines(10.0, &[&format!("/m 510 {line}")]);
        follower.read_lines(50.4, &[&format!("/m 550 {line}")]).remove(0).1
    };
    assert_eq!(reason("tcp 0 0 1 0 0 101 90 0 9 0 2 0 0"), "no reply for 40 s, while 1 request was sent");
    assert_eq!(
        reason("tcp 0 0 2 0 0 103 90 0 9 0 2 0 0"),
        "no reply for 40 s, while 3 requests were sent and 1 connection tried"
    );
    assert_eq!(reason("tcp 0 0 2 0 0 100 90 0 9 0 2 0 0"), "no reply for 40 s, while 1 connection was tried");
}
