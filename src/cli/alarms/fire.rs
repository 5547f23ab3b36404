//! `efsmon alarms verify --fire`: an alarm is set off on purpose.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail};

use super::write::stopped;
use crate::aws::alarms::{Alarms, Found, State};
use crate::cli::UsageError;
use crate::cli::provision::{TargetFlags, confirm};
use crate::config::Config;
use crate::names::printable;
use crate::provision::Mark;
use crate::provision::alarms::{PAUSE, PREFIX};
use crate::provision::plan::whose;

/// Sets the alarm to ALARM, and `hold` seconds later to OK, after a confirmation.
///
/// # Errors
///
/// It is not there, not ours, in ALARM already, or tells nobody; another answer; what CloudWatch refuses.
pub async fn fire(
    target: &TargetFlags,
    config: &Config,
    name: &str,
    hold: u64,
    yes: bool,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    if !name.starts_with(PREFIX) {
        return Err(UsageError(format!(
            "--fire: found {name:?}; allowed: the whole name of an alarm of efsmon's, which begins with {PREFIX}"
        ))
        .into());
    }
    let session = target.session(config).await?;
    let alarms = Alarms::of(&session);
    let ours = Mark { owner: target.owner().clone(), region: session.region().to_owned() };
    let Some(found) = alarms.named(name).await? else { bail!("there is no alarm {name} in {}", ours.region) };
    check(&found, &ours)?;
    writeln!(out, "{name} is in {}. Set to ALARM, it tells", found.state)?;
    write_actions(&found, "AlarmActions", out)?;
    writeln!(out, "within a minute. Set back to OK, {hold} s later, it tells")?;
    write_actions(&found, "OKActions", out)?;
    out.flush()?;
    confirm("The page is real: whoever is on call gets it.", name, yes)?;
    let who = std::env::var("USER").unwrap_or_else(|_| "somebody".to_owned());
    let reason = format!("efsmon alarms verify --fire, by {who}: a test, nothing is wrong");
    let mut stop = std::pin::pin!(stopped()?);
    alarms.set_state(name, State::Alarm, &reason).await?;
    tokio::select! {
        () = &mut stop => {}
        () = tokio::time::sleep(Duration::from_secs(hold).max(PAUSE)) => {}
    }
    let back = alarms.set_state(name, State::Ok, &reason).await;
    back.with_context(|| {
        format!("{name} is left in ALARM; CloudWatch sets it right when it evaluates it, within minutes")
    })?;
    writeln!(out, "set to ALARM and back to OK; CloudWatch's next evaluation gives it its true state")?;
    writeln!(out, "if nothing arrives: is a subscription of the topic confirmed?")?;
    out.flush()?;
    Ok(())
}

fn check(found: &Found, ours: &Mark) -> anyhow::Result<()> {
    let name = &found.name;
    match found.mark() {
        mark if mark.as_ref() == Some(ours) => {}
        Some(mark) => bail!("{name} {}: give its --owner", whose(Some(&mark))),
        None => bail!("{name} {}: it is not fired", whose(None)),
    }
    if !found.actions_enabled() {
        bail!("{name} has its actions switched off: nothing would arrive");
    }
    if found.actions("AlarmActions").next().is_none() {
        bail!("{name} has no actions: nothing would arrive; efsmon alarms apply --sns ARN gives it some");
    }
    if found.state == "ALARM" {
        bail!(
            "{name} is in ALARM already: only a change tells anybody ({})",
            printable(found.reason.as_bytes())
        );
    }
    Ok(())
}

fn write_actions(found: &Found, kind: &str, out: &mut impl Write) -> std::io::Result<()> {
    let mut arns = found.actions(kind).peekable();
    if arns.peek().is_none() {
        return writeln!(out, "  nobody");
    }
    arns.try_for_each(|arn| writeln!(out, "  {}", printable(arn.as_bytes())))
}
