//! Whether what an alarm asks for exists: a metric that nobody publishes never sets off an alarm, and CloudWatch does
//! not say so.

use super::Problem;
use super::asked::{Asked, asked};
use crate::alarm::Alarm;
use crate::catalog::vended::{self, VENDED, vended};
use crate::catalog::{CRON_SCRIPT_NAMESPACE, Formula, METRICS, foreign_namespace};
use crate::metricmath::{NotModelled, Purpose, Samples, Window, evaluate};
use crate::provision::Target;

/// CloudWatch takes many more; these are what the documentation of EFS speaks of.
const STATISTICS: &[&str] = &["Sum", "Average", "Minimum", "Maximum", "SampleCount"];
/// Seconds from one value of efsmon's own to the next.
const PUBLISHED: u32 = 60;
/// A metric of which there is a value a sample, weighted by time or requests: its sum says nothing.
const NO_SUM: &[&str] = &["Average", "Minimum", "Maximum", "SampleCount"];

/// Every metric that does not exist so.
pub fn metrics(alarm: &Alarm, target: &Target) -> Vec<Problem> {
    let asked = asked(alarm).into_iter();
    asked.filter_map(|asked| Some(Problem::new(asked.place.clone(), metric(&asked, target)?))).collect()
}

/// The first thing that metric math cannot say, or an alarm may not ask for.
pub fn math(alarm: &Alarm) -> Option<Problem> {
    let window = Window { from: 0, to: 3600, period: 60 };
    let evaluated = evaluate(&alarm.metrics, &Samples::default(), window, Purpose::Alarm);
    let NotModelled { query, reason } = evaluated.err()?;
    Some(Problem::new(format!("Metrics {query}"), reason))
}

/// What is wrong with a metric, if anything.
fn metric(asked: &Asked, target: &Target) -> Option<String> {
    let (namespace, name) = (asked.namespace.as_str(), asked.name.as_str());
    if namespace == vended::NAMESPACE {
        let Some(found) = vended(name) else {
            let names = VENDED.iter().map(|metric| metric.name).collect::<Vec<_>>().join(", ");
            return Some(format!("{namespace} has no metric {name}; it has {names}"));
        };
        return dimensions(asked, &[found.dimensions])
            .or_else(|| statistic(asked, found.statistics))
            .or_else(|| period(asked, found.period));
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
    dimensions(asked, &published)
        .map(|reason| format!("{reason}, by profile {}", target.profile.name()))
        .or_else(|| statistic(asked, statistics))
        .or_else(|| period(asked, PUBLISHED))
}

fn dimensions(asked: &Asked, published: &[&[&str]]) -> Option<String> {
    let found = asked.dimensions.as_ref()?;
    let is_found = |names: &&[&str]| {
        names.len() == found.len() && names.iter().all(|name| found.iter().any(|found| found == name))
    };
    if published.iter().any(is_found) {
        return None;
    }
    let list = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let allowed = match published {
        [] => "not published at all".to_owned(),
        sets => sets.iter().map(|names| list(names)).collect::<Vec<_>>().join("; or "),
    };
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    Some(format!("found {} with the dimensions {}; allowed: {allowed}", asked.name, list(&found)))
}

fn statistic(asked: &Asked, allowed: &[&str]) -> Option<String> {
    let found = asked.stat.as_str();
    let reason = || format!("found the statistic {found} of {}; allowed: {}", asked.name, allowed.join(", "));
    (!allowed.contains(&found)).then(reason)
}

fn period(asked: &Asked, published: u32) -> Option<String> {
    let found = asked.period?;
    let reason = || {
        let name = &asked.name;
        format!("found {name} by {found} seconds; allowed: {published} or more, as often as it is published")
    };
    (found < published).then(reason)
}
