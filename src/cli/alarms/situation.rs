//! The alarms that should be, those that are, and what the one lacks of the other.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use clap::Args;
use serde_json::Value;

use crate::alarm::Alarm;
use crate::aws::Session;
use crate::aws::alarms::{Alarms, Found};
use crate::cli::UsageError;
use crate::cli::provision::{TargetFlags, mistakes};
use crate::config::{AlarmsConfig, Config};
use crate::model::FileSystemId;
use crate::provision::alarms::{self, Actions, Rendered, Skipped, Thresholds};
use crate::provision::comparable::comparable;
use crate::provision::plan::{Existing, Plan};
use crate::provision::{Mark, Target};

/// With what the names of all alarms of efsmon begin.
pub const PREFIX: &str = "efsmon-";

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

    fn actions(&self, region: &str) -> Result<Actions, UsageError> {
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
    fn wants(&self, name: &str, kind: &str, of: Option<&FileSystemId>) -> bool {
        let systems = self.target.file_systems();
        (systems.is_empty() || of.is_some_and(|of| systems.contains(of)))
            && (self.names.is_empty() || self.names.iter().any(|wanted| is(wanted, name, kind, of)))
    }

    /// What of it is asked for.
    fn of(&self, mut rendering: Rendering) -> Rendering {
        let alarms = &mut rendering.alarms;
        alarms.rendered.retain(|one| self.wants(&one.alarm.alarm_name, &one.kind, one.file_system.as_ref()));
        alarms.skipped.retain(|one| self.wants("", &one.kind, Some(&one.file_system)));
        rendering
    }

    /// Refuses a NAME of nothing: it is misspelled.
    fn check_names(
        &self,
        Rendering { target, alarms }: &Rendering,
        found: &[Found],
    ) -> Result<(), UsageError> {
        let is_there = |wanted: &String| {
            let made = alarms.rendered.iter();
            let mut made =
                made.map(|one| (one.alarm.alarm_name.as_str(), &one.kind, one.file_system.as_ref()));
            let mut skipped = alarms.skipped.iter().map(|one| ("", &one.kind, Some(&one.file_system)));
            made.any(|(name, kind, of)| is(wanted, name, kind, of))
                || skipped.any(|(name, kind, of)| is(wanted, name, kind, of))
                || found.iter().any(|found| names(wanted, &found.name, &target.region))
        };
        let Some(nothing) = self.names.iter().find(|wanted| !is_there(wanted)) else { return Ok(()) };
        let kinds: BTreeSet<&str> = alarms.rendered.iter().map(|one| one.kind.as_str()).collect();
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
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

/// What should be there, of all that the target has.
struct Rendering {
    target: Target,
    alarms: alarms::Alarms,
}

async fn rendering(flags: &Flags, config: &Config, session: &Session) -> anyhow::Result<Rendering> {
    let actions = flags.actions(session.region())?;
    let templates = alarms::templates(&flags.target.templates("alarms")?).map_err(|bad| mistakes(&bad))?;
    let target = flags.target.target(config, session).await?;
    let thresholds = thresholds(&config.alarms);
    let alarms = alarms::render(&target, &thresholds, &actions, &templates).map_err(|bad| mistakes(&bad))?;
    Ok(Rendering { target, alarms })
}

/// When alarms go off, as configured.
pub fn thresholds(config: &AlarmsConfig) -> Thresholds {
    Thresholds {
        credits_low_minutes: config.credits_low_minutes,
        depletion_page_minutes: config.depletion_page_minutes,
        depletion_ticket_minutes: config.depletion_ticket_minutes,
        throughput_percent: config.throughput_percent,
        io_limit_percent: config.io_limit_percent,
        client_latency_ms: config.client_latency_ms,
        runbook: config.runbook.clone(),
    }
}

/// The alarms of what was asked for, without a look at what is there.
///
/// # Errors
///
/// No region or credentials, what EFS refuses, templates that cannot be used, a NAME of nothing.
pub async fn render(flags: &Flags, config: &Config) -> anyhow::Result<alarms::Alarms> {
    let session = flags.target.session(config).await?;
    let rendering = rendering(flags, config, &session).await?;
    flags.check_names(&rendering, &[])?;
    Ok(flags.of(rendering).alarms)
}

/// What should be there and what is there, of what was asked for.
pub struct Situation {
    pub target: Target,
    /// By name.
    pub desired: BTreeMap<String, Rendered>,
    pub skipped: Vec<Skipped>,
    /// By name.
    pub found: BTreeMap<String, Found>,
    pub session: Session,
    pub alarms: Alarms,
}

/// Asks EFS and CloudWatch.
///
/// # Errors
///
/// No region or credentials, what AWS refuses, templates that cannot be used, a NAME of nothing.
pub async fn look(flags: &Flags, config: &Config) -> anyhow::Result<Situation> {
    let session = flags.target.session(config).await?;
    let rendering = rendering(flags, config, &session).await?;
    let alarms = Alarms::of(&session);
    let found = alarms.beginning_with(PREFIX).await?;
    flags.check_names(&rendering, &found)?;
    let Rendering { target, alarms: rendered } = flags.of(rendering);
    let region = target.region.clone();
    let named = |one: Rendered| (one.alarm.alarm_name.clone(), one);
    let mut desired: BTreeMap<String, Rendered> = rendered.rendered.into_iter().map(named).collect();
    let wants = |found: &Found| {
        let name = &found.name;
        desired.contains_key(name) || flags.wants(name, kind(name, &region), file_system(name).as_ref())
    };
    let found: BTreeMap<String, Found> =
        found.into_iter().filter(wants).map(|found| (found.name.clone(), found)).collect();
    if !flags.tells_actions() {
        let both = desired.values_mut().filter_map(|one| Some((found.get(&one.alarm.alarm_name)?, one)));
        both.for_each(|(found, one)| keep_actions(&mut one.alarm, &found.body));
    }
    Ok(Situation { target, desired, skipped: rendered.skipped, found, session, alarms })
}

/// An alarm that has no actions of its own keeps those that it has in CloudWatch.
fn keep_actions(alarm: &mut Alarm, found: &Value) {
    let pairs = [("AlarmActions", &mut alarm.alarm_actions), ("OKActions", &mut alarm.ok_actions)];
    for (name, actions) in pairs {
        if actions.is_empty() {
            let kept = found.get(name).and_then(Value::as_array).into_iter().flatten();
            *actions = kept.filter_map(Value::as_str).map(str::to_owned).collect();
        }
    }
}

impl Situation {
    /// What is to be done.
    ///
    /// # Errors
    ///
    /// None that an alarm could cause.
    pub fn plan(&self, adopt: bool) -> anyhow::Result<Plan> {
        let desired = self.desired.iter().map(|(name, one)| {
            Ok((name.clone(), comparable(serde_json::to_value(&one.alarm).context("writing an alarm")?)))
        });
        let desired = desired.collect::<anyhow::Result<BTreeMap<String, Value>>>()?;
        let existing = self
            .found
            .iter()
            .map(|(name, found)| (name.clone(), Existing { body: found.body.clone(), mark: mark(found) }));
        Ok(Plan::new(desired, &existing.collect(), &self.target.mark(), adopt))
    }

    /// Why one of ours that is there should not be.
    pub fn why_left(&self, name: &str) -> String {
        let (kind, of) = (kind(name, &self.target.region), file_system(name));
        let Some(of) = of else { return "efsmon has no such kind of alarm".to_owned() };
        if !self.target.file_systems.iter().any(|there| there.id == of) {
            return format!("{of} is gone");
        }
        let skipped = self.skipped.iter().find(|skipped| skipped.kind == kind && skipped.file_system == of);
        skipped.map_or("efsmon has no such kind of alarm".to_owned(), |skipped| skipped.reason.clone())
    }
}

/// Whose it is.
pub fn mark(found: &Found) -> Option<Mark> {
    Mark::find(found.body.get("AlarmDescription")?.as_str()?)
}
