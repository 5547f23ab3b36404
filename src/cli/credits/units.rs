//! Bytes, throughput and times for people.

use crate::cost::prices::thousands;
use crate::model::Minute;

/// Three digits, or all of those before the point: `4.88`, `45.0`, `512`, `5,120`.
pub fn digits(number: f64) -> String {
    match number {
        ..9.995 => format!("{number:.2}"),
        ..99.95 => format!("{number:.1}"),
        _ => thousands(number.round() as u64),
    }
}

/// `0 B`, `1.35 TiB`.
pub fn bytes(number: f64) -> String {
    if number < 1024.0 {
        return format!("{number:.0} B");
    }
    let mut number = number;
    for unit in ["KiB", "MiB", "GiB", "TiB"] {
        number /= 1024.0;
        if number < 1023.5 || unit == "TiB" {
            return format!("{} {unit}", digits(number));
        }
    }
    String::new()
}

/// In MiB/s, as EFS has it: `4.88 MiB/s`.
pub fn throughput(bytes_a_second: f64) -> String {
    format!("{} MiB/s", digits(bytes_a_second / crate::credits::MIB))
}

/// The two largest units of a time, rounded down: `3 h 38 min`; with `short`, `3h38m`.
pub fn lasting(seconds: f64, short: bool) -> String {
    // What was reckoned as 3,599.999,999 s is an hour.
    let minutes = seconds.round() as u64 / 60;
    let (days, hours) = (minutes / 1_440, minutes / 60 % 24);
    let (first, second) = match (days, hours, minutes % 60) {
        (0, 0, 0) => return if short { "<1m" } else { "less than a minute" }.to_owned(),
        (0, 0, minutes) => ((minutes, "min"), (0, "")),
        (0, hours, minutes) => ((hours, "h"), (minutes, "min")),
        (days @ 1..=99, hours, _) => ((days, "d"), (hours, "h")),
        (days, ..) => ((days, "d"), (0, "")),
    };
    let word = |(number, unit): (u64, &str)| match short {
        true => format!("{}{}", thousands(number), &unit.get(..1).unwrap_or_default()),
        false => format!("{} {unit}", thousands(number)),
    };
    match second.0 {
        0 => word(first),
        _ => word(first) + if short { "" } else { " " } + &word(second),
    }
}

/// The time of a day, with its date when that is not the day of `now`: `14:05`, `11-29 14:05`, `2027-01-02`. UTC.
pub fn clock(at: i64, now: i64) -> String {
    let whole = |at: i64| Minute::of(std::time::Duration::from_secs(at.max(0) as u64)).to_string();
    let (text, today) = (whole(at), whole(now));
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    if part(0, 10) == today.get(..10).unwrap_or_default() {
        part(11, 16).to_owned()
    } else if (at - now).abs() < 45 * 86_400 {
        format!("{} {}", part(5, 10), part(11, 16))
    } else {
        part(0, 10).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credits::{GIB, MIB, TIB};

    #[test]
    fn amounts_have_three_digits_and_binary_units() {
        assert_eq!(
            [0.0, 9.994, 9.996, 99.94, 99.96, 5_120.4].map(digits),
            ["0.00", "9.99", "10.0", "99.9", "100", "5,120"]
        );
        assert_eq!(
            [0.0, 1_023.0, 1_024.0, 512.0 * GIB, 2.1 * TIB, 1_023.9 * GIB, 4_096.0 * TIB].map(bytes),
            ["0 B", "1023 B", "1.00 KiB", "512 GiB", "2.10 TiB", "1.00 TiB", "4,096 TiB"]
        );
        assert_eq!(throughput(4.8828125 * MIB), "4.88 MiB/s");
    }

    #[test]
    fn times_have_two_units() {
        for (seconds, long, short) in [
            (59.0, "less than a minute", "<1m"),
            (60.0, "1 min", "1m"),
            (3_599.999_999, "1 h", "1h"),
            (13_080.0, "3 h 38 min", "3h38m"),
            (86_400.0 + 3_540.0, "1 d", "1d"),
            (190_800.0, "2 d 5 h", "2d5h"),
            (45_097_156.6, "521 d", "521d"),
            (1e8 * 86_400.0, "100,000,000 d", "100,000,000d"),
        ] {
            assert_eq!((lasting(seconds, false).as_str(), lasting(seconds, true).as_str()), (long, short));
        }
    }

    #[test]
    fn another_day_has_its_date() {
        let now = 1_796_040_451; // 2026-11-30T12:07:31Z
        assert_eq!(clock(now, now), "12:07");
        assert_eq!(clock(now - 43_652, now), "11-29 23:59");
        assert_eq!(clock(now + 50 * 86_400, now), "2027-01-19");
    }
}
