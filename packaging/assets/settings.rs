//! `efsmon.toml(5)`, from the commented file that packages bring: what is said of a setting is said there.

use clap_mangen::roff::{bold, roman};
use efsmon::config::{COMMENTED_FILE, DEFAULT_FILE};

use super::page::Page;

/// A setting as the file has it.
struct Setting<'a> {
    about: String,
    allowed: String,
    /// What some of the allowed values mean.
    choices: Vec<(&'a str, &'a str)>,
    name: &'a str,
    value: Value<'a>,
}

#[derive(Clone, Copy)]
enum Value<'a> {
    Default(&'a str),
    /// There is no default.
    Example {
        line: &'a str,
        is_optional: bool,
    },
}

/// A paragraph of the file.
enum Part<'a> {
    Text(String),
    /// `[source]`, or `[[mounts]]` with what it is for.
    Table(&'a str, String),
    Setting(Setting<'a>),
}

/// The text of the page.
pub fn page(date: &str) -> String {
    let mut page = Page::new("efsmon.toml", "5", date);
    page.section("NAME");
    page.words("efsmon.toml - configuration of efsmon");
    page.section("SYNOPSIS");
    page.line([bold(DEFAULT_FILE)]);
    page.control("br", &[]);
    page.line([bold("/etc/efsmon/conf.d/*.toml")]);
    page.section("DESCRIPTION");
    let parts = parts(COMMENTED_FILE);
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Table(..) | Part::Setting(_) => None,
    });
    page.paragraphs(texts.chain([FORMAT]));
    page.section("SETTINGS");
    page.words("Those without a table stand at the top of the file, before the first table.");
    for part in &parts {
        match part {
            Part::Text(_) => {}
            Part::Table(name, about) => {
                page.subsection(name);
                page.words(about);
            }
            Part::Setting(setting) => entry(setting, &mut page),
        }
    }
    closing(&mut page);
    page.finish()
}

fn entry(setting: &Setting<'_>, page: &mut Page) {
    page.entry([bold(setting.name)], &setting.about);
    page.control("br", &[]);
    page.words(&format!("Allowed: {}", setting.allowed));
    page.control("br", &[]);
    match setting.value {
        Value::Default(value) => page.line([roman("Default: "), bold(value)]),
        Value::Example { line, is_optional } => {
            let unset = if is_optional { "Not set by default. " } else { "" };
            page.line([roman(unset), roman("Example: "), bold(line)]);
        }
    }
    if !setting.choices.is_empty() {
        page.control("RS", &[]);
        for (choice, meaning) in &setting.choices {
            page.entry([bold(*choice)], meaning);
        }
        page.control("RE", &[]);
    }
}

fn closing(page: &mut Page) {
    page.section("ENVIRONMENT");
    page.entry(
        [bold("EFSMON_SAMPLE_INTERVAL"), roman(", "), bold("EFSMON_SPOOL__MAX_MIB"), roman(", ..")],
        VARIABLES,
    );
    page.entry([bold("STATE_DIRECTORY"), roman(", "), bold("RUNTIME_DIRECTORY")], DIRECTORIES);
    page.section("FILES");
    page.entry([bold(DEFAULT_FILE)], "The file of this host. Upgrades leave it as it is.");
    page.entry(
        [bold("/etc/efsmon/conf.d/*.toml")],
        "Files for configuration management: one for each subject.",
    );
    page.section("EXAMPLES");
    page.words("A host that publishes more about itself, in a namespace of its own:");
    page.literal(["namespace = \"Storage/EFS\"", "profile = \"standard\""]);
    page.paragraph("/etc/efsmon/conf.d/central.toml, to publish into the account of a monitoring team:");
    page.literal([
        "[publish]",
        "region = \"eu-west-1\"",
        "role_arn = \"arn:aws:iam::123456789012:role/efsmon\"",
    ]);
    page.paragraph("A file system that is mounted by address:");
    page.literal([
        "[[mounts]]",
        "mount_point = \"/mnt/shared\"",
        "file_system_id = \"fs-0123456789abcdef0\"",
    ]);
    page.section("SEE ALSO");
    page.references(&["efsmon(1)", "efsmon-config(1)", "efsmond(1)"].map(str::to_owned));
}

const FORMAT: &str = "The format is TOML. Texts, and times such as \"10s\", stand between quotation marks; numbers, \
    `true` and `false` do not. No file is needed, and none needs to have all settings. A key that efsmon does not \
    know is an error that names the line, and so is a value that is not allowed: `efsmond` then ends with status 78.";

const VARIABLES: &str = "A setting, over what the files say: EFSMON_ and its name in capitals, with its table and two \
    underscores before it. Those of [[mounts]] have none. A variable that names no setting is told as a warning.";

const DIRECTORIES: &str =
    "What systemd gives the service, in place of the defaults of `state_dir` and `runtime_dir`.";

/// The paragraphs of the file, in its order. Those of an example of a table are separated by a lone `#`.
fn parts(file: &str) -> Vec<Part<'_>> {
    let lines: Vec<&str> = file.lines().map(|line| if line == "#" { "" } else { line }).collect();
    lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty()).map(part).collect()
}

fn part<'a>(lines: &[&'a str]) -> Part<'a> {
    let (mut text, mut indented, mut set) = (Vec::new(), Vec::new(), None);
    for line in lines {
        match (line.strip_prefix("#   "), line.strip_prefix("# "), line.strip_prefix('#')) {
            (Some(line), ..) => indented.push(line),
            (_, Some(line), _) => text.push(line),
            (.., Some(setting)) => set = Some(setting),
            _ => return Part::Table(line, String::new()),
        }
    }
    let text = text.join(" ");
    let text = text.strip_suffix("Example:").unwrap_or(&text).trim_end();
    let is_optional = text.ends_with("Not set by default.");
    let (about, allowed) = text.split_once(" Allowed: ").unwrap_or((text, ""));
    let allowed = allowed.trim_end_matches("Not set by default.").trim_end();
    let setting = |name, value, choices: &[&'a str]| {
        let choices = choices.iter().filter_map(|line| line.split_once("  "));
        let choices = choices.map(|(name, meaning)| (name, meaning.trim())).collect();
        Part::Setting(Setting { about: about.to_owned(), allowed: allowed.to_owned(), choices, name, value })
    };
    match (set.and_then(|line| line.split_once(" = ")), indented.as_slice()) {
        (Some((name, value)), choices) => setting(name, Value::Default(value), choices),
        (None, [line]) => match line.split_once(" = ") {
            Some((name, _)) => setting(name, Value::Example { line, is_optional }, &[]),
            None => Part::Table(line, text.to_owned()),
        },
        (None, _) => Part::Text(text.to_owned()),
    }
}
