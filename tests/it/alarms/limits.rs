//! The strict fake against the documented limits of PutMetricAlarm: the last value that is taken, the first that is not.

use ciborium::Value;
use ciborium::cbor;

use crate::fake::cloudwatch::alarms::limits::check;

/// With these members put in place of its own; `Value::Null` takes one away.
fn with(mut alarm: Value, members: Vec<(&str, Value)>) -> Value {
    let map = alarm.as_map_mut().unwrap();
    for (name, value) in members {
        map.retain(|(key, _)| key.as_text() != Some(name));
        if !value.is_null() {
            map.push((name.into(), value));
        }
    }
    alarm
}

/// A good alarm on a single metric.
fn single(members: Vec<(&str, Value)>) -> Value {
    let alarm = cbor!({
        "AlarmName" => "a", "Namespace" => "AWS/EFS", "MetricName" => "PercentIOLimit", "Statistic" => "Average",
        "Period" => 60, "EvaluationPeriods" => 5, "DatapointsToAlarm" => 3, "Threshold" => 1.0,
        "ComparisonOperator" => "GreaterThanThreshold", "TreatMissingData" => "missing",
    });
    with(alarm.unwrap(), members)
}

fn metric(id: &str, period: i64) -> Value {
    cbor!({ "Id" => id, "ReturnData" => false, "MetricStat" => {
        "Metric" => { "Namespace" => "AWS/EFS", "MetricName" => "MeteredIOBytes" }, "Period" => period, "Stat" => "Sum",
    } })
    .unwrap()
}

fn expression(id: &str, text: &str, returned: bool) -> Value {
    cbor!({ "Id" => id, "Expression" => text, "ReturnData" => returned }).unwrap()
}

/// A good alarm on metric math, with other queries.
fn math(queries: Vec<Value>) -> Value {
    let own = ["Namespace", "MetricName", "Statistic", "Period"].map(|name| (name, Value::Null));
    single([&own[..], &[("Metrics", Value::Array(queries))]].concat())
}

fn text(length: usize) -> Value {
    "x".repeat(length).into()
}

fn arns(count: usize, length: usize) -> Value {
    let arn = format!("arn:aws:sns:{}", "x".repeat(length - 12));
    Value::Array(vec![arn.into(); count])
}

fn dimensions(count: usize) -> Value {
    Value::Array((0..count).map(|n| cbor!({ "Name" => format!("d{n}"), "Value" => "v" }).unwrap()).collect())
}

fn tags(count: usize) -> Value {
    Value::Array((0..count).map(|n| cbor!({ "Key" => format!("k{n}"), "Value" => "v" }).unwrap()).collect())
}

fn tag(key: usize, value: usize) -> Value {
    cbor!([{ "Key" => "k".repeat(key), "Value" => "v".repeat(value) }]).unwrap()
}

#[track_caller]
fn taken(alarm: &Value, expected: bool) {
    let found = check(alarm);
    let told = found.as_ref().err().map(|refused| (refused.code, refused.members.clone()));
    assert_eq!(found.is_ok(), expected, "{told:?} of {alarm:?}");
    assert!(told.is_none_or(|(code, _)| code == "ValidationError"));
}

#[test]
fn an_alarm_on_a_single_metric_is_taken_within_its_limits() {
    for (member, good, bad) in [
        ("AlarmName", text(255), text(256)),
        ("AlarmName", text(1), text(0)),
        ("AlarmDescription", text(1024), text(1025)),
        ("OKActions", arns(5, 1024), arns(6, 30)),
        ("AlarmActions", arns(5, 1024), arns(1, 1025)),
        ("InsufficientDataActions", arns(5, 30), Value::Array(vec!["topic".into()])),
        ("Namespace", text(255), text(256)),
        ("MetricName", text(255), text(256)),
        ("Dimensions", dimensions(30), dimensions(31)),
        ("Dimensions", dimensions(1), cbor!([{ "Name" => "a", "Value" => "" }]).unwrap()),
        ("Statistic", "Sum".into(), "p90".into()),
        ("Period", 10.into(), 15.into()),
        ("Period", 30.into(), 40.into()),
        ("Period", 120.into(), 90.into()),
        // 86,400 s of periods below an hour, 604,800 s of longer ones.
        ("EvaluationPeriods", 1440.into(), 1441.into()),
        ("EvaluationPeriods", 3.into(), 2.into()),
        ("DatapointsToAlarm", 5.into(), 6.into()),
        ("DatapointsToAlarm", 1.into(), 0.into()),
        ("TreatMissingData", "notBreaching".into(), "NotBreaching".into()),
        ("ComparisonOperator", "LessThanThreshold".into(), "LessThan".into()),
        ("Threshold", 0.5.into(), Value::Null),
        ("Tags", tags(50), tags(51)),
        ("Tags", tag(128, 256), tag(129, 1)),
        ("Tags", tag(1, 0), tag(0, 0)),
        ("Tags", tag(1, 1), tag(1, 257)),
        ("Namespace", "a:EFS".into(), ":EFS".into()),
        ("ActionsEnabled", false.into(), "false".into()),
        ("AlarmDescription", "7".into(), 7.into()),
        ("Threshold", 7.0.into(), "7".into()),
        ("Period", 60.into(), 60.0.into()),
        ("Unit", "Kilobytes/Second".into(), "KiloBytes/Second".into()),
        ("Unit", "Bits".into(), "bits".into()),
        ("Dimensions", dimensions(1), cbor!([{ "Name" => "a", "Value" => "v", "Key" => "a" }]).unwrap()),
        ("EvaluationWindow", cbor!({ "SlidingWindow" => {} }).unwrap(), "SlidingWindow".into()),
    ] {
        taken(&single(vec![(member, good)]), true);
        taken(&single(vec![(member, bad)]), false);
    }
    taken(&single(vec![("Period", 3600.into()), ("EvaluationPeriods", 168.into())]), true);
    taken(&single(vec![("Period", 3600.into()), ("EvaluationPeriods", 169.into())]), false);
    for required in ["AlarmName", "Namespace", "MetricName", "Statistic", "Period", "EvaluationPeriods"] {
        taken(&single(vec![(required, Value::Null)]), false);
    }
    for defaulted in ["DatapointsToAlarm", "TreatMissingData"] {
        taken(&single(vec![(defaulted, Value::Null)]), true);
    }
    for unknown in ["AlarmNames", "Metric", "EvaluationCriteria", "ThresholdMetricId"] {
        taken(&single(vec![(unknown, "a".into())]), false);
    }
    taken(&single(vec![("ExtendedStatistic", "p99".into())]), false);
    taken(&single(vec![("Statistic", Value::Null), ("ExtendedStatistic", "p99".into())]), true);
}

