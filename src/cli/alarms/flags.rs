//! Which alarms are meant, of what, and who is told.

use clap::Args;

use super::situation::Rendering;
use crate::aws::alarms::Found;
use crate::cli::UsageError;
use crate::cli::provision::TargetFlags;
use crate::model::FileSystemId;
use crate::provision::alarms::{Actions, PREFIX};

/// Actions of each kind that an alarm has at most (PutMetricAlarm).
const ACTIONS: usize = 5;

/// Which alarms, of what, and who is told.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(flatten)]
    pub target: TargetFlags,
    /// Tell this SNS topic of the alarms for which somebody is woken up; up to five times
    #[arg(long = "page-sns", value_name = "ARN", value_parser = topic)]
    page: Vec<String>,
    /// Tell this SNS topic of the alarms that wait for the morning; up to five times
    #[arg(long = "ticket-sns", value_name = "ARN", value_parser = topic)]
    ticket: Vec<String>,
    /// Both --page-sns and --ticket-sns. With none of the four, alarms that are there keep their actions
    #[arg(long = "sns", value_name = "ARN", value_parser = topic)]
    both: Vec<String>,
    /// Tell this SNS topic when an alarm is over; up to five times
    #[arg(long = "ok-sns", value_name = "ARN", value_parser = topic)]
    ok: Vec<String>,
    /// Only these: a kind (credits-low), a file system, or an alarm's whole name
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// An SNS topic's ARN (Service Authorization Reference, Amazon SNS).
fn topic(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let word = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    let name = |text: &str| text.len() <= 256 && word(text.strip_suffix(".fifo").unwrap_or(text));
    let fits = match parts.as_slice() {
        ["arn", partition, "sns", region, account, topic] => {
            partition.starts_with("aws")
                && word(partition)
                && word(region)
                && account.len() == 12
                && account.bytes().all(|b| b.is_ascii_digit())
                && name(topic)
        }
        _ => false,
    };
    let allowed = "an SNS topic, such as arn:aws:sns:eu-west-1:123456789012:pages";
    if fits { Ok(text.to_owned()) } else { Err(format!("allowed: {allowed}")) }
}

impl Flags {
    /// The NAMEs.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether it is said who is told.
    pub fn tells_actions(&self) -> bool {
        [&self.page, &self.ticket, &self.both, &self.ok].into_iter().any(|arns| !arns.is_empty())
    }

    /// The actions that are asked for.
    ///
    /// # Errors
    ///
    /// Topics of another Region; more than five.
    pub fn actions(&self, region: &str) -> Result<Actions, UsageError> {
        let list = |flag: &str, one: &[String], more: &[String]| {
            let mut arns: Vec<String> = Vec::new();
            for arn in one.iter().chain(more) {
                if arn.split(':').nth(3) != Some(region) {
                    return Err(UsageError(format!(
                        "{flag}: found {arn}; allowed: topics in {region}, where the alarms are"
                    )));
                }
                if !arns.contains(arn) {
                    arns.push(arn.clone());
                }
            }
            match arns.len() <= ACTIONS {
                true => Ok(arns),
                false => Err(UsageError(format!(
                    "{flag}: found {} topics; allowed: {ACTIONS} at most",
                    arns.len()
                ))),
            }
        };
        Ok(Actions {
            page: list("--page-sns and --sns", &self.both, &self.page)?,
            ticket: list("--ticket-sns and --sns", &self.both, &self.ticket)?,
            ok: list("--ok-sns", &self.ok, &[])?,
        })
    }

    /// Whether such an alarm is one of those asked for. With --file-system, those of all file systems together are not.
    pub fn wants(&self, name: &str, kind: &str, of: Option<&FileSystemId>) -> bool {
        let systems = self.target.file_systems();
        (systems.is_empty() || of.is_some_and(|of| systems.contains(of)))
            && (self.names.is_empty() || self.names.iter().any(|wanted| is(wanted, name, kind, of)))
    }

