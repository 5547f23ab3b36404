//! The formulas of the EFS User Guide ("Using metric math with CloudWatch metrics") and those of efsmon's alarms.

use efsmon::metricmath::{Purpose, Query, Samples, StatisticSet, Window, evaluate};

use super::{Given, START, asked, expression, levels, metric, ok};

/// An hour in which EFS meters 100 requests and 6,442,450,944 bytes a minute, 1,610,612,736 of them written, while
/// 104,857,600 bytes a second are permitted.
fn busy() -> Samples {
    let mut samples = Samples::default();
    for minute in 0..60 {
        let at = START + minute * 60;
        let of = |sum: f64| StatisticSet { sum, count: 100.0, minimum: sum / 100.0, maximum: sum / 100.0 };
        samples.put(metric("MeteredIOBytes", &[]), at, of(6_442_450_944.0));
        samples.put(metric("DataWriteIOBytes", &[]), at, of(1_610_612_736.0));
        samples.put_value(metric("PermittedThroughput", &[]), at, 104_857_600.0);
    }
    samples
}

/// Every value, at 60, 300 and 3,600 seconds.
#[track_caller]
fn reads(queries: &[Query], value: f64) {
    let samples = busy();
    for (period, points) in [(60, 60), (300, 12), (3600, 1)] {
        let window = Window { from: START, to: START + 3600, period };
        let all = ok(evaluate(queries, &samples, window, Purpose::Graph));
        let last = &all[&queries.last().unwrap().id];
        assert_eq!(last[0].points.len(), points, "{period} s");
        assert_eq!(levels(last)[0].1, value, "{period} s");
    }
}

#[test]
fn throughput_reads_the_same_at_every_period() {
    let metered = asked("m1", metric("MeteredIOBytes", &[]), "Sum");
    // 6,442,450,944 / 60 = 107,374,182.4 B/s; / 1,048,576 = 102.4.
    reads(&[metered.clone(), expression("e1", "(m1/1048576)/PERIOD(m1)")], 102.4);
    let permitted = asked("m2", metric("PermittedThroughput", &[]), "Average");
    // 104,857,600 B/s are 100 MiB/s.
    let use_of_it = [
        metered.clone(),
        permitted,
        expression("e1", "(m1/1048576)/PERIOD(m1)"),
        expression("e2", "m2/1048576"),
        expression("e3", "((e1)*100)/(e2)"),
    ];
    reads(&use_of_it, 102.4);
    let written = asked("m2", metric("DataWriteIOBytes", &[]), "Sum");
    reads(&[metered, written, expression("e1", "(m2*100)/m1")], 25.0);
}

#[test]
fn operations_and_their_size_read_the_same_at_every_period() {
    let count = asked("m1", metric("MeteredIOBytes", &[]), "SampleCount");
    // 100 a minute.
    reads(&[count.clone(), expression("e1", "m1/PERIOD(m1)*60")], 100.0);
    let bytes = asked("m1", metric("MeteredIOBytes", &[]), "Sum");
    let count = Query { id: "m2".into(), ..count };
    // 6,442,450,944 / 1,024 / 100
    reads(&[bytes, count, expression("e1", "(m1/1024)/m2")], 62_914.56);
}

