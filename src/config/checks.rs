//! What a value must be: each check takes a [`Value`] and gives the typed one, or nothing. Pure.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::Value;

pub(super) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

pub(super) fn integer(value: &Value, allowed: RangeInclusive<u64>) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok().filter(|number| allowed.contains(number)),
        _ => None,
    }
}

pub(super) fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(yes) => Some(*yes),
        _ => None,
    }
}

/// `10s`, `1m`, `1h 30m`: whole seconds.
fn duration(value: &Value) -> Option<Duration> {
    let signed: jiff::SignedDuration = text(value)?.parse().ok()?;
    Duration::try_from(signed).ok().filter(|duration| duration.subsec_nanos() == 0)
}

/// A minute holds a whole number of samples; at most 20 s, so that it holds at least three.
pub(super) fn sample_interval(value: &Value) -> Option<Duration> {
    duration(value).filter(|d| (1..=20).contains(&d.as_secs()) && 60 % d.as_secs() == 0)
}

/// Whole minutes, as each minute is a datum of its own; at most an hour.
pub(super) fn publish_interval(value: &Value) -> Option<Duration> {
    duration(value).filter(|d| (60..=3600).contains(&d.as_secs()) && d.as_secs() % 60 == 0)
}

/// Longer than a sample and than a request usually takes; at most an hour.
pub(super) fn stall_after(value: &Value) -> Option<Duration> {
    duration(value).filter(|d| (20..=3600).contains(&d.as_secs()))
}

/// An address of a web page.
pub(super) fn web_page(value: &Value) -> Option<String> {
    let page = text(value)?;
    let rest = page.strip_prefix("https://").or_else(|| page.strip_prefix("http://"))?;
    // 1,024 characters are all that an alarm's description holds.
    let fits = (1..=300).contains(&rest.len()) && rest.bytes().all(|b| matches!(b, b'!'..=b'~'));
    (fits && !page.contains('#')).then(|| page.to_owned())
}

/// An IAM role (IAM user guide, "IAM ARNs"): `arn:PARTITION:iam::ACCOUNT:role/PATH/NAME`.
pub(super) fn role_arn(value: &Value) -> Option<String> {
    let arn = text(value)?;
    let mut parts = arn.splitn(6, ':');
    let mut part = || parts.next();
    let partition = part() == Some("arn") && part()?.starts_with("aws");
    let iam = part() == Some("iam") && part() == Some("");
    let account = part().filter(|id| id.len() == 12 && id.bytes().all(|b| b.is_ascii_digit())).is_some();
    let role = part().and_then(|role| role.strip_prefix("role/")).is_some_and(|name| !name.is_empty());
    let printable = arn.len() <= 2048 && arn.bytes().all(|b| matches!(b, b'!'..=b'~'));
    (partition && iam && account && role && printable).then(|| arn.to_owned())
}

/// STS API reference, AssumeRole, `ExternalId`.
pub(super) fn external_id(value: &Value) -> Option<String> {
    let id = text(value)?;
    let character = |b: u8| b.is_ascii_alphanumeric() || b"_+=,.@:/-".contains(&b);
    ((2..=1224).contains(&id.len()) && id.bytes().all(character)).then(|| id.to_owned())
}

/// PutMetricData, `Namespace`, and the characters that the CloudWatch User Guide names under Namespaces.
pub(super) fn namespace(value: &Value) -> Option<String> {
    let name = text(value)?;
    let character = |b: u8| b.is_ascii_alphanumeric() || b"._-/#: ".contains(&b);
    let allowed = (1..=255).contains(&name.len())
        && name.bytes().all(character)
        && !name.trim().is_empty()
        && !name.starts_with(':')
        && !name.starts_with("AWS/");
    allowed.then(|| name.to_owned())
}

/// PutMetricData, `Dimension`, `Value`: one that is not allowed makes CloudWatch refuse the whole request.
pub(super) fn dimension_value(value: &Value) -> Option<String> {
    let text = text(value)?;
    let printable = text.bytes().all(|b| matches!(b, b' '..=b'~'));
    ((1..=1024).contains(&text.len()) && printable && !text.trim().is_empty()).then(|| text.to_owned())
}

