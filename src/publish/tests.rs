use std::collections::BTreeMap;

use super::logged::logged;
use super::*;
use crate::model::{Datum, Dimension, Unit};
use crate::spool::Limits;
use crate::spool::failing_disk::FailingDisk;

const OWNER: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
/// 14:00:00 UTC of some day.
const START: u64 = 1_764_511_200;
/// Of identity "b": the CRC-32 of "b" modulo 50001, in ms.
const OFFSET: Duration = Duration::from_millis(515);

type Answer = Result<(), Failure>;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn code(status: u16, code: &str) -> Answer {
    Err(Failure {
        status: Some(status),
        code: Some(code.to_owned()),
        message: format!("{code}: as told"),
        may_have_left: false,
    })
}

fn status(status: u16) -> Answer {
    Err(Failure { status: Some(status), code: None, message: status.to_string(), may_have_left: false })
}

fn refused() -> Answer {
    Err(Failure { status: None, code: None, message: "connection refused".to_owned(), may_have_left: false })
}

fn silence() -> Answer {
    Err(Failure { status: None, code: None, message: "no answer".to_owned(), may_have_left: true })
}

fn invalid() -> Answer {
    code(400, "InvalidParameterValue")
}

fn datum(name: &str, minute: u64) -> Datum {
    Datum {
        metric: name.to_owned().into(),
        dimensions: Vec::new(),
        timestamp: Minute::of(secs(START + 60 * minute)),
        unit: Unit::Count,
        values: vec![1.0],
        counts: vec![1.0],
    }
}

fn of_host(name: &str, minute: u64) -> Datum {
    let host = Dimension { name: "InstanceId".into(), value: None };
    Datum { dimensions: vec![host], ..datum(name, minute) }
}

/// One request that CloudWatch saw.
#[derive(Clone, Debug, PartialEq)]
struct Sent {
    /// Since [`START`].
    at: Duration,
    names: Vec<String>,
    accepted: bool,
}

/// A host: its disk, its clock, and what CloudWatch saw and took.
struct Machine {
    disk: FailingDisk,
    spool: Spool<FailingDisk>,
    publisher: Publisher,
    host: Host,
    now: Moment,
    sent: Vec<Sent>,
    received: BTreeMap<String, usize>,
}

impl Machine {
    fn new() -> Machine {
        Machine::every(60, 7)
    }

    fn every(interval: u64, seed: u64) -> Machine {
        let disk = FailingDisk::default();
        Machine {
            spool: Spool::open(disk.clone(), OWNER, Limits::default()).unwrap().spool,
            disk,
            publisher: Publisher::new("b", secs(interval), fastrand::Rng::with_seed(seed)),
            host: Host::Known("i-0123456789abcdef0".to_owned()),
            now: Moment { wall: secs(START), monotonic: secs(1000) },
            sent: Vec::new(),
            received: BTreeMap::new(),
        }
    }

    fn commit(&mut self, data: Vec<Datum>) {
        self.commit_to("EFSMon", data);
    }

    fn commit_to(&mut self, namespace: &str, data: Vec<Datum>) {
        self.spool.commit(&[Batch { namespace: namespace.to_owned(), data }], b"").unwrap();
    }

    /// Minute `minute` as one file of one datum, called `m<minute>`.
    fn minute(&mut self, minute: u64) {
        self.commit(vec![datum(&format!("m{minute}"), minute)]);
    }

    fn at(&self) -> Duration {
        self.now.wall - secs(START)
    }

    fn pass(&mut self, time: Duration) {
        self.now.wall += time;
        self.now.monotonic += time;
    }

    fn step(&mut self) -> Step {
        self.publisher.next(self.now, &mut self.spool, &self.host)
    }

    fn answer(&mut self, request: Request, answer: Answer) {
        let names: Vec<String> = request.batch.data.iter().map(|datum| datum.metric.to_string()).collect();
        if answer.is_ok() {
            for name in &names {
                *self.received.entry(name.clone()).or_default() += 1;
            }
        }
        self.sent.push(Sent { at: self.at(), names, accepted: answer.is_ok() });
        self.publisher.answered(self.now, request, &answer, &mut self.spool);
    }

