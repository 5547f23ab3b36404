//! `efsmon migrate`: the cron script that efsmon replaces, and how to be rid of it.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;

use super::Differences;
use super::config::ConfigFlags;
use crate::catalog::{CRON_SCRIPT_NAMESPACE, METRICS, Profile, Scope};
use crate::config::Config;
use crate::cost::prices::{self, FREE_REQUESTS, MetricMonths, Usd};
use crate::cost::{Estimate, Setup};
use crate::cronscript::Put;
use crate::names::{printable, safe_json};
use crate::source::local::LocalFiles;

mod json;
mod look;
mod text;

use look::{Found, Search, Unread};

/// Find the cron script that efsmon replaces, and tell how to remove it
///
/// Looks through the crontabs of all users and of the system for what publishes nfsiostat's figures by aws cloudwatch
/// put-metric-data, whatever it is called. Tells what it published, what is wrong with it, what efsmon publishes
/// instead, what old dashboards need and what that costs, and which lines to remove. Changes nothing and runs nothing;
/// what is on a mount of NFS is not opened. Not looked at: what a script runs in its turn, /etc/cron.hourly and its kin,
/// systemd timers, at.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 nothing is left to remove, 1 not everything could be looked at, 3 something was found."
)]
pub struct MigrateArgs {
    /// Read this file in place of /etc/efsmon/efsmon.toml, then conf.d/*.toml beside it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Look through a copy of another machine's files in place of this one's
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Writes what was found.
///
/// # Errors
///
/// Something was found ([`Differences`]), or not everything could be looked at.
pub fn run(args: &MigrateArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let flags = ConfigFlags { config: args.config.clone(), ..ConfigFlags::default() };
    let config = super::config::load(&flags)?.config;
    let root = std::path::absolute(&args.root).context("--root")?;
    let files = LocalFiles::new(&root).context("the mounts cannot be read, so nothing can be opened")?;
    // A slip in the path must not pass for a machine that has nothing.
    files.names(Path::new("/")).map_err(|error| anyhow!("--root {}: {error}", root.display()))?;
    let search = look::search(&files);
    let report = Report::new(&config, &search);
    match args.json {
        true => writeln!(out, "{}", safe_json(&json::of(&report).to_string()))?,
        false => text::write(&report, out)?,
    }
    out.flush()?;
    for unread in search.unread.iter().filter(|_| !args.json) {
        // A note: that nobody reads it does not matter.
        let _ = writeln!(io::stderr(), "efsmon: {}", note(unread));
    }
    match (search.found.len(), search.unread.as_slice()) {
        (0, []) => Ok(()),
        (0, unread) => Err(anyhow!(
            "nothing was found, but not everything could be looked at{}",
            if unread.iter().any(|unread| unread.denied) { ": run as root" } else { "" }
        )),
        (1, _) => Err(Differences("1 cron entry is left to remove".to_owned()).into()),
        (found, _) => Err(Differences(format!("{found} cron entries are left to remove")).into()),
    }
}

fn note(unread: &Unread) -> String {
    let named_by = unread.named_by.as_ref().map(|(crontab, line)| {
        format!(" (run by {}, line {line})", printable(crontab.as_os_str().as_encoded_bytes()))
    });
    format!(
        "not looked at: {}{}: {}",
        shown(&unread.path),
        named_by.unwrap_or_default(),
        printable(unread.why.as_bytes())
    )
}

fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_encoded_bytes())
}

/// What there is to tell.
struct Report<'a> {
    search: &'a Search,
    config: &'a Config,
    /// What `compat.cron_script` adds to the bill of a host.
    compat: Bill,
}

/// What something costs a month, on one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bill {
    series: u64,
    requests: u64,
}

impl Bill {
    /// Of the series; like `efsmon cost` without the account's free ones.
    fn series_cost(self) -> Usd {
        prices::metrics(MetricMonths::whole(self.series)).into_iter().map(|portion| portion.usd).sum()
    }

    /// Of the requests, when the account's free ones are used up.
    fn request_cost(self) -> Usd {
        prices::requests(FREE_REQUESTS.saturating_add(self.requests))
    }
}

impl<'a> Report<'a> {
    fn new(config: &'a Config, search: &'a Search) -> Report<'a> {
        Report { search, config, compat: compat(config) }
    }
}

/// A host's bill with `compat.cron_script`, less the same without.
fn compat(config: &Config) -> Bill {
    let setup = |cron_script| Setup {
        hosts: 1,
        file_systems: 1,
        per_host: 1,
        access_points: 0,
        with_access_points: 0,
        max_access_points: 0,
        mount_points: 0,
        operations: 0,
        churn: 0,
        cron_script,
        publish_minutes: config.publish_interval.as_secs() / 60,
        max_series: u64::MAX,
    };
    let [with, without] = [true, false].map(|on| Estimate::whole(config.profile, &setup(on)));
    Bill { series: with.series() - without.series(), requests: with.requests - without.requests }
}

