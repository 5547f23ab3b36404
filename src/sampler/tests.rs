//! A reading is written as its mounts, `; ` between them. A mount is its number, then words: `age=` in seconds,
//! `at=` and `device=` and `type=` where they matter, `held`, `unreadable` (it is in mountinfo only, so that the
//! reading is not complete), `payload=` of reads, and the operations as `NAME=REQUESTS` or all of an operation's
//! numbers with commas. An interval is its number, its length and the requests that it counts.

use super::*;
use crate::traffic::{Calls, Times};
use crate::{mountinfo, mountstats};

const DEVICE: &str = "fs-0123456789abcdef0.efs.eu-west-1.amazonaws.com:/";

#[derive(Default)]
struct Texts {
    mountinfo: String,
    mountstats: String,
    held: HashSet<DeviceNumber>,
}

fn texts(reading: &str) -> Texts {
    let mut texts = Texts::default();
    for mount in reading.split("; ").filter(|mount| !mount.is_empty()) {
        let (number, words) = mount.split_once(' ').unwrap();
        let (mut at, mut device, mut fs_type, mut age) = ("/mnt/efs", DEVICE, "nfs4", "");
        let (mut payload, mut operations, mut unreadable) = ("0", String::new(), false);
        for word in words.split(' ') {
            match word.split_once('=') {
                Some(("age", value)) => age = value,
                Some(("at", value)) => at = value,
                Some(("device", value)) => device = value,
                Some(("type", value)) => fs_type = value,
                Some(("payload", value)) => payload = value,
                Some((name, value)) if value.contains(',') => {
                    operations += &format!("\t{name:>12}: {}\n", value.replace(',', " "));
                }
                Some((name, n)) => operations += &format!("\t{name:>12}: {n} {n} 0 0 0 0 0 0 0\n"),
                None if word == "held" => {
                    texts.held.insert(number.parse().unwrap());
                }
                None if word == "unreadable" => unreadable = true,
                None => panic!("{word}?"),
            }
        }
        texts.mountinfo +=
            &format!("60 31 {number} / {at} rw shared:3 - {fs_type} {device} rw,addr=10.0.0.1\n");
        if !unreadable {
            texts.mountstats += &format!(
                "device {device} mounted on {at} with fstype {fs_type} statvers=1.1\n\topts:\trw,vers=4.1\n\
                 \tage:\t{age}\n\tcaps:\tcaps=0x3ffdf\n\tsec:\tflavor=1\n\tevents:\t{}\n\
                 \tbytes:\t0 0 0 0 {payload} 0 0 0 \n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
                 \txprt:\ttcp 0 0 1 0 0 9 9 0 9 0 2 0 0\n\tper-op statistics\n{operations}\n",
                "0 ".repeat(27),
            );
        }
    }
    texts
}

/// The time of day is not used for anything but the end of an interval.
fn at(seconds: u64) -> Moment {
    let monotonic = Duration::from_secs(1_000 + seconds);
    Moment { wall: Duration::from_secs(1_800_000_000) + monotonic, monotonic }
}

fn observe(sampler: &mut Sampler, seconds: u64, reading: &str) -> Vec<Interval> {
    let texts = texts(reading);
    let (mounts, problems) = mountinfo::parse(texts.mountinfo.as_bytes());
    assert_eq!(problems, []);
    let parsed = mountstats::parse(texts.mountstats.as_bytes());
    assert_eq!(parsed.problems, []);
    let seen = join::join(&mounts, &parsed, &mounts);
    assert_eq!(seen.complete, !reading.contains("unreadable"));
    sampler.observe(at(seconds), &seen, &texts.held, true)
}

fn restarted(sampler: &Sampler) -> Sampler {
    serde_json::from_str(&serde_json::to_string(sampler).unwrap()).unwrap()
}

