//! What `efsmon dashboards` and `efsmon alarms` have in common: flags, questions, and what is written.

pub mod tag;
mod writing;

pub use writing::{coloured, note, write_bodies, write_diff, write_json, write_table};

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;

use super::UsageError;
use super::config::ConfigFlags;
use crate::aws::file_systems::file_systems;
use crate::aws::{NotReady, Session};
use crate::config::{Config, is_region};
use crate::credits::{FileSystem, ThroughputMode};
use crate::model::FileSystemId;
use crate::provision::dashboards::BadTemplate;
use crate::provision::{Mark, Owner, Target};

/// Templates of one's own lie below this folder, if it is there: `*.json` and `alarms/*.json`.
const TEMPLATES: &str = "/etc/efsmon/dashboards";

/// Which account and Region.
#[derive(Debug, Args)]
pub struct AccountFlags {
    /// Read this file in place of /etc/efsmon/efsmon.toml, then conf.d/*.toml beside it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The Region of the file systems; without it publish.region, then where the AWS SDKs look
    #[arg(long, value_name = "REGION", value_parser = region)]
    region: Option<String>,
}

fn region(text: &str) -> Result<String, String> {
    match is_region(text) {
        true => Ok(text.to_owned()),
        false => Err("allowed: the name of a Region, such as eu-west-1".to_owned()),
    }
}

/// Whose, and from which templates.
#[derive(Debug, Args)]
pub struct OwnFlags {
    #[command(flatten)]
    account: AccountFlags,
    /// Who applies them: those of another owner are left alone
    #[arg(long, value_name = "NAME", default_value = "efsmon")]
    owner: Owner,
    /// Templates that are added, or take the place of efsmon's own of the same name [default: /etc/efsmon/dashboards,
    /// if it is there]
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
}

/// What is rendered, and for whom.
#[derive(Debug, Args)]
pub struct TargetFlags {
    #[command(flatten)]
    own: OwnFlags,
    /// Only this file system; may be repeated. Without it, all that EFS lists
    #[arg(long = "file-system", value_name = "FS")]
    file_systems: Vec<FileSystemId>,
}

/// Whether anything is written, and who is asked and told.
#[derive(Debug, Args)]
pub struct WriteFlags {
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Write JSON; needs --yes or --dry-run
    #[arg(long)]
    pub json: bool,
}

impl WriteFlags {
    /// Refuses --json where somebody would have to be asked: standard output is for a program then.
    ///
    /// # Errors
    ///
    /// --json with neither --yes nor --dry-run.
    pub fn check(&self) -> Result<(), UsageError> {
        match self.json && !self.yes && !self.dry_run {
            true => Err(UsageError(
                "found --json alone, which asks nothing; allowed: with --yes or --dry-run".to_owned(),
            )),
            false => Ok(()),
        }
    }
}

/// How they are changed.
#[derive(Debug, Args)]
pub struct ChangeFlags {
    #[command(flatten)]
    pub write: WriteFlags,
    /// Take over what is another owner's, or nobody's
    #[arg(long)]
    pub adopt: bool,
}

impl AccountFlags {
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

    /// AWS in that Region.
    ///
    /// # Errors
    ///
    /// No region, no credentials.
    pub async fn session(&self, config: &Config) -> anyhow::Result<Session> {
        Session::open(self.region(config)).await.map_err(for_people)
    }
}

/// In a command, the nearest place of the Region is a flag.
fn for_people(not_ready: NotReady) -> anyhow::Error {
    match not_ready {
        NotReady::Region => anyhow!("add --region REGION: {not_ready}"),
        not_ready => not_ready.into(),
    }
}

impl OwnFlags {
    pub fn account(&self) -> &AccountFlags {
        &self.account
    }

    /// What marks what is ours in that Region.
    pub fn mark(&self, region: &str) -> Mark {
        Mark { owner: self.owner.clone(), region: region.to_owned() }
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

impl TargetFlags {
    pub fn own(&self) -> &OwnFlags {
        &self.own
    }

    /// As [`AccountFlags::config`].
    ///
    /// # Errors
    ///
    /// A bad configuration.
    pub fn config(&self) -> anyhow::Result<Config> {
        self.own.account.config()
    }

    /// As [`AccountFlags::region`].
    pub fn region<'a>(&'a self, config: &'a Config) -> Option<&'a str> {
        self.own.account.region(config)
    }

    /// As [`AccountFlags::session`].
    ///
    /// # Errors
    ///
    /// No region, no credentials.
    pub async fn session(&self, config: &Config) -> anyhow::Result<Session> {
        self.own.account.session(config).await
    }

    pub fn owner(&self) -> &Owner {
        &self.own.owner
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
        let file_systems = file_systems(session, &self.file_systems).await?;
        Ok(self.target_of(config, session.region(), file_systems))
    }

    /// The same of the file systems that were asked for, about which nobody is asked: nothing but their ids is known.
    ///
    /// # Errors
    ///
    /// No region.
    pub async fn target_unasked(&self, config: &Config) -> anyhow::Result<Target> {
        let region = crate::aws::region(self.region(config)).await.map_err(for_people)?;
        let unknown = |id: &FileSystemId| FileSystem {
            id: id.clone(),
            name: None,
            mode: ThroughputMode::Other("unknown".to_owned()),
            general_purpose: true,
            standard_bytes: 0,
            infrequent_bytes: 0,
            archive_bytes: 0,
            zone: None,
        };
        let mut seen = BTreeSet::new();
        let once = self.file_systems.iter().filter(|id| seen.insert(*id));
        Ok(self.target_of(config, &region, once.map(unknown).collect()))
    }

    fn target_of(&self, config: &Config, region: &str, file_systems: Vec<FileSystem>) -> Target {
        Target {
            owner: self.own.owner.clone(),
            region: region.to_owned(),
            namespace: config.namespace.clone(),
            profile: config.profile,
            file_systems,
            chosen: !self.file_systems.is_empty(),
            thresholds: config.alarms.clone(),
        }
    }

    /// As [`OwnFlags::templates`].
    ///
    /// # Errors
    ///
    /// A folder that was asked for, or a file in one, that cannot be read.
    pub fn templates(&self, folder: &str) -> anyhow::Result<Vec<(String, String)>> {
        self.own.templates(folder)
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

/// Every mistake of the templates, a line each.
pub fn mistakes(bad: &[BadTemplate]) -> anyhow::Error {
    let lines: Vec<_> = bad.iter().map(|bad| format!("\n  {bad}")).collect();
    anyhow!("nothing was done, because of the templates:{}", lines.concat())
}
