//! Every expression of every dashboard says what it should, at every period.

use std::collections::BTreeSet;

use efsmon::catalog::Profile;
use efsmon::metricmath::{
    self, Dimension, Metric, MetricStat, Purpose, Query, Samples, Series, StatisticSet, Window,
};
use efsmon::provision::dashboards::{render, templates};
use serde_json::{Value, json};

use super::render::{ANY, FILE_SYSTEM, OVERVIEW, rows, target, widgets};

const ONE: &str = "fs-00000000000000001";
const TWO: &str = "fs-00000000000000002";

/// 2026-11-30T00:00:00Z
const START: i64 = 1_795_996_800;
const MINUTES: i64 = 120;

/// Data of two hours, the same each minute but for the credits. Of the second file system, everything is half.
fn samples() -> Samples {
    let mut samples = Samples::default();
    for minute in 0..MINUTES {
        let at = START + minute * 60;
        let mut put = |namespace: &str, name: &str, dimensions: &[(&str, &str)], set: StatisticSet| {
            samples.put(metric(namespace, name, dimensions), at, set);
        };
        put("EFSMon", "Hosts", &[], total(3.0, 3.0));
        put("EFSMon", "UnidentifiedMounts", &[], total(2.0, 3.0));
        put("EFSMon", "SamplesLost", &[], total(1.0, 3.0));
        put("EFSMon", "UnknownOutcomes", &[], total(4.0, 3.0));
        for (file_system, part) in [(ONE, 1.0), (TWO, 0.5), (ANY, 1.0)] {
            let of = [("FileSystemId", file_system)];
            let mut flow = |name: &str, bytes: f64, operations: f64| {
                put("AWS/EFS", name, &of, total(part * bytes, part * operations));
            };
            flow("MeteredIOBytes", 6_442_450_944.0, 13_200.0);
            flow("DataReadIOBytes", 3_145_728_000.0, 6000.0);
            flow("DataWriteIOBytes", 1_258_291_200.0, 1200.0);
            flow("MetadataIOBytes", 24_576_000.0, 6000.0);
            flow("ClientConnections", 12.0, 1.0);
            let mut level = |name: &str, value: f64| put("AWS/EFS", name, &of, level(part * value));
            level("PermittedThroughput", 104_857_600.0);
            level("PercentIOLimit", 37.5);
            // 10 hours' worth of 40 MiB/s at first, and 40 MiB/s of it spent.
            level("BurstCreditBalance", 41_943_040.0 * 3600.0 * (10.0 - minute as f64 / 60.0));
            for (class, gib) in [("Standard", 100.0), ("IA", 40.0), ("Archive", 10.0), ("Total", 150.0)] {
                let of = [("FileSystemId", file_system), ("StorageClass", class)];
                if minute % 15 == 0 {
                    put("AWS/EFS", "StorageBytes", &of, self::level(part * gib * 1_073_741_824.0));
                }
            }
            let mut own = |name: &str, set: StatisticSet| put("EFSMon", name, &of, set);
            own("ReadBytes", total(part * 3_145_728_000.0, 3.0));
            own("WriteBytes", total(part * 1_258_291_200.0, 3.0));
            own("MeteredEstimate", total(part * 3_221_225_472.0, 3.0));
            own("ReadOperations", total(part * 6000.0, 3.0));
            own("WriteOperations", total(part * 1200.0, 3.0));
            own("MetadataOperations", total(part * 3000.0, 3.0));
            own("Clients", total(part * 4.0, 4.0));
            own("ReadLatency", total(part * 4.0 * 6000.0, 6000.0));
            own("WriteLatency", total(part * 8.0 * 1200.0, 1200.0));
            own("MetadataLatency", total(part * 2.0 * 3000.0, 3000.0));
            own("MountStalled", StatisticSet { sum: 2.0, count: 18.0, minimum: 0.0, maximum: part * 2.0 });
            for (host, share) in [("i-0a", 1.0), ("i-0b", 0.5)] {
                let of = [("FileSystemId", file_system), ("InstanceId", host)];
                put("EFSMon", "ReadThroughput", &of, total(part * share * 30.0 * 60.0, 60.0));
                put("EFSMon", "WriteThroughput", &of, total(part * share * 12.0 * 60.0, 60.0));
                put("EFSMon", "Retransmissions", &of, total(part * share * 6.0, 1.0));
            }
        }
    }
    samples
}

