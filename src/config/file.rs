//! One TOML file, taken into a [`Config`] as far as it is right; every mistake of it is named with its line. Pure.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mounts::{MOUNT_SETTINGS, MountText, REQUIRED};
use super::settings::{SETTINGS, Setting};
use super::spelling::{distance, nearest};
use super::{Config, Origin, Value};

/// What toml says of a key or section that is there twice; such a file can still be read to its end.
const DUPLICATE: &str = "duplicate key";

/// A configuration is small: what is larger is another file, whose every line would be a mistake.
const MOST_BYTES: usize = 256 << 10;
/// Mistakes of one file that are told.
const MOST_PROBLEMS: usize = 20;

/// Applies the file to `config`; the mistakes, in the order of their lines, each beginning with `path:line: `.
pub(super) fn apply(path: &Path, bytes: &[u8], config: &mut Config) -> Vec<String> {
    if bytes.len() > MOST_BYTES {
        let (path, found) = (path.display(), bytes.len());
        return vec![format!(
            "{path}: found {found} bytes; a configuration has at most {MOST_BYTES}: another file?"
        )];
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = line_at(bytes, error.valid_up_to());
            return vec![format!("{}:{line}: not UTF-8 text, which TOML has to be", path.display())];
        }
    };
    let mut reader = Reader { path, text, config, problems: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(text);
    reader.top(table.get_ref());
    reader.syntax(&errors);
    reader.problems.sort_by_key(|(line, _)| *line);
    let told = reader.problems.iter().take(MOST_PROBLEMS);
    let mut told: Vec<String> =
        told.map(|(line, problem)| format!("{}:{line}: {problem}", path.display())).collect();
    if let Some(more) = reader.problems.len().checked_sub(MOST_PROBLEMS).filter(|more| *more > 0) {
        told.push(format!("{}: and {more} more", path.display()));
    }
    told
}

/// The number, from 1, of the line that holds the byte at `offset`.
fn line_at(text: &[u8], offset: usize) -> usize {
    1 + text.iter().take(offset).filter(|byte| **byte == b'\n').count()
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    config: &'a mut Config,
    /// Line number and mistake.
    problems: Vec<(usize, String)>,
}

impl Reader<'_> {
    fn top(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let (name, line) = (key.get_ref().as_ref(), self.line(key.span().start));
            let is_section = SETTINGS.iter().any(|s| s.section_and_name().0 == Some(name));
            match value.get_ref() {
                _ if name == "mounts" => self.mounts(value),
                DeValue::Table(section) if is_section => self.section(name, section),
                found if is_section => {
                    let found = plain(found).found();
                    self.problem(line, format!("{name}: found {found}; allowed: one section [{name}]"));
                }
                DeValue::Table(_) if !SETTINGS.iter().any(|s| s.key == name) => {
                    self.problem(line, unknown_section(name));
                }
                found => self.setting(name, found, line),
            }
        }
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let line = self.line(key.span().start);
            self.setting(&format!("{section}.{}", key.get_ref()), value.get_ref(), line);
        }
    }

    fn setting(&mut self, key: &str, value: &DeValue<'_>, line: usize) {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
            let problem = unknown_key(key, SETTINGS);
            return self.problem(line, problem);
        };
        let outcome = self.config.set(setting, &plain(value), self.origin(line));
        if let Err(reason) = outcome {
            self.problem(line, reason);
        }
    }

    fn mounts(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Array(entries) = value.get_ref() else {
            let line = self.line(value.span().start);
            let found = plain(value.get_ref()).found();
            return self.problem(line, format!("mounts: found {found}; allowed: sections [[mounts]]"));
        };
        let mut seen: Vec<(PathBuf, usize)> = Vec::new();
        for entry in entries {
            let line = self.line(entry.span().start);
            let DeValue::Table(table) = entry.get_ref() else {
                let found = plain(entry.get_ref()).found();
                self.problem(line, format!("mounts: found {found}; allowed: sections [[mounts]]"));
                continue;
            };
            let Some(mount_point) = self.mount(table, line) else { continue };
            match seen.iter().find(|(earlier, _)| *earlier == mount_point) {
                Some((_, first)) => {
                    let found = Value::Text(mount_point.to_string_lossy().into_owned()).found();
                    let problem =
                        format!("mounts.mount_point: found {found} twice; allowed: once, see line {first}");
                    self.problem(line, problem);
                }
                None => seen.push((mount_point, line)),
            }
        }
    }

    /// One of the `[[mounts]]`: takes it, in place of an earlier file's for the same mount point, which it returns.
    fn mount(&mut self, table: &DeTable<'_>, line: usize) -> Option<PathBuf> {
        let mut mount = MountText::default();
        let mut given = HashSet::new();
        for (key, value) in table {
            let (key, line) = (format!("mounts.{}", key.get_ref()), self.line(key.span().start));
            let outcome = match MOUNT_SETTINGS.iter().find(|setting| setting.key == key) {
                Some(setting) => {
                    setting.put(&mut mount, &plain(value.get_ref())).map_err(|why| format!("{key}: {why}"))
                }
                None => Err(unknown_key(&key, MOUNT_SETTINGS)),
            };
            if let Err(reason) = outcome {
                self.problem(line, reason);
            }
            given.insert(key);
        }
        for setting in MOUNT_SETTINGS.iter().filter(|s| REQUIRED.contains(&s.key) && !given.contains(s.key)) {
            self.problem(line, format!("{}: missing; allowed: {}", setting.key, setting.allowed));
        }
        let rule = mount.complete(self.origin(line))?;
        let mount_point = rule.mount_point.clone();
        self.config.mounts.retain(|earlier| earlier.mount_point != mount_point);
        self.config.mounts.push(rule);
        Some(mount_point)
    }

    /// Adds the syntax errors, one a line, and takes back what was said of lines that they may have garbled.
    fn syntax(&mut self, errors: &[toml::de::Error]) {
        let mut lines: Vec<(usize, &str)> = Vec::new();
        for error in errors {
            let line = self.line(error.span().map_or(0, |span| span.start));
            if lines.iter().all(|(known, _)| *known != line) {
                lines.push((line, error.message()));
            }
        }
        let garbled = lines.iter().filter(|(_, message)| *message != DUPLICATE).map(|(line, _)| *line).min();
        self.problems.retain(|(line, _)| garbled.is_none_or(|garbled| *line < garbled));
        self.problems.retain(|(line, _)| lines.iter().all(|(wrong, _)| wrong != line));
        for (line, message) in lines {
            let found = self.text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
            let found = Value::Other(found.to_owned()).found();
            let problem = match message {
                DUPLICATE => format!("duplicate key: {found}: it is in this file already; keep one of them"),
                _ => format!("syntax error: {found}: {message}"),
            };
            self.problem(line, problem);
        }
    }

    fn line(&self, offset: usize) -> usize {
        line_at(self.text.as_bytes(), offset)
    }

    fn origin(&self, line: usize) -> Origin {
        Origin::File { path: self.path.to_owned(), line }
    }

    fn problem(&mut self, line: usize, problem: String) {
        self.problems.push((line, problem));
    }
}

