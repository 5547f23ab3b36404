//! Missing points, division by zero, and how series, arrays and scalars meet.

use efsmon::metricmath::Purpose;

use super::Given;

#[test]
fn a_missing_point_counts_0_where_another_series_has_one() {
    let given = Given::series(&[("m1", "8 - 6 -"), ("m2", "2 5 - -")]);
    given.expect("m1 + m2", &["10 5 6 -"]);
    given.expect("m1 - m2", &["6 -5 6 -"]);
    given.expect("m1 * m2", &["16 0 0 -"]);
    given.expect("m1 / m2", &["4 0 - -"]);
    given.expect("m1 ^ m2", &["64 0 1 -"]);
}

#[test]
fn a_scalar_has_a_value_where_its_series_has_one() {
    let given = Given::series(&[("m1", "8 - 0")]);
    given.expect("m1 + 1", &["9 - 1"]);
    given.expect("1 - m1", &["-7 - 1"]);
    given.expect("-m1", &["-8 - 0"]);
    given.expect("2 * -m1 * 0.5 + 0", &["-8 - 0"]);
}

#[test]
fn what_would_divide_by_zero_is_dropped() {
    let given = Given::series(&[("m1", "8 1 0"), ("m2", "2 0 0")]);
    given.expect("m1 / m2", &["4 - -"]);
    given.expect("100 / m1", &["12.5 100 -"]);
    given.expect("m1 / 0", &["- - -"]);
    given.expect("m1 * (1 / 0)", &["- - -"]);
    given.expect("m1 + m1 / m2", &["12 1 0"]);
    given.expect("(0 - m1) ^ 0.5", &["- - 0"]);
}

/// The example of "Comparison and logical operators".
#[test]
fn comparisons_and_logic_give_1_or_0() {
    let given = Given::series(&[("metric1", "30 20 0 0"), ("metric2", "20 - 20 -")]);
    given.expect("(metric1 < metric2)", &["0 0 1 0"]);
    given.expect("(metric1 >= 30)", &["1 0 0 0"]);
    given.expect("(metric1 > 15 AND metric2 > 15)", &["1 0 0 0"]);
    given.expect("metric1 > 15 && metric2 > 15", &["1 0 0 0"]);
    given.expect("metric1 > 15 OR metric2 > 15", &["1 1 1 0"]);
    given.expect("metric1 > 15 || metric2 > 15", &["1 1 1 0"]);
    given.expect("metric1 == 20", &["0 1 0 0"]);
    given.expect("metric1 != 20", &["1 0 1 1"]);
    given.expect("metric2 <= 20", &["1 - 1 -"]);
    given.expect("metric1 * (2 > 1) * (2 < 1)", &["0 0 0 0"]);
}

#[test]
fn operators_bind_as_in_school() {
    let given = Given::series(&[("m", "2")]);
    given.expect("m + 2 * 3 ^ 2 - 8 / 4 / 2", &["19"]);
    given.expect("(m + 2) * 3", &["12"]);
    given.expect("m - 1 - 1", &["0"]);
    given.expect("m*-3", &["-6"]);
    given.expect("m + 1 > 2 * 1", &["1"]);
    given.expect("m^-1", &["0.5"]);
    given.expect("0 - -m--m", &["4"]);
    given.expect("\n m\t*10 ", &["20"]);
}

/// The three tables of "Using IF expressions".
#[test]
fn the_four_missing_points_of_if() {
    let given =
        Given::series(&[("metric1", "1 1 0 0 -"), ("metric2", "30 - 0 0 30"), ("metric3", "0 0 20 - 20")]);
    given.expect("IF(metric1, metric2, metric3)", &["30 0 20 0 -"]);
    given.expect("IF(metric1, 5, metric3)", &["5 5 20 - -"]);
    given.expect("IF(metric1, metric2, 5)", &["30 0 5 5 -"]);
    given.expect("IF(metric1, metric2)", &["30 0 - - -"]);
    given.expect("IF(metric1, 5)", &["5 5 - - -"]);
    given.expect("IF(metric1, 5, 2)", &["5 5 2 2 -"]);
    given.expect("IF(metric1 < 1, 10, 2)", &["2 2 10 10 -"]);
    given.expect("IF(-7 * metric1, 1, 0)", &["1 1 0 0 -"]);
}

#[test]
fn if_with_a_scalar_for_a_condition_is_one_of_its_series() {
    let given = Given::series(&[("m1", "1 - 3"), ("m2", "- 5 6")]);
    given.expect("IF(PERIOD(m1) == 60, m1, m2)", &["1 - 3"]);
    given.expect("IF(PERIOD(m1) > 60, m1, m2)", &["- 5 6"]);
    given.expect("IF(0, m1)", &["- - -"]);
}

#[test]
fn an_array_meets_a_scalar_or_a_series_one_by_one() {
    let given = Given::series(&[("m1", "8 - 4"), ("m2", "2 5 -")]);
    given.expect("METRICS() * 10", &["80 - 40", "20 50 -"]);
    given.expect("100 / [m1, m2]", &["12.5 - 25", "50 20 -"]);
    given.expect("[m1, m2] - m2", &["6 -5 4", "0 0 -"]);
    given.expect("m2 - [m1, m2]", &["-6 5 -4", "0 0 -"]);
    given.expect("SUM(-[m1, m2])", &["-10 -5 -4"]);
    given.expect("SUM(100/[m1, m2])", &["62.5 20 25"]);
}

#[test]
fn what_the_guide_does_not_define_is_not_modelled() {
    let given = Given::series(&[("m1", "8 - 4"), ("m2", "2 5 -")]);
    let cases = [
        (
            "METRICS() + METRICS()",
            "an array of series + an array of series is not modelled: one of them may be an array",
        ),
        (
            "METRICS() > 1",
            "an array of series > a scalar is not modelled: comparisons and logic take series and scalars",
        ),
        (
            "m1 AND METRICS()",
            "a series AND an array of series is not modelled: comparisons and logic take series and scalars",
        ),
        (
            "IF(METRICS(), 1, 0)",
            "IF(an array of series, a scalar, a scalar) is not modelled: IF takes series and scalars",
        ),
        (
            "IF(m1, 1, METRICS())",
            "IF(a series, a scalar, an array of series) is not modelled: IF takes series and scalars",
        ),
        (
            "IF(1, 1, m1)",
            "IF(a scalar, a scalar, a series) is not modelled: with a scalar for a condition, IF takes series",
        ),
        (
            "IF(1, m1, 1)",
            "IF(a scalar, a series, a scalar) is not modelled: with a scalar for a condition, IF takes series",
        ),
    ];
    for (text, reason) in cases {
        assert_eq!(given.refusal(text, Purpose::Graph), format!("e: {reason}"), "{text}");
    }
}