    /// Lets time pass up to `seconds` after [`START`], with answers that come at once.
    fn run_to(&mut self, seconds: u64, mut sink: impl FnMut(&Batch) -> Answer) {
        let end = secs(seconds);
        loop {
            match self.step() {
                Step::Send(request) => {
                    let answer = sink(&request.batch);
                    self.answer(request, answer);
                }
                Step::WaitUntil(until) if until - self.now.monotonic <= end.saturating_sub(self.at()) => {
                    assert!(until > self.now.monotonic, "waiting for the past");
                    self.pass(until - self.now.monotonic);
                }
                Step::Idle | Step::WaitUntil(_) => {
                    self.pass(end.saturating_sub(self.at()));
                    return;
                }
            }
        }
    }

    /// What was sent since the last call, without the times.
    fn take_names(&mut self) -> Vec<String> {
        self.sent.drain(..).map(|sent| sent.names.join("+")).collect()
    }

    fn received_once(&self, names: impl IntoIterator<Item = String>) {
        let expected: BTreeMap<String, usize> = names.into_iter().map(|name| (name, 1)).collect();
        assert_eq!(self.received, expected);
    }

    fn files(&self) -> usize {
        self.spool.files().count()
    }
}

fn minutes(minutes: impl IntoIterator<Item = u64>) -> impl Iterator<Item = String> {
    minutes.into_iter().map(|minute| format!("m{minute}"))
}

#[test]
fn each_answer_has_its_verdict() {
    use Refusal::{Credentials, Denied, Throttled, Unavailable};
    let table = [
        (Ok(()), Verdict::Accepted),
        (code(400, "InvalidParameterValue"), Verdict::Invalid),
        (code(400, "InvalidParameterCombination"), Verdict::Invalid),
        (code(400, "MissingParameter"), Verdict::Invalid),
        (code(400, "InvalidParameterValueException"), Verdict::Invalid),
        (code(400, "MissingRequiredParameterException"), Verdict::Refused(Unavailable)),
        (code(400, "ValidationError"), Verdict::Refused(Unavailable)),
        (code(413, "RequestEntityTooLarge"), Verdict::TooLarge),
        (status(413), Verdict::TooLarge),
        (code(400, "Throttling"), Verdict::Refused(Throttled)),
        (code(400, "ThrottlingException"), Verdict::Refused(Throttled)),
        (code(400, "LimitExceeded"), Verdict::Refused(Throttled)),
        (code(503, "SlowDown"), Verdict::Refused(Throttled)),
        (status(429), Verdict::Refused(Throttled)),
        (code(403, "AccessDenied"), Verdict::Refused(Denied)),
        (code(403, "AccessDeniedException"), Verdict::Refused(Denied)),
        (code(403, "ExpiredToken"), Verdict::Refused(Credentials)),
        (code(400, "ExpiredTokenException"), Verdict::Refused(Credentials)),
        (code(403, "InvalidClientTokenId"), Verdict::Refused(Credentials)),
        (code(403, "SignatureDoesNotMatch"), Verdict::Refused(Credentials)),
        (code(400, "UnrecognizedClientException"), Verdict::Refused(Credentials)),
        (code(403, "RequestTimeTooSkewed"), Verdict::Refused(Credentials)),
        (status(200), Verdict::Refused(Unavailable)),
        (status(403), Verdict::Refused(Unavailable)),
        (status(404), Verdict::Refused(Unavailable)),
        (code(500, "InternalServiceFault"), Verdict::Refused(Unavailable)),
        (status(500), Verdict::Refused(Unavailable)),
        (status(503), Verdict::Refused(Unavailable)),
        (refused(), Verdict::Refused(Unavailable)),
        (silence(), Verdict::Unknown),
    ];
    for (answer, expected) in table {
        assert_eq!(verdict(&answer), expected, "{answer:?}");
    }
}

#[test]
fn what_to_do_about_a_refusal_is_said_once() {
    let check = |name: &str, remedy: &str| {
        let mut machine = Machine::new();
        machine.minute(0);
        let log = logged(|| machine.run_to(61, |_| code(403, name)));
        let failure = machine.publisher.standing().last_failure.unwrap();
        assert_eq!(failure.message, format!("{remedy}: {name}: as told"));
        assert_eq!(log.matches(remedy).count(), 1, "{log}");
    };
    check("AccessDenied", "allow cloudwatch:PutMetricData to this host's role or user (IAM)");
    check("ExpiredToken", "renew this host's credentials (role, environment or profile) and check its clock");
}

