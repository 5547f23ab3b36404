//! What people and programs are told, and what CloudWatch is asked.

use std::process::Output;
use std::time::{SystemTime, UNIX_EPOCH};

use ciborium::Value as Cbor;
use serde_json::{Value, json};

use crate::account::Account;
use crate::daemon::early_in_a_minute;
use crate::fake::cloudwatch::metric_data::{MetricData, Minute};
use crate::fake::cloudwatch::{Fault, member, text};

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;
const TIB: f64 = 1_099_511_627_776.0;

const FS: &str = "fs-0123456789abcdef0";

/// An account whose figures are of the minutes up to now, in a minute that does not end meanwhile.
fn account() -> Account {
    early_in_a_minute();
    Account::start()
}

/// The start of the minute that the machine's clock is in, in seconds since 1970.
fn this_minute() -> i64 {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    seconds - seconds % 60
}

/// The same value in each of the last `minutes` minutes, but for the newest `skipped`.
fn level(data: &mut MetricData, file_system: &str, metric: &str, value: f64, minutes: i64, skipped: i64) {
    for minute in skipped + 1..=minutes {
        data.put(file_system, metric, this_minute() - 60 * minute, Minute::one(value));
    }
}

/// A file system of which the last `minutes` are known: its balance falls by `fall` bytes a minute to `balance`.
fn seed(
    account: &Account,
    file_system: &str,
    minutes: i64,
    balance: (f64, f64),
    permitted: f64,
    metered: f64,
) {
    account.cloudwatch.metric_data(|data| {
        for minute in 1..=minutes {
            let at = this_minute() - 60 * minute;
            let level = balance.0 + balance.1 * (minute - 1) as f64;
            data.put(file_system, "BurstCreditBalance", at, Minute::one(level));
            data.put(file_system, "PermittedThroughput", at, Minute::one(permitted));
            let bytes = metered * 60.0;
            let minute = Minute { sum: bytes, count: 1_000.0, minimum: 4_096.0, maximum: bytes };
            data.put(file_system, "MeteredIOBytes", at, minute);
        }
    });
}

fn describe(account: &Account, file_system: &'static str, mode: &str, standard: f64, more: Value) {
    account.efs.create(file_system, &[]);
    let mut members = json!({
        "ThroughputMode": mode,
        "SizeInBytes": {"Value": standard as u64, "ValueInStandard": standard as u64},
    });
    for (name, value) in more.as_object().unwrap() {
        members[name] = value.clone();
    }
    account.efs.describe(file_system, members);
}

/// One bursting file system of 1 TiB: 50 MiB/s are earned.
fn tebibyte(balance: f64, permitted: f64, metered: f64) -> Account {
    let account = account();
    describe(&account, FS, "bursting", TIB, json!({"Name": "home"}));
    seed(&account, FS, 360, (balance, 0.0), permitted, metered);
    account
}

#[track_caller]
fn stdout(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The line that begins with that word.
#[track_caller]
fn line<'t>(text: &'t str, title: &str) -> &'t str {
    let found = text.lines().find(|line| line.starts_with(title));
    found.unwrap_or_else(|| panic!("no {title} in\n{text}"))
}

fn told(account: &Account) -> String {
    stdout(&account.efsmon(&["credits", FS]))
}

