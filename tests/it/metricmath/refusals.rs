//! What CloudWatch refuses or had better not be asked, and texts of any kind.

use efsmon::metricmath::{Purpose, Query, Samples, Window, evaluate, parse};
use proptest::prelude::*;

use super::{Given, START, asked, expression, metric, minutes};

#[test]
fn alarms_do_not_use_what_depends_on_how_many_points_are_fetched() {
    let given = Given::series(&[("m1", "1 2"), ("m2", "3 4")]);
    for (text, what) in [
        ("m1 - AVG(m1)", "AVG of a series"),
        ("m1 / MAX(m1 + m2)", "MAX of a series"),
        ("m1 - MIN(m1)", "MIN of a series"),
        ("IF(SUM(m1) > 5, m1)", "SUM of a series"),
        ("m1 / DATAPOINT_COUNT(m1)", "DATAPOINT_COUNT of a series"),
        ("DATAPOINT_COUNT(METRICS())", "DATAPOINT_COUNT of an array of series"),
        ("SUM(REMOVE_EMPTY(METRICS()))", "REMOVE_EMPTY of an array of series"),
        ("RUNNING_SUM(m1)", "RUNNING_SUM of a series"),
    ] {
        let reason = "is not for alarms: it depends on how many points CloudWatch fetches, which is more than the \
                      alarm's periods";
        assert_eq!(given.refusal(text, Purpose::Alarm), format!("e: {what} {reason}"), "{text}");
        assert!(given.evaluate(text, Purpose::Graph).is_ok(), "{text}");
    }
    for text in
        ["SUM(METRICS())", "AVG([m1, m2])", "MAX(METRICS()) / MIN(METRICS())", "RATE(m1)", "FILL(m1, 0)"]
    {
        assert!(given.evaluate(text, Purpose::Alarm).is_ok(), "{text}");
    }
}

#[test]
fn alarms_neither_search_nor_watch_several_series() {
    let given = Given::series(&[("m1", "1 2"), ("m2", "3 4")]);
    let search = given.refusal("SUM(SEARCH('{N} MetricName=\"m1\"', 'Sum'))", Purpose::Alarm);
    assert_eq!(search, "e: SEARCH is not for alarms: CloudWatch refuses it");
    let array = given.refusal("METRICS() * 2", Purpose::Alarm);
    assert_eq!(array, "e: it gives an array of series: an alarm watches one");
}

#[test]
fn one_query_of_an_alarm_returns_data() {
    let refusal = |returning: [Option<bool>; 2]| {
        let [first, second] = returning;
        let queries = [
            Query { return_data: first, ..asked("m", metric("m", &[]), "Sum") },
            Query { return_data: second, ..expression("e", "m * 2") },
        ];
        evaluate(&queries, &Samples::default(), minutes(1), Purpose::Alarm)
            .err()
            .map(|refusal| refusal.to_string())
    };
    assert_eq!(refusal([Some(false), None]), None);
    assert_eq!(refusal([Some(true), Some(false)]), None);
    assert_eq!(refusal([None, Some(true)]).unwrap(), "e: just one query of an alarm has ReturnData true");
    assert_eq!(refusal([Some(false); 2]).unwrap(), "e: one query of an alarm has ReturnData true");
}

#[test]
fn a_scalar_may_be_a_step_but_not_a_result() {
    let given = Given::series(&[("m1", "1 2")]);
    for text in ["10", "AVG(m1)", "PERIOD(m1)", "2 > 1", "METRIC_COUNT([m1])"] {
        let refusal = given.refusal(text, Purpose::Graph);
        assert_eq!(
            refusal, "e: it gives a scalar: CloudWatch takes a series or an array of series",
            "{text}"
        );
    }
    let mut given = given;
    given.queries.push(expression("s", "PERIOD(m1) / 60"));
    given.expect("m1 * s", &["1 2"]);
}