#[test]
fn the_newest_minute_goes_first_and_alone_at_this_hosts_place_in_the_minute() {
    let mut machine = Machine::new();
    for minute in 0..4 {
        machine.minute(minute);
    }
    machine.pass(secs(240));
    machine.run_to(300, |_| Ok(()));
    let at: Vec<Duration> = machine.sent.iter().map(|sent| sent.at).collect();
    // Minute 2 has been due since 3:00.515; minute 3 is at 4:00.515, and the backlog does not wait for it.
    assert_eq!(at, [secs(240), secs(240), secs(240) + OFFSET]);
    assert_eq!(machine.take_names(), ["m2", "m1+m0", "m3"]);

    for minute in [4, 5] {
        machine.minute(minute);
    }
    machine.pass(secs(61));
    machine.run_to(420, |_| Ok(()));
    assert_eq!(machine.take_names(), ["m5", "m4"]);
    machine.received_once(minutes(0..6));
    assert_eq!((machine.files(), machine.disk.names().len()), (0, 1));

    let place = Publisher::new("i-0123456789abcdef0", secs(60), fastrand::Rng::new()).offset;
    assert_eq!(place, Duration::from_millis(42_597));
}

#[test]
fn all_requests_of_the_newest_minute_go_before_the_backlog_which_goes_one_a_second() {
    let mut machine = Machine::new();
    let full = |name: &str, minute| vec![datum(name, minute); 600];
    for minute in 0..3 {
        machine.commit(full(&format!("m{minute}"), minute));
        machine.commit_to("CustomEC2", vec![datum(&format!("c{minute}"), minute)]);
    }
    machine.pass(secs(190));
    machine.run_to(200, |_| Ok(()));
    let sent: Vec<(f64, &str, usize)> = (machine.sent.iter())
        .map(|sent| (sent.at.as_secs_f64(), sent.names[0].as_str(), sent.names.len()))
        .collect();
    assert_eq!(
        sent,
        [
            (190.0, "c2", 1),
            (190.0, "m2", 600),
            (190.0, "c1", 2),   // Both minutes' of that namespace.
            (191.0, "m1", 600), // 1200 would be too many.
            (192.0, "m0", 600),
        ]
    );
}

#[test]
fn merged_requests_are_as_full_as_cloudwatch_takes_them() {
    let mut machine = Machine::new();
    for minute in 0..13 {
        // Of 17 digits each on disk; in a request 128 + 1 + 9 x 300 bytes each datum.
        let values: Vec<f64> = (1..=150).map(|n| f64::from(n) / 7.0).collect();
        let long = Datum { counts: vec![1.0; 150], values, ..datum("m", minute) };
        machine.commit(vec![long; 75]);
    }
    machine.pass(secs(3600));
    machine.run_to(3700, |_| Ok(()));
    let sent: Vec<usize> = machine.sent.iter().map(|sent| sent.names.len()).collect();
    // 75 data are 0.21 MB of 0.9: four files in a request. The newest is too old to go alone.
    assert_eq!(sent, [300, 300, 300, 75]);
    assert_eq!(machine.files(), 0);
}

#[test]
fn a_longer_interval_sends_its_minutes_together_each_with_its_own_time() {
    let mut machine = Machine::every(300, 7);
    for minute in 0..5 {
        machine.minute(minute);
    }
    machine.run_to(300, |_| Ok(()));
    assert_eq!(machine.take_names(), [""; 0]);
    let mut timestamps: Vec<Vec<u64>> = Vec::new();
    machine.run_to(310, |batch| {
        timestamps.push(batch.data.iter().map(|datum| datum.timestamp.seconds() as u64 - START).collect());
        Ok(())
    });
    assert_eq!(machine.sent[0].at, secs(300) + OFFSET);
    assert_eq!(timestamps, [vec![240], vec![180, 120, 60, 0]]);
}

#[test]
fn clear_failures_keep_the_data_and_back_off_to_five_minutes() {
    let answers: [fn() -> Answer; 4] =
        [refused, || code(403, "AccessDenied"), || code(403, "ExpiredToken"), || status(500)];
    for (failure, seed) in answers.into_iter().zip(0..) {
        let mut machine = Machine::every(60, seed);
        for minute in 0..60 {
            machine.minute(minute);
            machine.run_to(60 * (minute + 1), |_| failure());
        }
        let at: Vec<Duration> = machine.sent.iter().map(|sent| sent.at).collect();
        assert!((15..50).contains(&at.len()), "{}", at.len());
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] <= secs(300 + 60)));
        assert_eq!((machine.files(), machine.publisher.standing().state), (60, State::Backoff));
        let failure = machine.publisher.standing().last_failure.unwrap();
        assert_eq!(failure.time, START + at.last().unwrap().as_secs());

        machine.run_to(3600 + 500, |_| Ok(()));
        machine.received_once(minutes(0..60));
        assert_eq!((machine.files(), machine.publisher.standing().state), (0, State::Ok));
        assert_eq!(machine.spool.standing().losses.data(), 0);
    }
}

