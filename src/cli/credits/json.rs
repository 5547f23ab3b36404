//! For programs: keys may be added, and none goes.

use std::time::Duration;

use serde_json::{Value, json};

use super::graph::{Graph, Of};
use super::{Report, Seen};
use crate::cost::prices::{self, AS_OF, REGION};
use crate::credits::{Bucket, Outlook, Reading, ThroughputMode, baseline};
use crate::model::Minute;
use crate::names::utf8;

/// The whole report. Bytes, bytes a second and seconds; `null` is what is not known, or is not there in that mode.
pub fn of(report: &Report) -> Value {
    json!({
        "region": report.region,
        "from": time(report.window.from),
        "to": time(report.window.to),
        "file_systems": report.seen.iter().map(|seen| file_system(report, seen)).collect::<Vec<_>>(),
        "messages": report.messages,
        "asked": {
            "metrics": report.metrics,
            "requests": report.requests,
            "usd": prices::metrics_read(report.metrics).dollars(),
            "price_region": REGION,
            "price_as_of": AS_OF,
        },
    })
}

fn time(at: i64) -> String {
    Minute::of(Duration::from_secs(u64::try_from(at).unwrap_or(0))).to_string()
}

fn file_system(report: &Report, seen: &Seen) -> Value {
    let Seen { file_system, metrics, situation } = seen;
    let bucket = Bucket::of(file_system, situation.balance.map_or(0.0, |balance| balance.value));
    let credits = file_system.may_have_credits().then(|| {
        json!({
            "balance_bytes": situation.balance.map(|balance| balance.value),
            "at": situation.balance.map(|balance| time(balance.at)),
            "is_old": situation.balance.map(|balance| balance.is_old(report.now)),
            "cap_bytes": bucket.cap,
            "earned_bytes_per_second": bucket.accrual,
            "burst_seconds": situation
                .balance
                .and_then(|balance| file_system.burst_seconds(balance.value, &report.region)),
        })
    });
    let burn = situation.burn.map(|burn| {
        json!({
            "bytes_per_second": burn.rate,
            "at_least": burn.is_censored(),
            "minutes": burn.minutes,
            "minutes_at_limit": burn.at_ceiling,
            "until": time(burn.until),
        })
    });
    let provisioned = match file_system.mode {
        ThroughputMode::Provisioned { mibps } => Some(mibps),
        _ => None,
    };
    let permitted = |reading: Reading| {
        json!({
            "bytes_per_second": reading.value,
            "at": time(reading.at),
            "is_old": reading.is_old(report.now),
        })
    };
    let balance = Graph::of(&metrics.balance, report.window, Of::Lowest);
    let metered = Graph::of(&metrics.metered, report.window, Of::Mean);
    json!({
        "file_system_id": file_system.id,
        "name": file_system.name.as_ref().map(|name| utf8(name.as_bytes())),
        "mode": file_system.mode.name(),
        "provisioned_mibps": provisioned,
        "zone": file_system.zone,
        "standard_bytes": file_system.standard_bytes,
        "infrequent_bytes": file_system.infrequent_bytes,
        "archive_bytes": file_system.archive_bytes,
        "credits": credits,
        "baseline_bytes_per_second": baseline(file_system.standard_bytes),
        "permitted": situation.permitted.map(permitted),
        "permitted_without_credits_bytes_per_second": file_system.permitted(0.0, &report.region),
        "burn": burn,
        "outlook": outlook(situation.outlook),
        "graph": {
            "step_seconds": balance.step,
            "lowest_balance_bytes": balance.columns,
            "mean_metered_bytes_per_second": metered.columns,
        },
    })
}

/// `state`, and with it `seconds` (to depletion, or to refill) or `since`.
fn outlook(outlook: Outlook) -> Value {
    let (state, seconds, since) = match outlook {
        Outlook::NoCredits => ("no_credits", None, None),
        Outlook::NoBalance => ("no_balance", None, None),
        Outlook::NoBurn => ("no_burn", None, None),
        Outlook::Empty { since, or_before, refill } => ("empty", refill, Some((since, or_before))),
        Outlook::Depletion { seconds } => ("draining", Some(seconds), None),
        Outlook::Refill { seconds } => ("refilling", Some(seconds), None),
        Outlook::Full => ("full", None, None),
        Outlook::Steady => ("steady", None, None),
    };
    json!({
        "state": state,
        "seconds": seconds,
        "since": since.map(|(since, _)| time(since)),
        "since_or_before": since.map(|(_, or_before)| or_before),
    })
}
