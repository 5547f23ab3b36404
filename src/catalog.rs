//! Every metric, one row each: name, unit, sentence, where it is published and what it is. Pure.
//!
//! The README's table, the dashboards and the alarms are checked against these rows.

pub mod vended;

use crate::model::Unit;
use crate::traffic::{Calls, Times, Traffic};

/// Whose figure a series is: its dimensions. Each scope of a metric is a series of its own, billed as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Scope {
    /// No dimension: all hosts together.
    Fleet,
    /// `FileSystemId`: every host publishes into the same series, and CloudWatch adds them up.
    FileSystem,
    /// `FileSystemId, InstanceId`.
    Client,
    /// `FileSystemId, InstanceId, Operation`.
    Operation,
    /// `FileSystemId, AccessPointId`: shared by every host, as the file system's.
    AccessPoint,
    /// `FileSystemId, InstanceId, MountPoint`.
    MountPoint,
    /// `InstanceID`, so spelt, in [`CRON_SCRIPT_NAMESPACE`]: the whole host, as a widespread cron script named it.
    CronScript,
}

/// The namespace of [`Scope::CronScript`].
pub const CRON_SCRIPT_NAMESPACE: &str = "CustomEC2";

impl Scope {
    /// The names of its dimensions, in the order in which they are published.
    pub fn dimensions(self) -> &'static [&'static str] {
        match self {
            Scope::Fleet => &[],
            Scope::FileSystem => &["FileSystemId"],
            Scope::Client => &["FileSystemId", "InstanceId"],
            Scope::Operation => &["FileSystemId", "InstanceId", "Operation"],
            Scope::AccessPoint => &["FileSystemId", "AccessPointId"],
            Scope::MountPoint => &["FileSystemId", "InstanceId", "MountPoint"],
            Scope::CronScript => &["InstanceID"],
        }
    }

    /// The setting that turns it on, where that is not the profile.
    pub fn setting(self) -> Option<&'static str> {
        match self {
            Scope::AccessPoint => Some("publish.access_points"),
            Scope::MountPoint => Some("publish.mount_points"),
            Scope::CronScript => Some("compat.cron_script"),
            Scope::Fleet | Scope::FileSystem | Scope::Client | Scope::Operation => None,
        }
    }
}

/// How much is published: the setting `profile`. Each has all of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Profile {
    /// The fleet's and the file systems' figures: no series of a single host.
    Fleet,
    /// Also each host's read and write throughput.
    Minimal,
    /// Also each host's bytes, operations and latencies.
    Standard,
    /// Also each host's queue, retransmissions, errors and single operations.
    Full,
}

impl Profile {
    /// Every profile, from the fewest series to the most.
    pub const ALL: [Profile; 4] = [Profile::Fleet, Profile::Minimal, Profile::Standard, Profile::Full];

    /// The profile of that name in the configuration.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Fleet => "fleet",
            Profile::Minimal => "minimal",
            Profile::Standard => "standard",
            Profile::Full => "full",
        }
    }
}

/// What a host says of itself once a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OwnFigures {
    /// NFS mounts that a mount helper made, of which it could not be learned in 10 minutes what they are.
    pub unidentified_mounts: u64,
    /// Samples that gave nothing, and data that had to be dropped, since the last minute.
    pub samples_lost: u64,
    /// Requests since the last minute of which it is not known whether CloudWatch took them.
    pub unknown_outcomes: u64,
}

impl std::ops::AddAssign for OwnFigures {
    /// What is there at present (`unidentified_mounts`) stays as it is; what happened adds up.
    fn add_assign(&mut self, more: OwnFigures) {
        self.samples_lost += more.samples_lost;
        self.unknown_outcomes += more.unknown_outcomes;
    }
}

/// What the proxies of a file system's mounts (efs-proxy, stunnel) use on this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProxyUse {
    /// Milliseconds of CPU, in user mode and in the kernel.
    pub cpu_ms: u64,
    /// Resident memory, bytes.
    pub memory: u64,
}

