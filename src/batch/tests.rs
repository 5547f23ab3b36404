use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::model::{Minute, Unit};

const MINUTE: &str = "1790000040";

fn dimension(name: &str, value: Option<&str>) -> Dimension {
    Dimension { name: name.to_owned().into(), value: value.map(str::to_owned) }
}

fn datum(metric: &str, values: &[f64]) -> Datum {
    Datum {
        metric: metric.to_owned().into(),
        dimensions: vec![dimension("FileSystemId", Some("fs-01234567"))],
        timestamp: serde_json::from_str::<Minute>(MINUTE).unwrap(),
        unit: Unit::Bytes,
        values: values.to_vec(),
        counts: vec![1.0; values.len()],
    }
}

fn metrics(batch: &Batch) -> Vec<&str> {
    batch.data.iter().map(|datum| &*datum.metric).collect()
}

/// How many data each request holds.
fn sizes(split: &Split) -> Vec<usize> {
    split.batches.iter().map(|batch| batch.data.len()).collect()
}

#[test]
fn nothing_makes_no_request() {
    assert!(split("EFSMon", vec![]).batches.is_empty());
    assert!(split("EFSMon", vec![datum("A", &[])]).batches.is_empty());
}

#[test]
fn a_datum_that_fits_is_sent_as_it_is() {
    let data = vec![datum("A", &[0.0, 1.5, -7.0, f64::from(u32::MAX)]), datum("B", &[2f64.powi(53)])];
    let split = split("EFSMon", data.clone());
    assert_eq!(split.batches, [Batch { namespace: "EFSMon".to_owned(), data }]);
    assert_eq!(split.unfit_values, 0);
}

#[test]
fn a_request_has_at_most_1000_data() {
    let data = |count: usize| (0..count).map(|n| datum(&format!("M{n}"), &[1.0])).collect::<Vec<_>>();
    assert_eq!(sizes(&split("EFSMon", data(999))), [999]);
    assert_eq!(sizes(&split("EFSMon", data(1000))), [1000]);
    assert_eq!(sizes(&split("EFSMon", data(1001))), [1000, 1]);
    let split = split("EFSMon", data(2500));
    assert_eq!(sizes(&split), [1000, 1000, 500]);
    let order: Vec<_> = split.batches.iter().flat_map(metrics).collect();
    assert_eq!(order, (0..2500).map(|n| format!("M{n}")).collect::<Vec<_>>());
}

#[test]
fn a_request_is_at_most_900_kb_long() {
    // By size's own measure: 128 + 125 + (12 + 11 + 24) + 9 x 300 bytes each, 300 times.
    let full = datum(&"M".repeat(125), &[1.0; 150]);
    assert_eq!(size(&full), 3_000);
    assert_eq!(sizes(&split("EFSMon", vec![full.clone(); 300])), [300]);
    assert_eq!(sizes(&split("EFSMon", vec![full.clone(); 301])), [300, 1]);
    let one_more = datum(&"M".repeat(126), &[1.0; 150]);
    assert_eq!(sizes(&split("EFSMon", [vec![full; 299], vec![one_more]].concat())), [299, 1]);
    // The largest data that there can be.
    let large: Vec<Datum> = (0..100).map(|_| largest(150)).collect();
    let split = split("EFSMon", large);
    assert_eq!(sizes(&split).iter().sum::<usize>(), 100);
    for batch in &split.batches {
        assert!(request(batch).len() <= 1_000_000);
    }
}

#[test]
fn a_datum_has_at_most_150_values() {
    let values = |count: u32| (0..count).map(f64::from).collect::<Vec<_>>();
    let parts = |count: u32| {
        let batches = split("EFSMon", vec![datum("A", &values(count))]).batches;
        batches[0].data.iter().map(|datum| datum.values.len()).collect::<Vec<_>>()
    };
    assert_eq!(parts(149), [149]);
    assert_eq!(parts(150), [150]);
    assert_eq!(parts(151), [150, 1]);
    assert_eq!(parts(400), [150, 150, 100]);
    let mut whole = datum("A", &values(151));
    whole.counts = (1..=151).map(f64::from).collect();
    let data = &split("EFSMon", vec![whole.clone()]).batches[0].data;
    assert_eq!(data[1].values, [150.0]);
    assert_eq!(data[1].counts, [151.0]);
    assert_eq!(
        (&data[1].dimensions, data[1].timestamp, data[1].unit),
        (&whole.dimensions, whole.timestamp, whole.unit)
    );
}

