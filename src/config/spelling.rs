//! Which known key a misspelled one was meant to be. Pure.

use super::Setting;

/// The known key that `unknown` (with its section) is most like, if it is like one.
///
/// A key in the wrong section is like itself in the right one.
pub(super) fn nearest<T: Default>(
    unknown: &str,
    known: &'static [Setting<T>],
) -> Option<&'static Setting<T>> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    known
        .iter()
        .map(|setting| {
            let elsewhere = 1 + distance(&last(unknown), &last(setting.key));
            (distance(unknown, setting.key).min(elsewhere), setting)
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, setting)| distance * 3 <= last(setting.key).len().max(4))
        .map(|(_, setting)| setting)
}

/// How many characters have to be put in, taken out or replaced to make one text of the other (Levenshtein).
pub(super) fn distance(a: &str, b: &str) -> usize {
    // row[j]: the distance from the part of `a` that was walked to the first j characters of `b`.
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let (first, rest) = match row.split_first_mut() {
            Some(split) => split,
            None => break,
        };
        *first = left;
        for (to, cell) in b.chars().zip(rest) {
            let replaced = diagonal + usize::from(from != to);
            diagonal = *cell;
            left = replaced.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::SETTINGS;
    use super::*;

    #[test]
    fn distance_counts_edits() {
        let pairs =
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("spol", "spool", 1), ("kitten", "sitting", 3)];
        for (a, b, expected) in pairs {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn a_misspelled_key_finds_the_one_that_was_meant() {
        let cases = [
            ("sample_intervall", Some("sample_interval")),
            ("spool.max_mb", Some("spool.max_mib")),
            ("max_series", Some("limits.max_series")),
            ("host.sample_interval", Some("sample_interval")),
            ("source.name_space", Some("source.namespace")),
            ("publish.namespace", Some("namespace")),
            ("publish.rolearn", Some("publish.role_arn")),
            ("colour", None),
        ];
        for (unknown, expected) in cases {
            assert_eq!(nearest(unknown, SETTINGS).map(|setting| setting.key), expected, "{unknown}");
        }
    }
}
