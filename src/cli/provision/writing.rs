//! What `efsmon dashboards` and `efsmon alarms` write, and where.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::provision::diff::Line;

/// A note to standard error. Nobody is left to tell when it is closed.
pub fn note(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "efsmon: {text}");
}

/// Whether standard output takes colours.
pub fn coloured() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes a diff.
///
/// # Errors
///
/// A writer that takes no more.
pub fn write_diff(lines: &[Line], coloured: bool, out: &mut impl Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{}", line.print(coloured)))
}

/// A table, its titles in the first row: columns two spaces apart, those of `numbers` to the right.
///
/// # Errors
///
/// A writer that takes no more.
pub fn write_table<const N: usize>(
    rows: &[[String; N]],
    numbers: &[usize],
    out: &mut impl Write,
) -> io::Result<()> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            match numbers.contains(&column) {
                true => format!("{cell:>width$}"),
                false => format!("{cell:width$}"),
            }
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    out.flush()
}

/// A JSON document for programs.
///
/// # Errors
///
/// A writer that takes no more.
pub fn write_json(value: &Value, out: &mut impl Write) -> io::Result<()> {
    // Strings have no raw ends of lines, so that those there are lie between the tokens.
    for line in format!("{value:#}").split('\n') {
        writeln!(out, "{}", crate::names::safe_json(line))?;
    }
    out.flush()
}

/// Bodies for programs: an object of all by name, or the `only` one by itself; with a folder, a file for each, whose
/// paths are told.
///
/// # Errors
///
/// A folder or a writer that takes no more.
pub fn write_bodies(
    bodies: BTreeMap<String, Value>,
    only: bool,
    folder: Option<&Path>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    if let Some(folder) = folder {
        return write_files(folder, &bodies, out);
    }
    match bodies.values().next().filter(|_| only && bodies.len() == 1) {
        Some(body) => write_json(body, out)?,
        None => write_json(&Value::Object(bodies.into_iter().collect()), out)?,
    }
    Ok(())
}

fn write_files(folder: &Path, bodies: &BTreeMap<String, Value>, out: &mut impl Write) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for (name, body) in bodies {
        let path = folder.join(format!("{name}.json"));
        let mut text = Vec::new();
        write_json(body, &mut text)?;
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(out.flush()?)
}
