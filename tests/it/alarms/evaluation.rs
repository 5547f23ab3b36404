//! How CloudWatch decides on an alarm's state, pinned to the tables and sentences of the CloudWatch User Guide,
//! "Configuring how CloudWatch alarms treat missing data" and "Alarm evaluation".

use std::collections::BTreeSet;

use efsmon::alarm::rehearsal::{Evaluation, Feed, Rehearsal, rehearse};
use efsmon::alarm::state::{Outcome, Rule, State, evaluation_ranges};
use efsmon::alarm::{Alarm, Comparison, MissingData};
use efsmon::metricmath::{Dimension, Metric, StatisticSet};
use serde_json::json;

const OK: Outcome = Outcome::To(State::Ok);
const ALARM: Outcome = Outcome::To(State::Alarm);
const INSUFFICIENT_DATA: Outcome = Outcome::To(State::InsufficientData);
const KEPT: Outcome = Outcome::Kept;

/// In the order of the tables' columns.
const TREATMENTS: [MissingData; 4] =
    [MissingData::Missing, MissingData::Ignore, MissingData::Breaching, MissingData::NotBreaching];

fn rule(m: usize, n: usize, missing: MissingData) -> Rule {
    Rule {
        comparison: Comparison::GreaterThanThreshold,
        threshold: 5.0,
        evaluation_periods: n,
        datapoints_to_alarm: m,
        missing,
    }
}

/// A row of the tables: `0` is within the threshold, `X` beyond it, `-` missing; the newest stands on the right.
fn points(row: &str) -> Vec<Option<f64>> {
    let point = |text| match text {
        "0" => Some(0.0),
        "X" => Some(6.0),
        "-" => None,
        other => panic!("{other}"),
    };
    row.split(' ').map(point).collect()
}

#[track_caller]
fn check(m: usize, n: usize, row: &str, expected: [&[Outcome]; 4]) {
    for (missing, expected) in TREATMENTS.into_iter().zip(expected) {
        assert_eq!(rule(m, n, missing).outcomes(&points(row)), expected, "{m} of {n}: {row}, {missing:?}");
    }
}

#[test]
fn three_of_three_is_decided_as_in_the_first_table() {
    check(3, 3, "0 - X - X", [&[OK], &[OK], &[OK], &[OK]]);
    check(3, 3, "0 - - - -", [&[OK], &[OK], &[OK], &[OK]]);
    check(3, 3, "- - - - -", [&[INSUFFICIENT_DATA], &[KEPT], &[ALARM], &[OK]]);
    check(3, 3, "0 X X - X", [&[ALARM], &[ALARM], &[ALARM], &[ALARM]]);
    check(3, 3, "- - X - -", [&[ALARM], &[KEPT], &[ALARM], &[OK]]);
}

#[test]
fn two_of_three_is_decided_as_in_the_second_table() {
    check(2, 3, "0 - X - X", [&[ALARM], &[ALARM], &[ALARM], &[ALARM]]);
    check(2, 3, "0 0 X 0 X", [&[ALARM], &[ALARM], &[ALARM], &[ALARM]]);
    check(2, 3, "0 - X - -", [&[OK], &[OK], &[ALARM], &[OK]]);
    check(2, 3, "- - - - 0", [&[OK], &[OK], &[ALARM], &[OK]]);
    check(2, 3, "- - - X -", [&[ALARM], &[KEPT], &[ALARM], &[OK]]);
}

#[test]
fn a_young_breach_alone_does_not_alarm_yet() {
    // "the alarm does not go immediately into ALARM state": whether it is OK or stays as it was is left open.
    for row in ["- - - - X", "- - - X -"] {
        assert_eq!(rule(3, 3, MissingData::Missing).outcomes(&points(row)), [OK, KEPT], "{row}");
    }
    // The next value is a good one.
    for row in ["- - - X 0", "- - X - 0"] {
        assert_eq!(rule(3, 3, MissingData::Missing).outcomes(&points(row)), [OK], "{row}");
    }
}

#[test]
fn where_the_guide_contradicts_itself_both_are_possible() {
    // By the words "all other more recent data points are breaching or missing" it alarms; by the table's row 0 - X - -
    // a good value before the breach speaks against it, though that is two of three.
    assert_eq!(rule(3, 3, MissingData::Missing).outcomes(&points("0 - X - -")), [OK, ALARM]);
    // Older than N: "during the Evaluation Periods" in one paragraph, "during the evaluation range" in the next.
    assert_eq!(rule(3, 3, MissingData::Missing).outcomes(&points("- X - - -")), [ALARM, KEPT]);
}

#[test]
fn the_newest_values_decide_however_far_back_the_range_goes() {
    check(3, 3, "X X X 0 X X", [&[OK], &[OK], &[OK], &[OK]]);
    check(3, 3, "0 0 0 X X X", [&[ALARM], &[ALARM], &[ALARM], &[ALARM]]);
    check(1, 1, "X X 0", [&[OK], &[OK], &[OK], &[OK]]);
    check(1, 1, "0 0 X", [&[ALARM], &[ALARM], &[ALARM], &[ALARM]]);
    // One of one, and nothing newer: the last value is looked at again.
    check(1, 1, "0 X -", [&[ALARM], &[ALARM], &[ALARM], &[ALARM]]);
}