#[track_caller]
fn refused(queries: &[Query], reason: &str) {
    let found = evaluate(queries, &Samples::default(), minutes(1), Purpose::Graph).unwrap_err();
    assert_eq!(found.to_string(), reason);
}

#[test]
fn ids_are_unique_and_defined_and_lead_in_no_circle() {
    let m = asked("m", metric("m", &[]), "Sum");
    for id in ["M1", "1m", "_m", "m-1", "m 1", "", "é"] {
        let reason =
            format!("{id}: an id begins with a lower-case letter and has letters, digits and _ only");
        refused(&[Query { id: id.into(), ..m.clone() }], &reason);
    }
    refused(&[m.clone(), expression("m", "1")], "m: two queries have this id");
    refused(&[m.clone(), expression("e", "m + n")], "e: no query has the id n");
    refused(&[expression("e", "PERIOD(n)")], "e: no query has the id n");
    refused(&[expression("e", "e + 1")], "e: it needs itself: e needs e");
    let circle = [
        m.clone(),
        expression("a", "b"),
        expression("b", "c + m"),
        expression("c", "[m, d]"),
        expression("d", "b"),
    ];
    refused(&circle, "b: it needs itself: b needs c needs d needs b");
    refused(&[Query { metric_stat: None, ..m.clone() }], "m: a query has either MetricStat or Expression");
    let both = Query { expression: Some("1".into()), ..m.clone() };
    refused(&[both], "m: a query has either MetricStat or Expression");
    refused(
        &[m, expression("e", "m"), expression("f", "PERIOD(e)")],
        "f: PERIOD takes a metric, and e is an expression",
    );
}

#[test]
fn queries_are_evaluated_in_whatever_order_they_come() {
    let mut given = Given::series(&[("m", "1")]);
    for step in (0..400).rev() {
        let text = if step == 0 { "m".to_owned() } else { format!("e{} + 1", step - 1) };
        given.queries.push(expression(&format!("e{step}"), &text));
    }
    given.expect("e399", &["400"]);
}

#[test]
fn cloudwatchs_limits_hold() {
    let many: Vec<Query> = (0..501).map(|index| expression(&format!("e{index}"), "1")).collect();
    refused(&many, "e500: there are more than 500 queries");
    let insights = "SELECT SUM(a) FROM b";
    refused(
        &[expression("q1", insights), expression("q2", insights)],
        "q2: there is more than one query of Metrics Insights",
    );
    assert_eq!(parse(&"1+".repeat(1025)).unwrap_err(), "the expression has more than 2048 characters");
    let window = |from, to, period| {
        let queries = [expression("e", "TIME_SERIES(1)")];
        evaluate(&queries, &Samples::default(), Window { from, to, period }, Purpose::Graph)
            .map_err(|e| e.to_string())
    };
    for period in [0, 10, 90] {
        let reason = format!("e: a period of {period} s is not modelled; known: multiples of 60 s");
        assert_eq!(window(START, START + 600, period).unwrap_err(), reason);
    }
    let long = "e: the window has more than 100800 periods of 60 s: take a longer period";
    assert_eq!(window(i64::MIN, i64::MAX, 60).unwrap_err(), long);
    assert_eq!(window(0, 100_801 * 60, 60).unwrap_err(), long);
    assert_eq!(window(0, 100_800 * 60, 60).unwrap()["e"][0].points.len(), 100_800);
    assert_eq!(window(START, START - 600, 60).unwrap()["e"][0].points.len(), 0);
}