    /// What of it is asked for.
    pub fn of(&self, mut rendering: Rendering) -> Rendering {
        let alarms = &mut rendering.alarms;
        alarms.rendered.retain(|one| self.wants(&one.alarm.alarm_name, &one.kind, one.file_system.as_ref()));
        alarms.skipped.retain(|one| self.wants("", &one.kind, Some(&one.file_system)));
        rendering
    }

    /// Refuses a NAME of nothing: it is misspelled.
    pub fn check_names(&self, rendering: &Rendering, found: &[Found]) -> Result<(), UsageError> {
        let Rendering { target, alarms, kinds } = rendering;
        let is_there = |wanted: &String| {
            kinds.contains(wanted)
                || target.file_systems.iter().any(|system| system.id.as_str() == wanted)
                || alarms.rendered.iter().any(|one| one.alarm.alarm_name == *wanted)
                || found.iter().any(|found| names(wanted, &found.name, &target.region))
        };
        let Some(nothing) = self.names.iter().find(|wanted| !is_there(wanted)) else { return Ok(()) };
        let kinds = kinds.join(", ");
        Err(UsageError(format!(
            "no alarm is {nothing:?}; allowed: a file system, an alarm's whole name, or a kind: {kinds}"
        )))
    }
}

/// Whether an alarm is what NAME says.
fn is(wanted: &str, name: &str, kind: &str, of: Option<&FileSystemId>) -> bool {
    wanted == name || wanted == kind || of.is_some_and(|of| of.as_str() == wanted)
}

/// Whether an alarm that is there is what NAME says.
pub fn names(wanted: &str, name: &str, region: &str) -> bool {
    is(wanted, name, kind(name, region), file_system(name).as_ref())
}

/// The file system of an alarm of that name. None: it is of all, or not one of efsmon's.
pub fn file_system(name: &str) -> Option<FileSystemId> {
    let parts: Vec<&str> = name.split('-').collect();
    parts.windows(2).find_map(|pair| match pair {
        ["fs", id] => format!("fs-{id}").parse().ok(),
        _ => None,
    })
}

/// The kind of an alarm of that name: what stands behind the file system, or the Region.
pub fn kind<'a>(name: &'a str, region: &str) -> &'a str {
    let rest = name.strip_prefix(PREFIX).unwrap_or(name);
    let of = file_system(name);
    let whose = of.as_ref().map_or(region, FileSystemId::as_str);
    rest.strip_prefix(whose).and_then(|rest| rest.strip_prefix('-')).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarms_name_tells_its_kind_and_file_system() {
        let of =
            |name: &str| (kind(name, "eu-west-1").to_owned(), file_system(name).map(|id| id.to_string()));
        let id = "fs-0123456789abcdef0";
        assert_eq!(of(&format!("efsmon-{id}-credits-low")), ("credits-low".to_owned(), Some(id.to_owned())));
        assert_eq!(of("efsmon-eu-west-1-credits-any"), ("credits-any".to_owned(), None));
        assert_eq!(of("efsmon-fs-x-credits-low"), ("fs-x-credits-low".to_owned(), None));
        assert!(names(id, &format!("efsmon-{id}-credits-low"), "eu-west-1"));
        assert!(!names("credits", &format!("efsmon-{id}-credits-low"), "eu-west-1"));
    }

    #[test]
    fn a_topic_is_one_of_any_partition() {
        for good in
            ["arn:aws:sns:eu-west-1:123456789012:a_B-1", "arn:aws-cn:sns:cn-north-1:123456789012:a.fifo"]
        {
            assert_eq!(topic(good), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "arn:aws:sns:eu-west-1:123456789012:",
            "arn:aws:sns:eu-west-1:123456789012:a:b",
            "arn:aws:sns::123456789012:a",
            "arn:aws:sns:eu-west-1:12345678901x:a",
            "arn:other:sns:eu-west-1:123456789012:a",
            "arn:aws:lambda:eu-west-1:123456789012:a",
        ] {
            assert!(topic(bad).is_err(), "{bad}");
        }
    }
}
