//! What a script publishes, as far as it says so in plain words.

use std::collections::BTreeMap;

use serde_json::Value;

use super::words::{Command, commands};
use super::{Defect, PUBLISHES, READS, defects};

/// A call of `aws cloudwatch put-metric-data`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// From 1, in the file; of what stands in the crontab itself, in that line.
    pub line: usize,
    pub namespace: Option<String>,
    pub metric: Option<String>,
    /// The names of the dimensions.
    pub dimensions: Vec<String>,
    /// The word that has a dash where the hyphen of an option belongs: aws knows no such option, and sends nothing.
    pub dash: Option<String>,
}

/// A script that publishes nfsiostat's figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// None when no call could be read, as when it is made by another language than the shell's.
    pub puts: Vec<Put>,
    pub defects: Vec<Defect>,
    /// Files to which it appends.
    pub appends_to: Vec<String>,
}

impl Script {
    /// The script in a text, if it is one that is meant.
    pub fn of(text: &[u8]) -> Option<Script> {
        let text = String::from_utf8_lossy(text);
        let has = |what| text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(what));
        if !has(READS) || !has(PUBLISHES) {
            return None;
        }
        let commands = commands(&text);
        let known = literals(&commands);
        let puts: Vec<Put> = commands.iter().filter_map(|command| put(command, &known)).collect();
        let mut appends_to: Vec<String> = commands
            .iter()
            .flat_map(|command| &command.appends_to)
            .map(|file| filled(file, &known))
            .filter(|file| file.starts_with('/') && !file.starts_with("/dev/") && !file.contains('$'))
            .collect();
        appends_to.sort();
        appends_to.dedup();
        let defects = defects::of(&text, &commands, &puts, &appends_to);
        Some(Script { puts, defects, appends_to })
    }

    /// The calls that reach AWS.
    pub fn sent(&self) -> impl Iterator<Item = &Put> {
        self.puts.iter().filter(|put| put.dash.is_none())
    }
}

/// Variables that are set to plain text, and never to anything else.
pub(super) fn literals(commands: &[Command]) -> BTreeMap<&str, Option<&str>> {
    let mut known: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let words = commands.iter().flat_map(|command| {
        let exports = matches!(command.program(), "export" | "readonly" | "local" | "declare");
        command.words.iter().skip(usize::from(exports)).take_while(|word| word.contains('='))
    });
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        let value = (!value.contains('$') && !value.contains('`')).then_some(value);
        let known = known.entry(name).or_insert(value);
        *known = known.filter(|known| Some(*known) == value);
    }
    known
}

/// A word with the variables that are known.
pub(super) fn filled(word: &str, known: &BTreeMap<&str, Option<&str>>) -> String {
    let Some((before, after)) = word.split_once('$') else { return word.to_owned() };
    let (name, rest) = match after.strip_prefix('{').and_then(|after| after.split_once('}')) {
        Some(braced) => braced,
        None => {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            after.split_at(end)
        }
    };
    match known.get(name).copied().flatten() {
        Some(value) => format!("{before}{value}{}", filled(rest, known)),
        None => word.to_owned(),
    }
}

/// Not a hyphen, but easily taken for one: U+2010 to U+2015 and U+2212.
fn is_dash(character: char) -> bool {
    matches!(character, '\u{2010}'..='\u{2015}' | '\u{2212}')
}

fn put(command: &Command, known: &BTreeMap<&str, Option<&str>>) -> Option<Put> {
    let mut words = command.words.iter().skip_while(|word| *word != PUBLISHES);
    words.next()?;
    let mut found =
        Put { line: command.line, namespace: None, metric: None, dimensions: Vec::new(), dash: None };
    let mut option = String::new();
    for word in words {
        let value = if word.starts_with(is_dash) {
            found.dash.get_or_insert_with(|| word.clone());
            option = word.trim_start_matches(|c| is_dash(c) || c == '-').to_owned();
            continue;
        } else if let Some(name) = word.strip_prefix("--") {
            let (name, value) =
                name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
            option = name.to_owned();
            let Some(value) = value else { continue };
            filled(value, known)
        } else {
            filled(word, known)
        };
        match option.as_str() {
            "namespace" => found.namespace = is_plain(&value).then_some(value),
            "metric-name" => found.metric = is_plain(&value).then_some(value),
            "dimensions" => found.dimensions.extend(dimension_names(&value)),
            _ => {}
        }
    }
    found.dimensions.sort();
    found.dimensions.dedup();
    Some(found)
}

fn is_plain(value: &str) -> bool {
    !value.is_empty() && !value.contains('$')
}

/// The names in `InstanceID=i-1,Other=x`, `Name=InstanceID,Value=i-1` or `[{"Name": "InstanceID", "Value": "i-1"}]`.
fn dimension_names(value: &str) -> Vec<String> {
    if let Ok(Value::Array(dimensions)) = serde_json::from_str(value) {
        let names = dimensions.iter().filter_map(|dimension| dimension.get("Name")?.as_str());
        return names.filter(|name| is_plain(name)).map(str::to_owned).collect();
    }
    let pairs = || value.split(',').filter_map(|pair| pair.split_once('='));
    let long: Vec<&str> = pairs().filter(|(key, _)| *key == "Name").map(|(_, name)| name).collect();
    let names = match long.is_empty() {
        true => pairs().map(|(name, _)| name).collect(),
        false => long,
    };
    names.into_iter().filter(|name| is_plain(name)).map(str::to_owned).collect()
}
