//! What alarms cost, and how long it takes to write them.

use std::time::Duration;

use super::asked::is_query;
use crate::alarm::Alarm;
use crate::cost::prices::{ALARM_METRIC, Usd};

/// From the answer to one attempt at a PutMetricAlarm to the next attempt. CloudWatch takes three a second from an account
/// in a Region (CloudWatch User Guide, "CloudWatch service quotas"), whoever makes them; three of these pauses are longer,
/// however late each request arrives.
pub const PAUSE: Duration = Duration::from_millis(350);
/// A pause, and what a request takes as a rule.
const EACH: Duration = Duration::from_millis(400);

/// What a month of these alarms costs at list prices: each metric in each of them. A Metrics Insights query is billed
/// for each metric that it analyses, which is estimated: one for each of the Region's file systems. The first
/// [`crate::cost::prices::FREE_ALARMS`] of an account are free, and are not deducted.
pub fn monthly_usd<'a>(alarms: impl IntoIterator<Item = &'a Alarm>, file_systems: usize) -> Usd {
    let metrics: u64 = alarms.into_iter().map(|alarm| billed(alarm, file_systems as u64)).sum();
    ALARM_METRIC.times_whole(metrics)
}

/// How long it takes to write so many alarms, about.
pub fn time(alarms: usize) -> Duration {
    EACH.saturating_mul(u32::try_from(alarms).unwrap_or(u32::MAX))
}

/// The metrics for which an alarm is billed.
fn billed(alarm: &Alarm, file_systems: u64) -> u64 {
    let single = u64::from(alarm.metric_name.is_some());
    let within = alarm.metrics.iter().map(|query| match &query.expression {
        Some(expression) if is_query(expression) => file_systems,
        Some(_) => 0,
        None => 1,
    });
    single + within.sum::<u64>()
}
