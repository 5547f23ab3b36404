//! What is wrong with a script, as its text shows.

use super::READS;
use super::published::Put;
use super::words::{Command, base_name};

/// What is wrong, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// It takes words of nfsiostat's lines by their position.
    FixedFields(Vec<u32>),
    /// It keeps so many of nfsiostat's last lines.
    LastMount(u32),
    /// It lets nfsiostat look for so many seconds.
    Sample(u32),
    /// It asks nfsiostat for no interval.
    SinceMount,
    /// A dash where a hyphen belongs: aws refuses the call.
    Dash { line: usize, word: String, metric: Option<String> },
    /// It asks the instance metadata without a token.
    Imdsv1,
    /// It appends to this file at every run.
    Grows(String),
    /// What could not be sent is not sent later.
    Lost,
}

/// The words that the published copy takes: right for nfs-utils 1.3, and words of the heading from 2.6 on.
const PUBLISHED_FIELDS: [u32; 2] = [13, 31];

impl Defect {
    /// A name that programs can rely on.
    pub fn code(&self) -> &'static str {
        match self {
            Defect::FixedFields(_) => "fixed_fields",
            Defect::LastMount(_) => "last_mount",
            Defect::Sample(_) => "sample",
            Defect::SinceMount => "since_mount",
            Defect::Dash { .. } => "dash",
            Defect::Imdsv1 => "imdsv1",
            Defect::Grows(_) => "grows",
            Defect::Lost => "lost",
        }
    }

    /// For people: what it does, and what follows. Names in it are as the script has them.
    pub fn text(&self) -> String {
        match self {
            Defect::FixedFields(fields) => {
                let words: Vec<String> = fields.iter().map(u32::to_string).collect();
                let words = format!("{} {}", if fields.len() == 1 { "word" } else { "words" }, words.join(" and "));
                match fields.iter().any(|field| PUBLISHED_FIELDS.contains(field)) {
                    true => format!(
                        "It cuts {words} out of what nfsiostat prints. With nfs-utils 2.6 and later these are words of \
                         the heading, which count as 0: it publishes 0, and ends with success."
                    ),
                    false => format!(
                        "It cuts {words} out of what nfsiostat prints. Another version of nfs-utils has other figures \
                         there."
                    ),
                }
            }
            Defect::LastMount(lines) => {
                format!("It keeps the last {lines} lines of nfsiostat: one mount, the last that is listed.")
            }
            Defect::Sample(seconds) => format!(
                "It looks for {seconds} {} at each run: what happens between two looks is never seen.",
                if *seconds == 1 { "second" } else { "seconds" }
            ),
            Defect::SinceMount => {
                "It asks nfsiostat for no interval: it publishes the mean since the mount, not of the last minute."
                    .to_owned()
            }
            Defect::Dash { line, word, metric } => format!(
                "Line {line} has {word:?}, with a dash for a hyphen. aws refuses the call: {} was never published.",
                metric.as_deref().unwrap_or("its metric")
            ),
            Defect::Imdsv1 => "It asks for the instance id by IMDSv1. Where tokens are required it gets none, and aws \
                               refuses what it publishes."
                .to_owned(),
            Defect::Grows(file) => format!("It appends to {file} at every run; nothing empties it."),
            Defect::Lost => "What it cannot send is lost: it does not try again.".to_owned(),
        }
    }
}

/// The defects of a script, the gravest first.
pub(super) fn of(text: &str, commands: &[Command], puts: &[Put], appends_to: &[String]) -> Vec<Defect> {
    let mut defects = Vec::new();
    let mut fields: Vec<u32> = commands.iter().flat_map(fields).collect();
    fields.sort_unstable();
    fields.dedup();
    if !fields.is_empty() {
        defects.push(Defect::FixedFields(fields));
    }
    defects.extend(puts.iter().filter_map(|put| {
        let word = put.dash.clone()?;
        Some(Defect::Dash { line: put.line, word, metric: put.metric.clone() })
    }));
    defects.extend(commands.iter().find_map(last_lines).map(Defect::LastMount));
    defects.extend(commands.iter().find_map(sampling));
    if asks_without_a_token(text) {
        defects.push(Defect::Imdsv1);
    }
    defects.extend(appends_to.iter().cloned().map(Defect::Grows));
    defects.push(Defect::Lost);
    defects
}

/// What `cut` or `awk` takes by position from words that spaces divide.
fn fields(command: &Command) -> Vec<u32> {
    match command.program() {
        "cut" if matches!(option(command, "-d"), Some(" ")) => {
            let list = option(command, "-f").unwrap_or_default();
            list.split([',', '-']).filter_map(|field| field.parse().ok()).collect()
        }
        "awk" | "gawk" | "mawk" => {
            let programs = command.words.iter().skip(1).flat_map(|word| word.split('$').skip(1));
            programs
                .filter_map(|rest| {
                    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                    rest.get(..end)?.parse().ok().filter(|field| *field > 0)
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The value of a short option: `-f13` or `-f 13`.
fn option<'c>(command: &'c Command, name: &str) -> Option<&'c str> {
    let index = command.words.iter().position(|word| word.starts_with(name))?;
    match command.words.get(index)?.strip_prefix(name)? {
        "" => command.words.get(index + 1).map(String::as_str),
        value => Some(value),
    }
}

/// `tail -4` or `tail -n 4`.
fn last_lines(command: &Command) -> Option<u32> {
    let of_tail = command.program() == "tail";
    let lines = option(command, "-n").or_else(|| option(command, "-")).filter(|_| of_tail)?;
    lines.trim_start_matches('-').parse().ok()
}

/// `nfsiostat 1 2`, or `nfsiostat` by itself.
fn sampling(command: &Command) -> Option<Defect> {
    let mut words = command.words.iter().skip_while(|word| base_name(word) != READS);
    words.next()?;
    let numbers: Vec<u32> = words.filter_map(|word| word.parse().ok()).collect();
    Some(numbers.first().map_or(Defect::SinceMount, |seconds| Defect::Sample(*seconds)))
}

fn asks_without_a_token(text: &str) -> bool {
    let asks = ["169.254.169.254", "fd00:ec2::254", "instance-data"].iter().any(|name| text.contains(name));
    asks && !text.contains("X-aws-ec2-metadata-token")
}
