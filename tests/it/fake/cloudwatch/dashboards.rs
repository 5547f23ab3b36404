//! Dashboards: PutDashboard, GetDashboard, DeleteDashboards, ListDashboards.
//!
//! What is given back is what was put, but never byte for byte: CloudWatch writes a body anew.

use std::collections::BTreeMap;

use ciborium::Value as Cbor;
use serde_json::{Value, json};

use super::{Refused, member, object, text};

/// When the first was written, in seconds since 1970; each write is a minute later.
const FIRST: i64 = 1_796_040_000;
/// Entries of a page of ListDashboards.
const PAGE: usize = 2;
const MAX_WIDGETS: usize = 500;
const MAX_COLUMNS: u64 = 24;
const TYPES: [&str; 7] = ["metric", "text", "log", "alarm", "explorer", "chart", "custom"];

#[derive(Clone, Debug, PartialEq)]
struct Dashboard {
    body: String,
    tags: Vec<(String, String)>,
    modified: i64,
}

#[derive(Default)]
pub struct Dashboards {
    kept: BTreeMap<String, Dashboard>,
    writes: i64,
    refusals: BTreeMap<String, (Messages, bool)>,
}

impl Dashboards {
    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.kept.keys().cloned().collect()
    }

    /// The body as it is kept.
    pub fn body(&self, name: &str) -> Value {
        serde_json::from_str(&self.kept[name].body).unwrap()
    }

    pub fn tags(&self, name: &str) -> Vec<(String, String)> {
        self.kept[name].tags.clone()
    }

    /// What somebody does to one in the console.
    pub fn edit(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut body = self.body(name);
        change(&mut body);
        self.write(name, body.to_string(), Vec::new());
    }

    /// One of any text, also of one that PutDashboard would not take.
    pub fn write_text(&mut self, name: &str, body: &str) {
        self.write(name, body.to_owned(), Vec::new());
    }

    /// The body of that one has these errors (path, message), whatever it is. CloudWatch's list of them is `empty` at
    /// times: then they are only in the text of its message.
    pub fn refuse(&mut self, name: &str, errors: &[(&str, &str)], empty: bool) {
        let errors = errors.iter().map(|(path, message)| ((*path).to_owned(), (*message).to_owned()));
        self.refusals.insert(name.to_owned(), (errors.collect(), empty));
    }

    /// No more of that.
    pub fn take_all(&mut self) {
        self.refusals.clear();
    }

    fn write(&mut self, name: &str, body: String, tags: Vec<(String, String)>) {
        let modified = FIRST + 60 * self.writes;
        self.writes += 1;
        // Tags count when it is made.
        let tags = self.kept.get(name).map_or(tags, |kept| kept.tags.clone());
        self.kept.insert(name.to_owned(), Dashboard { body, tags, modified });
    }

    /// None: the operation is not one of these.
    pub fn answer(&mut self, operation: &str, body: &Cbor) -> Option<Result<Cbor, Refused>> {
        Some(match operation {
            "PutDashboard" => self.put(body),
            "GetDashboard" => self.get(body),
            "ListDashboards" => self.list(body),
            "DeleteDashboards" => self.delete(body),
            _ => return None,
        })
    }

    fn put(&mut self, request: &Cbor) -> Result<Cbor, Refused> {
        only(request, &["DashboardName", "DashboardBody", "Tags"])?;
        let name = text(request, "DashboardName").unwrap_or_default();
        if !is_name(name) {
            let message = "The value for field DashboardName contains invalid characters. It can only contain \
                           alphanumerics, dash (-) and underscore (_).";
            return Err(invalid(message, Vec::new()));
        }
        let tags = tags(request)?;
        let body = text(request, "DashboardBody").unwrap_or_default();
        let Ok(parsed) = serde_json::from_str::<Value>(body) else {
            return Err(invalid("The field DashboardBody must be a valid JSON object", Vec::new()));
        };
        let Validated { mut errors, warnings } = validated(&parsed);
        let (more, empty) = self.refusals.get(name).cloned().unwrap_or_default();
        errors.extend(more);
        if !errors.is_empty() {
            let listed: Vec<Value> = errors
                .iter()
                .map(|(path, message)| json!({ "dataPath": path, "message": message }))
                .collect();
            let (count, listed) = (errors.len(), Value::Array(listed));
            let message =
                format!("The dashboard body is invalid, there are {count} validation errors:\n{listed:#}");
            return Err(invalid(&message, if empty { Vec::new() } else { errors }));
        }
        self.write(name, body.to_owned(), tags);
        Ok(object(vec![("DashboardValidationMessages", messages(warnings))]))
    }

    fn get(&self, request: &Cbor) -> Result<Cbor, Refused> {
        only(request, &["DashboardName"])?;
        let name = text(request, "DashboardName").unwrap_or_default();
        let Some(found) = self.kept.get(name) else { return Err(missing(&[name])) };
        let body = match serde_json::from_str(&found.body) {
            Ok(body) => rewritten(&body),
            Err(_) => found.body.clone(),
        };
        Ok(object(vec![
            ("DashboardArn", Cbor::from(arn(name))),
            ("DashboardBody", Cbor::from(body)),
            ("DashboardName", Cbor::from(name)),
        ]))
    }

    fn list(&self, request: &Cbor) -> Result<Cbor, Refused> {
        only(request, &["DashboardNamePrefix", "NextToken"])?;
        let prefix = text(request, "DashboardNamePrefix").unwrap_or_default();
        let after = text(request, "NextToken");
        let matching = self.kept.iter().filter(|(name, _)| name.starts_with(prefix));
        let mut matching = matching.filter(|(name, _)| after.is_none_or(|after| name.as_str() > after));
        let page: Vec<_> = matching.by_ref().take(PAGE).collect();
        let more = matching.next().is_some();
        let entries = page.iter().map(|(name, found)| {
            let modified = Cbor::Tag(1, Box::new(Cbor::from(found.modified)));
            object(vec![
                ("DashboardName", Cbor::from(name.as_str())),
                ("DashboardArn", Cbor::from(arn(name))),
                ("LastModified", modified),
                ("Size", Cbor::from(found.body.len() as u64)),
            ])
        });
        let mut answer = vec![("DashboardEntries", Cbor::Array(entries.collect()))];
        if let Some((last, _)) = page.last().filter(|_| more) {
            answer.push(("NextToken", Cbor::from(last.as_str())));
        }
        Ok(object(answer))
    }

    /// All of them, or none.
    fn delete(&mut self, request: &Cbor) -> Result<Cbor, Refused> {
        only(request, &["DashboardNames"])?;
        let names = member(request, "DashboardNames").and_then(Cbor::as_array).cloned().unwrap_or_default();
        let names: Vec<&str> = names.iter().filter_map(Cbor::as_text).collect();
        if names.is_empty() {
            let message = "The parameter DashboardNames is required.";
            return Err(Refused::new(400, "InvalidParameterValue", message));
        }
        let gone: Vec<&str> = names.iter().copied().filter(|name| !self.kept.contains_key(*name)).collect();
        if !gone.is_empty() {
            return Err(missing(&gone));
        }
        names.iter().for_each(|name| drop(self.kept.remove(*name)));
        Ok(object(Vec::new()))
    }
}