#[test]
fn a_datum_has_at_most_30_dimensions() {
    let with = |count: usize| {
        let dimensions = (0..count).map(|n| dimension(&format!("D{n}"), Some("x"))).collect();
        Datum { dimensions, ..datum("A", &[1.0, 2.0]) }
    };
    let thirty = split("EFSMon", vec![with(30)]);
    assert_eq!((&thirty.batches[0].data[0], thirty.unfit_values), (&with(30), 0));
    // Cut, it would be another series.
    let more = split("EFSMon", vec![with(31), datum("B", &[1.0])]);
    assert_eq!((metrics(&more.batches[0]), more.unfit_values), (vec!["B"], 2));
}

/// What of these values is sent, and how many are left out.
fn check_values(values: &[f64], expected: &[f64], unfit: u64) {
    let split = split("EFSMon", vec![datum("A", values)]);
    let sent: Vec<f64> =
        split.batches.iter().flat_map(|batch| &batch.data).flat_map(|d| d.values.clone()).collect();
    // By their bits: -0.0 is not 0.0.
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&sent), bits(expected), "{values:?}");
    assert_eq!(split.unfit_values, unfit, "{values:?}");
}

#[test]
fn a_value_that_cloudwatch_refuses_costs_no_other() {
    check_values(&[1.0, f64::NAN, 2.0, f64::INFINITY, f64::NEG_INFINITY, 3.0], &[1.0, 2.0, 3.0], 3);
    check_values(&[f64::NAN], &[], 1);
    // 2 to the power of 360, and the next larger number.
    let largest = 2f64.powi(360);
    check_values(&[largest, -largest], &[largest, -largest], 0);
    check_values(&[largest.next_up(), -largest.next_up(), f64::MAX, f64::MIN], &[], 4);
    // 2 to the power of -360, and what is nearer to zero.
    let smallest = 2f64.powi(-360);
    check_values(&[smallest, -smallest], &[smallest, -smallest], 0);
    check_values(&[smallest.next_down(), -smallest.next_down(), 1e-320, f64::MIN_POSITIVE], &[0.0; 4], 0);
    check_values(&[0.0, -0.0], &[0.0, 0.0], 0);
}

#[test]
fn a_value_that_counts_for_nothing_is_left_out() {
    let mut counted = datum("A", &[1.0, 2.0, 3.0, 4.0, 5.0]);
    counted.counts = vec![2.0, 0.0, -1.0, f64::NAN, f64::INFINITY];
    let split = split("EFSMon", vec![counted]);
    assert_eq!(split.batches[0].data[0].values, [1.0]);
    assert_eq!(split.batches[0].data[0].counts, [2.0]);
    assert_eq!(split.unfit_values, 4);
}

/// What a dimension value becomes; `None` when the datum is left out. The others go on in any case.
fn check_dimension(value: &str, expected: Option<&str>) {
    let dimensions =
        vec![dimension("Before", Some("a")), dimension("D", Some(value)), dimension("After", Some("z"))];
    let data = vec![Datum { dimensions, ..datum("A", &[1.0, 2.0]) }, datum("B", &[1.0])];
    let split = split("EFSMon", data);
    let sent = &split.batches[0].data;
    assert_eq!(sent.last().unwrap().metric, "B");
    let found = sent.iter().find(|datum| datum.metric == "A");
    let values =
        |datum: &Datum| datum.dimensions.iter().map(|d| d.value.clone().unwrap()).collect::<Vec<_>>();
    let expected_values = expected.map(|value| vec!["a".to_owned(), value.to_owned(), "z".to_owned()]);
    assert_eq!(found.map(values), expected_values, "{value:?}");
    assert_eq!(split.unfit_values, if expected.is_some() { 0 } else { 2 });
}

#[test]
fn a_datum_whose_dimension_has_no_value_is_left_out_and_counted() {
    check_dimension("", None);
    check_dimension(" ", None);
    check_dimension("    ", None);
    check_dimension(" a ", Some(" a "));
}

#[test]
fn a_dimension_value_is_printable_ascii() {
    check_dimension("/mnt/a b\\c", Some("/mnt/a b\\c"));
    check_dimension("~!\"#", Some("~!\"#"));
    check_dimension("Zürich", Some("Z\\xc3\\xbcrich"));
    check_dimension("a\tb\nc\u{7f}\u{0}", Some("a\\x09b\\x0ac\\x7f\\x00"));
    check_dimension("\u{a0}", Some("\\xc2\\xa0"));
}

