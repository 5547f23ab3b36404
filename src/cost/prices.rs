//! CloudWatch's price list, as far as publishing and reading metrics go, with its date; and exact arithmetic with it.
//!
//! Amounts are whole micro-dollars, never floating point. A line of a bill is rounded to the cent, half up, and a
//! total is the sum of its lines, so that what is printed adds up.

use std::fmt;

/// Where every price here is from (Amazon CloudWatch Pricing, paid tier).
pub const PAGE: &str = "aws.amazon.com/cloudwatch/pricing";
/// The day on which the page showed them.
pub const AS_OF: &str = "2026-09-22";
/// The Region whose prices they are.
pub const REGION: &str = "us-east-1";

/// What AWS's pages take for a month, in hours: a year's 8,760 / 12.
pub const HOURS_A_MONTH: u64 = 730;

/// One tier of the price of custom metrics; it begins where the one before ends.
#[derive(Debug, PartialEq, Eq)]
pub struct Tier {
    /// The last metric-month that is billed at this price, all that came before included; `None`: there is no end.
    pub up_to: Option<u64>,
    /// For one metric-month, prorated by the hour: a metric is billed for the hours in which it gets data.
    pub price: Usd,
}

/// Custom metrics, of one account and Region together.
pub const METRICS: [Tier; 4] = [
    Tier { up_to: Some(10_000), price: Usd::cents(30) },
    Tier { up_to: Some(250_000), price: Usd::cents(10) },
    Tier { up_to: Some(1_000_000), price: Usd::cents(5) },
    Tier { up_to: None, price: Usd::cents(2) },
];

/// PutMetricData and most other requests: a thousand.
pub const THOUSAND_REQUESTS: Usd = Usd::cents(1);
/// Metrics that GetMetricData is asked for: a thousand. None are free.
pub const THOUSAND_METRICS_READ: Usd = Usd::cents(1);
/// Requests a month that are free, of one account: they are deducted here.
pub const FREE_REQUESTS: u64 = 1_000_000;
/// Custom metrics that are free, of one account: they are not deducted here, because anything else in the account
/// may have them.
pub const FREE_METRICS: u64 = 10;

/// A dashboard a month.
pub const DASHBOARD: Usd = Usd::cents(300);
/// Dashboards that are free, of one account: they are not deducted here, because anything else in the account may be
/// among them.
pub const FREE_DASHBOARDS: u64 = 3;
/// Metrics of a free dashboard, at most.
pub const FREE_DASHBOARD_METRICS: u64 = 50;

/// An alarm's metric for a month, at a period of 60 seconds or more; an alarm on metric math has several.
pub const ALARM_METRIC: Usd = Usd::cents(10);
/// Metrics of alarms that are free, of one account: they are not deducted here, because anything else in the account
/// may have them.
pub const FREE_ALARMS: u64 = 10;

/// US dollars, in whole micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd {
    micros: u64,
}

const MICROS_A_CENT: u64 = 10_000;

impl Usd {
    pub const fn cents(cents: u64) -> Usd {
        Usd { micros: cents * MICROS_A_CENT }
    }

    /// The nearest floating-point number of dollars, for programs that read JSON.
    pub fn dollars(self) -> f64 {
        self.micros as f64 / 1e6
    }

    /// `quantity / per` times this price, rounded to the cent, half up.
    fn times(self, quantity: u64, per: u64) -> Usd {
        let (exact, unit) = (u128::from(self.micros) * u128::from(quantity), u128::from(per * MICROS_A_CENT));
        let cents = (exact * 2 + unit) / (unit * 2);
        Usd { micros: u64::try_from(cents).unwrap_or(u64::MAX).saturating_mul(MICROS_A_CENT) }
    }

    /// So many times this price.
    pub fn times_whole(self, number: u64) -> Usd {
        self.times(number, 1)
    }

    /// An equal share, rounded to the cent, half up.
    pub fn shared_by(self, number: u64) -> Usd {
        self.times(1, number.max(1))
    }

    /// `$0.00006`: with as many decimals as it takes, and at least two.
    pub fn exact(self) -> String {
        let micros = format!("{:06}", self.micros % 1_000_000);
        let decimals = micros.trim_end_matches('0').len().max(2);
        format!("${}.{micros:.decimals$}", thousands(self.micros / 1_000_000))
    }

