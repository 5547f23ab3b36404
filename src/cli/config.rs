//! `efsmon config`: write, check or show the configuration.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::config::{
    self, COMMENTED_FILE, Config, ConfigError, DEFAULT_FILE, Flag, Inputs, Loaded, MOUNT_SETTINGS, MountText,
    Origin, SETTINGS, Setting, Value,
};

/// `efsmon config ..`
#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Write a file with every setting, explained, commented out at its default
    ///
    /// The packages bring it as /etc/efsmon/efsmon.toml. This is for a host without a package, and to see what a newer
    /// version has.
    Init {
        /// Where to write it; - for standard output
        #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
        path: PathBuf,
        /// Overwrite a file that exists
        #[arg(long)]
        force: bool,
    },
    /// Tell every mistake of the configuration; exit status 78 if there is one
    ///
    /// Reads the files, the environment and the flags as the daemon does, and tells of each mistake the file and line,
    /// what was found and what is allowed. Nothing is started.
    Check {
        #[command(flatten)]
        flags: ConfigFlags,
    },
    /// Show every setting, its value and where that comes from
    ///
    /// Which is a flag, an environment variable, a line of a file, or the default. It is written as TOML, so that it can
    /// be kept as a file.
    Show {
        #[command(flatten)]
        flags: ConfigFlags,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
}

/// The flags that decide what the configuration is; for every command that needs one.
#[derive(Debug, Default, Args)]
pub struct ConfigFlags {
    /// Read this file in place of /etc/efsmon/efsmon.toml, then conf.d/*.toml beside it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where counters and unsent metrics are kept
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<OsString>,
    /// The root of procfs, or a recording (see efsmon record)
    #[arg(long, value_name = "DIR")]
    pub procfs: Option<OsString>,
    /// The root of sysfs
    #[arg(long, value_name = "DIR")]
    pub sysfs: Option<OsString>,
    /// Where amazon-efs-utils keeps the state of its mounts
    #[arg(long, value_name = "DIR")]
    pub efs_state: Option<OsString>,
}

impl ConfigFlags {
    /// Reads and checks the configuration: these flags, this process's environment, the files.
    ///
    /// # Errors
    ///
    /// Every mistake that was found.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        let flags = [
            ("--state-dir", "state_dir", &self.state_dir),
            ("--procfs", "source.procfs", &self.procfs),
            ("--sysfs", "source.sysfs", &self.sysfs),
            ("--efs-state", "source.efs_state", &self.efs_state),
        ];
        let given = flags
            .into_iter()
            .filter_map(|(name, key, value)| Some(Flag { name, key, value: absolute(value.as_ref()?) }));
        config::load(&Inputs {
            file: self.config.clone().unwrap_or_else(|| DEFAULT_FILE.into()),
            file_may_be_missing: self.config.is_none(),
            environment: std::env::vars_os().collect(),
            flags: given.collect(),
        })
    }
}

/// A path as it was typed, from where it was typed; nothing on the way there is looked at.
fn absolute(typed: &OsString) -> OsString {
    std::path::absolute(typed).map_or_else(|_| typed.clone(), PathBuf::into_os_string)
}

/// Runs `efsmon config ..`; warnings go to stderr.
///
/// # Errors
///
/// A bad configuration ([`ConfigError`]), or a file that cannot be written.
pub fn run(args: ConfigArgs, out: &mut impl Write) -> anyhow::Result<()> {
    match args.command {
        ConfigCommand::Init { path, force } => init(&path, force, out),
        ConfigCommand::Check { flags } => {
            let loaded = load(&flags)?;
            let files: Vec<_> = loaded.files.iter().map(|path| path.display().to_string()).collect();
            match files.is_empty() {
                true => writeln!(out, "ok: no configuration file, so the defaults hold")?,
                false => writeln!(out, "ok: {}", files.join(", "))?,
            }
            Ok(())
        }
        ConfigCommand::Show { flags, json: false } => Ok(show(&load(&flags)?.config, out)?),
        ConfigCommand::Show { flags, json: true } => {
            // Not straight to `out`: serde_json's error would hide the pipe's.
            Ok(writeln!(out, "{}", serde_json::to_string_pretty(&as_json(&load(&flags)?))?)?)
        }
    }
}

