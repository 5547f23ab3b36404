//! The alarms that a file system gets, member by member.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use efsmon::alarm::{Alarm, Comparison, MissingData};
use efsmon::credits::{FileSystem, ThroughputMode};
use efsmon::provision::Mark;
use efsmon::provision::alarms::{PAUSE, mark_of, monthly_usd, render, templates, time};
use serde_json::{Value, json};

use super::target::{FS, GIB, OK, PAGE, TIB, TICKET, actions, bursting, file_system, rendered, target};

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
fn larger_file_systems_have_larger_thresholds_that_stay_while_they_grow_by_less_than_an_eighth() {
    let (four, later) = (of_one(bursting(4 * TIB)), of_one(bursting(4 * TIB + 512 * GIB - 1)));
    assert_eq!(four["credits-low"].threshold, 3_019_898_880_000.0);
    assert_eq!(
        rule(&four["credits-depletion-page"]).0,
        "IF(m1 < 92358976733.184, 0, IF(e1 > 0, m1/e1/3600, 720))"
    );
    assert_eq!(four, later);
    assert_eq!(of_one(bursting(0)), of_one(bursting(TIB + 128 * GIB - 1)));
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
    let mut target = target(vec![bursting(TIB)]);
    target.thresholds.runbook = Some(page.clone());
    target.owner = "o".repeat(64).parse().unwrap();
    target.namespace = "N".repeat(255);
    target.region = "ap-southeast-1".to_owned();
    let alarms = render(&target, &actions(), &templates(&[]).unwrap()).unwrap();
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
    assert!(PAUSE * 3 > ms(1_000), "a fourth write comes in the next second");
    assert_eq!(cost(0), ("$0.00".to_owned(), ms(400)));
    assert_eq!(cost(1), ("$1.20".to_owned(), ms(3_600)));
    assert_eq!(cost(200), ("$240.00".to_owned(), ms(640_400)));
    assert_eq!(cost(1_000), ("$1,200.00".to_owned(), ms(3_200_400)));
}
