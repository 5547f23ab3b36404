//! Whether what an alarm asks for exists: a metric that nobody publishes never sets off an alarm, and CloudWatch does
//! not say so.

use super::Problem;
use super::limits::asked;
use crate::alarm::Alarm;
use crate::catalog::vended::{self, VENDED, vended};
use crate::catalog::{CRON_SCRIPT_NAMESPACE, Formula, METRICS, foreign_namespace};
use crate::metricmath::{MetricStat, NotModelled, Purpose, Samples, Window, evaluate};
use crate::provision::Target;

/// CloudWatch takes many more; these are what the documentation of EFS speaks of.
const STATISTICS: &[&str] = &["Sum", "Average", "Minimum", "Maximum", "SampleCount"];
/// A metric of which there is a value a sample, weighted by time or requests: its sum says nothing.
const NO_SUM: &[&str] = &["Average", "Minimum", "Maximum", "SampleCount"];

/// Every metric that does not exist so, and what metric math cannot say in an alarm.
pub fn problems(alarm: &Alarm, target: &Target) -> Vec<Problem> {
    let metrics = asked(alarm).into_iter();
    let mut problems: Vec<Problem> =
        metrics.filter_map(|(place, stat)| Some(Problem::new(place, metric(&stat, target)?))).collect();
    let window = Window { from: 0, to: 3600, period: 60 };
    let evaluated = evaluate(&alarm.metrics, &Samples::default(), window, Purpose::Alarm);
    if let Err(NotModelled { query, reason }) = evaluated {
        problems.push(Problem::new(format!("Metrics {query}"), reason));
    }
    problems
}

/// What is wrong with a metric, if anything.
fn metric(asked: &MetricStat, target: &Target) -> Option<String> {
    let (namespace, name) = (asked.metric.namespace.as_str(), asked.metric.metric_name.as_str());
    let dimensions: Vec<&str> = asked.metric.dimensions.iter().map(|found| found.name.as_str()).collect();
    if namespace == vended::NAMESPACE {
        let Some(found) = vended(name) else {
            let names = VENDED.iter().map(|metric| metric.name).collect::<Vec<_>>().join(", ");
            return Some(format!("{namespace} has no metric {name}; it has {names}"));
        };
        return dimension_sets(name, &dimensions, &[found.dimensions])
            .or_else(|| statistic(name, &asked.stat, found.statistics))
            .or_else(|| period(name, asked.period, found.period));
    }
    if namespace != target.namespace && namespace != CRON_SCRIPT_NAMESPACE {
        let own = &target.namespace;
        return Some(format!(
            "found the namespace {namespace}; allowed: {own} (${{Namespace}}), {}, {CRON_SCRIPT_NAMESPACE}",
            vended::NAMESPACE
        ));
    }
    let is_in = |metric: &str| foreign_namespace(metric).unwrap_or(&target.namespace) == namespace;
    let Some(found) = METRICS.iter().find(|metric| metric.name == name && is_in(metric.name)) else {
        return Some(format!("efsmon publishes no metric {name} in {namespace}: the README lists them"));
    };
    let published: Vec<_> = found.published(target.profile).map(|scope| scope.dimensions()).collect();
    let statistics = match found.formula {
        Formula::MibPerSecond(_)
        | Formula::Mean(_)
        | Formula::Stalled
        | Formula::ProxyCpu
        | Formula::ProxyMemory => NO_SUM,
        _ => STATISTICS,
    };
    dimension_sets(name, &dimensions, &published)
        .map(|reason| format!("{reason}, by profile {}", target.profile.name()))
        .or_else(|| statistic(name, &asked.stat, statistics))
        .or_else(|| period(name, asked.period, 60))
}

fn dimension_sets(metric: &str, found: &[&str], published: &[&[&str]]) -> Option<String> {
    if published
        .iter()
        .any(|names| names.len() == found.len() && names.iter().all(|name| found.contains(name)))
    {
        return None;
    }
    let list = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let allowed = match published {
        [] => "not published at all".to_owned(),
        sets => sets.iter().map(|names| list(names)).collect::<Vec<_>>().join("; or "),
    };
    Some(format!("found {metric} with the dimensions {}; allowed: {allowed}", list(found)))
}

fn statistic(metric: &str, found: &str, allowed: &[&str]) -> Option<String> {
    let reason = || format!("found the statistic {found} of {metric}; allowed: {}", allowed.join(", "));
    (!allowed.contains(&found)).then(reason)
}

fn period(metric: &str, found: u32, least: u32) -> Option<String> {
    let reason = || {
        format!("found {metric} by {found} seconds; allowed: from {least} on, as often as it is published")
    };
    (found < least).then(reason)
}
