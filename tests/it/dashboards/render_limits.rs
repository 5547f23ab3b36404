//! What CloudWatch would not take is told before the call, all of it at once, each with its widget.

use efsmon::catalog::Profile;
use efsmon::provision::dashboards::{render, templates};
use serde_json::{Value, json};

use super::render::target;

fn told(name: &str, body: &Value) -> Vec<String> {
    let templates = templates(&[(name.to_owned(), body.to_string())]).unwrap();
    match render(&target(2, Profile::Minimal), &templates) {
        Ok(_) => Vec::new(),
        Err(bad) => bad.iter().map(ToString::to_string).collect(),
    }
}

fn text() -> Value {
    json!({ "type": "text", "x": 0, "y": 0, "width": 24, "height": 2, "properties": { "markdown": "${Mark}" } })
}

fn graph(metrics: Value) -> Value {
    json!({
        "type": "metric", "x": 0, "y": 2, "width": 24, "height": 6,
        "properties": { "title": "Mine", "region": "${Region}", "metrics": metrics },
    })
}

/// A dashboard with a widget below the text.
fn with(widget: Value) -> Value {
    json!({ "widgets": [text(), widget] })
}

fn changed(mut value: Value, pointer: &str, new: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    value.pointer_mut(parent).unwrap()[name] = new;
    value
}

/// `expected`: what is said of the widget; empty: nothing.
#[track_caller]
fn check(widget: Value, expected: &str) {
    let told = told("mine", &with(widget));
    match expected {
        "" => assert_eq!(told, Vec::<String>::new()),
        _ => assert_eq!(told, [format!("mine: widget 2 (Mine): {expected}")]),
    }
}

const METERED: [&str; 4] = ["AWS/EFS", "MeteredIOBytes", "FileSystemId", "${FileSystemId}"];

fn sum() -> Value {
    changed(graph(json!([METERED])), "/properties/stat", json!("Sum"))
}

#[test]
fn a_template_of_ones_own_is_added_or_takes_the_place_of_ours() {
    let mine = with(sum()).to_string();
    for (name, count) in [("mine", 3), ("overview", 2)] {
        let templates = templates(&[(name.to_owned(), mine.clone())]).unwrap();
        let bodies = render(&target(2, Profile::Minimal), &templates).unwrap();
        assert_eq!(bodies.len(), count);
        let body = &bodies[&format!("efsmon-eu-west-1-{name}")];
        let rows = json!([
            ["AWS/EFS", "MeteredIOBytes", "FileSystemId", "fs-00000000000000001"],
            ["AWS/EFS", "MeteredIOBytes", "FileSystemId", "fs-00000000000000002"],
        ]);
        assert_eq!(body["widgets"][1]["properties"]["metrics"], rows);
        assert_eq!(body["widgets"][0]["properties"]["markdown"], "efsmon owner efsmon, region eu-west-1");
    }
}

#[test]
fn a_template_of_ones_own_may_have_a_form_for_many() {
    let added = [
        ("mine".to_owned(), with(sum()).to_string()),
        ("mine-many".to_owned(), json!({ "widgets": [text()] }).to_string()),
    ];
    let templates = templates(&added).unwrap();
    for (file_systems, widgets) in [(0, 1), (20, 2), (21, 1)] {
        let bodies = render(&target(file_systems, Profile::Minimal), &templates).unwrap();
        assert_eq!(
            bodies.keys().collect::<Vec<_>>(),
            ["efsmon-eu-west-1-file-system", "efsmon-eu-west-1-mine", "efsmon-eu-west-1-overview"]
        );
        assert_eq!(bodies["efsmon-eu-west-1-mine"]["widgets"].as_array().unwrap().len(), widgets);
    }
}

#[test]
fn rows_for_no_file_systems_leave_a_text() {
    let templates = templates(&[("mine".to_owned(), with(sum()).to_string())]).unwrap();
    let body = render(&target(0, Profile::Minimal), &templates).unwrap()["efsmon-eu-west-1-mine"].clone();
    let expected = json!({
        "type": "text", "x": 0, "y": 2, "width": 24, "height": 6,
        "properties": { "markdown": "**Mine**\n\nEFS lists no file systems in eu-west-1." },
    });
    assert_eq!(body["widgets"][1], expected);
}

