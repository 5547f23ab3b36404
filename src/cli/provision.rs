//! What `efsmon dashboards` and `efsmon alarms` have in common: flags, questions, and how a plan is shown.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::Value;

use super::config::ConfigFlags;
use crate::aws::Session;
use crate::aws::file_systems::file_systems;
use crate::config::Config;
use crate::model::FileSystemId;
use crate::provision::diff::Line;
use crate::provision::{Owner, Target};

/// Templates of one's own lie below this folder, if it is there: `dashboards/*.json`, `dashboards/alarms/*.json`.
const TEMPLATES: &str = "/etc/efsmon/dashboards";

/// What is rendered, and for whom.
#[derive(Debug, Args)]
pub struct TargetFlags {
    /// Read this file in place of /etc/efsmon/efsmon.toml, then conf.d/*.toml beside it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The Region of the file systems; without it publish.region, then where the AWS SDKs look
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Only this file system; may be repeated. Without it, all that EFS lists
    #[arg(long = "file-system", value_name = "FS")]
    file_systems: Vec<FileSystemId>,
    /// Who applies them: those of another owner are left alone
    #[arg(long, value_name = "NAME", default_value = "efsmon")]
    owner: Owner,
    /// Templates that are added, or take the place of efsmon's own of the same name [default: /etc/efsmon/dashboards,
    /// if it is there]
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
}

/// How they are changed.
#[derive(Debug, Args)]
pub struct ChangeFlags {
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Take over what is another owner's, or nobody's
    #[arg(long)]
    pub adopt: bool,
}

impl TargetFlags {
    /// The configuration.
    ///
    /// # Errors
    ///
    /// A bad configuration.
    pub fn config(&self) -> anyhow::Result<Config> {
        let flags = ConfigFlags { config: self.config.clone(), ..ConfigFlags::default() };
        Ok(super::config::load(&flags)?.config)
    }

    /// The Region that is asked for, by flag or setting.
    pub fn region<'a>(&'a self, config: &'a Config) -> Option<&'a str> {
        self.region.as_deref().or(config.publish.region.as_deref())
    }

    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The file systems that were asked for; none: all.
    pub fn file_systems(&self) -> &[FileSystemId] {
        &self.file_systems
    }

    /// The file systems as EFS describes them now, and the rest of what they are rendered for.
    ///
    /// # Errors
    ///
    /// No region, no credentials, what EFS refuses.
    pub async fn target(&self, config: &Config, session: &Session) -> anyhow::Result<Target> {
        Ok(Target {
            owner: self.owner.clone(),
            region: session.region().to_owned(),
            namespace: config.namespace.clone(),
            profile: config.profile,
            file_systems: file_systems(session, &self.file_systems).await?,
        })
    }

    /// The texts of the templates of one's own in that folder (`""`, or `alarms`), by the names of their files without
    /// `.json`.
    ///
    /// # Errors
    ///
    /// A folder that was asked for, or a file in one, that cannot be read.
    pub fn templates(&self, folder: &str) -> anyhow::Result<Vec<(String, String)>> {
        let root = self.templates.as_deref().unwrap_or(Path::new(TEMPLATES));
        let place = root.join(folder);
        let entries = match std::fs::read_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match self.templates.is_some() && folder.is_empty() {
                    true => bail!("--templates {}: there is no such folder", place.display()),
                    false => return Ok(Vec::new()),
                }
            }
            entries => entries.with_context(|| format!("reading {}", place.display()))?,
        };
        let mut texts = Vec::new();
        for entry in entries {
            let path = entry.with_context(|| format!("reading {}", place.display()))?.path();
            let (Some(name), Some("json")) =
                (path.file_stem().and_then(|name| name.to_str()), extension(&path))
            else {
                continue;
            };
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            texts.push((name.to_owned(), text));
        }
        texts.sort();
        Ok(texts)
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// Waits for a task that talks to AWS.
///
/// # Errors
///
/// What the task gives.
pub fn wait<T>(task: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(2).build();
    let tokio = tokio.context("starting")?;
    let done = tokio.block_on(task);
    // A thread may hang in the resolver for half a minute: nobody waits for its answer any more.
    tokio.shutdown_background();
    done
}

/// Asks on standard error for `expected`, typed out; `yes` answers for the person.
///
/// # Errors
///
/// Another answer, or nobody there to answer.
pub fn confirm(question: &str, expected: &str, yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(anyhow!("nobody is there to confirm this: add --yes"));
    }
    let mut stderr = io::stderr();
    write!(stderr, "{question} Type {expected} to go on: ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("reading the answer")?;
    match answer.trim() == expected {
        true => Ok(()),
        false => Err(anyhow!("found {:?} in place of {expected}: nothing was done", answer.trim())),
    }
}

/// Whether standard output takes colours.
pub fn coloured() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes a diff.
///
/// # Errors
///
/// A writer that takes no more.
pub fn write_diff(lines: &[Line], coloured: bool, out: &mut impl Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{}", line.print(coloured)))
}

/// A JSON document for programs.
///
/// # Errors
///
/// A writer that takes no more.
pub fn write_json(value: &Value, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", crate::names::safe_json(&format!("{value:#}")))?;
    out.flush()
}