#[test]
fn after_an_outage_the_backlog_starts_anywhere_within_a_minute() {
    let mut starts = Vec::new();
    for seed in 0..40 {
        let mut machine = Machine::every(60, seed);
        for minute in 0..6 {
            machine.minute(minute);
        }
        machine.pass(secs(350));
        let mut first = true;
        machine.run_to(480, |_| if std::mem::take(&mut first) { refused() } else { Ok(()) });
        let resumed = machine.sent[1].at;
        assert_eq!(machine.sent[1].names, ["m4"]);
        let backlog = machine.sent.iter().find(|sent| sent.names.len() == 4).unwrap();
        starts.push((backlog.at - resumed).as_secs_f64());
        // The next minute does not wait for that.
        let next = machine.sent.iter().find(|sent| sent.names == ["m5"]).unwrap();
        assert_eq!(next.at, secs(360) + OFFSET);
    }
    assert!(starts.iter().all(|start| (0.0..60.0).contains(start)));
    for part in [0.0, 15.0, 30.0, 45.0] {
        assert!(starts.iter().any(|start| (part..part + 15.0).contains(start)), "{starts:?}");
    }
}

#[test]
fn throttling_halves_the_rate_of_the_backlog_until_requests_are_accepted_again() {
    let mut machine = Machine::new();
    for minute in 0..100 {
        machine.commit(vec![datum(&format!("m{minute}"), minute); 900]);
    }
    machine.pass(secs(60 * 200));
    let mut throttle = 3;
    machine.run_to(60 * 205, |_| {
        throttle -= 1;
        if throttle >= 0 { code(400, "Throttling") } else { Ok(()) }
    });
    let accepted: Vec<Duration> =
        machine.sent.iter().filter(|sent| sent.accepted).map(|sent| sent.at).collect();
    let gaps: Vec<f64> = accepted.windows(2).skip(1).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    // 8 s after three halvings, then 7/8 of it with each success, down to one second.
    assert!((5.0..=8.0).contains(&gaps[0]), "{gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] <= pair[0] + 1e-6) && gaps[40] <= 1.0 + 1e-6, "{gaps:?}");
    assert_eq!(accepted.len(), 100);
}

#[test]
fn an_unknown_outcome_is_repeated_for_the_newest_file_only_and_once_an_interval() {
    let mut machine = Machine::new();
    let commit = |machine: &mut Machine, minute| {
        machine.commit(vec![datum(&format!("also{minute}"), minute)]);
        machine.minute(minute);
    };
    for minute in 0..3 {
        commit(&mut machine, minute);
    }
    machine.pass(secs(230));
    for minute in 3..6 {
        machine.run_to(60 * (minute + 1), |_| silence());
        commit(&mut machine, minute);
    }
    machine.run_to(400, |_| silence());
    let times: Vec<Duration> = machine.sent.iter().map(|sent| sent.at).collect();
    assert_eq!(machine.take_names(), ["m2+also2", "m3", "m4"]);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= secs(60)), "{times:?}");
    let standing = machine.publisher.standing();
    assert_eq!((standing.unknown_outcomes, standing.state), (3, State::Unknown));
    assert_eq!(machine.files(), 12);

    // A clear answer ends it.
    machine.run_to(480, |_| Ok(()));
    assert_eq!(machine.take_names()[0], "m5");
    machine.received_once(minutes(0..6).chain((0..6).map(|minute| format!("also{minute}"))));
}