fn parsed(account: &Account, arguments: &[&str]) -> Value {
    let output = account.efsmon(&[&["credits", "--json"], arguments].concat());
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn a_file_system_that_drains_is_told_when_its_credits_are_gone() {
    // 90 GiB at 80 - 50 MiB/s: 92,160 / 30 = 3,072 s. At 100 MiB/s, of burst: 92,160 / 50 = 1,843 s.
    let account = tebibyte(90.0 * GIB, 100.0 * MIB, 80.0 * MIB);
    let text = told(&account);
    assert!(text.starts_with("fs-0123456789abcdef0  home\nTO DEPLETION  51 min at this burn, at "), "{text}");
    assert_eq!(line(&text, "credits"), "credits       90.0 GiB, 4.2 % of 2.10 TiB: 30 min of burst");
    assert_eq!(line(&text, "throughput"), "throughput    permitted 100 MiB/s; baseline 50.0 MiB/s");
    assert!(
        line(&text, "burn").starts_with("burn          80.0 MiB/s, the mean of 15 minutes to "),
        "{text}"
    );
    assert!(text.contains("This asked CloudWatch for 3 metrics in 1 request: $0.00003\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let outlook = parsed(&account, &[])["file_systems"][0]["outlook"].clone();
    let expected = json!({"state": "draining", "seconds": 3_072.0, "since": null, "since_or_before": null});
    assert_eq!(outlook, expected);
}

#[test]
fn a_file_system_that_fills_is_told_when_it_is_full() {
    // (2.1 - 1.05) TiB, 1,101,004.8 MiB, at 50 - 30 MiB/s: 55,050 s.
    let text = told(&tebibyte(1.05 * TIB, 100.0 * MIB, 30.0 * MIB));
    assert!(text.contains("\nTO REFILL     15 h 17 min at this burn, at "), "{text}");
    assert!(line(&text, "credits").contains("1.05 TiB, 50.0 % of 2.10 TiB"), "{text}");
}

#[test]
fn what_is_ages_off_has_no_date() {
    // A thousandth of a byte a second more than is earned: a TiB lasts for 35 million years.
    let text = told(&tebibyte(TIB, 100.0 * MIB, 50.0 * MIB + 0.001));
    assert!(line(&text, "TO DEPLETION  12,7").ends_with(" d at this burn"), "{text}");
}

#[test]
fn a_full_file_system_does_not_drain() {
    let text = told(&tebibyte(2.1 * TIB, 100.0 * MIB, 0.0));
    assert!(text.contains("\nFULL          not draining\n"), "{text}");
    assert!(line(&text, "burn").contains(" 0.00 MiB/s, the mean of 15 minutes to "), "{text}");
    // 12 h 14 min: 2,202,009.6 MiB at 100 - 50 MiB/s.
    assert!(
        line(&text, "credits").ends_with("2.10 TiB, 100.0 % of 2.10 TiB: 12 h 14 min of burst"),
        "{text}"
    );
}

#[test]
fn an_empty_one_is_throttled_since_a_time_and_its_demand_is_at_least_what_it_gets() {
    let account = account();
    describe(&account, FS, "bursting", TIB, json!({}));
    let since = this_minute() - 60 * 120;
    account.cloudwatch.metric_data(|data| {
        for minute in 1..=180 {
            let at = this_minute() - 60 * minute;
            let (balance, limit) = if at < since { (TIB, 100.0 * MIB) } else { (0.0, 50.0 * MIB) };
            data.put(FS, "BurstCreditBalance", at, Minute::one(balance));
            data.put(FS, "PermittedThroughput", at, Minute::one(limit));
            data.put(FS, "MeteredIOBytes", at, Minute::one(limit * 0.96 * 60.0));
        }
    });
    let text = told(&account);
    assert!(line(&text, "EMPTY").contains(": throttled to the baseline"), "{text}");
    assert!(!line(&text, "EMPTY").contains("before"), "{text}");
    let burn = "burn          at least 48.0 MiB/s: at the limit in 15 of 15 min to ";
    assert!(line(&text, "burn").starts_with(burn), "{text}");
    // What was before the 180 minutes is not known, and that is no zero.
    assert!(line(&text, "balance       ·····").contains("·█"), "{text}");
    assert!(text.contains("; · no data."), "{text}");
    let json = parsed(&account, &[]);
    let seen = &json["file_systems"][0];
    let at = |text: &Value| text.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
    assert_eq!((seen["outlook"]["state"].as_str(), at(&seen["outlook"]["since"])), (Some("empty"), since));
    assert_eq!(seen["outlook"]["since_or_before"], false);
    assert_eq!((&seen["burn"]["at_least"], &seen["burn"]["minutes_at_limit"]), (&json!(true), &json!(15)));
}

#[test]
fn one_that_is_empty_as_far_back_as_is_known_may_have_been_so_before() {
    let text = told(&tebibyte(0.0, 50.0 * MIB, 50.0 * MIB));
    assert!(line(&text, "EMPTY").starts_with("EMPTY         since before "), "{text}");
}

#[test]
fn elastic_has_no_credits_and_is_not_asked_for_any() {
    let account = account();
    describe(&account, FS, "elastic", GIB, json!({}));
    account.cloudwatch.metric_data(|data| {
        level(data, FS, "PermittedThroughput", 5.0 * GIB, 30, 0);
        level(data, FS, "MeteredIOBytes", 60.0 * 19.5 * MIB, 30, 0);
    });
    let text = told(&account);
    assert!(text.contains("\nNO CREDITS    in elastic mode\n"), "{text}");
    assert_eq!(line(&text, "throughput"), "throughput    permitted 5,120 MiB/s");
    assert!(line(&text, "burn").contains(" 19.5 MiB/s"), "{text}");
    assert!(!text.contains("balance  "), "{text}");
    assert!(text.contains("for 2 metrics in 1 request: $0.00002\n"), "{text}");
}

#[test]
fn provisioned_has_credits_when_its_storage_earns_more() {
    for (mibps, expected) in [
        (300.0, "NO CREDITS    more is provisioned than the storage earns"),
        // 90 GiB at 80 - 50 MiB/s.
        (20.0, "TO DEPLETION  51 min at this burn, at "),
    ] {
        let account = account();
        describe(&account, FS, "provisioned", TIB, json!({"ProvisionedThroughputInMibps": mibps}));
        seed(&account, FS, 30, (90.0 * GIB, 0.0), 300.0 * MIB, 80.0 * MIB);
        let text = told(&account);
        assert!(text.contains(expected), "{text}");
        assert!(text.contains(&format!("\nmode          provisioned, {mibps:.0}")), "{text}");
    }
}

#[test]
fn what_cloudwatch_does_not_have_is_no_zero() {
    let account = account();
    describe(&account, FS, "bursting", GIB, json!({}));
    let text = told(&account);
    let unknown = "UNKNOWN       no BurstCreditBalance in the last 6 h: new, or not mounted\n";
    assert!(text.contains(unknown), "{text}");
    assert!(text.contains("permitted: no data of PermittedThroughput; baseline 0.05 MiB/s"), "{text}");
    assert_eq!(line(&text, "burn"), "burn          unknown: no data of MeteredIOBytes");
    let seen = parsed(&account, &[])["file_systems"][0].clone();
    assert_eq!(seen["credits"]["balance_bytes"], Value::Null);
    assert_eq!((&seen["burn"], &seen["permitted"]), (&Value::Null, &Value::Null));
    assert_eq!(seen["graph"]["lowest_balance_bytes"][0], Value::Null);
}

#[test]
fn a_balance_of_long_ago_is_said_to_be_old() {
    let account = account();
    describe(&account, FS, "bursting", TIB, json!({}));
    account.cloudwatch.metric_data(|data| {
        level(data, FS, "BurstCreditBalance", TIB, 60, 20);
        level(data, FS, "MeteredIOBytes", 0.0, 60, 20);
    });
    let text = told(&account);
    assert!(line(&text, "credits").contains("1.00 TiB, 47.6 % of 2.10 TiB; OLD: of "), "{text}");
    let unknown = "\nUNKNOWN       no BurstCreditBalance in the last 15 minutes: not mounted?\n";
    assert!(text.contains(unknown), "{text}");
    assert!(
        line(&text, "burn").starts_with("burn          unknown: no data of MeteredIOBytes since "),
        "{text}"
    );
}

#[test]
fn what_is_used_now_does_not_drain_a_balance_of_long_ago() {
    // 90 GiB at 100 - 50 MiB/s were gone after 31 minutes, which is half an hour ago.
    let account = account();
    describe(&account, FS, "bursting", TIB, json!({}));
    account.cloudwatch.metric_data(|data| {
        level(data, FS, "BurstCreditBalance", 90.0 * GIB, 90, 60);
        level(data, FS, "MeteredIOBytes", 60.0 * 100.0 * MIB, 90, 0);
    });
    let text = told(&account);
    assert!(text.contains("\nUNKNOWN       no BurstCreditBalance in the last 15 minutes: "), "{text}");
    assert!(line(&text, "credits").contains("90.0 GiB, 4.2 % of 2.10 TiB; OLD: of "), "{text}");
    let outlook = parsed(&account, &[])["file_systems"][0]["outlook"].clone();
    assert_eq!((&outlook["state"], &outlook["seconds"]), (&json!("no_balance"), &Value::Null));
}

#[test]
fn more_than_three_are_a_table_with_the_worst_first() {
    let account = account();
    account.efs.set_page(100);
    for (id, name, mode) in [
        ("fs-00000001", "full", "bursting"),
        ("fs-00000002", "elastic \u{1b}[2J", "elastic"),
        ("fs-00000003", "slowly", "bursting"),
        ("fs-00000004", "empty", "bursting"),
        ("fs-00000005", "soon", "bursting"),
        ("fs-00000006", "new", "bursting"),
    ] {
        describe(&account, id, mode, TIB, json!({ "Name": name }));
    }
    seed(&account, "fs-00000001", 30, (2.1 * TIB, 0.0), 100.0 * MIB, 0.0);
    seed(&account, "fs-00000003", 30, (TIB, 0.0), 100.0 * MIB, 60.0 * MIB);
    seed(&account, "fs-00000004", 30, (0.0, 0.0), 50.0 * MIB, 50.0 * MIB);
    seed(&account, "fs-00000005", 30, (90.0 * GIB, 0.0), 100.0 * MIB, 100.0 * MIB);
    let text = stdout(&account.efsmon(&["credits"]));
    // 1,048,576 / 10 s; 92,160 / 50 s.
    let rows: Vec<Vec<&str>> =
        text.lines().skip(1).take(6).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["fs-00000004", "empty", "0.0%", ">50.0", "50.0", "empty", "over", "30m"]);
    assert_eq!(rows[1], ["fs-00000005", "soon", "4.2%", ">100", "100", "gone", "in", "30m"]);
    assert_eq!(rows[2], ["fs-00000003", "slowly", "47.6%", "60.0", "100", "gone", "in", "1d5h"]);
    assert_eq!(rows[3], ["fs-00000006", "new", "-", "-", "-", "no", "data"]);
    assert_eq!(rows[4], ["fs-00000001", "full", "100.0%", "0.00", "100", "full"]);
    assert_eq!(rows[5], ["fs-00000002", "elastic", "\\x1b[2J", "-", "-", "-", "elastic"]);
    let sum = "6 file systems in eu-west-1: 1 empty, 2 draining, 1 not draining, 1 without\n\
               credits, 1 without data\n";
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains(sum), "{text}");
    // 5 x 3 + 2.
    assert!(text.contains("for 17 metrics in 1 request: $0.00017\n"), "{text}");
}

/// Ids that live as long as the test.
fn ids(number: u32) -> impl Iterator<Item = &'static str> {
    (0..number).map(|index| &*Box::leak(format!("fs-{index:08x}").into_boxed_str()))
}