#[test]
fn what_is_not_json_is_told_with_its_name() {
    let bad =
        templates(&[("mine".to_owned(), "{".to_owned()), ("other".to_owned(), "]".to_owned())]).unwrap_err();
    let told: Vec<String> = bad.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2);
    assert!(
        told[0].starts_with("mine: is not JSON: ") && told[1].starts_with("other: is not JSON: "),
        "{told:?}"
    );
}

#[test]
fn everything_is_told_at_once() {
    let first = changed(graph(json!([["AWS/EFS", "Meterd"]])), "/properties/region", json!(""));
    let body = json!({ "widgets": [{ "type": "txt", "properties": {} }, first] });
    assert_eq!(
        told("mine", &body),
        [
            "mine: widget 1: found the type \"txt\"; allowed: metric, text, log, alarm, explorer, chart, custom",
            "mine: widget 2 (Mine): has no region; needed: the property region, such as ${Region}",
            "mine: widget 2 (Mine): row 1 asks for Meterd, which EFS does not publish",
            "mine: its first text widget has no ${Mark}; needed: efsmon knows it again by that",
        ]
    );
}

#[test]
fn an_unknown_placeholder_is_told_with_its_widget() {
    check(
        changed(graph(json!([METERED])), "/properties/stat", json!("${Stat}")),
        "unknown placeholder ${Stat}; allowed: ClientLatencyMs, CreditsLowMinutes, DepletionPageHours, \
         DepletionPageMinutes, DepletionTicketHours, DepletionTicketMinutes, IoLimitPercent, Mark, Namespace, Owner, \
         Region, ThroughputPercent, Version",
    );
}

#[test]
fn a_widget_lies_within_24_columns_and_on_no_other() {
    let at = |x: u64, y: u64, width: u64, height: u64| {
        let mut widget = sum();
        for (name, value) in [("x", x), ("y", y), ("width", width), ("height", height)] {
            widget[name] = json!(value);
        }
        widget
    };
    check(at(18, 2, 6, 1000), "");
    check(at(19, 2, 6, 6), "found x 19 and width 6; the grid has 24 columns, from 0 on");
    check(at(0, 2, 25, 6), "found width 25; allowed: 1 to 24");
    check(at(0, 2, 24, 1001), "found height 1001; allowed: 1 to 1000");
    check(at(0, 1, 24, 6), "overlaps with widget 1");
    let mut half = sum();
    half.as_object_mut().unwrap().remove("y");
    check(half, "has one of x and y; needed: both, or none");
    check(changed(sum(), "/x", json!(-1)), "found x -1; it is a whole number");
}

#[test]
fn a_graph_is_one_that_cloudwatch_draws() {
    check(sum(), "");
    check(changed(sum(), "/properties/view", json!("pie")), "");
    check(
        changed(sum(), "/properties/view", json!("lines")),
        "found view \"lines\"; allowed: timeSeries, singleValue, gauge, bar, pie, table",
    );
    check(
        changed(sum(), "/properties/view", json!("gauge")),
        "is a gauge without yAxis.left.min and yAxis.left.max; needed: both",
    );
    check(changed(sum(), "/properties/period", json!(3600)), "");
    check(
        changed(graph(json!([["Mine", "Duration"]])), "/properties/period", json!(90)),
        "found period 90; allowed: 1, 5, 10, 20, 30 or a multiple of 60",
    );
    check(graph(json!([["Mine", "Duration", { "stat": "p99.9" }]])), "");
    check(
        graph(json!([["Mine", "Duration", { "stat": "Mean" }]])),
        "row 1 found stat \"Mean\"; allowed: Average, Sum, Minimum, Maximum, SampleCount, or one such as p99",
    );
    check(
        changed(graph(json!([])), "/properties/metrics", Value::Null),
        "found metrics null; they are an array of rows",
    );
    let of_alarms = changed(
        graph(json!([])),
        "/properties",
        json!({ "title": "Mine", "region": "r", "annotations": { "alarms": ["a"] } }),
    );
    check(of_alarms, "");
}

