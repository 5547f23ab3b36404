use super::*;
use crate::catalog::Profile;
use crate::mountinfo::DeviceNumber;
use crate::traffic::Times;

const GRID: Duration = Duration::from_secs(10);

/// Minutes, on a clock that starts at noon.
struct Host {
    minutes: Minutes,
    limits: SeriesLimits,
}

/// A superblock of a reading: file system, reads since the one before, seconds since then, stalled.
type Mount<'a> = (&'a str, u64, u64, bool);

fn moment(seconds: f64) -> Moment {
    let since = Duration::from_secs_f64(seconds);
    Moment { wall: Duration::from_secs(1_796_040_000) + since, monotonic: Duration::from_secs(9000) + since }
}

impl Host {
    fn new(profile: Profile) -> Host {
        Host { minutes: Minutes::default(), limits: SeriesLimits::new(profile, 1000) }
    }

    fn observe(&mut self, at: f64, mounts: &[Mount<'_>]) {
        let end = moment(at);
        let interval = |(_, reads, seconds, _): &Mount<'_>| {
            let mut traffic = Traffic::default();
            (traffic.read.requests, traffic.read.bytes_received) = (*reads, *reads);
            traffic.read.execute = Times { ms: 3 * reads, requests: *reads };
            let elapsed = Duration::from_secs(*seconds);
            Interval { number: DeviceNumber { major: 0, minor: 7 }, end, elapsed, traffic }
        };
        let intervals: Vec<Interval> = mounts.iter().map(interval).collect();
        let observed = mounts.iter().zip(&intervals).map(|((id, _, _, stalled), interval)| Observed {
            interval,
            subjects: vec![id.parse().unwrap()],
            stalled: *stalled,
        });
        self.minutes.observe(end, GRID, observed);
    }

    fn close(&mut self) -> Vec<Datum> {
        self.minutes.close(GRID, &OwnFigures::default(), &self.limits)
    }

    /// The values of a metric, each as often as it counts, of the minute that starts so many seconds after noon.
    fn values(data: &[Datum], metric: &str, minute: i64) -> Vec<f64> {
        let at = 1_796_040_000 + minute;
        let datum = data.iter().find(|datum| datum.metric == metric && datum.timestamp.seconds() == at);
        let pairs = datum.into_iter().flat_map(|datum| datum.values.iter().zip(&datum.counts));
        pairs.flat_map(|(value, count)| vec![*value; *count as usize]).collect()
    }
}

const ONE: &str = "fs-01234567";

