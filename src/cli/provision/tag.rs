//! `--tag KEY=VALUE`.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::super::UsageError;

/// Tags of one resource (CloudWatch API Reference, PutDashboard).
const MAX: usize = 50;
/// Characters (CloudWatch API Reference, Tag).
const MAX_KEY: usize = 128;
const MAX_VALUE: usize = 256;

/// A tag that CloudWatch takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub key: String,
    pub value: String,
}

impl FromStr for Tag {
    type Err = String;
    fn from_str(text: &str) -> Result<Tag, String> {
        let Some((key, value)) = text.split_once('=') else {
            return Err("allowed: KEY=VALUE".to_owned());
        };
        let (keys, values) = (key.chars().count(), value.chars().count());
        if keys == 0 || keys > MAX_KEY {
            return Err(format!("found a key of {keys} characters; allowed: 1 to {MAX_KEY}"));
        }
        if values > MAX_VALUE {
            return Err(format!("found a value of {values} characters; allowed: 0 to {MAX_VALUE}"));
        }
        if key.to_lowercase().starts_with("aws:") {
            return Err("a key may not begin with aws: (AWS keeps those for itself)".to_owned());
        }
        Ok(Tag { key: key.to_owned(), value: value.to_owned() })
    }
}

/// The tags as a request takes them.
///
/// # Errors
///
/// More than a resource may have; two of one key.
pub fn pairs(tags: &[Tag]) -> Result<Vec<(String, String)>, UsageError> {
    if tags.len() > MAX {
        return Err(UsageError(format!("found {} times --tag; allowed: up to {MAX}", tags.len())));
    }
    let mut keys = BTreeSet::new();
    match tags.iter().find(|tag| !keys.insert(tag.key.as_str())) {
        Some(twice) => Err(UsageError(format!("found --tag {} twice; allowed: each key once", twice.key))),
        None => Ok(tags.iter().map(|tag| (tag.key.clone(), tag.value.clone())).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_what_cloudwatch_takes() {
        let tag = |key: &str, value: &str| Ok(Tag { key: key.to_owned(), value: value.to_owned() });
        assert_eq!("team=web=1".parse(), tag("team", "web=1"));
        assert_eq!("team=".parse(), tag("team", ""));
        assert_eq!(format!("{}=v", "ä".repeat(128)).parse(), tag(&"ä".repeat(128), "v"));
        let refused = |text: &str| text.parse::<Tag>().unwrap_err();
        assert_eq!(refused("team"), "allowed: KEY=VALUE");
        assert_eq!(refused("=v"), "found a key of 0 characters; allowed: 1 to 128");
        assert_eq!(
            refused(&format!("{}=", "k".repeat(129))),
            "found a key of 129 characters; allowed: 1 to 128"
        );
        assert_eq!(
            refused(&format!("k={}", "v".repeat(257))),
            "found a value of 257 characters; allowed: 0 to 256"
        );
        assert!(refused("AWS:x=y").starts_with("a key may not begin with aws:"));
    }

    #[test]
    fn there_are_at_most_fifty_of_different_keys() {
        let tags =
            |count: usize| -> Vec<Tag> { (0..count).map(|i| format!("{i}=v").parse().unwrap()).collect() };
        assert_eq!(pairs(&tags(50)).unwrap().len(), 50);
        assert_eq!(
            pairs(&tags(51)).unwrap_err().to_string(),
            "found 51 times --tag; allowed: up to 50; try --help"
        );
        let twice = [tags(1), tags(1)].concat();
        assert_eq!(
            pairs(&twice).unwrap_err().to_string(),
            "found --tag 0 twice; allowed: each key once; try --help"
        );
    }
}
