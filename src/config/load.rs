//! Gathers files, variables and flags in the order in which they win, and every mistake of all of them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::settings::{SETTINGS, Setting};
use super::spelling::distance;
use super::{Config, ConfigError, Origin, Value, file};

/// The file that is read unless a flag names another.
pub const DEFAULT_FILE: &str = "/etc/efsmon/efsmon.toml";

/// All that a configuration is made from, handed in by the edge.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The main file; the `*.toml` of `conf.d` beside it are read after it, in the order of their names.
    pub file: PathBuf,
    /// Whether it is fine that `file` does not exist; `conf.d` never has to.
    pub file_may_be_missing: bool,
    /// The process's environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The flags that were given.
    pub flags: Vec<Flag>,
}

impl Default for Inputs {
    fn default() -> Self {
        Inputs {
            file: DEFAULT_FILE.into(),
            file_may_be_missing: true,
            environment: Vec::new(),
            flags: Vec::new(),
        }
    }
}

/// One flag of the command line that stands for a setting.
#[derive(Clone, Debug)]
pub struct Flag {
    /// As it is typed: `--state-dir`.
    pub name: &'static str,
    /// The setting's key: `state_dir`.
    pub key: &'static str,
    pub value: OsString,
}

/// A configuration without mistakes.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    /// The files that were read, in that order.
    pub files: Vec<PathBuf>,
    /// What looks like a mistake and may be none: one sentence each.
    pub warnings: Vec<String>,
}

/// Reads and checks everything.
///
/// # Errors
///
/// Every mistake: files that cannot be read, syntax, unknown keys, values that are not allowed.
pub fn load(inputs: &Inputs) -> Result<Loaded, ConfigError> {
    let mut config = Config::default();
    let mut problems = Vec::new();
    // Sorted by name, so that the same mistakes are always told in the same order.
    let environment: BTreeMap<&OsStr, &OsStr> =
        inputs.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect();

    for (name, key) in [("STATE_DIRECTORY", "state_dir"), ("RUNTIME_DIRECTORY", "runtime_dir")] {
        // systemd.exec(5): several directories are separated by colons; the unit names one.
        let first =
            environment.get(OsStr::new(name)).and_then(|value| value.as_bytes().split(|b| *b == b':').next());
        if let Some(directory) = first.filter(|directory| !directory.is_empty()).map(OsStr::from_bytes) {
            set_text(&mut config, key, directory, environment_variable(name), &mut problems);
        }
    }

    let files = read_files(inputs, &mut config, &mut problems);

    let mut warnings = Vec::new();
    for (name, value) in &environment {
        let name = name.to_string_lossy();
        match SETTINGS.iter().find(|setting| setting.variable() == name) {
            Some(setting) => {
                set_text(&mut config, setting.key, value, environment_variable(&name), &mut problems);
            }
            None if name.starts_with("EFSMON_") => warnings.push(unknown_variable(&name)),
            None => {}
        }
    }

    for flag in &inputs.flags {
        set_text(&mut config, flag.key, &flag.value, Origin::Flag { name: flag.name }, &mut problems);
    }

    problems.extend(contradiction(&config));
    match problems.is_empty() {
        true => Ok(Loaded { config, files, warnings }),
        false => Err(ConfigError { problems }),
    }
}

/// What no single setting shows.
fn contradiction(config: &Config) -> Option<String> {
    let key = "publish.external_id";
    (config.publish.external_id.is_some() && config.publish.role_arn.is_none()).then(|| {
        format!(
            "{}: {key}: found without publish.role_arn; allowed: with the role whose trust policy asks for it, or not \
             at all",
            config.origin(key)
        )
    })
}

fn environment_variable(name: &str) -> Origin {
    Origin::Environment { name: name.to_owned() }
}

/// A warning, not an error: Kubernetes puts the likes of `EFSMON_SERVICE_HOST` into every pod beside a service.
fn unknown_variable(name: &str) -> String {
    let known = SETTINGS.iter().map(Setting::variable);
    let nearest = known.map(|known| (distance(name, &known), known)).min();
    let advice = match nearest {
        Some((0..=2, known)) => format!("; did you mean {known}?"),
        _ => String::new(),
    };
    format!("environment variable {} is not a setting and is ignored{advice}", name.escape_debug())
}

/// Variables and flags are text; a setting that is a number, or true or false, takes what the text spells.
fn set_text(config: &mut Config, key: &str, text: &OsStr, origin: Origin, problems: &mut Vec<String>) {
    let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
        problems.push(format!("{origin}: {key}: unknown setting"));
        return;
    };
    let Some(text) = text.to_str() else {
        let found = Value::Text(text.to_string_lossy().into_owned()).found();
        problems.push(format!("{origin}: {key}: found {found}; allowed: UTF-8 text"));
        return;
    };
    let spelled = text.parse().map(Value::Integer).ok().or(text.parse().map(Value::Boolean).ok());
    let outcome = config.set(setting, &Value::Text(text.to_owned()), origin.clone()).or_else(|reason| {
        let spelled = spelled.ok_or(reason.clone())?;
        config.set(setting, &spelled, origin.clone()).map_err(|_| reason)
    });
    problems.extend(outcome.err().map(|reason| format!("{origin}: {reason}")));
}

/// The main file and the drop-ins, each applied on top of those before it.
fn read_files(inputs: &Inputs, config: &mut Config, problems: &mut Vec<String>) -> Vec<PathBuf> {
    let mut read = Vec::new();
    match fs::read(&inputs.file) {
        Ok(bytes) => {
            problems.extend(file::apply(&inputs.file, &bytes, config));
            read.push(inputs.file.clone());
        }
        Err(error) if inputs.file_may_be_missing && error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => problems.push(unreadable(&inputs.file, &error)),
    }
    let directory = inputs.file.with_file_name("conf.d");
    let drop_ins = drop_ins(&directory).unwrap_or_else(|error| {
        problems.push(unreadable(&directory, &error));
        Vec::new()
    });
    for path in drop_ins {
        match fs::read(&path) {
            Ok(bytes) => {
                problems.extend(file::apply(&path, &bytes, config));
                read.push(path);
            }
            Err(error) => problems.push(unreadable(&path, &error)),
        }
    }
    read
}

/// The `*.toml` of a directory by name, hidden ones left out; none when there is no such directory.
fn drop_ins(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    // A hidden `.toml` has no extension, but an editor's `.10-site.toml` has.
    let hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml") && !hidden(path));
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "; `efsmon config init --path FILE` writes a new file",
        io::ErrorKind::PermissionDenied => "; make it readable for the user that efsmon runs as",
        _ => "",
    };
    format!("{}: cannot be read: {error}{advice}", path.display())
}
