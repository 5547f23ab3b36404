//! The strict fake against the documented limits of PutMetricData: the last value that is taken, the first that is not.

use std::time::Duration;

use ciborium::Value;
use ciborium::cbor;

use crate::fake::limits::{self, Recorded};

const NOW: Duration = Duration::from_secs(1_796_040_000); // 2026-11-30T12:00:00Z

fn check(request: &Value) -> Result<Vec<Recorded>, &'static str> {
    let mut body = Vec::new();
    ciborium::into_writer(request, &mut body).unwrap();
    limits::check(&body, NOW).map_err(|refusal| refusal.code)
}

fn request(namespace: &str, data: Vec<Value>) -> Value {
    Value::Map(vec![("Namespace".into(), namespace.into()), ("MetricData".into(), Value::Array(data))])
}

/// A good datum with these members put in place of its own; `Value::Null` takes one away.
fn datum(members: &[(&str, Value)]) -> Value {
    let mut all: Vec<(Value, Value)> = vec![("MetricName".into(), "ReadBytes".into())];
    all.push(("Values".into(), Value::Array(vec![1.5.into()])));
    for (name, value) in members {
        all.retain(|(key, _)| key.as_text() != Some(name));
        if !value.is_null() {
            all.push(((*name).into(), value.clone()));
        }
    }
    Value::Map(all)
}

fn outcome(members: &[(&str, Value)]) -> Result<(), &'static str> {
    check(&request("EFSMon", vec![datum(members)])).map(drop)
}

const TAKEN: Result<(), &str> = Ok(());
const INVALID: Result<(), &str> = Err("InvalidParameterValue");
const COMBINATION: Result<(), &str> = Err("InvalidParameterCombination");
const MISSING: Result<(), &str> = Err("MissingParameter");

fn floats(n: usize) -> Value {
    Value::Array((0..n).map(|i| Value::from(i as f64)).collect())
}

fn dimensions(pairs: &[(&str, &str)]) -> Value {
    Value::Array(
        pairs
            .iter()
            .map(|(name, value)| {
                Value::Map(vec![("Name".into(), (*name).into()), ("Value".into(), (*value).into())])
            })
            .collect(),
    )
}

fn n_dimensions(n: usize) -> Value {
    let names: Vec<String> = (0..n).map(|i| format!("Name{i}")).collect();
    dimensions(&names.iter().map(|name| (name.as_str(), "x")).collect::<Vec<_>>())
}

#[test]
fn a_datum_arrives_whole() {
    let data = check(&request(
        "EFSMon",
        vec![datum(&[
            ("Dimensions", dimensions(&[("FileSystemId", "fs-0123456789abcdef0"), ("InstanceId", "i-1")])),
            ("Timestamp", Value::Tag(1, Box::new(1_796_039_940.0.into()))),
            ("Unit", "Bytes".into()),
            ("Values", Value::Array(vec![4096.0.into(), 0.0.into()])),
            ("Counts", Value::Array(vec![1.0.into(), 59.0.into()])),
        ])],
    ));
    let expected = Recorded {
        namespace: "EFSMon".to_owned(),
        metric: "ReadBytes".to_owned(),
        dimensions: vec![
            ("FileSystemId".to_owned(), "fs-0123456789abcdef0".to_owned()),
            ("InstanceId".to_owned(), "i-1".to_owned()),
        ],
        timestamp: Some(1_796_039_940),
        unit: "Bytes".to_owned(),
        values: vec![4096.0, 0.0],
        counts: vec![1.0, 59.0],
    };
    assert_eq!(data, Ok(vec![expected]));
}

#[test]
fn a_request_has_1_to_1000_metrics() {
    let of = |n| check(&request("EFSMon", vec![datum(&[]); n])).map(|data| data.len());
    assert_eq!(of(0), Err("MissingParameter"));
    assert_eq!(of(1), Ok(1));
    assert_eq!(of(1000), Ok(1000));
    assert_eq!(of(1001), Err("InvalidParameterValue"));
}

