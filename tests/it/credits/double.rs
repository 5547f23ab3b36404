//! The double of GetMetricData against its documentation: what it refuses, and how it reckons.

use ciborium::{Value, cbor};

use crate::fake::cloudwatch::metric_data::{MetricData, Minute};
use crate::fake::cloudwatch::{Refused, member, text};

const FS: &str = "fs-0123456789abcdef0";

/// 2026-11-30T12:00:00Z.
const HOUR: i64 = 1_796_040_000;

/// At two o'clock.
fn double() -> MetricData {
    let mut data = MetricData::default();
    data.set_now(HOUR + 7_200);
    data
}

fn query(id: &str, metric: &str, period: i64, stat: &str) -> Value {
    cbor!({
        "Id" => id,
        "MetricStat" => {
            "Metric" => {
                "Namespace" => "AWS/EFS", "MetricName" => metric,
                "Dimensions" => [{ "Name" => "FileSystemId", "Value" => FS }],
            },
            "Period" => period,
            "Stat" => stat,
        },
    })
    .unwrap()
}

fn request(queries: Vec<Value>, from: i64, to: i64) -> Vec<(Value, Value)> {
    let time = |at: i64| Value::Tag(1, Box::new(at.into()));
    vec![
        ("MetricDataQueries".into(), Value::Array(queries)),
        ("StartTime".into(), time(from)),
        ("EndTime".into(), time(to)),
    ]
}

fn ask(data: &mut MetricData, request: Vec<(Value, Value)>) -> Result<Value, Refused> {
    data.answer("GetMetricData", &Value::Map(request)).unwrap()
}

#[track_caller]
fn refused(request: Vec<(Value, Value)>, code: &str) {
    match ask(&mut double(), request) {
        Err(refused) => assert_eq!((refused.status, refused.code), (400, code)),
        Ok(answer) => panic!("{answer:?}"),
    }
}

/// Status, and points as seconds after the hour and value.
fn result(answer: &Value, index: usize) -> (String, Vec<(i64, f64)>) {
    let result = &member(answer, "MetricDataResults").unwrap().as_array().unwrap()[index];
    let list = |name| member(result, name).unwrap().as_array().unwrap().iter();
    let times = list("Timestamps").map(|time| match time {
        Value::Tag(1, at) => i64::try_from(at.as_integer().unwrap()).unwrap() - HOUR,
        other => panic!("{other:?}"),
    });
    let values = list("Values").map(|value| value.as_float().unwrap());
    (text(result, "StatusCode").unwrap().to_owned(), times.zip(values).collect())
}

/// An hour of minutes with data of 1, 2, 3, .. as their sum.
fn counted() -> MetricData {
    let mut data = double();
    for minute in 0..60 {
        let sum = minute as f64 + 1.0;
        let minute_data = Minute { sum, count: 2.0, minimum: 0.0, maximum: sum };
        data.put(FS, "MeteredIOBytes", HOUR + 60 * minute, minute_data);
    }
    data
}

#[test]
fn what_getmetricdata_refuses_is_refused() {
    let good = || query("m1", "MeteredIOBytes", 60, "Sum");
    let of = |queries| request(queries, HOUR, HOUR + 3_600);
    refused(of(vec![]), "MissingParameter");
    refused(request(vec![good()], HOUR, HOUR), "ValidationError");
    refused(of(vec![good(), good()]), "ValidationError");
    refused(of(vec![query("M1", "MeteredIOBytes", 60, "Sum")]), "ValidationError");
    refused(of(vec![query("m-1", "MeteredIOBytes", 60, "Sum")]), "ValidationError");
    refused(of(vec![query("m1", "MeteredIOBytes", 90, "Sum")]), "ValidationError");
    refused(of(vec![query("m1", "MeteredIOBytes", 60, "Mean")]), "ValidationError");
    refused(of(vec![cbor!({ "Id" => "e1", "Expression" => "m1 * 2" }).unwrap()]), "ValidationError");
    refused(of(vec![cbor!({ "Id" => "e1" }).unwrap()]), "ValidationError");
    let many = |number| (0..number).map(|id| query(&format!("m{id}"), "MeteredIOBytes", 60, "Sum")).collect();
    refused(of(many(501)), "ValidationError");
    assert!(ask(&mut double(), of(many(500))).is_ok());
    for (name, value, code) in [
        ("ScanBy", Value::from("Newest"), "ValidationError"),
        ("MaxDatapoints", 100_801.into(), "ValidationError"),
        ("NextToken", "made up".into(), "InvalidNextToken"),
    ] {
        let mut request = of(vec![good()]);
        request.push((name.into(), value));
        refused(request, code);
    }
}

