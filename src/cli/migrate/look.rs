//! Looks for the scripts: the crontabs of this machine, and what their entries run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cronscript::crontab::{Entry, Kind, Program, entries};
use crate::cronscript::{Script, is_named_so, other_spelling};
use crate::source::local::{LocalError, LocalFiles};

/// An entry of a crontab that publishes nfsiostat's figures, or is meant to.
pub struct Found {
    pub crontab: Crontab,
    pub entry: Entry,
    /// Entries of the same crontab besides those that were found.
    pub others: usize,
    pub what: What,
}

/// A text of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crontab {
    pub path: PathBuf,
    /// Whose it is; `None` for those of the system, whose entries name their users.
    pub user: Option<String>,
}

impl Crontab {
    /// Whether it is one of many, which may go with its last entry.
    pub fn is_of_a_directory(&self) -> bool {
        self.path.starts_with(SYSTEM_DIRECTORY)
    }
}

/// What an entry runs.
pub enum What {
    /// What stands in the entry itself.
    Inline(Script),
    /// A file.
    Runs { file: PathBuf, script: Script },
    /// Nothing: the file is called otherwise.
    Misspelt { named: PathBuf, file: PathBuf, script: Script },
    /// Nothing: the file is not there; its name says what it was.
    Missing { named: PathBuf },
}

impl What {
    pub fn script(&self) -> Option<&Script> {
        match self {
            What::Inline(script) | What::Runs { script, .. } | What::Misspelt { script, .. } => Some(script),
            What::Missing { .. } => None,
        }
    }

    /// The file of the script.
    pub fn file(&self) -> Option<&Path> {
        match self {
            What::Runs { file, .. } | What::Misspelt { file, .. } => Some(file),
            What::Inline(_) | What::Missing { .. } => None,
        }
    }

    /// Whether it runs at all.
    pub fn runs(&self) -> bool {
        matches!(self, What::Inline(_) | What::Runs { .. })
    }
}

/// What was not looked at, so that a script may be there.
#[derive(Debug, PartialEq, Eq)]
pub struct Unread {
    pub path: PathBuf,
    /// The crontab and the line that name it.
    pub named_by: Option<(PathBuf, usize)>,
    pub why: String,
    /// Whether root may.
    pub denied: bool,
}

/// What a search came to.
#[derive(Default)]
pub struct Search {
    pub found: Vec<Found>,
    pub unread: Vec<Unread>,
    /// The crontabs that were read.
    pub crontabs: usize,
}

/// Users' crontabs: Debian's, Red Hat's and Amazon's, SUSE's.
const USERS: [&str; 3] = ["/var/spool/cron/crontabs", "/var/spool/cron", "/var/spool/cron/tabs"];
const SYSTEM: &str = "/etc/crontab";
const SYSTEM_DIRECTORY: &str = "/etc/cron.d";
/// Most bytes of a file that are looked at.
const MOST: u64 = 256 * 1024;

/// Looks through the crontabs.
pub fn search(files: &LocalFiles) -> Search {
    let mut look = Look { files, homes: homes(files), search: Search::default() };
    for directory in USERS {
        for name in look.names(directory) {
            let user = Some(name.to_string_lossy().into_owned());
            look.crontab(Crontab { path: Path::new(directory).join(name), user });
        }
    }
    look.crontab(Crontab { path: SYSTEM.into(), user: None });
    for name in look.names(SYSTEM_DIRECTORY) {
        look.crontab(Crontab { path: Path::new(SYSTEM_DIRECTORY).join(name), user: None });
    }
    look.search
}

/// Users' home directories (passwd(5)).
fn homes(files: &LocalFiles) -> BTreeMap<String, String> {
    let text = files.read(Path::new("/etc/passwd"), 1024 * 1024).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let home = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.next()?.to_owned(), fields.nth(4)?.to_owned()))
    };
    text.lines().filter_map(home).collect()
}

struct Look<'f> {
    files: &'f LocalFiles,
    homes: BTreeMap<String, String>,
    search: Search,
}