pub(super) fn region(value: &Value) -> Option<String> {
    text(value).filter(|name| is_region(name)).map(str::to_owned)
}

/// Whether it has the shape of every Region's name so far: `eu-west-1`, `us-gov-east-1`, `eusc-de-east-1`.
pub fn is_region(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let Some((number, words)) = parts.split_last() else { return false };
    let word =
        |word: &&str| !word.is_empty() && word.len() <= 12 && word.bytes().all(|b| b.is_ascii_lowercase());
    let numbered = (1..=2).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    numbered && (2..=4).contains(&words.len()) && words.iter().all(word)
}

/// Only spelled right, never looked up: it may lie on a file system whose server hangs.
pub(super) fn absolute_path(value: &Value) -> Option<PathBuf> {
    let path = text(value)?;
    (path.starts_with('/') && !path.contains(char::is_control)).then(|| path.into())
}

/// A path as the kernel prints mount points: absolute, no `.`, no `..`, no empty part, no slash at the end.
pub(super) fn mount_point(value: &Value) -> Option<PathBuf> {
    let path = text(value)?;
    let parts = path.strip_prefix('/')?;
    let plain = parts.is_empty() || parts.split('/').all(|part| !matches!(part, "" | "." | ".."));
    (plain && !path.contains('\0')).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::super::{MOUNT_SETTINGS, MountText, SETTINGS};
    use super::*;

    fn takes(key: &str, value: &Value) -> bool {
        match SETTINGS.iter().find(|setting| setting.key == key) {
            Some(setting) => setting.put(&mut Default::default(), value).is_ok(),
            None => {
                let setting = MOUNT_SETTINGS.iter().find(|setting| setting.key == key).unwrap();
                setting.put(&mut MountText::default(), value).is_ok()
            }
        }
    }

    #[track_caller]
    fn check(key: &str, allowed: &[&str], refused: &[&str]) {
        for text in allowed {
            assert!(takes(key, &Value::Text((*text).to_owned())), "{key} refuses {text:?}");
        }
        for text in refused {
            assert!(!takes(key, &Value::Text((*text).to_owned())), "{key} takes {text:?}");
        }
    }

    #[test]
    fn a_runbook_is_a_web_page() {
        check(
            "alarms.runbook",
            &["https://wiki.example.com/efs", "http://a", &format!("https://{}", "a".repeat(300))],
            &[
                "wiki.example.com",
                "https://",
                "https://a b",
                "https://a/#b",
                &format!("https://{}", "a".repeat(301)),
                "ftp://a",
            ],
        );
    }

    #[test]
    fn a_minute_holds_a_whole_number_of_samples() {
        let allowed = ["1s", "2s", "3s", "4s", "5s", "6s", "10s", "12s", "15s", "20s", "20 seconds"];
        let refused =
            ["", "10", "0s", "-10s", "7s", "30s", "60s", "500ms", "1500ms", "1m", "10 bananas", "10s ago"];
        check("sample_interval", &allowed, &refused);
        assert!(!takes("sample_interval", &Value::Integer(10)));
    }

    #[test]
    fn metrics_are_sent_every_so_many_whole_minutes() {
        let allowed = ["60s", "1m", "120s", "5m", "3600s", "1h", "59m 60s"];
        check("publish_interval", &allowed, &["59s", "61s", "90s", "0s", "61m", "1h 1m", "60"]);
    }

    #[test]
    fn a_namespace_is_one_that_cloudwatch_takes() {
        let (longest, too_long) = ("n".repeat(255), "n".repeat(256));
        let allowed = ["EFSMon", "n", "team a/EFS_2.0-x#1:y", "AWS", "AWSome", "my/AWS/EFS", &longest];
        let refused = ["", " ", ":EFSMon", "AWS/", "AWS/EFS", "EFS(Mon)", "EFS\tMon", "Zürich", &too_long];
        check("namespace", &allowed, &refused);
    }

    #[test]
    fn a_host_id_is_a_dimension_value_that_cloudwatch_takes() {
        let (longest, too_long) = ("h".repeat(1024), "h".repeat(1025));
        let allowed = ["i-0123456789abcdef0", "rack 7: node \"3\"", "~", &longest];
        check("host.id", &allowed, &["", " ", "a\nb", "a\u{7f}", "zürich", &too_long]);
    }

    #[test]
    fn a_role_is_named_by_its_arn() {
        let allowed = [
            "arn:aws:iam::123456789012:role/efsmon",
            "arn:aws-us-gov:iam::123456789012:role/a/b+c=d,e.f@g-h_i",
        ];
        let refused = [
            "",
            "efsmon",
            "arn:aws:iam::12345678901:role/efsmon",
            "arn:aws:iam::123456789012:user/efsmon",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:sts::123456789012:role/efsmon",
            "arn:aws:iam:eu-west-1:123456789012:role/efsmon",
            "arn:aws:iam::123456789012:role/efs mon",
        ];
        check("publish.role_arn", &allowed, &refused);
        let longest = "x".repeat(1224);
        check(
            "publish.external_id",
            &["x1", "a_+=,.@:/-Z", &longest],
            &["", "x", "a b", "ä1", &format!("{longest}x")],
        );
    }

    #[test]
    fn a_stall_is_longer_than_a_slow_answer() {
        check("health.stall_after", &["20s", "1m", "1h"], &["19s", "0s", "61m", "30", "1500ms"]);
    }

    #[test]
    fn yes_or_no_is_true_or_false() {
        for key in [
            "identity.lookup",
            "publish.enabled",
            "publish.access_points",
            "publish.mount_points",
            "compat.cron_script",
        ] {
            assert!(takes(key, &Value::Boolean(true)) && takes(key, &Value::Boolean(false)), "{key}");
            check(key, &[], &["yes", "on", "true", ""]);
            assert!(!takes(key, &Value::Integer(1)), "{key}");
        }
    }

    #[test]
    fn numbers_keep_within_their_limits() {
        for (key, last) in [
            ("limits.max_series", 1000),
            ("limits.max_access_points", 500),
            ("limits.max_mount_points", 500),
            ("spool.max_mib", 10240),
            ("spool.max_age_hours", 336),
        ] {
            for number in [1, last] {
                assert!(takes(key, &Value::Integer(number)), "{key} refuses {number}");
            }
            for number in [i64::MIN, -1, 0, last + 1, i64::MAX] {
                assert!(!takes(key, &Value::Integer(number)), "{key} takes {number}");
            }
        }
    }

    #[test]
    fn a_region_is_not_an_availability_zone() {
        let allowed = ["eu-west-1", "us-gov-west-1", "ap-southeast-5", "us-isob-east-1", "eusc-de-east-1"];
        let refused =
            ["", "eu-west-1a", "eu-west", "Ireland", "EU-WEST-1", "eu--west-1", "euw1-az2", "eu-west-123"];
        check("publish.region", &allowed, &refused);
        check("mounts.region", &allowed, &refused);
    }

    #[test]
    fn paths_are_absolute() {
        for key in ["state_dir", "runtime_dir", "source.procfs", "source.sysfs", "source.efs_state"] {
            check(key, &["/", "/a/b/", "/a b"], &["", "a", "./a", "~/a", "/a\0b", "/a\nb"]);
        }
    }

    #[test]
    fn a_mount_point_is_spelled_as_the_kernel_spells_it() {
        let refused = ["", "mnt", "/mnt/", "//mnt", "/mnt//a", "/mnt/./a", "/mnt/../a", "/mnt/.."];
        check("mounts.mount_point", &["/", "/mnt", "/mnt/a b", "/mnt/..a"], &refused);
    }

    #[test]
    fn identifiers_are_those_of_efs() {
        let allowed = ["fs-01234567", "fs-0123456789abcdef0"];
        check("mounts.file_system_id", &allowed, &["", "fs-", "fs-0123456", "fs-0123456X", "fsap-01234567"]);
        check("mounts.access_point_id", &["fsap-01234567"], &["", "fs-01234567", "fsap-0123456789ABCDEF0"]);
    }
}