#[test]
fn stalled_mounts_are_counted_once_a_window_and_none_is_a_0() {
    let mut host = Host::new(Profile::Fleet);
    host.observe(0.0, &[]);
    for sample in 1..=6 {
        let stalled = matches!(sample, 2 | 3);
        let also = sample == 3;
        host.observe(
            f64::from(sample * 10),
            &[(ONE, 5, 10, stalled), (ONE, 0, 10, also), (ONE, 0, 10, false)],
        );
    }
    let data = host.close();
    assert_eq!(Host::values(&data, "MountStalled", 0), [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
}

#[test]
fn a_stall_is_not_told_of_a_gap_nor_of_a_time_that_nobody_looked_at() {
    let mut host = Host::new(Profile::Fleet);
    host.observe(0.0, &[]);
    host.observe(10.0, &[(ONE, 1, 10, false)]);
    // A reading that does not show it: of its window nothing is known, though what it did is shared out later.
    host.observe(20.0, &[]);
    host.observe(30.0, &[(ONE, 4, 20, true)]);
    // Then nobody reads for three minutes.
    host.observe(210.0, &[(ONE, 180, 180, true)]);
    let data = host.close();
    assert_eq!(Host::values(&data, "MountStalled", 0), [0.0, 1.0]);
    assert_eq!(Host::values(&data, "ReadLatency", 0), [3.0; 5], "5 requests of windows, the rest of the gap");
    assert_eq!(Host::values(&data, "MountStalled", 60), [0.0; 0]);
    assert_eq!(Host::values(&data, "ReadOperations", 60), [60.0]);
}

#[test]
fn a_window_that_crosses_a_minute_is_a_sample_of_both() {
    let mut host = Host::new(Profile::Fleet);
    host.observe(44.0, &[]);
    host.observe(75.0, &[(ONE, 31, 31, true)]);
    host.observe(120.0, &[(ONE, 45, 45, false)]);
    let data = host.close();
    assert_eq!(Host::values(&data, "MountStalled", 0), [1.0]);
    assert_eq!(Host::values(&data, "MountStalled", 60), [1.0, 0.0]);
}

#[test]
fn a_mount_that_is_seen_again_after_a_gap_has_no_peak_of_the_time_that_nobody_looked_at() {
    let mut host = Host::new(Profile::Minimal);
    host.observe(0.0, &[]);
    host.observe(10.0, &[(ONE, 1 << 20, 1, false)]);
    // Nobody reads for 100 s; the first reading after that does not show it.
    host.observe(110.0, &[]);
    host.observe(120.0, &[(ONE, 110 << 20, 110, false)]);
    let data = host.close();
    // 1 MiB/s all the time: 60 MiB of the minute, of which 10 in the one window that there is.
    assert_eq!(Host::values(&data, "ReadBytes", 60), [f64::from(60 << 20)]);
    assert_eq!(Host::values(&data, "ReadThroughput", 60), [1.0; 10]);
    let latency = data.iter().find(|datum| datum.metric == "ReadLatency").unwrap();
    assert_eq!(
        (latency.timestamp.seconds(), latency.counts.as_slice()),
        (1_796_040_060, &[f64::from(10 << 20)][..])
    );
}

#[test]
fn what_proxies_use_is_a_share_of_a_core_over_the_time_that_passed() {
    let mut host = Host::new(Profile::Full);
    let subject: Subject = ONE.parse().unwrap();
    let used = |cpu_ms, memory| ProxyUse { cpu_ms, memory };
    host.observe(0.0, &[]);
    host.minutes.observe_proxies(&subject, used(99, 99));
    // 2.5 s of CPU in 10 s, then nothing known, then 3 s in 40 s of which 30 are of this minute.
    host.observe(10.0, &[(ONE, 1, 10, false)]);
    host.minutes.observe_proxies(&subject, used(2500, 7 << 20));
    host.observe(30.0, &[(ONE, 1, 20, false)]);
    host.observe(70.0, &[(ONE, 1, 40, false)]);
    host.minutes.observe_proxies(&subject, used(3000, 9 << 20));
    host.observe(120.0, &[(ONE, 1, 50, false)]);
    let data = host.close();
    let of = |metric: &str, minute| Host::values(&data, metric, minute);
    assert_eq!(of("ProxyCpu", 0), [vec![25.0; 10], vec![7.5; 30]].concat());
    assert_eq!(of("ProxyCpu", 60), [7.5; 10]);
    assert_eq!(of("ProxyMemory", 0), [f64::from(7 << 20), f64::from(9 << 20)]);
    assert_eq!(of("ProxyMemory", 60), [f64::from(9 << 20)]);
}

#[test]
fn mounts_are_added_up_before_they_are_cut() {
    // One request each, of a time that lies half in one minute and half in the other: together they are even.
    let mut host = Host::new(Profile::Fleet);
    host.observe(50.0, &[]);
    host.observe(70.0, &[(ONE, 1, 20, false); 100]);
    host.observe(120.0, &[(ONE, 0, 50, false)]);
    let data = host.close();
    assert_eq!(Host::values(&data, "ReadOperations", 0), [50.0]);
    assert_eq!(Host::values(&data, "ReadOperations", 60), [50.0]);
}

#[test]
fn accounts_that_are_gathered_are_added_up_window_by_window() {
    let mut host = Host::new(Profile::Fleet);
    let access_point = |name: char| format!("{ONE} fsap-0000000{name}");
    let (a, b) = (access_point('a'), access_point('b'));
    host.observe(0.0, &[]);
    host.observe(10.0, &[(&a, 10, 10, true), (&b, 100, 10, true)]);
    host.observe(20.0, &[(&b, 1, 10, false)]);
    let open = host.minutes.open.values_mut().next().unwrap();
    let together: Subject = format!("{ONE} other").parse().unwrap();
    open.gather(|_| together.clone());
    let account = &open.accounts[&together];
    let windows = account.windows.values().map(|share| (share.traffic.read.requests, share.stalled));
    assert_eq!(windows.collect::<Vec<_>>(), [(110, Some(2)), (1, Some(0))]);
    assert_eq!((account.total.read.requests, account.shown, open.accounts.len()), (111, true, 1));
}

#[test]
fn access_points_without_their_own_series_are_added_up_with_the_others() {
    let mut host = Host::new(Profile::Fleet);
    host.limits.access_points = Some(1);
    let access_point = |name: char| format!("{ONE} fsap-0000000{name}");
    let [a, b, c] = ['a', 'b', 'c'].map(access_point);
    host.observe(0.0, &[]);
    for sample in 1..=6 {
        let seconds = f64::from(sample * 10);
        host.observe(seconds, &[(&a, 10, 10, false), (&b, 100, 10, false), (&c, 7, 10, false)]);
    }
    let data = host.close();
    let mut reads: Vec<_> = data
        .iter()
        .filter(|datum| datum.metric == "ReadBytes")
        .map(|datum| (datum.dimensions[1].value.clone().unwrap(), datum.values.clone(), datum.counts.clone()))
        .collect();
    reads.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        reads,
        [("fsap-0000000b".to_owned(), vec![600.0], vec![1.0]), ("other".to_owned(), vec![102.0], vec![1.0])]
    );
    // Late: a piece of a minute that is closed, of those that have no series of their own.
    host.observe(70.0, &[(&a, 60, 60, false), (&c, 30, 60, false)]);
    host.observe(120.0, &[]);
    let late: f64 = host
        .close()
        .iter()
        .filter(|datum| datum.metric == "ReadBytes" && datum.timestamp.seconds() == 1_796_040_000)
        .inspect(|datum| assert_eq!(datum.dimensions[1].value.as_deref(), Some("other")))
        .flat_map(|datum| &datum.values)
        .sum();
    // 50 of 60 seconds.
    assert_eq!(late, 75.0);
}

#[test]
fn no_more_operations_are_published_than_the_limit_of_series_reckons_with() {
    let mut host = Host::new(Profile::Full);
    let mut traffic = Traffic::default();
    traffic.by_operation.extend((1..=25).map(|requests| (format!("OP_{requests:02}"), requests)));
    let data = |host: &mut Host, at: f64, traffic: &Traffic| {
        let elapsed = Duration::from_secs(60);
        let number = DeviceNumber { major: 0, minor: 7 };
        let interval = Interval { number, end: moment(at), elapsed, traffic: traffic.clone() };
        let subjects = vec![ONE.parse().unwrap()];
        host.minutes.observe(moment(at), GRID, [Observed { interval: &interval, subjects, stalled: false }]);
        let data = host.close().into_iter().filter(|datum| datum.metric == "OperationRequests");
        data.map(|datum| (datum.dimensions[2].value.clone().unwrap(), datum.values[0])).collect::<Vec<_>>()
    };
    host.observe(0.0, &[]);
    let found = data(&mut host, 60.0, &traffic);
    assert_eq!(
        (found.len(), found[0].clone(), found[19].clone()),
        (20, ("OP_07".to_owned(), 7.0), ("other".to_owned(), f64::from(1 + 2 + 3 + 4 + 5 + 6)),)
    );
    // No request is lost, and the next minute is published under the same names.
    assert_eq!(found.iter().map(|(_, requests)| requests).sum::<f64>(), f64::from(25 * 26 / 2));
    traffic.by_operation.remove("OP_25");
    *traffic.by_operation.get_mut("OP_01").unwrap() = 1000;
    let found = data(&mut host, 120.0, &traffic);
    assert_eq!(found.last(), Some(&("other".to_owned(), f64::from(1000 + 2 + 3 + 4 + 5 + 6))));
}
