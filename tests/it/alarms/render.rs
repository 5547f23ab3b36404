//! The alarms that a file system gets, member by member, and what is refused before CloudWatch is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use efsmon::alarm::{Alarm, Comparison, MissingData};
use efsmon::catalog::Profile;
use efsmon::config::Config;
use efsmon::credits::{FileSystem, ThroughputMode};
use efsmon::provision::alarms::{
    Actions, Alarms, PAUSE, Thresholds, mark_of, monthly_usd, render, templates, time,
};
use efsmon::provision::dashboards::BadTemplate;
use efsmon::provision::{Mark, Target};
use serde_json::{Value, json};

const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const PAGE: &str = "arn:aws:sns:eu-west-1:111122223333:page";
const TICKET: &str = "arn:aws:sns:eu-west-1:111122223333:ticket";
const OK: &str = "arn:aws:sns:eu-west-1:111122223333:ok";
const FS: &str = "fs-0123456789abcdef0";

fn file_system(id: &str, mode: ThroughputMode, standard_bytes: u64) -> FileSystem {
    FileSystem {
        id: id.parse().unwrap(),
        name: None,
        mode,
        general_purpose: true,
        standard_bytes,
        infrequent_bytes: 0,
        archive_bytes: 0,
        zone: None,
    }
}

fn bursting(standard_bytes: u64) -> FileSystem {
    file_system(FS, ThroughputMode::Bursting, standard_bytes)
}

fn target(file_systems: Vec<FileSystem>) -> Target {
    Target {
        owner: "efsmon".parse().unwrap(),
        region: "eu-west-1".to_owned(),
        namespace: "EFSMon".to_owned(),
        profile: Profile::Minimal,
        file_systems,
        chosen: false,
    }
}

/// Those of a configuration in which nothing is set.
fn thresholds() -> Thresholds {
    let set = Config::default().alarms;
    Thresholds {
        credits_low_minutes: set.credits_low_minutes,
        depletion_page_minutes: set.depletion_page_minutes,
        depletion_ticket_minutes: set.depletion_ticket_minutes,
        throughput_percent: set.throughput_percent,
        io_limit_percent: set.io_limit_percent,
        client_latency_ms: set.client_latency_ms,
        runbook: set.runbook,
    }
}

fn actions() -> Actions {
    let one = |arn: &str| vec![arn.to_owned()];
    Actions { page: one(PAGE), ticket: one(TICKET), ok: one(OK) }
}

fn rendered(target: &Target) -> Alarms {
    render(target, &thresholds(), &actions(), &templates(&[]).unwrap()).unwrap()
}

fn of_one(file_system: FileSystem) -> BTreeMap<String, Alarm> {
    let alarms = rendered(&target(vec![file_system])).rendered;
    alarms.into_iter().map(|rendered| (rendered.kind, rendered.alarm)).collect()
}

/// The kinds that the only file system does not get, and why.
fn skipped(file_system: FileSystem) -> Vec<(String, String)> {
    let alarms = rendered(&target(vec![file_system]));
    alarms.skipped.into_iter().map(|skipped| (skipped.kind, skipped.reason)).collect()
}

/// Every member of every alarm of one file system. `UPDATE_EXPECT=1 cargo test every_kind_of_alarm` writes it anew.
#[test]
fn every_kind_of_alarm_is_rendered_as_it_was_read_and_found_right() {
    let bodies = of_one(bursting(100 * GIB)).into_iter().map(|(kind, alarm)| (kind, json!(alarm)));
    let bodies = Value::Object(bodies.collect());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/alarms/bursting.json");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{bodies:#}\n")).unwrap();
    }
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(bodies, expected, "read it, and refresh it with UPDATE_EXPECT=1");
}

