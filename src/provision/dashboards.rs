//! The dashboards of a Region: rendered from templates, and checked against CloudWatch's limits.
//!
//! A template is a dashboard as the console and the command line of AWS take it, with the placeholders of [`super::template`].
//! A row of a widget's `metrics` that names `${FileSystemId}` or `${Number}` is repeated for each file system.
//!
//! Every graph is right at every period, so that CloudWatch may choose it by the time that is looked at
//! (`"periodOverride": "auto"`): what is added up (Sum, SampleCount) is divided by the `PERIOD` of an ordinary metric
//! of the same widget, which has the widget's period like all others; the rest are averages, minima and maxima. No
//! expression holds a number of seconds in place of a period, and no row has a period of its own.

mod body;
mod graph;
mod limits;
mod rows;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Mark, Target};
use crate::names::printable;

/// Templates by name: efsmon's own, and those that are added or take the place of one.
pub type Templates = BTreeMap<String, Value>;

/// A template that cannot be used, or a dashboard that CloudWatch would not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{template}: {place}{reason}")]
pub struct BadTemplate {
    pub template: String,
    /// Which widget, as `widget 3 (title): `; empty: the whole.
    pub place: String,
    /// What was found, what is allowed.
    pub reason: String,
}

const OWN: [(&str, &str); 3] = [
    ("overview", include_str!("../../dashboards/overview.json")),
    ("overview-many", include_str!("../../dashboards/overview-many.json")),
    ("file-system", include_str!("../../dashboards/file-system.json")),
];

/// Of more file systems than these, or of none, a dashboard is rendered from its template's form for many, which is
/// named like it with [`MANY`] behind, if there is one.
const FEW: usize = 20;
const MANY: &str = "-many";

/// efsmon's own templates and `added` (name, JSON text), which take the place of one of the same name.
///
/// # Errors
///
/// Those that are not JSON.
pub fn templates(added: &[(String, String)]) -> Result<Templates, Vec<BadTemplate>> {
    let own = OWN.iter().map(|(name, text)| (*name, *text));
    let added = added.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let (mut templates, mut bad) = (Templates::new(), Vec::new());
    for (name, text) in own.chain(added) {
        match serde_json::from_str(text) {
            Ok(template) => _ = templates.insert(name.to_owned(), template),
            Err(error) => bad.push(BadTemplate {
                template: name.to_owned(),
                place: String::new(),
                reason: format!("is not JSON: {error}"),
            }),
        }
    }
    if bad.is_empty() { Ok(templates) } else { Err(bad) }
}

/// The bodies of the dashboards, by their names in CloudWatch: `efsmon-REGION-TEMPLATE`.
///
/// # Errors
///
/// Everything that CloudWatch would not take.
pub fn render(target: &Target, templates: &Templates) -> Result<BTreeMap<String, Value>, Vec<BadTemplate>> {
    let (mut bodies, mut bad) = (BTreeMap::new(), Vec::new());
    for template in names(templates) {
        let form = form(template, target, templates);
        let Some(source) = templates.get(&form) else { continue };
        let name = name_of(&target.region, template);
        match checked(&name, source, target) {
            Ok(body) => _ = bodies.insert(name, body),
            Err(problems) => bad.extend(problems.into_iter().map(|(place, reason)| BadTemplate {
                template: form.clone(),
                place,
                reason,
            })),
        }
    }
    if bad.is_empty() { Ok(bodies) } else { Err(bad) }
}

fn checked(name: &str, template: &Value, target: &Target) -> Result<Value, Vec<Problem>> {
    let body = body::body(template, target)?;
    let mut problems = limits::problems(name, &body, &target.namespace);
    if mark_of(&body) != Some(target.mark()) {
        let reason = "its first text widget has no ${Mark}; needed: efsmon knows it again by that";
        problems.push((String::new(), reason.to_owned()));
    }
    if problems.is_empty() { Ok(body) } else { Err(problems) }
}

/// What the names of all dashboards of efsmon's begin with.
pub const PREFIX: &str = "efsmon-";

/// The name of a dashboard in CloudWatch: dashboards belong to no Region, so it tells of which one it is.
pub fn name_of(region: &str, template: &str) -> String {
    format!("{PREFIX}{region}-{template}")
}

/// The templates that a dashboard is called after.
pub fn names(templates: &Templates) -> impl Iterator<Item = &String> {
    templates.keys().filter(|name| !is_form_for_many(name, templates))
}

/// Who made a dashboard, and of which Region it is, as its first text widget says.
pub fn mark_of(body: &Value) -> Option<Mark> {
    let widgets = body.get("widgets")?.as_array()?;
    let text = widgets.iter().find(|widget| widget["type"] == "text")?;
    Mark::find(text["properties"]["markdown"].as_str()?)
}

fn is_form_for_many(name: &str, templates: &Templates) -> bool {
    name.strip_suffix(MANY).is_some_and(|few| templates.contains_key(few))
}

/// The name of the template that a dashboard is rendered from.
fn form(name: &str, target: &Target, templates: &Templates) -> String {
    let many = format!("{name}{MANY}");
    let few = (1..=FEW).contains(&target.file_systems.len());
    if !few && templates.contains_key(&many) { many } else { name.to_owned() }
}

/// A problem of a dashboard: its place (see [`BadTemplate`]), and what is wrong.
type Problem = (String, String);

/// A widget by its number, from 1, and its title, as [`BadTemplate::place`] has it.
pub(super) fn place(index: usize, widget: &Value) -> String {
    let title = widget.pointer("/properties/title").and_then(Value::as_str);
    let title = title.map(|title| format!(" ({})", printable(title.as_bytes()))).unwrap_or_default();
    format!("widget {}{title}: ", index + 1)
}
