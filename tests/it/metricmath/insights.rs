//! Queries of Metrics Insights.

use efsmon::metricmath::{Filter, Purpose, Query, Samples, Series, Statistic, StatisticSet, evaluate, parse};

use super::{START, expression, levels, metric, minutes, ok, row};

/// Three file systems, the first with two hosts, in a minute; one of them also in the next.
fn fleet() -> Samples {
    let mut samples = Samples::default();
    for (file_system, host, value) in
        [("fs-1", "i-1", 5.0), ("fs-1", "i-2", 9.0), ("fs-2", "i-1", 30.0), ("fs-3", "i-3", 8.0)]
    {
        let dimensions = [("FileSystemId", file_system), ("InstanceId", host)];
        samples.put_value(metric("Bytes", &dimensions), START, value);
    }
    let dimensions = [("InstanceId", "i-2"), ("FileSystemId", "fs-1")];
    samples.put(
        metric("Bytes", &dimensions),
        START + 60,
        StatisticSet { sum: 4.0, count: 4.0, minimum: 0.5, maximum: 2.0 },
    );
    // Of other dimensions, another name, another time.
    samples.put_value(metric("Bytes", &[("FileSystemId", "fs-1")]), START, 1000.0);
    samples.put_value(metric("Bytes", &[]), START, 20_000.0);
    samples.put_value(metric("Calls", &[("FileSystemId", "fs-1"), ("InstanceId", "i-1")]), START, 7.0);
    samples.put_value(metric("Bytes", &[("FileSystemId", "fs-4"), ("InstanceId", "i-1")]), START - 60, 7.0);
    samples
}

fn run(text: &str) -> Vec<Series> {
    let query = Query { return_data: Some(true), ..expression("q", text) };
    ok(evaluate(&[query], &fleet(), minutes(2), Purpose::Alarm)).remove("q").unwrap()
}

#[track_caller]
fn expect(text: &str, series: &[(&str, &str)]) {
    let found = run(text);
    let rows: Vec<_> = found.iter().map(|series| (series.label.as_str(), row(&series.points, 2))).collect();
    let rows: Vec<_> = rows.iter().map(|(label, row)| (*label, row.as_str())).collect();
    assert_eq!(rows, series, "{text}");
}

#[test]
fn a_schema_selects_exactly_its_dimensions() {
    expect("SELECT SUM(Bytes) FROM SCHEMA(N, FileSystemId, InstanceId)", &[("q", "52 4")]);
    expect("SELECT SUM(Bytes) FROM SCHEMA(N, InstanceId, FileSystemId)", &[("q", "52 4")]);
    expect("SELECT SUM(Bytes) FROM SCHEMA(N, FileSystemId)", &[("q", "1000 -")]);
    expect("SELECT SUM(Bytes) FROM SCHEMA(N)", &[("q", "20000 -")]);
    expect("SELECT SUM(Bytes) FROM N", &[("q", "21052 4")]);
    expect("SELECT SUM(Bytes) FROM SCHEMA(N, InstanceId)", &[("q", "- -")]);
    expect("SELECT SUM(Bytes) FROM \"Other/N\"", &[("q", "- -")]);
}

#[test]
fn functions_are_of_all_data_of_a_period() {
    let of =
        |function: &str| format!("select {function}(Bytes) from schema(\"N\", FileSystemId, InstanceId)");
    expect(&of("avg"), &[("q", "13 1")]);
    expect(&of("COUNT"), &[("q", "4 4")]);
    expect(&of("Max"), &[("q", "30 2")]);
    expect(&of("MIN"), &[("q", "5 0.5")]);
}

const EACH: &str = "SELECT SUM(Bytes) FROM SCHEMA(N, FileSystemId, InstanceId)";

#[test]
fn where_keeps_and_leaves_out() {
    expect(&format!("{EACH} WHERE FileSystemId = 'fs-1'"), &[("q", "14 4")]);
    expect(&format!("{EACH} WHERE FileSystemId != 'fs-1'"), &[("q", "38 -")]);
    expect(&format!("{EACH} where \"FileSystemId\"!='fs-1' and InstanceId='i-1'"), &[("q", "30 -")]);
    expect(&format!("{EACH} WHERE FileSystemId = 'FS-1'"), &[("q", "- -")]);
    expect("SELECT SUM(Bytes) FROM N WHERE FileSystemId = 'fs-1'", &[("q", "1014 4")]);
}

#[test]
fn groups_are_named_and_ordered_by_their_values() {
    let by = format!("{EACH} GROUP BY");
    expect(&format!("{by} FileSystemId"), &[("fs-1", "14 4"), ("fs-2", "30 -"), ("fs-3", "8 -")]);
    let pairs = [("i-1 fs-1", "5 -"), ("i-1 fs-2", "30 -"), ("i-2 fs-1", "9 4"), ("i-3 fs-3", "8 -")];
    expect(&format!("{by} InstanceId, FileSystemId"), &pairs);
    // What lacks the dimension is a group of its own.
    let all = [("Other", "21000 -"), ("i-1", "35 -"), ("i-2", "9 4"), ("i-3", "8 -")];
    expect("SELECT SUM(Bytes) FROM N GROUP BY InstanceId", &all);
}