#[test]
fn six_hundred_file_systems_take_several_requests_and_cost_what_is_printed() {
    let account = account();
    account.efs.set_page(100);
    for id in ids(600) {
        describe(&account, id, "bursting", GIB, json!({}));
        seed(&account, id, 3, (TIB, 0.0), 100.0 * MIB, 0.0);
    }
    let text = stdout(&account.efsmon(&["credits", "--hours", "1"]));
    // 1,800 metrics, 500 a request.
    assert!(text.contains("This asked CloudWatch for 1,800 metrics in 4 requests: $0.018\n"), "{text}");
    assert!(text.contains("600 file systems in eu-west-1: 600 refilling\n"), "{text}");
    let sizes = |account: &Account| {
        let calls = account.cloudwatch.calls();
        let queries =
            calls.iter().map(|call| member(&call.body, "MetricDataQueries").unwrap().as_array().unwrap());
        queries.map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&account), [500, 500, 500, 300]);
    // 360 points each: no more than 280 on a page of 100,800.
    stdout(&account.efsmon(&["credits", "--json"]));
    assert_eq!(sizes(&account)[4..], [280, 280, 280, 280, 280, 280, 120]);
}

fn times(call: &Cbor) -> (i64, i64) {
    let time = |name| match member(call, name) {
        Some(Cbor::Tag(1, seconds)) => match **seconds {
            Cbor::Float(seconds) => seconds as i64,
            ref whole => whole.as_integer().unwrap().try_into().unwrap(),
        },
        other => panic!("{other:?}"),
    };
    (time("StartTime"), time("EndTime"))
}

