//! What CloudWatch takes (CloudWatch API Reference, PutMetricAlarm and MetricDataQuery), looked at before it is asked.

use super::Problem;
use super::asked::{is_query, place};
use crate::alarm::Alarm;
use crate::metricmath::Query;

/// An alarm without a sentence is one that nobody understands at night.
const DESCRIPTION: std::ops::RangeInclusive<usize> = 30..=1024;
const NAME: usize = 255;
const ACTIONS: usize = 5;
const ARN: usize = 1024;
const METRICS: usize = 10;
const EXPRESSIONS: usize = 10;
const EXPRESSION: usize = 2048;
/// Seconds that all periods together may take, of periods of an hour or more, and of shorter ones.
const LONG_WINDOW: u64 = 604_800;
const WINDOW: u64 = 86_400;
/// Seconds for which a Metrics Insights query is evaluated (CloudWatch User Guide, "Limits" of alarms).
const QUERY_WINDOW: u64 = 10_800;

/// Everything that is wrong.
pub fn problems(alarm: &Alarm) -> Vec<Problem> {
    let mut problems = texts(alarm);
    problems.extend(actions(alarm));
    problems.extend(form(alarm));
    problems.extend(queries(&alarm.metrics));
    problems.extend(time(alarm));
    problems
}

fn texts(alarm: &Alarm) -> Vec<Problem> {
    let mut problems = Vec::new();
    let (name, description) = (&alarm.alarm_name, &alarm.alarm_description);
    if !(1..=NAME).contains(&name.chars().count()) || name.chars().any(char::is_control) {
        let reason =
            format!("found {} characters; allowed: 1 to {NAME}, none of control", name.chars().count());
        problems.push(Problem::new("AlarmName", reason));
    }
    if !DESCRIPTION.contains(&description.chars().count()) {
        let (least, most) = (DESCRIPTION.start(), DESCRIPTION.end());
        let reason = format!("found {} characters; allowed: {least} to {most}", description.chars().count());
        problems.push(Problem::new("AlarmDescription", reason));
    }
    problems
}

fn actions(alarm: &Alarm) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (place, arns) in [
        ("OKActions", &alarm.ok_actions),
        ("AlarmActions", &alarm.alarm_actions),
        ("InsufficientDataActions", &alarm.insufficient_data_actions),
    ] {
        if arns.len() > ACTIONS {
            problems.push(Problem::new(place, format!("found {}; allowed: at most {ACTIONS}", arns.len())));
        }
        let is_arn =
            |arn: &String| arn.len() <= ARN && arn.starts_with("arn:") && arn.split(':').count() >= 6;
        for arn in arns.iter().filter(|arn| !is_arn(arn)) {
            let reason = format!("found {arn:?}; allowed: an ARN such as arn:aws:sns:REGION:ACCOUNT:TOPIC");
            problems.push(Problem::new(place, reason));
        }
    }
    problems
}

/// Either one metric, or queries.
fn form(alarm: &Alarm) -> Vec<Problem> {
    let members = [
        ("Namespace", alarm.namespace.is_some()),
        ("MetricName", alarm.metric_name.is_some()),
        ("Statistic", alarm.statistic.is_some()),
        ("Period", alarm.period.is_some()),
        ("Dimensions", !alarm.dimensions.is_empty()),
    ];
    let is_there = |wanted: bool| members.iter().filter(move |(_, is_there)| *is_there == wanted);
    let names = |wanted: bool| is_there(wanted).map(|(name, _)| *name).collect::<Vec<_>>();
    if !alarm.metrics.is_empty() {
        let extra = names(true);
        let reason = format!("found beside Metrics: {}; allowed: one or the other", extra.join(", "));
        return if extra.is_empty() { Vec::new() } else { vec![Problem::new("", reason)] };
    }
    let missing: Vec<_> = names(false).into_iter().filter(|name| *name != "Dimensions").collect();
    let reason = format!("neither Metrics nor {}", missing.join(", "));
    if missing.is_empty() { Vec::new() } else { vec![Problem::new("", reason)] }
}