/// Each step is when a reading was taken, in seconds, the reading, and the intervals that it gives.
fn check(steps: &[(u64, &str, &str)]) {
    let shown = |interval: &Interval| {
        let requests = interval.traffic.by_operation.iter().map(|(name, n)| format!(" {name}={n}"));
        format!("{} {}s{}", interval.number, interval.elapsed.as_secs_f64(), requests.collect::<String>())
    };
    for restart_before_each in [false, true] {
        let mut sampler = Sampler::default();
        for (seconds, reading, expected) in steps {
            if restart_before_each {
                sampler = restarted(&sampler);
            }
            let intervals = observe(&mut sampler, *seconds, reading);
            assert!(intervals.iter().all(|interval| interval.end == at(*seconds)));
            let intervals = intervals.iter().map(shown).collect::<Vec<_>>().join("; ");
            assert_eq!(intervals, *expected, "at {seconds} s, restarted: {restart_before_each}");
        }
    }
}

#[test]
fn the_same_superblock_is_counted_from_the_reading_before() {
    check(&[
        (0, "0:52 age=5000 READ=100 WRITE=7", ""),
        (10, "0:52 age=5010 READ=150 WRITE=7", "0:52 10s READ=50"),
        (20, "0:52 age=5020 READ=150 WRITE=8", "0:52 10s WRITE=1"),
        (30, "0:52 age=5030 READ=150 WRITE=8", "0:52 10s"),
    ]);
}

#[test]
fn the_first_sight_of_an_old_mount_is_only_where_counting_starts() {
    check(&[(0, "0:52 age=9 READ=100", ""), (10, "0:52 age=19 READ=101", "0:52 10s READ=1")]);
    // 11 s old, 10 s after the last reading: it was there and was not seen.
    check(&[(0, "", ""), (10, "0:52 age=11 READ=100", "")]);
}

#[test]
fn a_mount_made_since_the_last_reading_counts_whole_from_its_birth() {
    check(&[
        (0, "0:52 age=500 READ=1", ""),
        (10, "0:52 age=510 READ=1; 0:53 at=/b age=10 READ=70 WRITE=3", "0:52 10s; 0:53 10s READ=70 WRITE=3"),
        (20, "0:52 age=520 READ=1; 0:53 at=/b age=20 READ=71 WRITE=3", "0:52 10s; 0:53 10s READ=1"),
        (30, "0:54 at=/c age=0 READ=5", "0:54 0s READ=5"),
    ]);
    // The very first reading, of a machine without NFS, is a complete one.
    check(&[(0, "", ""), (10, "0:52 age=4 READ=5", "0:52 4s READ=5")]);
}

#[test]
fn a_mount_is_remembered_for_6_readings_without_it() {
    let steps = |absent: u64| {
        let back = (absent + 1) * 10;
        let mut steps = vec![(0, "0:52 age=100 READ=10".to_owned(), String::new())];
        steps.extend((1..=absent).map(|n| (n * 10, String::new(), String::new())));
        let whole = match absent {
            ..=6 => format!("0:52 {back}s READ=5"),
            _ => String::new(),
        };
        steps.push((back, format!("0:52 age={} READ=15", 100 + back), whole));
        steps.push((back + 10, format!("0:52 age={} READ=17", 110 + back), "0:52 10s READ=2".to_owned()));
        steps
    };
    for absent in [1, 5, 6, 7, 20] {
        let steps = steps(absent);
        check(&steps.iter().map(|(t, reading, expected)| (*t, &**reading, &**expected)).collect::<Vec<_>>());
    }
}

#[test]
fn absences_are_counted_anew_after_each_return() {
    let mut steps = vec![(0, "0:52 age=1000 READ=10".to_owned(), "")];
    for round in 0..3 {
        steps.extend((1..=6).map(|n| (round * 70 + n * 10, String::new(), "")));
        let back = (round + 1) * 70;
        steps.push((back, format!("0:52 age={} READ={}", 1000 + back, 11 + round), "0:52 70s READ=1"));
    }
    check(&steps.iter().map(|(t, reading, expected)| (*t, &**reading, *expected)).collect::<Vec<_>>());
}

#[test]
fn a_remount_with_a_lower_age_starts_over() {
    // Made since the last reading: whole. No spike of 18,446,744,073,709,551,116 and no -500.
    check(&[(0, "0:52 age=5000 READ=1000", ""), (10, "0:52 age=3 READ=500", "0:52 3s READ=500")]);
    // Its counters are higher than the old one's were: they are its own all the same.
    check(&[(0, "0:52 age=5000 READ=10", ""), (10, "0:52 age=3 READ=500", "0:52 3s READ=500")]);
}

