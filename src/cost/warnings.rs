//! Settings that cost more than one may expect, what they cost, and what to do instead.

use super::prices::{HOURS_A_MONTH, Usd, thousands};
use super::{Estimate, Setup, counted};
use crate::catalog::Profile;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// For programs.
    pub code: &'static str,
    /// For people: whole sentences.
    pub text: String,
}

/// Nobody needs to be warned of less than this a month,
const WORTH_A_WARNING: Usd = Usd::cents(1_000);
/// nor of less than this part of the bill.
const PART: u64 = 4;
/// `limits.max_series` is no limit when it is so many times what a host needs,
const NO_LIMIT: u64 = 4;
/// and a mistake could cost so much more a month.
const MISTAKE: Usd = Usd::cents(10_000);
/// The most that the setting `limits.max_series` may be.
const MOST_SERIES: u64 = 1000;
/// The interval that is proposed where requests are much of the bill, in minutes.
const LONGER_INTERVAL: u64 = 5;

/// What is to be said of a profile.
pub fn warnings(profile: Profile, setup: &Setup) -> Vec<Warning> {
    let estimate = Estimate::whole(profile, setup);
    let found = [
        operations(&estimate, setup),
        mount_points(&estimate, setup),
        access_points(&estimate, setup),
        churn(&estimate, setup),
        left_out(&estimate, setup),
        together(&estimate, setup),
        no_limit(&estimate, setup),
        often(&estimate, setup),
    ];
    found.into_iter().flatten().collect()
}

fn is_much(cost: Usd, of: Usd) -> bool {
    cost >= WORTH_A_WARNING && cost >= of.shared_by(PART)
}

/// What a part of the setup costs, where that is much: the whole bill against the one of `without`.
fn part(estimate: &Estimate, without: Setup) -> Option<(u64, Usd)> {
    let without = Estimate::whole(estimate.profile, &without);
    let cost = estimate.metric_cost().saturating_sub(without.metric_cost());
    is_much(cost, estimate.metric_cost()).then(|| (estimate.series() - without.series(), cost))
}

fn operations(estimate: &Estimate, setup: &Setup) -> Option<Warning> {
    let (series, cost) = part(estimate, Setup { operations: 0, ..setup.clone() })?;
    let text = format!(
        "{} of the {} series are the requests of single operations (OperationRequests): {cost} a month. Publish with \
         the profile standard, and with full only where and while you look into something; efsmon stat shows \
         operations without a series.",
        thousands(series),
        thousands(estimate.series()),
    );
    Some(Warning { code: "operations", text })
}

fn mount_points(estimate: &Estimate, setup: &Setup) -> Option<Warning> {
    let (series, cost) = part(estimate, Setup { mount_points: 0, ..setup.clone() })?;
    let text = format!(
        "{} of the {} series are of mount points, each of one host alone: {cost} a month. Set publish.mount_points only \
         on hosts whose mount points you compare, and limits.max_mount_points to how many that are. Access points are \
         shared by all hosts.",
        thousands(series),
        thousands(estimate.series()),
    );
    Some(Warning { code: "mount_points", text })
}

fn access_points(estimate: &Estimate, setup: &Setup) -> Option<Warning> {
    let (series, cost) = part(estimate, Setup { access_points: 0, ..setup.clone() })?;
    let text = format!(
        "{} of the {} series are of access points: {cost} a month. Lower limits.max_access_points: the busiest keep \
         figures of their own, and the others are published together.",
        thousands(series),
        thousands(estimate.series()),
    );
    Some(Warning { code: "access_points", text })
}

fn churn(estimate: &Estimate, setup: &Setup) -> Option<Warning> {
    let without = Estimate::whole(estimate.profile, &Setup { churn: 0, ..setup.clone() });
    let cost = estimate.metric_cost().saturating_sub(without.metric_cost());
    let hours = 24 * setup.hosts / setup.churn.max(1);
    let short = setup.churn > setup.hosts && estimate.own() > 0;
    (short || is_much(cost, estimate.metric_cost())).then(|| Warning {
        code: "churn",
        text: format!(
            "A host lives {} on average, and each new one has {} of its own, billed for whole hours: {cost} a month \
             more, and {} new names a month in CloudWatch's lists. The profile fleet has no series of single hosts.",
            if hours == 0 { "less than an hour".to_owned() } else { counted(hours, "hour") },
            counted(estimate.own(), "series"),
            thousands(new_hosts(setup) * estimate.own()),
        ),
    })
}

/// Hosts that come in a month.
pub(super) fn new_hosts(setup: &Setup) -> u64 {
    setup.churn * HOURS_A_MONTH / 24
}

fn left_out(estimate: &Estimate, setup: &Setup) -> Option<Warning> {
    let limited = Estimate::limited(estimate.profile, setup);
    let (needed, kept) = (estimate.on_a_host(), limited.on_a_host());
    (kept < needed).then(|| Warning {
        code: "left_out",
        text: format!(
            "limits.max_series = {} is less than the {} series that a host has here, so {} of them are left out, \
             and {} a month are billed in place of {}. {}.",
            setup.max_series,
            thousands(needed),
            thousands(needed - kept),
            limited.total(),
            estimate.total(),
            enough(estimate),
        ),
    })
}

/// The limit that leaves nothing out.
fn enough(estimate: &Estimate) -> String {
    match estimate.needed() {
        needed @ ..=MOST_SERIES => format!("To publish all of them, set it to {needed} or more"),
        _ => format!("All of them cannot be published: it may be {MOST_SERIES} at most"),
    }
}

/// As many series as without a limit, but of fewer access points.
fn together(estimate: &Estimate, setup: &Setup) -> Option<Warning> {
    let limited = Estimate::limited(estimate.profile, setup);
    let is_so = limited.on_a_host() == estimate.on_a_host() && limited.needed() < estimate.needed();
    is_so.then(|| Warning {
        code: "together",
        text: format!(
            "limits.max_series = {} has room for the series of some access points only, as room is kept for the others \
             together. {}.",
            setup.max_series,
            enough(estimate),
        ),
    })
}

fn no_limit(estimate: &Estimate, setup: &Setup) -> Option<Warning> {
    let needed = estimate.needed();
    let most = setup.ceiling();
    let far = setup.max_series > needed.saturating_mul(NO_LIMIT);
    (far && most >= estimate.metric_cost() + MISTAKE).then(|| Warning {
        code: "max_series",
        text: format!(
            "limits.max_series = {} is far above the {needed} series that a host needs here: a mistake could cost up \
             to {most} a month. Set it to what is needed.",
            setup.max_series,
        ),
    })
}

fn often(estimate: &Estimate, setup: &Setup) -> Option<Warning> {
    let seldom = Setup { publish_minutes: LONGER_INTERVAL, ..setup.clone() };
    let seldom = Estimate::whole(estimate.profile, &seldom);
    let saved = estimate.request_cost.saturating_sub(seldom.request_cost);
    is_much(saved, estimate.total()).then(|| Warning {
        code: "requests",
        text: format!(
            "The requests cost {}; with publish_interval = \"{}s\" they cost {}. Every minute is still a figure of \
             its own, but arrives, and raises an alarm, up to {LONGER_INTERVAL} minutes later.",
            estimate.request_cost,
            LONGER_INTERVAL * 60,
            seldom.request_cost,
        ),
    })
}
