//! The placeholders of alarms, and the arithmetic behind their thresholds.

use serde_json::{Value, json};

use super::{Actions, OWN, Thresholds};
use crate::credits::{FileSystem, burst, cap};
use crate::provision::Target;
use crate::provision::template::Values;

/// What every `${..}` of the template `kind` stands for. Without a file system there is no `${FileSystemId}`, and the
/// figures are those of file systems up to 1 TiB.
pub fn values(kind: &str, file_system: Option<&FileSystem>, target: &Target, actions: &Actions) -> Values {
    let standard = file_system.map_or(0, |file_system| file_system.standard_bytes);
    let mut values = Values::from([
        ("Region", json!(target.region)),
        ("Namespace", json!(target.namespace)),
        ("Owner", json!(target.owner.to_string())),
        ("Mark", json!(target.mark().to_string())),
        ("Runbook", json!(runbook(kind, &target.thresholds))),
        ("CreditsLowBytes", json!(credits_low(target.thresholds.credits_low_minutes, standard))),
        ("CreditsFloorBytes", json!(floor(standard))),
        ("PageActions", each_once(&actions.page)),
        ("TicketActions", each_once(&actions.ticket)),
        ("OkActions", each_once(&actions.ok)),
    ]);
    values.extend(target.thresholds.values());
    if let Some(file_system) = file_system {
        values.insert("FileSystemId", json!(file_system.id.as_str()));
    }
    values
}

/// Storage as far as thresholds go: in steps of an eighth of itself or less, rounded down. Storage grows every day, and
/// an alarm that followed it would be written anew at every apply.
fn stepped(standard: u64) -> u64 {
    /// Binary digits that count, the first aside.
    const DIGITS: u32 = 3;
    let rest = standard.checked_ilog2().unwrap_or(0).saturating_sub(DIGITS);
    standard >> rest << rest
}

/// Credits that last so many minutes at the burst rate, in bytes. The Region's quota may hold a large file system
/// below that rate: its credits then last longer.
fn credits_low(minutes: u64, standard: u64) -> f64 {
    minutes as f64 * 60.0 * burst(stepped(standard))
}

/// Bytes of credit below which there are as good as none: 1 % of what the file system can have, rounded to a
/// thousandth, which is what it reads like in an expression.
fn floor(standard: u64) -> f64 {
    (cap(stepped(standard)) * 10.0).round() / 1000.0
}

impl Thresholds {
    /// The placeholders that alarms and dashboards have in common.
    pub fn values(&self) -> Values {
        Values::from([
            ("CreditsLowMinutes", json!(self.credits_low_minutes)),
            ("DepletionPageMinutes", json!(self.depletion_page_minutes)),
            ("DepletionPageHours", hours(self.depletion_page_minutes)),
            ("DepletionTicketMinutes", json!(self.depletion_ticket_minutes)),
            ("DepletionTicketHours", hours(self.depletion_ticket_minutes)),
            ("ThroughputPercent", json!(self.throughput_percent)),
            ("IoLimitPercent", json!(self.io_limit_percent)),
            ("ClientLatencyMs", json!(self.client_latency_ms)),
        ])
    }
}

/// 1, rather than 1.0: people read it, too.
fn hours(minutes: u64) -> Value {
    match minutes % 60 {
        0 => json!(minutes / 60),
        _ => json!(minutes as f64 / 60.0),
    }
}

/// Where somebody reads on. Templates that are added have no page of their own in the User Guide.
fn runbook(kind: &str, thresholds: &Thresholds) -> String {
    let own = OWN.iter().find(|own| own.kind == kind);
    match &thresholds.runbook {
        Some(page) => format!("{page}#{kind}"),
        None => {
            let page = own.map_or("monitoring-cloudwatch", |own| own.page);
            format!("https://docs.aws.amazon.com/efs/latest/ug/{page}.html")
        }
    }
}

/// One topic may have been given for several things.
fn each_once(arns: &[String]) -> Value {
    let mut once: Vec<&String> = Vec::new();
    arns.iter().for_each(|arn| {
        if !once.contains(&arn) {
            once.push(arn)
        }
    });
    json!(once)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const TIB: u64 = 1 << 40;

    #[test]
    fn two_hours_of_bursting_are_755_gigabytes_up_to_a_tebibyte() {
        // 120 x 60 s x 100 x 1,048,576 B/s
        assert_eq!(credits_low(120, 0), 754_974_720_000.0);
        assert_eq!(credits_low(120, 100 * GIB), 754_974_720_000.0);
        assert_eq!(credits_low(120, TIB), 754_974_720_000.0);
        // 4 TiB burst to 400 MiB/s.
        assert_eq!(credits_low(120, 4 * TIB), 3_019_898_880_000.0);
    }

    /// The threshold that many copied, as "the last hour at 100 MiB/s", is half of that.
    #[test]
    fn the_popular_192_gigabytes_are_30_and_a_half_minutes() {
        let minutes = 192_000_000_000.0 / burst(0) / 60.0;
        assert_eq!((minutes * 100.0).round(), 3052.0); // 1,831.05 s
        assert_eq!(credits_low(60, 0), 377_487_360_000.0);
        assert!(credits_low(30, 0) < 192_000_000_000.0 && credits_low(31, 0) > 192_000_000_000.0);
    }

    #[test]
    fn the_floor_is_a_hundredth_of_a_full_bucket() {
        // 2.1 x 1,099,511,627,776 / 100
        assert_eq!(json!(floor(0)).to_string(), "23089744183.296");
        assert_eq!(json!(floor(TIB)).to_string(), "23089744183.296");
        assert_eq!(json!(floor(3 * TIB)).to_string(), "69269232549.888");
    }

    #[test]
    fn storage_that_grows_by_less_than_an_eighth_changes_nothing() {
        for bytes in [4 * TIB, 4 * TIB + 1, 4 * TIB + 512 * GIB - 1] {
            assert_eq!(credits_low(120, bytes), credits_low(120, 4 * TIB));
            assert_eq!(floor(bytes), floor(4 * TIB));
        }
        // 1.125 TiB burst to 112.5 MiB/s; 1.99 TiB count as 1.875.
        assert_eq!(credits_low(120, TIB + 128 * GIB), 849_346_560_000.0);
        assert_eq!(credits_low(120, TIB + 1014 * GIB), 1_415_577_600_000.0);
        assert_eq!(credits_low(120, 4 * TIB + 512 * GIB), 3_397_386_240_000.0);
    }

    #[test]
    fn a_topic_that_is_given_twice_is_told_once() {
        assert_eq!(each_once(&["b".to_owned(), "a".to_owned(), "b".to_owned()]), json!(["b", "a"]));
    }
}
