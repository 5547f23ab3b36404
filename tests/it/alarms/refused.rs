//! Templates of one's own: what is taken, and what is refused before CloudWatch is asked.

use efsmon::credits::{FileSystem, ThroughputMode};
use efsmon::provision::alarms::{Alarms, render, templates};
use efsmon::provision::dashboards::BadTemplate;
use serde_json::{Value, json};

use super::target::{FS, PAGE, TIB, TICKET, actions, bursting, file_system, target};

/// What is said of a template of one's own, without its name.
fn refused(template: &Value) -> Vec<String> {
    let added = [("mine".to_owned(), template.to_string())];
    let result = render(&target(vec![bursting(TIB)]), &actions(), &templates(&added).unwrap());
    let lines = result.unwrap_err().into_iter().map(|bad| bad.to_string());
    lines.map(|line| line.strip_prefix("mine: ").unwrap().to_owned()).collect()
}

/// A template that is taken as it is.
fn good() -> Value {
    json!({
        "AlarmName": "efsmon-${FileSystemId}-mine",
        "AlarmDescription": "Nobody has written to ${FileSystemId} for a day. ${Mark}. ${Runbook}",
        "ActionsEnabled": true,
        "AlarmActions": "${TicketActions}",
        "Metrics": [
            { "Id": "w", "MetricStat": { "Metric": { "Namespace": "${Namespace}", "MetricName": "WriteOperations",
                "Dimensions": [{ "Name": "FileSystemId", "Value": "${FileSystemId}" }] },
                "Period": 3600, "Stat": "Sum" }, "ReturnData": false },
            { "Id": "e", "Expression": "w/PERIOD(w)", "ReturnData": true },
        ],
        "ComparisonOperator": "LessThanThreshold",
        "Threshold": 1,
        "EvaluationPeriods": 24,
        "DatapointsToAlarm": 24,
        "TreatMissingData": "breaching",
    })
}

/// The good one with a member (a JSON pointer) changed, or, with null, taken away.
#[track_caller]
fn check(changes: &[(&str, Value)], expected: &[&str]) {
    let mut template = good();
    for (pointer, value) in changes {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        let parent = template.pointer_mut(parent).unwrap();
        match (value, parent) {
            (Value::Null, Value::Object(members)) => drop(members.remove(member)),
            (_, Value::Object(members)) => drop(members.insert(member.to_owned(), value.clone())),
            (_, parent) => parent[member.parse::<usize>().unwrap()] = value.clone(),
        }
    }
    assert_eq!(refused(&template), expected);
}

/// The alarms with these templates added.
fn with(added: &[(&str, &Value)], file_systems: Vec<FileSystem>) -> Alarms {
    let added: Vec<_> =
        added.iter().map(|(kind, template)| (kind.to_string(), template.to_string())).collect();
    render(&target(file_systems), &actions(), &templates(&added).unwrap()).unwrap()
}

fn two() -> Vec<FileSystem> {
    vec![bursting(TIB), file_system("fs-01234567", ThroughputMode::Elastic, 0)]
}

#[test]
fn a_template_of_ones_own_is_added_or_takes_the_place_of_ours() {
    let mut other = good();
    other["AlarmName"] = json!("efsmon-${FileSystemId}-credits-low");
    let alarms = with(&[("mine", &good()), ("credits-low", &other)], two());
    let of = |kind: &str| alarms.rendered.iter().filter(|rendered| rendered.kind == kind).collect::<Vec<_>>();
    // Ours asks for credits, and the second file system has none.
    assert_eq!((of("mine").len(), of("credits-low").len()), (2, 2));
    let mine = &of("mine")[0].alarm;
    assert_eq!(mine.alarm_name, "efsmon-fs-0123456789abcdef0-mine");
    let expected = "Nobody has written to fs-0123456789abcdef0 for a day. efsmon owner efsmon, region eu-west-1. \
                    https://docs.aws.amazon.com/efs/latest/ug/monitoring-cloudwatch.html";
    assert_eq!(mine.alarm_description, expected);
    assert_eq!(mine.alarm_actions, [TICKET]);
}

