//! What changes, line by line: a unified diff of the JSON texts.

use std::time::Duration;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::dashboards::place;
use super::plan::{Change, Step};

/// Lines of what stays the same around each change.
const CONTEXT: usize = 3;
/// After which a diff of two long texts that have little in common may be longer than it need be.
const PATIENCE: Duration = Duration::from_secs(2);

/// A line of a diff, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// `--- name`, `+++ name`, `@@ .. @@`; the last with the widget, as it was, that the first change is in.
    Header(String),
    Same(String),
    Removed(String),
    Added(String),
}

/// What changes with a step.
pub fn lines(step: &Step) -> Vec<Line> {
    match &step.change {
        Change::Create => unified(&step.name, None, Some(&step.body)),
        Change::Update { before } => unified(&step.name, Some(before), Some(&step.body)),
        Change::Keep | Change::Refuse { .. } => Vec::new(),
    }
}

/// From `before` to `after`, both as indented JSON with sorted members. None: it is made, or deleted.
pub fn unified(name: &str, before: Option<&Value>, after: Option<&Value>) -> Vec<Line> {
    let (old, new) = (text(before), text(after));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&old, &new);
    let side = |value: Option<&Value>| if value.is_some() { name } else { "/dev/null" };
    let mut lines =
        vec![Line::Header(format!("--- {}", side(before))), Line::Header(format!("+++ {}", side(after)))];
    let (old_places, new_places) = (places(before, &old), places(after, &new));
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let changed = hunk.iter_changes().find(|change| change.tag() != ChangeTag::Equal);
        let place = changed.and_then(|change| match change.new_index() {
            Some(line) => new_places.get(line),
            None => old_places.get(change.old_index()?),
        });
        let place = place.map(String::as_str).unwrap_or_default();
        lines.push(Line::Header(format!("{} {place}", hunk.header()).trim_end().to_owned()));
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

/// In which widget of a dashboard each line of its text is: `widget 3 (Throughput)`, or nothing.
fn places(value: Option<&Value>, text: &str) -> Vec<String> {
    let mut places: Vec<String> =
        text.lines().take_while(|line| *line != r#"  "widgets": ["#).map(|_| String::new()).collect();
    let widgets = value.and_then(|value| value.get("widgets")?.as_array());
    places.push(String::new());
    for (index, widget) in widgets.into_iter().flatten().enumerate() {
        let place = place(index, widget).trim_end_matches(": ").to_owned();
        // Indented deeper, a value has as many lines.
        places.extend(format!("{widget:#}").lines().map(|_| place.clone()));
    }
    places
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
    fn a_change_in_a_dashboard_is_told_with_its_widget() {
        let graph = |title: &str, x: u32, more: Value| json!({ "properties": { "stat": ["Sum"], "title": title }, "type": "metric", "width": 8, "x": x, "z": more });
        let body = |first: Value, second: Value, start: &str| json!({ "start": start, "variables": [{ "a": 1 }], "widgets": [{ "type": "text" }, first, second] });
        let headers = |before: &Value, after: &Value| -> Vec<String> {
            let lines = print(Some(before), Some(after), false);
            lines.into_iter().filter(|line| line.starts_with("@@")).collect()
        };
        let (null, reads) = (json!(null), json!({ "\u{1b}": [1, 2, 3, 4, 5] }));
        let before = body(graph("Reads", 0, reads.clone()), graph("Writes", 8, null.clone()), "-PT3H");
        let moved = body(graph("Reads", 8, reads.clone()), graph("Writes\u{1b}", 8, json!({})), "-PT9H");
        assert_eq!(
            headers(&before, &moved),
            [
                "@@ -1,5 +1,5 @@",
                "@@ -18,7 +18,7 @@ widget 2 (Reads)",
                "@@ -34,12 +34,12 @@ widget 3 (Writes)",
            ]
        );
    }

    #[test]
    fn what_is_made_comes_from_nowhere() {
        let lines = print(None, Some(&json!({})), false);
        assert_eq!(lines, ["--- /dev/null", "+++ efsmon-a", "@@ -0,0 +1 @@", "+{}"]);
    }
}