/// How a minute's figures become the values of a datum.
#[derive(Clone, Copy)]
pub enum Formula {
    /// One value a host and minute, to be added up: CloudWatch's Sum.
    Total(fn(&Traffic) -> u64),
    /// One value a sample, in MiB/s, counted as often as it covers seconds: CloudWatch's Average is the true mean.
    MibPerSecond(fn(&Traffic) -> u64),
    /// One value a sample, counted as often as there were requests; nothing when there were none.
    Mean(fn(&Traffic) -> Times),
    /// One value a sample: how many of the mounts are stalled.
    Stalled,
    /// One value a sample, in percent of a core, counted as often as it covers seconds; nothing when it is not known.
    ProxyCpu,
    /// One value a sample, in bytes; nothing when it is not known.
    ProxyMemory,
    /// One value for each operation that was used: its requests. Of a subject that uses more than it may have series
    /// for, one value for the rest.
    ByOperation,
    /// 1 for each host and minute in which the file system was mounted.
    Mounted,
    /// 1 for each host and minute.
    Alive,
    /// What the host says of itself, of the time since it last did: CloudWatch's Sum.
    Own(fn(&OwnFigures) -> u64),
    /// What the host says of itself as it is now: once for each host and minute.
    OwnNow(fn(&OwnFigures) -> u64),
}

/// One metric.
pub struct Metric {
    pub name: &'static str,
    pub unit: Unit,
    /// One sentence for the README and for `efsmon`'s own pages.
    pub about: &'static str,
    /// Where it is published, and from which profile on; a scope that a setting turns on, in every profile.
    pub scopes: &'static [(Scope, Profile)],
    pub formula: Formula,
}

use Formula::{
    Alive, ByOperation, Mean, MibPerSecond, Mounted, Own, OwnNow, ProxyCpu, ProxyMemory, Stalled, Total,
};
use Profile::{Fleet, Full, Minimal, Standard};

const FLEET: &[(Scope, Profile)] = &[(Scope::Fleet, Fleet)];
const FILE_SYSTEM: &[(Scope, Profile)] = &[(Scope::FileSystem, Fleet)];
const SHARED: &[(Scope, Profile)] =
    &[(Scope::FileSystem, Fleet), (Scope::Client, Standard), (Scope::AccessPoint, Fleet)];
const FELT: &[(Scope, Profile)] =
    &[(Scope::FileSystem, Fleet), (Scope::Client, Standard), (Scope::MountPoint, Fleet)];
const RATE: &[(Scope, Profile)] = &[(Scope::Client, Minimal), (Scope::MountPoint, Fleet)];
const CRON_SCRIPT: &[(Scope, Profile)] = &[(Scope::CronScript, Fleet)];
const DETAIL: &[(Scope, Profile)] = &[(Scope::Client, Full)];

macro_rules! metric {
    ($name:literal, $unit:ident, $scopes:expr, $formula:expr, $about:literal) => {
        Metric { name: $name, unit: Unit::$unit, about: $about, scopes: $scopes, formula: $formula }
    };
}

/// The bytes that EFS meters at least for a request, whatever it carries (EFS user guide, "Metering").
const METERED_AT_LEAST: u64 = 4096;