#[test]
fn the_requests_are_for_whole_periods_and_the_right_statistics() {
    let account = tebibyte(TIB, 100.0 * MIB, 0.0);
    told(&account);
    let call = &account.cloudwatch.calls()[0].body;
    let (from, to) = times(call);
    assert_eq!((to % 60, to - from), (0, 21_600));
    assert_eq!(text(call, "ScanBy"), Some("TimestampAscending"));
    let queries = member(call, "MetricDataQueries").unwrap().as_array().unwrap();
    let asked = queries.iter().map(|query| {
        let stat = member(query, "MetricStat").unwrap();
        let metric = member(stat, "Metric").unwrap();
        assert_eq!(text(metric, "Namespace"), Some("AWS/EFS"));
        (text(metric, "MetricName").unwrap(), text(stat, "Stat").unwrap())
    });
    let expected =
        [("BurstCreditBalance", "Minimum"), ("PermittedThroughput", "Average"), ("MeteredIOBytes", "Sum")];
    assert_eq!(asked.collect::<Vec<_>>(), expected);
}

#[test]
fn ten_days_are_asked_for_in_five_minutes_and_the_last_hour_by_the_minute() {
    let account = tebibyte(90.0 * GIB, 100.0 * MIB, 80.0 * MIB);
    let text = stdout(&account.efsmon(&["credits", "--hours", "240"]));
    assert!(text.contains("\nTO DEPLETION  51 min at this burn, at "), "{text}");
    assert!(text.contains("for 6 metrics in 2 requests: $0.00006\n"), "{text}");
    let calls = account.cloudwatch.calls();
    let ((from, middle), (start, to)) = (times(&calls[0].body), times(&calls[1].body));
    assert_eq!((from % 300, middle % 300, middle), (0, 0, start));
    assert!((3_600..3_900).contains(&(to - start)), "{start} {to}");
    assert!((240 * 3_600..240 * 3_600 + 300).contains(&(to - from)), "{from} {to}");
    // The graph's use is a rate in both.
    assert!(line(&text, "metered").ends_with("  0..80.0 MiB/s"), "{text}");
}

