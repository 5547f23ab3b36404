//! The metrics that an alarm asks for.

use crate::alarm::Alarm;
use crate::metricmath::{MetricStat, Query, Selection, parse};

/// A metric, and how it is asked for.
pub struct Asked {
    /// Where: a member of the alarm.
    pub place: String,
    pub namespace: String,
    pub name: String,
    /// The names of its dimensions; None: whatever they are.
    pub dimensions: Option<Vec<String>>,
    pub stat: String,
    /// Seconds.
    pub period: Option<u32>,
}

/// All of them, those within queries of Metrics Insights too.
pub fn asked(alarm: &Alarm) -> Vec<Asked> {
    let dimensions = alarm.dimensions.iter().map(|dimension| dimension.name.clone()).collect();
    let single = alarm.metric_name.as_ref().map(|name| Asked {
        place: "MetricName".to_owned(),
        namespace: alarm.namespace.clone().unwrap_or_default(),
        name: name.clone(),
        dimensions: Some(dimensions),
        stat: alarm.statistic.clone().unwrap_or_default(),
        period: alarm.period,
    });
    single.into_iter().chain(alarm.metrics.iter().flat_map(of_query)).collect()
}

fn of_query(query: &Query) -> Vec<Asked> {
    let metric = query.metric_stat.iter().map(|stat| of_metric(query, stat));
    let expression = query.expression.as_deref().and_then(|text| parse(text).ok());
    let selections = expression.as_ref().map(|expression| expression.selections()).unwrap_or_default();
    metric.chain(selections.into_iter().map(|selection| of_selection(query, selection))).collect()
}

fn of_metric(query: &Query, stat: &MetricStat) -> Asked {
    Asked {
        place: place(query),
        namespace: stat.metric.namespace.clone(),
        name: stat.metric.metric_name.clone(),
        dimensions: Some(stat.metric.dimensions.iter().map(|dimension| dimension.name.clone()).collect()),
        stat: stat.stat.clone(),
        period: Some(stat.period),
    }
}

fn of_selection(query: &Query, selection: &Selection) -> Asked {
    Asked {
        place: place(query),
        namespace: selection.namespace.clone(),
        name: selection.metric.clone(),
        dimensions: selection.dimensions.clone(),
        stat: selection.stat.name().to_owned(),
        period: query.period,
    }
}

/// What a query is called in messages.
pub fn place(query: &Query) -> String {
    format!("Metrics {}", query.id)
}

/// Whether an expression is a query of Metrics Insights.
pub fn is_query(expression: &str) -> bool {
    expression.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("SELECT"))
}
