//! What is to be done so that what should be there is there: the one plan that `diff` shows and `apply` follows.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Mark;

/// Something that is there: a dashboard or an alarm.
#[derive(Clone, Debug, PartialEq)]
pub struct Existing {
    pub body: Value,
    /// None: nothing in it says that efsmon made it.
    pub mark: Option<Mark>,
}

/// What is to be done about one dashboard or alarm.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub name: String,
    pub change: Change,
    /// As it should be.
    pub body: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// There is none of that name.
    Create,
    Update {
        before: Value,
    },
    /// It is as it should be.
    Keep,
    /// It is somebody else's: left alone.
    Refuse {
        before: Value,
        /// Whose it is, and what to do.
        reason: String,
    },
}

/// All that is to be done, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Those of ours that are there and should not be: only `--prune` deletes them. When nothing should be there: all
    /// of ours, and no other.
    pub leftover: Vec<String>,
}

impl Change {
    /// A word for it: `create`.
    pub fn name(&self) -> &'static str {
        match self {
            Change::Create => "create",
            Change::Update { .. } => "update",
            Change::Keep => "keep",
            Change::Refuse { .. } => "refuse",
        }
    }
}

impl Plan {
    /// Makes it. `adopt`: take over what is not ours.
    pub fn new(
        desired: BTreeMap<String, Value>,
        existing: &BTreeMap<String, Existing>,
        ours: &Mark,
        adopt: bool,
    ) -> Plan {
        let is_left = |name: &String, found: &Existing| {
            found.mark.as_ref() == Some(ours) && !desired.contains_key(name)
        };
        let leftover = existing.iter().filter(|(name, found)| is_left(name, found));
        let leftover = leftover.map(|(name, _)| name.clone()).collect();
        let step = |(name, body): (String, Value)| {
            let change = change(&body, existing.get(&name), ours, adopt);
            Step { name, change, body }
        };
        Plan { steps: desired.into_iter().map(step).collect(), leftover }
    }

    /// The steps that write something.
    pub fn writes(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| matches!(step.change, Change::Create | Change::Update { .. }))
    }

    /// The steps that may not be taken.
    pub fn refused(&self) -> impl Iterator<Item = (&Step, &str)> {
        self.steps.iter().filter_map(|step| match &step.change {
            Change::Refuse { reason, .. } => Some((step, reason.as_str())),
            _ => None,
        })
    }

    /// How many are as they should be.
    pub fn kept(&self) -> usize {
        self.steps.iter().filter(|step| step.change == Change::Keep).count()
    }

    /// Whether everything is as it should be.
    pub fn is_empty(&self) -> bool {
        self.steps.iter().all(|step| step.change == Change::Keep)
    }
}

fn change(body: &Value, existing: Option<&Existing>, ours: &Mark, adopt: bool) -> Change {
    let Some(found) = existing else { return Change::Create };
    let before = found.body.clone();
    match &found.mark {
        mark if mark.as_ref() == Some(ours) || adopt => match same(body, &before) {
            true => Change::Keep,
            false => Change::Update { before },
        },
        other => {
            Change::Refuse { before, reason: format!("{}; take it over with --adopt", whose(other.as_ref())) }
        }
    }
}

/// Whose something is that is not ours, as the end of a sentence.
pub fn whose(mark: Option<&Mark>) -> String {
    match mark {
        Some(Mark { owner, region }) => format!("is of owner {owner}, region {region}"),
        None => "was not made by efsmon, or somebody took its mark away".to_owned(),
    }
}

/// Whether two bodies say the same: order of members, white space and the spelling of numbers (60, 60.0) do not count.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests;