#[test]
fn one_refused_datum_never_costs_its_request() {
    let mut machine = Machine::new();
    let names: Vec<String> = (0..8).map(|k| format!("d{k}")).collect();
    machine.commit(names.iter().map(|name| datum(name, 0)).collect());
    let bad = |batch: &Batch| batch.data.iter().any(|datum| datum.metric == "d5");
    machine.run_to(120, |batch| if bad(batch) { invalid() } else { Ok(()) });
    let paced = machine.sent.windows(2).skip(1).all(|pair| pair[1].at - pair[0].at == PACE);
    assert!(paced, "{:?}", machine.sent);
    assert_eq!(
        machine.take_names(),
        ["d0+d1+d2+d3+d4+d5+d6+d7", "d0+d1+d2+d3", "d4+d5+d6+d7", "d4+d5", "d4", "d5", "d6+d7"]
    );
    machine.received_once(names.into_iter().filter(|name| name != "d5"));
    assert_eq!((machine.files(), machine.spool.standing().losses.rejected_data), (0, 1));
    let rejected =
        String::from_utf8(crate::spool::Disk::read(&machine.disk, "rejected.jsonl").unwrap()).unwrap();
    assert!(rejected.contains("InvalidParameterValue") && rejected.contains("\"d5\""), "{rejected}");
}

#[test]
fn a_kill_in_the_middle_of_a_search_repeats_nothing_that_was_acknowledged() {
    let mut machine = Machine::new();
    machine.commit((0..4).map(|k| datum(&format!("d{k}"), 0)).collect());
    machine.pass(secs(100));
    for answer in [invalid(), Ok(())] {
        let Step::Send(request) = machine.step() else { panic!("nothing to send") };
        machine.answer(request, answer);
        machine.pass(secs(1));
    }
    machine.spool = Spool::open(machine.disk.after_kill(), OWNER, Limits::default()).unwrap().spool;
    machine.publisher = Publisher::new("b", secs(60), fastrand::Rng::with_seed(1));
    machine.run_to(200, |_| Ok(()));
    assert_eq!(machine.take_names(), ["d0+d1+d2+d3", "d0+d1", "d2+d3"]);
}

#[test]
fn an_acknowledged_half_that_cannot_be_taken_off_the_disk_is_not_sent_again() {
    let mut machine = Machine::new();
    machine.commit((0..4).map(|k| datum(&format!("d{k}"), 0)).collect());
    machine.pass(secs(100));
    let disk = machine.disk.clone();
    let bad = |batch: &Batch| batch.data.iter().any(|datum| datum.metric == "d3");
    let mut sent = 0;
    machine.run_to(200, |batch| {
        sent += 1;
        disk.set_read_only(sent == 2);
        if bad(batch) { invalid() } else { Ok(()) }
    });
    assert_eq!(machine.take_names(), ["d0+d1+d2+d3", "d0+d1", "d2+d3", "d2", "d3"]);
    assert_eq!((machine.files(), machine.spool.standing().unremoved_files), (0, 0));
}

#[test]
fn a_merged_request_that_is_invalid_is_tried_again_file_by_file() {
    let mut machine = Machine::new();
    for minute in 0..4 {
        machine.minute(minute);
    }
    machine.pass(secs(3600));
    let bad = |batch: &Batch| batch.data.iter().any(|datum| datum.metric == "m2");
    machine.run_to(3700, |batch| if bad(batch) { invalid() } else { Ok(()) });
    // m2 is refused again, and now something else was accepted.
    assert_eq!(machine.take_names(), ["m3+m2+m1+m0", "m3", "m2", "m1", "m0"]);
    assert_eq!((machine.files(), machine.spool.standing().losses.rejected_data), (0, 1));
}

#[test]
fn a_file_that_was_refused_is_not_merged_again() {
    let mut machine = Machine::new();
    machine.minute(0);
    machine.minute(1);
    machine.pass(secs(3600));
    let Step::Send(request) = machine.step() else { panic!("nothing to send") };
    machine.answer(request, invalid());
    machine.minute(10);
    machine.minute(11);
    machine.run_to(3700, |_| Ok(()));
    assert_eq!(machine.take_names(), ["m1+m0", "m11+m10", "m1", "m0"]);
}

#[test]
fn the_first_of_several_refused_files_is_searched_before_all_are_given_up() {
    let mut machine = Machine::new();
    for minute in 0..3 {
        machine.commit(vec![datum(&format!("good{minute}"), minute), datum(&format!("bad{minute}"), minute)]);
    }
    machine.pass(secs(3600));
    let bad = |batch: &Batch| batch.data.iter().any(|datum| datum.metric.starts_with("bad"));
    machine.run_to(3620, |batch| if bad(batch) { invalid() } else { Ok(()) });
    machine.received_once((0..3).map(|minute| format!("good{minute}")));
    assert_eq!((machine.files(), machine.spool.standing().losses.rejected_data), (0, 3));
}

