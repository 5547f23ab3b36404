//! The keys of a TOML file, taken one by one; what is missing, wrong or unknown is told with its line.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::names::printable;

/// Sections of one name: each may describe a week.
const MOST_TABLES: usize = 100;

/// Every mistake of a file, in the order of its lines: `PATH:LINE: KEY: ..`.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct Mistakes(pub Vec<String>);

/// What a key's value is, or what was found in its place where that is only a part of it.
pub type Taken<T> = Result<T, Option<String>>;

/// Reads one file.
pub struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    /// Where each line but the first begins.
    lines: Vec<usize>,
    /// Line and mistake.
    mistakes: Vec<(usize, String)>,
}

/// A section whose keys are taken one by one.
pub struct Table<'a> {
    /// Empty: the keys before the first section.
    name: &'static str,
    line: usize,
    keys: Vec<Key<'a>>,
    asked: Vec<&'static str>,
}

struct Key<'a> {
    name: String,
    line: usize,
    value: Spanned<DeValue<'a>>,
}

impl Table<'_> {
    /// That of its header.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|found| found.name == key)
    }

    /// The key with its section.
    fn full(&self, key: &str) -> String {
        let key = printable(key.as_bytes());
        if self.name.is_empty() { key } else { format!("{}.{key}", self.name) }
    }
}