#[test]
fn a_dimension_value_has_at_most_1024_characters() {
    let long = |count: usize| "x".repeat(count);
    check_dimension(&long(1023), Some(&long(1023)));
    check_dimension(&long(1024), Some(&long(1024)));
    // The CRC-32 of 1,025 times `x`, by zlib.
    check_dimension(&long(1025), Some(&format!("{}~582ff191", long(1015))));
    // Two that differ at their end only stay two.
    let (one, two) = (
        fit_text(&format!("{}1", long(2000))).into_owned(),
        fit_text(&format!("{}2", long(2000))).into_owned(),
    );
    assert_eq!((one.len(), two.len()), (1024, 1024));
    assert_ne!(one, two);
    // 300 characters of two bytes are 2,400 when each byte is escaped; 128 are 1,024.
    assert_eq!(fit_text(&"ü".repeat(128)), "\\xc3\\xbc".repeat(128));
    assert_eq!(fit_text(&"ü".repeat(300)).len(), 1024);
}

#[test]
fn data_that_wait_for_the_host_are_apart() {
    let mut waiting = datum("W", &[1.0]);
    waiting.dimensions.push(dimension("InstanceId", None));
    let ready = datum("R", &[1.0]);
    let data: Vec<Datum> =
        (0..2000).map(|n| if n % 2 == 0 { ready.clone() } else { waiting.clone() }).collect();
    let split = split("EFSMon", data);
    assert_eq!(split.batches.iter().map(|batch| batch.data.len()).sum::<usize>(), 2000);
    for batch in &split.batches {
        let waits = batch.data[0].needs_host();
        assert!(batch.data.iter().all(|datum| datum.needs_host() == waits));
    }
    assert_eq!(split.batches.iter().filter(|batch| !batch.data[0].needs_host()).count(), 1);
}

#[test]
fn a_host_id_of_any_length_still_fits_when_it_comes() {
    let mut waiting = datum("W", &[1.0]);
    waiting.dimensions.push(dimension("InstanceId", None));
    let mut split = split("EFSMon", vec![waiting; 1000]);
    for batch in &mut split.batches {
        let dimensions = batch.data.iter_mut().flat_map(|datum| &mut datum.dimensions);
        for dimension in dimensions.filter(|dimension| dimension.value.is_none()) {
            dimension.value = Some("h".repeat(1024));
        }
        assert!(request(batch).len() <= 1_000_000);
    }
}