/// Loads the configuration; warnings go to stderr.
pub(super) fn load(flags: &ConfigFlags) -> Result<Loaded, ConfigError> {
    let loaded = flags.load()?;
    for warning in &loaded.warnings {
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(io::stderr(), "efsmon: warning: {warning}");
    }
    Ok(loaded)
}

fn init(path: &Path, force: bool, out: &mut impl Write) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return Ok(out.write_all(COMMENTED_FILE.as_bytes())?);
    }
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs::create_dir_all(directory).map_err(|error| not_written(directory, error))?;
    }
    let mut options = OpenOptions::new();
    match force {
        true => options.write(true).create(true).truncate(true),
        false => options.write(true).create_new(true),
    };
    let mut file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!("{} exists already; --force overwrites it", path.display())
        }
        file => file.map_err(|error| not_written(path, error))?,
    };
    file.write_all(COMMENTED_FILE.as_bytes()).map_err(|error| not_written(path, error))?;
    Ok(writeln!(out, "wrote {}", path.display())?)
}

fn not_written(path: &Path, error: io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run it as root, or choose another --path",
        _ => "",
    };
    anyhow!("writing {}: {error}{advice}", path.display())
}

/// The settings as a TOML file, each value's origin beside it as a comment.
fn show(config: &Config, out: &mut impl Write) -> io::Result<()> {
    let mut section = None;
    for setting in SETTINGS {
        let (home, _) = setting.section_and_name();
        if let Some(home) = home.filter(|_| home != section) {
            writeln!(out, "\n[{home}]")?;
        }
        section = home;
        writeln!(out, "{:<40} # {}", line(setting, config), config.origin(setting.key))?;
    }
    for rule in &config.mounts {
        writeln!(out, "\n{:<40} # {}", "[[mounts]]", rule.origin)?;
        let mount = MountText::from(rule);
        for setting in MOUNT_SETTINGS.iter().filter(|setting| setting.value(&mount).is_some()) {
            writeln!(out, "{}", line(setting, &mount))?;
        }
    }
    Ok(())
}

fn line<T: Default>(setting: &Setting<T>, of: &T) -> String {
    let (_, name) = setting.section_and_name();
    match setting.value(of) {
        Some(value) => format!("{name} = {value}"),
        None => format!("# {name} is not set"),
    }
}

fn as_json(loaded: &Loaded) -> Json {
    let config = &loaded.config;
    let settings = SETTINGS.iter().map(|setting| {
        json!({
            "key": setting.key,
            "value": json_value(setting.value(config)),
            "source": json_origin(config.origin(setting.key)),
        })
    });
    let mounts = config.mounts.iter().map(|rule| {
        let mount = MountText::from(rule);
        let values = MOUNT_SETTINGS.iter().map(|setting| {
            let (_, name) = setting.section_and_name();
            (name.to_owned(), json_value(setting.value(&mount)))
        });
        let source = [("source".to_owned(), json_origin(&rule.origin))];
        Json::Object(values.chain(source).collect())
    });
    json!({
        "settings": settings.collect::<Vec<_>>(),
        "mounts": mounts.collect::<Vec<_>>(),
        "files": loaded.files.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "warnings": loaded.warnings,
    })
}

fn json_value(value: Option<Value>) -> Json {
    match value {
        Some(Value::Text(text) | Value::Other(text)) => text.into(),
        Some(Value::Integer(number)) => number.into(),
        Some(Value::Boolean(yes)) => yes.into(),
        None => Json::Null,
    }
}

fn json_origin(origin: &Origin) -> Json {
    match origin {
        Origin::Default => json!({ "kind": "default" }),
        Origin::File { path, line } => {
            json!({ "kind": "file", "file": path.to_string_lossy(), "line": line })
        }
        Origin::Environment { name } => json!({ "kind": "environment", "name": name }),
        Origin::Flag { name } => json!({ "kind": "flag", "name": name }),
    }
}
