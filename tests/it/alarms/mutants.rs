//! Alarms that are a little wrong: the test files that ship find each of them out.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The thresholds that the default settings give, up to 1 TiB.
const THRESHOLDS: [(&str, f64); 6] = [
    ("${ClientLatencyMs}", 250.0),
    ("${CreditsLowBytes}", 754_974_720_000.0),
    ("${DepletionPageHours}", 1.0),
    ("${DepletionTicketHours}", 3.0),
    ("${IoLimitPercent}", 95.0),
    ("${ThroughputPercent}", 90.0),
];

/// Test files about quiet times and late data are left out: they take long, and these mistakes are not theirs.
const QUIET: [&str; 3] = ["-batch.toml", "-late.toml", "-many.toml"];

/// The alarms of which every test file passes when all of them are changed so.
fn not_found_out(change: impl Fn(&mut Value)) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("alarms");
    fs::create_dir(&mine).unwrap();
    fs::write(folder.path().join("efsmon.toml"), "").unwrap();
    let alarms = Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards/alarms");
    for entry in fs::read_dir(&alarms).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let mut alarm: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let before = alarm.clone();
        change(&mut alarm);
        assert_ne!(alarm, before, "{path:?}");
        fs::write(mine.join(path.file_name().unwrap()), alarm.to_string()).unwrap();
    }
    let tests = fs::read_dir(alarms.join("tests")).unwrap().map(|entry| entry.unwrap().path());
    let tests = tests.filter(|path| !QUIET.iter().any(|end| path.to_str().unwrap().ends_with(end)));
    let output = Command::new(env!("CARGO_BIN_EXE_efsmon"))
        .args(["alarms", "test", "--json", "--config", "efsmon.toml", "--templates", "."])
        .args(tests)
        .env_clear()
        .current_dir(folder.path())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = report["files"].as_array().unwrap();
    let kinds = |wanted: &dyn Fn(&Value) -> bool| {
        let files = files.iter().filter(|file| wanted(file));
        files.map(|file| file["alarm"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(kinds(&|_| true).len(), 9);
    kinds(&|_| true).difference(&kinds(&|file| file["passed"] == false)).cloned().collect()
}

#[track_caller]
fn all_are_found_out(change: impl Fn(&mut Value)) {
    assert_eq!(not_found_out(change), BTreeSet::new());
}

/// Adds to M, to N, or to both.
fn more(alarm: &mut Value, m: u64, n: u64) {
    for (key, more) in [("DatapointsToAlarm", m), ("EvaluationPeriods", n)] {
        alarm[key] = json!(alarm[key].as_u64().unwrap() + more);
    }
}

fn times(alarm: &mut Value, factor: f64) {
    let threshold = &mut alarm["Threshold"];
    let named = |name: &str| THRESHOLDS.iter().find(|(known, _)| *known == name).unwrap().1;
    let number = threshold.as_f64().unwrap_or_else(|| named(threshold.as_str().unwrap()));
    *threshold = json!(number * factor);
}

#[test]
fn the_threshold_itself_counts_or_does_not() {
    all_are_found_out(|alarm| {
        let operator = alarm["ComparisonOperator"].as_str().unwrap();
        let other = match operator.strip_suffix("OrEqualToThreshold") {
            Some(strict) => format!("{strict}Threshold"),
            None => operator.replace("Threshold", "OrEqualToThreshold"),
        };
        alarm["ComparisonOperator"] = json!(other);
    });
}

#[test]
fn a_threshold_that_is_a_hundredth_off_is_found_out() {
    all_are_found_out(|alarm| times(alarm, 1.01));
    // 0.99 stalled mounts are one.
    let whole = ["mount-stalled", "publisher-silent"].map(str::to_owned);
    assert_eq!(not_found_out(|alarm| times(alarm, 0.99)), BTreeSet::from(whole));
}

#[test]
fn one_more_period_is_found_out() {
    all_are_found_out(|alarm| more(alarm, 1, 0));
    all_are_found_out(|alarm| more(alarm, 0, 1));
}

#[test]
fn missing_data_that_count_for_something_else_are_found_out() {
    for treatment in ["missing", "ignore"] {
        all_are_found_out(|alarm| alarm["TreatMissingData"] = json!(treatment));
    }
}
