//! Whose figures are counted together.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::catalog::Scope;
use crate::model::{AccessPointId, FileSystemId};

/// What has figures of its own. What a mount does is counted for each subject that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Subject {
    /// All mounts of EFS on this host.
    Host,
    FileSystem(FileSystemId),
    /// The mounts through one access point; `None`: those through every access point that has no figures of its own.
    AccessPoint(FileSystemId, Option<AccessPointId>),
    /// What is mounted at one place: an absolute path, bytes that are not UTF-8 as `\xNN`.
    MountPoint(FileSystemId, String),
}

/// What has no figures of its own, together: the value of `AccessPointId`, or of `Operation`.
pub(super) const OTHER: &str = "other";

impl Subject {
    /// Whether it has figures in that scope.
    pub fn is_in(&self, scope: Scope) -> bool {
        match self {
            Subject::Host => scope == Scope::CronScript,
            Subject::FileSystem(_) => {
                matches!(scope, Scope::FileSystem | Scope::Client | Scope::Operation)
            }
            Subject::AccessPoint(..) => scope == Scope::AccessPoint,
            Subject::MountPoint(..) => scope == Scope::MountPoint,
        }
    }

    /// Where its figures go when it has no series of its own: an access point's to the others of its file system.
    pub fn fallback(&self) -> Option<Subject> {
        match self {
            Subject::AccessPoint(file_system, Some(_)) => {
                Some(Subject::AccessPoint(file_system.clone(), None))
            }
            _ => None,
        }
    }

    /// Whether it is what has no figures of its own, together.
    pub fn is_rest(&self) -> bool {
        matches!(self, Subject::AccessPoint(_, None))
    }

    /// The value of a dimension of [`Scope::dimensions`]; `None` for what is not its to say.
    pub fn dimension(&self, name: &str) -> Option<String> {
        match (name, self) {
            ("FileSystemId", _) => self.file_system().map(FileSystemId::to_string),
            ("AccessPointId", Subject::AccessPoint(_, Some(id))) => Some(id.to_string()),
            ("AccessPointId", Subject::AccessPoint(_, None)) => Some(OTHER.to_owned()),
            ("MountPoint", Subject::MountPoint(_, mount_point)) => Some(mount_point.clone()),
            _ => None,
        }
    }

    fn file_system(&self) -> Option<&FileSystemId> {
        match self {
            Subject::Host => None,
            Subject::FileSystem(id) | Subject::AccessPoint(id, _) | Subject::MountPoint(id, _) => Some(id),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Host => f.write_str("host"),
            Subject::FileSystem(id) => write!(f, "{id}"),
            Subject::AccessPoint(id, None) => write!(f, "{id} {OTHER}"),
            Subject::AccessPoint(id, Some(access_point)) => write!(f, "{id} {access_point}"),
            Subject::MountPoint(id, mount_point) => write!(f, "{id} {mount_point}"),
        }
    }
}

impl FromStr for Subject {
    type Err = String;
    fn from_str(text: &str) -> Result<Subject, String> {
        let wrong = || format!("{text:?} is not the subject of any figures");
        let (id, of) = match text.split_once(' ') {
            None if text == "host" => return Ok(Subject::Host),
            None => (text, None),
            Some((id, of)) => (id, Some(of)),
        };
        let id = id.parse().map_err(|_| wrong())?;
        match of {
            None => Ok(Subject::FileSystem(id)),
            Some(OTHER) => Ok(Subject::AccessPoint(id, None)),
            Some(path) if path.starts_with('/') => Ok(Subject::MountPoint(id, path.to_owned())),
            Some(of) => Ok(Subject::AccessPoint(id, Some(of.parse().map_err(|_| wrong())?))),
        }
    }
}

impl TryFrom<String> for Subject {
    type Error = String;
    fn try_from(text: String) -> Result<Subject, String> {
        text.parse()
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> String {
        subject.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 5] = [
        "host",
        "fs-01234567",
        "fs-01234567 other",
        "fs-01234567 fsap-89abcdef",
        "fs-01234567 /mnt/with space",
    ];

    #[test]
    fn a_subject_is_read_back_as_it_was_written() {
        for text in ALL {
            let subject: Subject = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&subject).unwrap(), format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Subject>(&format!("{text:?}")).unwrap(), subject);
        }
        for text in ["", "fs-1", "fs-01234567 ", "fs-01234567 mnt", "fsap-89abcdef", "fs-1 /mnt"] {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_scope_but_the_fleets_finds_its_dimensions_in_its_subjects() {
        let value = |scope: Scope, text: &str| {
            let subject: Subject = text.parse().unwrap();
            assert!(subject.is_in(scope), "{text}");
            let names = scope.dimensions().iter();
            names.map(|name| subject.dimension(name)).collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        let id = some("fs-01234567");
        assert_eq!(value(Scope::CronScript, ALL[0]), [None]);
        assert_eq!(value(Scope::FileSystem, ALL[1]), std::slice::from_ref(&id));
        assert_eq!(value(Scope::Operation, ALL[1]), [id.clone(), None, None]);
        assert_eq!(value(Scope::AccessPoint, ALL[2]), [id.clone(), some("other")]);
        assert_eq!(value(Scope::AccessPoint, ALL[3]), [id.clone(), some("fsap-89abcdef")]);
        assert_eq!(value(Scope::MountPoint, ALL[4]), [id, None, some("/mnt/with space")]);
        assert!(!ALL.iter().any(|text| text.parse::<Subject>().unwrap().is_in(Scope::Fleet)));
    }
}
