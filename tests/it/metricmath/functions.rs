//! The functions, one by one.

use efsmon::metricmath::{Purpose, Query, Window, evaluate};

use super::{Given, START, asked, expression, levels, metric, minutes, ok};

fn given() -> Given {
    Given::series(&[("r1", "1 - 4 7"), ("r2", "10 20 - 10"), ("w1", "- - 2 -")])
}

#[test]
fn one_value_of_a_series() {
    // A period without a point counts 0 in the average, as AVG's line in the guide says: 12 / 4.
    given().expect("r1 - AVG(r1)", &["-2 - 1 4"]);
    given().expect("r1 - SUM(r1)", &["-11 - -8 -5"]);
    given().expect("r1 - MIN(r1)", &["0 - 3 6"]);
    given().expect("MAX(r1)/r1", &["7 - 1.75 1"]);
    given().expect("r1 * 0 + SUM(r1) / DATAPOINT_COUNT(r1)", &["4 - 4 4"]);
}

#[test]
fn one_series_of_an_array() {
    given().expect("SUM([r1, r2])", &["11 20 4 17"]);
    given().expect("SUM(METRICS())", &["11 20 6 17"]);
    given().expect("AVG([r1, r2])", &["5.5 10 2 8.5"]);
    given().expect("MIN(METRICS())", &["1 20 2 7"]);
    given().expect("MAX(METRICS())", &["10 20 4 10"]);
    given().expect("DATAPOINT_COUNT(METRICS())", &["2 1 2 2"]);
    given().expect("FIRST(METRICS())", &["1 - 4 7"]);
    given().expect("LAST(METRICS())", &["- - 2 -"]);
    given().expect("r1/METRIC_COUNT(METRICS())*3", &["1 - 4 7"]);
}

/// An array of the one series r1 + r2 is that series, while a series by itself would become one number.
#[test]
fn the_sum_of_a_series_is_a_scalar_and_that_of_an_array_a_series() {
    given().expect("SUM([r1 + r2])", &["11 20 4 17"]);
    given().expect("r1 * 0 + SUM(r1)", &["12 - 12 12"]);
    let refusal = given().refusal("SUM(r1 + r2)", Purpose::Graph);
    assert_eq!(refusal, "e: it gives a scalar: CloudWatch takes a series or an array of series");
}

#[test]
fn metrics_are_chosen_by_their_ids_and_expressions_are_none() {
    let mut given = given();
    given.queries.push(expression("r3", "r1 * 1000"));
    given.expect("METRICS()", &["1 - 4 7", "10 20 - 10", "- - 2 -"]);
    given.expect("SUM(METRICS(\"r\"))", &["11 20 4 17"]);
    given.expect("SUM([METRICS(\"1\"), METRICS(\"2\")])", &["11 20 6 17"]);
    given.expect("METRICS(\"x\")", &[]);
    given.expect("[r3, r1]", &["1000 - 4000 7000", "1 - 4 7"]);
}

#[test]
fn each_value_by_itself() {
    let given = Given::series(&[("m", "-1.5 - 100 0")]);
    given.expect("ABS(m)", &["1.5 - 100 0"]);
    given.expect("CEIL(m)", &["-1 - 100 0"]);
    given.expect("FLOOR(m)", &["-2 - 100 0"]);
    // Of nothing and less there is no logarithm.
    given.expect("LOG10(m)", &["- - 2 -"]);
    given.expect("LOG(m) / LOG(FILL(m * 0, 0) + 10) - LOG10(m) + LOG10(m)", &["0 0 2 0"]);
    given.expect("CEIL([m, m / 4])", &["-1 - 100 0", "-0 - 25 0"]);
}

#[test]
fn steps_are_from_the_point_before_whatever_is_missing_between() {
    let given = Given::series(&[("m", "60 - 300 240 - -")]);
    given.expect("DIFF(m)", &["- - 240 -60 - -"]);
    given.expect("DIFF_TIME(m)", &["- - 120 60 - -"]);
    given.expect("RATE(m)", &["- - 2 -1 - -"]);
    given.expect("RATE(METRICS())", &["- - 2 -1 - -"]);
    given.expect("RUNNING_SUM(m)", &["60 - 360 600 - -"]);
}

