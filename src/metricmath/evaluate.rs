//! All queries of a request, each after those that it names.

use std::collections::BTreeMap;

use super::expression::{self, Expression, Form};
use super::samples::{Samples, identity};
use super::value::Value;
use super::window::{Periods, Window};
use super::{NotModelled, Purpose, Query, Series};

/// CloudWatch's limit (API Reference, GetMetricData).
const MOST_QUERIES: usize = 500;

/// What each query gives, by its id; also of those that return no data. One that gives a scalar, which only one that
/// returns no data may, has no series.
///
/// The window's period takes the place of all others. Points come from within the window only: RATE, DIFF and DIFF_TIME
/// have no value at a series' first point, so let the window begin earlier than what is needed.
///
/// # Errors
///
/// The first part of a query that is not modelled here, or that CloudWatch refuses.
pub fn evaluate(
    queries: &[Query],
    samples: &Samples,
    window: Window,
    purpose: Purpose,
) -> Result<BTreeMap<String, Vec<Series>>, NotModelled> {
    let Some(first) = queries.first() else { return Ok(BTreeMap::new()) };
    let periods = Periods::new(window).map_err(|reason| refused(first, reason))?;
    check(queries, purpose)?;

    let mut request = Request { samples, periods, purpose, metrics: Vec::new(), known: BTreeMap::new() };
    let mut waiting = Vec::new();
    for query in queries {
        match &query.expression {
            Some(text) => {
                let expression = expression::parse(text).map_err(|reason| refused(query, reason))?;
                waiting.push((query, expression));
            }
            None => request.metric(query).map_err(|reason| refused(query, reason))?,
        }
    }
    check_names(&waiting, queries)?;
    while !waiting.is_empty() {
        let ready = |(_, expression): &(&Query, Expression)| {
            expression.ids().iter().all(|id| request.known.contains_key(*id))
        };
        let (next, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(ready);
        if next.is_empty() {
            return Err(circle(&later, &request));
        }
        for (query, expression) in &next {
            request.expression(query, expression).map_err(|reason| refused(query, reason))?;
        }
        waiting = later;
    }
    Ok(request.known.into_iter().map(|(id, known)| (id, known.series())).collect())
}

fn refused(query: &Query, reason: String) -> NotModelled {
    NotModelled { query: query.id.clone(), reason }
}

/// What can be said without looking into the expressions.
fn check(queries: &[Query], purpose: Purpose) -> Result<(), NotModelled> {
    let mut returning = 0;
    for (index, query) in queries.iter().enumerate() {
        let refuse = |reason: String| Err(refused(query, reason));
        let mut characters = query.id.chars();
        if !characters.next().is_some_and(|character| character.is_ascii_lowercase())
            || !characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
        {
            return refuse("an id begins with a lower-case letter and has letters, digits and _ only".into());
        }
        if index >= MOST_QUERIES {
            return refuse(format!("there are more than {MOST_QUERIES} queries"));
        }
        if queries.iter().take(index).any(|other| other.id == query.id) {
            return refuse("two queries have this id".into());
        }
        if query.metric_stat.is_some() == query.expression.is_some() {
            return refuse("a query has either MetricStat or Expression".into());
        }
        returning += usize::from(query.return_data != Some(false));
        if purpose == Purpose::Alarm && returning > 1 {
            return refuse("just one query of an alarm has ReturnData true".into());
        }
    }
    match queries.last() {
        Some(last) if purpose == Purpose::Alarm && returning == 0 => {
            Err(refused(last, "one query of an alarm has ReturnData true".into()))
        }
        _ => Ok(()),
    }
}

/// Every id that is named is there, and there is one query of Metrics Insights at most.
fn check_names(expressions: &[(&Query, Expression)], queries: &[Query]) -> Result<(), NotModelled> {
    let mut insights = 0;
    for (query, expression) in expressions {
        for id in expression.ids() {
            if !queries.iter().any(|other| other.id == id) {
                return Err(refused(query, format!("no query has the id {id}")));
            }
        }
        insights += usize::from(matches!(expression.form, Form::Insights(_)));
        if insights > 1 {
            return Err(refused(query, "there is more than one query of Metrics Insights".into()));
        }
    }
    Ok(())
}

/// Which of the expressions lead back to themselves.
fn circle(expressions: &[(&Query, Expression)], request: &Request<'_>) -> NotModelled {
    let mut path = Vec::new();
    let mut next = expressions.first();
    while let Some((query, expression)) = next {
        if let Some(start) = path.iter().position(|seen: &&Query| seen.id == query.id) {
            let ids = path.iter().skip(start).chain([query]).map(|query| query.id.as_str());
            return refused(query, format!("it needs itself: {}", ids.collect::<Vec<_>>().join(" needs ")));
        }
        path.push(*query);
        let ids = expression.ids();
        let unknown = ids.iter().find(|id| !request.known.contains_key(**id));
        next = unknown.and_then(|id| expressions.iter().find(|(query, _)| query.id == **id));
    }
    NotModelled { query: String::new(), reason: "expressions need one another".into() }
}

/// "Expression-Label Metric-Label", as far as there are any ("Add a math expression to a CloudWatch graph").
fn label_in_array(query: &Query, label: &str) -> String {
    match [query.label.as_deref().unwrap_or_default(), label] {
        ["", ""] => query.id.clone(),
        ["", label] | [label, ""] => label.to_owned(),
        both => both.join(" "),
    }
}

/// What is known of a request so far.
pub(super) struct Request<'a> {
    pub samples: &'a Samples,
    pub periods: Periods,
    pub purpose: Purpose,
    /// The ids of the metrics, as METRICS() gives them.
    pub metrics: Vec<String>,
    known: BTreeMap<String, Known>,
}