#[test]
fn a_template_without_a_file_system_is_rendered_once() {
    let mut fleet = good();
    fleet["AlarmName"] = json!("efsmon-${Region}-mine");
    fleet["AlarmDescription"] = json!("Nobody reports from any host. ${Mark}.");
    fleet["Metrics"][0]["MetricStat"]["Metric"] =
        json!({ "Namespace": "${Namespace}", "MetricName": "Hosts" });
    let alarms = with(&[("mine", &fleet)], two());
    let mine: Vec<_> = alarms.rendered.iter().filter(|rendered| rendered.kind == "mine").collect();
    assert_eq!(mine.len(), 1);
    assert_eq!((mine[0].alarm.alarm_name.as_str(), &mine[0].file_system), ("efsmon-eu-west-1-mine", &None));
}

/// Which file system gets it goes by what it asks for, not by what it is called.
#[test]
fn a_template_that_asks_for_credits_in_a_query_is_for_file_systems_that_have_some() {
    let mut credits = good();
    credits["Metrics"] = json!([{
        "Id": "q", "Period": 300, "ReturnData": true, "Expression":
            "SELECT MIN(BurstCreditBalance) FROM SCHEMA(\"AWS/EFS\", FileSystemId) \
             WHERE FileSystemId = '${FileSystemId}'",
    }]);
    let alarms = with(&[("mine", &credits)], two());
    let skipped = alarms.skipped.iter().filter(|skipped| skipped.kind == "mine");
    assert_eq!(skipped.map(|skipped| skipped.file_system.as_str()).collect::<Vec<_>>(), ["fs-01234567"]);
}

#[test]
fn a_template_that_is_no_json_is_named_with_the_place() {
    let bad =
        templates(&[("mine".to_owned(), "{".to_owned()), ("other".to_owned(), "{}".to_owned())]).unwrap_err();
    let [BadTemplate { template, reason, .. }] = bad.as_slice() else { panic!("{bad:?}") };
    assert_eq!(template, "mine");
    assert!(reason.starts_with("is not JSON: EOF") && reason.ends_with("line 1 column 1"), "{reason}");
}

#[test]
fn members_that_are_unknown_missing_or_of_a_wrong_kind_are_named() {
    let said = |pointer: &str, value: Value| {
        let mut template = good();
        template[pointer] = value;
        refused(&template).join("\n")
    };
    assert!(said("Unit", json!("Bytes")).starts_with("unknown field `Unit`, expected one of `AlarmName`,"));
    assert!(
        said("TreatMissingData", json!("ok")).starts_with("unknown variant `ok`, expected one of `missing`,")
    );
    check(&[("/TreatMissingData", Value::Null)], &["missing field `TreatMissingData`"]);
    check(&[("/DatapointsToAlarm", Value::Null)], &["missing field `DatapointsToAlarm`"]);
    check(
        &[("/Threshold", json!("${Regio}"))],
        &[concat!(
            "unknown placeholder ${Regio}; allowed: ClientLatencyMs, CreditsFloorBytes, CreditsLowBytes, ",
            "CreditsLowMinutes, DepletionPageHours, DepletionPageMinutes, DepletionTicketHours, ",
            "DepletionTicketMinutes, FileSystemId, IoLimitPercent, Mark, Namespace, OkActions, Owner, PageActions, ",
            "Region, Runbook, ThroughputPercent, TicketActions",
        )],
    );
}

