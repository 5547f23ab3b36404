//! What the alarms' expressions give, worked out by hand, at periods of a minute, five minutes and an hour.

use std::collections::BTreeMap;

use efsmon::alarm::Alarm;
use efsmon::metricmath::{Dimension, Metric, Purpose, Samples, Series, Window, evaluate};

use super::target::{FS, GIB, bursting, rendered, target};

const PERIODS: [u32; 3] = [60, 300, 3_600];
/// A whole hour, in seconds since 1970.
const START: i64 = 1_796_000_400;
const HOURS: i64 = 3;

fn alarm(kind: &str) -> Alarm {
    let alarms = rendered(&target(vec![bursting(100 * GIB)])).rendered;
    alarms.into_iter().find(|rendered| rendered.kind == kind).unwrap().alarm
}

/// A value of that metric of the file system in each minute.
fn put(samples: &mut Samples, namespace: &str, name: &str, file_system: &str, value: impl Fn(i64) -> f64) {
    let dimension = Dimension { name: "FileSystemId".to_owned(), value: file_system.to_owned() };
    let metric =
        Metric { namespace: namespace.to_owned(), metric_name: name.to_owned(), dimensions: vec![dimension] };
    for minute in 0..HOURS * 60 {
        samples.put_value(metric.clone(), START + minute * 60, value(minute));
    }
}

/// All series of the query that the alarm watches.
fn watched(alarm: &Alarm, samples: &Samples, period: u32) -> Vec<Series> {
    let window = Window { from: START, to: START + HOURS * 3_600, period };
    let mut values = evaluate(&alarm.metrics, samples, window, Purpose::Alarm).unwrap();
    let watched = alarm.metrics.iter().find(|query| query.return_data == Some(true)).unwrap();
    values.remove(&watched.id).unwrap()
}

/// The value at the last period, the same at every length of period; None: there is none.
#[track_caller]
fn check(kind: &str, samples: &Samples, expected: Option<f64>) {
    for period in PERIODS {
        let series = watched(&alarm(kind), samples, period);
        let [series] = series.as_slice() else { panic!("{series:?}") };
        let found = series.points.get(&(START + HOURS * 3_600 - i64::from(period))).copied();
        assert_eq!(found.map(|value| (value * 1e6).round() / 1e6), expected, "{kind} by {period} s");
    }
}

/// 6,442,450,944 bytes a minute are 102.4 MiB/s, and 104,857,600 B/s are 100.
#[test]
fn the_use_of_the_permitted_throughput_is_right_at_every_period() {
    let mut samples = Samples::default();
    put(&mut samples, "AWS/EFS", "PermittedThroughput", FS, |_| 104_857_600.0);
    // Nothing metered is nothing used.
    check("throughput-utilisation", &samples, Some(0.0));
    put(&mut samples, "AWS/EFS", "MeteredIOBytes", FS, |_| 6_442_450_944.0);
    check("throughput-utilisation", &samples, Some(102.4));
}

/// At 100 MiB/s more than is earned, 6,291,456,000 bytes go each minute, 377,487,360,000 an hour.
#[test]
fn the_hours_to_depletion_are_the_balance_by_what_goes_each_second() {
    let a_minute = 6_291_456_000.0;
    let drained_in = |hours: f64| {
        let mut samples = Samples::default();
        // At the last of the minutes, so much is left.
        let left = hours * 60.0 * a_minute;
        let last = HOURS * 60 - 1;
        put(&mut samples, "AWS/EFS", "BurstCreditBalance", FS, |minute| {
            left + (last - minute) as f64 * a_minute
        });
        samples
    };
    for hours in [0.5, 1.0, 3.0, 6.0] {
        check("credits-depletion-page", &drained_in(hours), Some(hours));
        check("credits-depletion-ticket", &drained_in(hours), Some(hours));
    }
}

/// 1 % of 2.1 TiB is 23,089,744,183.296 bytes.
#[test]
fn a_balance_that_stands_still_is_not_draining_unless_nothing_is_left() {
    for (balance, hours) in
        [(2_308_974_418_330.0, 720.0), (23_089_744_184.0, 720.0), (23_089_744_183.0, 0.0), (0.0, 0.0)]
    {
        let mut samples = Samples::default();
        put(&mut samples, "AWS/EFS", "BurstCreditBalance", FS, |_| balance);
        check("credits-depletion-page", &samples, Some(hours));
        check("credits-depletion-ticket", &samples, Some(hours));
    }
    let mut refilling = Samples::default();
    put(&mut refilling, "AWS/EFS", "BurstCreditBalance", FS, |minute| 1e12 + minute as f64 * 1e9);
    check("credits-depletion-page", &refilling, Some(720.0));
    // Under elastic throughput the metric stops.
    check("credits-depletion-page", &Samples::default(), None);
}

#[test]
fn latency_is_that_of_the_worse_of_reads_and_writes_and_none_when_there_were_none() {
    let latency = |of: &[(&str, f64)]| {
        let mut samples = Samples::default();
        of.iter().for_each(|(name, ms)| put(&mut samples, "EFSMon", name, FS, |_| *ms));
        samples
    };
    check("client-latency", &latency(&[("ReadLatency", 300.0), ("WriteLatency", 8.0)]), Some(300.0));
    check("client-latency", &latency(&[("ReadLatency", 3.0), ("WriteLatency", 280.5)]), Some(280.5));
    check("client-latency", &latency(&[("WriteLatency", 251.0)]), Some(251.0));
    check("client-latency", &latency(&[]), None);
}

#[test]
fn silence_is_connections_without_a_host_that_reports() {
    let counted = |connections: Option<f64>, clients: Option<f64>| {
        let mut samples = Samples::default();
        connections.inspect(|count| put(&mut samples, "AWS/EFS", "ClientConnections", FS, |_| *count));
        clients.inspect(|count| put(&mut samples, "EFSMon", "Clients", FS, |_| *count));
        samples
    };
    check("publisher-silent", &counted(Some(5.0), None), Some(1.0));
    check("publisher-silent", &counted(Some(5.0), Some(1.0)), Some(0.0));
    // One of three hosts is silent: that is not seen.
    check("publisher-silent", &counted(Some(15.0), Some(2.0)), Some(0.0));
    check("publisher-silent", &counted(Some(0.0), None), Some(0.0));
    check("publisher-silent", &counted(None, Some(1.0)), None);
    check("publisher-silent", &counted(None, None), None);
}

#[test]
fn the_alarm_on_any_credits_has_a_series_of_each_file_system_that_has_some() {
    let mut samples = Samples::default();
    put(&mut samples, "AWS/EFS", "BurstCreditBalance", FS, |_| 2e12);
    put(&mut samples, "AWS/EFS", "BurstCreditBalance", "fs-01234567", |minute| 1e12 - minute as f64);
    for period in PERIODS {
        let series = watched(&alarm("credits-any"), &samples, period);
        let last = START + HOURS * 3_600 - i64::from(period);
        let found: BTreeMap<&str, f64> =
            series.iter().map(|series| (series.label.as_str(), series.points[&last])).collect();
        // Of 180 minutes, the last is the lowest.
        assert_eq!(found, BTreeMap::from([(FS, 2e12), ("fs-01234567", 1e12 - 179.0)]));
    }
}
