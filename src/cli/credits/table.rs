//! Many file systems, a line each.

use std::io::{self, Write};

use super::super::mounts::fit::{cut_in_the_middle, wrapped};
use super::units::{clock, digits, lasting};
use super::{Look, Report, Seen};
use crate::cost::prices::thousands;
use crate::credits::{Bucket, MIB, Outlook};
use crate::names::printable;

/// Of the sentences below the table.
const WIDTH: usize = 80;
/// Names are cut to what the terminal has left, and to not less than this.
const SHORTEST_NAME: usize = 10;

/// Writes the table, the sum, and what its marks mean.
pub fn write(report: &Report, look: &Look<'_>, out: &mut impl Write) -> io::Result<()> {
    let ids: Vec<&str> = report.seen.iter().map(|seen| seen.file_system.id.as_str()).collect();
    let names: Vec<String> = report.seen.iter().map(name).collect();
    let outlooks: Vec<String> = report.seen.iter().map(|seen| outlook(report, seen)).collect();
    let widest = |cells: &mut dyn Iterator<Item = &str>, title: &str| {
        cells.map(|cell| cell.chars().count()).fold(title.len(), usize::max)
    };
    let id_width = widest(&mut ids.iter().copied(), "FILE SYSTEM");
    let outlook_width = widest(&mut outlooks.iter().map(String::as_str), "OUTLOOK");
    let mut name_width = match names.iter().all(String::is_empty) {
        true => 0,
        false => widest(&mut names.iter().map(String::as_str), "NAME") + 2,
    };
    if let Some(width) = look.width.filter(|_| name_width > 0) {
        let left = width.saturating_sub(id_width + 2 + FIGURES + 2 + outlook_width);
        name_width = name_width.min(left.max(SHORTEST_NAME + 2));
    }
    let line = |id: &str, name: &str, figures: &str, outlook: &str| {
        let name = cut_in_the_middle(name, name_width.saturating_sub(2));
        format!("{id:<id_width$}  {name:<name_width$}{figures}  {outlook}")
    };
    let title = if name_width > 0 { "NAME" } else { "" };
    writeln!(out, "{}", line("FILE SYSTEM", title, &figures("CREDITS", "BURN", "LIMIT"), "OUTLOOK"))?;
    for (((seen, id), name), outlook) in report.seen.iter().zip(ids).zip(&names).zip(&outlooks) {
        let cells = figures(&balance(report, seen), &burn(seen), &limit(seen));
        let outlook = look.painted(seen.situation.outlook, outlook);
        writeln!(out, "{}", line(id, name, &cells, &outlook).trim_end())?;
    }
    writeln!(out)?;
    wrapped(&sum(report), WIDTH).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    notes(report).iter().try_for_each(|note| writeln!(out, "{note}"))?;
    writeln!(out, "With its graph: efsmon credits FS")
}

/// Width of the three columns of figures.
const FIGURES: usize = 24;

fn figures(balance: &str, burn: &str, limit: &str) -> String {
    format!("{balance:>7}  {burn:>7} {limit:>7}")
}

fn name(seen: &Seen) -> String {
    seen.file_system.name.as_ref().map_or(String::new(), |name| printable(name.as_bytes()))
}

/// Percent of the cap.
fn balance(report: &Report, seen: &Seen) -> String {
    let balance = seen.situation.balance.filter(|_| seen.file_system.may_have_credits());
    balance.map_or("-".to_owned(), |balance| {
        let mark = if balance.is_old(report.now) { "*" } else { " " };
        format!("{:.1}%{mark}", Bucket::of(&seen.file_system, balance.value).share() * 100.0)
    })
}

fn burn(seen: &Seen) -> String {
    seen.situation.burn.map_or("-".to_owned(), |burn| {
        let mark = if burn.is_censored() { ">" } else { "" };
        format!("{mark}{}", digits(burn.rate / MIB))
    })
}

fn limit(seen: &Seen) -> String {
    seen.situation.permitted.map_or("-".to_owned(), |permitted| digits(permitted.value / MIB))
}

fn outlook(report: &Report, seen: &Seen) -> String {
    match seen.situation.outlook {
        Outlook::Empty { since, or_before: true, .. } => {
            format!("empty over {}", lasting((report.now - since) as f64, true))
        }
        Outlook::Empty { since, .. } => format!("empty since {}", clock(since, report.now)),
        Outlook::Depletion { seconds } => format!("gone in {}", lasting(seconds, true)),
        Outlook::Refill { seconds } => format!("full in {}", lasting(seconds, true)),
        Outlook::Full => "full".to_owned(),
        Outlook::Steady => "not draining".to_owned(),
        Outlook::NoBurn => "no data of use".to_owned(),
        Outlook::NoBalance => "no data".to_owned(),
        Outlook::NoCredits => printable(seen.file_system.mode.name().as_bytes()),
    }
}

fn sum(report: &Report) -> String {
    let count = |has: fn(&Outlook) -> bool| {
        report.seen.iter().filter(|seen| has(&seen.situation.outlook)).count() as u64
    };
    let parts = [
        (count(|outlook| matches!(outlook, Outlook::Empty { .. })), "empty"),
        (count(|outlook| matches!(outlook, Outlook::Depletion { .. })), "draining"),
        (count(|outlook| matches!(outlook, Outlook::Refill { .. })), "refilling"),
        (count(|outlook| matches!(outlook, Outlook::Full | Outlook::Steady)), "not draining"),
        (count(|outlook| matches!(outlook, Outlook::NoCredits)), "without credits"),
        (count(|outlook| matches!(outlook, Outlook::NoBalance | Outlook::NoBurn)), "without data"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!("{} {what}", thousands(*count))).collect();
    let number = thousands(report.seen.len() as u64);
    format!("{number} file systems in {}: {}", report.region, parts.join(", "))
}

fn notes(report: &Report) -> Vec<&'static str> {
    let any = |has: &dyn Fn(&Seen) -> bool| report.seen.iter().any(has);
    let mut notes = vec![
        "CREDITS in percent of the cap. BURN (mean of 15 minutes) and LIMIT in metered\n\
         MiB/s: reads of file data count a third of their bytes. Times are UTC.",
    ];
    if any(&|seen| seen.situation.burn.is_some_and(|burn| burn.is_censored())) {
        notes.push("> at least: the limit was reached, and the demand may be higher.");
    }
    if any(&|seen| seen.situation.balance.is_some_and(|balance| balance.is_old(report.now))) {
        notes.push("* old: CloudWatch has nothing of the last 15 minutes.");
    }
    notes
}
