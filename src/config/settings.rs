//! One row for each setting: what it is called, what it is for, what it may be, where it lives in [`Config`].

use std::path::Path;
use std::time::Duration;

use super::checks::{
    absolute_path, boolean, dimension_value, external_id, integer, namespace, publish_interval, region,
    role_arn, sample_interval, stall_after, text, web_page,
};
use super::{Config, LogFormat, LogLevel, Value};
use crate::catalog::Profile;
use crate::source::Namespace;

/// One setting of a `T`, which is a [`Config`] or one of its `[[mounts]]`.
pub struct Setting<T: 'static> {
    /// Section and key: `spool.max_mib`; without a section, the key alone.
    pub key: &'static str,
    /// What it is for: whole sentences.
    pub about: &'static str,
    /// What it may be: the end of "allowed: ".
    pub allowed: &'static str,
    pub(super) put: fn(&mut T, &Value) -> Option<()>,
    pub(super) get: fn(&T) -> Option<Value>,
}

impl<T: Default> Setting<T> {
    /// Its value; `None` when it has none.
    pub fn value(&self, of: &T) -> Option<Value> {
        (self.get)(of)
    }

    /// Its value where nothing is said; `None` when it has none.
    pub fn default(&self) -> Option<Value> {
        self.value(&T::default())
    }

    /// The section, where it has one, and the key within it.
    pub fn section_and_name(&self) -> (Option<&'static str>, &'static str) {
        match self.key.split_once('.') {
            Some((section, name)) => (Some(section), name),
            None => (None, self.key),
        }
    }

    /// The environment variable that sets it: `EFSMON_SPOOL__MAX_MIB`.
    pub fn variable(&self) -> String {
        format!("EFSMON_{}", self.key.replace('.', "__").to_ascii_uppercase())
    }

    /// Takes a value.
    ///
    /// # Errors
    ///
    /// What was found, and what is allowed.
    pub fn put(&self, to: &mut T, value: &Value) -> Result<(), String> {
        (self.put)(to, value).ok_or_else(|| {
            let meant =
                other_spellings(value).into_iter().find(|v| (self.put)(&mut T::default(), v).is_some());
            let meant = meant.map(|value| format!("; did you mean {value}?")).unwrap_or_default();
            format!("found {}; allowed: {}{meant}", value.found(), self.allowed)
        })
    }
}

/// What a person who wrote `value` may have meant: each is offered only if it is allowed.
fn other_spellings(value: &Value) -> Vec<Value> {
    let seconds = |number: i64| Value::Text(format!("{number}s"));
    match value {
        Value::Integer(number) => vec![seconds(*number)],
        Value::Text(text) => {
            let text = text.trim();
            let number = text.parse().ok();
            let mut spellings: Vec<Value> = number.map(Value::Integer).into_iter().collect();
            spellings.extend(number.map(seconds));
            spellings.push(Value::Boolean(matches!(
                text.to_ascii_lowercase().as_str(),
                "true" | "yes" | "on" | "1"
            )));
            spellings.push(Value::Text(match text.contains('/') {
                true => text.trim_end_matches('/').to_owned(),
                false => text.to_ascii_lowercase(),
            }));
            spellings
        }
        Value::Boolean(_) | Value::Other(_) => Vec::new(),
    }
}

pub(super) fn assign<V>(place: &mut V, checked: Option<V>) -> Option<()> {
    *place = checked?;
    Some(())
}

fn seconds(duration: Duration) -> Option<Value> {
    Some(Value::Text(format!("{}s", duration.as_secs())))
}

fn word(text: impl Into<String>) -> Option<Value> {
    Some(Value::Text(text.into()))
}

fn number(number: u64) -> Option<Value> {
    i64::try_from(number).ok().map(Value::Integer)
}

fn yes_or_no(yes: bool) -> Option<Value> {
    Some(Value::Boolean(yes))
}

pub(super) fn path(path: &Path) -> Option<Value> {
    word(path.to_string_lossy())
}

