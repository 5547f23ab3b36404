//! Templates: JSON with `${Placeholders}` inside its strings.
//!
//! A placeholder is in CamelCase, such as `${FileSystemId}`. CloudWatch's own, such as `${LAST}` in a label, are in
//! upper case and are left as they are. A string that is nothing but one placeholder becomes its value whatever that
//! is: a number stays a number, a list a list.

use std::collections::BTreeMap;

use serde_json::Value;

/// The values of the placeholders.
pub type Values = BTreeMap<&'static str, Value>;

/// A placeholder of which nothing is known, or that cannot stand where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlaceholder {
    #[error("unknown placeholder ${{{name}}}; allowed: {}", allowed.join(", "))]
    Unknown { name: String, allowed: Vec<&'static str> },
    #[error("${{{0}}} is a list: it can only stand alone in a string")]
    Within(String),
}

/// The template with every placeholder replaced. Names of members are not looked at.
///
/// # Errors
///
/// The first placeholder that cannot be replaced.
pub fn fill(template: &Value, values: &Values) -> Result<Value, BadPlaceholder> {
    Ok(match template {
        Value::String(text) => filled(text, values)?,
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| fill(item, values)).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| fill(value, values).map(|value| (name.clone(), value)));
            Value::Object(members.collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

/// Whether a placeholder of that name stands anywhere in the template.
pub fn names(template: &Value, placeholder: &str) -> bool {
    match template {
        Value::String(text) => text.contains(&format!("${{{placeholder}}}")),
        Value::Array(items) => items.iter().any(|item| names(item, placeholder)),
        Value::Object(members) => members.values().any(|value| names(value, placeholder)),
        _ => false,
    }
}

fn filled(text: &str, values: &Values) -> Result<Value, BadPlaceholder> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = next_placeholder(rest) {
        let Some(value) = values.get(name) else {
            let allowed = values.keys().copied().collect();
            return Err(BadPlaceholder::Unknown { name: name.to_owned(), allowed });
        };
        if before.is_empty() && after.is_empty() && whole.is_empty() {
            return Ok(value.clone());
        }
        whole.push_str(before);
        match value {
            Value::String(text) => whole.push_str(text),
            Value::Number(number) => whole.push_str(&number.to_string()),
            _ => return Err(BadPlaceholder::Within(name.to_owned())),
        }
        rest = after;
    }
    whole.push_str(rest);
    Ok(Value::String(whole))
}

/// What stands before it, its name, and what comes after.
fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    for (start, _) in text.match_indices("${") {
        let (before, rest) = text.split_at_checked(start)?;
        let Some((name, after)) = rest.strip_prefix("${").and_then(|rest| rest.split_once('}')) else {
            continue;
        };
        let ours = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().all(|b| b.is_ascii_alphanumeric())
            && name.bytes().any(|b| b.is_ascii_lowercase());
        if ours {
            return Some((before, name, after));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values() -> Values {
        Values::from([
            ("Region", json!("eu-west-1")),
            ("Limit", json!(7.5)),
            ("Topics", json!(["a", "b"])),
            ("FileSystemId", json!("fs-01234567")),
        ])
    }

    #[test]
    fn placeholders_are_replaced_inside_strings_and_alone_they_keep_their_type() {
        let template = json!({
            "${Region}": "in ${Region}, ${FileSystemId}:${Limit}", "list": ["${Topics}", "${Limit}"], "n": 1,
        });
        let expected = json!({
            "${Region}": "in eu-west-1, fs-01234567:7.5", "list": [["a", "b"], 7.5], "n": 1,
        });
        assert_eq!(fill(&template, &values()), Ok(expected));
        assert!(names(&template, "Topics") && !names(&template, "Owner"));
    }

    #[test]
    fn what_is_cloudwatchs_own_is_left() {
        for text in ["${LAST}", "${PROP('Dim.InstanceId')}", "$Region", "${", "${}", "a ${MAX} ${"] {
            assert_eq!(fill(&json!(text), &values()), Ok(json!(text)));
        }
        assert_eq!(fill(&json!("${MAX} ${Region}"), &values()), Ok(json!("${MAX} eu-west-1")));
    }

    #[test]
    fn a_value_is_not_looked_at_again_and_needs_no_escapes() {
        let values = Values::from([("Name", json!("a \"${Name}\" \\ b"))]);
        assert_eq!(fill(&json!("<${Name}>"), &values), Ok(json!("<a \"${Name}\" \\ b>")));
    }

    #[test]
    fn a_mistake_is_named() {
        let unknown = fill(&json!("${Regio}"), &values()).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "unknown placeholder ${Regio}; allowed: FileSystemId, Limit, Region, Topics"
        );
        let within = fill(&json!("to ${Topics}"), &values()).unwrap_err();
        assert_eq!(within.to_string(), "${Topics} is a list: it can only stand alone in a string");
    }
}
