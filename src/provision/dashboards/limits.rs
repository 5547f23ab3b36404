//! What CloudWatch takes as a dashboard (CloudWatch API Reference, PutDashboard and "Dashboard Body Structure and
//! Syntax"; CloudWatch User Guide, "CloudWatch service quotas"), checked before the call and all at once.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Problem, graph, place};

const MAX_NAME: usize = 255;
const MAX_WIDGETS: usize = 500;
const MAX_VARIABLES: usize = 25;
/// How many metrics all graphs may have together; those that are not drawn count.
const MAX_METRICS: usize = 2500;
/// How many columns the grid has.
const COLUMNS: u64 = 24;
const MAX_HEIGHT: u64 = 1000;
/// Of a widget that does not say it.
const USUAL_SIZE: u64 = 6;
/// How many values a variable can offer.
pub(super) const MAX_VALUES: usize = 500;
const MAX_SEARCH: usize = 2048;

const TYPES: [&str; 7] = ["metric", "text", "log", "alarm", "explorer", "chart", "custom"];

/// Everything that CloudWatch would not take in a dashboard, and what would show nothing or something wrong of EFS's
/// metrics and of those in `namespace`, efsmon's own.
pub(super) fn problems(name: &str, body: &Value, namespace: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let whole = |reason: String| (String::new(), reason);
    let character = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if !(1..=MAX_NAME).contains(&name.len()) || !name.bytes().all(character) {
        problems.push(whole(format!(
            "found the name {name:?}; allowed: 1 to {MAX_NAME} of the characters A-Z a-z 0-9 - _"
        )));
    }
    if let Some(period) = body.get("periodOverride").filter(|period| !is_one_of(period, &["auto", "inherit"]))
    {
        problems.push(whole(format!("found periodOverride {period}; allowed: auto, inherit")));
    }
    problems.extend(variables(body.get("variables")).into_iter().map(whole));
    let Some(widgets) = body.get("widgets").and_then(Value::as_array) else {
        problems.push(whole("has no widgets; needed: the member widgets, an array".to_owned()));
        return problems;
    };
    if widgets.len() > MAX_WIDGETS {
        problems.push(whole(format!("found {} widgets; allowed: {MAX_WIDGETS}", widgets.len())));
    }
    let mut metrics = 0;
    let mut taken: Vec<(usize, Area)> = Vec::new();
    for (index, widget) in widgets.iter().enumerate() {
        let place = place(index, widget);
        let mut found = Vec::new();
        match area(widget) {
            Ok(Some(area)) => {
                let over = taken.iter().filter(|(_, other)| area.overlaps(other));
                found.extend(over.map(|(other, _)| format!("overlaps with widget {}", other + 1)));
                taken.push((index, area));
            }
            Ok(None) => {}
            Err(reason) => found.push(reason),
        }
        match widget.get("type").and_then(Value::as_str) {
            Some("metric") => {
                let graph = graph::check(&widget["properties"], namespace);
                metrics += graph.metrics;
                found.extend(graph.problems);
            }
            Some("text") if !widget["properties"]["markdown"].is_string() => {
                found.push("has no markdown; needed: the property markdown, a string".to_owned());
            }
            Some(known) if TYPES.contains(&known) => {}
            _ => found.push(format!("found the type {}; allowed: {}", widget["type"], TYPES.join(", "))),
        }
        problems.extend(found.into_iter().map(|reason| (place.clone(), reason)));
    }
    if metrics > MAX_METRICS {
        problems.push(whole(format!(
            "found {metrics} metrics in all widgets together, those not drawn included; allowed: {MAX_METRICS}"
        )));
    }
    problems
}

/// Where a widget is.
struct Area {
    x: u64,
    y: u64,
    width: u64,
    height: u64,
}

impl Area {
    fn overlaps(&self, other: &Area) -> bool {
        let apart = |at: u64, size: u64, other: u64, other_size: u64| {
            at.saturating_add(size) <= other || other.saturating_add(other_size) <= at
        };
        !apart(self.x, self.width, other.x, other.width) && !apart(self.y, self.height, other.y, other.height)
    }
}

/// None: CloudWatch finds a place for it.
fn area(widget: &Value) -> Result<Option<Area>, String> {
    let number = |name: &str| match widget.get(name) {
        None => Ok(None),
        Some(value) => {
            let number = value.as_u64().ok_or_else(|| format!("found {name} {value}; it is a whole number"));
            number.map(Some)
        }
    };
    let size = |name: &str, most: u64| match number(name)?.unwrap_or(USUAL_SIZE) {
        size if (1..=most).contains(&size) => Ok(size),
        size => Err(format!("found {name} {size}; allowed: 1 to {most}")),
    };
    let (width, height) = (size("width", COLUMNS)?, size("height", MAX_HEIGHT)?);
    match (number("x")?, number("y")?) {
        (None, None) => Ok(None),
        (Some(x), Some(y)) if x.saturating_add(width) <= COLUMNS => Ok(Some(Area { x, y, width, height })),
        (Some(x), Some(_)) => {
            Err(format!("found x {x} and width {width}; the grid has {COLUMNS} columns, from 0 on"))
        }
        _ => Err("has one of x and y; needed: both, or none".to_owned()),
    }
}

fn variables(variables: Option<&Value>) -> Vec<String> {
    let variables = match variables {
        None => return Vec::new(),
        Some(Value::Array(variables)) => variables,
        Some(other) => return vec![format!("found variables {other}; they are an array")],
    };
    let mut problems = Vec::new();
    if variables.len() > MAX_VARIABLES {
        problems.push(format!("found {} variables; allowed: {MAX_VARIABLES}", variables.len()));
    }
    let mut ids = BTreeSet::new();
    for (index, variable) in variables.iter().enumerate() {
        let mut wrong = |reason: String| problems.push(format!("variable {}: {reason}", index + 1));
        let text = |name: &str| variable.get(name).and_then(Value::as_str);
        match text("type") {
            Some(kind @ ("property" | "pattern")) if text(kind).is_none_or(str::is_empty) => {
                wrong(format!("has no {kind}; needed: what it changes"));
            }
            Some("property" | "pattern") => {}
            _ => wrong(format!("found the type {}; allowed: property, pattern", variable["type"])),
        }
        if !is_one_of(&variable["inputType"], &["input", "select", "radio"]) {
            wrong(format!("found inputType {}; allowed: input, select, radio", variable["inputType"]));
        }
        match text("id") {
            Some(id) if (1..=32).contains(&id.chars().count()) => {
                if !ids.insert(id) {
                    wrong(format!("has the id {id:?}, as another has"));
                }
            }
            _ => wrong(format!("found the id {}; allowed: 1 to 32 characters", variable["id"])),
        }
        if text("label").is_some_and(|label| label.chars().count() > 30) {
            wrong(format!("found the label {}; allowed: 30 characters", variable["label"]));
        }
        let values = variable.get("values").and_then(Value::as_array).map_or(0, Vec::len);
        if values > MAX_VALUES {
            wrong(format!("found {values} values; allowed: {MAX_VALUES}"));
        }
        if text("search").is_some_and(|search| search.chars().count() > MAX_SEARCH) {
            wrong(format!("has a search of more than {MAX_SEARCH} characters"));
        }
        if text("search").is_some() && text("populateFrom").is_none() {
            wrong("has a search; needed as well: populateFrom, the dimension that it offers".to_owned());
        }
    }
    problems
}

/// Whether a value is one of these texts.
pub(super) fn is_one_of(value: &Value, texts: &[&str]) -> bool {
    value.as_str().is_some_and(|value| texts.contains(&value))
}