#[test]
fn the_worst_come_first() {
    let by = format!("{EACH} GROUP BY FileSystemId");
    let [one, two, three] = [("fs-1", "14 4"), ("fs-2", "30 -"), ("fs-3", "8 -")];
    expect(&format!("{by} ORDER BY SUM() DESC"), &[two, one, three]);
    expect(&format!("{by} ORDER BY SUM()"), &[three, one, two]);
    expect(&format!("{by} ORDER BY MIN() ASC"), &[one, three, two]);
    expect(&format!("{by} ORDER BY AVG() DESC LIMIT 2"), &[two, one]);
    expect(&format!("{by} order by count() desc limit 1"), &[one]);
    expect(&format!("{by} LIMIT 2"), &[one, two]);
}

#[test]
fn other_expressions_may_name_a_query() {
    let queries = [
        expression("q", &format!("{EACH} GROUP BY FileSystemId")),
        Query { return_data: None, ..expression("e", "SUM(q) / 2") },
    ];
    let all = ok(evaluate(&queries, &fleet(), minutes(2), Purpose::Graph));
    assert_eq!(row(&all["e"][0].points, 2), "26 2");
    assert_eq!(all["q"].len(), 3);
}

#[test]
fn a_query_says_what_it_selects() {
    let text = "SELECT AVG(\"Read Bytes\") FROM SCHEMA(\"AWS/EFS\", FileSystemId, \"Zone.Id\") \
                WHERE FileSystemId != 'fs-1' GROUP BY \"Zone.Id\"";
    let parsed = parse(text).unwrap();
    let selections = parsed.selections();
    let [selection] = selections.as_slice() else { panic!("{selections:?}") };
    assert_eq!(selection.namespace, "AWS/EFS");
    assert_eq!(selection.metric, "Read Bytes");
    assert_eq!(
        selection.dimensions.as_deref(),
        Some(["FileSystemId".to_owned(), "Zone.Id".to_owned()].as_slice())
    );
    assert_eq!(selection.stat, Statistic::Average);
    assert_eq!(selection.stat.name(), "Average");
    let filter = Filter { dimension: "FileSystemId".into(), value: "fs-1".into(), equal: false };
    assert_eq!(selection.filters, [filter]);
    assert_eq!(selection.group_by, ["Zone.Id"]);
    assert!(parsed.ids().is_empty());
    assert_eq!(parse("SELECT SUM(a) FROM b").unwrap().selections()[0].dimensions, None);
}

#[test]
fn mistakes_and_what_is_not_modelled_are_named() {
    for (text, reason) in [
        ("SELECT P99(a) FROM b", "character 8: found \"P99\", allowed: AVG, COUNT, MAX, MIN or SUM"),
        (
            "SELECT SUM(a) FROM AWS/EFS",
            "character 23: found '/', allowed: WHERE, GROUP BY, ORDER BY, LIMIT or the end",
        ),
        ("SELECT SUM(a)", "character 14: found the end, allowed: FROM"),
        (
            "SELECT SUM(limit) FROM b",
            "character 12: found \"limit\", allowed: the name of a metric, in double quotes if it has more than letters, \
             digits and _, or is a keyword",
        ),
        ("SELECT SUM(a) FROM b WHERE c = \"d\"", "character 32: found '\"', allowed: a text in '..'"),
        ("SELECT SUM(a) FROM b WHERE c > 'd'", "character 30: found '>', allowed: = or !="),
        (
            "SELECT SUM(a) FROM b WHERE c = 'd' OR c = 'e'",
            "character 36: found \"OR\", allowed: AND, GROUP BY, ORDER BY, LIMIT or the end",
        ),
        ("SELECT SUM(a) FROM b WHERE c != 'd'", "c != .. is modelled only when SCHEMA names c"),
        ("SELECT SUM(a) FROM SCHEMA(b, c) WHERE d != 'e'", "d != .. is modelled only when SCHEMA names d"),
        (
            "SELECT SUM(a) FROM b WHERE tag.env = 'prod'",
            "\"tag\" before a period is not modelled: neither tags nor accounts are",
        ),
        (
            "SELECT SUM(a) FROM b GROUP BY AWS.AccountId",
            "\"AWS\" before a period is not modelled: neither tags nor accounts are",
        ),
        ("SELECT SUM(a) FROM b GROUP BY c ORDER BY SUM(a)", "character 46: found \"a\", allowed: )"),
        ("SELECT SUM(a) FROM b LIMIT 501", "character 28: found \"501\", allowed: a number from 1 to 500"),
        ("SELECT SUM(a) FROM b LIMIT 5 GROUP BY c", "character 30: found \"GROUP\", allowed: the end"),
        (
            "SELECT SUM(a) FROM b * 2",
            "character 22: found '*', allowed: WHERE, GROUP BY, ORDER BY, LIMIT or the end",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), reason, "{text}");
    }
}

#[test]
fn levels_of_one_group() {
    let series = run(&format!("{EACH} WHERE InstanceId = 'i-3' GROUP BY FileSystemId"));
    assert_eq!(levels(&series), [("fs-3", 8.0)]);
}