/// What of an alarm decides whether it goes off.
fn rule(alarm: &Alarm) -> (String, Comparison, f64, u32, u32, u32) {
    let (what, period) = match alarm.metrics.last() {
        Some(last) => {
            let within = alarm.metrics.iter().find_map(|query| query.metric_stat.as_ref());
            let period = last.period.or(within.map(|stat| stat.period)).unwrap();
            (last.expression.clone().unwrap(), period)
        }
        None => {
            let name =
                format!("{} {}", alarm.statistic.as_deref().unwrap(), alarm.metric_name.as_deref().unwrap());
            (name, alarm.period.unwrap())
        }
    };
    (
        what,
        alarm.comparison_operator,
        alarm.threshold,
        period,
        alarm.datapoints_to_alarm,
        alarm.evaluation_periods,
    )
}

#[test]
fn each_goes_off_when_its_chapter_says() {
    use Comparison::{
        GreaterThanOrEqualToThreshold as AtLeast, LessThanOrEqualToThreshold as AtMost,
        LessThanThreshold as Below,
    };
    let depletion = "IF(m1 < 23089744183.296, 0, IF(e1 > 0, m1/e1/3600, 720))";
    let query = "SELECT MIN(BurstCreditBalance) FROM SCHEMA(\"AWS/EFS\", FileSystemId) GROUP BY FileSystemId ORDER BY \
                 MIN() ASC";
    let expected = [
        ("client-latency", "MAX([m1, m2])", AtLeast, 250.0, 60, 3, 5, TICKET),
        ("credits-any", query, Below, 754_974_720_000.0, 300, 3, 4, TICKET),
        ("credits-depletion-page", depletion, AtMost, 1.0, 300, 3, 4, PAGE),
        ("credits-depletion-ticket", depletion, AtMost, 3.0, 300, 3, 4, TICKET),
        ("credits-low", "Minimum BurstCreditBalance", Below, 754_974_720_000.0, 300, 3, 4, TICKET),
        ("mount-stalled", "Maximum MountStalled", AtLeast, 1.0, 60, 3, 5, PAGE),
        ("percent-io-limit", "Average PercentIOLimit", AtLeast, 95.0, 60, 10, 15, TICKET),
        ("publisher-silent", "IF(c > 0, e1 < 1, 0)", AtLeast, 1.0, 60, 10, 15, TICKET),
        ("throughput-utilisation", "100*(m1/PERIOD(m1))/m2", AtLeast, 90.0, 60, 10, 15, TICKET),
    ];
    let found = of_one(bursting(100 * GIB));
    assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), expected.map(|row| row.0));
    for (kind, what, comparison, threshold, period, m, n, topic) in expected {
        let alarm = &found[kind];
        assert_eq!(rule(alarm), (what.to_owned(), comparison, threshold, period, m, n), "{kind}");
        assert_eq!(
            (&alarm.alarm_actions, &alarm.ok_actions),
            (&vec![topic.to_owned()], &vec![OK.to_owned()])
        );
        assert_eq!(alarm.treat_missing_data, MissingData::NotBreaching, "{kind}");
    }
}

/// 2.1 TiB are 2,308,974,418,329.6 bytes, and a hundredth of that is 23,089,744,183.296; 4 TiB have four times that,
/// and burst to 400 MiB/s: 120 x 60 x 400 x 1,048,576 = 3,019,898,880,000.
#[test]
fn larger_file_systems_have_larger_thresholds_that_stay_while_they_grow_within_a_tebibyte() {
    let (four, nearly_five) = (of_one(bursting(4 * TIB)), of_one(bursting(5 * TIB - 1)));
    assert_eq!(four["credits-low"].threshold, 3_019_898_880_000.0);
    assert_eq!(
        rule(&four["credits-depletion-page"]).0,
        "IF(m1 < 92358976733.184, 0, IF(e1 > 0, m1/e1/3600, 720))"
    );
    assert_eq!(four, nearly_five);
    assert_eq!(of_one(bursting(0)), of_one(bursting(2 * TIB - 1)));
    assert_eq!(of_one(bursting(5 * TIB))["credits-low"].threshold, 3_774_873_600_000.0);
    // One for the whole Region, whatever the size.
    assert_eq!(four["credits-any"].threshold, 754_974_720_000.0);
}

