//! A value before it is checked, and how it is shown.

use std::fmt;

/// A value as a file, a variable or a flag gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Boolean(bool),
    /// Of a kind that no setting takes: its text, or what to call it.
    Other(String),
}

impl Value {
    /// As it is told in an error: one line, not endless.
    pub(super) fn found(&self) -> String {
        const LONGEST: usize = 80;
        match self {
            Value::Text(text) | Value::Other(text) if text.chars().count() > LONGEST => {
                let start: String = text.chars().take(LONGEST).collect();
                let start = match self {
                    Value::Text(_) => Value::Text(start),
                    _ => Value::Other(start),
                };
                format!("{start}.. ({} characters)", text.chars().count())
            }
            _ => self.to_string(),
        }
    }
}

/// As TOML spells it, on one line, with nothing that a terminal could act on.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => {
                let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
                write!(f, "\"{}\"", printable(&escaped))
            }
            Value::Integer(number) => write!(f, "{number}"),
            Value::Boolean(yes) => write!(f, "{yes}"),
            Value::Other(text) => f.write_str(&printable(text)),
        }
    }
}

/// The text with TOML's escapes in place of control characters and others that do not print.
fn printable(text: &str) -> String {
    let escape = |c: char| match u32::from(c) {
        _ if matches!(c, '"' | '\'' | '\\') || c.escape_debug().count() == 1 => c.to_string(),
        code @ 0..=0xffff => format!("\\u{code:04X}"),
        code => format!("\\U{code:08X}"),
    };
    text.chars().map(escape).collect()
}
