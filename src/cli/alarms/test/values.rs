//! How a test file writes down values, minute by minute, and times. Pure.
//!
//! `100x2h` is 100 for two hours, `0+60x10` is 0, 60, .. 540, `_x3` is three minutes without a value.

/// A week: what a test file may describe.
pub const MOST_MINUTES: usize = 7 * 24 * 60;

/// What [`values`] takes.
pub const ALLOWED: &str = "VALUExCOUNT, VALUE+STEPxCOUNT, VALUE-STEPxCOUNT or _xCOUNT, separated by spaces, a week at \
                           most; COUNT is a number of minutes, or a time such as 2h10m; without xCOUNT it is one minute";

/// What [`minutes`] takes.
pub const ALLOWED_TIME: &str = "whole minutes such as 5m or 2h10m, a week at most";

/// `2h10m` is 130.
pub fn minutes(text: &str) -> Option<usize> {
    let duration: jiff::SignedDuration = text.parse().ok()?;
    let seconds = usize::try_from(duration.as_secs()).ok()?;
    let whole = duration.subsec_nanos() == 0 && seconds.is_multiple_of(60);
    Some(seconds / 60).filter(|minutes| whole && *minutes <= MOST_MINUTES)
}

/// `130` is `2h10m`.
pub fn time(minutes: usize) -> String {
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h{minutes}m"),
    }
}

/// One value a minute; None: there is none.
///
/// # Errors
///
/// The first word that is none of [`ALLOWED`].
pub fn values(text: &str) -> Result<Vec<Option<f64>>, &str> {
    let mut values = Vec::new();
    for word in text.split_whitespace() {
        let run = run(word).filter(|run| values.len() + run.minutes <= MOST_MINUTES).ok_or(word)?;
        values.extend((0..run.minutes).map(|minute| Some(run.first? + run.step * minute as f64)));
    }
    Ok(values)
}

/// A word: `VALUE+STEPxCOUNT`.
struct Run {
    first: Option<f64>,
    step: f64,
    minutes: usize,
}

fn run(word: &str) -> Option<Run> {
    let (value, minutes) = match word.split_once('x') {
        Some((value, count)) => (value, count.parse().ok().or_else(|| minutes(count))?),
        None => (word, 1),
    };
    if value == "_" {
        return Some(Run { first: None, step: 0.0, minutes });
    }
    // The sign of the first value is not one of a step, nor is that of an exponent.
    let signs = value.char_indices().skip(1).filter(|(_, sign)| matches!(sign, '+' | '-'));
    let step = signs.map(|(at, _)| at).find(|at| !value.get(..*at).is_some_and(|part| part.ends_with('e')));
    let (first, step) = step.and_then(|at| value.split_at_checked(at)).unwrap_or((value, "0"));
    Some(Run { first: Some(number(first)?), step: number(step)?, minutes })
}

/// Digits may be grouped: `754_974_720_000`.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-._e".contains(&b));
    let number: f64 = text.replace('_', "").parse().ok()?;
    (plain && number.is_finite()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[f64]) {
        let found = values(text).unwrap();
        // A NaN stands for no value.
        let found: Vec<f64> = found.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
    }

    #[test]
    fn values_are_written_as_runs_of_minutes() {
        let gap = f64::NAN;
        check("5", &[5.0]);
        check("5 _ 6.5", &[5.0, gap, 6.5]);
        check("0+60x3 _x2 7x2", &[0.0, 60.0, 120.0, gap, gap, 7.0, 7.0]);
        check("100-50x3", &[100.0, 50.0, 0.0]);
        check("-1-1x2", &[-1.0, -2.0]);
        check("1e3-1e2x2 1e-1x1", &[1000.0, 900.0, 0.1]);
        check("1_000x2m", &[1000.0, 1000.0]);
        check(" 1\n2 ", &[1.0, 2.0]);
        check("1x0", &[]);
        assert_eq!(values("1x1h10m").unwrap().len(), 70);
        assert_eq!(values("1x168h").unwrap().len(), MOST_MINUTES);
    }

    #[test]
    fn what_is_no_value_is_named() {
        for bad in
            ["one", "1x", "x3", "1x-3", "1x1.5", "1x30s", "inf", "nan", "1+x2", "__x2", "1x168h1m", "0x7f"]
        {
            assert_eq!(values(&format!("1 {bad}")), Err(bad));
        }
        assert_eq!(values("1x6000 1x6000"), Err("1x6000"));
        assert_eq!(values("1x99999999999999999999"), Err("1x99999999999999999999"));
    }

    #[test]
    fn times_are_whole_minutes() {
        for (text, expected) in
            [("5m", 5), ("2h10m", 130), ("2h 10m", 130), ("0m", 0), ("120s", 2), ("168h", 10_080)]
        {
            assert_eq!(minutes(text), Some(expected), "{text}");
        }
        for text in ["", "5", "90s", "-5m", "169h", "m"] {
            assert_eq!(minutes(text), None, "{text}");
        }
        assert_eq!([time(5), time(60), time(130)], ["5m", "1h", "2h10m"]);
    }
}
