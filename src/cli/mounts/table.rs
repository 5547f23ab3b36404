//! The list of mounts for people: a line each, then what is to be said of them, the gravest first, then the sum.

use std::collections::HashSet;
use std::io::{self, Write};

use super::fit::{cut_in_the_middle, shortened, wrapped};
use super::groups::{Group, groups, is_told};
use super::row::Row;
use crate::efs::Answer;
use crate::health::Severity;
use crate::mountstats::unescape;
use crate::names::printable;

/// How the list is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Characters in a line of the terminal; `None` when there is none, and nothing is shortened.
    pub width: Option<usize>,
    pub colours: bool,
    /// Whether what is only good to know is told too, and every mount by its name.
    pub verbose: bool,
}

const GAP: usize = 2;
/// On a terminal mount points are cut, to not less than this; before that columns are left out.
const SHORTEST_NAME: usize = 24;
/// Elsewhere longer ones push the rest of their line aside.
const WIDEST_NAME: usize = 60;
/// What other names are cut to on a terminal.
const DEVICE: usize = 20;
const SAME_AS: usize = 12;
/// Mounts that are named below a finding.
const NAMED: usize = 3;
/// What stands before the text of a finding.
const INDENT: usize = 10;

/// Writes the list of at least one mount; `closing` is the last sentence.
pub fn write(rows: &[Row<'_>], look: Look, closing: &str, out: &mut impl Write) -> io::Result<()> {
    let list = List { rows, look, names: rows.iter().map(|row| shown(row.record.mount_point)).collect() };
    let left_out = list.write_table(out)?;
    let told = groups(rows, |finding| look.verbose || is_told(finding));
    if !told.is_empty() {
        writeln!(out)?;
    }
    for group in &told {
        list.write_group(group, out)?;
    }
    writeln!(out)?;
    let no_room = (!left_out.is_empty())
        .then(|| format!("For lack of room there is no {}; a pipe has it.", left_out.join(" and no ")));
    for sentence in [Some(list.sum()), no_room, Some(closing.to_owned())].into_iter().flatten() {
        for line in wrapped(&sentence, look.width.unwrap_or(usize::MAX)) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn shown(printed: &[u8]) -> String {
    printable(&unescape(printed))
}

struct List<'r, 'a> {
    rows: &'r [Row<'a>],
    look: Look,
    /// The mount points.
    names: Vec<String>,
}

/// A column of the table. One that says nothing of any mount is left out.
struct Column {
    title: &'static str,
    cells: Vec<String>,
}

impl Column {
    fn of(title: &'static str, cells: impl Iterator<Item = Option<String>>) -> Option<Column> {
        let cells: Vec<Option<String>> = cells.collect();
        cells.iter().any(Option::is_some).then(|| Column {
            title,
            cells: cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned())).collect(),
        })
    }

    fn width(&self) -> usize {
        width_of(self.title, &self.cells)
    }
}

fn width_of(title: &str, cells: &[String]) -> usize {
    cells.iter().map(|cell| cell.chars().count()).fold(title.len(), usize::max)
}