#[test]
fn elastic_throughput_gets_no_alarm_on_credits_or_on_the_permitted_throughput() {
    let elastic = file_system(FS, ThroughputMode::Elastic, 100 * GIB);
    let kinds: Vec<_> = of_one(elastic.clone()).into_keys().collect();
    assert_eq!(
        kinds,
        ["client-latency", "credits-any", "mount-stalled", "percent-io-limit", "publisher-silent"]
    );
    let no_credits = "elastic throughput has no burst credits";
    let permitted = "elastic throughput follows the demand; what EFS calls permitted is for writes alone";
    let expected = [
        ("credits-depletion-page", no_credits),
        ("credits-depletion-ticket", no_credits),
        ("credits-low", no_credits),
        ("throughput-utilisation", permitted),
    ];
    assert_eq!(skipped(elastic), expected.map(|(kind, reason)| (kind.to_owned(), reason.to_owned())));
}

#[test]
fn provisioned_throughput_has_credits_only_while_storage_earns_more() {
    let provisioned = |mibps, bytes| file_system(FS, ThroughputMode::Provisioned { mibps }, bytes);
    // 1 TiB earns 50 MiB/s.
    for (mibps, credits) in [(49.9, true), (50.0, false), (300.0, false)] {
        let found = of_one(provisioned(mibps, TIB));
        assert_eq!(found.contains_key("credits-low"), credits, "{mibps}");
        assert_eq!(found.contains_key("credits-depletion-page"), credits, "{mibps}");
        assert!(found.contains_key("throughput-utilisation"), "{mibps}");
    }
    let reasons: BTreeSet<_> =
        skipped(provisioned(300.0, TIB)).into_iter().map(|(_, reason)| reason).collect();
    let expected = "300 MiB/s are provisioned, and its storage earns 50.0: it has no burst credits";
    assert_eq!(reasons, BTreeSet::from([expected.to_owned()]));
}

#[test]
fn max_io_has_no_percentage_of_a_limit_and_an_unknown_mode_nothing_that_depends_on_it() {
    let max_io = FileSystem { general_purpose: false, ..bursting(TIB) };
    let expected = [("percent-io-limit".to_owned(), "Max I/O performance has no such limit".to_owned())];
    assert_eq!(skipped(max_io), expected);
    let unknown = skipped(file_system(FS, ThroughputMode::Other("turbo".to_owned()), TIB));
    assert_eq!(unknown.len(), 4);
    assert!(unknown.iter().all(|(_, reason)| reason == "nothing is known here of the throughput mode turbo"));
}

#[test]
fn any_number_of_file_systems_has_alarms_of_its_own_names_within_cloudwatchs_limits() {
    for (number, expected) in [(0, 1), (1, 9), (2, 17), (200, 1_601), (1_000, 8_001)] {
        let id = |index: usize| format!("fs-{index:017x}");
        let all = (0..number).map(|index| file_system(&id(index), ThroughputMode::Bursting, TIB)).collect();
        let alarms = rendered(&target(all)).rendered;
        assert_eq!(alarms.len(), expected);
        let names: BTreeSet<_> = alarms.iter().map(|rendered| rendered.alarm.alarm_name.as_str()).collect();
        assert_eq!(names.len(), expected);
        for rendered in &alarms {
            let alarm = &rendered.alarm;
            match &rendered.file_system {
                Some(id) => assert_eq!(alarm.alarm_name, format!("efsmon-{id}-{}", rendered.kind)),
                None => assert_eq!(alarm.alarm_name, "efsmon-eu-west-1-credits-any"),
            }
            assert!((30..=1024).contains(&alarm.alarm_description.chars().count()));
            assert!(alarm.actions_enabled && alarm.datapoints_to_alarm <= alarm.evaluation_periods);
            assert!(!json!(alarm).to_string().contains("SEARCH"));
        }
    }
}

