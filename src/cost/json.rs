//! The report for programs; keys may be added, none changes or goes.

use serde_json::{Map, Value, json};

use super::prices::{AS_OF, FREE_METRICS, FREE_REQUESTS, HOURS_A_MONTH, PAGE, REGION};
use super::{Estimate, Report, Whose};

/// The report. Amounts are US dollars, counts of series and requests whole numbers, metric-months maybe not.
pub fn of(report: &Report) -> Value {
    let setup = &report.setup;
    let (subject, not_counted) = match report.whose {
        Whose::ThisHost { not_counted } => ("host", json!(not_counted)),
        Whose::Fleet => ("fleet", Value::Null),
    };
    let warnings = report.warnings.iter();
    json!({
        "subject": subject,
        "mounts_not_counted": not_counted,
        "hosts": setup.hosts,
        "file_systems": setup.file_systems,
        "file_systems_per_host": setup.per_host,
        "access_points": setup.access_points,
        "mount_points_per_host": setup.mount_points,
        "operations": setup.operations,
        "hosts_replaced_per_day": setup.churn,
        "publish_interval_seconds": setup.publish_minutes * 60,
        "max_series": setup.max_series,
        "profile": report.profile.name(),
        "profiles": report.estimates.iter().map(|estimate| (
            estimate.profile.name().to_owned(),
            of_profile(estimate, &Estimate::limited(estimate.profile, setup)),
        )).collect::<Map<_, _>>(),
        "max_series_usd": setup.ceiling().dollars(),
        "warnings": warnings.map(|w| json!({"code": w.code, "text": w.text})).collect::<Vec<_>>(),
        "prices": {
            "currency": "USD",
            "page": PAGE,
            "as_of": AS_OF,
            "region": REGION,
            "hours_per_month": HOURS_A_MONTH,
            "free_requests_deducted": FREE_REQUESTS,
            "free_metrics_not_deducted": FREE_METRICS,
        },
    })
}

fn of_profile(estimate: &Estimate, limited: &Estimate) -> Value {
    let groups = estimate.groups.iter().map(|group| (group.key.to_owned(), json!(group.series())));
    let tiers = estimate.metrics.iter().map(|portion| {
        json!({
            "up_to": portion.tier.up_to,
            "price": portion.tier.price.dollars(),
            "metric_months": portion.used.number(),
            "usd": portion.usd.dollars(),
        })
    });
    json!({
        "series": estimate.series(),
        "series_shared": estimate.shared(),
        "series_by_scope": groups.collect::<Map<_, _>>(),
        "series_per_host": estimate.on_a_host(),
        "series_own_per_host": estimate.own(),
        "replaced_metric_months": estimate.churn.number(),
        "tiers": tiers.collect::<Vec<_>>(),
        "requests": estimate.requests,
        "metrics_usd": estimate.metric_cost().dollars(),
        "requests_usd": estimate.request_cost.dollars(),
        "total_usd": estimate.total().dollars(),
        "limited": {
            "series": limited.series(),
            "series_per_host": limited.on_a_host(),
            "total_usd": limited.total().dollars(),
        },
    })
}
