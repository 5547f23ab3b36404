//! `efsmon run`: the daemon.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::config::ConfigFlags;
use crate::aws::efs::Efs;
use crate::aws::metrics::CloudWatch;
use crate::aws::role::Role;
use crate::clock::SystemClock;
use crate::config::{Config, LogFormat, LogLevel, Origin};
use crate::daemon::dry_run::DryRun;
use crate::daemon::host::{HostFinder, Surroundings};
use crate::daemon::look_up::kept_targets;
use crate::daemon::runtime::{LockError, RuntimeDirectory};
use crate::daemon::{Daemon, Edges, Settings};
use crate::efs::{ConfiguredMount, Identity, Targets};
use crate::minutes::SeriesLimits;
use crate::model::Host;
use crate::monitor;
use crate::publish::Publisher;
use crate::recording::Recording;
use crate::source::{Namespace, Roots, Source};
use crate::spool::{Directory, Limits, Opened, Spool};

/// Run the daemon: sample the mounts, publish to CloudWatch
///
/// Every 10 seconds it reads the counters of every NFS mount. Each minute becomes figures by file system and by host,
/// goes to disk, and from there to CloudWatch. What cannot be sent waits on disk for up to two weeks, and goes out
/// under the minute in which it happened. The service runs the same as efsmond, which takes less memory.
///
/// SIGTERM or SIGINT ends it: it takes a last reading, goes on sending for some seconds or until another signal, and
/// leaves the rest for the next start. It logs to standard error.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    flags: ConfigFlags,
    /// Publish once what happened since the last time, then end; the first time it takes two samples. Exit status 0
    /// only when all was kept and nothing is left to be sent
    #[arg(long)]
    once: bool,
    /// Write the requests as JSON lines to standard output; keep nothing, send nothing. With a recording as --procfs:
    /// all that it leads to, at once
    #[arg(long)]
    dry_run: bool,
}

/// Runs until SIGTERM or SIGINT; a second one ends the last sending.
///
/// # Errors
///
/// A bad configuration, a second daemon, a directory that cannot be used. What goes wrong later is logged and
/// waited out, but by `--once`, which does not wait.
pub fn run(args: &RunArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = super::config::load(&args.flags)?.config;
    start_log(&config);
    let source = source(&config);
    let settings = settings(&config);
    let finder = HostFinder::new(config.host.id.clone(), &source, Surroundings::of_this_process());
    if args.dry_run {
        let targets = targets(&config);
        let targets = targets.as_ref();
        let dry_run = |host| DryRun { settings: &settings, host, targets, once: args.once };
        return match super::replay::recording(&config, &args.flags)? {
            None => dry_run(&finder.without_network()).run(&source, &SystemClock, out),
            Some(recording) => {
                let finder =
                    HostFinder::new(config.host.id.clone(), &recording.machine(), Surroundings::Host);
                dry_run(&finder.without_network()).replay(&recording, out)
            }
        };
    }
    super::replay::refuse(
        &config.source.procfs,
        "what it holds is over, and is not published; add --dry-run",
    )?;
    let runtime_dir = lock_runtime(&config)?;
    let opened = open_spool(&config, &source)?;
    let publisher = Publisher::new(&source.installation(), config.publish_interval, fastrand::Rng::new());
    let sink = CloudWatch::new(config.publish.region.clone()).with_role(role(&config, &finder));
    let efs = config.identity.lookup.then(|| Efs::new(config.publish.region.clone()));
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(2).build();
    let tokio = tokio.context("starting")?;
    let ended = tokio.block_on(async {
        let mut signals = Signals::new().context("waiting for signals")?;
        let edges = Edges { source: &source, clock: &SystemClock, runtime: &runtime_dir };
        let mut daemon = Daemon::new(settings, edges, opened, publisher);
        if let Some(efs) = &efs {
            daemon.look_up_with(efs);
        }
        match args.once {
            true => daemon.once(&sink, &finder, signals.next()).await,
            false => {
                daemon.run(&sink, &finder, async || signals.next().await).await;
                Ok(())
            }
        }
    });
    // A thread may hang in the resolver for half a minute: nobody waits for its answer any more.
    tokio.shutdown_background();
    ended
}

/// The places and the view that the configuration names.
pub(super) fn source(config: &Config) -> Source {
    source_of(config, config.source.namespace)
}