/// All metrics.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    metric!("Hosts", Count, FLEET, Alive,
        "Hosts that report: 1 for each host and minute."),
    metric!("UnidentifiedMounts", Count, FLEET, OwnNow(|own| own.unidentified_mounts),
        "Mounts made by a mount helper, of which it is not known whose they are."),
    metric!("SamplesLost", Count, FLEET, Own(|own| own.samples_lost),
        "Samples that gave nothing, and data dropped from a full spool."),
    metric!("UnknownOutcomes", Count, FLEET, Own(|own| own.unknown_outcomes),
        "Requests of which it is not known whether CloudWatch took them."),

    metric!("ReadBytes", Bytes, SHARED, Total(|t| t.read.bytes()),
        "RPC bytes of READ, both ways, headers included: what nfsiostat's kB/s are made of."),
    metric!("WriteBytes", Bytes, SHARED, Total(|t| t.write.bytes()),
        "RPC bytes of WRITE, both ways, headers included."),
    metric!("MeteredEstimate", Bytes, SHARED, Total(metered_estimate),
        "The least that EFS meters for this traffic: file data, reads at a third, 4 KiB at least a request."),
    metric!("ReadOperations", Count, SHARED, Total(|t| t.read.requests),
        "Finished READ requests."),
    metric!("WriteOperations", Count, SHARED, Total(|t| t.write.requests),
        "Finished WRITE requests."),
    metric!("MetadataOperations", Count, SHARED, Total(|t| t.metadata.requests),
        "Finished requests other than READ, WRITE and COMMIT."),
    metric!("Clients", Count, FILE_SYSTEM, Mounted,
        "Hosts that mount the file system: 1 for each host and minute."),
    metric!("ReadLatency", Milliseconds, FELT, Mean(|t| t.read.execute),
        "Mean time of a READ from its start to its end, waiting included; each READ counts."),
    metric!("WriteLatency", Milliseconds, FELT, Mean(|t| t.write.execute),
        "Mean time of a WRITE from its start to its end, waiting included; each WRITE counts."),
    metric!("MetadataLatency", Milliseconds, FELT, Mean(|t| t.metadata.execute),
        "Mean time of any other request but COMMIT, from its start to its end."),
    metric!("MountStalled", Count, FELT, Stalled,
        "Mounts whose requests get no answer, 0 when all do; alarm on the Maximum."),

    metric!("ReadThroughput", None, RATE, MibPerSecond(|t| t.read.bytes()),
        "MiB/s of READ, RPC bytes: nfsiostat's kB/s / 1024."),
    metric!("WriteThroughput", None, RATE, MibPerSecond(|t| t.write.bytes()),
        "MiB/s of WRITE, RPC bytes."),

    metric!("Operations", Count, DETAIL, Total(|t| sum(t, |c| c.requests)),
        "Finished requests of every kind, COMMIT too."),
    metric!("Retransmissions", Count, DETAIL, Total(|t| sum(t, |c| c.retransmissions)),
        "Requests sent again."),
    metric!("MajorTimeouts", Count, DETAIL, Total(|t| sum(t, |c| c.timeouts)),
        "Major timeouts: a request waited through all its repetitions."),
    metric!("OperationErrors", Count, DETAIL, Total(|t| sum(t, |c| c.errors)),
        "Requests that ended with an error (Linux 5.3 and later)."),
    metric!("ReadPayloadBytes", Bytes, DETAIL, Total(|t| t.payload_read),
        "File data that READs brought, without headers."),
    metric!("WritePayloadBytes", Bytes, DETAIL, Total(|t| t.payload_written),
        "File data that WRITEs took, without headers."),
    metric!("ReadRoundTrip", Milliseconds, DETAIL, Mean(|t| t.read.rtt),
        "Mean time from a READ's last transmission to its reply."),
    metric!("WriteRoundTrip", Milliseconds, DETAIL, Mean(|t| t.write.rtt),
        "Mean time from a WRITE's last transmission to its reply."),
    metric!("ReadQueue", Milliseconds, DETAIL, Mean(|t| t.read.queue),
        "Mean time of a READ from its start to its last transmission."),
    metric!("WriteQueue", Milliseconds, DETAIL, Mean(|t| t.write.queue),
        "Mean time of a WRITE from its start to its last transmission."),
    metric!("OperationRequests", Count, &[(Scope::Operation, Full)], ByOperation,
        "Finished requests of one operation, by the kernel's name for it; none when there were none, `other` for those beyond the 19 busiest."),
    metric!("ProxyCpu", Percent, DETAIL, ProxyCpu,
        "Share of a core that efs-proxy or stunnel uses for the file system's mounts; none while one of them is not known."),
    metric!("ProxyMemory", Bytes, DETAIL, ProxyMemory,
        "Resident memory of efs-proxy or stunnel for the file system's mounts; none while one of them is not known."),

    metric!("ec2-efs-read-throughput", None, CRON_SCRIPT, MibPerSecond(|t| t.read.bytes()),
        "ReadThroughput of all EFS mounts of the host together, in the namespace CustomEC2."),
    metric!("ec2-efs-write-throughput", None, CRON_SCRIPT, MibPerSecond(|t| t.write.bytes()),
        "WriteThroughput of all EFS mounts of the host together, in the namespace CustomEC2."),
];

/// The least that EFS meters for what was done: reads of file data count a third (EFS user guide,
/// "Throughput"), every request at least 4 KiB ("Metering").
fn metered_estimate(traffic: &Traffic) -> u64 {
    let at_least = |requests: u64| requests.saturating_mul(METERED_AT_LEAST);
    let others = traffic.commit.requests.saturating_add(traffic.metadata.requests);
    at_least(traffic.read.requests)
        .max(traffic.payload_read / 3)
        .saturating_add(at_least(traffic.write.requests).max(traffic.payload_written))
        .saturating_add(at_least(others))
}

fn sum(traffic: &Traffic, number: fn(&Calls) -> u64) -> u64 {
    traffic.all().into_iter().map(number).fold(0, u64::saturating_add)
}

