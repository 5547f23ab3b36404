//! What should be there, and what is: for `diff` and `apply` the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::UsageError;
use super::super::provision::{TargetFlags, mistakes};
use crate::aws::call::CallError;
use crate::aws::dashboards::Dashboards;
use crate::provision::Target;
use crate::provision::dashboards::{Templates, name_of, render, templates};
use crate::provision::found::existing;
use crate::provision::plan::{Existing, Plan};

/// A plan, and how to follow it.
pub struct Comparison {
    pub dashboards: Dashboards,
    pub target: Target,
    pub plan: Plan,
    /// Those that could not be looked at, and why: nothing is done about them.
    pub unread: Vec<(String, CallError)>,
}

/// Compares the dashboards of those names, or all of them. `prune`: looks for those, too, that are ours and should not
/// be there.
///
/// # Errors
///
/// A bad configuration or template; no region, no credentials; file systems that cannot be listed.
pub async fn compare(
    flags: &TargetFlags,
    names: &[String],
    adopt: bool,
    prune: bool,
) -> anyhow::Result<Comparison> {
    let config = flags.config()?;
    let templates = templates(&flags.templates("")?).map_err(|bad| mistakes(&bad))?;
    let session = flags.session(&config).await?;
    let target = flags.target(&config, &session).await?;
    let desired = rendered(&target, &templates, names)?;
    let dashboards = Dashboards::new(&session);
    let mut looked_at: BTreeSet<String> = desired.keys().cloned().collect();
    if prune {
        let listed = dashboards.list(&name_of(&target.region, "")).await?;
        looked_at.extend(listed.into_iter().map(|entry| entry.name));
    }
    let (found, unread) = look(&dashboards, looked_at).await;
    let is_read = |name: &String| unread.iter().all(|(unread, _)| unread != name);
    let desired = desired.into_iter().filter(|(name, _)| is_read(name)).collect();
    let plan = Plan::new(desired, &found, &target.mark(), adopt);
    Ok(Comparison { dashboards, target, plan, unread })
}

/// The bodies of the dashboards that are called so (see [`full_name`]), or of all.
///
/// # Errors
///
/// A bad template; a name that no template has.
pub fn rendered(
    target: &Target,
    templates: &Templates,
    names: &[String],
) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut bodies = render(target, templates).map_err(|bad| mistakes(&bad))?;
    let wanted: Vec<_> = names.iter().map(|name| full_name(name, templates, &target.region)).collect();
    if let Some((unknown, _)) = names.iter().zip(&wanted).find(|(_, wanted)| !bodies.contains_key(*wanted)) {
        let known: Vec<_> = bodies.keys().map(String::as_str).collect();
        let known = known.join(", ").replace(&name_of(&target.region, ""), "");
        return Err(UsageError(format!(
            "found NAME {unknown}; allowed: {known}, or one of them behind {}",
            name_of(&target.region, "")
        ))
        .into());
    }
    bodies.retain(|name, _| wanted.is_empty() || wanted.contains(name));
    Ok(bodies)
}

/// A dashboard's name in CloudWatch; `name` is that, or a template's.
pub fn full_name(name: &str, templates: &Templates, region: &str) -> String {
    match templates.contains_key(name) {
        true => name_of(region, name),
        false => name.to_owned(),
    }
}

/// Those of these names that are there, and those that could not be looked at.
pub async fn look(
    dashboards: &Dashboards,
    names: impl IntoIterator<Item = String>,
) -> (BTreeMap<String, Existing>, Vec<(String, CallError)>) {
    let (mut found, mut unread) = (BTreeMap::new(), Vec::new());
    for name in names {
        match dashboards.get(&name).await {
            Ok(Some(body)) => _ = found.insert(name, existing(&body)),
            Ok(None) => {}
            Err(error) => unread.push((name, error)),
        }
    }
    (found, unread)
}