fn metric(namespace: &str, name: &str, dimensions: &[(&str, &str)]) -> Metric {
    let dimension =
        |(name, value): &(&str, &str)| Dimension { name: (*name).to_owned(), value: (*value).to_owned() };
    Metric {
        namespace: namespace.to_owned(),
        metric_name: name.to_owned(),
        dimensions: dimensions.iter().map(dimension).collect(),
    }
}

/// So much in so many values.
fn total(sum: f64, count: f64) -> StatisticSet {
    StatisticSet { sum, count, minimum: sum / count, maximum: sum / count }
}

fn level(value: f64) -> StatisticSet {
    total(value, 1.0)
}

/// A graph's rows as queries.
fn queries(widget: &Value) -> Vec<Query> {
    let properties = &widget["properties"];
    let query = |row: &Value| {
        let cells = row.as_array().unwrap();
        let options = cells.last().unwrap();
        let texts: Vec<&str> = cells.iter().filter_map(Value::as_str).collect();
        let metric_stat = (!texts.is_empty()).then(|| {
            let pairs: Vec<(&str, &str)> = texts[2..].chunks(2).map(|pair| (pair[0], pair[1])).collect();
            MetricStat {
                metric: metric(texts[0], texts[1], &pairs),
                period: u32::try_from(properties["period"].as_u64().unwrap()).unwrap(),
                stat: options.get("stat").unwrap_or(&properties["stat"]).as_str().unwrap().to_owned(),
            }
        });
        Query {
            id: options["id"].as_str().unwrap().to_owned(),
            metric_stat,
            expression: options["expression"].as_str().map(str::to_owned),
            label: None,
            period: None,
            return_data: None,
        }
    };
    rows(widget).iter().map(query).collect()
}

/// The last value of each series that a row gives.
fn values(widget: &Value, id: &str, samples: &Samples, period: u32) -> Vec<f64> {
    let window = Window { from: START, to: START + MINUTES * 60, period };
    let given = metricmath::evaluate(&queries(widget), samples, window, Purpose::Graph);
    let given = given.unwrap_or_else(|error| panic!("{}: {error}", widget["properties"]["title"]));
    let last = |series: &Series| series.points.values().next_back().copied();
    given[id].iter().filter_map(last).collect()
}