fn only(request: &Cbor, known: &[&str]) -> Result<(), Refused> {
    let mut names = request.as_map().into_iter().flatten().filter_map(|(name, _)| name.as_text());
    match names.find(|name| !known.contains(name)) {
        Some(unknown) => {
            Err(Refused::new(400, "SerializationException", format!("unknown member {unknown}")))
        }
        None => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn arn(name: &str) -> String {
    format!("arn:aws:cloudwatch::123456789012:dashboard/{name}")
}

fn missing(names: &[&str]) -> Refused {
    Refused::new(404, "ResourceNotFound", format!("Dashboard {} does not exist", names.join(", ")))
}

type Messages = Vec<(String, String)>;

fn invalid(message: &str, listed: Messages) -> Refused {
    let mut refused = Refused::new(400, "InvalidParameterInput", message);
    if !listed.is_empty() {
        refused.members.push((Cbor::from("dashboardValidationMessages"), messages(listed)));
    }
    refused
}

fn messages(listed: Messages) -> Cbor {
    let entry = |(path, message): (String, String)| {
        object(vec![("DataPath", Cbor::from(path)), ("Message", Cbor::from(message))])
    };
    Cbor::Array(listed.into_iter().map(entry).collect())
}

fn tags(request: &Cbor) -> Result<Vec<(String, String)>, Refused> {
    let tags = member(request, "Tags").and_then(Cbor::as_array).cloned().unwrap_or_default();
    let pair = |tag: &Cbor| {
        let part = |name| text(tag, name).unwrap_or_default().to_owned();
        (part("Key"), part("Value"))
    };
    let tags: Vec<_> = tags.iter().map(pair).collect();
    let fits = |(key, value): &(String, String)| {
        (1..=128).contains(&key.chars().count())
            && value.chars().count() <= 256
            && !key.to_lowercase().starts_with("aws:")
    };
    match tags.len() <= 50 && tags.iter().all(fits) {
        true => Ok(tags),
        false => Err(Refused::new(400, "InvalidParameterValue", "invalid tags")),
    }
}

#[derive(Default)]
struct Validated {
    errors: Messages,
    warnings: Messages,
}

/// As far as efsmon may get it wrong.
fn validated(body: &Value) -> Validated {
    let mut found = Validated::default();
    let Some(members) = body.as_object() else {
        found.errors.push(("".to_owned(), "Should be object".to_owned()));
        return found;
    };
    for name in members.keys() {
        if !["start", "end", "periodOverride", "variables", "widgets"].contains(&name.as_str()) {
            found.warnings.push((format!("/{name}"), unexpected(name, "dashboard")));
        }
    }
    let widgets = members.get("widgets").and_then(Value::as_array).cloned().unwrap_or_default();
    if widgets.len() > MAX_WIDGETS {
        let message = format!("Should NOT have more than {MAX_WIDGETS} items");
        found.errors.push(("/widgets".to_owned(), message));
    }
    for (index, of) in widgets.iter().enumerate() {
        widget(&format!("/widgets/{index}"), of, &mut found);
    }
    found
}

fn unexpected(name: &str, of: &str) -> String {
    format!("The \"{name}\" property is not expected to be part of a {of} definition, will be ignored")
}

fn widget(path: &str, widget: &Value, found: &mut Validated) {
    let mut error = |below: &str, message: &str| {
        found.errors.push((format!("{path}{below}"), message.to_owned()));
    };
    let kind = widget["type"].as_str().unwrap_or_default();
    if !TYPES.contains(&kind) {
        error("/type", "Should be equal to one of the allowed values");
    }
    if widget["width"].as_u64().unwrap_or(6) > MAX_COLUMNS {
        error("/width", "Should be <= 24");
    }
    if widget.get("x").is_some() != widget.get("y").is_some() {
        error("", "Should have either both \"x\" and \"y\" or neither");
    }
    let properties = &widget["properties"];
    if kind == "text" && !properties["markdown"].is_string() {
        error("/properties", "Should have required property 'markdown'");
    }
    if kind == "metric" {
        if !properties["region"].is_string() {
            error("/properties", "Should have required property 'region'");
        }
        match properties["metrics"].as_array() {
            Some(rows) => rows.iter().enumerate().for_each(|(index, row)| {
                row_errors(row).for_each(|(below, message)| {
                    error(&format!("/properties/metrics/{index}{below}"), &message);
                })
            }),
            None if properties["annotations"]["alarms"].is_array() => {}
            None => error("/properties", "Should have required property 'metrics'"),
        }
    }
    let known = ["type", "x", "y", "width", "height", "properties"];
    for name in widget.as_object().into_iter().flat_map(|members| members.keys()) {
        if !known.contains(&name.as_str()) {
            found.warnings.push((format!("{path}/{name}"), unexpected(name, "widget")));
        }
    }
}

/// A row is of texts, and maybe an object at its end.
fn row_errors(row: &Value) -> impl Iterator<Item = (String, String)> {
    let cells = row.as_array().cloned();
    let not_a_row = cells.is_none().then(|| (String::new(), "Should be array".to_owned()));
    let cells = cells.unwrap_or_default();
    let last = cells.len().saturating_sub(1);
    let wrong = move |(index, cell): (usize, Value)| {
        let fits = cell.is_string() || (cell.is_object() && index == last);
        (!fits).then(|| {
            let message = "Invalid metric field type, only \"String\" type is allowed";
            (format!("/{index}"), message.to_owned())
        })
    };
    not_a_row.into_iter().chain(cells.into_iter().enumerate().filter_map(wrong))
}

/// The same JSON in another order, with other white space, and nothing but ASCII.
fn rewritten(value: &Value) -> String {
    let listed = |items: Vec<String>| items.join(" ,\n\t");
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{} : {}", rewritten(&json!(name)), rewritten(value))
            };
            format!("{{ {} }}", listed(members.iter().rev().map(member).collect()))
        }
        Value::Array(items) => format!("[ {} ]", listed(items.iter().map(rewritten).collect())),
        Value::String(_) => {
            let mut units = [0; 2];
            let ascii = |c: char| match c.is_ascii() {
                true => c.to_string(),
                false => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04X}")).collect(),
            };
            value.to_string().chars().map(ascii).collect()
        }
        _ => value.to_string(),
    }
}