#[test]
fn names_descriptions_and_actions_keep_their_limits() {
    let allowed = "allowed: efsmon-${FileSystemId}-mine, so that none overwrites another";
    for name in ["efsmon-mine", "efsmon-${FileSystemId}-credits-low", "mine-${FileSystemId}"] {
        let found = name.replace("${FileSystemId}", FS);
        check(&[("/AlarmName", json!(name))], &[&format!("AlarmName: found {found:?}; {allowed}")]);
    }
    // The mark of `efsmon owner efsmon, region eu-west-1` has 37 characters.
    let description = |length: usize| json!(format!("{}${{Mark}}", "é".repeat(length - 37)));
    check(
        &[("/AlarmDescription", description(1_025))],
        &["AlarmDescription: found 1025 characters; allowed: 30 to 1024"],
    );
    check(
        &[("/AlarmDescription", json!("Nobody has written for a day."))],
        &[
            "AlarmDescription: found 29 characters; allowed: 30 to 1024",
            "AlarmDescription: must have ${Mark} in it: by it efsmon knows its alarms again",
        ],
    );
    let arns = |number: usize| json!((0..number).map(|n| format!("{PAGE}{n}")).collect::<Vec<_>>());
    check(
        &[("/AlarmActions", arns(6)), ("/OKActions", arns(6))],
        &["OKActions: found 6; allowed: at most 5", "AlarmActions: found 6; allowed: at most 5"],
    );
    check(
        &[("/InsufficientDataActions", json!(["page me"]))],
        &[
            "InsufficientDataActions: found \"page me\"; allowed: an ARN such as arn:aws:sns:REGION:ACCOUNT:TOPIC",
        ],
    );
    check(
        &[("/ActionsEnabled", json!(false))],
        &["ActionsEnabled: found false, with which nobody is told; allowed: true"],
    );
    let mut template = good();
    template["AlarmDescription"] = description(1_024);
    template["OKActions"] = arns(5);
    with(&[("mine", &template)], two());
}

/// `efsmon-`, a file system's 20 characters and a dash leave 227.
#[test]
fn a_name_has_255_characters_at_most() {
    let mut template = good();
    for (length, fits) in [(227, true), (228, false)] {
        let kind = "k".repeat(length);
        template["AlarmName"] = json!(format!("efsmon-${{FileSystemId}}-{kind}"));
        let added = templates(&[(kind, template.to_string())]).unwrap();
        let result = render(&target(vec![bursting(TIB)]), &actions(), &added);
        assert_eq!(result.is_ok(), fits);
        let reason = "found 256 characters; allowed: 1 to 255, none of control";
        assert!(result.err().into_iter().flatten().all(|bad| bad.reason == reason));
    }
}

#[test]
fn periods_and_their_number_keep_their_limits() {
    let period = "/Metrics/0/MetricStat/Period";
    check(&[(period, json!(90))], &["Period: found 90; allowed: 10, 20, 30 or a multiple of 60 seconds"]);
    check(
        &[(period, json!(0))],
        &[
            "Period: found 0; allowed: 10, 20, 30 or a multiple of 60 seconds",
            "Metrics w: found WriteOperations by 0 seconds; allowed: 60 or more, as often as it is published",
        ],
    );
    check(
        &[(period, json!(10))],
        &["Metrics w: found WriteOperations by 10 seconds; allowed: 60 or more, as often as it is published"],
    );
    // 168 hours are 604,800 seconds; a day has 1,440 minutes.
    let times = |n: u32| ("/EvaluationPeriods", json!(n));
    check(
        &[times(169)],
        &["EvaluationPeriods: found 169 times 3600 seconds; allowed: 604800 seconds together"],
    );
    check(
        &[(period, json!(60)), times(1_441)],
        &["EvaluationPeriods: found 1441 times 60 seconds; allowed: 86400 seconds together"],
    );
    check(&[times(23)], &["DatapointsToAlarm: found 24 of 23 EvaluationPeriods; allowed: 1 to 23"]);
    check(
        &[("/DatapointsToAlarm", json!(0))],
        &["DatapointsToAlarm: found 0 of 24 EvaluationPeriods; allowed: 1 to 24"],
    );
    check(&[("/Metrics/1/Period", json!(60))], &["Period: found [3600, 60]; allowed: the same everywhere"]);
}