#[test]
fn a_young_remount_is_not_taken_for_a_mount_that_went_on() {
    // 9 s old, where the one before would be 12: both were made between readings.
    check(&[
        (0, "", ""),
        (10, "0:52 age=2 READ=1000", "0:52 2s READ=1000"),
        (20, "0:52 age=9 READ=5000", "0:52 9s READ=5000"),
    ]);
}

#[test]
fn the_kernels_whole_seconds_are_no_remount() {
    check(&[(0, "0:52 age=100 READ=10", ""), (10, "0:52 age=109 READ=11", "0:52 10s READ=1")]);
    check(&[(0, "0:52 age=100 READ=10", ""), (10, "0:52 age=108 READ=11", "0:52 10s READ=1")]);
    check(&[(0, "0:52 age=100 READ=10", ""), (10, "0:52 age=107 READ=11", "")]);
    // A recording that is replayed faster than it was made.
    check(&[(0, "0:52 age=100 READ=10", ""), (10, "0:52 age=700 READ=11", "0:52 10s READ=1")]);
}

#[test]
fn a_number_that_another_mount_has_now_is_not_the_old_mount() {
    let other = "device=other.example:/export";
    check(&[(0, "0:52 age=5 READ=10", ""), (10, &format!("0:52 {other} age=300 READ=40"), "")]);
    check(&[
        (0, "0:52 age=5 READ=10", ""),
        (10, &format!("0:52 {other} age=9 READ=40"), "0:52 9s READ=40"),
        (20, &format!("0:52 {other} age=19 READ=44"), "0:52 10s READ=4"),
    ]);
    check(&[(0, "0:52 age=5 READ=10", ""), (10, "0:52 type=nfs age=300 READ=40", "")]);
    // It was gone for a while, and its number was used again.
    check(&[
        (0, "0:52 age=5 READ=10", ""),
        (10, "", ""),
        (20, &format!("0:52 {other} age=2 READ=40"), "0:52 2s READ=40"),
    ]);
}

#[test]
fn a_counter_that_fell_starts_over() {
    let number = |place: usize| {
        let mut numbers = [9u64; 9];
        numbers[place] = 8;
        numbers.map(|n| n.to_string()).join(",")
    };
    let before = "0:52 age=100 READ=9,9,9,9,9,9,9,9,9 WRITE=5";
    // Requests, transmissions, timeouts, bytes sent and received, errors.
    for place in [0, 1, 2, 3, 4, 8] {
        let fell = format!("0:52 age=110 READ={} WRITE=6", number(place));
        check(&[(0, before, ""), (10, &fell, "")]);
    }
    check(&[(0, before, ""), (10, "0:52 age=110 READ=0 WRITE=6", "")]);
    check(&[(0, "0:52 age=100 payload=7 READ=1", ""), (10, "0:52 age=110 payload=6 READ=2", "")]);
    // Once it is another one, it goes on from there.
    check(&[
        (0, "0:52 age=100 READ=9", ""),
        (10, "0:52 age=110 READ=4", ""),
        (20, "0:52 age=120 READ=6", "0:52 10s READ=2"),
    ]);
}

#[test]
fn what_was_counted_once_is_not_counted_again_as_a_birth() {
    // The last complete reading is older than the mount; then a counter falls.
    check(&[
        (0, "", ""),
        (10, "0:52 age=3 READ=10 WRITE=100; 0:9 at=/x unreadable", "0:52 3s READ=10 WRITE=100"),
        (20, "0:52 age=13 READ=9 WRITE=100; 0:9 at=/x unreadable", ""),
        (30, "0:52 age=23 READ=10 WRITE=101; 0:9 at=/x unreadable", "0:52 10s READ=1 WRITE=1"),
    ]);
}

