//! How CloudWatch decides on an alarm's state, pinned to the tables and sentences of the CloudWatch User Guide,
//! "Configuring how CloudWatch alarms treat missing data" and "Alarm evaluation".

use efsmon::alarm::state::{Outcome, Rule, State, evaluation_ranges};
use efsmon::alarm::{Comparison, MissingData};

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
