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

/// Alarms with which the same is done that are told one by one; more are counted.
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

    /// What changes, then what is skipped, what it takes and what it costs.
    pub fn write(&self, coloured: bool, out: &mut impl Write) -> io::Result<()> {
        let (mut created, mut updated, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for step in &self.plan.steps {
            match &step.change {
                Change::Create => created.push(self.row(step, "")),
                Change::Update { before } => {
                    let told = format!("differs in {}", differing(step, before).join(", "));
                    updated.push(self.row(step, &told));
                }
                Change::Refuse { reason, .. } => refused.push(self.row(step, reason)),
                Change::Keep => {}
            }
        }
        write_rows(("create", "32"), created, coloured, out)?;
        write_rows(("update", "33"), updated, coloured, out)?;
        write_rows(("refuse", "35"), refused, coloured, out)?;
        if self.prune {
            write_rows(("delete", "31"), self.leftover(""), coloured, out)?;
        }
        self.write_rest(out)
    }

    fn row<'b>(&'b self, step: &'b Step, told: &str) -> Row<'b> {
        let kind = self.situation.desired.get(&step.name).map_or("", |one| &one.kind);
        let each = if told.is_empty() { "" } else { ", each " };
        Row { name: &step.name, told: told.to_owned(), of_many: format!("of the kind {kind}{each}{told}") }
    }

    /// Those of ours that should not be, with why.
    fn leftover(&self, more: &str) -> Vec<Row<'_>> {
        let told = |name: &String| format!("{}{more}", self.situation.why_left(name));
        let rows = self.plan.leftover.iter().map(|name| (name, told(name)));
        rows.map(|(name, told)| Row { name, of_many: told.clone(), told }).collect()
    }

    /// What there is besides the changes.
    pub fn write_rest(&self, out: &mut impl Write) -> io::Result<()> {
        if !self.prune {
            write_rows(("useless", ""), self.leftover(": --prune deletes it"), false, out)?;
        }
        write_skipped(&self.situation.skipped, out)?;
        match self.changes() {
            0 => {
                let should_be = if self.plan.kept() == 1 { "it should be" } else { "they should be" };
                writeln!(out, "no changes: {} as {should_be}", are(self.plan.kept()))?;
            }
            _ => writeln!(out, "{}: about {}", self.sum(), about(self.seconds()))?,
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

/// What is told of one alarm.
struct Row<'a> {
    name: &'a str,
    told: String,
    /// The same of one among many, whose names are not told.
    of_many: String,
}

/// A line for each, or, of more than [`TOLD`], for all of which the same is told.
fn write_rows(
    (verb, colour): (&str, &str),
    rows: Vec<Row<'_>>,
    coloured: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let lines: Vec<(String, String)> = if rows.len() <= TOLD {
        rows.into_iter().map(|row| (printable(row.name.as_bytes()), row.told)).collect()
    } else {
        let mut same: BTreeMap<String, usize> = BTreeMap::new();
        rows.into_iter().for_each(|row| *same.entry(row.of_many).or_default() += 1);
        same.into_iter().map(|(told, number)| (alarms(number), told)).collect()
    };
    let space = " ".repeat("useless ".len().saturating_sub(verb.len()));
    let verb = if coloured { format!("\x1b[{colour}m{verb}\x1b[0m") } else { verb.to_owned() };
    lines
        .iter()
        .try_for_each(|(what, told)| writeln!(out, "{}", format!("  {verb}{space}{what}  {told}").trim_end()))
}

/// `6 s`, `54 min`.
fn about(seconds: u64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
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
