//! What CloudWatch takes as a graph, and what would show nothing, or something wrong, of the metrics that are known.

use std::collections::BTreeSet;

use serde_json::Value;

use super::limits::is_one_of;
use super::rows::{Asked, Kind, Row, is_insights, rows};
use crate::catalog::{Formula, vended};

const MAX_ROWS: usize = 500;
/// Of the text of an expression with a SEARCH ("CloudWatch search expression syntax").
const MAX_SEARCH: usize = 1024;
const VIEWS: [&str; 6] = ["timeSeries", "singleValue", "gauge", "bar", "pie", "table"];
const HIGH_RESOLUTION: [u64; 5] = [1, 5, 10, 20, 30];
const DEFAULT_PERIOD: u64 = 300;

/// A graph as it was found.
pub(super) struct Graph {
    /// How many metrics it has, those that are not drawn included.
    pub metrics: usize,
    pub problems: Vec<String>,
}

/// Checks the properties of a widget of type `metric`; `namespace` is that of efsmon's own metrics.
pub(super) fn check(properties: &Value, namespace: &str) -> Graph {
    let mut problems = Vec::new();
    if properties["region"].as_str().is_none_or(str::is_empty) {
        problems.push("has no region; needed: the property region, such as ${Region}".to_owned());
    }
    if properties.get("view").is_some_and(|view| !is_one_of(view, &VIEWS)) {
        problems.push(format!("found view {}; allowed: {}", properties["view"], VIEWS.join(", ")));
    }
    let bounds = |bound: &str| properties["yAxis"]["left"][bound].is_number();
    if properties["view"] == "gauge" && !(bounds("min") && bounds("max")) {
        problems.push("is a gauge without yAxis.left.min and yAxis.left.max; needed: both".to_owned());
    }
    problems.extend(stat_and_period(properties));
    let metrics = match properties.get("metrics") {
        Some(Value::Array(metrics)) => metrics.as_slice(),
        None if properties["annotations"]["alarms"].is_array() => &[],
        Some(other) => {
            problems.push(format!("found metrics {other}; they are an array of rows"));
            &[]
        }
        None => {
            problems.push("has no metrics; needed: the property metrics, an array of rows".to_owned());
            &[]
        }
    };
    if metrics.len() > MAX_ROWS {
        problems.push(format!("found {} rows in metrics; allowed: {MAX_ROWS}", metrics.len()));
    }
    let mut read = Vec::new();
    for (index, row) in rows(metrics).into_iter().enumerate() {
        match row {
            Ok(row) => read.push((index, row)),
            Err(reason) => problems.push(format!("row {} {reason}", index + 1)),
        }
    }
    problems.extend(ids(&read));
    let is_query = |row: &Row<'_>| matches!(&row.kind, Kind::Expression(text) if is_insights(text));
    let queries = read.iter().filter(|(_, row)| is_query(row)).count();
    if queries > 1 {
        problems.push(format!("found {queries} queries of Metrics Insights; allowed: one a widget"));
    }
    for (index, row) in &read {
        problems.extend(one(row, properties, namespace).map(|reason| format!("row {} {reason}", index + 1)));
    }
    let metrics = read.iter().filter(|(_, row)| matches!(row.kind, Kind::Metric(_))).count();
    Graph { metrics, problems }
}

/// Of a widget, or of a row's options.
fn stat_and_period(options: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(stat) = options.get("stat").filter(|stat| !stat.as_str().is_some_and(is_stat)) {
        problems.push(format!(
            "found stat {stat}; allowed: Average, Sum, Minimum, Maximum, SampleCount, or one such as p99"
        ));
    }
    let allowed =
        |period: u64| period > 0 && (period.is_multiple_of(60) || HIGH_RESOLUTION.contains(&period));
    if let Some(period) = options.get("period").filter(|period| !period.as_u64().is_some_and(allowed)) {
        problems.push(format!("found period {period}; allowed: 1, 5, 10, 20, 30 or a multiple of 60"));
    }
    problems
}