/// What an entry costs, as far as its schedule and its calls can be read.
fn bill(found: &Found) -> Option<Bill> {
    let script = found.what.script().filter(|script| !script.puts.is_empty())?;
    if !found.what.runs() {
        return Some(Bill::default());
    }
    // A call whose metric is not plain may be one of several, or of a loop.
    if script.sent().any(|put| put.namespace.is_none() || put.metric.is_none()) {
        return None;
    }
    let series: BTreeSet<_> =
        script.sent().map(|put| (&put.namespace, &put.metric, &put.dimensions)).collect();
    let requests = script.sent().count() as u64 * found.entry.runs_a_month()?;
    Some(Bill { series: series.len() as u64, requests })
}

/// Whether `compat.cron_script` goes on with what a call publishes: the namespace, the name and the dimension.
fn goes_on(put: &Put) -> bool {
    let metric = METRICS.iter().find(|metric| put.metric.as_deref() == Some(metric.name));
    let is_scripts = metric.is_some_and(|metric| is_of(metric, Scope::CronScript, Profile::Full));
    is_scripts
        && put.namespace.as_deref() == Some(CRON_SCRIPT_NAMESPACE)
        && put.dimensions == Scope::CronScript.dimensions()
}

/// Metrics of a scope, with a profile.
fn metrics(scope: Scope, profile: Profile) -> impl Iterator<Item = &'static crate::catalog::Metric> {
    METRICS.iter().filter(move |metric| is_of(metric, scope, profile))
}

fn is_of(metric: &crate::catalog::Metric, scope: Scope, profile: Profile) -> bool {
    metric.published(profile).any(|of| of == scope)
}

/// What efsmon publishes in place of the script's figures: each host's throughput of each file system; with the
/// profile fleet, which has none of a host, the bytes of all hosts.
fn instead(profile: Profile) -> Vec<(&'static crate::catalog::Metric, Scope)> {
    let wanted = match profile {
        Profile::Fleet => [("ReadBytes", Scope::FileSystem), ("WriteBytes", Scope::FileSystem)],
        _ => [("ReadThroughput", Scope::Client), ("WriteThroughput", Scope::Client)],
    };
    let metric = |(name, scope)| {
        metrics(scope, profile).find(|metric| metric.name == name).map(|metric| (metric, scope))
    };
    wanted.into_iter().filter_map(metric).collect()
}

/// A name as a word for bash that can be copied from a terminal.
fn quoted(name: &[u8]) -> String {
    let shown = printable(name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if shown.as_bytes() != name {
        let text: String = name.utf8_chunks().map(in_bash).collect();
        return format!("$'{text}'");
    }
    match !shown.is_empty() && shown.chars().all(is_plain) {
        true => shown,
        false => format!("'{}'", shown.replace('\'', r"'\''")),
    }
}

/// For within `$'..'`.
fn in_bash(chunk: std::str::Utf8Chunk<'_>) -> String {
    let valid = chunk.valid().chars().map(|character| match character {
        '\\' | '\'' => format!("\\{character}"),
        _ => printable(character.encode_utf8(&mut [0; 4]).as_bytes()),
    });
    valid.collect::<String>() + &printable(chunk.invalid())
}

fn quoted_path(path: &Path) -> String {
    quoted(path.as_os_str().as_encoded_bytes())
}

/// The commands that remove what was found; none is run.
struct Removal {
    /// Of the entries, from the last line of a file to its first, so that the numbers of the others stay right.
    entries: Vec<String>,
    scripts: Vec<String>,
}

impl Removal {
    fn of(search: &Search) -> Removal {
        let mut removal = Removal { entries: Vec::new(), scripts: Vec::new() };
        for found in search.found.iter().rev() {
            let path = quoted_path(&found.crontab.path);
            let command = match (&found.crontab.user, found.others) {
                (Some(user), _) => format!("sudo crontab -u {} -e", quoted(user.as_bytes())),
                (None, 0) if found.crontab.is_of_a_directory() => format!("sudo rm {path}"),
                (None, _) => format!("sudo sed -i '{}d' {path}", found.entry.line),
            };
            if !removal.entries.contains(&command) {
                removal.entries.push(command);
            }
        }
        for file in search.found.iter().filter_map(|found| found.what.file()) {
            let command = format!("sudo rm {}", quoted_path(file));
            if !removal.scripts.contains(&command) {
                removal.scripts.push(command);
            }
        }
        removal
    }
}
