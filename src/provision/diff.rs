//! What changes, line by line: a unified diff of the JSON texts.

use std::time::Duration;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Lines of what stays the same around each change.
const CONTEXT: usize = 3;
/// After which a diff of two long texts that have little in common may be longer than it need be.
const PATIENCE: Duration = Duration::from_secs(2);

/// A line of a diff, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// `--- name`, `+++ name`, `@@ .. @@`.
    Header(String),
    Same(String),
    Removed(String),
    Added(String),
}

/// From `before` to `after`, both as indented JSON with sorted members. None: it is made, or deleted.
pub fn unified(name: &str, before: Option<&Value>, after: Option<&Value>) -> Vec<Line> {
    let (old, new) = (text(before), text(after));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&old, &new);
    let side = |value: Option<&Value>| if value.is_some() { name } else { "/dev/null" };
    let mut lines =
        vec![Line::Header(format!("--- {}", side(before))), Line::Header(format!("+++ {}", side(after)))];
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        lines.push(Line::Header(hunk.header().to_string()));
        lines.extend(hunk.iter_changes().map(|change| {
            let text = change.value().trim_end_matches('\n').to_owned();
            match change.tag() {
                ChangeTag::Equal => Line::Same(text),
                ChangeTag::Delete => Line::Removed(text),
                ChangeTag::Insert => Line::Added(text),
            }
        }));
    }
    lines
}

/// How many lines come in, and how many go out.
pub fn counts(lines: &[Line]) -> (usize, usize) {
    let count = |is: fn(&Line) -> bool| lines.iter().filter(|line| is(line)).count();
    (count(|line| matches!(line, Line::Added(_))), count(|line| matches!(line, Line::Removed(_))))
}

fn text(value: Option<&Value>) -> String {
    value.map(|value| format!("{value:#}\n")).unwrap_or_default()
}

impl Line {
    /// As `diff -u` prints it; with ANSI colours if `coloured`.
    pub fn print(&self, coloured: bool) -> String {
        let (sign, text, colour) = match self {
            Line::Header(text) => ("", text, "1"),
            Line::Same(text) => (" ", text, ""),
            Line::Removed(text) => ("-", text, "31"),
            Line::Added(text) => ("+", text, "32"),
        };
        let text = crate::names::printable(text.as_bytes());
        match coloured && !colour.is_empty() {
            true => format!("\x1b[{colour}m{sign}{text}\x1b[0m"),
            false => format!("{sign}{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn print(before: Option<&Value>, after: Option<&Value>, coloured: bool) -> Vec<String> {
        unified("efsmon-a", before, after).iter().map(|line| line.print(coloured)).collect()
    }

    #[test]
    fn a_changed_member_is_one_line_out_and_one_in() {
        let (before, after) = (json!({ "a": 1, "b": 2 }), json!({ "b": 3, "a": 1 }));
        let expected = [
            "--- efsmon-a",
            "+++ efsmon-a",
            "@@ -1,4 +1,4 @@",
            " {",
            "   \"a\": 1,",
            "-  \"b\": 2",
            "+  \"b\": 3",
            " }",
        ];
        assert_eq!(print(Some(&before), Some(&after), false), expected);
        assert_eq!(counts(&unified("efsmon-a", Some(&before), Some(&after))), (1, 1));
        assert_eq!(print(Some(&before), Some(&after), true)[5], "\x1b[31m-  \"b\": 2\x1b[0m");
    }

    #[test]
    fn what_is_made_comes_from_nowhere() {
        let lines = print(None, Some(&json!({})), false);
        assert_eq!(lines, ["--- /dev/null", "+++ efsmon-a", "@@ -0,0 +1 @@", "+{}"]);
    }
}