impl Look<'_> {
    /// The names in a directory of crontabs, without those that cron passes over.
    fn names(&mut self, directory: &str) -> Vec<OsString> {
        let is_passed_over = |name: &OsString| {
            let name = name.to_string_lossy();
            let ends = ["~", ".rpmsave", ".rpmnew", ".rpmorig"];
            name.starts_with(['.', '#'])
                || ends.iter().any(|end| name.ends_with(end))
                || name.contains(".dpkg-")
        };
        match self.files.names(Path::new(directory)) {
            Ok(names) => names.into_iter().filter(|name| !is_passed_over(name)).collect(),
            Err(error) => {
                self.unread(Path::new(directory), None, &error);
                Vec::new()
            }
        }
    }

    fn crontab(&mut self, crontab: Crontab) {
        let text = match self.files.read(&crontab.path, MOST) {
            Ok(text) => text,
            Err(error) => return self.unread(&crontab.path, None, &error),
        };
        self.search.crontabs += 1;
        if text.len() as u64 == MOST {
            let why = format!("only its first {} KiB were read", MOST / 1024);
            self.search.unread.push(Unread {
                path: crontab.path.clone(),
                named_by: None,
                why,
                denied: false,
            });
        }
        let text = String::from_utf8_lossy(&text);
        let entries = entries(&text, crontab.user.as_deref().map_or(Kind::System, Kind::Of));
        let all = entries.len();
        let found: Vec<(Entry, What)> = entries
            .into_iter()
            .filter_map(|entry| self.what(&crontab, &entry).map(|what| (entry, what)))
            .collect();
        let others = all - found.len();
        let found = found.into_iter();
        self.search.found.extend(found.map(|(entry, what)| Found {
            crontab: crontab.clone(),
            entry,
            others,
            what,
        }));
    }

    /// What an entry runs, when it is what is looked for.
    fn what(&mut self, crontab: &Crontab, entry: &Entry) -> Option<What> {
        if let Some(script) = Script::of(entry.command.as_bytes()) {
            return Some(What::Inline(script));
        }
        let home = self.homes.get(&entry.user).cloned().unwrap_or_default();
        let programs = entry.programs(&home);
        let found = programs.iter().find_map(|program| self.program(crontab, entry, &program.files));
        // Only what runs nothing else may be what is gone.
        found.or_else(|| programs.iter().find_map(|program| self.missing(program)))
    }

    /// What is not there, when its name says that it was what is looked for.
    fn missing(&self, program: &Program) -> Option<What> {
        let named = program.files.first().filter(|named| program.is_named && is_named_so(named))?;
        let is_missing =
            |file: &String| matches!(self.files.read(Path::new(file), 1), Err(LocalError::Missing));
        program.files.iter().all(is_missing).then(|| What::Missing { named: named.into() })
    }

    /// What a program is, when it is what is looked for. The first file that is there is the one that runs.
    fn program(&mut self, crontab: &Crontab, entry: &Entry, files: &[String]) -> Option<What> {
        for file in files {
            let file = Path::new(file);
            match self.files.read(file, MOST) {
                Ok(text) => {
                    let script = Script::of(&text)?;
                    return Some(What::Runs { file: file.to_owned(), script });
                }
                Err(LocalError::Missing) => {}
                Err(error) => {
                    self.unread(file, Some((crontab.path.clone(), entry.line)), &error);
                    return None;
                }
            }
        }
        let named = files.first()?;
        let respelt = other_spelling(named).map(PathBuf::from);
        match respelt.as_deref().map(|file| (file, self.files.read(file, MOST))) {
            Some((file, Ok(text))) => {
                if let Some(script) = Script::of(&text) {
                    return Some(What::Misspelt { named: named.into(), file: file.to_owned(), script });
                }
            }
            Some((file, Err(error))) => {
                self.unread(file, Some((crontab.path.clone(), entry.line)), &error);
            }
            None => {}
        }
        None
    }

    fn unread(&mut self, path: &Path, named_by: Option<(PathBuf, usize)>, error: &LocalError) {
        let denied = match error {
            LocalError::Missing | LocalError::NotAFile => return,
            LocalError::Elsewhere { .. } => false,
            LocalError::Io(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
        };
        let unread = Unread { path: path.to_owned(), named_by, why: error.to_string(), denied };
        if !self.search.unread.contains(&unread) {
            self.search.unread.push(unread);
        }
    }
}