impl Metric {
    /// The scopes that it is published in under `profile`.
    pub fn published(&self, profile: Profile) -> impl Iterator<Item = Scope> {
        self.scopes.iter().filter(move |(_, from)| *from <= profile).map(|(scope, _)| *scope)
    }
}

/// The namespace of a metric that is not efsmon's own to name; the others are in the setting `namespace`.
pub fn foreign_namespace(metric: &str) -> Option<&'static str> {
    let foreign = METRICS.iter().filter(|metric| metric.scopes == CRON_SCRIPT);
    foreign.map(|metric| metric.name).find(|name| *name == metric).map(|_| CRON_SCRIPT_NAMESPACE)
}

/// How many series `profile` has in `scope`: of one file system, access point or mount point; one of a scope that a
/// setting turns on, when it is on. Operations are not counted beforehand.
pub fn series(profile: Profile, scope: Scope) -> usize {
    METRICS.iter().filter(|metric| metric.published(profile).any(|published| published == scope)).count()
}

/// The metrics as a table in Markdown, as the README has it.
pub fn markdown() -> String {
    let mut table = String::from(
        "| Metric | Unit | Dimensions (profile from which on, or setting) | Meaning |\n|---|---|---|---|\n",
    );
    for metric in METRICS {
        let scopes = metric.scopes.iter().map(|(scope, profile)| {
            let dimensions = match scope.dimensions() {
                [] => "none".to_owned(),
                names => names.join(", "),
            };
            format!("{dimensions} ({})", scope.setting().unwrap_or(profile.name()))
        });
        let scopes = scopes.collect::<Vec<_>>().join("; ");
        let (name, unit, about) = (metric.name, metric.unit.name(), metric.about);
        table.push_str(&format!("| {name} | {unit} | {scopes} | {about} |\n"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fleet_has_four_series_and_a_file_system_as_many_as_the_design_says() {
        assert_eq!(series(Fleet, Scope::Fleet), 4);
        assert_eq!(series(Fleet, Scope::FileSystem), 11);
        assert_eq!(series(Fleet, Scope::Client), 0);
        assert_eq!(series(Minimal, Scope::Client), 2);
        assert_eq!(series(Standard, Scope::Client), 2 + 10);
        assert_eq!(series(Full, Scope::Client), 2 + 10 + 12);
    }

    #[test]
    fn what_a_setting_turns_on_is_the_same_in_every_profile() {
        for profile in Profile::ALL {
            assert_eq!(series(profile, Scope::AccessPoint), 6);
            assert_eq!(series(profile, Scope::MountPoint), 6);
            assert_eq!(series(profile, Scope::CronScript), 2);
        }
        for metric in METRICS {
            let by_setting = metric.scopes.iter().filter(|(scope, _)| scope.setting().is_some());
            assert!(by_setting.into_iter().all(|(_, profile)| *profile == Fleet), "{}", metric.name);
        }
    }

    #[test]
    fn only_the_cron_scripts_metrics_are_in_a_namespace_of_their_own() {
        let foreign = METRICS.iter().filter(|metric| foreign_namespace(metric.name).is_some());
        let names: Vec<_> = foreign.map(|metric| metric.name).collect();
        assert_eq!(names, ["ec2-efs-read-throughput", "ec2-efs-write-throughput"]);
        assert_eq!(foreign_namespace("ec2-efs-read-throughput"), Some("CustomEC2"));
    }

    #[test]
    fn no_name_is_used_twice_and_each_is_one_that_cloudwatch_takes() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(METRICS.iter().skip(index + 1).all(|other| other.name != metric.name), "{}", metric.name);
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            assert!(metric.name.bytes().all(plain), "{}", metric.name);
            assert!(metric.about.ends_with('.'), "{}", metric.name);
        }
    }

    #[test]
    fn small_requests_are_metered_at_4_kib_and_large_reads_at_a_third() {
        let mut traffic = Traffic { payload_read: 3 << 20, payload_written: 100, ..Traffic::default() };
        traffic.read.requests = 3;
        traffic.write.requests = 2;
        traffic.commit.requests = 1;
        traffic.metadata.requests = 4;
        // 1 MiB for the reads, 2 x 4 KiB for the writes, 5 x 4 KiB for the rest.
        assert_eq!(metered_estimate(&traffic), 1_048_576 + 8_192 + 20_480);
    }
}