impl<'a> Reader<'a> {
    pub fn new(path: &'a str, text: &'a str) -> Reader<'a> {
        let lines = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Reader { path, text, lines, mistakes: Vec::new() }
    }

    /// The whole file; None, with a mistake: it is not TOML.
    pub fn top(&mut self) -> Option<Table<'a>> {
        match DeTable::parse(self.text) {
            Ok(table) => Some(self.opened("", 1, table.get_ref())),
            Err(error) => {
                let line = self.line_at(error.span().map_or(0, |span| span.start));
                self.mistakes.push((line, format!("not TOML: {}", error.message())));
                None
            }
        }
    }

    /// The section of that name, if it is there.
    pub fn table(&mut self, of: &mut Table<'a>, name: &'static str) -> Option<Table<'a>> {
        let (line, value) = self.value(of, name)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(self.opened(name, line, table)),
            _ => {
                self.wrong(line, name, self.source(&value), &format!("one section [{name}]"));
                None
            }
        }
    }

    /// Every section of that name, if they are not too many.
    pub fn tables(&mut self, of: &mut Table<'a>, name: &'static str) -> Vec<Table<'a>> {
        let Some((line, value)) = self.value(of, name) else { return Vec::new() };
        let entries = value.get_ref().as_array().map(|array| array.iter().collect::<Vec<_>>());
        let mut entries = entries.unwrap_or_else(|| vec![&value]);
        if entries.len() > MOST_TABLES {
            let found = format!("{} sections [[{name}]]", entries.len());
            self.wrong(line, name, found, &format!("{MOST_TABLES} at most"));
            entries.clear();
        }
        let mut tables = Vec::new();
        for entry in entries {
            match (entry.get_ref(), value.get_ref()) {
                (DeValue::Table(table), DeValue::Array(_)) => {
                    tables.push(self.opened(name, self.line_at(entry.span().start), table));
                }
                _ => self.wrong(line, name, self.source(entry), &format!("sections [[{name}]]")),
            }
        }
        tables
    }

    /// A key that need not be there.
    pub fn optional<T>(
        &mut self,
        table: &mut Table<'a>,
        key: &'static str,
        allowed: &str,
        read: impl FnOnce(&toml::Value) -> Option<T>,
    ) -> Option<T> {
        self.take(table, key, allowed, |value| read(value).ok_or(None))
    }

    /// A key that must be there.
    pub fn required<T>(
        &mut self,
        table: &mut Table<'a>,
        key: &'static str,
        allowed: &str,
        read: impl FnOnce(&toml::Value) -> Option<T>,
    ) -> Option<T> {
        if !table.has(key) {
            self.missing(table, key, allowed);
        }
        self.optional(table, key, allowed, read)
    }

    /// A key that need not be there, and of whose value `read` can tell which part is wrong.
    pub fn take<T>(
        &mut self,
        table: &mut Table<'a>,
        key: &'static str,
        allowed: &str,
        read: impl FnOnce(&toml::Value) -> Taken<T>,
    ) -> Option<T> {
        let (line, value) = self.value(table, key)?;
        let plain = toml::Value::deserialize(ValueDeserializer::from(value.clone()));
        match plain.map_err(|_| None).and_then(|plain| read(&plain)) {
            Ok(taken) => Some(taken),
            Err(found) => {
                let found = found.unwrap_or_else(|| self.source(&value));
                self.wrong(line, &table.full(key), found, allowed);
                None
            }
        }
    }

    /// A key's value ahead of its turn, if it is right.
    pub fn glance<T>(&self, table: &Table, key: &str, read: fn(&toml::Value) -> Option<T>) -> Option<T> {
        let key = table.keys.iter().find(|found| found.name == key)?;
        read(&toml::Value::deserialize(ValueDeserializer::from(key.value.clone())).ok()?)
    }

    /// Says that a key is missing.
    pub fn missing(&mut self, table: &mut Table, key: &'static str, allowed: &str) {
        table.asked.push(key);
        self.mistakes.push((table.line, format!("{}: missing; allowed: {allowed}", table.full(key))));
    }

    /// Says that the keys of a section do not go together.
    pub fn clash(&mut self, table: &Table, allowed: &str) {
        let found: Vec<String> = table.keys.iter().map(|key| printable(key.name.as_bytes())).collect();
        self.wrong(table.line, table.name, found.join(", "), allowed);
    }

    /// Says of every key of the section that was not asked for that it is unknown.
    pub fn finish(&mut self, table: Table) {
        let mut known = table.asked.clone();
        known.sort_unstable();
        known.dedup();
        for key in table.keys.iter().filter(|key| !known.contains(&key.name.as_str())) {
            let mistake = format!("{}: unknown key; allowed: {}", table.full(&key.name), known.join(", "));
            self.mistakes.push((key.line, mistake));
        }
    }

    /// How many mistakes there are so far.
    pub fn wrong_so_far(&self) -> usize {
        self.mistakes.len()
    }

    /// What was wrong.
    pub fn mistakes(self) -> Mistakes {
        let Reader { path, mut mistakes, .. } = self;
        mistakes.sort();
        Mistakes(mistakes.into_iter().map(|(line, mistake)| format!("{path}:{line}: {mistake}")).collect())
    }

    fn opened(&self, name: &'static str, line: usize, table: &DeTable<'a>) -> Table<'a> {
        let keys = table.iter().map(|(key, value)| Key {
            name: key.get_ref().to_string(),
            line: self.line_at(key.span().start),
            value: value.clone(),
        });
        let mut keys: Vec<Key> = keys.collect();
        keys.sort_by_key(|key| key.line);
        Table { name, line, keys, asked: Vec::new() }
    }

    fn value(&self, table: &mut Table<'a>, key: &'static str) -> Option<(usize, Spanned<DeValue<'a>>)> {
        table.asked.push(key);
        table.keys.iter().find(|found| found.name == key).map(|key| (key.line, key.value.clone()))
    }

    fn wrong(&mut self, line: usize, key: &str, found: String, allowed: &str) {
        self.mistakes.push((line, format!("{key}: found {found}; allowed: {allowed}")));
    }

    /// The value as it stands in the file: one line, not endless.
    fn source(&self, value: &Spanned<DeValue>) -> String {
        const LONGEST: usize = 80;
        let whole = self.text.get(value.span()).unwrap_or_default();
        let line = whole.lines().next().unwrap_or_default();
        let start: String = line.chars().take(LONGEST).collect();
        let cut = if start.len() < whole.len() { ".." } else { "" };
        format!("{}{cut}", printable(start.as_bytes()))
    }

    /// The number, from 1, of the line that holds the byte at `offset`.
    fn line_at(&self, offset: usize) -> usize {
        1 + self.lines.partition_point(|start| *start <= offset)
    }
}