#[test]
fn times_that_fell_are_left_out_and_nothing_else_is() {
    let mut sampler = Sampler::default();
    // The queue of a kernel before 4.19, just below 2 to the power of 64; transmissions fewer than requests.
    let before = "0:52 age=100 READ=1000,996,0,10,20,18446743900000000001,500,700,0 WRITE=4,4,0,0,0,9,9,9,0";
    let later = "0:52 age=110 READ=1100,1090,1,15,28,18446743900000000401,450,790,2 WRITE=6,6,0,0,0,8,12,9,0";
    assert_eq!(observe(&mut sampler, 0, before), []);
    let traffic = observe(&mut sampler, 10, later).remove(0).traffic;
    let read = Calls {
        requests: 100,
        retransmissions: 0,
        timeouts: 1,
        errors: 2,
        bytes_sent: 5,
        bytes_received: 8,
        queue: Times { ms: 400, requests: 100 },
        rtt: Times { ms: 0, requests: 0 },
        execute: Times { ms: 90, requests: 100 },
    };
    assert_eq!(traffic.read, read);
    let (rtt, execute) = (Times { ms: 3, requests: 2 }, Times { ms: 0, requests: 2 });
    assert_eq!(traffic.write, Calls { requests: 2, rtt, execute, ..Calls::default() });
    // From below zero to above it.
    let last = "0:52 age=120 READ=1100,1090,1,15,28,100,450,790,2 WRITE=6,6,0,0,0,8,12,9,0";
    let traffic = observe(&mut sampler, 20, last).remove(0).traffic;
    assert_eq!(traffic.read.queue, Times { ms: 173_709_551_215 + 100, requests: 0 });
}

#[test]
fn every_number_of_an_operation_arrives_at_its_place() {
    let mut sampler = Sampler::default();
    let before = "0:52 age=100 payload=1000 READ=1,2,3,4,5,6,7,8,9 WRITE=0 COMMIT=0 GETATTR=0 LOOKUP=0";
    let later = "0:52 age=110 payload=1500 READ=11,15,6,104,205,16,27,48,10 WRITE=2,2,0,2000,300,1,2,3,0 \
                 COMMIT=1,1,0,9,9,0,0,0,0 GETATTR=3,3,0,30,40,1,2,3,0 LOOKUP=4,4,0,50,60,3,4,5,1";
    observe(&mut sampler, 0, before);
    let traffic = observe(&mut sampler, 10, later).remove(0).traffic;
    let times = |ms, requests| Times { ms, requests };
    let read = Calls {
        requests: 10,
        retransmissions: 3,
        timeouts: 3,
        errors: 1,
        bytes_sent: 100,
        bytes_received: 200,
        queue: times(10, 10),
        rtt: times(20, 10),
        execute: times(40, 10),
    };
    assert_eq!((traffic.read, traffic.payload_read, traffic.payload_written), (read, 500, 0));
    assert_eq!((traffic.write.bytes(), traffic.write.execute), (2300, times(3, 2)));
    assert_eq!((traffic.commit.requests, traffic.commit.bytes()), (1, 18));
    let metadata = &traffic.metadata;
    assert_eq!(
        (metadata.requests, metadata.errors, metadata.bytes_sent, metadata.bytes_received),
        (7, 1, 80, 100)
    );
    assert_eq!((metadata.queue, metadata.rtt, metadata.execute), (times(4, 7), times(6, 7), times(8, 7)));
}

#[test]
fn a_kernel_that_does_not_tell_errors_has_none() {
    let mut sampler = Sampler::default();
    observe(&mut sampler, 0, "0:52 age=100 READ=7,7,0,900,7340032,1,21,22");
    let intervals = observe(&mut sampler, 10, "0:52 age=110 READ=9,9,0,1100,9437184,1,30,33");
    let read = &intervals[0].traffic.read;
    assert_eq!((read.requests, read.errors, read.bytes_received), (2, 0, 2_097_152));
}

#[test]
fn an_operation_of_a_later_kernel_counts_as_the_mounts() {
    let mut sampler = Sampler::default();
    observe(&mut sampler, 0, "0:52 age=100 READ=1 FROM_THE_FUTURE=10 77=1");
    let intervals = observe(&mut sampler, 10, "0:52 age=110 READ=1 FROM_THE_FUTURE=13 77=2");
    assert_eq!(intervals[0].traffic.metadata.requests, 4);
    assert_eq!(intervals[0].traffic.by_operation.get("FROM_THE_FUTURE"), Some(&3));
}