#[test]
fn an_alarm_is_on_one_metric_or_on_queries_that_give_one_series() {
    check(
        &[("/Namespace", json!("AWS/EFS")), ("/Period", json!(3600))],
        &["found beside Metrics: Namespace, Period; allowed: one or the other"],
    );
    check(&[("/Metrics", json!([]))], &["neither Metrics nor Namespace, MetricName, Statistic, Period"]);
    check(
        &[("/Metrics/0/ReturnData", json!(true))],
        &["Metrics: found ReturnData true 2 times; allowed: once, and false elsewhere"],
    );
    check(
        &[("/Metrics/0/ReturnData", Value::Null)],
        &["Metrics w: found no ReturnData, which CloudWatch takes for true; allowed: true or false"],
    );
    check(
        &[("/Metrics/1/MetricStat", good()["Metrics"][0]["MetricStat"].clone())],
        &["Metrics e: allowed: either MetricStat or Expression"],
    );
    let long = format!("w{}", "+w".repeat(1_024));
    check(
        &[("/Metrics/1/Expression", json!(long))],
        &["Metrics e: found an Expression of 2049 characters; allowed: 1 to 2048"],
    );
}

#[test]
fn at_most_ten_metrics_and_ten_expressions_go_into_one_alarm() {
    let mut template = good();
    let [metric, expression] =
        ["/Metrics/0", "/Metrics/1"].map(|place| template.pointer(place).unwrap().clone());
    let queries = |number: usize| {
        let metrics = (0..number).map(|index| {
            let mut query = metric.clone();
            query["Id"] = json!(format!("w{index}"));
            query
        });
        let expressions = (0..number).map(|index| {
            let mut query = expression.clone();
            (query["Id"], query["Expression"]) = (json!(format!("e{index}")), json!("w0/2"));
            query["ReturnData"] = json!(index == 0);
            query
        });
        json!(metrics.chain(expressions).collect::<Vec<_>>())
    };
    template["Metrics"] = queries(11);
    let expected = [
        "Metrics: found 11 metrics; allowed: at most 10",
        "Metrics: found 11 expressions; allowed: at most 10",
    ];
    assert_eq!(refused(&template), expected);
    template["Metrics"] = queries(10);
    with(&[("mine", &template)], two());
}

#[test]
fn a_metric_that_nobody_publishes_is_refused() {
    let metric = |namespace: &str, name: &str, dimensions: &[&str], stat: &str| {
        let dimensions: Vec<_> =
            dimensions.iter().map(|name| json!({ "Name": name, "Value": "${FileSystemId}" })).collect();
        let metric = json!({ "Namespace": namespace, "MetricName": name, "Dimensions": dimensions });
        ("/Metrics/0/MetricStat", json!({ "Metric": metric, "Period": 3600, "Stat": stat }))
    };
    let fs = ["FileSystemId"];
    check(
        &[metric("EFSmon", "WriteOperations", &fs, "Sum")],
        &["Metrics w: found the namespace EFSmon; allowed: EFSMon (${Namespace}), AWS/EFS, CustomEC2"],
    );
    check(
        &[metric("EFSMon", "WriteOps", &fs, "Sum")],
        &["Metrics w: efsmon publishes no metric WriteOps in EFSMon: the README lists them"],
    );
    check(
        &[metric("AWS/EFS", "StorageBytes", &fs, "Average")],
        &[
            "Metrics w: found StorageBytes with the dimensions FileSystemId; allowed: StorageClass, FileSystemId",
        ],
    );
    check(
        &[metric("AWS/EFS", "PermittedThroughput", &fs, "Sum")],
        &["Metrics w: found the statistic Sum of PermittedThroughput; allowed: Minimum, Maximum, Average"],
    );
    check(
        &[metric("EFSMon", "ReadLatency", &fs, "Sum")],
        &[
            "Metrics w: found the statistic Sum of ReadLatency; allowed: Average, Minimum, Maximum, SampleCount",
        ],
    );
    check(
        &[metric("EFSMon", "ReadLatency", &["FileSystemId", "InstanceId"], "Average")],
        &[
            "Metrics w: found ReadLatency with the dimensions FileSystemId, InstanceId; allowed: FileSystemId; or \
         FileSystemId, InstanceId, MountPoint, by profile minimal",
        ],
    );
    check(
        &[metric("EFSMon", "ReadQueue", &["FileSystemId", "InstanceId"], "Average")],
        &[
            "Metrics w: found ReadQueue with the dimensions FileSystemId, InstanceId; allowed: not published at all, by \
         profile minimal",
        ],
    );
}

