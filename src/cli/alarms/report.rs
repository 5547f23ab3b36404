//! What is to be done, written out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::{Value, json};

use super::situation::Situation;
use crate::names::printable;
use crate::provision::alarms::Skipped;
use crate::provision::diff::unified;
use crate::provision::plan::{Change, Plan, Step};

/// Alarms to create that are told one by one; more are told by kind.
const TOLD: usize = 20;
/// File systems that are named for each reason why some get no alarm.
const NAMED: usize = 10;

/// What is to be done: the plan, and what is deleted.
pub struct Report<'a> {
    pub situation: &'a Situation,
    pub plan: &'a Plan,
    pub prune: bool,
}

impl Report<'_> {
    /// Ours that are deleted.
    pub fn deleted(&self) -> &[String] {
        if self.prune { &self.plan.leftover } else { &[] }
    }

    /// Alarms that are written or deleted.
    pub fn changes(&self) -> usize {
        self.plan.writes().count() + self.deleted().len()
    }

    /// One line for each change, and the diff of each update.
    pub fn write(&self, coloured: bool, out: &mut impl Write) -> io::Result<()> {
        let created: Vec<&Step> =
            self.plan.steps.iter().filter(|step| step.change == Change::Create).collect();
        if created.len() <= TOLD {
            created.iter().try_for_each(|step| writeln!(out, "create  {}", step.name))?;
        } else {
            let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
            for one in created.iter().filter_map(|step| self.situation.desired.get(&step.name)) {
                *kinds.entry(&one.kind).or_default() += 1;
            }
            kinds
                .iter()
                .try_for_each(|(kind, number)| writeln!(out, "create  {kind}: {}", alarms(*number)))?;
        }
        for step in &self.plan.steps {
            match &step.change {
                Change::Update { before } => {
                    writeln!(out, "update  {}", step.name)?;
                    let lines = unified(&step.name, Some(before), Some(&step.body));
                    crate::cli::provision::write_diff(&lines, coloured, out)?;
                }
                Change::Refuse { reason, .. } => writeln!(out, "leave   {}: it {reason}", step.name)?,
                Change::Create | Change::Keep => {}
            }
        }
        self.write_rest(out)
    }

    /// What there is besides the steps: what is left over, what is skipped, and the sum of it all.
    pub fn write_rest(&self, out: &mut impl Write) -> io::Result<()> {
        let word = if self.prune { "delete  " } else { "useless " };
        for name in &self.plan.leftover {
            let name_shown = printable(name.as_bytes());
            writeln!(out, "{word}{name_shown}: {}", self.situation.why_left(name))?;
        }
        if !self.plan.leftover.is_empty() && !self.prune {
            writeln!(out, "--prune deletes what is useless")?;
        }
        write_skipped(&self.situation.skipped, out)?;
        writeln!(out, "{}", self.sum())
    }

    /// `2 alarms to create, 40 unchanged: about 1 s`.
    fn sum(&self) -> String {
        let of =
            |wanted: fn(&Change) -> bool| self.plan.steps.iter().filter(|step| wanted(&step.change)).count();
        let counts = [
            (of(|change| *change == Change::Create), "to create"),
            (of(|change| matches!(change, Change::Update { .. })), "to update"),
            (self.deleted().len(), "to delete"),
            (of(|change| matches!(change, Change::Refuse { .. })), "left alone"),
            (of(|change| *change == Change::Keep), "unchanged"),
        ];
        let there = counts.iter().filter(|(number, _)| *number > 0);
        let mut parts: Vec<String> = there.map(|(number, what)| format!("{number} {what}")).collect();
        if let Some(first) = parts.first_mut()
            && let Some((number, what)) = first.clone().split_once(' ')
        {
            *first = format!("{} {what}", alarms(number.parse().unwrap_or(0)));
        }
        if parts.is_empty() {
            parts.push("no alarms".to_owned());
        }
        parts.join(", ")
    }

    /// For programs. `applied`: whether it was done.
    pub fn json(&self, applied: bool) -> Value {
        let change = |step: &Step| {
            let (what, before, reason) = match &step.change {
                Change::Keep => return None,
                Change::Create => ("create", None, None),
                Change::Update { before } => ("update", Some(before), None),
                Change::Refuse { before, reason } => ("leave", Some(before), Some(reason)),
            };
            Some(json!({
                "name": step.name, "change": what, "reason": reason, "before": before, "after": step.body,
            }))
        };
        let mut changes: Vec<Value> = self.plan.steps.iter().filter_map(change).collect();
        let left = |name: &String| json!({ "name": name, "reason": self.situation.why_left(name) });
        if self.prune {
            changes.extend(self.plan.leftover.iter().map(|name| {
                let found = self.situation.found.get(name);
                json!({
                    "name": name, "change": "delete", "reason": self.situation.why_left(name),
                    "before": found.map(|found| &found.body), "after": null,
                })
            }));
        }
        let left: Vec<Value> =
            if self.prune { Vec::new() } else { self.plan.leftover.iter().map(left).collect() };
        let unchanged = self.plan.steps.iter().filter(|step| step.change == Change::Keep).count();
        let skipped = self.situation.skipped.iter().map(
            |skipped| json!({ "kind": skipped.kind, "file_system": skipped.file_system.as_str(), "reason": skipped.reason }),
        );
        json!({
            "region": self.situation.target.region, "owner": self.situation.target.owner.to_string(),
            "changes": changes, "unchanged": unchanged, "useless": left,
            "skipped": skipped.collect::<Vec<_>>(), "applied": applied,
        })
    }
}

/// `1 alarm`, `2 alarms`.
pub fn alarms(number: usize) -> String {
    format!("{number} alarm{}", if number == 1 { "" } else { "s" })
}

/// One line for each reason: `skip    elastic throughput has no burst credits: fs-.. (credits-low)`.
pub fn write_skipped(skipped: &[Skipped], out: &mut impl Write) -> io::Result<()> {
    let mut reasons: BTreeMap<&str, (BTreeSet<&str>, Vec<&str>)> = BTreeMap::new();
    for one in skipped {
        let (kinds, systems) = reasons.entry(&one.reason).or_default();
        kinds.insert(&one.kind);
        if !systems.contains(&one.file_system.as_str()) {
            systems.push(one.file_system.as_str());
        }
    }
    for (reason, (kinds, systems)) in reasons {
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
        let more = match systems.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = systems.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        writeln!(out, "skip    {kinds}: {reason}: {named}{more}")?;
    }
    Ok(())
}