/// [`source`], of another view.
pub(super) fn source_of(config: &Config, namespace: Namespace) -> Source {
    let roots = Roots {
        procfs: config.source.procfs.clone(),
        sysfs: config.source.sysfs.clone(),
        efs_state: config.source.efs_state.clone(),
    };
    Source::new(roots, namespace)
}

/// What EFS said of addresses to the daemon, where `identity.lookup` allows to ask. With a recording that is what
/// `--state-dir` names: what this machine's daemon keeps is of no use.
pub(super) fn targets(config: &Config) -> Option<Targets> {
    if !config.identity.lookup {
        return None;
    }
    let is_named = |key| matches!(config.origin(key), Origin::Flag { .. });
    let is_recording = !matches!(Recording::open(&config.source.procfs), Ok(None));
    let kept = match (is_recording || is_named("source.procfs"), is_named("state_dir")) {
        // Another machine's files, and a person says that they belong together.
        (true, true) => kept_targets(&config.state_dir, None),
        (true, false) if is_recording => None,
        _ => kept_targets(&config.state_dir, Some(&source(config).installation())),
    };
    Some(kept.unwrap_or_default())
}

/// The `[[mounts]]` of the configuration.
pub(super) fn configured_mounts(config: &Config) -> Vec<ConfiguredMount> {
    let mount = |rule: &crate::config::MountRule| ConfiguredMount {
        mount_point: rule.mount_point.to_string_lossy().into_owned(),
        identity: Identity {
            file_system: rule.file_system_id.clone(),
            access_point: rule.access_point_id.clone(),
            region: rule.region.clone(),
            mount_target: None,
            zone: None,
        },
    };
    config.mounts.iter().map(mount).collect()
}

fn settings(config: &Config) -> Settings {
    Settings {
        monitor: monitor::Settings {
            sample_interval: config.sample_interval,
            series: series_limits(config),
            mounts: configured_mounts(config),
            stall_after: config.health.stall_after,
        },
        namespace: config.namespace.clone(),
        publishes: config.publish.enabled,
    }
}

/// The role to publish as.
fn role(config: &Config, finder: &HostFinder) -> Option<Role> {
    let publish = &config.publish;
    let arn = publish.role_arn.clone()?;
    let host = match finder.without_network() {
        Host::Known(id) => Some(id),
        Host::Pending | Host::Unknown => None,
    };
    Some(Role::new(arn, publish.external_id.clone(), host.as_deref()))
}

/// The settings that say which series there may be.
pub(super) fn series_limits(config: &Config) -> SeriesLimits {
    let (limits, publish) = (&config.limits, &config.publish);
    SeriesLimits {
        profile: config.profile,
        max_series: limits.max_series as usize,
        access_points: publish.access_points.then_some(limits.max_access_points as usize),
        mount_points: publish.mount_points.then_some(limits.max_mount_points as usize),
        cron_script: config.compat.cron_script,
    }
}

fn lock_runtime(config: &Config) -> anyhow::Result<RuntimeDirectory> {
    RuntimeDirectory::lock(&config.runtime_dir).map_err(|error| match error {
        LockError::Io { .. } => {
            let (path, origin) = (config.runtime_dir.display(), config.origin("runtime_dir"));
            anyhow::Error::new(error).context(format!(
                "the runtime directory {path} ({origin}) cannot be used; let this user write there, or set runtime_dir"
            ))
        }
        LockError::Held { .. } => error.into(),
    })
}

fn open_spool(config: &Config, source: &Source) -> anyhow::Result<Opened<Directory>> {
    let path = &config.state_dir;
    let which = || format!("the state directory {} ({})", path.display(), config.origin("state_dir"));
    let limits = Limits { max_bytes: config.spool.max_mib << 20, max_age: config.spool.max_age };
    let disk = Directory::open(path).with_context(which)?;
    Spool::open(disk, &source.installation(), limits).with_context(which)
}

/// SIGTERM and SIGINT, one after the other.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Lines for a terminal or the journal, or JSON. The journal adds the time itself.
fn start_log(config: &Config) {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;
    let level = match config.log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // What the SDK does is of interest only to who looks for a fault.
    let others = if level >= LevelFilter::DEBUG { level } else { LevelFilter::OFF };
    let targets = Targets::new().with_default(others).with_target("efsmon", level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    let in_journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let lines = match config.log.format {
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
        LogFormat::Auto if in_journal => lines.without_time().boxed(),
        LogFormat::Auto | LogFormat::Text => lines.boxed(),
    };
    // A second start in one process (tests) keeps the first one's.
    let _ = tracing_subscriber::registry().with(lines.with_filter(targets)).try_init();
}