/// A head of CBOR (RFC 8949, section 3): major type and argument.
fn head(out: &mut Vec<u8>, major: u8, argument: usize) {
    let major = major << 5;
    match argument {
        0..24 => out.push(major | argument as u8),
        24..256 => out.extend([major | 24, argument as u8]),
        256..65536 => out.extend([&[major | 25], &(argument as u16).to_be_bytes()[..]].concat()),
        _ => out.extend([&[major | 26], &(argument as u32).to_be_bytes()[..]].concat()),
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    head(out, 3, text.len());
    out.extend(text.as_bytes());
}

fn numbers(out: &mut Vec<u8>, name: &str, numbers: &[f64]) {
    text(out, name);
    head(out, 4, numbers.len());
    numbers.iter().for_each(|number| double(out, *number));
}

fn double(out: &mut Vec<u8>, number: f64) {
    out.push(0xfb);
    out.extend(number.to_be_bytes());
}

/// A datum as AWS's SDK writes it (Smithy RPC v2 CBOR): maps without a length, arrays with one.
fn encoded(datum: &Datum) -> Vec<u8> {
    let mut out = vec![0xbf];
    text(&mut out, "MetricName");
    text(&mut out, &datum.metric);
    text(&mut out, "Dimensions");
    head(&mut out, 4, datum.dimensions.len());
    for dimension in &datum.dimensions {
        out.push(0xbf);
        text(&mut out, "Name");
        text(&mut out, &dimension.name);
        text(&mut out, "Value");
        text(&mut out, dimension.value.as_deref().unwrap());
        out.push(0xff);
    }
    text(&mut out, "Timestamp");
    head(&mut out, 6, 1);
    double(&mut out, datum.timestamp.seconds() as f64);
    numbers(&mut out, "Values", &datum.values);
    numbers(&mut out, "Counts", &datum.counts);
    text(&mut out, "Unit");
    text(&mut out, datum.unit.name());
    text(&mut out, "StorageResolution");
    head(&mut out, 0, 60);
    out.push(0xff);
    out
}

/// The body of a request, before compression.
fn request(batch: &Batch) -> Vec<u8> {
    let mut out = vec![0xbf];
    text(&mut out, "Namespace");
    text(&mut out, &batch.namespace);
    text(&mut out, "MetricData");
    head(&mut out, 4, batch.data.len());
    batch.data.iter().for_each(|datum| out.extend(encoded(datum)));
    out.push(0xff);
    out
}

/// A datum with every name and value as long as CloudWatch takes it.
fn largest(values: usize) -> Datum {
    let dimension = |n: usize| dimension(&format!("{n:0255}"), Some(&"v".repeat(1024)));
    Datum {
        metric: "m".repeat(255).into(),
        dimensions: (0..30).map(dimension).collect(),
        unit: Unit::Milliseconds,
        ..datum("", &vec![1.0; values])
    }
}

#[test]
fn the_size_of_a_datum_is_never_less_than_what_is_sent() {
    for datum in [datum("A", &[]), datum("ReadThroughput", &[1.0; 6]), largest(0), largest(1), largest(150)] {
        ciborium::from_reader::<ciborium::Value, _>(&encoded(&datum)[..]).unwrap();
        assert!(encoded(&datum).len() <= size(&datum), "{} > {}", encoded(&datum).len(), size(&datum));
    }
}

fn any_datum() -> impl Strategy<Value = Datum> {
    let value = prop_oneof![
        10 => -1e15..1e15f64,
        1 => Just(0.0),
        1 => any::<f64>().prop_filter("within CloudWatch's range", |v| v.abs() <= 1e108 && v.abs() >= 1e-100),
    ];
    let values = prop::collection::vec((value, 1..1000u32), 1..320);
    let dimensions = prop::collection::vec((0..40u8, prop::option::of("[a-zü/-][a-zü/ -]{0,39}")), 0..6);
    (0..5u8, dimensions, values).prop_map(|(metric, dimensions, values)| Datum {
        metric: format!("Metric{metric}").into(),
        dimensions: dimensions.iter().map(|(n, v)| dimension(&format!("D{n}"), v.as_deref())).collect(),
        values: values.iter().map(|(value, _)| *value).collect(),
        counts: values.iter().map(|(_, count)| f64::from(*count)).collect(),
        ..datum("", &[])
    })
}

/// How often each value of each series counts.
fn counted<'a>(data: impl Iterator<Item = &'a Datum>) -> BTreeMap<(String, Vec<Dimension>, u64), f64> {
    let mut counted = BTreeMap::new();
    for datum in data {
        let mut dimensions = datum.dimensions.clone();
        assert!(dimensions.iter_mut().all(fit_dimension));
        for (value, count) in datum.values.iter().zip(&datum.counts) {
            let key = (datum.metric.to_string(), dimensions.clone(), value.to_bits());
            *counted.entry(key).or_default() += count;
        }
    }
    counted
}

fn is_fit(value: &str) -> bool {
    (1..=1024).contains(&value.len()) && value.bytes().all(|byte| (32..127).contains(&byte))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_is_split_nothing_is_lost_and_no_limit_is_passed(data in prop::collection::vec(any_datum(), 0..10)) {
        let before = counted(data.iter());
        let split = split("EFSMon", data);
        prop_assert_eq!(split.unfit_values, 0);
        prop_assert_eq!(counted(split.batches.iter().flat_map(|batch| &batch.data)), before);
        for batch in &split.batches {
            prop_assert!(!batch.data.is_empty() && batch.data.len() <= 1000);
            prop_assert!(batch.data.iter().map(size).sum::<usize>() <= 900_000);
            for datum in &batch.data {
                prop_assert!((1..=150).contains(&datum.values.len()));
                prop_assert_eq!(datum.values.len(), datum.counts.len());
                prop_assert!(datum.dimensions.iter().flat_map(|d| &d.value).all(|value| is_fit(value)));
            }
        }
    }

    #[test]
    fn a_fitted_text_is_fit(value in "\\PC{0,1100}") {
        let fit = fit_text(&value).into_owned();
        prop_assert!(fit.is_empty() || is_fit(&fit));
        prop_assert_eq!(fit_text(&fit), fit.clone(), "once fit, it stays");
    }
}
