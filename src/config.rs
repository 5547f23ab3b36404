//! Files, environment variables and flags in; a checked [`Config`] out, each value with its [`Origin`].
//!
//! A flag wins over a variable, a variable over a file, a later file over an earlier one, a file over the default.
//! Every mistake of every file is reported at once, with file, line, key, what was found and what is allowed.

mod checks;
mod file;
mod load;
mod mounts;
mod settings;
mod spelling;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use checks::is_region;
pub use load::{DEFAULT_FILE, Flag, Inputs, Loaded, load};
pub use mounts::{MOUNT_SETTINGS, MountRule, MountText};
pub use settings::{SETTINGS, Setting};
pub use value::Value;

use crate::catalog::Profile;
use crate::provision::alarms::Thresholds;
use crate::source::Namespace;

/// The commented file that `efsmon config init` writes: every setting, explained, at its default.
pub const COMMENTED_FILE: &str = include_str!("../config/efsmon.toml");

macro_rules! choices {
    ($(#[$about:meta])* $name:ident { $($(#[$variant_about:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_about])* $variant,)+ }

        impl $name {
            /// Every choice, as the file spells it.
            pub const NAMES: &[&str] = &[$($text),+];

            /// The choice as the file spells it.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }

            fn named(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

choices! {
    /// The least severe lines that are logged.
    LogLevel {
        Error = "error",
        Warn = "warn",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}

choices! {
    /// How a log line is written.
    LogFormat {
        /// By where the log goes: terminal, journal or pipe.
        Auto = "auto",
        Text = "text",
        Json = "json",
    }
}

/// Every setting, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Whole seconds that divide a minute, 1 s to 20 s.
    pub sample_interval: Duration,
    /// Whole minutes, at most an hour.
    pub publish_interval: Duration,
    /// A CloudWatch namespace.
    pub namespace: String,
    pub profile: Profile,
    /// Absolute.
    pub state_dir: PathBuf,
    /// Absolute.
    pub runtime_dir: PathBuf,
    pub source: SourceConfig,
    pub identity: IdentityConfig,
    pub host: HostConfig,
    pub limits: LimitsConfig,
    pub spool: SpoolConfig,
    pub publish: PublishConfig,
    pub health: HealthConfig,
    pub compat: CompatConfig,
    pub alarms: Thresholds,
    pub log: LogConfig,
    /// At most one for each mount point.
    pub mounts: Vec<MountRule>,
    origins: BTreeMap<&'static str, Origin>,
}

/// `[source]`: where the machine's figures are read. Every path is absolute.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceConfig {
    pub namespace: Namespace,
    pub procfs: PathBuf,
    pub sysfs: PathBuf,
    pub efs_state: PathBuf,
}

/// `[identity]`: how a mount's file system is found out.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentityConfig {
    /// Whether EFS may be asked whose an address is.
    pub lookup: bool,
}

/// `[host]`: who this host is.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// A CloudWatch dimension value; `None`: the machine is asked.
    pub id: Option<String>,
}

/// `[limits]`: what this host may cost.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitsConfig {
    /// Series that this host may publish, 1 to 1000.
    pub max_series: u64,
    /// Access points with figures of their own, 1 to 500.
    pub max_access_points: u64,
    /// Mount points with figures of their own, 1 to 500.
    pub max_mount_points: u64,
}

/// `[spool]`: how much is kept while CloudWatch cannot be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct SpoolConfig {
    /// Whole MiB (1,048,576 bytes), 1 to 10240.
    pub max_mib: u64,
    /// Whole hours, 1 to 336.
    pub max_age: Duration,
}

/// `[publish]`: where the metrics go.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishConfig {
    /// Whether anything is sent.
    pub enabled: bool,
    /// `None`: as the AWS SDKs find it (environment, profile, instance metadata).
    pub region: Option<String>,
    /// A role to publish as.
    pub role_arn: Option<String>,
    /// What the role's trust policy asks for.
    pub external_id: Option<String>,
    /// Whether access points have series.
    pub access_points: bool,
    /// Whether mount points have series.
    pub mount_points: bool,
}

/// `[health]`: when something is wrong with a mount.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthConfig {
    /// Whole seconds, 20 s to an hour.
    pub stall_after: Duration,
}

/// `[compat]`: what others' tools published.
#[derive(Clone, Debug, PartialEq)]
pub struct CompatConfig {
    /// Whether the cron script's two metrics are published too.
    pub cron_script: bool,
}

/// `[log]`: what the daemon says.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    pub level: LogLevel,
    pub format: LogFormat,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            sample_interval: Duration::from_secs(10),
            publish_interval: Duration::from_secs(60),
            namespace: "EFSMon".to_owned(),
            profile: Profile::Minimal,
            state_dir: "/var/lib/efsmon".into(),
            runtime_dir: "/run/efsmon".into(),
            source: SourceConfig {
                namespace: Namespace::Auto,
                procfs: "/proc".into(),
                sysfs: "/sys".into(),
                efs_state: "/var/run/efs".into(),
            },
            identity: IdentityConfig { lookup: false },
            host: HostConfig { id: None },
            limits: LimitsConfig { max_series: 50, max_access_points: 50, max_mount_points: 20 },
            spool: SpoolConfig { max_mib: 64, max_age: Duration::from_secs(336 * 3600) },
            publish: PublishConfig {
                enabled: true,
                region: None,
                role_arn: None,
                external_id: None,
                access_points: false,
                mount_points: false,
            },
            health: HealthConfig { stall_after: Duration::from_secs(30) },
            compat: CompatConfig { cron_script: false },
            alarms: Thresholds {
                credits_low_minutes: 120,
                depletion_page_minutes: 60,
                depletion_ticket_minutes: 180,
                throughput_percent: 90,
                io_limit_percent: 95,
                client_latency_ms: 250,
                runbook: None,
            },
            log: LogConfig { level: LogLevel::Info, format: LogFormat::Auto },
            mounts: Vec::new(),
            origins: BTreeMap::new(),
        }
    }
}

impl Config {
    /// Where the value of the setting `key` (such as `spool.max_mib`) comes from.
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }

    /// Takes `value` for `setting`, or says why not.
    fn set(&mut self, setting: &Setting<Config>, value: &Value, origin: Origin) -> Result<(), String> {
        setting.put(self, value).map_err(|reason| format!("{}: {reason}", setting.key))?;
        self.origins.insert(setting.key, origin);
        Ok(())
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// `line` counts from 1.
    File {
        path: PathBuf,
        line: usize,
    },
    Environment {
        name: String,
    },
    Flag {
        name: &'static str,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment { name } => write!(f, "environment variable {name}"),
            Origin::Flag { name } => write!(f, "flag {name}"),
        }
    }
}

/// Every mistake that was found, in the order of reading.
#[derive(Debug, thiserror::Error)]
#[error("bad configuration\n  {}", .problems.join("\n  "))]
pub struct ConfigError {
    problems: Vec<String>,
}

impl ConfigError {
    /// `EX_CONFIG` of sysexits.h: tells systemd (`RestartPreventExitStatus=78`) that another try cannot help.
    pub const EXIT_CODE: u8 = 78;

    /// One line for each mistake.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}