#[test]
fn two_bad_files_in_a_row_are_no_outage_and_do_not_hold_up_a_good_one() {
    let log = logged(|| {
        let mut machine = Machine::new();
        for minute in 0..3 {
            machine.minute(minute);
        }
        machine.pass(secs(3600));
        let good = |batch: &Batch| batch.data.iter().all(|datum| datum.metric == "m0");
        machine.run_to(3700, |batch| if good(batch) { Ok(()) } else { invalid() });
        machine.received_once(minutes([0]));
        assert_eq!(machine.files(), 2);
    });
    assert_eq!(log, "");
}

#[test]
fn a_datum_is_not_blamed_while_nothing_else_is_accepted() {
    let mut machine = Machine::new();
    for minute in 0..180 {
        machine.commit((0..40).map(|k| datum(&format!("m{minute}.{k}"), minute)).collect());
        machine.run_to(60 * (minute + 1), |_| invalid());
    }
    assert_eq!((machine.files(), machine.spool.standing().losses.rejected_data), (180, 0));
    // One search, then one request per backoff.
    assert!(machine.sent.len() < 64 + 160, "{}", machine.sent.len());
    assert_eq!(machine.publisher.standing().state, State::Backoff);

    machine.minute(180);
    machine.run_to(60 * 400, |_| Ok(()));
    let all = (0..180).flat_map(|minute| (0..40).map(move |k| format!("m{minute}.{k}")));
    machine.minute(400);
    machine.run_to(60 * 420, |_| Ok(()));
    machine.received_once(all.chain(minutes([180, 400])));
    assert_eq!(machine.files(), 0);
}

#[test]
fn a_search_stops_after_64_requests_and_goes_on_later() {
    let mut machine = Machine::new();
    machine.commit((0..200).map(|k| datum(&format!("d{k}"), 0)).collect());
    let bad =
        |batch: &Batch| batch.data.iter().any(|datum| datum.metric.starts_with('d') && odd(&datum.metric));
    machine.run_to(60 + 250, |batch| if bad(batch) { invalid() } else { Ok(()) });
    assert_eq!(machine.sent.len(), 64);
    assert_eq!(machine.files(), 1);
    for minute in 5..60 {
        machine.minute(minute);
        machine.run_to(60 * (minute + 1), |batch| if bad(batch) { invalid() } else { Ok(()) });
    }
    let even = (0..200).filter(|k| k % 2 == 0).map(|k| format!("d{k}"));
    machine.received_once(even.chain(minutes(5..59)));
    assert_eq!(machine.spool.standing().losses.rejected_data, 100);
}

fn odd(name: &str) -> bool {
    name.ends_with(['1', '3', '5', '7', '9'])
}

#[test]
fn a_request_that_is_too_large_is_split_and_nothing_is_blamed() {
    let mut machine = Machine::new();
    machine.commit((0..10).map(|k| datum(&format!("d{k}"), 0)).collect());
    machine.run_to(120, |batch| if batch.data.len() > 3 { status(413) } else { Ok(()) });
    machine.received_once((0..10).map(|k| format!("d{k}")));
    assert_eq!(machine.spool.standing().losses.rejected_data, 0);

    machine.minute(2);
    machine.minute(3);
    machine.run_to(60 * 30, |batch| if batch.data[0].metric == "m3" { status(413) } else { Ok(()) });
    assert_eq!((machine.files(), machine.spool.standing().losses.rejected_data), (1, 0));
}

#[test]
fn data_of_the_host_wait_for_its_id_and_the_others_do_not() {
    let mut machine = Machine::new();
    machine.host = Host::Pending;
    machine.commit(vec![datum("fleet", 0)]);
    machine.commit(vec![of_host("client", 0)]);
    machine.run_to(200, |_| Ok(()));
    assert_eq!(machine.take_names(), ["fleet"]);

    machine.host = Host::Known("i-0123456789abcdef0".to_owned());
    machine.run_to(300, |batch| {
        assert_eq!(batch.data[0].dimensions[0].value.as_deref(), Some("i-0123456789abcdef0"));
        Ok(())
    });
    assert_eq!(machine.take_names(), ["client"]);

    machine.commit(vec![of_host("client", 5)]);
    machine.host = Host::Unknown;
    machine.run_to(500, |_| Ok(()));
    assert_eq!((machine.take_names(), machine.files()), (vec![], 0));
    assert_eq!(machine.spool.standing().losses.unattributable_data, 1);
}