/// The value, without what TOML knows of its shape.
fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Other(number.to_string()),
        },
        DeValue::Float(number) => Value::Other(number.to_string()),
        DeValue::Boolean(yes) => Value::Boolean(*yes),
        DeValue::Datetime(time) => Value::Other(time.to_string()),
        DeValue::Array(_) => Value::Other("an array".to_owned()),
        DeValue::Table(_) => Value::Other("a table".to_owned()),
    }
}

fn unknown_section(name: &str) -> String {
    let known = sections();
    let near = known.iter().min_by_key(|section| distance(name, section));
    let near = near.filter(|section| distance(name, section) * 3 <= section.len());
    let bracket = |section: &str| match section {
        "mounts" => "[[mounts]]".to_owned(),
        section => format!("[{section}]"),
    };
    let name = shown(name);
    match near {
        Some(section) => format!("[{name}]: unknown section; did you mean {}?", bracket(section)),
        None => {
            let known: Vec<_> = known.iter().map(|section| bracket(section)).collect();
            format!("[{name}]: unknown section; allowed: {}", known.join(", "))
        }
    }
}

/// Every section, in the order of the table.
fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = SETTINGS.iter().filter_map(|setting| setting.section_and_name().0).collect();
    sections.dedup();
    sections.push("mounts");
    sections
}

fn unknown_key<T: Default>(key: &str, known: &'static [Setting<T>]) -> String {
    let section = key.split_once('.').map(|(section, _)| section);
    let advice = match nearest(key, known).map(|setting| setting.section_and_name()) {
        Some((home, name)) if home == section => format!("did you mean {name}?"),
        Some((Some(home), name)) => format!("did you mean {name} in section [{home}]?"),
        Some((None, name)) => format!("did you mean {name} before the first section?"),
        None => {
            let here = known.iter().map(|setting| setting.section_and_name());
            let here: Vec<_> = here.filter(|(home, _)| *home == section).map(|(_, name)| name).collect();
            format!("allowed: {}", here.join(", "))
        }
    };
    format!("{}: unknown key; {advice}", shown(key))
}

/// A key as it is, or quoted when it holds what a bare key cannot.
fn shown(key: &str) -> String {
    match key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)) {
        true => key.to_owned(),
        false => Value::Text(key.to_owned()).found(),
    }
}
