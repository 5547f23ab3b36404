//! Dashboards and alarms as code: from templates to what should be there, and from that and what is there to a plan.
//! Pure.

pub mod alarms;
pub mod comparable;
pub mod dashboards;
pub mod diff;
pub mod found;
pub mod plan;
pub mod template;

use std::fmt;

use crate::catalog::Profile;
use crate::credits::FileSystem;

/// What dashboards and alarms are rendered for.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub owner: Owner,
    /// Whose file systems they are of; the alarms live in it.
    pub region: String,
    /// That of efsmon's own metrics.
    pub namespace: String,
    /// What the hosts publish.
    pub profile: Profile,
    /// In the order in which EFS lists them.
    pub file_systems: Vec<FileSystem>,
    /// Whether they were asked for one by one; else they are all that EFS lists.
    pub chosen: bool,
    /// When alarms go off; the dashboards draw lines there.
    pub thresholds: alarms::Thresholds,
}

/// Who applies dashboards and alarms: one's own are changed, another's never. 1 to 64 of the characters A-Z a-z 0-9 . _ -
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(String);

/// Why a text is not an [`Owner`].
#[derive(Debug, thiserror::Error)]
#[error("found {0:?}; allowed: 1 to 64 of the characters A-Z a-z 0-9 . _ -")]
pub struct NotAnOwner(String);

impl std::str::FromStr for Owner {
    type Err = NotAnOwner;
    fn from_str(text: &str) -> Result<Owner, NotAnOwner> {
        let fits = (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if fits { Ok(Owner(text.to_owned())) } else { Err(NotAnOwner(text.to_owned())) }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// By what efsmon knows its own dashboards and alarms again: a sentence in the dashboard's first widget, or in the
/// alarm's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub owner: Owner,
    pub region: String,
}

const MARK: &str = "efsmon owner ";
const REGION: &str = ", region ";

/// The sentence, without a full stop.
impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{}{REGION}{}", self.owner, self.region)
    }
}

impl Mark {
    /// The mark in a text, if there is one.
    pub fn find(text: &str) -> Option<Mark> {
        let (_, rest) = text.split_once(MARK)?;
        let (owner, rest) = rest.split_once(REGION)?;
        let region: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        Some(Mark { owner: owner.parse().ok()?, region })
    }
}

impl Target {
    /// By what its dashboards and alarms are known again.
    pub fn mark(&self) -> Mark {
        Mark { owner: self.owner.clone(), region: self.region.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_again_in_any_text() {
        let mark = Mark { owner: "team.a".parse().unwrap(), region: "eu-west-1".to_owned() };
        assert_eq!(mark.to_string(), "efsmon owner team.a, region eu-west-1");
        assert_eq!(Mark::find(&format!("Generated. {mark}. Do not edit.")), Some(mark));
        assert_eq!(Mark::find("efsmon owner a b, region eu-west-1"), None);
        assert_eq!(Mark::find("the owner is efsmon"), None);
    }

    #[test]
    fn an_owner_is_a_word() {
        assert!("a b".parse::<Owner>().is_err());
        assert!("".parse::<Owner>().is_err());
        assert!("a".repeat(65).parse::<Owner>().is_err());
        assert_eq!("A-z_0.9".parse::<Owner>().unwrap().to_string(), "A-z_0.9");
    }
}