#[test]
fn statistics_are_those_of_all_data_of_a_period() {
    let mut samples = Samples::default();
    // Two hosts in the first minute, in either order of the dimensions; one in the second, a little late.
    let dimensions = [("FileSystemId", "fs-1"), ("AccessPointId", "fsap-1")];
    let turned = [dimensions[1], dimensions[0]];
    samples.put_value(metric("Bytes", &dimensions), START, 5.0);
    samples.put_value(metric("Bytes", &turned), START + 59, 1.0);
    let set = StatisticSet { sum: 12.0, count: 2.0, minimum: 4.0, maximum: 8.0 };
    samples.put(metric("Bytes", &dimensions), START + 61, set);
    let stats = ["Sum", "SampleCount", "Minimum", "Maximum", "Average"];
    let queries: Vec<Query> =
        stats.iter().map(|stat| asked(&stat.to_lowercase(), metric("Bytes", &turned), stat)).collect();
    let read = |period| {
        let window = Window { from: START, to: START + 600, period };
        let all = ok(evaluate(&queries, &samples, window, Purpose::Graph));
        stats.map(|stat| all[&stat.to_lowercase()][0].points.clone().into_iter().collect::<Vec<_>>())
    };
    let (first, second) = (START, START + 60);
    assert_eq!(
        read(60),
        [
            [(first, 6.0), (second, 12.0)],
            [(first, 2.0), (second, 2.0)],
            [(first, 1.0), (second, 4.0)],
            [(first, 5.0), (second, 8.0)],
            [(first, 3.0), (second, 6.0)],
        ]
    );
    assert_eq!(read(300), [[(first, 18.0)], [(first, 4.0)], [(first, 1.0)], [(first, 8.0)], [(first, 4.5)]]);
}

#[test]
fn periods_are_counted_from_the_beginning_of_the_window() {
    let mut samples = Samples::default();
    for minute in 0..10 {
        samples.put_value(metric("m", &[]), START + minute * 60, 1.0);
    }
    // 300 s from a minute past: four minutes are left of the last period, which is not whole and not there.
    let window = Window { from: START + 60, to: START + 600, period: 300 };
    let all = ok(evaluate(&[asked("m", metric("m", &[]), "Sum")], &samples, window, Purpose::Graph));
    assert_eq!(all["m"][0].points.clone().into_iter().collect::<Vec<_>>(), [(START + 60, 5.0)]);
}

/// The balance at the start, and what it loses a minute.
fn depletion(balance: f64, loss: f64) -> Vec<(i64, f64)> {
    let mut samples = Samples::default();
    for minute in 0..20 {
        let left = (balance - loss * minute as f64).max(0.0);
        samples.put_value(metric("BurstCreditBalance", &[]), START + minute * 60, left);
    }
    let queries = [
        asked("m1", metric("BurstCreditBalance", &[]), "Minimum"),
        expression("e1", "-1*RATE(m1)"),
        Query {
            return_data: Some(true),
            ..expression("e2", "IF(m1 < 10000, 0, IF(e1 > 0, m1/e1/3600, 720))")
        },
    ];
    let window = Window { from: START, to: START + 1200, period: 300 };
    let all = ok(evaluate(&queries, &samples, window, Purpose::Alarm));
    all["e2"][0].points.clone().into_iter().collect()
}

#[test]
fn hours_to_depletion() {
    let times = [START + 300, START + 600, START + 900];
    // Minima of 300 s: after 4, 9, 14 and 19 minutes. 6,000 a minute are 100 a second; the first has no rate.
    // 1,000,000 - 9 x 6,000 = 946,000, and so on.
    let hours = [946_000.0, 916_000.0, 886_000.0].map(|left| left / 100.0 / 3600.0);
    let drain: Vec<_> = times.into_iter().zip(hours).collect();
    assert_eq!(depletion(1_000_000.0, 6_000.0), drain);
    assert_eq!(depletion(1_000_000.0, 0.0), times.map(|at| (at, 720.0)));
    assert_eq!(depletion(1_000_000.0, -6_000.0), times.map(|at| (at, 720.0)));
    // At the bottom it is 0 from the first point on, without any rate.
    assert_eq!(depletion(0.0, 0.0), [(START, 0.0), (times[0], 0.0), (times[1], 0.0), (times[2], 0.0)]);
}

#[test]
fn clients_without_a_publisher() {
    let given = Given::series(&[("c", "3 3 0 - 2"), ("k", "1 - - 1 0")]);
    given.expect("IF(c > 0, (c*0 + k) < 1, 0)", &["0 1 0 - 1"]);
    given.expect("c*0 + k", &["1 0 0 1 0"]);
}
