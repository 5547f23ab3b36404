//! What is wrong with alarms, as far as it can be seen before they are needed. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::situation::Situation;
use crate::aws::alarms::Found;
use crate::names::printable;
use crate::provision::plan::{Change, Plan, Step, same};

/// How long an alarm may be without data before something is wrong, in seconds. CloudWatch shows a new metric within 15
/// minutes.
const STUCK: i64 = 3600;

/// What is known of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topic {
    There,
    /// Why nobody hears through it.
    Deaf(String),
    /// Why it could not be told.
    NotChecked(String),
}

/// Whether an action is a topic of SNS.
pub fn is_topic(arn: &str) -> bool {
    arn.split(':').nth(2) == Some("sns")
}

/// Every topic that the alarms tell.
pub fn topics<'a>(found: impl Iterator<Item = &'a Found>) -> BTreeSet<&'a str> {
    let kinds = ["AlarmActions", "OKActions", "InsufficientDataActions"];
    found
        .flat_map(|found| kinds.into_iter().flat_map(|kind| found.actions(kind)))
        .filter(|arn| is_topic(arn))
        .collect()
}

/// What is wrong with the alarm of a step; nothing: it is as it should be. `now` is in seconds since 1970.
pub fn wrong(step: &Step, situation: &Situation, topics: &BTreeMap<&str, Topic>, now: i64) -> Vec<String> {
    let Some(found) = situation.found.get(&step.name) else { return vec!["is not there".to_owned()] };
    let mut wrong = Vec::new();
    match &step.change {
        Change::Refuse { reason, .. } => return vec![reason.clone()],
        Change::Update { before } => {
            // Whether actions are enabled has a sentence of its own.
            let mut differing = differing(step, before);
            differing.retain(|name| *name != "ActionsEnabled");
            if !differing.is_empty() {
                wrong.push(format!("differs in {}: see efsmon alarms diff", differing.join(", ")));
            }
        }
        Change::Create | Change::Keep => {}
    }
    if !found.actions_enabled() {
        wrong.push("has its actions switched off".to_owned());
    }
    if found.actions("AlarmActions").next().is_none() {
        wrong.push("has no actions: nobody is told".to_owned());
    }
    let missing = self::topics(std::iter::once(found)).into_iter().filter_map(|arn| match topics.get(arn) {
        Some(Topic::Deaf(reason)) => Some(format!("tells {arn}: {reason}")),
        _ => None,
    });
    wrong.extend(missing.map(|reason| printable(reason.as_bytes())));
    if found.broken {
        wrong.push(format!("cannot be evaluated: {}", printable(found.reason.as_bytes())));
    }
    wrong.extend(stuck(found, now).filter(|_| situation.expects_data(&step.name)));
    wrong
}

/// The members in which the alarm of a step differs from `before`.
pub fn differing<'a>(step: &'a Step, before: &'a Value) -> Vec<&'a str> {
    let (Some(desired), Some(before)) = (step.body.as_object(), before.as_object()) else {
        return Vec::new();
    };
    let names: BTreeSet<&str> = desired.keys().chain(before.keys()).map(String::as_str).collect();
    let differs = |name: &&str| match (desired.get(*name), before.get(*name)) {
        (Some(one), Some(other)) => !same(one, other),
        _ => true,
    };
    names.into_iter().filter(differs).collect()
}

/// None: it has data, or none could be expected yet.
fn stuck(found: &Found, now: i64) -> Option<String> {
    let long_ago = |time: Option<i64>| time.is_some_and(|time| now - time > STUCK);
    if found.state != "INSUFFICIENT_DATA" || !long_ago(found.since) || !long_ago(found.configured) {
        return None;
    }
    let for_how_long = found.since.map_or(0, |since| now - since);
    Some(format!("has been in INSUFFICIENT_DATA for {}: its metrics have no data", duration(for_how_long)))
}

/// `90 min`, `26 h`, `3 d`.
fn duration(seconds: i64) -> String {
    match seconds {
        ..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// The file systems none of whose alarms is there, with how many they should have.
pub fn bare<'a>(plan: &'a Plan, of: impl Fn(&str) -> Option<&'a str>) -> BTreeMap<&'a str, usize> {
    let mut systems: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (system, step) in plan.steps.iter().filter_map(|step| Some((of(&step.name)?, step))) {
        let (number, any) = systems.entry(system).or_default();
        *number += 1;
        *any |= step.change != Change::Create;
    }
    systems.into_iter().filter(|(_, (_, any))| !any).map(|(system, (number, _))| (system, number)).collect()
}
