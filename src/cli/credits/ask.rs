//! What CloudWatch is asked, and its answers by file system.

use std::collections::BTreeMap;

use crate::aws::Session;
use crate::aws::call::CallError;
use crate::aws::metric_data::metric_data;
use crate::catalog::vended::NAMESPACE;
use crate::credits::{FileSystem, Metrics};
use crate::metricmath::{Dimension, Metric, MetricStat, Points, Query, Window};

/// All that CloudWatch said.
pub struct Answers {
    /// In the order of the file systems.
    pub metrics: Vec<Metrics>,
    /// From the oldest to the newest; the period is that of all but the last hour.
    pub window: Window,
    /// Metrics, in all requests.
    pub asked: u64,
    pub requests: u64,
    pub messages: Vec<String>,
}

/// The metrics, what they are of a file system's [`Metrics`], and the statistic.
const METRICS: [(&str, &str); 3] =
    [("BurstCreditBalance", "Minimum"), ("PermittedThroughput", "Average"), ("MeteredIOBytes", "Sum")];

/// Asks for the last hours of these file systems. `now` in seconds since 1970.
///
/// # Errors
///
/// A request that fails.
pub async fn ask(
    session: &Session,
    file_systems: &[FileSystem],
    now: i64,
    hours: u32,
) -> Result<Answers, CallError> {
    let (graph, recent) = windows(now, hours);
    let window = Window { from: graph.map_or(recent.from, |graph| graph.from), ..graph.unwrap_or(recent) };
    let mut answers = Answers {
        metrics: vec![Metrics::default(); file_systems.len()],
        window: Window { to: recent.to, ..window },
        asked: 0,
        requests: 0,
        messages: Vec::new(),
    };
    for window in graph.into_iter().chain([recent]) {
        let queries: Vec<Query> = file_systems
            .iter()
            .enumerate()
            .flat_map(|(index, file_system)| queries(index, file_system, window.period))
            .collect();
        if queries.is_empty() {
            continue;
        }
        let found = metric_data(session, &queries, window).await?;
        for (index, metrics) in answers.metrics.iter_mut().enumerate() {
            put(index, metrics, &found.points, window.period);
        }
        answers.asked += found.metrics;
        answers.requests += found.requests;
        answers.messages.extend(found.messages);
    }
    Ok(answers)
}

/// The time before the last hour, when there is so much of it that single minutes would be too many, or are not kept any
/// more; and the rest, by the minute. All begin and end at multiples of their period; the minute that is not over is left
/// out.
///
/// CloudWatch keeps minutes for 15 days, 5 minutes for 63, hours for 455 (CloudWatch User Guide, "Metrics retention").
fn windows(now: i64, hours: u32) -> (Option<Window>, Window) {
    let floor = |at: i64, period: u32| at - at.rem_euclid(i64::from(period));
    let to = floor(now, 60);
    let before = |hours: u32| to - i64::from(hours) * 3_600;
    let period = match hours {
        ..=24 => return (None, Window { from: before(hours), to, period: 60 }),
        25..=360 => 300,
        _ => 3_600,
    };
    let recent = floor(before(1), period);
    let from = floor(before(hours), period);
    (Some(Window { from, to: recent, period }), Window { from: recent, to, period: 60 })
}

/// The id of a query: which metric of which file system.
fn id(metric: usize, file_system: usize) -> String {
    format!("m{metric}_{file_system}")
}

fn queries(index: usize, file_system: &FileSystem, period: u32) -> impl Iterator<Item = Query> {
    let wanted = METRICS.into_iter().enumerate();
    wanted.filter(|(metric, _)| *metric > 0 || file_system.may_have_credits()).map(
        move |(metric, (name, statistic))| {
            let dimension =
                Dimension { name: "FileSystemId".to_owned(), value: file_system.id.as_str().to_owned() };
            Query {
                id: id(metric, index),
                metric_stat: Some(MetricStat {
                    metric: Metric {
                        namespace: NAMESPACE.to_owned(),
                        metric_name: name.to_owned(),
                        dimensions: vec![dimension],
                    },
                    period,
                    stat: statistic.to_owned(),
                }),
                expression: None,
                // What a message is about.
                label: Some(format!("{name} of {}", file_system.id)),
                period: None,
                return_data: None,
            }
        },
    )
}

fn put(index: usize, metrics: &mut Metrics, points: &BTreeMap<String, Points>, period: u32) {
    let of = |metric| points.get(&id(metric, index)).into_iter().flatten();
    metrics.balance.extend(of(0));
    metrics.permitted.extend(of(1));
    metrics.metered.extend(of(2).map(|(at, bytes)| (*at, bytes / f64::from(period))));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T12:07:31Z.
    const NOW: i64 = 1_796_040_451;

    #[test]
    fn a_day_is_asked_for_by_the_minute() {
        let whole = |hours| windows(NOW, hours);
        let to = NOW - 31;
        assert_eq!(whole(6), (None, Window { from: to - 21_600, to, period: 60 }));
        assert_eq!(whole(24), (None, Window { from: to - 86_400, to, period: 60 }));
    }

    #[test]
    fn more_than_a_day_has_longer_periods_up_to_the_last_hour() {
        // The last hour begins at 11:07: 11:05 in periods of 5 minutes, 11:00 in those of an hour.
        let noon = NOW - 451;
        let graph = |hours| windows(NOW, hours).0.unwrap();
        let from = noon + 300 - 25 * 3_600;
        assert_eq!(graph(25), Window { from, to: noon - 3_300, period: 300 });
        assert_eq!(graph(360).period, 300);
        assert_eq!(graph(361), Window { from: noon - 361 * 3_600, to: noon - 3_600, period: 3_600 });
        let recent = windows(NOW, 361).1;
        assert_eq!(recent, Window { from: noon - 3_600, to: NOW - 31, period: 60 });
    }
}
