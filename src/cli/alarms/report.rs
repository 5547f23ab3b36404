//! What is to be done, and what became of it, written out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::{Value, json};

use super::checks::differing;
use super::situation::Situation;
use crate::aws::alarms::PAGE as DELETED;
use crate::cost::prices::{AS_OF, FREE_ALARMS, PAGE, REGION, Usd};
use crate::names::printable;
use crate::provision::alarms::{Skipped, monthly_usd, time};
use crate::provision::diff::lines;
use crate::provision::plan::{Change, Plan, Step};

/// Alarms to create that are told one by one; more are told by kind.
const TOLD: usize = 20;
/// File systems that are named for each reason why some get no alarm.
const NAMED: usize = 10;

/// The plan, and what is deleted.
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

    /// One line for each change, then what is skipped, what it takes and what it costs.
    pub fn write(&self, coloured: bool, out: &mut impl Write) -> io::Result<()> {
        let created: Vec<&Step> =
            self.plan.steps.iter().filter(|step| step.change == Change::Create).collect();
        let one_by_one = created.len() <= TOLD;
        if !one_by_one {
            let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
            for one in created.iter().filter_map(|step| self.situation.desired.get(&step.name)) {
                *kinds.entry(&one.kind).or_default() += 1;
            }
            for (kind, number) in kinds {
                line(("create", "32"), &alarms(number), &format!("of the kind {kind}"), coloured, out)?;
            }
        }
        for step in &self.plan.steps {
            let name = printable(step.name.as_bytes());
            match &step.change {
                Change::Create if one_by_one => line(("create", "32"), &name, "", coloured, out)?,
                Change::Update { before } => {
                    let told = format!("differs in {}", differing(step, before).join(", "));
                    line(("update", "33"), &name, &told, coloured, out)?;
                }
                Change::Refuse { reason, .. } => line(("refuse", "35"), &name, reason, coloured, out)?,
                Change::Create | Change::Keep => {}
            }
        }
        for name in self.deleted() {
            let name_shown = printable(name.as_bytes());
            line(("delete", "31"), &name_shown, &self.situation.why_left(name), coloured, out)?;
        }
        self.write_rest(out)
    }

    /// What there is besides the changes.
    pub fn write_rest(&self, out: &mut impl Write) -> io::Result<()> {
        if !self.prune {
            for name in &self.plan.leftover {
                let name_shown = printable(name.as_bytes());
                let why = self.situation.why_left(name);
                writeln!(out, "  useless {name_shown}  {why}: --prune deletes it")?;
            }
        }
        write_skipped(&self.situation.skipped, out)?;
        match self.changes() {
            0 => {
                let should_be = if self.plan.kept() == 1 { "it should be" } else { "they should be" };
                writeln!(out, "no changes: {} as {should_be}", are(self.plan.kept()))?;
            }
            _ => writeln!(out, "{}: about {} s", self.sum(), self.seconds())?,
        }
        if self.plan.steps.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "{} a month for {}, by the metrics in them; an account's first {FREE_ALARMS} are free, and not deducted \
             (prices of {REGION}, {AS_OF})",
            self.usd(),
            alarms(self.plan.steps.len()),
        )
    }

    /// How long it takes to make the changes.
    fn seconds(&self) -> u64 {
        let requests = self.plan.writes().count() + self.deleted().len().div_ceil(DELETED);
        time(requests).as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
    }

    /// What all of them cost in a month, whether they are there or not.
    fn usd(&self) -> Usd {
        let alarms = self.situation.desired.values().map(|one| &one.alarm);
        monthly_usd(alarms, self.situation.target.file_systems.len())
    }

    /// `2 alarms to create, 1 to update`.
    fn sum(&self) -> String {
        let of =
            |wanted: fn(&Change) -> bool| self.plan.steps.iter().filter(|step| wanted(&step.change)).count();
        let counts = [
            (of(|change| *change == Change::Create), "to create"),
            (of(|change| matches!(change, Change::Update { .. })), "to update"),
            (self.deleted().len(), "to delete"),
        ];
        let there = counts.iter().filter(|(number, _)| *number > 0);
        let mut parts = there.map(|(number, what)| (*number, *what));
        let first = parts.next().map(|(number, what)| format!("{} {what}", alarms(number)));
        let others = parts.map(|(number, what)| format!("{number} {what}"));
        first.into_iter().chain(others).collect::<Vec<_>>().join(", ")
    }

    /// For programs; keys may be added, none changes or goes. `done`: how many of the changes were made, in order.
    pub fn json(&self, done: usize, dry_run: bool, with_diffs: bool) -> Value {
        let mut alarms = Vec::new();
        let mut made = 0;
        let mut is_made = || {
            made += 1;
            made <= done
        };
        for step in &self.plan.steps {
            let reason = match &step.change {
                Change::Refuse { reason, .. } => Some(reason.as_str()),
                _ => None,
            };
            let writes = matches!(step.change, Change::Create | Change::Update { .. });
            let mut row = json!({
                "name": step.name, "change": step.change.name(), "reason": reason, "done": writes && is_made(),
            });
            if with_diffs {
                row["diff"] = lines(step).iter().map(|line| line.print(false)).collect();
            }
            alarms.push(row);
        }
        for name in &self.plan.leftover {
            let change = if self.prune { "delete" } else { "useless" };
            let reason = self.situation.why_left(name);
            let is_done = self.prune && is_made();
            alarms.push(json!({ "name": name, "change": change, "reason": reason, "done": is_done }));
        }
        let skipped = |one: &Skipped| json!({ "kind": one.kind, "file_system": one.file_system.as_str(), "reason": one.reason });
        json!({
            "region": self.situation.target.region,
            "owner": self.situation.target.owner.to_string(),
            "dry_run": dry_run,
            "alarms": alarms,
            "skipped": self.situation.skipped.iter().map(skipped).collect::<Vec<_>>(),
            "seconds": self.seconds(),
            "usd_per_month": self.usd().dollars(),
            "prices": {
                "currency": "USD", "page": PAGE, "as_of": AS_OF, "region": REGION,
                "free_alarms_not_deducted": FREE_ALARMS,
            },
        })
    }
}

fn line(
    (verb, colour): (&str, &str),
    name: &str,
    more: &str,
    coloured: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let verb = if coloured { format!("\x1b[{colour}m{verb}\x1b[0m") } else { verb.to_owned() };
    writeln!(out, "{}", format!("  {verb}  {name}  {more}").trim_end())
}

/// `1 alarm`, `2 alarms`.
pub fn alarms(number: usize) -> String {
    format!("{number} alarm{}", if number == 1 { "" } else { "s" })
}

/// `1 alarm is`, `2 alarms are`.
pub fn are(number: usize) -> String {
    format!("{} {}", alarms(number), if number == 1 { "is" } else { "are" })
}

/// One line for each reason: `skip    credits-low: elastic throughput has no burst credits: fs-..`.
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
        writeln!(out, "  skip    {named}{more}  {reason}: no {kinds}")?;
    }
    Ok(())
}