#[test]
fn upkeep_of_the_session_is_nobodys_even_when_it_falls() {
    check(&[
        (0, "0:52 age=100 NULL=1 READ=10 SEQUENCE=50 EXCHANGE_ID=4 RENEW=9", ""),
        (10, "0:52 age=110 NULL=1 READ=12 SEQUENCE=3 EXCHANGE_ID=0 RENEW=12", "0:52 10s READ=2"),
    ]);
}

#[test]
fn operations_that_are_not_shown_are_no_operations_that_fell_to_zero() {
    // As an absence: what it did meanwhile is counted when it is shown whole again.
    check(&[
        (0, "0:52 age=100 OPEN=1 READ=1000 WRITE=5", ""),
        (10, "0:52 age=110 OPEN=1 WRITE=6", ""),
        (20, "0:52 age=120 OPEN=2 READ=1003 WRITE=7", "0:52 20s OPEN=1 READ=3 WRITE=2"),
    ]);
    // Nor are they new ones when they were missing at first: no spike of 1,003.
    check(&[
        (0, "0:52 age=100 OPEN=1 WRITE=5", ""),
        (10, "0:52 age=110 OPEN=1 READ=1003 WRITE=6", ""),
        (20, "0:52 age=120 OPEN=1 READ=1004 WRITE=6", "0:52 10s READ=1"),
    ]);
}

#[test]
fn an_operation_used_for_the_first_time_counts_from_zero() {
    check(&[
        (0, "0:52 age=100 OPEN=0 READ=0 WRITE=0 CLOSE=0", ""),
        (10, "0:52 age=110 OPEN=0 READ=4 WRITE=0 CLOSE=0", "0:52 10s READ=4"),
        (20, "0:52 age=120 OPEN=2 READ=4 WRITE=0 CLOSE=1", "0:52 10s CLOSE=1 OPEN=2"),
    ]);
}

#[test]
fn mounts_whose_kernels_table_has_another_order_are_not_mixed_up() {
    let v3 =
        |age, reads, writes| format!("0:53 at=/v3 type=nfs age={age} WRITE={writes} READ={reads} GETATTR=2");
    let v4 =
        |age, reads, writes| format!("0:52 at=/v4 age={age} READ={reads} WRITE={writes} COMMIT=0 OPEN=1");
    check(&[
        (0, &format!("{}; {}", v4(100, 10, 20), v3(100, 30, 40)), ""),
        (
            10,
            &format!("{}; {}", v4(110, 11, 22), v3(110, 33, 44)),
            "0:52 10s READ=1 WRITE=2; 0:53 10s READ=3 WRITE=4",
        ),
        (20, &format!("{}; {}", v3(120, 34, 44), v4(120, 11, 23)), "0:53 10s READ=1; 0:52 10s WRITE=1"),
    ]);
}

#[test]
fn a_held_superblock_keeps_its_start_until_it_is_let_go() {
    check(&[
        (0, "0:52 age=100 READ=10 held", ""),
        (10, "0:52 age=110 READ=15 held", ""),
        (20, "0:52 age=120 READ=16 held", ""),
        (30, "0:52 age=130 READ=20", "0:52 30s READ=10"),
        (40, "0:52 age=140 READ=21", "0:52 10s READ=1"),
    ]);
    // Born while it was held: counted whole, from its birth.
    check(&[
        (0, "", ""),
        (10, "0:52 age=4 READ=10 held", ""),
        (20, "0:52 age=14 READ=15 held", ""),
        (30, "0:52 age=24 READ=16", "0:52 24s READ=16"),
    ]);
    // Mounted again while it was held: the new one's birth counts.
    check(&[
        (0, "", ""),
        (10, "0:52 age=4 READ=10 held", ""),
        (20, "0:52 age=3 READ=15 held", ""),
        (30, "0:52 age=13 READ=16", "0:52 13s READ=16"),
    ]);
}

#[test]
fn only_a_complete_reading_shows_what_was_not_there() {
    // The reading at 10 s is not complete; the one before it is, and the mount is younger than that.
    check(&[
        (0, "", ""),
        (10, "0:9 at=/x unreadable", ""),
        (20, "0:52 age=15 READ=7; 0:9 at=/x unreadable", "0:52 15s READ=7"),
    ]);
    check(&[(0, "0:9 at=/x unreadable", ""), (10, "0:52 age=5 READ=7", "")]);
    check(&[
        (0, "", ""),
        (10, "0:9 at=/x unreadable", ""),
        (20, "0:52 age=21 READ=7", ""),
        (30, "0:52 age=31 READ=9", "0:52 10s READ=2"),
    ]);
}