#[test]
fn a_period_has_the_statistic_of_its_minutes_and_the_end_is_left_out() {
    let statistics = ["Sum", "Average", "Minimum", "Maximum", "SampleCount"];
    let queries = statistics.iter().map(|stat| query(&stat.to_lowercase(), "MeteredIOBytes", 300, stat));
    let mut request = request(queries.collect(), HOUR + 300, HOUR + 900);
    request.push(("ScanBy".into(), "TimestampAscending".into()));
    let answer = ask(&mut counted(), request).unwrap_or_else(|refused| panic!("{}", refused.code));
    // 6 + 7 + 8 + 9 + 10 and 11 + .. + 15, of two data a minute.
    for (index, (first, second)) in
        [(40.0, 65.0), (4.0, 6.5), (0.0, 0.0), (10.0, 15.0), (10.0, 10.0)].into_iter().enumerate()
    {
        let expected = ("Complete".to_owned(), vec![(300, first), (600, second)]);
        assert_eq!(result(&answer, index), expected, "{}", statistics[index]);
    }
}

#[test]
fn the_newest_comes_first_unless_it_is_asked_for_otherwise_and_an_unknown_metric_has_no_points() {
    let queries = vec![query("m1", "MeteredIOBytes", 60, "Sum"), query("m2", "Unheard", 60, "Sum")];
    let answer = ask(&mut counted(), request(queries, HOUR, HOUR + 120)).ok().unwrap();
    assert_eq!(result(&answer, 0), ("Complete".to_owned(), vec![(60, 2.0), (0, 1.0)]));
    assert_eq!(result(&answer, 1), ("Complete".to_owned(), vec![]));
}

#[test]
fn other_dimensions_are_another_metric() {
    let mut other = query("m1", "MeteredIOBytes", 60, "Sum");
    let dimensions = cbor!([{ "Name" => "FileSystemId", "Value" => "fs-01234567" }]).unwrap();
    for (_, stat) in
        other.as_map_mut().unwrap().iter_mut().filter(|(key, _)| key.as_text() == Some("MetricStat"))
    {
        for (_, metric) in
            stat.as_map_mut().unwrap().iter_mut().filter(|(key, _)| key.as_text() == Some("Metric"))
        {
            metric.as_map_mut().unwrap().retain(|(key, _)| key.as_text() != Some("Dimensions"));
            metric.as_map_mut().unwrap().push(("Dimensions".into(), dimensions.clone()));
        }
    }
    let answer = ask(&mut counted(), request(vec![other], HOUR, HOUR + 120)).ok().unwrap();
    assert_eq!(result(&answer, 0).1, []);
}

#[test]
fn pages_hold_so_many_points_and_lead_to_the_next() {
    let mut data = counted();
    data.set_page(50);
    let queries =
        || vec![query("m1", "MeteredIOBytes", 60, "Sum"), query("m2", "MeteredIOBytes", 1_800, "Sum")];
    let mut token: Option<String> = None;
    let mut pages = Vec::new();
    for _ in 0..2 {
        let mut request = request(queries(), HOUR, HOUR + 3_600);
        request.extend(token.take().map(|token| ("NextToken".into(), token.into())));
        let answer = ask(&mut data, request).ok().unwrap();
        token = text(&answer, "NextToken").map(str::to_owned);
        pages.push([0, 1].map(|index| (result(&answer, index).0, result(&answer, index).1.len())));
    }
    let (part, whole) = ("PartialData".to_owned(), "Complete".to_owned());
    assert_eq!(pages, [[(part.clone(), 50), (part, 0)], [(whole.clone(), 10), (whole, 2)]]);
    assert_eq!(token, None);
}

#[test]
fn minutes_are_kept_for_fifteen_days() {
    let mut data = double();
    let at = HOUR - 16 * 86_400;
    data.put(FS, "MeteredIOBytes", at, Minute::one(7.0));
    let queries = vec![query("m1", "MeteredIOBytes", 60, "Sum"), query("m2", "MeteredIOBytes", 300, "Sum")];
    let answer = ask(&mut data, request(queries, at, at + 3_600)).ok().unwrap();
    assert_eq!((result(&answer, 0).1.len(), result(&answer, 1).1.len()), (0, 1));
}