#[test]
fn mistakes_and_what_is_not_modelled_are_named() {
    const VALUE: &str = "a number, an id, a function, -, ( or [";
    for (text, reason) in [
        ("", format!("character 1: found the end, allowed: {VALUE}")),
        ("m1 +", format!("character 5: found the end, allowed: {VALUE}")),
        ("m1 m2", "character 4: found \"m2\", allowed: an operator or the end".into()),
        ("(m1", "character 4: found the end, allowed: )".into()),
        ("m1)", "character 3: found ')', allowed: an operator or the end".into()),
        ("m1 = 2", "character 4: found '=', allowed: an operator or the end".into()),
        ("[]", format!("character 2: found ']', allowed: {VALUE}")),
        ("sum(m1)", "sum(..) is no function: their names are upper case, as SUM".into()),
        ("Sum", format!("character 1: found \"Sum\", allowed: {VALUE} (ids begin with a lower-case letter)")),
        ("m1 * 1e6", "character 6: found \"1e6\", allowed: digits, with a decimal point or without".into()),
        ("1.", "character 1: found \"1.\", allowed: digits, with a decimal point or without".into()),
        ("1.2.3", "character 1: found \"1.2.3\", allowed: digits, with a decimal point or without".into()),
        (".5", format!("character 1: found '.', allowed: {VALUE}")),
        ("\u{1b}[31m", format!("character 1: found '\\u{{1b}}', allowed: {VALUE}")),
        ("m1 AND m2 OR m3", "AND beside OR at character 11 needs parentheses".into()),
        ("m1 < m2 < m3", "one comparison after another before character 11 needs parentheses".into()),
        ("-m1^2", "a power before character 6 needs parentheses: it has more than one reading".into()),
        ("m1^2^3", "a power before character 6 needs parentheses: it has more than one reading".into()),
        ("PERIOD(m1 + m2)", "PERIOD takes the id of a metric, and no expression".into()),
        ("PERIOD(60)", "PERIOD takes the id of a metric, and no expression".into()),
        ("METRICS('r')", "character 9: found '\\'', allowed: a text in \"..\"".into()),
        (
            "SORT(METRICS(), STDDEV, ASC)",
            "character 17: found \"STDDEV\", allowed: AVG, MAX, MIN or SUM".into(),
        ),
        ("SORT(METRICS(), AVG, UP)", "character 22: found \"UP\", allowed: ASC or DESC".into()),
        ("IF(m1)", "character 6: found ')', allowed: ,".into()),
        ("IF(m1, 1, 2, 3)", "character 12: found ',', allowed: )".into()),
        (
            "STDDEV(m1)",
            "STDDEV is not modelled: CloudWatch does not say whether it divides by n or by n - 1".into(),
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), reason, "{text}");
    }
    let known = "ABS, AVG, CEIL, DATAPOINT_COUNT, DIFF, DIFF_TIME, FILL, FIRST, FLOOR, IF, LAST, LOG, LOG10, MAX, \
                 METRICS, METRIC_COUNT, MIN, PERIOD, RATE, REMOVE_EMPTY, RUNNING_SUM, SEARCH, SLICE, SORT, SUM, TIME_SERIES";
    for name in [
        "ANOMALY_DETECTION_BAND",
        "DB_PERF_INSIGHTS",
        "HOUR",
        "INSIGHT_RULE_METRIC",
        "LAMBDA",
        "SERVICE_QUOTA",
        "NOSUCH",
    ] {
        assert_eq!(
            parse(&format!("{name}(m1)")).unwrap_err(),
            format!("{name}(..) is not modelled; known: {known}")
        );
    }
}

#[test]
fn functions_say_what_they_take() {
    let given = Given::series(&[("m1", "1 2")]);
    for (text, reason) in [
        ("ABS(2)", "ABS takes a series or an array of series, not a scalar"),
        ("SUM(2)", "SUM takes a series or an array of series, not a scalar"),
        ("FIRST(m1)", "FIRST takes an array of series, not a series"),
        ("METRIC_COUNT(m1)", "METRIC_COUNT takes an array of series, not a series"),
        ("TIME_SERIES(m1)", "TIME_SERIES takes a scalar, not a series"),
        ("SORT(m1, AVG, ASC)", "SORT takes an array of series, not a series"),
        ("SLICE(m1, 0)", "SLICE takes an array of series, not a series"),
        ("SLICE(METRICS(), m1)", "SLICE takes a number of series, not a series"),
        ("SLICE(METRICS(), -1)", "SLICE takes a number of series, not -1"),
        ("SORT(METRICS(), AVG, ASC, 1.5)", "SORT takes a number of series, not 1.5"),
        ("FILL(1, 2)", "FILL takes a series or an array of series, not a scalar"),
        ("FILL(m1, METRICS())", "FILL of a series with an array of series is not modelled"),
        ("[m1, 2]", "[..] takes series, not a scalar"),
    ] {
        assert_eq!(given.refusal(text, Purpose::Graph), format!("e: {reason}"), "{text}");
    }
}