#[test]
fn ids_are_well_formed_and_there_and_each_is_there_once() {
    let row = |id: &str| json!(["Mine", "Duration", { "id": id }]);
    check(graph(json!([row("m1"), row("m_2")])), "");
    check(graph(json!([row("m1"), row("m1")])), "row 2 has the id m1, as another has");
    check(
        graph(json!([row("M1")])),
        "row 1 has the id \"M1\"; allowed: a lower-case letter, then letters, digits and _",
    );
    check(graph(json!([row("m1"), [{ "expression": "m1/m2" }]])), "row 2 names m2; no row has that id");
    check(graph(json!([["a", "b", { "expression": "1" }]])), "row 1 has both a metric and an expression");
}

#[test]
fn rows_repeat_cells_of_the_row_above() {
    let first = json!(["Mine", "Duration", "Host", "a", "Disk", "b"]);
    check(graph(json!([first, [".", "Size", ".", ".", ".", "c"], ["...", "d"], ["..."]])), "");
    check(graph(json!([["."]])), "row 1 repeats a cell of the row above, which has none there");
    check(
        graph(json!([["Mine", "Duration", "Host"]])),
        "row 1 found 3 cells; a metric has a namespace, a name, and a name and a value for each dimension",
    );
    let storage = json!(["AWS/EFS", "StorageBytes", "StorageClass", "Total", "FileSystemId", "a"]);
    let wide = changed(
        graph(json!([storage, ["...", "b"], [".", "MeteredIOBytes", "...", "b"]])),
        "/properties/period",
        json!(900),
    );
    check(
        wide,
        "row 3 asks for MeteredIOBytes with StorageClass, FileSystemId; EFS publishes it with FileSystemId",
    );
}

#[test]
fn a_widget_has_one_query_and_short_searches() {
    let query = json!([{ "expression": "SELECT AVG(Duration) FROM SCHEMA(Mine, Host)", "id": "q1" }]);
    check(graph(json!([query])), "");
    let other = json!([{ "expression": "select MAX(Duration) FROM SCHEMA(Mine, Host)", "id": "q2" }]);
    check(graph(json!([query, other])), "found 2 queries of Metrics Insights; allowed: one a widget");
    let search = |length: usize| {
        let bare = "SEARCH('{Mine,Host} MetricName=\"\"', 'Sum')";
        let name = "n".repeat(length - bare.len());
        json!([[{ "expression": bare.replace("\"\"", &format!("\"{name}\"")) }]])
    };
    check(graph(search(1024)), "");
    check(graph(search(1025)), "row 1 has a SEARCH of more than 1024 characters");
}

#[test]
fn metrics_that_are_known_are_asked_for_as_they_are_published() {
    let storage = |options: Value| {
        json!([["AWS/EFS", "StorageBytes", "FileSystemId", "a", "StorageClass", "IA", options]])
    };
    check(graph(storage(json!({ "period": 900 }))), "");
    check(graph(storage(json!({}))), "row 1 has the period 300; StorageBytes has a value every 900 seconds");
    check(
        graph(json!([["AWS/EFS", "StorageBytes", "FileSystemId", "a"]])),
        "row 1 asks for StorageBytes with FileSystemId; EFS publishes it with StorageClass, FileSystemId",
    );
    check(
        graph(json!([["AWS/EFS", "ClientConnections", "FileSystemId", "a"]])),
        "row 1 asks for the Average of ClientConnections; EFS User Guide: Sum",
    );
    check(
        graph(json!([[{ "expression": "SELECT AVG(ReadBytes) FROM SCHEMA(\"${Namespace}\", InstanceId)" }]])),
        "row 1 asks for ReadBytes with InstanceId, which efsmon does not publish: see its table of metrics",
    );
    check(
        graph(
            json!([[{ "expression": "SELECT SUM(ReadThroughput) FROM SCHEMA(\"${Namespace}\", FileSystemId, InstanceId)" }]]),
        ),
        "row 1 asks for the Sum of ReadThroughput, which means nothing; use Average or Maximum",
    );
    check(
        graph(json!([["${Namespace}", "Hosts", "FileSystemId", "a"]])),
        "row 1 asks for Hosts with FileSystemId, which efsmon does not publish: see its table of metrics",
    );
    check(
        graph(json!([["${Namespace}", "Hostz"]])),
        "row 1 asks for Hostz without dimensions, which efsmon does not publish: see its table of metrics",
    );
}