#[test]
fn what_is_said_fits_with_the_longest_owner_namespace_and_runbook() {
    let page = format!("https://{}", "a".repeat(300));
    let thresholds = Thresholds { runbook: Some(page.clone()), ..thresholds() };
    let mut target = target(vec![bursting(TIB)]);
    target.owner = "o".repeat(64).parse().unwrap();
    target.namespace = "N".repeat(255);
    target.region = "ap-southeast-1".to_owned();
    let alarms = render(&target, &thresholds, &actions(), &templates(&[]).unwrap()).unwrap();
    for rendered in alarms.rendered {
        assert!(rendered.alarm.alarm_description.ends_with(&format!(" Runbook: {page}#{}", rendered.kind)));
        assert_eq!(mark_of(&rendered.alarm), Some(target.mark()));
    }
}

#[test]
fn a_description_says_what_to_do_first_where_to_read_on_and_whose_it_is() {
    let first = [
        ("client-latency", "`efsmon stat 10`", "performance-tips"),
        ("credits-any", "`efsmon credits`", "performance"),
        ("credits-depletion-page", "`efsmon credits fs-0123456789abcdef0`", "performance"),
        ("credits-depletion-ticket", "`efsmon credits fs-0123456789abcdef0`", "performance"),
        ("credits-low", "`efsmon credits fs-0123456789abcdef0`", "performance"),
        ("mount-stalled", "`efsmon mounts`", "troubleshooting-efs-general"),
        ("percent-io-limit", "`efsmon stat 10`", "performance"),
        ("publisher-silent", "`efsmon status`", "monitoring-cloudwatch"),
        ("throughput-utilisation", "`efsmon credits fs-0123456789abcdef0`", "performance"),
    ];
    let found = of_one(bursting(TIB));
    for (kind, command, page) in first {
        let text = &found[kind].alarm_description;
        assert!(text.contains(&format!("First: {command}")), "{text}");
        let end = format!(
            " Generated: efsmon owner efsmon, region eu-west-1. Runbook: \
             https://docs.aws.amazon.com/efs/latest/ug/{page}.html"
        );
        assert!(text.ends_with(&end), "{text}");
        let ours = Mark { owner: "efsmon".parse().unwrap(), region: "eu-west-1".to_owned() };
        assert_eq!(mark_of(&found[kind]), Some(ours));
    }
}

/// 8 alarms with 11 metrics: two each of throughput-utilisation, client-latency and publisher-silent. credits-any adds
/// one for each file system.
#[test]
fn a_month_costs_ten_cents_for_each_metric_and_a_write_takes_400_ms() {
    let cost = |number: usize| {
        let id = |index: usize| format!("fs-{index:017x}");
        let all = (0..number).map(|index| file_system(&id(index), ThroughputMode::Bursting, TIB)).collect();
        let alarms = rendered(&target(all)).rendered;
        let usd = monthly_usd(alarms.iter().map(|rendered| &rendered.alarm), number);
        (usd.to_string(), time(alarms.len()))
    };
    let ms = Duration::from_millis;
    assert_eq!(PAUSE, ms(400));
    assert_eq!(cost(0), ("$0.00".to_owned(), ms(400)));
    assert_eq!(cost(1), ("$1.20".to_owned(), ms(3_600)));
    assert_eq!(cost(200), ("$240.00".to_owned(), ms(640_400)));
    assert_eq!(cost(1_000), ("$1,200.00".to_owned(), ms(3_200_400)));
}

/// What is said of a template of one's own, without its name.
fn refused(template: &Value) -> Vec<String> {
    let added = [("mine".to_owned(), template.to_string())];
    let result = render(&target(vec![bursting(TIB)]), &thresholds(), &actions(), &templates(&added).unwrap());
    let lines = result.unwrap_err().into_iter().map(|bad| bad.to_string());
    lines.map(|line| line.strip_prefix("mine: ").unwrap().to_owned()).collect()
}