#[test]
fn the_threshold_itself_is_beyond_only_where_the_operator_says_so() {
    use Comparison::*;
    for (comparison, below, equal, above) in [
        (GreaterThanThreshold, false, false, true),
        (GreaterThanOrEqualToThreshold, false, true, true),
        (LessThanThreshold, true, false, false),
        (LessThanOrEqualToThreshold, true, true, false),
    ] {
        let rule = Rule { comparison, ..rule(1, 1, MissingData::Missing) };
        let found = [4.9, 5.0, 5.1].map(|value| rule.is_breached_by(value));
        assert_eq!(found, [below, equal, above], "{comparison:?}");
    }
}

#[test]
fn only_the_documented_range_is_certain() {
    assert_eq!(evaluation_ranges(3, 300), 5..=5);
    assert_eq!(evaluation_ranges(3, 60), 4..=8);
    assert_eq!(evaluation_ranges(1, 300), 2..=4);
    assert_eq!(evaluation_ranges(15, 60), 16..=32);
}

/// An alarm on the sum of a metric, in ALARM above 3.
fn alarm(period: u32, m: u32, n: u32, missing: &str) -> Alarm {
    serde_json::from_value(json!({
        "AlarmName": "a", "AlarmDescription": "", "ActionsEnabled": true,
        "Namespace": "N", "MetricName": "M", "Statistic": "Sum", "Period": period,
        "ComparisonOperator": "GreaterThanThreshold", "Threshold": 3,
        "EvaluationPeriods": n, "DatapointsToAlarm": m, "TreatMissingData": missing,
    }))
    .unwrap()
}

/// An alarm of all metrics with a dimension D, each with a state of its own.
fn alarm_of_contributors(missing: &str) -> Alarm {
    serde_json::from_value(json!({
        "AlarmName": "a", "AlarmDescription": "", "ActionsEnabled": true,
        "Metrics": [{
            "Id": "q1", "Period": 60, "ReturnData": true,
            "Expression": "SELECT SUM(M) FROM SCHEMA(N, D) GROUP BY D ORDER BY SUM() DESC",
        }],
        "ComparisonOperator": "GreaterThanThreshold", "Threshold": 3,
        "EvaluationPeriods": 1, "DatapointsToAlarm": 1, "TreatMissingData": missing,
    }))
    .unwrap()
}

/// A value a minute; none where it is negative.
fn feed(contributor: Option<&str>, values: &[f64]) -> Feed {
    let dimensions = contributor.map(|value| Dimension { name: "D".into(), value: value.into() });
    Feed {
        metric: Metric {
            namespace: "N".into(),
            metric_name: "M".into(),
            dimensions: dimensions.into_iter().collect(),
        },
        minutes: values.iter().map(|v| (*v >= 0.0).then(|| StatisticSet::of(*v))).collect(),
        delay: 0,
    }
}

/// What is certain after each minute, `?` where nothing is.
fn course(rehearsal: &Rehearsal) -> String {
    let letter = |evaluation: &Evaluation| match Vec::from_iter(evaluation.possible())[..] {
        [State::Ok] => '0',
        [State::Alarm] => 'X',
        [State::InsufficientData] => '-',
        _ => '?',
    };
    rehearsal.evaluations.iter().map(letter).collect()
}

#[track_caller]
fn follow(alarm: &Alarm, feeds: &[Feed], minutes: usize) -> Rehearsal {
    rehearse(alarm, feeds, 1_767_571_200, minutes).unwrap()
}

#[test]
fn three_of_three_alarms_with_the_third_and_ends_with_the_first_good_one() {
    // "Alarm evaluation": above the threshold in the third to the fifth period, below it in the sixth, above it in the
    // ninth alone.
    let feeds = [feed(None, &[2.0, 2.0, 4.0, 5.0, 4.0, 2.0, 1.0, 2.0, 4.0, 2.0])];
    assert_eq!(course(&follow(&alarm(60, 3, 3, "missing"), &feeds, 10)), "0000X00000");
}

#[test]
fn the_window_slides_by_the_minute() {
    // "at the end of minute 5 the alarm evaluates based on data from minutes 1 to 5. Then at the end of minute 6, .. from
    // minutes 2 to 6": a minute of 4 is in the windows that end with it and with the next four.
    let feeds = [feed(None, &[0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])];
    assert_eq!(course(&follow(&alarm(300, 1, 1, "missing"), &feeds, 12)), "00000XXXXX00");
}

#[test]
fn an_alarm_begins_with_insufficient_data() {
    for (missing, expected) in
        [("ignore", "---"), ("missing", "---"), ("notBreaching", "000"), ("breaching", "XXX")]
    {
        assert_eq!(course(&follow(&alarm(60, 1, 1, missing), &[], 3)), expected, "{missing}");
    }
}