fn queries(queries: &[Query]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if queries.is_empty() {
        return problems;
    }
    let expressions = queries.iter().filter(|query| query.expression.is_some()).count();
    let metrics = queries.iter().filter(|query| query.metric_stat.is_some()).count();
    for (found, allowed, what) in [(metrics, METRICS, "metrics"), (expressions, EXPRESSIONS, "expressions")] {
        if found > allowed {
            problems
                .push(Problem::new("Metrics", format!("found {found} {what}; allowed: at most {allowed}")));
        }
    }
    let returned: Vec<_> = queries.iter().filter(|query| query.return_data == Some(true)).collect();
    if returned.len() != 1 {
        let reason =
            format!("found ReturnData true {} times; allowed: once, and false elsewhere", returned.len());
        problems.push(Problem::new("Metrics", reason));
    }
    for (index, query) in queries.iter().enumerate() {
        problems.extend(query_problems(query).into_iter().map(|reason| Problem::new(place(query), reason)));
        if queries.iter().take(index).any(|earlier| earlier.id == query.id) {
            problems.push(Problem::new(place(query), "the Id is used twice"));
        }
    }
    problems
}

fn query_problems(query: &Query) -> Vec<String> {
    let mut problems = Vec::new();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let id = &query.id;
    if !id.starts_with(|first: char| first.is_ascii_lowercase()) || !id.bytes().all(plain) || id.len() > 255 {
        problems.push(format!(
            "found the Id {id:?}; allowed: a lower-case letter, then up to 254 letters, digits and _"
        ));
    }
    if query.return_data.is_none() {
        problems
            .push("found no ReturnData, which CloudWatch takes for true; allowed: true or false".to_owned());
    }
    match (&query.metric_stat, &query.expression) {
        (Some(_), None) => {
            if query.period.is_some() {
                problems.push("found Period beside MetricStat; allowed: within it".to_owned());
            }
        }
        (None, Some(text)) => {
            let found = text.chars().count();
            if !(1..=EXPRESSION).contains(&found) {
                problems
                    .push(format!("found an Expression of {found} characters; allowed: 1 to {EXPRESSION}"));
            }
            if is_query(text) && query.period.is_none() {
                problems.push("a Metrics Insights query needs a Period".to_owned());
            }
        }
        _ => problems.push("allowed: either MetricStat or Expression".to_owned()),
    }
    problems
}

fn time(alarm: &Alarm) -> Vec<Problem> {
    let mut problems = Vec::new();
    let (n, m) = (alarm.evaluation_periods, alarm.datapoints_to_alarm);
    if m < 1 || m > n {
        let reason = format!("found {m} of {n} EvaluationPeriods; allowed: 1 to {n}");
        problems.push(Problem::new("DatapointsToAlarm", reason));
    }
    let own = alarm.period.into_iter();
    let within = alarm.metrics.iter().filter_map(|query| query.metric_stat.as_ref().map(|stat| stat.period));
    let periods: Vec<u32> =
        own.chain(within).chain(alarm.metrics.iter().filter_map(|query| query.period)).collect();
    for period in &periods {
        if ![10, 20, 30].contains(period) && (*period == 0 || !period.is_multiple_of(60)) {
            let reason = format!("found {period}; allowed: 10, 20, 30 or a multiple of 60 seconds");
            problems.push(Problem::new("Period", reason));
        }
    }
    if periods.iter().any(|period| Some(period) != periods.first()) {
        let reason = format!("found {periods:?}; allowed: the same everywhere");
        problems.push(Problem::new("Period", reason));
    }
    let Some(period) = periods.first().copied().map(u64::from) else { return problems };
    let insights = alarm.metrics.iter().filter_map(|query| query.expression.as_deref()).any(is_query);
    let allowed = match period {
        _ if insights => QUERY_WINDOW,
        3600.. => LONG_WINDOW,
        _ => WINDOW,
    };
    if period * u64::from(n) > allowed {
        let reason = format!("found {n} times {period} seconds; allowed: {allowed} seconds together");
        problems.push(Problem::new("EvaluationPeriods", reason));
    }
    problems
}
