//! SEARCH.

use efsmon::metricmath::{Purpose, Query, Samples, Statistic, evaluate, parse};

use super::{START, expression, levels, metric, minutes, ok};

fn fleet() -> Samples {
    let mut samples = Samples::default();
    for (file_system, host, value) in [("fs-1", "i-1", 5.0), ("fs-1", "i-2", 9.0), ("fs-2", "i-1", 30.0)] {
        let dimensions = [("InstanceId", host), ("FileSystemId", file_system)];
        samples.put_value(metric("Bytes", &dimensions), START, value);
        samples.put_value(metric("Calls", &dimensions), START, value * 100.0);
    }
    samples.put_value(metric("Bytes", &[("FileSystemId", "fs-1")]), START, 1000.0);
    let further = [("FileSystemId", "fs-1"), ("InstanceId", "i-1"), ("MountPoint", "/efs")];
    samples.put_value(metric("Bytes", &further), START, 2000.0);
    samples
}

#[track_caller]
fn expect(text: &str, series: &[(&str, f64)]) {
    let query = Query { return_data: None, ..expression("e", text) };
    let all = ok(evaluate(&[query], &fleet(), minutes(1), Purpose::Graph));
    assert_eq!(levels(&all["e"]), series, "{text}");
}

#[test]
fn a_metric_with_a_further_dimension_is_another() {
    let hosts = [("fs-1 i-1", 5.0), ("fs-1 i-2", 9.0), ("fs-2 i-1", 30.0)];
    expect("SEARCH('{N,FileSystemId,InstanceId} MetricName=\"Bytes\"', 'Sum')", &hosts);
    expect("SEARCH(' { \"N\" , FileSystemId, \"InstanceId\" }, MetricName=\"Bytes\" ', 'Sum', 300)", &hosts);
    expect("SEARCH('{N,FileSystemId} MetricName=\"Bytes\"', 'Sum')", &[("Bytes", 1000.0)]);
    expect("SEARCH('{N,InstanceId} MetricName=\"Bytes\"', 'Sum')", &[]);
    expect("SEARCH('{N} MetricName=\"Bytes\"', 'Sum')", &[]);
    expect("SEARCH('{N,FileSystemId,InstanceId} MetricName=\"bytes\"', 'Sum')", &[]);
}

#[test]
fn terms_keep_and_leave_out_and_labels_hold_what_differs() {
    let of = |terms: &str, statistic: &str| {
        format!("SEARCH('{{N,FileSystemId,InstanceId}} {terms}', '{statistic}')")
    };
    expect(&of("MetricName=\"Bytes\" FileSystemId=\"fs-1\"", "Average"), &[("i-1", 5.0), ("i-2", 9.0)]);
    expect(
        &of("InstanceId=\"i-1\" AND MetricName=\"Calls\"", "Maximum"),
        &[("fs-1", 500.0), ("fs-2", 3000.0)],
    );
    expect(&of("MetricName=\"Bytes\" NOT FileSystemId=\"fs-1\"", "SampleCount"), &[("Bytes", 1.0)]);
}

#[test]
fn a_search_is_an_array_for_other_functions() {
    let search = "SEARCH('{N,FileSystemId,InstanceId} MetricName=\"Bytes\"', 'Sum')";
    expect(&format!("SUM({search})"), &[("e", 44.0)]);
    expect(&format!("SORT({search}, MAX, DESC, 1)"), &[("fs-2 i-1", 30.0)]);
}

#[test]
fn an_expression_says_what_its_searches_select() {
    let text = "SUM(SEARCH('{\"AWS/EFS\",FileSystemId} MetricName=\"A\" FileSystemId=\"x\"', 'Minimum')) / m1 + PERIOD(m2) \
                + FIRST(SLICE(SEARCH('{N} MetricName=\"B\"', 'Sum'), 0, e1))";
    let parsed = parse(text).unwrap();
    assert_eq!(parsed.ids().into_iter().collect::<Vec<_>>(), ["e1", "m1", "m2"]);
    let found: Vec<_> = parsed
        .selections()
        .iter()
        .map(|selection| {
            let names = selection.dimensions.clone().unwrap();
            (
                selection.namespace.as_str(),
                selection.metric.as_str(),
                names,
                selection.stat,
                selection.filters.len(),
            )
        })
        .collect();
    let file_system = vec!["FileSystemId".to_owned()];
    assert_eq!(
        found,
        [("AWS/EFS", "A", file_system, Statistic::Minimum, 1), ("N", "B", vec![], Statistic::Sum, 0)]
    );
}

#[test]
fn quotes_and_backslashes_are_escaped_in_exact_terms() {
    let text = r#"SEARCH('{"My Namespace","a@b"} MetricName="x\\y \(\"z\"\)"', 'Sum')"#;
    let parsed = parse(text).unwrap();
    let selection = parsed.selections()[0];
    assert_eq!(selection.namespace, "My Namespace");
    assert_eq!(selection.dimensions, Some(vec!["a@b".to_owned()]));
    assert_eq!(selection.metric, r#"x\y ("z")"#);
}

#[test]
fn mistakes_and_what_is_not_modelled_are_named() {
    const TERMS: &str = "MetricName=\"..\" or a dimension's NAME=\"..\" (OR, parentheses and partial matches are not \
                         modelled)";
    for (terms, reason) in [
        ("{N,D}", "MetricName=\"..\" is missing: without it a search is not modelled".to_owned()),
        ("MetricName=\"M\"", "character 1: found \"MetricName\", allowed: {".to_owned()),
        ("{My-N,D} MetricName=\"M\"", "character 4: found '-', allowed: }".to_owned()),
        (
            "{N,D} MetricName=M",
            "character 18: found \"M\", allowed: a value in double quotes (partial matches are not modelled)"
                .to_owned(),
        ),
        ("{N,D} MetricName=\"M\" fs", "character 24: found the end, allowed: =".to_owned()),
        ("{N,D} \"M\"", format!("character 7: found '\"', allowed: {TERMS}")),
        ("{N,D} MetricName=\"M\" OR D=\"d\"", format!("character 22: found \"OR\", allowed: {TERMS}")),
        ("{N,D} (MetricName=\"M\")", format!("character 7: found '(', allowed: {TERMS}")),
        ("{N,D} :aws.AccountId=\"1\"", format!("character 7: found ':', allowed: {TERMS}")),
        (
            "{N,D} MetricName=\"M\" E=\"e\"",
            "E is neither MetricName nor a dimension in the braces".to_owned(),
        ),
        ("{N,D} NOT MetricName=\"M\"", "MetricName is not modelled twice or after NOT".to_owned()),
        (r#"{N,D} MetricName="a\nb""#, "character 18 holds an unknown escape".to_owned()),
    ] {
        let text = format!("SEARCH('{terms}', 'Sum')");
        assert_eq!(parse(&text).unwrap_err(), format!("in the search, {reason}"), "{text}");
    }
    let statistic = parse("SEARCH('{N} MetricName=\"M\"', 'p99')").unwrap_err();
    assert_eq!(
        statistic,
        "in the search, statistic \"p99\" is not modelled; known: Average, Maximum, Minimum, SampleCount, Sum"
    );
    let long = format!("SEARCH('{{N}} MetricName=\"{}\"', 'Sum')", "M".repeat(1024));
    assert_eq!(parse(&long).unwrap_err(), "the search has more than 1024 characters");
}