#[test]
fn pages_are_put_together_and_each_is_counted() {
    let account = tebibyte(90.0 * GIB, 100.0 * MIB, 80.0 * MIB);
    account.cloudwatch.metric_data(|data| data.set_page(500));
    // 3 x 360 points, 500 a page: three requests for three metrics.
    let json = parsed(&account, &[]);
    assert_eq!((&json["asked"]["requests"], &json["asked"]["metrics"]), (&json!(3), &json!(9)));
    assert_eq!(json["file_systems"][0]["outlook"]["seconds"], 3_072.0);
    let graph = &json["file_systems"][0]["graph"];
    for key in ["lowest_balance_bytes", "mean_metered_bytes_per_second"] {
        let columns = graph[key].as_array().unwrap();
        assert_eq!(columns.len(), 45);
        // The clock may have passed a minute since the account was made.
        assert!(columns[..44].iter().all(|column| !column.is_null()), "{key}: {columns:?}");
    }
}

#[test]
fn what_cloudwatch_says_of_its_answer_is_told() {
    let account = tebibyte(TIB, 100.0 * MIB, 0.0);
    account.cloudwatch.metric_data(|data| {
        data.say("MaxMetricsExceeded", "Maximum number of allowed metrics exceeded");
        data.spoil("PermittedThroughput", "InternalError", None);
        data.spoil("MeteredIOBytes", "PartialData", Some(("Slow", "evil \u{1b}[2J")));
    });
    let output = account.efsmon(&["credits", FS]);
    let text = stdout(&output);
    assert!(text.contains("permitted: no data of PermittedThroughput"), "{text}");
    let notes = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = notes.lines().collect();
    assert_eq!(
        lines,
        [
            "efsmon: CloudWatch: MaxMetricsExceeded: Maximum number of allowed metrics exceeded",
            "efsmon: CloudWatch: MeteredIOBytes of fs-0123456789abcdef0: Slow: evil \\x1b[2J",
            "efsmon: CloudWatch: PermittedThroughput of fs-0123456789abcdef0: InternalError: some of its data are missing",
            "efsmon: CloudWatch: MeteredIOBytes of fs-0123456789abcdef0: PartialData: some of its data are missing",
        ]
    );
}