#[test]
fn a_request_has_at_most_a_megabyte() {
    // 976 data of about 1000 bytes, and one that fills up.
    let of = |last: usize| {
        let long = |n: usize| datum(&[("Dimensions", dimensions(&[("Name", &"x".repeat(n))]))]);
        let mut data = vec![long(959); 976];
        data.push(long(last));
        let mut body = Vec::new();
        ciborium::into_writer(&request("EFSMon", data), &mut body).unwrap();
        (body.len(), limits::check(&body, NOW).map(drop).map_err(|refusal| refusal.code))
    };
    let (full, _) = of(500);
    let last = 500 + 1_000_000 - full;
    assert_eq!(of(last), (1_000_000, Ok(())));
    assert_eq!(of(last + 1), (1_000_001, Err("RequestEntityTooLarge")));
}

#[test]
fn a_namespace_has_1_to_255_of_its_characters_and_is_not_aws_own() {
    let of = |namespace: &str| check(&request(namespace, vec![datum(&[])])).map(drop);
    assert_eq!(of("EFSMon"), TAKEN);
    assert_eq!(of(&"x".repeat(255)), TAKEN);
    assert_eq!(of(&"x".repeat(256)), INVALID);
    assert_eq!(of(""), INVALID);
    assert_eq!(of("a.b-c_d/e#f:g h"), TAKEN);
    assert_eq!(of(":a"), INVALID);
    assert_eq!(of("a*"), INVALID);
    assert_eq!(of("é"), INVALID);
    assert_eq!(of("AWS/EFS"), INVALID);
    assert_eq!(of("AWSome"), TAKEN);
    let without = Value::Map(vec![("MetricData".into(), Value::Array(vec![datum(&[])]))]);
    assert_eq!(check(&without).map(drop), MISSING);
}

#[test]
fn names_values_and_units_are_held_to_their_limits() {
    let name = |name: &str| outcome(&[("MetricName", name.into())]);
    assert_eq!(name(&"x".repeat(255)), TAKEN);
    assert_eq!(name(&"x".repeat(256)), INVALID);
    assert_eq!(name(""), INVALID);
    assert_eq!(outcome(&[("MetricName", Value::Null)]), MISSING);

    assert_eq!(outcome(&[("Unit", "Bytes/Second".into())]), TAKEN);
    assert_eq!(outcome(&[("Unit", "MiB/s".into())]), INVALID);
    assert_eq!(outcome(&[("StorageResolution", 1.into())]), TAKEN);
    assert_eq!(outcome(&[("StorageResolution", 60.into())]), TAKEN);
    assert_eq!(outcome(&[("StorageResolution", 10.into())]), INVALID);
}

#[test]
fn dimensions_are_held_to_their_limits() {
    assert_eq!(outcome(&[("Dimensions", n_dimensions(30))]), TAKEN);
    assert_eq!(outcome(&[("Dimensions", n_dimensions(31))]), INVALID);
    let of = |name: &str, value: &str| outcome(&[("Dimensions", dimensions(&[(name, value)]))]);
    assert_eq!(of(&"x".repeat(255), "x"), TAKEN);
    assert_eq!(of(&"x".repeat(256), "x"), INVALID);
    assert_eq!(of("", "x"), INVALID);
    assert_eq!(of("a:b", "x"), TAKEN);
    assert_eq!(of(":ab", "x"), INVALID);
    assert_eq!(of("Name", &"x".repeat(1024)), TAKEN);
    assert_eq!(of("Name", &"x".repeat(1025)), INVALID);
    assert_eq!(of("Name", ""), INVALID);
    assert_eq!(of("Name", "  "), INVALID);
    assert_eq!(of("Name", " x"), TAKEN);
    assert_eq!(of("Name", "caf\u{e9}"), INVALID);
    assert_eq!(of("Name", "a\tb"), INVALID);
    assert_eq!(outcome(&[("Dimensions", dimensions(&[("A", "x"), ("B", "x")]))]), TAKEN);
    assert_eq!(outcome(&[("Dimensions", dimensions(&[("A", "x"), ("A", "y")]))]), INVALID);
    let nameless = cbor!([{ "Value" => "x" }]).unwrap();
    assert_eq!(outcome(&[("Dimensions", nameless)]), MISSING);
    let valueless = cbor!([{ "Name" => "x" }]).unwrap();
    assert_eq!(outcome(&[("Dimensions", valueless)]), MISSING);
}