#[test]
fn data_older_than_two_weeks_go_once_the_clock_is_proven() {
    let mut machine = Machine::new();
    let day = 1440;
    for minute in [0, 2 * day, 15 * day - 1] {
        machine.minute(minute);
    }
    machine.pass(secs(15 * 86_400));
    machine.run_to(15 * 86_400 + 1, |_| refused());
    assert_eq!(machine.files(), 3);
    machine.sent.clear();
    machine.run_to(15 * 86_400 + 600, |_| Ok(()));
    assert_eq!(machine.take_names(), [format!("m{}", 15 * day - 1), format!("m{}", 2 * day)]);
    assert_eq!(machine.spool.standing().losses.expired_data, 1);
}

#[test]
fn data_far_ahead_of_the_clock_wait_for_it() {
    let mut machine = Machine::new();
    machine.minute(119); // Starts 1:59 from now.
    machine.minute(150); // Starts 2:30 from now, and may go in 0:30.
    machine.run_to(29 * 60, |_| Ok(()));
    assert_eq!(machine.take_names(), ["m119"]);
    machine.run_to(31 * 60, |_| Ok(()));
    assert_eq!(machine.sent[0].at, secs(30 * 60));
    assert_eq!(machine.take_names(), ["m150"]);
}

#[test]
fn a_shutdown_waits_for_nothing_and_stops_at_the_first_failure() {
    let mut machine = Machine::new();
    machine.minute(0);
    machine.minute(1);
    machine.pass(secs(100)); // In the middle of minute 1, closed early.
    machine.publisher.begin_shutdown();
    machine.run_to(105, |_| Ok(()));
    assert_eq!(machine.take_names(), ["m1", "m0"]);

    machine.minute(2);
    machine.run_to(110, |_| refused());
    assert_eq!((machine.take_names().len(), machine.files()), (1, 1));
    machine.publisher.begin_shutdown();
    assert!(matches!(machine.step(), Step::Idle));
}

#[test]
fn a_shutdown_does_not_repeat_an_unknown_outcome() {
    let mut machine = Machine::new();
    machine.minute(0);
    machine.run_to(70, |_| silence());
    machine.publisher.begin_shutdown();
    assert!(matches!(machine.step(), Step::Idle));
    assert_eq!(machine.files(), 1);
}

#[test]
fn a_shutdown_skips_the_backoff_once() {
    let mut machine = Machine::new();
    machine.minute(0);
    machine.run_to(600, |_| refused());
    machine.sent.clear();
    machine.publisher.begin_shutdown();
    let Step::Send(request) = machine.step() else { panic!("still waiting") };
    machine.answer(request, Ok(()));
    assert_eq!(machine.files(), 0);
}

#[test]
fn a_damaged_file_does_not_hold_up_the_others() {
    let mut machine = Machine::new();
    for minute in 0..3 {
        machine.minute(minute);
    }
    machine.disk.damage("000000000002-000.request");
    machine.pass(secs(3600));
    machine.run_to(3700, |_| Ok(()));
    assert_eq!(machine.take_names(), ["m2+m0"]);
    assert_eq!(machine.spool.standing().losses.damaged_data, 1);
}

#[test]
fn an_outage_is_two_lines_however_long_it_lasts() {
    let log = logged(|| {
        let mut machine = Machine::new();
        for minute in 0..60 {
            machine.minute(minute);
            machine.run_to(60 * (minute + 1), |_| code(403, "AccessDenied"));
        }
        machine.run_to(3600 + 600, |_| Ok(()));
    });
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains("WARN") && lines[0].contains("publishing stopped; keeping data in the spool"));
    assert!(lines[0].contains("AccessDenied: as told") && lines[0].contains("cloudwatch:PutMetricData"));
    assert!(lines[1].contains("INFO") && lines[1].contains("publishing resumed outage_secs=3"), "{log}");
}