    pub fn saturating_sub(self, other: Usd) -> Usd {
        Usd { micros: self.micros.saturating_sub(other.micros) }
    }
}

impl std::ops::Add for Usd {
    type Output = Usd;
    fn add(self, other: Usd) -> Usd {
        Usd { micros: self.micros.saturating_add(other.micros) }
    }
}

impl std::iter::Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::default(), std::ops::Add::add)
    }
}

/// `$3,400.40`, to the cent, half up.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.micros.saturating_add(MICROS_A_CENT / 2) / MICROS_A_CENT;
        f.pad(&format!("${}.{:02}", thousands(cents / 100), cents % 100))
    }
}

/// A number with a comma between thousands: `14,004`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Custom metrics times the part of a month in which they get data: what is billed.
///
/// In whole 24ths: a host that is replaced N times a day gets an hour more N times a day, which is
/// N x [`HOURS_A_MONTH`] / 24 hours a month, or N / 24 metric-months.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MetricMonths {
    parts: u64,
}

const PARTS: u64 = 24;

impl MetricMonths {
    /// So many metrics, all month long.
    pub fn whole(metrics: u64) -> MetricMonths {
        MetricMonths { parts: metrics.saturating_mul(PARTS) }
    }

    /// So many metrics that each get data for one hour of each day.
    pub fn an_hour_a_day(metrics: u64) -> MetricMonths {
        MetricMonths { parts: metrics }
    }

    /// For programs that read JSON.
    pub fn number(self) -> f64 {
        self.parts as f64 / PARTS as f64
    }
}

impl std::ops::Add for MetricMonths {
    type Output = MetricMonths;
    fn add(self, other: MetricMonths) -> MetricMonths {
        MetricMonths { parts: self.parts.saturating_add(other.parts) }
    }
}

/// `14,004`, or with a tenth where it is no whole number: `16.7`.
impl fmt::Display for MetricMonths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = ((u128::from(self.parts) * 10 + u128::from(PARTS / 2)) / u128::from(PARTS)) as u64;
        let (whole, tenth) = (thousands(tenths / 10), tenths % 10);
        match self.parts.is_multiple_of(PARTS) {
            true => f.pad(&whole),
            false => f.pad(&format!("{whole}.{tenth}")),
        }
    }
}

/// One line of the bill: what falls in one tier.
#[derive(Debug, PartialEq, Eq)]
pub struct Portion {
    pub tier: &'static Tier,
    pub used: MetricMonths,
    pub usd: Usd,
}

/// The lines of the bill for custom metrics: one for each tier that is reached, the first always.
pub fn metrics(used: MetricMonths) -> Vec<Portion> {
    let mut portions = Vec::new();
    let mut below = 0;
    for tier in &METRICS {
        let end = tier.up_to.map_or(u64::MAX, |metrics| MetricMonths::whole(metrics).parts);
        let parts = used.parts.min(end) - below;
        portions.push(Portion { tier, used: MetricMonths { parts }, usd: tier.price.times(parts, PARTS) });
        if used.parts <= end {
            break;
        }
        below = end;
    }
    portions
}

/// What so many requests in a month cost, the first [`FREE_REQUESTS`] free.
pub fn requests(number: u64) -> Usd {
    THOUSAND_REQUESTS.times(number.saturating_sub(FREE_REQUESTS), 1000)
}