#[test]
fn a_refusal_names_the_action_and_the_statement_to_add() {
    let account = tebibyte(TIB, 100.0 * MIB, 0.0);
    account.cloudwatch.fail_calls("GetMetricData", 9, Fault::AccessDenied);
    let output = account.efsmon(&["credits"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("efsmon: cloudwatch:GetMetricData on * is refused ("), "{stderr}");
    let statement = r#"{"Action":"cloudwatch:GetMetricData","Effect":"Allow","Resource":"*"}"#;
    assert!(stderr.contains(statement), "{stderr}");
}

#[test]
fn a_file_system_that_is_not_there_is_named() {
    let output = account().efsmon(&["credits", FS]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(FS) && stderr.contains("FileSystemNotFound"), "{stderr}");
}

#[test]
fn an_account_without_file_systems_costs_nothing() {
    let account = account();
    assert_eq!(stdout(&account.efsmon(&["credits"])), "no EFS file systems in eu-west-1\n");
    assert_eq!(account.cloudwatch.calls(), []);
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_keys_of_the_json_stay() {
    let account = tebibyte(90.0 * GIB, 100.0 * MIB, 80.0 * MIB);
    let report = parsed(&account, &[]);
    assert_eq!(keys(&report), ["asked", "file_systems", "from", "messages", "region", "to"]);
    assert_eq!(keys(&report["asked"]), ["metrics", "price_as_of", "price_region", "requests", "usd"]);
    assert_eq!(report["asked"]["usd"], 0.00003);
    let seen = &report["file_systems"][0];
    assert_eq!(
        keys(seen),
        [
            "archive_bytes",
            "baseline_bytes_per_second",
            "burn",
            "credits",
            "file_system_id",
            "graph",
            "infrequent_bytes",
            "mode",
            "name",
            "outlook",
            "permitted",
            "permitted_without_credits_bytes_per_second",
            "provisioned_mibps",
            "standard_bytes",
            "zone",
        ]
    );
    let credits = ["at", "balance_bytes", "burst_seconds", "cap_bytes", "earned_bytes_per_second", "is_old"];
    assert_eq!(keys(&seen["credits"]), credits);
    assert_eq!(keys(&seen["burn"]), ["at_least", "bytes_per_second", "minutes", "minutes_at_limit", "until"]);
    assert_eq!(keys(&seen["permitted"]), ["at", "bytes_per_second", "is_old"]);
    assert_eq!(keys(&seen["outlook"]), ["seconds", "since", "since_or_before", "state"]);
    let graph = ["lowest_balance_bytes", "mean_metered_bytes_per_second", "step_seconds"];
    assert_eq!(keys(&seen["graph"]), graph);
    assert_eq!(seen["credits"]["balance_bytes"], 90.0 * GIB);
    assert_eq!(seen["credits"]["cap_bytes"], 2.1 * TIB);
    assert_eq!(seen["baseline_bytes_per_second"], 50.0 * MIB);
}
