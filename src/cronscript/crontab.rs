//! Crontabs (crontab(5)): which command runs when, as whom.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::published::{filled, literals};
use super::words::{Command, base_name, commands};

/// Whose crontab a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A user's, below `/var/spool/cron`.
    Of(&'a str),
    /// `/etc/crontab` or one of `/etc/cron.d`: each entry names its user.
    System,
}

/// A line that runs something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// From 1.
    pub line: usize,
    /// The line as it is written.
    pub text: String,
    /// Five fields, or `@hourly` and its kin.
    pub schedule: String,
    pub user: String,
    /// What the shell gets: without what `%` hands to its standard input.
    pub command: String,
    /// What the crontab sets above: `HOME`, `PATH` and others.
    pub settings: Settings,
}

/// Variables by name. Shared by the entries, which may be thousands.
pub type Settings = Rc<BTreeMap<Rc<str>, Rc<str>>>;

/// More variables than a crontab has.
const MOST_SETTINGS: usize = 64;

/// The entries of a text. What is no entry is passed over, as cron itself does.
pub fn entries(text: &str, kind: Kind<'_>) -> Vec<Entry> {
    let mut settings = Settings::default();
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = setting(trimmed) {
            if settings.len() < MOST_SETTINGS || settings.contains_key(name) {
                Rc::make_mut(&mut settings).insert(name.into(), value.into());
            }
            continue;
        }
        let fields = if trimmed.starts_with('@') { 1 } else { 5 };
        let Some((schedule, rest)) = first_fields(trimmed, fields) else { continue };
        let found = match kind {
            Kind::Of(user) => Some((user, rest)),
            Kind::System => first_fields(rest, 1),
        };
        let Some((user, command)) = found else { continue };
        entries.push(Entry {
            line: number,
            text: line.to_owned(),
            schedule: schedule.to_owned(),
            user: user.to_owned(),
            command: without_input(command),
            settings: Rc::clone(&settings),
        });
    }
    entries
}

/// `NAME = value`, the value perhaps in quotes.
fn setting(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name, value.trim().trim_matches(['"', '\''])))
}

/// So many words, and what follows them, which is not empty.
fn first_fields(text: &str, fields: usize) -> Option<(&str, &str)> {
    let mut rest = text;
    for _ in 0..fields {
        rest = rest.trim_start().trim_start_matches(|c: char| !c.is_whitespace());
    }
    let first = text.strip_suffix(rest)?;
    let rest = rest.trim_start();
    (!rest.is_empty()).then_some((first, rest))
}

/// Up to the first `%` that is not escaped; `\%` is a `%`.
fn without_input(command: &str) -> String {
    let mut text = String::new();
    let mut rest = command.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '%' => break,
            '\\' if rest.next_if_eq(&'%').is_some() => text.push('%'),
            _ => text.push(character),
        }
    }
    text
}

/// A program as an entry names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it may be, in the order in which it is looked for. Perhaps nowhere.
    pub files: Vec<String>,
    /// Whether it is named as what is run. Other words may be arguments of what is.
    pub is_named: bool,
}

impl Entry {
    /// Runs a month, where that can be told: of 730 hours, as bills have them. Entries of single days are not reckoned.
    pub fn runs_a_month(&self) -> Option<u64> {
        const HOURS: u64 = crate::cost::prices::HOURS_A_MONTH;
        let fields: Vec<&str> = self.schedule.split_whitespace().collect();
        match fields.as_slice() {
            ["@hourly"] => Some(HOURS),
            ["@daily" | "@midnight"] => Some(HOURS / 24),
            [minute, hour, days @ ..] if days.iter().all(|days| *days == "*") => {
                Some(often(minute, 60)? * often(hour, 24)? * HOURS / 24)
            }
            _ => None,
        }
    }

    /// `every minute`, `every 5 minutes`, or the schedule itself.
    pub fn when(&self) -> String {
        let fields: Vec<&str> = self.schedule.split_whitespace().collect();
        match fields.as_slice() {
            ["*" | "*/1", "*", "*", "*", "*"] => "every minute".to_owned(),
            [minutes, "*", "*", "*", "*"] => match minutes.strip_prefix("*/") {
                Some(step) => format!("every {step} minutes"),
                None => format!("at {}", fields.join(" ")),
            },
            [word] => format!("at {word}"),
            _ => format!("at {}", fields.join(" ")),
        }
    }

