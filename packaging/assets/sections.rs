//! What a manual has besides the help of a command: exit status, environment, files, examples, related pages.

use clap::Command;

use super::page::Page;
use clap_mangen::roff::bold;

/// Adds what there is to say of a command.
pub fn add(command: &Command, name: &str, page: &mut Page) {
    page.section("EXIT STATUS");
    for (code, meaning) in exit_status(command, name) {
        page.entry([bold(code)], meaning);
    }
}

fn exit_status(command: &Command, name: &str) -> Vec<(&'static str, &'static str)> {
    let _ = (command, name);
    vec![("0", "Done.")]
}

/// The pages that a page leads to.
pub struct SeeAlso<'a> {
    pub command: &'a Command,
    pub name: &'a str,
    pub parent: Option<&'a str>,
}

impl SeeAlso<'_> {
    pub fn pages(&self) -> Vec<String> {
        self.parent
            .into_iter()
            .map(|name| format!("{name}(1)"))
            .chain(["efsmon.toml(5)".to_owned()])
            .collect()
    }
}
