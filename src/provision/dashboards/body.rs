//! From a template to a dashboard's body: placeholders, rows for each file system, and what the hosts do not publish.

use serde_json::{Map, Value, json};

use super::limits::MAX_VALUES;
use super::rows::rows;
use super::{Problem, place};
use crate::catalog::Profile;
use crate::credits::FileSystem;
use crate::names::printable;
use crate::provision::Target;
use crate::provision::template::{self, Values};

/// A row that names one of these is repeated for each file system.
const OF_EACH: [&str; 5] = ["FileSystemId", "FileSystemName", "Number", "Color", "PaleColor"];

/// CloudWatch's own colours for lines, and the pale tone of each.
const COLORS: [(&str, &str); 10] = [
    ("#1f77b4", "#aec7e8"),
    ("#ff7f0e", "#ffbb78"),
    ("#2ca02c", "#98df8a"),
    ("#d62728", "#ff9896"),
    ("#9467bd", "#c5b0d5"),
    ("#8c564b", "#c49c94"),
    ("#e377c2", "#f7b6d2"),
    ("#7f7f7f", "#c7c7c7"),
    ("#bcbd22", "#dbdb8d"),
    ("#17becf", "#9edae5"),
];

/// The body that a template gives for a target.
///
/// # Errors
///
/// Every placeholder that cannot be replaced.
pub(super) fn body(template: &Value, target: &Target) -> Result<Value, Vec<Problem>> {
    let values = values(target);
    let mut problems = Vec::new();
    let mut template = template.clone();
    let widgets = template.get_mut("widgets").map(Value::take);
    let mut body = template::fill(&template, &values).unwrap_or_else(|bad| {
        problems.push((String::new(), bad.to_string()));
        Value::Null
    });
    let widgets = match widgets {
        Some(Value::Array(widgets)) => {
            let widgets = widgets.into_iter().enumerate().map(|(index, mut widget)| {
                let place = place(index, &widget);
                filled(&mut widget, target, &values).unwrap_or_else(|bad| {
                    problems.push((place, bad.to_string()));
                    Value::Null
                })
            });
            Some(Value::Array(widgets.collect()))
        }
        other => other,
    };
    if let (Some(body), Some(widgets)) = (body.as_object_mut(), widgets) {
        body.insert("widgets".to_owned(), widgets);
    }
    if target.chosen {
        offer(&mut body, &target.file_systems);
    }
    if problems.is_empty() { Ok(body) } else { Err(problems) }
}

/// What every placeholder that is not of a file system stands for.
fn values(target: &Target) -> Values {
    let mut values = Values::from([
        ("Region", json!(target.region)),
        ("Namespace", json!(target.namespace)),
        ("Owner", json!(target.owner.to_string())),
        ("Version", json!(env!("CARGO_PKG_VERSION"))),
        ("Mark", json!(target.mark().to_string())),
    ]);
    values.extend(target.thresholds.values());
    values
}

/// A widget, its repeated rows for each file system.
fn filled(widget: &mut Value, target: &Target, values: &Values) -> Result<Value, template::BadPlaceholder> {
    let rows = widget.pointer_mut("/properties/metrics").and_then(Value::as_array_mut).map(std::mem::take);
    let mut filled = template::fill(widget, values)?;
    let Some(rows) = rows else { return Ok(filled) };
    let mut repeated = Vec::new();
    for row in &rows {
        if !OF_EACH.iter().any(|name| template::names(row, name)) {
            repeated.push(template::fill(row, values)?);
            continue;
        }
        for (index, file_system) in target.file_systems.iter().enumerate() {
            let mut values = values.clone();
            values.extend(of_each(index, file_system));
            repeated.push(template::fill(row, &values)?);
        }
    }
    if repeated.is_empty() && !rows.is_empty() {
        let text = format!("EFS lists no file systems in {}.", target.region);
        return Ok(text_in_place_of(&filled, &text));
    }
    if let Some(profile) = missing(&repeated, target) {
        let (profile, present) = (profile.name(), target.profile.name());
        let text = format!(
            "Not published: by the configuration that this was rendered with, the hosts have \
             `profile = \"{present}\"`. With `profile = \"{profile}\"` in /etc/efsmon/efsmon.toml they publish it; \
             `efsmon cost` says what that costs."
        );
        return Ok(text_in_place_of(&filled, &text));
    }
    if let Some(properties) = filled.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("metrics".to_owned(), Value::Array(repeated));
    }
    Ok(filled)
}

/// The least profile that publishes all that the rows ask for, if that is more than the hosts publish. A scope that a
/// setting turns on may be there with every profile.
fn missing(metrics: &[Value], target: &Target) -> Option<Profile> {
    let rows = rows(metrics).into_iter().flatten();
    let used = rows.flat_map(|row| row.asked("")).map(|asked| asked.used);
    let own = used.filter(|used| used.namespace == target.namespace).filter_map(|used| used.own());
    let by_profile = own.filter(|(_, scope, _)| scope.setting().is_none());
    by_profile.map(|(_, _, profile)| profile).max().filter(|profile| *profile > target.profile)
}

/// What the placeholders of a file system stand for.
fn of_each(index: usize, file_system: &FileSystem) -> Values {
    let (color, pale) = COLORS.get(index % COLORS.len()).copied().unwrap_or_default();
    Values::from([
        ("FileSystemId", json!(file_system.id.as_str())),
        ("FileSystemName", json!(name(file_system))),
        ("Number", json!(index + 1)),
        ("Color", json!(color)),
        ("PaleColor", json!(pale)),
    ])
}

/// `home (fs-0123456789abcdef0)`, or the id alone. CloudWatch would replace a `${` in a label.
fn name(file_system: &FileSystem) -> String {
    let id = &file_system.id;
    match &file_system.name {
        Some(name) => format!("{} ({id})", printable(name.as_bytes()).replace("${", "$ {")),
        None => id.to_string(),
    }
}

/// A text widget of the same place and title.
fn text_in_place_of(widget: &Value, text: &str) -> Value {
    let places = ["x", "y", "width", "height"];
    let mut instead: Map<String, Value> =
        places.iter().filter_map(|place| Some(((*place).to_owned(), widget.get(*place)?.clone()))).collect();
    let title = widget.pointer("/properties/title").and_then(Value::as_str).unwrap_or_default();
    instead.insert("type".to_owned(), json!("text"));
    instead.insert("properties".to_owned(), json!({ "markdown": format!("**{title}**\n\n{text}") }));
    Value::Object(instead)
}

/// A variable that is filled with every file system there is offers those that were chosen, by name.
fn offer(body: &mut Value, file_systems: &[FileSystem]) {
    let Some(first) = file_systems.first().filter(|_| file_systems.len() <= MAX_VALUES) else { return };
    let variables = body.get_mut("variables").and_then(Value::as_array_mut);
    for variable in variables.into_iter().flatten().filter_map(Value::as_object_mut) {
        if variable.get("populateFrom").is_some_and(|from| from == "FileSystemId") {
            variable.remove("search");
            variable.remove("populateFrom");
            let value = |fs: &FileSystem| json!({ "value": fs.id.as_str(), "label": name(fs) });
            variable.insert("values".to_owned(), file_systems.iter().map(value).collect());
            variable.insert("defaultValue".to_owned(), json!(first.id.as_str()));
        }
    }
}