#[test]
fn values_and_counts_are_held_to_their_limits() {
    assert_eq!(outcome(&[("Values", floats(150))]), TAKEN);
    assert_eq!(outcome(&[("Values", floats(151))]), INVALID);
    assert_eq!(outcome(&[("Values", floats(0))]), INVALID);
    assert_eq!(outcome(&[("Values", floats(3)), ("Counts", floats(3))]), TAKEN);
    assert_eq!(outcome(&[("Values", floats(3)), ("Counts", floats(2))]), INVALID);
    assert_eq!(outcome(&[("Values", floats(3)), ("Counts", floats(4))]), INVALID);
    assert_eq!(outcome(&[("Counts", Value::Array(vec![(-1.0).into()]))]), INVALID);

    let of = |value: f64| outcome(&[("Values", Value::Array(vec![value.into()]))]);
    let largest = 2f64.powi(360);
    let smallest = 2f64.powi(-360);
    assert_eq!(of(largest), TAKEN);
    assert_eq!(of(largest.next_up()), INVALID);
    assert_eq!(of(-largest), TAKEN);
    assert_eq!(of((-largest).next_down()), INVALID);
    assert_eq!(of(smallest), TAKEN);
    assert_eq!(of(smallest.next_down()), INVALID);
    assert_eq!(of(-smallest), TAKEN);
    assert_eq!(of(5e-324), INVALID);
    assert_eq!(of(0.0), TAKEN);
    assert_eq!(of(-0.0), TAKEN);
    assert_eq!(of(f64::NAN), INVALID);
    assert_eq!(of(f64::INFINITY), INVALID);
    assert_eq!(of(f64::NEG_INFINITY), INVALID);
}

#[test]
fn a_datum_has_one_kind_of_value() {
    let statistics = cbor!({"SampleCount" => 2.0, "Sum" => 3.0, "Minimum" => 1.0, "Maximum" => 2.0}).unwrap();
    let three = cbor!({"SampleCount" => 2.0, "Sum" => 3.0, "Minimum" => 1.0}).unwrap();
    let none = ("Values", Value::Null);
    assert_eq!(outcome(&[none.clone(), ("Value", 1.0.into())]), TAKEN);
    assert_eq!(outcome(&[none.clone(), ("StatisticValues", statistics.clone())]), TAKEN);
    assert_eq!(outcome(&[none.clone(), ("StatisticValues", three)]), MISSING);
    assert_eq!(outcome(&[("Values", Value::Null)]), MISSING);
    assert_eq!(outcome(&[none, ("Value", 1.0.into()), ("StatisticValues", statistics.clone())]), COMBINATION);
    assert_eq!(outcome(&[("Value", 1.0.into())]), COMBINATION);
    assert_eq!(outcome(&[("StatisticValues", statistics)]), COMBINATION);
}

#[test]
fn timestamps_lie_within_two_weeks_past_and_two_hours_ahead() {
    let of = |seconds: i64| {
        let at = NOW.as_secs() as i64 + seconds;
        outcome(&[("Timestamp", Value::Tag(1, Box::new(at.into())))])
    };
    assert_eq!(of(-14 * 86_400), TAKEN);
    assert_eq!(of(-14 * 86_400 - 1), INVALID);
    assert_eq!(of(7200), TAKEN);
    assert_eq!(of(7201), INVALID);
    assert_eq!(outcome(&[("Timestamp", 1_796_040_000.into())]), Err("SerializationException"));
}