#[test]
fn what_depends_on_how_far_back_cloudwatch_looks_is_uncertain() {
    // Good until the tenth minute, then nothing. With a range of 4 it is out of sight at 14m, with one of 8 at 18m.
    let feeds = [feed(None, &[0.0; 10])];
    let rehearsal = follow(&alarm(60, 3, 3, "breaching"), &feeds, 20);
    // Before there are three values, two or one are filled up: 2 of 3 breach at most, which is not 3.
    assert_eq!(course(&rehearsal), "0000000000000????XXX");
    assert_eq!(rehearsal.ranges, [4, 5, 6, 7, 8]);
    let at_15: Vec<_> =
        rehearsal.evaluations[14].states.iter().map(|states| states.first().copied()).collect();
    let [ok, alarm] = [Some(State::Ok), Some(State::Alarm)];
    assert_eq!(at_15, [alarm, alarm, ok, ok, ok]);
    // In each case it changes once.
    assert_eq!(rehearsal.changes(0, 19), (1, 1));
    assert_eq!(rehearsal.changes(0, 14), (0, 1));
}

#[test]
fn late_data_are_seen_late() {
    let late = |delay| [Feed { delay, ..feed(None, &[4.0, 4.0, 4.0, 4.0, 0.0, 0.0]) }];
    let alarm = alarm(60, 1, 1, "notBreaching");
    assert_eq!(course(&follow(&alarm, &late(0), 8)), "XXXX0000");
    assert_eq!(course(&follow(&alarm, &late(1), 8)), "0XXXX000");
    // One of one looks back on 2 to 4 minutes: with 2, none of these is ever there when it is looked for.
    assert_eq!(course(&follow(&alarm, &late(2), 8)), "00????00");
}

#[test]
fn an_alarm_of_contributors_is_in_alarm_while_one_of_them_is() {
    let a = feed(Some("a"), &[0.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
    let b = feed(Some("b"), &[0.0, 0.0, 4.0, 0.0, 4.0, 0.0]);
    assert_eq!(course(&follow(&alarm_of_contributors("missing"), &[a, b], 6)), "0XX0X0");
}

#[test]
fn a_contributor_that_is_gone_is_ok() {
    // One of one looks back on 2 to 4 minutes. The last value of b, 4 in the second minute, is out of sight at 4m or at 6m.
    let a = feed(Some("a"), &[0.0; 10]);
    let b = feed(Some("b"), &[0.0, 4.0]);
    for missing in ["missing", "ignore", "breaching", "notBreaching"] {
        let rehearsal = follow(&alarm_of_contributors(missing), &[a.clone(), b.clone()], 10);
        assert_eq!(rehearsal.evaluations[1].possible(), BTreeSet::from([State::Alarm]), "{missing}");
        assert!(course(&rehearsal).ends_with("00000"), "{missing}: {}", course(&rehearsal));
    }
}

#[test]
fn without_any_contributor_missing_data_count_as_they_should() {
    // "if the query returns an empty result (no time series at all), the treat missing data treatment is applied"
    let b = feed(Some("b"), &[0.0, 4.0]);
    for (missing, never, gone) in [
        ("missing", "-", "-----"),
        ("ignore", "-", "XXXXX"),
        ("breaching", "X", "XXXXX"),
        ("notBreaching", "0", "00000"),
    ] {
        let alarm = alarm_of_contributors(missing);
        assert_eq!(course(&follow(&alarm, &[], 1)), never, "{missing}");
        let rehearsal = follow(&alarm, std::slice::from_ref(&b), 10);
        assert!(course(&rehearsal).ends_with(gone), "{missing}: {}", course(&rehearsal));
    }
}

#[test]
fn what_is_not_modelled_is_refused() {
    let refused = |alarm: &Alarm| rehearse(alarm, &[], 0, 1).unwrap_err().to_string();
    assert!(refused(&alarm(30, 1, 1, "missing")).contains("periods of whole minutes"));
    assert!(refused(&alarm(3600, 1, 25, "missing")).contains("evaluated hourly"));
    assert!(refused(&alarm(60, 3, 2, "missing")).contains("1 <= M <= N"));
    assert!(
        refused(&alarm(60, 1, 181, "missing")).contains("found 181 evaluation periods; known: at most 180")
    );
    let long = Alarm { evaluation_periods: 181, ..alarm_of_contributors("missing") };
    assert!(refused(&long).contains("three hours"));
    let mut unordered = alarm_of_contributors("missing");
    let query = unordered.metrics[0].expression.as_mut().unwrap();
    *query = query.replace(" ORDER BY SUM() DESC", "");
    assert!(refused(&unordered).contains("needs ORDER BY"));
    let none = Alarm { period: None, ..alarm(60, 1, 1, "missing") };
    assert!(refused(&none).contains("neither queries nor a metric"));
    // Each a little on this side of the limit.
    assert!(rehearse(&alarm(3600, 1, 24, "missing"), &[], 0, 1).is_ok());
    let long = Alarm { evaluation_periods: 180, ..alarm_of_contributors("missing") };
    assert!(rehearse(&long, &[], 0, 1).is_ok());
}