#[test]
fn a_superblock_is_counted_once_however_often_it_is_mounted() {
    let folder = "device=fs-0123456789abcdef0.efs.eu-west-1.amazonaws.com:/dir";
    let both =
        |age, reads| format!("0:52 age={age} READ={reads}; 0:52 at=/dir {folder} age={age} READ={reads}");
    check(&[
        (0, &both(100, 10), ""),
        (10, &both(110, 12), "0:52 10s READ=2"),
        // The first one goes away, then the other comes alone: still the same superblock.
        (20, &format!("0:52 at=/dir {folder} age=120 READ=15"), "0:52 10s READ=3"),
        (30, &format!("0:52 at=/dir {folder} age=130 READ=16"), "0:52 10s READ=1"),
        (40, &both(140, 18), "0:52 10s READ=2"),
        (50, "0:52 age=150 READ=19", "0:52 10s READ=1"),
    ]);
    // The same while it is held.
    check(&[
        (0, "0:52 age=100 READ=10 held", ""),
        (10, &format!("{} held", both(110, 12)), ""),
        (20, &format!("0:52 at=/dir {folder} age=120 READ=15"), "0:52 20s READ=5"),
    ]);
}

#[test]
fn no_number_that_the_kernel_can_print_is_too_large() {
    let max = u64::MAX;
    let full =
        format!("0:52 age={max} payload={max} READ={max},{max},{max},{max},{max},{max},{max},{max},{max}");
    check(&[(0, &full, ""), (10, &full, "0:52 10s")]);
    let zero = format!("0:52 age={max} READ=0,0,0,0,0,0,0,0,0");
    check(&[(0, &zero, ""), (10, &full, &format!("0:52 10s READ={max}")), (20, &zero, "")]);
    // A damaged text: the same operation twice.
    let twice = format!("0:52 age=20 READ={max} READ={max}");
    check(&[(0, "0:52 age=10 READ=0 READ=0", ""), (10, &twice, &format!("0:52 10s READ={max}"))]);
}

#[test]
fn a_name_that_is_no_text_is_one_operation() {
    let text = b"device a:/ mounted on /a with fstype nfs4 statvers=1.1\n\topts:\trw\n\tage:\t9\n\tcaps:\tx\n\tsec:\tx\n\
        \tevents:\t0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \n\tbytes:\t0 0 0 0 0 0 0 0 \n\
        \tRPC iostats version: 1.1\n\tper-op statistics\n\t\xff\xfe: 1 1 0 0 0 0 0 0 0\n\n";
    let parsed = mountstats::parse(text);
    let statistics = parsed.records[0].statistics.as_ref().unwrap();
    let mut names = Names::default();
    let first = Counters::of(statistics, &mut names);
    for _ in 0..3 {
        assert_eq!(Counters::of(statistics, &mut names), first);
    }
    assert_eq!(names.name(1), "", "one name is kept, not one for each reading");
}

#[test]
fn a_restart_goes_on_with_exactly_the_same_numbers() {
    let mut sampler = Sampler::default();
    let max = u64::MAX;
    let queue = 18_446_743_900_000_000_001u64;
    observe(
        &mut sampler,
        0,
        &format!("0:52 age=1 payload={max} READ={max},9007199254740993,0,1,2,{queue},0,3,4"),
    );
    observe(&mut sampler, 10, "4294967295:1048575 age=1 WRITE=1,2,3,4,5,6,7,8");
    let json = serde_json::to_string(&sampler).unwrap();
    assert!(json.contains("[18446744073709551615,9007199254740993,0,1,2],[-173709551615,0,3],4]"), "{json}");
    assert!(json.contains("[1,2,3,4,5],[6,7,8],null]"), "{json}");
    let restarted = restarted(&sampler);
    assert_eq!(format!("{:?}", restarted.known), format!("{:?}", sampler.known));
    assert_eq!((restarted.complete, restarted.known.len()), (Some(at(10)), 2));
    assert_eq!(serde_json::to_string(&restarted).unwrap(), json);
}
