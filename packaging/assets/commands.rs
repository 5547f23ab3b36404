//! The pages of the commands: what `--help` says, in the form of a manual, and around it what a manual has besides.

use clap::builder::PossibleValue;
use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{bold, roman};
use efsmon::cli::{Cli, Efsmond};

use super::File;
use super::page::{Page, reference};
use super::sections;

/// A page for each program and each of its commands.
pub fn pages(date: &str) -> Vec<File> {
    let mut pages = Vec::new();
    for program in [Cli::command(), Efsmond::command()] {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        add(&program, None, date, &mut pages);
    }
    pages
}

fn add(command: &Command, parent: Option<&Command>, date: &str, pages: &mut Vec<File>) {
    pages.push((format!("man/{}.1", name(command)).into(), page(command, parent, date).into()));
    for sub in command.get_subcommands() {
        add(sub, Some(command), date, pages);
    }
}

/// `efsmon-alarms-apply`
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn page(command: &Command, parent: Option<&Command>, date: &str) -> String {
    let mut page = Page::new(name(command), "1", date);
    page.section("NAME");
    page.words(&format!("{} - {}", name(command), lower_first(&about(command))));
    page.section("SYNOPSIS");
    synopsis(command, &mut page);
    page.section("DESCRIPTION");
    page.paragraphs(description(command).split("\n\n"));
    options(command, &mut page);
    if command.has_subcommands() {
        page.section("COMMANDS");
        for sub in command.get_subcommands() {
            page.entry(reference(&format!("{}(1)", name(sub))), &format!("{}.", about(sub)));
        }
    }
    sections::add(command, name(command), &mut page);
    page.section("SEE ALSO");
    page.references(&sections::related(command, name(command), parent));
    page.finish()
}

/// The first sentence of the command's help.
fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// The rest of it: the first sentence stands in NAME.
fn description(command: &Command) -> String {
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    long.split_once("\n\n").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

/// As it goes on after "name - ": a small letter, unless the word is a name such as NFS.
fn lower_first(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => sentence.to_owned(),
    }
}

/// Every form of the command line, as `--help` has it, each on a line of its own.
fn synopsis(command: &Command, page: &mut Page) {
    let usage = command.clone().render_usage().to_string();
    let name = command.get_bin_name().unwrap_or(command.get_name());
    for (at, form) in usage.lines().enumerate() {
        if at > 0 {
            page.control("br", &[]);
        }
        let form = form.trim().trim_start_matches("Usage: ");
        let arguments = form.strip_prefix(name).unwrap_or(form);
        page.line([bold(name), roman(arguments)]);
    }
}

/// Options, then what stands without one.
fn options(command: &Command, page: &mut Page) {
    let command = command.clone().mut_args(|arg| match arg.is_positional() {
        true => legible(arg).help_heading("ARGUMENTS"),
        false => legible(arg),
    });
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = Man::new(command).render_options_section(&mut text);
    page.append(&String::from_utf8_lossy(&text));
}

/// What clap lists beside or below an argument is said in its sentence.
fn legible(arg: Arg) -> Arg {
    let mut help = match arg.get_id().as_str() {
        // The terminal's has a second, shorter form.
        "help" => "Print help".to_owned(),
        _ => arg.get_help().map(ToString::to_string).unwrap_or_default(),
    };
    let takes_values = arg.get_action().takes_values();
    let values: Vec<String> = arg.get_possible_values().iter().map(explained).collect();
    if takes_values && !values.is_empty() {
        help.push_str(&format!(": {}", values.join(", ")));
    }
    if takes_values && let [default] = arg.get_default_values() {
        help.push_str(&format!(" [default: {}]", default.to_string_lossy()));
    }
    arg.help(help.clone()).long_help(help).hide_default_value(true).hide_possible_values(true)
}

fn explained(value: &PossibleValue) -> String {
    match value.get_help() {
        Some(help) => format!("{} ({})", value.get_name(), lower_first(&help.to_string())),
        None => value.get_name().to_owned(),
    }
}
