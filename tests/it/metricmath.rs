//! Metric math and Metrics Insights, with values worked out by hand or printed in the CloudWatch User Guide.

mod formulas;
mod functions;
mod insights;
mod missing;
mod refusals;
mod searches;

use std::collections::BTreeMap;

use efsmon::metricmath::{
    Dimension, Metric, MetricStat, NotModelled, Points, Purpose, Query, Samples, Series, Window, evaluate,
};

/// When the tests' windows begin: a full hour.
const START: i64 = 1_796_000_400;

fn metric(name: &str, dimensions: &[(&str, &str)]) -> Metric {
    let dimension = |(name, value): &(&str, &str)| Dimension { name: (*name).into(), value: (*value).into() };
    Metric {
        namespace: "N".into(),
        metric_name: name.into(),
        dimensions: dimensions.iter().map(dimension).collect(),
    }
}

fn asked(id: &str, metric: Metric, stat: &str) -> Query {
    Query {
        id: id.into(),
        metric_stat: Some(MetricStat { metric, period: 60, stat: stat.into() }),
        expression: None,
        label: None,
        period: None,
        return_data: Some(false),
    }
}

fn expression(id: &str, text: &str) -> Query {
    Query {
        id: id.into(),
        metric_stat: None,
        expression: Some(text.into()),
        label: None,
        period: None,
        return_data: Some(false),
    }
}

fn minutes(count: i64) -> Window {
    Window { from: START, to: START + count * 60, period: 60 }
}

/// Series by their ids, minute by minute; a dash is a minute without data.
struct Given {
    queries: Vec<Query>,
    samples: Samples,
    minutes: i64,
}

impl Given {
    /// Such as `("m1", "1 - 3")`.
    fn series(series: &[(&str, &str)]) -> Given {
        let mut given = Given { queries: Vec::new(), samples: Samples::default(), minutes: 0 };
        for (id, values) in series {
            given.queries.push(asked(id, metric(id, &[]), "Sum"));
            for (minute, value) in (0..).zip(values.split_whitespace()) {
                if let Ok(value) = value.parse() {
                    given.samples.put_value(metric(id, &[]), START + minute * 60, value);
                }
                given.minutes = given.minutes.max(minute + 1);
            }
        }
        given
    }

    fn evaluate(&self, text: &str, purpose: Purpose) -> Result<Vec<Series>, NotModelled> {
        let mut queries = self.queries.clone();
        queries.push(Query { return_data: None, ..expression("e", text) });
        evaluate(&queries, &self.samples, minutes(self.minutes), purpose)
            .map(|mut all| all.remove("e").unwrap())
    }

    /// Each series in the same writing.
    #[track_caller]
    fn expect(&self, text: &str, series: &[&str]) {
        let found = self.evaluate(text, Purpose::Graph).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        let found: Vec<String> = found.iter().map(|series| row(&series.points, self.minutes)).collect();
        assert_eq!(found, series, "{text}");
    }

    #[track_caller]
    fn refusal(&self, text: &str, purpose: Purpose) -> String {
        match self.evaluate(text, purpose) {
            Err(refusal) => refusal.to_string(),
            Ok(series) => panic!("{text} gives {series:?}"),
        }
    }
}

fn row(points: &Points, minutes: i64) -> String {
    let minute = |minute| points.get(&(START + minute * 60)).map_or("-".to_owned(), f64::to_string);
    assert!(points.keys().all(|at| (START..START + minutes * 60).contains(at)), "{points:?}");
    (0..minutes).map(minute).collect::<Vec<_>>().join(" ")
}

/// Label and value of each series that is the same in all of its points.
fn levels(series: &[Series]) -> Vec<(&str, f64)> {
    let level = |points: &Points| {
        let first = *points.values().next().unwrap();
        assert!(points.values().all(|value| *value == first), "{points:?}");
        first
    };
    series.iter().map(|series| (series.label.as_str(), level(&series.points))).collect()
}

fn ok(result: Result<BTreeMap<String, Vec<Series>>, NotModelled>) -> BTreeMap<String, Vec<Series>> {
    result.unwrap_or_else(|refusal| panic!("{refusal}"))
}