impl List<'_, '_> {
    /// Returns the columns that there is no room for.
    fn write_table(&self, out: &mut impl Write) -> io::Result<Vec<&'static str>> {
        let mut left_out = Vec::new();
        let mut columns =
            Vec::from_iter(Column::of("FILE SYSTEM", self.rows.iter().map(|row| self.what(row))));
        let access_point = |row: &Row<'_>| Some(row.efs()?.access_point.as_ref()?.to_string());
        columns.extend(Column::of("ACCESS POINT", self.rows.iter().map(access_point)));
        columns.extend(Column::of("ZONE", self.rows.iter().map(|row| row.efs()?.zone.clone())));
        let states: Vec<String> = (0..self.rows.len()).map(|index| self.state(index)).collect();
        let longest = width_of("MOUNT POINT", &self.names);
        let mut name_width = WIDEST_NAME;
        if let Some(width) = self.look.width {
            // What is least missed goes first: a zone other than this host's is a finding.
            let rest = width_of("STATE", &states) + GAP;
            let room = |columns: &[Column]| {
                let taken: usize = columns.iter().map(|column| column.width() + GAP).sum();
                width.saturating_sub(taken + rest)
            };
            // The first column is never left out.
            while columns.len() > 1 && room(&columns) < longest.min(SHORTEST_NAME) {
                let access_point = columns.iter().position(|column| column.title == "ACCESS POINT");
                left_out.push(columns.remove(access_point.unwrap_or(columns.len() - 1)).title);
            }
            name_width = room(&columns).max(SHORTEST_NAME);
        }
        let names: Vec<String> = (0..self.rows.len())
            .map(|index| self.name(index, self.look.width.map_or(usize::MAX, |_| name_width)))
            .collect();
        name_width = name_width.min(width_of("MOUNT POINT", &names));
        let widths: Vec<usize> = columns.iter().map(Column::width).collect();
        let line = |name: &str, cells: &[&str], state: &str| {
            let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
            format!("{name:name_width$}  {}{state}", cells.collect::<String>())
        };
        let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
        writeln!(out, "{}", line("MOUNT POINT", &titles, "STATE"))?;
        for (index, ((row, name), state)) in self.rows.iter().zip(&names).zip(&states).enumerate() {
            let cells: Vec<&str> =
                columns.iter().filter_map(|column| Some(column.cells.get(index)?.as_str())).collect();
            let gravest = row.findings.first().map_or(Severity::Info, |finding| finding.severity);
            let state = self.look.painted(gravest, state);
            writeln!(out, "{}", line(name, &cells, &state))?;
        }
        Ok(left_out)
    }

    /// A mount point in at most so many characters.
    fn name(&self, index: usize, width: usize) -> String {
        self.names.get(index).map_or(String::new(), |name| shortened(name, width))
    }

    /// The file system, or the device when it is not one of EFS.
    fn what(&self, row: &Row<'_>) -> Option<String> {
        if let Some(identity) = row.efs() {
            return Some(identity.file_system.to_string());
        }
        let device = shown(row.record.device?);
        Some(match self.look.width {
            Some(_) => cut_in_the_middle(&device, DEVICE),
            None => device,
        })
    }

    fn state(&self, index: usize) -> String {
        let Some(row) = self.rows.get(index) else { return String::new() };
        if row.stalled == Some(true) {
            return "STALLED".to_owned();
        }
        let warnings = row.count(Severity::Warning);
        let (what, warnings) = match row.answer {
            Answer::Efs(_) => (None, warnings),
            Answer::S3Files => (Some("S3 Files"), warnings),
            Answer::NotEfs(_) => (Some("not EFS"), warnings),
            // That is a warning by itself.
            Answer::Pending(_) => (Some("unidentified"), warnings.saturating_sub(1)),
        };
        let warnings = (warnings > 0).then(|| plural(warnings, "warning"));
        let parts: Vec<String> = what.map(str::to_owned).into_iter().chain(warnings).collect();
        match row.same_as {
            _ if !parts.is_empty() => parts.join(", "),
            None => "ok".to_owned(),
            Some(_) if index.checked_sub(1).is_some_and(|above| self.is_same(row, above)) => {
                "same as above".to_owned()
            }
            Some(first) => {
                let width = self.look.width.map_or(usize::MAX, |_| SAME_AS);
                format!("same as {}", shortened(&shown(first), width))
            }
        }
    }

    fn is_same(&self, row: &Row<'_>, other: usize) -> bool {
        self.rows.get(other).is_some_and(|other| other.number.is_some() && other.number == row.number)
    }

    fn write_group(&self, group: &Group<'_>, out: &mut impl Write) -> io::Result<()> {
        let severity = group.finding.severity;
        let title = format!("{:<width$}", severity.name().to_uppercase(), width = INDENT);
        let title = self.look.painted(severity, &title);
        let width = self.look.width.map_or(usize::MAX, |width| width.saturating_sub(INDENT));
        let lines = wrapped(&group.finding.text, width);
        for (line, title) in
            lines.iter().zip([title].into_iter().chain(std::iter::repeat(" ".repeat(INDENT))))
        {
            writeln!(out, "{title}{line}")?;
        }
        let mut names: Vec<String> =
            group.mounts.iter().map(|index| self.name(*index, width.saturating_sub(2))).collect();
        // Mounts over one another have one name.
        names.dedup();
        // One more takes as much room as to say so.
        let named = if self.look.verbose || names.len() == NAMED + 1 { names.len() } else { NAMED };
        for name in names.iter().take(named) {
            writeln!(out, "{:INDENT$}  {name}", "")?;
        }
        if let Some(more @ 1..) = names.len().checked_sub(named) {
            writeln!(out, "{:INDENT$}  and {more} more", "")?;
        }
        Ok(())
    }

    /// How many there are of what.
    fn sum(&self) -> String {
        let count = |has: &dyn Fn(&Row<'_>) -> bool| self.rows.iter().filter(|row| has(row)).count();
        let of_efs = self.rows.iter().filter_map(|row| Some(&row.efs()?.file_system));
        let file_systems: HashSet<_> = of_efs.collect();
        let parts = [
            (count(&|row| row.stalled == Some(true)), "stalled"),
            (count(&|row| row.count(Severity::Warning) > 0), "with warnings"),
            (count(&|row| matches!(row.answer, Answer::Pending(_))), "unidentified"),
            (count(&|row| matches!(row.answer, Answer::NotEfs(_) | Answer::S3Files)), "not of EFS"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        let parts = if parts.is_empty() { "nothing wrong".to_owned() } else { parts.join(", ") };
        let (mounts, file_systems) = (self.rows.len(), file_systems.len());
        format!("{}, {}: {parts}", plural(mounts, "mount"), plural(file_systems, "EFS file system"))
    }
}

fn plural(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

impl Look {
    fn painted(self, severity: Severity, text: &str) -> String {
        let colour = match severity {
            Severity::Critical => "1;31",
            Severity::Warning => "33",
            Severity::Info => return text.to_owned(),
        };
        match self.colours {
            true => format!("\x1b[{colour}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}
