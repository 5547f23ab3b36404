//! Crontabs (crontab(5)): which command runs when, as whom.

use super::words::commands;

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
    /// `HOME` and `PATH`, where the crontab sets them above.
    pub home: Option<String>,
    pub path: Option<String>,
}

/// The entries of a text. What is no entry is passed over, as cron itself does.
pub fn entries(text: &str, kind: Kind<'_>) -> Vec<Entry> {
    let (mut home, mut path) = (None, None);
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = setting(trimmed) {
            match name {
                "HOME" => home = Some(value.to_owned()),
                "PATH" => path = Some(value.to_owned()),
                _ => {}
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
            home: home.clone(),
            path: path.clone(),
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
        let home = self.home.as_deref().unwrap_or(home);
        let path: Vec<&str> = self.path.as_deref().unwrap_or("/usr/bin:/bin").split(':').take(16).collect();
        let mut directory = home.to_owned();
        let mut programs = Vec::new();
        for command in commands(&self.command) {
            let mut words = command.words.iter().skip_while(|word| is_assignment(word)).peekable();
            if let Some("cd") = words.peek().map(|word| word.as_str()) {
                directory = below(&directory, &expanded(words.nth(1).map_or("", String::as_str), home));
                continue;
            }
            for (word, is_argument) in named(words) {
                let word = expanded(word, home);
                // A shell looks for a script beside itself, for a command along PATH only.
                let beside = [directory.as_str()].into_iter().filter(|_| is_argument || word.contains('/'));
                let by_path = path.iter().copied().filter(|_| !word.contains('/'));
                let mut files: Vec<String> = beside.chain(by_path).map(|place| below(place, &word)).collect();
                files.retain(|file| file.starts_with('/'));
                programs.push(Program { files });
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
const RUNNERS: [&str; 26] = [
    "sudo", "su", "runuser", "env", "nice", "ionice", "chrt", "taskset", "timeout", "flock", "setsid",
    "nohup", "chronic", "time", "exec", "command", "sh", "bash", "dash", "ksh", "zsh", "source", ".",
    "python", "python3", "perl",
];

/// What a command may run, and whether that is an argument.
fn named<'w>(words: impl Iterator<Item = &'w String>) -> Vec<(&'w str, bool)> {
    let mut words = words.map(String::as_str);
    let Some(program) = words.next() else { return Vec::new() };
    match RUNNERS.contains(&program.rsplit('/').next().unwrap_or(program)) {
        true => words
            .filter(|word| {
                !word.starts_with('-') && !is_assignment(word) && !word.contains(char::is_whitespace)
            })
            .map(|word| (word, true))
            .collect(),
        false => vec![(program, false)],
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn expanded(word: &str, home: &str) -> String {
    ["~/", "$HOME/", "${HOME}/"]
        .iter()
        .find_map(|prefix| word.strip_prefix(prefix))
        .map_or_else(|| word.to_owned(), |rest| below(home, rest))
}

fn below(directory: &str, path: &str) -> String {
    match path.starts_with('/') || directory.is_empty() {
        true => path.to_owned(),
        false => format!("{}/{}", directory.trim_end_matches('/'), path.trim_start_matches("./")),
    }
}
