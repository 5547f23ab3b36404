//! `efsmon cost`: what CloudWatch bills for what efsmon publishes, before it does.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::UsageError;
use super::config::ConfigFlags;
use crate::catalog::Profile;
use crate::config::Config;
use crate::cost::{Report, Setup, Whose, json, table};
use crate::efs::{Answer, Attribution, helper_mounts};
use crate::minutes::{OPERATIONS, Subject};
use crate::monitor::subjects;
use crate::mountstats;
use crate::names::safe_json;
use crate::sampler::join::join_texts;

/// Arguments of `efsmon cost`
#[derive(Debug, Args)]
pub struct CostArgs {
    #[command(flatten)]
    flags: ConfigFlags,
    /// A fleet of so many hosts in place of this one; the average, if their number changes
    #[arg(long, value_name = "N", requires = "file_systems", value_parser = from_to(1, 1_000_000))]
    hosts: Option<u64>,
    /// File systems of the whole fleet
    #[arg(long, value_name = "N", requires = "hosts", value_parser = from_to(1, 10_000))]
    file_systems: Option<u64>,
    /// File systems that each host mounts; without it, all of them
    #[arg(long, value_name = "N", requires = "hosts", value_parser = from_to(1, 10_000))]
    per_host: Option<u64>,
    /// Hosts a day that are replaced by new ones, as by autoscaling
    #[arg(long, value_name = "N", requires = "hosts", value_parser = from_to(0, 1_000_000), default_value_t = 0)]
    churn: u64,
    /// Access points of the whole fleet, where they have figures of their own (publish.access_points)
    #[arg(long, value_name = "N", requires = "hosts", value_parser = from_to(0, 10_000), default_value_t = 0)]
    access_points: u64,
    /// Mount points of each host that have figures of their own (publish.mount_points)
    #[arg(long, value_name = "N", requires = "hosts", value_parser = from_to(0, 500), default_value_t = 0)]
    mount_points: u64,
    /// The profile that is looked at; without it, the configured one
    #[arg(long, value_parser = profile())]
    profile: Option<Profile>,
    /// With the profile full: NFS operations that a host uses on a file system; more than 20 have no more series
    #[arg(long, value_name = "N", value_parser = from_to(1, 100), default_value_t = OPERATIONS as u64)]
    operations: u64,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

fn from_to(first: u64, last: u64) -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(first..=last)
}

fn profile() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name))
        .map(|name| Profile::named(&name).unwrap_or(Profile::Minimal))
}

/// Writes what a month costs. Nothing is published, and nobody but this host is asked.
///
/// # Errors
///
/// A bad configuration, flags that contradict each other, mounts that cannot be read.
pub fn run(args: &CostArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = super::config::load(&args.flags)?.config;
    let mut setup = Setup {
        hosts: 1,
        file_systems: 0,
        per_host: 0,
        access_points: args.access_points,
        with_access_points: 0,
        max_access_points: config.limits.max_access_points,
        mount_points: args.mount_points,
        operations: args.operations,
        churn: args.churn,
        cron_script: config.compat.cron_script,
        publish_minutes: config.publish_interval.as_secs() / 60,
        max_series: config.limits.max_series,
    };
    let whose = match (args.hosts, args.file_systems) {
        (Some(hosts), Some(file_systems)) => {
            let per_host = args.per_host.unwrap_or(file_systems);
            if per_host > file_systems {
                return Err(UsageError(format!(
                    "found --per-host {per_host}; allowed: 1 to {file_systems}, the number of --file-systems"
                ))
                .into());
            }
            let with_access_points = file_systems.min(args.access_points);
            setup = Setup { hosts, file_systems, per_host, with_access_points, ..setup };
            Whose::Fleet
        }
        _ => {
            let Mounted { file_systems, access_points, with_access_points, mount_points, not_counted } =
                mounted(&config, &args.flags)?;
            setup = Setup {
                file_systems,
                per_host: file_systems,
                access_points,
                with_access_points,
                mount_points,
                ..setup
            };
            Whose::ThisHost { not_counted }
        }
    };
    let (profile, origin) = match args.profile {
        Some(profile) => (profile, "flag --profile".to_owned()),
        None => (config.profile, config.origin("profile").to_string()),
    };
    let report = Report::new(whose, setup, profile, origin, config.publish.region);
    match args.json {
        true => writeln!(out, "{}", safe_json(&json::of(&report).to_string()))?,
        false => table::write(&report, out)?,
    }
    Ok(out.flush()?)
}

/// What of this host has series.
#[derive(Default)]
struct Mounted {
    file_systems: u64,
    access_points: u64,
    with_access_points: u64,
    mount_points: u64,
    /// NFS superblocks that are not of EFS, or of which it is not known.
    not_counted: u64,
}

/// What this host mounts now, by the same reading and attribution as the daemon's.
fn mounted(config: &Config, flags: &ConfigFlags) -> anyhow::Result<Mounted> {
    let (reading, efs_state) = super::replay::look(config, flags)?;
    let parsed = mountstats::parse(&reading.mountstats);
    let (seen, _) = join_texts(&reading.mountinfo_before, &parsed, &reading.mountinfo_after);
    let mut attribution = Attribution::with_targets(super::run::targets(config));
    let helper = || efs_state.as_ref().map_or_else(|_| Vec::new(), |files| helper_mounts(files));
    attribution.update(reading.moment, &seen, &super::run::configured_mounts(config), helper);
    let limits = super::run::series_limits(config);
    let mut subjects = BTreeSet::new();
    let mut mounted = Mounted::default();
    for superblock in &seen.superblocks {
        match attribution.answer(superblock.number) {
            Some(Answer::Efs(identity)) => subjects.extend(subjects::of(superblock, identity, &limits)),
            _ => mounted.not_counted += 1,
        }
    }
    for subject in &subjects {
        match subject {
            Subject::Host => {}
            Subject::FileSystem(_) => mounted.file_systems += 1,
            Subject::AccessPoint(..) => mounted.access_points += 1,
            Subject::MountPoint(..) => mounted.mount_points += 1,
        }
    }
    let with_access_points: BTreeSet<Subject> = subjects.iter().filter_map(Subject::fallback).collect();
    mounted.with_access_points = with_access_points.len() as u64;
    mounted.mount_points = mounted.mount_points.min(config.limits.max_mount_points);
    Ok(mounted)
}