/// Every setting but those of `[[mounts]]` ([`super::MOUNT_SETTINGS`]), in the order of the commented file.
pub const SETTINGS: &[Setting<Config>] = &[
    Setting {
        key: "sample_interval",
        about: "How often the mounts are read. Below 5s is meant for tests.",
        allowed: "1s, 2s, 3s, 4s, 5s, 6s, 10s, 12s, 15s or 20s",
        put: |config, value| assign(&mut config.sample_interval, sample_interval(value)),
        get: |config| seconds(config.sample_interval),
    },
    Setting {
        key: "publish_interval",
        about: "How often metrics are sent. Each minute stays a datum of its own.",
        allowed: "60s or a multiple of it, at most 1h",
        put: |config, value| assign(&mut config.publish_interval, publish_interval(value)),
        get: |config| seconds(config.publish_interval),
    },
    Setting {
        key: "namespace",
        about: "The CloudWatch namespace of the metrics. Dashboards, alarms and IAM policies name it too.",
        allowed: "1 to 255 of the characters A-Z a-z 0-9 . - _ / # : and space, not only spaces, not starting \
                  with a colon or with AWS/",
        put: |config, value| assign(&mut config.namespace, namespace(value)),
        get: |config| word(config.namespace.as_str()),
    },
    Setting {
        key: "profile",
        about: "Which metrics are published. CloudWatch bills every series.",
        allowed: "fleet, minimal, standard or full",
        put: |config, value| assign(&mut config.profile, Profile::named(text(value)?)),
        get: |config| word(config.profile.name()),
    },
    Setting {
        key: "state_dir",
        about: "Where counters and unsent metrics are kept. Under systemd the default is $STATE_DIRECTORY.",
        allowed: "an absolute path",
        put: |config, value| assign(&mut config.state_dir, absolute_path(value)),
        get: |config| path(&config.state_dir),
    },
    Setting {
        key: "runtime_dir",
        about: "Where the lock and the status are kept. Under systemd the default is $RUNTIME_DIRECTORY.",
        allowed: "an absolute path",
        put: |config, value| assign(&mut config.runtime_dir, absolute_path(value)),
        get: |config| path(&config.runtime_dir),
    },
    Setting {
        key: "source.namespace",
        about: "Whose mounts are read: those of process 1 (init), of efsmon itself (self), or those of process 1 \
                where they can be read and hold NFS mounts (auto).",
        allowed: "auto, self or init",
        put: |config, value| assign(&mut config.source.namespace, Namespace::named(text(value)?)),
        get: |config| word(config.source.namespace.name()),
    },
    Setting {
        key: "source.procfs",
        about: "The root of procfs.",
        allowed: "an absolute path",
        put: |config, value| assign(&mut config.source.procfs, absolute_path(value)),
        get: |config| path(&config.source.procfs),
    },
    Setting {
        key: "source.sysfs",
        about: "The root of sysfs.",
        allowed: "an absolute path",
        put: |config, value| assign(&mut config.source.sysfs, absolute_path(value)),
        get: |config| path(&config.source.sysfs),
    },
    Setting {
        key: "source.efs_state",
        about: "Where amazon-efs-utils keeps the state of its mounts.",
        allowed: "an absolute path",
        put: |config, value| assign(&mut config.source.efs_state, absolute_path(value)),
        get: |config| path(&config.source.efs_state),
    },
    Setting {
        key: "identity.lookup",
        about: "Whether EFS is asked (DescribeFileSystems, DescribeMountTargets) which file system an address is a \
                mount target of, when something is mounted by address or by a DNS name of one's own. The answers \
                are kept in state_dir.",
        allowed: "true or false",
        put: |config, value| assign(&mut config.identity.lookup, boolean(value)),
        get: |config| yes_or_no(config.identity.lookup),
    },
    Setting {
        key: "host.id",
        about: "This host's name in the dimension InstanceId. Without it the machine is asked: ECS's agent in a task \
                without an instance, the instance metadata service (IMDSv2), the board's asset tag, or, off EC2 and \
                outside containers, the host name. In a container that reaches no metadata service, set it: figures \
                of single hosts wait for it.",
        allowed: "1 to 1024 printable ASCII characters, not only spaces",
        put: |config, value| assign(&mut config.host.id, dimension_value(value).map(Some)),
        get: |config| word(config.host.id.as_deref()?),
    },
    Setting {
        key: "limits.max_series",
        about: "The most series (metric and dimensions) that this host publishes. What all hosts add up to is \
                kept first (the four of the whole fleet under any limit), then the busiest file systems; what is \
                dropped is logged.",
        allowed: "a whole number from 1 to 1000",
        put: |config, value| assign(&mut config.limits.max_series, integer(value, 1..=1000)),
        get: |config| number(config.limits.max_series),
    },
    Setting {
        key: "limits.max_access_points",
        about: "With publish.access_points: the most access points that have figures of their own; the others \
                are published together, as `other`.",
        allowed: "a whole number from 1 to 500",
        put: |config, value| assign(&mut config.limits.max_access_points, integer(value, 1..=500)),
        get: |config| number(config.limits.max_access_points),
    },
    Setting {
        key: "limits.max_mount_points",
        about: "With publish.mount_points: the most mount points that have figures; of the others there are none.",
        allowed: "a whole number from 1 to 500",
        put: |config, value| assign(&mut config.limits.max_mount_points, integer(value, 1..=500)),
        get: |config| number(config.limits.max_mount_points),
    },
    Setting {
        key: "spool.max_mib",
        about: "The most disk space, in MiB, that unsent metrics may take. Then the oldest go.",
        allowed: "a whole number from 1 to 10240",
        put: |config, value| assign(&mut config.spool.max_mib, integer(value, 1..=10240)),
        get: |config| number(config.spool.max_mib),
    },
    Setting {
        key: "spool.max_age_hours",
        about: "How long unsent metrics are kept. CloudWatch refuses those older than two weeks.",
        allowed: "a whole number from 1 to 336",
        put: |config, value| assign(&mut config.spool.max_age, integer(value, 1..=336).map(hours)),
        get: |config| number(config.spool.max_age.as_secs() / 3600),
    },
    Setting {
        key: "publish.enabled",
        about: "Whether anything is sent to CloudWatch. With false the daemon only samples, for `efsmon status` and \
                the commands that read it: the minutes of that time are dropped, and what waited before goes on \
                waiting.",
        allowed: "true or false",
        put: |config, value| assign(&mut config.publish.enabled, boolean(value)),
        get: |config| yes_or_no(config.publish.enabled),
    },
    Setting {
        key: "publish.region",
        about: "The Region whose CloudWatch gets the metrics; dashboards, alarms and questions to EFS are of it \
                too. Without it efsmon asks where the AWS SDKs ask: AWS_REGION, the shared config file, the instance \
                metadata.",
        allowed: "the name of a Region, such as eu-west-1",
        put: |config, value| assign(&mut config.publish.region, region(value).map(Some)),
        get: |config| word(config.publish.region.as_deref()?),
    },
    Setting {
        key: "publish.role_arn",
        about: "A role to publish as (AssumeRole), such as one of a central monitoring account. EFS is asked \
                (identity.lookup) as this host itself.",
        allowed: "arn:PARTITION:iam::ACCOUNT:role/NAME",
        put: |config, value| assign(&mut config.publish.role_arn, role_arn(value).map(Some)),
        get: |config| word(config.publish.role_arn.as_deref()?),
    },
    Setting {
        key: "publish.external_id",
        about: "The external id that the role's trust policy asks for.",
        allowed: "2 to 1224 of the characters A-Z a-z 0-9 _ + = , . @ : / -",
        put: |config, value| assign(&mut config.publish.external_id, external_id(value).map(Some)),
        get: |config| word(config.publish.external_id.as_deref()?),
    },
    Setting {
        key: "publish.access_points",
        about: "Whether each access point's figures are published too: series of their own, which all hosts share.",
        allowed: "true or false",
        put: |config, value| assign(&mut config.publish.access_points, boolean(value)),
        get: |config| yes_or_no(config.publish.access_points),
    },
    Setting {
        key: "publish.mount_points",
        about: "Whether each mount point's figures are published too: series of this host alone. Never those of pods \
                and of containers.",
        allowed: "true or false",
        put: |config, value| assign(&mut config.publish.mount_points, boolean(value)),
        get: |config| yes_or_no(config.publish.mount_points),
    },
    Setting {
        key: "health.stall_after",
        about: "How long a mount's requests may go without any answer before it counts as stalled.",
        allowed: "a whole number of seconds from 20s to 1h",
        put: |config, value| assign(&mut config.health.stall_after, stall_after(value)),
        get: |config| seconds(config.health.stall_after),
    },
    Setting {
        key: "compat.cron_script",
        about: "Whether ec2-efs-read-throughput and ec2-efs-write-throughput are published too, in the namespace \
                CustomEC2 with the dimension InstanceID: the names of a widespread cron script, so that its \
                dashboards go on.",
        allowed: "true or false",
        put: |config, value| assign(&mut config.compat.cron_script, boolean(value)),
        get: |config| yes_or_no(config.compat.cron_script),
    },
    Setting {
        key: "alarms.credits_low_minutes",
        about: "credits-low goes off when the burst credits last for less than so many minutes of bursting. \
                A full bucket of a file system below 1 TiB lasts 367.",
        allowed: "a whole number from 1 to 360",
        put: |config, value| assign(&mut config.alarms.credits_low_minutes, integer(value, 1..=360)),
        get: |config| number(config.alarms.credits_low_minutes),
    },
    Setting {
        key: "alarms.depletion_page_minutes",
        about: "credits-depletion-page goes off when, at the present rate, the burst credits are gone in so \
                many minutes.",
        allowed: "a whole number from 1 to 360",
        put: |config, value| assign(&mut config.alarms.depletion_page_minutes, integer(value, 1..=360)),
        get: |config| number(config.alarms.depletion_page_minutes),
    },
    Setting {
        key: "alarms.depletion_ticket_minutes",
        about: "The same for credits-depletion-ticket. Above 180 every batch that begins with a full bucket \
                sets it off early.",
        allowed: "a whole number from 1 to 360",
        put: |config, value| assign(&mut config.alarms.depletion_ticket_minutes, integer(value, 1..=360)),
        get: |config| number(config.alarms.depletion_ticket_minutes),
    },
    Setting {
        key: "alarms.throughput_percent",
        about: "throughput-utilisation goes off when a file system uses so much of its permitted throughput, \
                in percent.",
        allowed: "a whole number from 1 to 100",
        put: |config, value| assign(&mut config.alarms.throughput_percent, integer(value, 1..=100)),
        get: |config| number(config.alarms.throughput_percent),
    },
    Setting {
        key: "alarms.io_limit_percent",
        about: "percent-io-limit goes off when a General Purpose file system comes so near to its limit of \
                operations, in percent.",
        allowed: "a whole number from 1 to 100",
        put: |config, value| assign(&mut config.alarms.io_limit_percent, integer(value, 1..=100)),
        get: |config| number(config.alarms.io_limit_percent),
    },
    Setting {
        key: "alarms.client_latency_ms",
        about: "client-latency goes off when the mean time of reads or writes, over all hosts, is so many \
                milliseconds.",
        allowed: "a whole number from 1 to 600000",
        put: |config, value| assign(&mut config.alarms.client_latency_ms, integer(value, 1..=600_000)),
        get: |config| number(config.alarms.client_latency_ms),
    },
    Setting {
        key: "alarms.runbook",
        about: "Your runbook: every alarm's description points to this page, with the kind of alarm behind a \
                #. Without it, to the EFS User Guide.",
        allowed: "a web address of at most 308 characters, without #",
        put: |config, value| assign(&mut config.alarms.runbook, web_page(value).map(Some)),
        get: |config| word(config.alarms.runbook.as_deref()?),
    },
    Setting {
        key: "log.level",
        about: "The least severe lines that are logged.",
        allowed: "error, warn, info, debug or trace",
        put: |config, value| assign(&mut config.log.level, LogLevel::named(text(value)?)),
        get: |config| word(config.log.level.name()),
    },
    Setting {
        key: "log.format",
        about: "How lines are logged; auto goes by where the log goes.",
        allowed: "auto, text or json",
        put: |config, value| assign(&mut config.log.format, LogFormat::named(text(value)?)),
        get: |config| word(config.log.format.name()),
    },
];

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

#[cfg(test)]
mod tests {
    use super::super::{MOUNT_SETTINGS, MountText};
    use super::*;

    #[test]
    fn every_default_is_allowed_and_every_choice_is_told() {
        for setting in SETTINGS {
            if let Some(default) = setting.default() {
                assert_eq!(setting.put(&mut Config::default(), &default), Ok(()));
            }
        }
        assert!(MOUNT_SETTINGS.iter().all(|setting| setting.value(&MountText::default()).is_none()));
        let choices = [
            ("profile", Profile::ALL.map(Profile::name).to_vec()),
            ("source.namespace", Namespace::ALL.map(Namespace::name).to_vec()),
            ("log.level", LogLevel::NAMES.to_vec()),
            ("log.format", LogFormat::NAMES.to_vec()),
        ];
        for (key, names) in choices {
            let setting = SETTINGS.iter().find(|setting| setting.key == key).unwrap();
            assert_eq!(setting.allowed.replace(" or ", ", "), names.join(", "));
            for name in names {
                let mut config = Config::default();
                assert_eq!(setting.put(&mut config, &Value::Text(name.to_owned())), Ok(()));
                assert_eq!(setting.value(&config), Some(Value::Text(name.to_owned())));
            }
        }
    }
}