/// What a query gives.
#[derive(Clone)]
pub(super) struct Known {
    pub label: String,
    pub value: Value,
}

impl Known {
    /// Each with a label.
    pub fn series(self) -> Vec<Series> {
        match self.value {
            Value::Scalar(_) => Vec::new(),
            Value::Series(points) => vec![Series { label: self.label, points }],
            Value::Array(array) => array,
        }
    }
}

impl Request<'_> {
    fn metric(&mut self, query: &Query) -> Result<(), String> {
        let Some(asked) = &query.metric_stat else { return Ok(()) };
        let points =
            self.samples.points([&identity(asked.metric.clone())], asked.stat.parse()?, &self.periods);
        let label = query.label.clone().unwrap_or_else(|| asked.metric.metric_name.clone());
        self.metrics.push(query.id.clone());
        self.known.insert(query.id.clone(), Known { label, value: Value::Series(points) });
        Ok(())
    }

    fn expression(&mut self, query: &Query, expression: &Expression) -> Result<(), String> {
        let mut value = match &expression.form {
            Form::Math(term) => self.value(term)?,
            Form::Insights(insights) => {
                let mut series = insights.run(self.samples, &self.periods);
                match insights.selection.group_by.is_empty() {
                    true => Value::Series(series.pop().map(|series| series.points).unwrap_or_default()),
                    false => Value::Array(series),
                }
            }
        };
        if query.return_data != Some(false) {
            match (&value, &expression.form) {
                (Value::Scalar(_), _) => {
                    return Err("it gives a scalar: CloudWatch takes a series or an array of series".into());
                }
                (Value::Array(_), Form::Math(_)) if self.purpose == Purpose::Alarm => {
                    return Err("it gives an array of series: an alarm watches one".into());
                }
                _ => (),
            }
        }
        if let Value::Array(array) = &mut value {
            array.iter_mut().for_each(|series| series.label = label_in_array(query, &series.label));
        }
        let label = query.label.clone().unwrap_or_else(|| query.id.clone());
        self.known.insert(query.id.clone(), Known { label, value });
        Ok(())
    }

    pub fn known(&self, id: &str) -> Result<Known, String> {
        self.known.get(id).cloned().ok_or_else(|| format!("no query has the id {id}"))
    }
}