/// Dashboard, beginning of the widget's title, ids of the rows that are drawn, and what they show at last: the same
/// whatever the period. Of the overview's rows, those of the first file system and those of the second.
type Shown = (&'static str, &'static str, &'static [(&'static str, &'static [f64])]);

/// Worked out by hand from [`samples`]:
/// - 6,442,450,944 bytes a minute are 102.4 MiB/s, and 102.4 % of 104,857,600 bytes a second;
/// - 10 hours of credits, of which 119 minutes' worth is spent at the last minute, are 8 h 1 min = 481/60 hours; spent
///   at 100 MiB/s in place of 40, 2/5 of that;
/// - they are 41,943,040 x 3600 x 481/60 bytes = 140.625 GiB x 481/60 = 1127.34375 GiB;
/// - 3,145,728,000 bytes a minute are 50 MiB/s, 1,258,291,200 are 20 MiB/s, 24,576,000 are 0.390625 MiB/s;
/// - 3,221,225,472 bytes a minute are 51.2 MiB/s, half of what is metered.
const SHOWN: &[Shown] = &[
    ("few", "Throughput used", &[("e1", &[102.4]), ("e2", &[102.4])]),
    ("few", "Hours until", &[("e1", &[481.0 / 60.0]), ("e2", &[481.0 / 60.0])]),
    ("few", "Stalled mounts", &[("m1", &[2.0]), ("m2", &[1.0])]),
    ("few", "EFS average throughput", &[("e1", &[102.4]), ("e2", &[51.2])]),
    ("few", "Metered against", &[("e1", &[102.4]), ("e2", &[51.2]), ("f1", &[100.0]), ("f2", &[50.0])]),
    ("few", "Burst credits left", &[("e1", &[1127.34375]), ("e2", &[563.671875])]),
    ("few", "PercentIOLimit", &[("m1", &[37.5]), ("m2", &[18.75])]),
    ("few", "Read latency", &[("m1", &[4.0]), ("m2", &[2.0])]),
    ("few", "Write latency", &[("m1", &[8.0]), ("m2", &[4.0])]),
    ("few", "Client read", &[("e1", &[50.0]), ("e2", &[25.0])]),
    ("few", "Client write", &[("e1", &[20.0]), ("e2", &[10.0])]),
    ("few", "Client connections", &[("e1", &[12.0]), ("e2", &[6.0])]),
    (
        "few",
        "Storage by class",
        &[
            ("e1", &[100.0]),
            ("e2", &[50.0]),
            ("f1", &[40.0]),
            ("f2", &[20.0]),
            ("g1", &[10.0]),
            ("g2", &[5.0]),
        ],
    ),
    ("few", "Hosts that report", &[("e1", &[3.0])]),
    ("few", "What the hosts could not tell", &[("e1", &[2.0]), ("e2", &[1.0]), ("e3", &[4.0])]),
    // Three file systems here, of which two are alike: the one of the dashboard in depth has data, too.
    ("many", "Stalled mounts", &[("q1", &[2.0, 2.0, 1.0])]),
    ("many", "Burst credits left", &[("e1", &[563.671875, 1127.34375, 1127.34375])]),
    ("many", "PercentIOLimit", &[("q1", &[37.5, 37.5, 18.75])]),
    ("many", "EFS average throughput", &[("e1", &[102.4, 102.4, 51.2])]),
    ("many", "Permitted throughput", &[("e1", &[50.0, 100.0, 100.0])]),
    ("many", "Burst credits earned", &[("e1", &[-20.0, -40.0, -40.0])]),
    ("many", "Read latency", &[("q1", &[4.0, 4.0, 2.0])]),
    ("many", "Write latency", &[("q1", &[8.0, 8.0, 4.0])]),
    ("many", "Client connections", &[("e1", &[12.0, 12.0, 6.0])]),
    ("many", "Client read", &[("e1", &[50.0, 50.0, 25.0])]),
    ("many", "Client write", &[("e1", &[20.0, 20.0, 10.0])]),
    ("many", "Storage by class", &[("e1", &[100.0, 100.0, 50.0, 40.0, 40.0, 20.0, 10.0, 10.0, 5.0])]),
    ("many", "Hosts that report", &[("e1", &[3.0])]),
    ("many", "What the hosts could not tell", &[("e1", &[2.0]), ("e2", &[1.0]), ("e3", &[4.0])]),
    ("one", "Metered against", &[("e1", &[102.4]), ("e2", &[100.0]), ("e3", &[102.4])]),
    ("one", "Burst credits left", &[("e1", &[1127.34375])]),
    ("one", "Hours of burst credits", &[("e1", &[481.0 / 60.0]), ("e2", &[481.0 / 150.0])]),
    ("one", "Latency felt", &[("m1", &[4.0]), ("m2", &[8.0]), ("m3", &[2.0])]),
    ("one", "Stalled mounts", &[("m1", &[2.0])]),
    ("one", "PercentIOLimit", &[("m1", &[37.5])]),
    ("one", "Throughput by kind", &[("e1", &[50.0]), ("e2", &[20.0]), ("e3", &[0.390625])]),
    ("one", "Operations by kind", &[("e1", &[100.0]), ("e2", &[20.0]), ("e3", &[100.0])]),
    ("one", "Mean size", &[("e1", &[512.0]), ("e2", &[1024.0]), ("e3", &[4.0])]),
    ("one", "Metered by EFS", &[("e1", &[102.4]), ("e2", &[51.2]), ("e3", &[51.2])]),
    ("one", "Clients", &[("e1", &[4.0]), ("e2", &[12.0])]),
    ("one", "Hosts that read", &[("q1", &[30.0, 15.0])]),
    ("one", "Hosts that write", &[("q1", &[12.0, 6.0])]),
    ("one", "Requests sent again", &[("e1", &[6.0, 3.0])]),
    ("one", "Client throughput", &[("e1", &[50.0]), ("e2", &[20.0])]),
    ("one", "Client operations", &[("e1", &[100.0]), ("e2", &[20.0]), ("e3", &[50.0])]),
    ("one", "Storage by class", &[("e1", &[100.0]), ("e2", &[40.0]), ("e3", &[10.0])]),
];

fn body(which: &str) -> Value {
    let (file_systems, name) = match which {
        "few" => (2, OVERVIEW),
        "many" => (0, OVERVIEW),
        _ => (0, FILE_SYSTEM),
    };
    let mut bodies = render(&target(file_systems, Profile::Full), &templates(&[]).unwrap()).unwrap();
    bodies.remove(name).unwrap()
}

fn widget(which: &str, title: &str) -> Value {
    let body = body(which);
    let is_it = |widget: &&Value| {
        widget["properties"]["title"].as_str().is_some_and(|found| found.starts_with(title))
    };
    let found: Vec<&Value> = widgets(&body).iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{which} {title}");
    found[0].clone()
}

fn is_drawn(row: &Value) -> bool {
    row.as_array().unwrap().last().unwrap().get("visible") != Some(&json!(false))
}

fn id(row: &Value) -> &str {
    row.as_array().unwrap().last().unwrap()["id"].as_str().unwrap()
}

#[test]
fn every_row_that_is_drawn_shows_the_hand_computed_value_at_every_period() {
    let samples = samples();
    for (which, title, shown) in SHOWN {
        let widget = widget(which, title);
        for (id, expected) in *shown {
            for period in [60, 300, 3600] {
                let found = values(&widget, id, &samples, period);
                let near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-9 * expected.abs();
                let same = found.len() == expected.len() && found.iter().zip(*expected).all(near);
                assert!(same, "{which}, {title}, {id}, period {period}: {found:?}, not {expected:?}");
            }
        }
    }
}

#[test]
fn no_expression_goes_without_a_hand_computed_value() {
    for which in ["few", "many", "one"] {
        for widget in widgets(&body(which)).iter().filter(|widget| widget["type"] == "metric") {
            let title = widget["properties"]["title"].as_str().unwrap();
            let shown = SHOWN.iter().find(|(of, begin, _)| *of == which && title.starts_with(begin));
            let (_, _, shown) = shown.unwrap_or_else(|| panic!("{which}, {title}: no value"));
            let expected: BTreeSet<&str> = shown.iter().map(|(id, _)| *id).collect();
            let drawn: BTreeSet<&str> = rows(widget).iter().filter(|row| is_drawn(row)).map(id).collect();
            assert_eq!(drawn, expected, "{which}, {title}");
            // What is not drawn is used by what is.
            for row in rows(widget).iter().filter(|row| !is_drawn(row)) {
                let uses = |other: &Value| {
                    let text = other[0]["expression"].as_str().unwrap_or_default();
                    metricmath::parse(text).is_ok_and(|expression| expression.ids().contains(id(row)))
                };
                assert!(rows(widget).iter().any(uses), "{which}, {title}: {row}");
            }
        }
    }
}

fn minutes(metric: &Metric, values: impl IntoIterator<Item = (i64, f64)>, samples: &mut Samples) {
    for (minute, value) in values {
        samples.put(metric.clone(), START + minute * 60, level(value));
    }
}

/// All points of a row, by minute.
fn points(widget: &Value, id: &str, samples: &Samples) -> Vec<(i64, f64)> {
    let window = Window { from: START, to: START + 10 * 60, period: 60 };
    let given = metricmath::evaluate(&queries(widget), samples, window, Purpose::Graph).unwrap();
    let points = given[id].iter().flat_map(|series| &series.points);
    points.map(|(at, value)| ((at - START) / 60, *value)).collect()
}

#[test]
fn what_the_hosts_do_not_explain_is_drawn_above_a_fifth() {
    let widget = widget("one", "Metered by EFS");
    let of = [("FileSystemId", ANY)];
    let (metered, estimate) =
        (metric("AWS/EFS", "MeteredIOBytes", &of), metric("EFSMon", "MeteredEstimate", &of));
    let mut samples = Samples::default();
    // 62,914,560 bytes a minute are 1 MiB/s.
    minutes(&metered, (0..6).map(|minute| (minute, 62_914_560.0)), &mut samples);
    // All, 81 %, 79 %, half, more than all; nobody reports in the last minute.
    let parts = [1.0, 0.81, 0.79, 0.5, 1.3];
    minutes(&estimate, (0..).zip(parts.map(|part| part * 62_914_560.0)), &mut samples);
    // Hosts that report while EFS does not, or not yet.
    minutes(&estimate, [(6, 62_914_560.0)], &mut samples);
    let shown = points(&widget, "e3", &samples);
    let expected = [(2, 0.21), (3, 0.5), (5, 1.0)];
    assert_eq!(shown.len(), expected.len(), "{shown:?}");
    for ((minute, value), (at, expected)) in shown.into_iter().zip(expected) {
        assert!(minute == at && (value - expected).abs() < 1e-9, "{minute} {value}");
    }
}

#[test]
fn hours_are_drawn_while_credits_are_spent_and_none_are_left_at_zero() {
    for (which, title, file_system) in [("few", "Hours until", ONE), ("one", "Hours of burst", ANY)] {
        let widget = widget(which, title);
        let balance = metric("AWS/EFS", "BurstCreditBalance", &[("FileSystemId", file_system)]);
        let mut samples = Samples::default();
        // Full, full, spent at 60 GB a minute, earned, a gap, spent at half of that, gone, gone.
        let gb = [2160.0, 2160.0, 2100.0, 2105.0, f64::NAN, 2045.0, 0.0, 0.0];
        minutes(
            &balance,
            (0..).zip(gb).filter(|(_, gb)| !gb.is_nan()).map(|(m, gb)| (m, gb * 1e9)),
            &mut samples,
        );
        // 2100 / 60 = 35 minutes; 2045 / 30 = 68 1/6 minutes.
        let expected = [(2, 35.0 / 60.0), (5, 2045.0 / 30.0 / 60.0), (6, 0.0), (7, 0.0)];
        let shown = points(&widget, "e1", &samples);
        assert_eq!(shown.len(), expected.len(), "{shown:?}");
        for ((minute, value), (at, expected)) in shown.into_iter().zip(expected) {
            assert!(minute == at && (value - expected).abs() < 1e-9, "{minute} {value}");
        }
    }
}

/// EFS publishes no BurstCreditBalance of it, and in arithmetic a point that is missing counts 0.
#[test]
fn an_elastic_file_system_has_no_hours_of_credits_rather_than_none_left() {
    let widget = widget("one", "Hours of burst");
    let of = [("FileSystemId", ANY)];
    let mut samples = Samples::default();
    let permitted = metric("AWS/EFS", "PermittedThroughput", &of);
    minutes(&permitted, (0..9).map(|minute| (minute, 1e9)), &mut samples);
    assert_eq!((points(&widget, "e1", &samples), points(&widget, "e2", &samples)), (vec![], vec![]));
    // Bursting again, first without credits; of the last minute only they are known.
    let credits = [(7, 0.0), (8, 7.2e12), (9, 7.2e12)];
    minutes(&metric("AWS/EFS", "BurstCreditBalance", &of), credits, &mut samples);
    assert_eq!(points(&widget, "e2", &samples), [(7, 0.0), (8, 2.0)]);
}

#[test]
fn without_a_permitted_throughput_nothing_is_used_of_it() {
    let widget = widget("few", "Throughput used");
    let mut samples = Samples::default();
    minutes(
        &metric("AWS/EFS", "MeteredIOBytes", &[("FileSystemId", ONE)]),
        [(0, 6e9), (1, 6e9)],
        &mut samples,
    );
    minutes(&metric("AWS/EFS", "PermittedThroughput", &[("FileSystemId", ONE)]), [(1, 1e8)], &mut samples);
    assert_eq!(points(&widget, "e1", &samples), [(1, 100.0)]);
}