#[test]
fn what_grows_without_bound_is_refused() {
    for (open, close) in [("(", ")"), ("[", "]"), ("ABS(", ")"), ("-", ""), ("1^-(", ")"), ("IF(1,m,", ")")] {
        let deep = |times| format!("{}m{}", open.repeat(times), close.repeat(times));
        let text = deep(250);
        let reason = "more than 50 parts stand in one another: give some an id of their own";
        assert_eq!(parse(&text).unwrap_err(), reason, "{open}");
        assert!(parse(&deep(20)).is_ok(), "{open}");
    }
    let long = Given::series(&[("m", "1")]);
    long.expect(&format!("m{}", "+1".repeat(1000)), &["1001"]);
    let mut given = Given::series(&[("m", "1")]);
    for step in 1..9 {
        let before = if step == 1 { "m".to_owned() } else { format!("e{}", step - 1) };
        given.queries.push(expression(&format!("e{step}"), &format!("[{}]", vec![before; 100].join(","))));
    }
    let refusal = given.refusal("e8", Purpose::Graph);
    assert_eq!(refusal, "e2: an array of more than 500 series is not modelled");
}

/// Parts of expressions, of which random texts are made that come far.
fn pieces() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "m1",
        "m2",
        "e",
        "1",
        "0",
        "2.5",
        "-",
        "+",
        "*",
        "/",
        "^",
        "==",
        "<",
        "AND",
        "||",
        "(",
        ")",
        "[",
        "]",
        ",",
        "IF(",
        "FILL(",
        "REPEAT",
        "LINEAR",
        "SORT(",
        "AVG",
        "DESC",
        "SLICE(",
        "METRICS()",
        "METRICS(\"1\")",
        "PERIOD(m1)",
        "RATE(",
        "SUM(",
        "MAX(",
        "FIRST(",
        "TIME_SERIES(",
        "LOG(",
        "RUNNING_SUM(",
        "SEARCH('{N} MetricName=\"m1\"', 'Sum')",
        "SELECT",
        "FROM",
        "SCHEMA(",
        "WHERE",
        "GROUP BY",
        "ORDER BY",
        "LIMIT",
        "'x'",
        "\"y\"",
        "\\",
        "é",
        " ",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![any::<String>(), pieces()]) {
        let given = Given::series(&[("m1", "1 - 0"), ("m2", "- 5 -3")]);
        for purpose in [Purpose::Graph, Purpose::Alarm] {
            if let Ok(series) = given.evaluate(&text, purpose) {
                let finite = |value: &f64| value.is_finite();
                prop_assert!(series.iter().all(|series| series.points.values().all(finite)));
            }
        }
    }

    #[test]
    fn no_time_makes_it_panic(from: i64, to: i64, period: u32, at: i64, value: f64) {
        let mut samples = Samples::default();
        samples.put_value(metric("m", &[]), at, value);
        samples.put_value(metric("m", &[]), at, value);
        let queries = [asked("m", metric("m", &[]), "Average"), expression("e", "FILL(RATE(m), LINEAR)")];
        for to in [to, from.saturating_add(1000)] {
            for period in [period, 60] {
                let _ = evaluate(&queries, &samples, Window { from, to, period }, Purpose::Graph);
            }
        }
    }
}
