//! The dashboards of a Region: rendered from templates, and checked against CloudWatch's limits.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Target;

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

/// efsmon's own templates and `added` (name, JSON text), which take the place of one of the same name.
///
/// # Errors
///
/// Those that are not JSON.
pub fn templates(added: &[(String, String)]) -> Result<Templates, Vec<BadTemplate>> {
    let _ = added;
    Ok(Templates::new())
}

/// The bodies of the dashboards, by their names in CloudWatch: `efsmon-REGION-TEMPLATE`.
///
/// # Errors
///
/// Everything that CloudWatch would not take.
pub fn render(target: &Target, templates: &Templates) -> Result<BTreeMap<String, Value>, Vec<BadTemplate>> {
    let _ = (target, templates);
    Ok(BTreeMap::new())
}