#[test]
fn the_number_of_widgets_rows_metrics_and_variables_is_bounded() {
    let row = |n: usize| json!(["Mine", format!("m{n}")]);
    let rows = |n: usize| (0..n).map(row).collect::<Value>();
    check(graph(rows(500)), "");
    check(graph(rows(501)), "found 501 rows in metrics; allowed: 500");

    let placed = |metrics: Value, y: usize| changed(graph(metrics), "/y", json!(2 + 6 * y));
    let mut widgets = vec![text()];
    widgets.extend((0..5).map(|y| placed(rows(500), y)));
    assert_eq!(told("mine", &json!({ "widgets": widgets })), Vec::<String>::new());
    widgets.push(placed(json!([["Mine", "m", { "visible": false }]]), 5));
    let expected =
        "mine: found 2501 metrics in all widgets together, those not drawn included; allowed: 2500";
    assert_eq!(told("mine", &json!({ "widgets": widgets })), [expected]);

    let texts = |n: usize| {
        (0..n).map(|_| json!({ "type": "text", "properties": { "markdown": "${Mark}" } })).collect::<Value>()
    };
    assert_eq!(told("mine", &json!({ "widgets": texts(500) })), Vec::<String>::new());
    assert_eq!(told("mine", &json!({ "widgets": texts(501) })), ["mine: found 501 widgets; allowed: 500"]);

    let variable = |n: usize| json!({ "type": "property", "property": "region", "inputType": "input", "id": format!("v{n}") });
    let variables = |n: usize| (0..n).map(variable).collect::<Value>();
    let with = |variables: Value| json!({ "variables": variables, "widgets": texts(1) });
    assert_eq!(told("mine", &with(variables(25))), Vec::<String>::new());
    assert_eq!(told("mine", &with(variables(26))), ["mine: found 26 variables; allowed: 25"]);
    let wrong = json!([
        { "type": "pattern", "property": "region", "inputType": "input", "id": "a" },
        { "type": "property", "property": "region", "inputType": "list", "id": "a" },
        { "type": "property", "property": "region", "inputType": "select", "id": "b", "label": "l".repeat(31), "search": "{A,B}" },
    ]);
    let label = "l".repeat(31);
    assert_eq!(
        told("mine", &with(wrong)),
        [
            "mine: variable 1: has no pattern; needed: what it changes",
            "mine: variable 2: found inputType \"list\"; allowed: input, select, radio",
            "mine: variable 2: has the id \"a\", as another has",
            &format!("mine: variable 3: found the label \"{label}\"; allowed: 30 characters"),
            "mine: variable 3: has a search; needed as well: populateFrom, the dimension that it offers",
        ]
    );
}

#[test]
fn a_name_is_one_that_cloudwatch_takes() {
    let body = json!({ "widgets": [text()] });
    // "efsmon-eu-west-1-" has 17 characters.
    assert_eq!(told(&"n".repeat(238), &body), Vec::<String>::new());
    for name in ["n".repeat(239), "a b".to_owned(), "größe".to_owned()] {
        let [told] = told(&name, &body).try_into().unwrap();
        assert!(told.ends_with("allowed: 1 to 255 of the characters A-Z a-z 0-9 - _"), "{told}");
    }
}

#[test]
fn what_is_no_dashboard_at_all_is_told() {
    let needed = "mine: has no widgets; needed: the member widgets, an array";
    for body in [json!([]), json!({}), json!({ "widgets": {} })] {
        assert_eq!(told("mine", &body)[0], needed);
    }
    let body = json!({ "periodOverride": "none", "widgets": [text()] });
    assert_eq!(told("mine", &body), ["mine: found periodOverride \"none\"; allowed: auto, inherit"]);
}
