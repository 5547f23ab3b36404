//! What a value must be: each check takes a [`Value`] and gives the typed one, or nothing. Pure.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::Value;

pub(super) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

pub(super) fn integer(value: &Value, allowed: RangeInclusive<u64>) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok().filter(|number| allowed.contains(number)),
        _ => None,
    }
}

/// `10s`, `1m`, `1h 30m`: whole seconds.
fn duration(value: &Value) -> Option<Duration> {
    let signed: jiff::SignedDuration = text(value)?.parse().ok()?;
    Duration::try_from(signed).ok().filter(|duration| duration.subsec_nanos() == 0)
}

/// A minute holds a whole number of samples; at most 20 s, so that it holds at least three.
pub(super) fn sample_interval(value: &Value) -> Option<Duration> {
    duration(value).filter(|d| (1..=20).contains(&d.as_secs()) && 60 % d.as_secs() == 0)
}

/// Whole minutes, as each minute is a datum of its own; at most an hour.
pub(super) fn publish_interval(value: &Value) -> Option<Duration> {
    duration(value).filter(|d| (60..=3600).contains(&d.as_secs()) && d.as_secs() % 60 == 0)
}

/// PutMetricData, `Namespace`, and the characters that the CloudWatch User Guide names under Namespaces.
pub(super) fn namespace(value: &Value) -> Option<String> {
    let name = text(value)?;
    let character = |b: u8| b.is_ascii_alphanumeric() || b"._-/#: ".contains(&b);
    let allowed = (1..=255).contains(&name.len())
        && name.bytes().all(character)
        && !name.trim().is_empty()
        && !name.starts_with(':')
        && !name.starts_with("AWS/");
    allowed.then(|| name.to_owned())
}

/// PutMetricData, `Dimension`, `Value`: one that is not allowed makes CloudWatch refuse the whole request.
pub(super) fn dimension_value(value: &Value) -> Option<String> {
    let text = text(value)?;
    let printable = text.bytes().all(|b| matches!(b, b' '..=b'~'));
    ((1..=1024).contains(&text.len()) && printable && !text.trim().is_empty()).then(|| text.to_owned())
}

/// The shape of every Region's name so far: `eu-west-1`, `us-gov-east-1`, `eusc-de-east-1`.
pub(super) fn region(value: &Value) -> Option<String> {
    let name = text(value)?;
    let parts: Vec<&str> = name.split('-').collect();
    let (number, words) = parts.split_last()?;
    let word =
        |word: &&str| !word.is_empty() && word.len() <= 12 && word.bytes().all(|b| b.is_ascii_lowercase());
    let numbered = (1..=2).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    (numbered && (2..=4).contains(&words.len()) && words.iter().all(word)).then(|| name.to_owned())
}

/// Only spelled right, never looked up: it may lie on a file system whose server hangs.
pub(super) fn absolute_path(value: &Value) -> Option<PathBuf> {
    let path = text(value)?;
    (path.starts_with('/') && !path.contains(char::is_control)).then(|| path.into())
}

/// A path as the kernel prints mount points: absolute, no `.`, no `..`, no empty part, no slash at the end.
pub(super) fn mount_point(value: &Value) -> Option<PathBuf> {
    let path = text(value)?;
    let parts = path.strip_prefix('/')?;
    let plain = parts.is_empty() || parts.split('/').all(|part| !matches!(part, "" | "." | ".."));
    (plain && !path.contains('\0')).then(|| path.into())
}