    /// What it may run: what stands where a program stands, and the arguments of programs that run others. `home` is
    /// the user's, where the crontab does not say.
    pub fn programs(&self, home: &str) -> Vec<Program> {
        let setting = |name: &str| self.settings.get(name).map(|value| &**value);
        let home = setting("HOME").unwrap_or(home);
        let path: Vec<&str> = setting("PATH").unwrap_or("/usr/bin:/bin").split(':').take(16).collect();
        let commands = commands(&self.command);
        let mut known: BTreeMap<&str, Option<&str>> =
            self.settings.iter().map(|(name, value)| (&**name, Some(&**value))).collect();
        known.insert("HOME", Some(home));
        known.extend(literals(&commands));
        let expanded = |word: &str| match word.strip_prefix("~/") {
            Some(rest) => below(home, rest),
            None => filled(word, &known),
        };
        let mut directory = home.to_owned();
        let mut programs = Vec::new();
        for command in &commands {
            let words = named(command);
            if words.first().is_some_and(|(word, _)| *word == "cd") {
                let to = words.get(1).map_or_else(|| home.to_owned(), |(word, _)| expanded(word));
                directory = below(&directory, &to);
                continue;
            }
            for (word, is_argument) in words {
                let word = expanded(word);
                // A shell looks for a script beside itself, for a command along PATH only.
                let beside = [directory.as_str()].into_iter().filter(|_| is_argument || word.contains('/'));
                let by_path = path.iter().copied().filter(|_| !word.contains('/'));
                let mut files: Vec<String> = beside.chain(by_path).map(|place| below(place, &word)).collect();
                files.retain(|file| file.starts_with('/') && !file.contains('$'));
                programs.push(Program { files, is_named: !is_argument || word.contains('/') });
            }
        }
        programs.truncate(16);
        programs
    }
}

/// How many of `all` values a field has.
fn often(field: &str, all: u64) -> Option<u64> {
    let mut hit = vec![false; usize::try_from(all).ok()?];
    for part in field.split(',') {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let step: usize = step.parse().ok().filter(|step| *step > 0)?;
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
            None if range == "*" => (0, hit.len() - 1),
            None => (range.parse().ok()?, range.parse().ok()?),
        };
        for value in (first..=last).step_by(step) {
            *hit.get_mut(value)? = true;
        }
    }
    Some(hit.iter().filter(|hit| **hit).count() as u64)
}

/// Programs that run what their arguments name.
const RUNNERS: [&str; 36] = [
    "sudo",
    "su",
    "runuser",
    "setpriv",
    "chpst",
    "env",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "timeout",
    "flock",
    "setsid",
    "nohup",
    "chronic",
    "cronic",
    "systemd-cat",
    "systemd-run",
    "time",
    "exec",
    "eval",
    "command",
    "sh",
    "bash",
    "dash",
    "ksh",
    "zsh",
    "source",
    ".",
    "perl",
    "ruby",
    "xargs",
    "parallel",
    "cd",
    "nocache",
    "unshare",
];

/// Words of the shell that stand in front of a command.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{"];

/// What a command may run, and whether that is an argument.
fn named(command: &Command) -> Vec<(&str, bool)> {
    let text = command.shell_text();
    let words = command.words.iter().enumerate().filter(|(index, _)| Some(*index) != text);
    let is_before = |word: &&str| is_assignment(word) || KEYWORDS.contains(word);
    let mut words = words.map(|(_, word)| word.as_str()).skip_while(is_before);
    let Some(program) = words.next() else { return Vec::new() };
    let first = base_name(program);
    if !RUNNERS.contains(&first) && !first.starts_with("python") {
        return vec![(program, false)];
    }
    let mut named = Vec::from_iter((first == "cd").then_some((program, false)));
    // What flock locks is not run.
    let mut locks = first == "flock";
    for word in words.filter(|word| !word.starts_with('-') && !is_assignment(word)) {
        match locks && word.parse::<f64>().is_err() {
            true => locks = false,
            false => named.push((word, true)),
        }
        locks |= base_name(word) == "flock";
    }
    named
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn below(directory: &str, path: &str) -> String {
    match path.starts_with('/') || directory.is_empty() {
        true => path.to_owned(),
        false => format!("{}/{}", directory.trim_end_matches('/'), path.trim_start_matches("./")),
    }
}
