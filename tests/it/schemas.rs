//! What is rendered, held against the descriptions of CloudWatch's API that AWS publishes: the service model of its SDK
//! for Python (botocore), and the schemas of CloudFormation's resources (as cfn-lint ships them).
//!
//! Neither knows what is in a dashboard's body: to both it is a text.

pub mod models;
mod renders;
mod requests;
mod task;

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use models::complaints;

const CLOUDWATCH: &str = "cloudwatch/2010-08-01";

/// What PutMetricAlarm takes.
static PUT_METRIC_ALARM: LazyLock<Validator> =
    LazyLock::new(|| models::operation(&models::service(CLOUDWATCH), "PutMetricAlarm"));

/// What CloudFormation takes for an AWS::CloudWatch::Alarm, whose properties have the same names.
static ALARM: LazyLock<Validator> = LazyLock::new(|| models::resource("AWS::CloudWatch::Alarm"));

/// What cfn-lint adds to that.
static PERIOD: LazyLock<Validator> = LazyLock::new(|| {
    let file = "cfnlint/data/schemas/extensions/aws_cloudwatch_alarm/period.json";
    models::validator(&models::json(file))
});

fn api(alarm: &Value) -> Vec<String> {
    complaints(&PUT_METRIC_ALARM, alarm)
}

fn cloudformation(alarm: &Value) -> Vec<String> {
    [complaints(&ALARM, alarm), complaints(&PERIOD, alarm)].concat()
}

/// One that CloudWatch takes, after the example of PutMetricAlarm in the CloudWatch API Reference.
fn alarm() -> Value {
    json!({
        "AlarmName": "efsmon-credits-low-fs-0123456789abcdef0",
        "AlarmDescription": "less than two hours of burst credits",
        "ActionsEnabled": true,
        "OKActions": [],
        "AlarmActions": ["arn:aws:sns:eu-west-1:123456789012:efs"],
        "Namespace": "AWS/EFS",
        "MetricName": "BurstCreditBalance",
        "Dimensions": [{ "Name": "FileSystemId", "Value": "fs-0123456789abcdef0" }],
        "Statistic": "Minimum",
        "Period": 60,
        "EvaluationPeriods": 5,
        "DatapointsToAlarm": 3,
        "Threshold": 754_974_720_000.0,
        "ComparisonOperator": "LessThanThreshold",
        "TreatMissingData": "missing"
    })
}

/// One on metric math.
fn math() -> Value {
    let mut alarm = alarm();
    for member in ["Namespace", "MetricName", "Dimensions", "Statistic", "Period"] {
        alarm.as_object_mut().unwrap().remove(member);
    }
    let metric = json!({ "Namespace": "AWS/EFS", "MetricName": "MeteredIOBytes", "Dimensions": [] });
    alarm["Metrics"] = json!([
        { "Id": "e1", "Expression": "m1/PERIOD(m1)", "Label": "metered", "ReturnData": true },
        { "Id": "m1", "MetricStat": { "Metric": metric, "Period": 60, "Stat": "Sum" }, "ReturnData": false }
    ]);
    alarm
}

#[test]
fn both_descriptions_take_what_cloudwatch_takes() {
    for alarm in [alarm(), math()] {
        assert_eq!(api(&alarm), Vec::<String>::new());
        assert_eq!(cloudformation(&alarm), Vec::<String>::new());
    }
}

/// Sets the member at `place` (a JSON pointer) and expects that exactly the descriptions named by `found` complain,
/// and about that place.
#[track_caller]
fn check(mut alarm: Value, place: &str, to: Value, found: &[&str]) {
    match (alarm.pointer_mut(place), place.rsplit_once('/')) {
        (Some(member), _) => *member = to,
        (None, Some((parent, name))) => alarm.pointer_mut(parent).unwrap()[name] = to,
        (None, None) => unreachable!("{place} is no pointer"),
    }
    let complain = [("api", api(&alarm)), ("cloudformation", cloudformation(&alarm))];
    for (description, complaints) in complain {
        let expected = found.contains(&description);
        let (parent, _) = place.rsplit_once('/').unwrap();
        let about_it = complaints.iter().all(|complaint| complaint.starts_with(parent));
        assert!(complaints.is_empty() != expected && about_it, "{description}, {place}: {complaints:?}");
    }
}

const BOTH: &[&str] = &["api", "cloudformation"];

#[test]
fn a_member_that_is_not_one_is_found() {
    check(alarm(), "/AlarmNames", json!("a"), BOTH);
    check(alarm(), "/Dimensions/0/Names", json!("a"), BOTH);
    check(math(), "/Metrics/1/MetricStat/Statistic", json!("Sum"), BOTH);
    check(math(), "/Metrics/1/MetricStat/Metric/Metric", json!("a"), BOTH);
}

#[test]
fn a_missing_member_is_found() {
    check(alarm(), "/Dimensions/0", json!({ "Name": "FileSystemId" }), BOTH);
    check(math(), "/Metrics/0", json!({ "Expression": "1" }), BOTH);
    let mut nameless = alarm();
    nameless.as_object_mut().unwrap().remove("AlarmName");
    assert_eq!(api(&nameless), [r#": "AlarmName" is a required property"#]);
}

#[test]
fn a_word_that_is_not_one_of_the_few_is_found() {
    check(alarm(), "/Statistic", json!("Mean"), BOTH);
    check(alarm(), "/ComparisonOperator", json!("LessThan"), BOTH);
    // To the API it is any text.
    check(alarm(), "/TreatMissingData", json!("notbreaching"), &["cloudformation"]);
}

#[test]
fn what_is_too_long_or_too_many_is_found() {
    check(alarm(), "/AlarmName", "n".repeat(255).into(), &[]);
    check(alarm(), "/AlarmName", "n".repeat(256).into(), BOTH);
    check(alarm(), "/AlarmDescription", "é".repeat(1024).into(), &[]);
    check(alarm(), "/AlarmDescription", "é".repeat(1025).into(), BOTH);
    check(alarm(), "/AlarmActions", vec!["arn:aws:sns:eu-west-1:123456789012:efs"; 6].into(), BOTH);
    let dimensions: Vec<_> = (0..31).map(|i| json!({ "Name": format!("d{i}"), "Value": "v" })).collect();
    check(alarm(), "/Dimensions", dimensions.into(), BOTH);
    check(math(), "/Metrics/0/Expression", "1+".repeat(1025).into(), BOTH);
}

#[test]
fn what_is_too_short_small_or_of_another_type_is_found() {
    check(alarm(), "/MetricName", json!(""), BOTH);
    check(alarm(), "/EvaluationPeriods", json!(0), BOTH);
    check(alarm(), "/Period", json!(60.5), BOTH);
    check(alarm(), "/Period", json!(90), &["cloudformation"]);
    check(alarm(), "/Threshold", json!("1"), BOTH);
    check(alarm(), "/ActionsEnabled", json!("true"), BOTH);
    check(alarm(), "/Namespace", json!(":EFS"), BOTH);
    check(math(), "/Metrics/0/Id", json!("E1"), &["cloudformation"]);
}

#[test]
fn an_alarm_on_both_a_metric_and_metric_math_is_found() {
    check(math(), "/MetricName", json!("BurstCreditBalance"), &["cloudformation"]);
    check(alarm(), "/ExtendedStatistic", json!("p99"), &["cloudformation"]);
    check(alarm(), "/EvaluationCriteria", json!({}), BOTH);
}
