//! The alarms that should be, those that are, and what the one lacks of the other.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::Value;

use super::flags::{Flags, file_system, kind};
use crate::alarm::Alarm;
use crate::aws::Session;
use crate::aws::alarms::{Alarms, Found};
use crate::cli::provision::mistakes;
use crate::config::Config;
use crate::provision::Target;
use crate::provision::alarms::{self, PREFIX, Rendered, Skipped};
use crate::provision::comparable::comparable;
use crate::provision::plan::{Existing, Plan};

/// What should be there, of all that the target has.
pub struct Rendering {
    pub target: Target,
    pub alarms: alarms::Alarms,
    /// All kinds that there are, whether a file system has them or not.
    pub kinds: Vec<String>,
}

async fn rendering(flags: &Flags, config: &Config, session: &Session) -> anyhow::Result<Rendering> {
    let actions = flags.actions(session.region())?;
    let templates = alarms::templates(&flags.target.templates("alarms")?).map_err(|bad| mistakes(&bad))?;
    let target = flags.target.target(config, session).await?;
    let alarms = alarms::render(&target, &actions, &templates).map_err(|bad| mistakes(&bad))?;
    Ok(Rendering { target, alarms, kinds: templates.into_keys().collect() })
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
    let Rendering { target, alarms: rendered, .. } = flags.of(rendering);
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
            .map(|(name, found)| (name.clone(), Existing { body: found.body.clone(), mark: found.mark() }));
        Ok(Plan::new(desired, &existing.collect(), &self.target.mark(), adopt))
    }

    /// Whether there must be data for the alarm of that name. A query that finds no file system leaves its alarm in
    /// INSUFFICIENT_DATA, whatever its TreatMissingData (CloudWatch User Guide, "Missing Data in CloudWatch Metrics
    /// Insights alarms").
    pub fn expects_data(&self, name: &str) -> bool {
        let Some(one) = self.desired.get(name) else { return true };
        one.file_system.is_some()
            || self.target.file_systems.iter().any(|system| alarms::concerns(&one.alarm, system))
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
