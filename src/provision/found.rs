//! Dashboards as CloudWatch gives them back: any text, by any hand.

use serde_json::Value;

use super::dashboards::{mark_of, place};
use super::plan::Existing;

/// A dashboard that is there. One that is not JSON is nobody's: its body is the text.
pub fn existing(body: &str) -> Existing {
    match serde_json::from_str(body) {
        Ok(body) => Existing { mark: mark_of(&body), body },
        Err(_) => Existing { body: Value::String(body.to_owned()), mark: None },
    }
}

/// Where in a dashboard a JSON pointer of PutDashboard's (`DataPath` of DashboardValidationMessage) points to, for
/// people: `widget 4 (Throughput), properties/metrics/0: `, and nothing for the whole. Widgets are counted from 1.
pub fn place_of(body: &Value, path: &str) -> String {
    let inner = path.trim_start_matches('/');
    let widget = inner.strip_prefix("widgets/").map(|rest| rest.split_once('/').unwrap_or((rest, "")));
    let found = widget.and_then(|(index, below)| {
        let index: usize = index.parse().ok()?;
        Some((index, body.get("widgets")?.get(index)?, below))
    });
    let (widget, below) = match found {
        Some((index, widget, below)) => (place(index, widget), below),
        None => (String::new(), inner),
    };
    let below = crate::names::printable(below.as_bytes());
    match (widget.trim_end_matches(": "), below.is_empty()) {
        ("", true) => String::new(),
        ("", false) => format!("{below}: "),
        (widget, true) => format!("{widget}: "),
        (widget, false) => format!("{widget}, {below}: "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_remark_is_placed_at_its_widget() {
        let body = json!({ "widgets": [{ "type": "text" }, { "properties": { "title": "Reads\u{7}" } }] });
        let place = |path| place_of(&body, path);
        assert_eq!(place("/widgets/1/properties/metrics/0"), r"widget 2 (Reads\x07), properties/metrics/0: ");
        assert_eq!(place("/widgets/0"), "widget 1: ");
        assert_eq!(place("/widgets/0/"), "widget 1: ");
        assert_eq!(place("/widgets/7/x"), "widgets/7/x: ");
        assert_eq!(place("/widgets/x"), "widgets/x: ");
        assert_eq!(place("/variables/0"), "variables/0: ");
        assert_eq!((place(""), place("/")), (String::new(), String::new()));
        assert_eq!(place_of(&json!("text"), "/widgets/0/x"), "widgets/0/x: ");
    }

    #[test]
    fn a_body_that_is_not_one_of_ours_is_nobodys() {
        let deep = "[".repeat(100_000);
        for text in ["", "not JSON", "{\"widgets\":", &deep] {
            assert_eq!(existing(text), Existing { body: json!(text), mark: None });
        }
        for text in ["null", "[]", r#"{"widgets":{}}"#, r#"{"widgets":[1,{"type":"text","properties":[]}]}"#]
        {
            assert_eq!(existing(text).mark, None);
        }
    }
}