/// "CloudWatch statistics definitions": the five, and those that begin with a name for a share and a number.
fn is_stat(stat: &str) -> bool {
    let of_a_share = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c == '(');
    ["Average", "Sum", "Minimum", "Maximum", "SampleCount", "IQM"].contains(&stat)
        || ["p", "tm", "tc", "ts", "wm"].iter().any(|kind| stat.strip_prefix(kind).is_some_and(of_a_share))
        || ["TM", "TC", "TS", "WM", "PR"].iter().any(|kind| stat.strip_prefix(kind).is_some_and(of_a_share))
}

fn ids(rows: &[(usize, Row<'_>)]) -> Vec<String> {
    let (mut problems, mut ids) = (Vec::new(), BTreeSet::new());
    for (index, row) in rows {
        let Some(id) = row.options.and_then(|options| options.get("id")) else { continue };
        let formed = |id: &str| {
            id.starts_with(|c: char| c.is_ascii_lowercase())
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        match id.as_str().filter(|id| formed(id)) {
            Some(id) if !ids.insert(id) => {
                problems.push(format!("row {} has the id {id}, as another has", index + 1));
            }
            Some(_) => {}
            None => problems.push(format!(
                "row {} has the id {id}; allowed: a lower-case letter, then letters, digits and _",
                index + 1
            )),
        }
    }
    for (index, row) in rows {
        let unknown = row.names().into_iter().filter(|name| !ids.contains(name.as_str()));
        problems.extend(unknown.map(|name| format!("row {} names {name}; no row has that id", index + 1)));
    }
    problems
}

fn one(row: &Row<'_>, properties: &Value, namespace: &str) -> impl Iterator<Item = String> {
    let mut problems = Vec::new();
    let option = |name: &str| row.options.and_then(|options| options.get(name));
    if let Some(options) = row.options {
        problems.extend(stat_and_period(&Value::Object(options.clone())));
    }
    if let Kind::Expression(text) = &row.kind
        && text.contains("SEARCH(")
        && text.chars().count() > MAX_SEARCH
    {
        problems.push(format!("has a SEARCH of more than {MAX_SEARCH} characters"));
    }
    let stat = option("stat").or_else(|| properties.get("stat")).and_then(Value::as_str).unwrap_or("Average");
    let period = option("period").or_else(|| properties.get("period")).and_then(Value::as_u64);
    for asked in row.asked(stat) {
        problems.extend(known(&asked, period.unwrap_or(DEFAULT_PERIOD), namespace));
    }
    problems.into_iter()
}

/// What is wrong with a metric of EFS's own or of efsmon's; of others nothing is known.
fn known(asked: &Asked, period: u64, namespace: &str) -> Option<String> {
    let (used, stat) = (&asked.used, asked.stat.as_str());
    let name = &used.metric;
    let with = match used.dimensions.as_slice() {
        [] => "without dimensions".to_owned(),
        names => format!("with {}", names.join(", ")),
    };
    if used.namespace == vended::NAMESPACE {
        let Some(metric) = vended::vended(name) else {
            return Some(format!("asks for {name}, which EFS does not publish"));
        };
        if !used.has(metric.dimensions) {
            let allowed = metric.dimensions.join(", ");
            return Some(format!("asks for {name} {with}; EFS publishes it with {allowed}"));
        }
        if !metric.statistics.contains(&stat) {
            let allowed = metric.statistics.join(", ");
            return Some(format!("asks for the {stat} of {name}; EFS User Guide: {allowed}"));
        }
        let own = u64::from(metric.period);
        return (!period.is_multiple_of(own))
            .then(|| format!("has the period {period}; {name} has a value every {own} seconds"));
    }
    if used.namespace != namespace {
        return None;
    }
    let Some((metric, _, _)) = used.own() else {
        return Some(format!(
            "asks for {name} {with}, which efsmon does not publish: see its table of metrics"
        ));
    };
    let is_level = matches!(
        metric.formula,
        Formula::MibPerSecond(_)
            | Formula::Mean(_)
            | Formula::Stalled
            | Formula::ProxyCpu
            | Formula::ProxyMemory
    );
    (is_level && stat == "Sum")
        .then(|| format!("asks for the Sum of {name}, which means nothing; use Average or Maximum"))
}