/// What it costs to ask GetMetricData for so many metrics: exactly, for each is ten micro-dollars.
pub fn metrics_read(number: u64) -> Usd {
    Usd { micros: THOUSAND_METRICS_READ.micros.saturating_mul(number) / 1000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(micros: u64) -> Usd {
        Usd { micros }
    }

    fn total(used: MetricMonths) -> String {
        metrics(used).into_iter().map(|portion| portion.usd).sum::<Usd>().to_string()
    }

    #[test]
    fn each_tier_ends_where_the_price_list_says() {
        for (metrics, expected) in [
            (0, "$0.00"),
            (1, "$0.30"),
            (9_999, "$2,999.70"),       // 9,999 x 0.30
            (10_000, "$3,000.00"),      // 10,000 x 0.30
            (10_001, "$3,000.10"),      // + 0.10
            (249_999, "$26,999.90"),    // 3,000 + 239,999 x 0.10
            (250_000, "$27,000.00"),    // 3,000 + 240,000 x 0.10
            (250_001, "$27,000.05"),    // + 0.05
            (999_999, "$64,499.95"),    // 27,000 + 749,999 x 0.05
            (1_000_000, "$64,500.00"),  // 27,000 + 750,000 x 0.05
            (1_000_001, "$64,500.02"),  // + 0.02
            (3_000_000, "$104,500.00"), // 64,500 + 2,000,000 x 0.02
        ] {
            assert_eq!(total(MetricMonths::whole(metrics)), expected, "{metrics}");
        }
    }

    #[test]
    fn the_bill_has_a_line_for_each_tier_that_is_reached() {
        let lines = |metrics| {
            let portions = super::metrics(MetricMonths::whole(metrics));
            portions.iter().map(|line| format!("{} {}", line.used, line.usd)).collect::<Vec<_>>()
        };
        assert_eq!(lines(0), ["0 $0.00"]);
        assert_eq!(lines(10_000), ["10,000 $3,000.00"]);
        assert_eq!(lines(10_001), ["10,000 $3,000.00", "1 $0.10"]);
        assert_eq!(
            lines(1_200_000),
            ["10,000 $3,000.00", "240,000 $24,000.00", "750,000 $37,500.00", "200,000 $4,000.00"]
        );
    }

    #[test]
    fn a_million_requests_are_free_and_a_thousand_more_cost_a_cent() {
        for (number, expected) in [
            (0, "$0.00"),
            (999_999, "$0.00"),
            (1_000_000, "$0.00"),
            (1_000_001, "$0.00"), // a thousandth of a cent
            (1_000_499, "$0.00"),
            (1_000_500, "$0.01"), // half a cent
            (1_001_000, "$0.01"),
            (1_100_000, "$1.00"),
            (131_400_000, "$1,304.00"), // 130,400 thousands
        ] {
            assert_eq!(requests(number).to_string(), expected, "{number}");
        }
    }

    #[test]
    fn parts_of_a_month_are_billed_exactly() {
        // 1,000 metrics for an hour of each day are 41 2/3 metric-months; at $0.30 that is $12.50.
        let hours = MetricMonths::an_hour_a_day(1_000);
        assert_eq!((hours.to_string().as_str(), total(hours).as_str()), ("41.7", "$12.50"));
        // 9,990 of them before fill the first tier; 31 2/3 fall in the second: 3.1666 dollars.
        let lines = super::metrics(MetricMonths::whole(9_990) + hours);
        assert_eq!(lines.iter().map(|line| line.used.to_string()).collect::<Vec<_>>(), ["10,000", "31.7"]);
        assert_eq!(lines[1].usd.to_string(), "$3.17");
    }

    #[test]
    fn amounts_have_commas_and_two_decimals() {
        for (micros, expected) in [
            (0, "$0.00"),
            (4_999, "$0.00"),
            (5_000, "$0.01"),
            (999_999, "$1.00"),
            (3_400_400_000, "$3,400.40"),
            (1_234_567_890_000, "$1,234,567.89"),
        ] {
            assert_eq!(usd(micros).to_string(), expected);
        }
        assert_eq!(format!("{:>8}|", usd(1_000_000)), "   $1.00|");
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [1, 12, 13, 24].map(|parts| MetricMonths { parts }.to_string()),
            ["0.0", "0.5", "0.5", "1"]
        );
    }

    #[test]
    fn metrics_that_are_read_cost_a_cent_a_thousand_exactly() {
        for (number, expected) in [
            (0, "$0.00"),
            (1, "$0.00001"),
            (6, "$0.00006"),
            (10, "$0.0001"),
            (1_000, "$0.01"),
            (1_800, "$0.018"),
            (123_456, "$1.23456"),
            (500_000_000, "$5,000.00"),
        ] {
            assert_eq!(metrics_read(number).exact(), expected, "{number}");
        }
    }

    #[test]
    fn amounts_beyond_all_reason_stay_amounts() {
        assert!(total(MetricMonths::whole(u64::MAX)).starts_with('$'));
        assert!(requests(u64::MAX).to_string().starts_with('$'));
        assert_eq!(MetricMonths::whole(u64::MAX) + MetricMonths::whole(1), MetricMonths { parts: u64::MAX });
    }
}