/// As for any setting: found once, said once, however many file systems there are.
#[test]
fn everything_that_is_wrong_is_said_at_once_and_once() {
    let mut template = good();
    template["AlarmActions"] = json!(["page me"]);
    template["DatapointsToAlarm"] = json!(25);
    let mut broken = good();
    broken["Unit"] = json!("Bytes");
    let added = [("mine".to_owned(), template.to_string()), ("other".to_owned(), broken.to_string())];
    let all = (0..3)
        .map(|index| file_system(&format!("fs-0000000{index}"), ThroughputMode::Bursting, TIB))
        .collect();
    let result = render(&target(all), &actions(), &templates(&added).unwrap());
    let found: Vec<_> = result.unwrap_err().into_iter().map(|bad| (bad.template, bad.place)).collect();
    let expected = [("mine", "AlarmActions: "), ("mine", "DatapointsToAlarm: "), ("other", "")];
    assert_eq!(found, expected.map(|(template, place)| (template.to_owned(), place.to_owned())));
}

#[test]
fn what_metric_math_does_not_know_or_an_alarm_may_not_use_is_refused() {
    let said = |expression: &str| {
        let mut template = good();
        template["Metrics"][1]["Expression"] = json!(expression);
        refused(&template).join("\n")
    };
    let search = "SUM(SEARCH('{EFSMon,FileSystemId} MetricName=\"WriteBytes\"', 'Sum', 3600))";
    assert_eq!(said(search), "Metrics e: SEARCH is not for alarms: CloudWatch refuses it");
    assert_eq!(said("w + missing"), "Metrics e: no query has the id missing");
    assert!(said("SUM(w)").starts_with("Metrics e: SUM of a series is not for alarms"), "{}", said("SUM(w)"));
    assert!(said("w +").starts_with("Metrics e: "));
}

#[test]
fn a_query_of_metrics_insights_needs_a_period_a_metric_that_is_there_and_three_hours_at_most() {
    let query = |metric: &str| {
        json!({
            "Id": "q", "Period": 300, "ReturnData": true,
            "Expression": format!("SELECT MIN({metric}) FROM SCHEMA(\"AWS/EFS\", FileSystemId) WHERE FileSystemId = '${{FileSystemId}}'"),
        })
    };
    let mut template = good();
    template["Metrics"] = json!([query("BurstCreditBalance")]);
    template["EvaluationPeriods"] = json!(36);
    with(&[("mine", &template)], two());
    template["EvaluationPeriods"] = json!(37);
    let expected = "EvaluationPeriods: found 37 times 300 seconds; allowed: 10800 seconds together";
    assert_eq!(refused(&template), [expected]);
    template["EvaluationPeriods"] = json!(36);
    template["Metrics"] = json!([query("StorageBytes")]);
    let expected =
        "Metrics q: found StorageBytes with the dimensions FileSystemId; allowed: StorageClass, FileSystemId";
    assert_eq!(refused(&template), [expected]);
    template["Metrics"][0] = query("BurstCreditBalance");
    template["Metrics"][0].as_object_mut().unwrap().remove("Period");
    assert_eq!(refused(&template), ["Metrics q: a Metrics Insights query needs a Period"]);
}
