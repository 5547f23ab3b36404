//! `efsmon alarms verify`.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use serde_json::{Value, json};

use super::checks::{self, Topic};
use super::flags::{self, Flags};
use super::report::are;
use super::situation::{self, Situation};
use super::{fire, report};
use crate::aws::call::CallError;
use crate::aws::topics;
use crate::cli::Differences;
use crate::cli::provision::{wait, write_json};
use crate::clock::{Clock, SystemClock};
use crate::model::FileSystemId;
use crate::names::printable;

/// Check that the alarms are there and would be heard; exit status 3 when one would not
///
/// Each is there, as it should be, switched on, and has actions whose topics are there; none has been without data for
/// more than an hour; no file system is without its alarms, and no alarm is of a file system that is gone.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    flags: Flags,
    /// Set this alarm off, to see the page arrive: to ALARM, and after --hold back to OK
    #[arg(long, value_name = "ALARM", conflicts_with_all = ["names", "all", "file_systems", "page", "ticket", "both", "ok"])]
    fire: Option<String>,
    /// Seconds for which a fired alarm is left in ALARM
    #[arg(long, value_name = "SECONDS", requires = "fire", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=60))]
    hold: u64,
    /// Do not ask before an alarm is fired
    #[arg(long, requires = "fire")]
    yes: bool,
    /// A line for each alarm that is as it should be, too
    #[arg(long)]
    all: bool,
    /// Write JSON
    #[arg(long, conflicts_with = "fire")]
    json: bool,
}

/// What there is to say of one alarm or file system.
struct Line {
    subject: String,
    file_system: Option<String>,
    /// Nothing: it is as it should be.
    wrong: Vec<String>,
}

/// Writes a line for everything that is wrong.
///
/// # Errors
///
/// [`Differences`]; a bad configuration, no credentials, what AWS refuses.
pub fn run(args: &VerifyArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.flags.target.config()?;
    if let Some(name) = &args.fire {
        return wait(fire::fire(&args.flags.target, &config, name, args.hold, args.yes, out));
    }
    let (situation, topics) = wait(async {
        let situation = situation::look(&args.flags, &config).await?;
        let topics = check_topics(&situation).await;
        Ok((situation, topics))
    })?;
    let now = i64::try_from(SystemClock.now().wall.as_secs()).unwrap_or(i64::MAX);
    let lines = lines(&situation, &topics, now)?;
    match args.json {
        true => write_json(&document(&lines, &topics), out)?,
        false => write(&lines, &topics, args.all, out)?,
    }
    out.flush()?;
    match lines.iter().filter(|line| !line.wrong.is_empty()).count() {
        0 => Ok(()),
        wrong => Err(Differences(format!("{wrong} of {} checked things are wrong", lines.len())).into()),
    }
}

/// Asks SNS for each topic once.
async fn check_topics(situation: &Situation) -> BTreeMap<String, Topic> {
    let ours = situation.desired.keys().filter_map(|name| situation.found.get(name));
    let mut checked = BTreeMap::new();
    // Who gets no answer for one topic gets none for the next, and would wait for it.
    let mut unanswered: Option<String> = None;
    for arn in checks::topics(ours) {
        let state = match &unanswered {
            Some(reason) => Topic::NotChecked(reason.clone()),
            None => match topics::topic(&situation.session, arn).await {
                Ok(Some(topic)) if topic.subscriptions == Some(0) => {
                    Topic::Deaf("nobody has confirmed a subscription to it".to_owned())
                }
                Ok(Some(_)) => Topic::There,
                Ok(None) => Topic::Deaf("there is no such topic".to_owned()),
                Err(error @ CallError::Invalid { .. }) => Topic::Deaf(error.to_string()),
                Err(error) => {
                    let reason = error.to_string();
                    unanswered = matches!(error, CallError::Other { .. }).then(|| reason.clone());
                    Topic::NotChecked(reason)
                }
            },
        };
        checked.insert(arn.to_owned(), state);
    }
    checked
}

fn lines(situation: &Situation, topics: &BTreeMap<String, Topic>, now: i64) -> anyhow::Result<Vec<Line>> {
    let plan = situation.plan(false)?;
    let topics = topics.iter().map(|(arn, topic)| (arn.as_str(), topic.clone())).collect();
    let of = |name: &str| situation.desired.get(name)?.file_system.as_ref().map(FileSystemId::as_str);
    let bare = checks::bare(&plan, of);
    let mut lines: Vec<Line> = bare
        .iter()
        .map(|(system, number)| Line {
            subject: (*system).to_owned(),
            file_system: Some((*system).to_owned()),
            wrong: vec![format!("has none of its {}: efsmon alarms apply", report::alarms(*number))],
        })
        .collect();
    let steps =
        plan.steps.iter().filter(|step| of(&step.name).is_none_or(|system| !bare.contains_key(system)));
    lines.extend(steps.map(|step| Line {
        subject: step.name.clone(),
        file_system: of(&step.name).map(str::to_owned),
        wrong: checks::wrong(step, situation, &topics, now),
    }));
    lines.extend(plan.leftover.iter().map(|name| Line {
        subject: name.clone(),
        file_system: flags::file_system(name).map(|id| id.to_string()),
        wrong: vec![format!(
            "should not be: {}; efsmon alarms apply --prune deletes it",
            situation.why_left(name)
        )],
    }));
    Ok(lines)
}

fn write(
    lines: &[Line],
    topics: &BTreeMap<String, Topic>,
    all: bool,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for line in lines {
        let subject = printable(line.subject.as_bytes());
        for wrong in &line.wrong {
            writeln!(out, "wrong  {subject} {wrong}")?;
        }
        if all && line.wrong.is_empty() {
            writeln!(out, "ok     {subject}")?;
        }
    }
    let unchecked: BTreeMap<&str, Vec<&str>> =
        topics.iter().fold(BTreeMap::new(), |mut unchecked, (arn, topic)| {
            if let Topic::NotChecked(reason) = topic {
                unchecked.entry(reason.as_str()).or_insert_with(Vec::new).push(arn);
            }
            unchecked
        });
    for (reason, arns) in unchecked {
        writeln!(out, "not checked: whether {} is there: {reason}", arns.join(", "))?;
    }
    let right = lines.iter().filter(|line| line.wrong.is_empty()).count();
    let there = topics.values().filter(|topic| **topic == Topic::There).count();
    let topic = if there == 1 { "topic" } else { "topics" };
    writeln!(out, "{} as they should be; {there} {topic} seen", are(right))
}

fn document(lines: &[Line], topics: &BTreeMap<String, Topic>) -> Value {
    let checked: Vec<Value> = lines
        .iter()
        .map(|line| json!({ "name": line.subject, "file_system": line.file_system, "wrong": line.wrong }))
        .collect();
    let topics: Vec<Value> = topics
        .iter()
        .map(|(arn, topic)| match topic {
            Topic::There => json!({ "arn": arn, "state": "there", "reason": null }),
            Topic::Deaf(reason) => json!({ "arn": arn, "state": "deaf", "reason": reason }),
            Topic::NotChecked(reason) => json!({ "arn": arn, "state": "not checked", "reason": reason }),
        })
        .collect();
    json!({ "checked": checked, "topics": topics })
}