#[test]
fn an_alarm_on_metric_math_is_taken_within_its_limits() {
    let metrics = |count: usize| (0..count).map(|n| metric(&format!("m{n}"), 60)).collect::<Vec<_>>();
    let sum = || expression("e", "m0 * 2", true);
    let of = |queries: Vec<Value>, more: Value| math([queries, vec![more]].concat());
    taken(&of(metrics(10), sum()), true);
    taken(&of(metrics(11), sum()), false);
    let expressions = |count: usize| -> Vec<Value> {
        (0..count).map(|n| expression(&format!("f{n}"), "m0", false)).chain(metrics(1)).collect()
    };
    taken(&of(expressions(9), sum()), true);
    taken(&of(expressions(10), sum()), false);
    // Of 300 s and 60 s, and one name for two.
    taken(&of(vec![metric("m0", 60), metric("m1", 300)], sum()), false);
    taken(&of(vec![metric("m0", 60), metric("m0", 60)], sum()), false);
    // None returns data, or two do.
    taken(&of(metrics(1), expression("e", "m0", false)), false);
    taken(&of(vec![metric("m0", 60), expression("d", "m0", true)], sum()), false);
    for (id, good) in [("e1_A", true), ("E", false), ("1", false), ("e-1", false), ("", false)] {
        taken(&of(metrics(1), expression(id, "m0", true)), good);
    }
    for (text, good) in [("m".repeat(2048), true), ("m".repeat(2049), false), (String::new(), false)] {
        taken(&of(metrics(1), expression("e", &text, true)), good);
    }
    taken(&of(metrics(1), expression("e", "MAX(SEARCH('x', 'Sum', 60))", true)), false);
    taken(&math(Vec::new()), false);
    let other = |of: Value, name: &str, value: Value| with(of, vec![(name, value)]);
    let stat = |name: &str, value: Value| {
        let stat = cbor!({ "Metric" => { "Namespace" => "a", "MetricName" => "b" }, "Period" => 60, "Stat" => "Sum" });
        other(metric("m0", 60), "MetricStat", other(stat.unwrap(), name, value))
    };
    let of_other = cbor!({ "Namespace" => "a", "Name" => "b" }).unwrap();
    for (query, good) in [
        (other(metric("m0", 60), "Label", "l".into()), true),
        (other(metric("m0", 60), "Color", "l".into()), false),
        (other(metric("m0", 60), "ReturnData", "false".into()), false),
        (stat("Unit", "Bytes".into()), true),
        (stat("Unit", "Byte".into()), false),
        (stat("Statistic", "Sum".into()), false),
        (stat("Metric", of_other), false),
        (stat("Metric", Value::Null), false),
    ] {
        taken(&of(vec![query], sum()), good);
    }
    // Not both ways at once.
    taken(&with(of(metrics(1), sum()), vec![("MetricName", "a".into()), ("Namespace", "b".into())]), false);
    taken(&with(of(metrics(1), sum()), vec![("Period", 60.into())]), false);
    taken(&with(of(metrics(1), sum()), vec![("Dimensions", dimensions(1))]), false);
}

#[test]
fn a_query_of_metrics_insights_has_a_period_of_its_own() {
    let query = |period: Value| {
        let text = "SELECT MIN(a) FROM SCHEMA(\"AWS/EFS\", FileSystemId)";
        math(vec![with(expression("q", text, true), vec![("Period", period)])])
    };
    taken(&query(300.into()), true);
    taken(&query(Value::Null), false);
    taken(&query(90.into()), false);
}