#[test]
fn a_service_that_comes_and_goes_does_not_fill_the_log() {
    let log = logged(|| {
        let mut machine = Machine::new();
        let mut calls = 0;
        for minute in 0..600 {
            machine.minute(minute);
            machine.run_to(60 * (minute + 1), |_| {
                calls += 1;
                [Ok(()), refused(), status(500), code(429, "Throttling")][calls % 4].clone()
            });
        }
    });
    // Two lines each five minutes at the most.
    assert!((2..=2 * 120 + 2).contains(&log.lines().count()), "{}", log.lines().count());
}

#[test]
fn the_standing_is_a_plain_object() {
    let mut machine = Machine::new();
    machine.minute(0);
    machine.run_to(61, |_| silence());
    let json = serde_json::to_value(machine.publisher.standing()).unwrap();
    let failure = serde_json::json!({"time": START + 60, "message": "no answer"});
    let expected = serde_json::json!({
        "state": "unknown", "last_success": null, "last_failure": failure, "unknown_outcomes": 1
    });
    assert_eq!(json, expected);
}

/// Kills, power cuts of the network and bad data, at random: nothing is lost, and each repeat has its reason.
#[test]
fn whatever_happens_each_datum_arrives_and_repeats_are_accounted_for() {
    for seed in 0..60 {
        let rng = &mut fastrand::Rng::with_seed(seed);
        let mut machine = Machine::every(if seed % 3 == 0 { 300 } else { 60 }, seed);
        let (mut repeats_allowed, mut expected, mut rejected) = (0, Vec::new(), 0);
        for minute in 0..30 {
            let data: Vec<Datum> =
                (0..rng.usize(1..6)).map(|k| datum(&format!("m{minute}.{k}"), minute)).collect();
            expected.extend(data.iter().map(|datum| datum.metric.to_string()));
            machine.commit(data);
            let mood = rng.u8(..5);
            let mut killed = false;
            let end = secs(60 * (minute + 1));
            while !killed && machine.at() < end {
                match machine.step() {
                    Step::Send(request) => {
                        let bad = request.batch.data.iter().any(|datum| datum.metric.ends_with("7.2"));
                        let answer = match (mood, rng.u8(..4)) {
                            (0, _) => refused(),
                            (1, 0..3) => code(400, "Throttling"),
                            (2, 0) => silence(),
                            _ if bad => invalid(),
                            _ => Ok(()),
                        };
                        let reached = answer.is_ok() || mood == 2 && answer == silence() && rng.bool();
                        killed = rng.u8(..30) == 0;
                        if reached && (killed || answer.is_err()) {
                            repeats_allowed += request.batch.data.len();
                            for datum in &request.batch.data {
                                *machine.received.entry(datum.metric.to_string()).or_default() += 1;
                            }
                        }
                        if !killed {
                            machine.answer(request, answer);
                        }
                    }
                    Step::WaitUntil(until) => {
                        let wait = until - machine.now.monotonic;
                        machine.pass(wait.min(end - machine.at()));
                    }
                    Step::Idle => machine.pass(end - machine.at()),
                }
            }
            if killed {
                rejected += machine.spool.standing().losses.rejected_data;
                machine.disk = machine.disk.after_power_cut(rng);
                machine.spool = Spool::open(machine.disk.clone(), OWNER, Limits::default()).unwrap().spool;
                machine.publisher = Publisher::new("b", secs(60), fastrand::Rng::with_seed(seed));
                machine.pass(end.saturating_sub(machine.at()));
            }
        }
        // Two good minutes more prove that what is left is to blame.
        for minute in 30..60 {
            machine.minute(minute);
            machine.run_to(60 * (minute + 1), |batch| {
                let bad = batch.data.iter().any(|datum| datum.metric.ends_with("7.2"));
                if bad { invalid() } else { Ok(()) }
            });
        }
        machine.publisher.begin_shutdown();
        machine.run_to(60 * 65, |_| Ok(()));
        assert_eq!(machine.files(), 0, "seed {seed}");
        rejected += machine.spool.standing().losses.rejected_data;
        let bad = expected.iter().filter(|name| name.ends_with("7.2")).count();
        expected.retain(|name| !name.ends_with("7.2"));
        assert_eq!(rejected, bad as u64, "seed {seed}");
        let missing: Vec<&String> =
            expected.iter().filter(|name| !machine.received.contains_key(*name)).collect();
        assert!(missing.is_empty(), "seed {seed}: {missing:?}");
        let repeats: usize = machine.received.values().map(|times| times - 1).sum();
        assert!(repeats <= repeats_allowed, "seed {seed}: {repeats} > {repeats_allowed}");
    }
}