#[test]
fn a_rate_over_300_seconds() {
    let mut samples = Given::series(&[]).samples;
    for minute in 0..15 {
        samples.put_value(metric("m", &[]), START + minute * 60, 900.0 - minute as f64);
    }
    let rate = Query { return_data: None, ..expression("e", "RATE(m)") };
    let queries = [asked("m", metric("m", &[]), "Minimum"), rate];
    let window = Window { from: START, to: START + 900, period: 300 };
    let rate = &ok(evaluate(&queries, &samples, window, Purpose::Alarm))["e"][0].points;
    // The minima 896, 891, 886: 5 less in 300 s.
    let expected = [(START + 300, -5.0 / 300.0), (START + 600, -5.0 / 300.0)];
    assert_eq!(rate.clone().into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn holes_are_filled() {
    let given = Given::series(&[("m", "- 2 - - 8 -"), ("n", "1 1 1 - 1 1"), ("none", "- -")]);
    given.expect("FILL(m, 0)", &["0 2 0 0 8 0"]);
    given.expect("FILL(m, -1.5)", &["-1.5 2 -1.5 -1.5 8 -1.5"]);
    given.expect("FILL(m, MIN(m))", &["2 2 2 2 8 2"]);
    given.expect("FILL(m, MAX(none))", &["- 2 - - 8 -"]);
    given.expect("FILL(m, REPEAT)", &["- 2 2 2 8 8"]);
    given.expect("FILL(m, LINEAR)", &["- 2 4 6 8 -"]);
    given.expect("FILL(none, 7)", &["7 7 7 7 7 7"]);
    given.expect("FILL(none, REPEAT)", &["- - - - - -"]);
    given.expect("FILL([m, n], n)", &["1 2 1 - 8 1", "1 1 1 - 1 1"]);
    given.expect("FILL([m, n], LINEAR)", &["- 2 4 6 8 -", "1 1 1 1 1 1"]);
    let refusal = given.refusal("FILL(m, n)", Purpose::Graph);
    assert_eq!(refusal, "e: FILL of a series with a series is not modelled");
}

#[test]
fn a_scalar_becomes_a_line() {
    let given = Given::series(&[("m", "1 - 5"), ("none", "-")]);
    given.expect("TIME_SERIES(10)", &["10 10 10"]);
    given.expect("TIME_SERIES(2*MAX(m))", &["10 10 10"]);
    given.expect("TIME_SERIES(MAX(none))", &["- - -"]);
    given.expect("TIME_SERIES(PERIOD(none))", &["60 60 60"]);
}

#[test]
fn the_greatest_come_first_and_parts_are_cut_out() {
    let given = Given::series(&[("a", "1 9"), ("b", "6 6"), ("c", "- 11"), ("none", "- -")]);
    let [a, b, c, none] = ["1 9", "6 6", "- 11", "- -"];
    given.expect("SORT(METRICS(), SUM, DESC)", &[b, c, a, none]);
    given.expect("SORT(METRICS(), MAX, ASC)", &[b, a, c, none]);
    given.expect("SORT(METRICS(), MIN, DESC)", &[c, b, a, none]);
    // 5, 6, 5.5 and 0: periods without a point count.
    given.expect("SORT(METRICS(), AVG, ASC)", &[none, a, c, b]);
    given.expect("SORT(METRICS(), MAX, DESC, 2)", &[c, a]);
    given.expect("SLICE(SORT(METRICS(), SUM, DESC), 0, 2)", &[b, c]);
    given.expect("SLICE(SORT(METRICS(), SUM, DESC), 1)", &[c, a, none]);
    given.expect("SLICE(METRICS(), 3, 1)", &[]);
    given.expect("SLICE(METRICS(), 9)", &[]);
    given.expect("FIRST(SLICE(METRICS(), 9))", &["- -"]);
    given.expect("REMOVE_EMPTY(METRICS())", &[a, b, c]);
    given.expect("IF(FIRST(SORT(METRICS(), MAX, DESC)) > 10, 1, 0)", &["- 1"]);
}

#[test]
fn series_have_the_labels_of_metrics_and_expressions() {
    let labelled = |label: &str, query: Query| Query { label: Some(label.into()), ..query };
    let mut samples = Given::series(&[]).samples;
    samples.put_value(metric("Reads", &[]), START, 1.0);
    samples.put_value(metric("Writes", &[]), START, 2.0);
    let queries = [
        asked("m1", metric("Reads", &[]), "Sum"),
        labelled("Out", asked("m2", metric("Writes", &[]), "Sum")),
        labelled("Filled", expression("e1", "FILL(METRICS(), 0)")),
        labelled("", expression("e2", "METRICS() * 10")),
        labelled("Both", expression("e3", "m1 + m2")),
        expression("e4", "[m1 + m2, e3, e1]"),
    ];
    let all = ok(evaluate(&queries, &samples, minutes(1), Purpose::Graph));
    assert_eq!(levels(&all["m1"]), [("Reads", 1.0)]);
    assert_eq!(levels(&all["m2"]), [("Out", 2.0)]);
    assert_eq!(levels(&all["e1"]), [("Filled Reads", 1.0), ("Filled Out", 2.0)]);
    assert_eq!(levels(&all["e2"]), [("Reads", 10.0), ("Out", 20.0)]);
    assert_eq!(levels(&all["e3"]), [("Both", 3.0)]);
    assert_eq!(levels(&all["e4"]), [("e4", 3.0), ("Both", 3.0), ("Filled Reads", 1.0), ("Filled Out", 2.0)]);
}