/// A template that is taken as it is.
fn good() -> Value {
    json!({
        "AlarmName": "mine-${FileSystemId}",
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

#[test]
fn a_template_of_ones_own_is_added_or_takes_the_place_of_ours() {
    let added = [
        ("mine".to_owned(), good().to_string()),
        ("credits-low".to_owned(), {
            let mut other = good();
            other["AlarmName"] = json!("team-${FileSystemId}-low");
            other.to_string()
        }),
    ];
    let target = target(vec![bursting(TIB), file_system("fs-01234567", ThroughputMode::Elastic, 0)]);
    let alarms = render(&target, &thresholds(), &actions(), &templates(&added).unwrap()).unwrap();
    let named = |name: &str| {
        alarms.rendered.iter().filter(|rendered| rendered.alarm.alarm_name.contains(name)).count()
    };
    assert_eq!((named("mine-fs-"), named("team-fs-")), (2, 2));
    assert_eq!(named("-credits-low"), 0);
    let mine = alarms.rendered.iter().find(|rendered| rendered.kind == "mine").unwrap();
    let expected = "Nobody has written to fs-0123456789abcdef0 for a day. efsmon owner efsmon, region eu-west-1. \
                    https://docs.aws.amazon.com/efs/latest/ug/monitoring-cloudwatch.html";
    assert_eq!(mine.alarm.alarm_description, expected);
    assert_eq!(mine.alarm.alarm_actions, [TICKET]);
}

#[test]
fn a_template_without_a_file_system_is_rendered_once() {
    let mut fleet = good();
    fleet["AlarmName"] = json!("mine-${Region}");
    fleet["AlarmDescription"] = json!("Nobody reports from any host. ${Mark}.");
    fleet["Metrics"][0]["MetricStat"]["Metric"] =
        json!({ "Namespace": "${Namespace}", "MetricName": "Hosts" });
    let added = [("mine".to_owned(), fleet.to_string())];
    let target = target(vec![bursting(TIB), file_system("fs-01234567", ThroughputMode::Elastic, 0)]);
    let alarms = render(&target, &thresholds(), &actions(), &templates(&added).unwrap()).unwrap();
    let mine: Vec<_> = alarms.rendered.iter().filter(|rendered| rendered.kind == "mine").collect();
    assert_eq!(mine.len(), 1);
    assert_eq!((mine[0].alarm.alarm_name.as_str(), &mine[0].file_system), ("mine-eu-west-1", &None));
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
    let name = |length: usize| json!(format!("{}${{FileSystemId}}", "a".repeat(length - FS.len())));
    check(
        &[("/AlarmName", name(256))],
        &["AlarmName: found 256 characters; allowed: 1 to 255, none of control"],
    );
    check(
        &[("/AlarmName", json!("mine"))],
        &[
            "AlarmName: must have ${FileSystemId} in it: those of two file systems would overwrite one another",
        ],
    );
    check(
        &[("/AlarmName", json!("efsmon-${FileSystemId}-credits-low"))],
        &["AlarmName: efsmon-fs-0123456789abcdef0-credits-low is the name of an alarm of credits-low too"],
    );
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
    for (pointer, value) in
        [("/AlarmName", name(255)), ("/AlarmDescription", description(1_024)), ("/OKActions", arns(5))]
    {
        let mut template = good();
        template[pointer.trim_start_matches('/')] = value;
        let added = [("mine".to_owned(), template.to_string())];
        let target = target(vec![bursting(TIB)]);
        render(&target, &thresholds(), &actions(), &templates(&added).unwrap()).unwrap();
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
            "Metrics w: found WriteOperations by 0 seconds; allowed: from 60 on, as often as it is published",
        ],
    );
    check(
        &[(period, json!(10))],
        &["Metrics w: found WriteOperations by 10 seconds; allowed: from 60 on, as often as it is published"],
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
    let added = [("mine".to_owned(), template.to_string())];
    render(&target(vec![bursting(TIB)]), &thresholds(), &actions(), &templates(&added).unwrap()).unwrap();
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
    let result = render(&target(all), &thresholds(), &actions(), &templates(&added).unwrap());
    let found: Vec<_> = result.unwrap_err().into_iter().map(|bad| (bad.template, bad.place)).collect();
    let expected = [("mine", "AlarmActions: "), ("mine", "DatapointsToAlarm: "), ("other", "")];
    assert_eq!(found, expected.map(|(template, place)| (template.to_owned(), place.to_owned())));
}
