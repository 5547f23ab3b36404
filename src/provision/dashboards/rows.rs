//! The rows of a graph's `metrics` (CloudWatch API Reference, "Dashboard Body Structure and Syntax"): a metric, or an
//! expression, with options behind it.

use serde_json::{Map, Value};

use crate::catalog::{METRICS, Metric, Profile, Scope};
use crate::metricmath;

/// A row.
pub(super) struct Row<'a> {
    pub kind: Kind,
    pub options: Option<&'a Map<String, Value>>,
}

pub(super) enum Kind {
    Metric(Used),
    Expression(String),
}

/// A metric that a row or a query asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Used {
    pub namespace: String,
    pub metric: String,
    /// The names of its dimensions.
    pub dimensions: Vec<String>,
}

/// Every row, or what is wrong with it. `.` stands for the cell above, `...` for as many as are missing.
pub(super) fn rows(metrics: &[Value]) -> Vec<Result<Row<'_>, String>> {
    let mut above: Vec<String> = Vec::new();
    metrics.iter().map(|row| read(row, &mut above)).collect()
}

fn read<'a>(row: &'a Value, above: &mut Vec<String>) -> Result<Row<'a>, String> {
    let Some(cells) = row.as_array() else { return Err(format!("found {row}; a row is an array")) };
    let (cells, options) = match cells.split_last() {
        Some((Value::Object(options), cells)) => (cells, Some(options)),
        _ => (cells.as_slice(), None),
    };
    if let Some(expression) = options.and_then(|options| options.get("expression")) {
        return match (expression.as_str(), cells.is_empty()) {
            (Some(text), true) => Ok(Row { kind: Kind::Expression(text.to_owned()), options }),
            (Some(_), false) => Err("has both a metric and an expression".to_owned()),
            (None, _) => Err(format!("found the expression {expression}; it is a string")),
        };
    }
    let cells: Option<Vec<&str>> = cells.iter().map(Value::as_str).collect();
    let Some(cells) = cells else { return Err("has a cell that is not a string".to_owned()) };
    *above = whole(&cells, above)?;
    match above.as_slice() {
        [namespace, metric, dimensions @ ..] if dimensions.len() % 2 == 0 => {
            let used = Used {
                namespace: namespace.clone(),
                metric: metric.clone(),
                dimensions: dimensions.iter().step_by(2).cloned().collect(),
            };
            Ok(Row { kind: Kind::Metric(used), options })
        }
        _ => Err(format!(
            "found {} cells; a metric has a namespace, a name, and a name and a value for each dimension",
            above.len()
        )),
    }
}

fn whole(cells: &[&str], above: &[String]) -> Result<Vec<String>, String> {
    let nothing = || "repeats a cell of the row above, which has none there".to_owned();
    let mut whole = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        match *cell {
            "." => whole.push(above.get(whole.len()).cloned().ok_or_else(nothing)?),
            "..." => {
                let behind = cells.len() - index - 1;
                let end = above.len().checked_sub(behind).ok_or_else(nothing)?;
                whole.extend(above.get(whole.len()..end).ok_or_else(nothing)?.iter().cloned());
            }
            cell => whole.push(cell.to_owned()),
        }
    }
    Ok(whole)
}

impl Used {
    /// Its row in the catalog, if it is efsmon's own, and whose figure it is.
    pub fn own(&self) -> Option<(&'static Metric, Scope, Profile)> {
        let metric = METRICS.iter().find(|metric| metric.name == self.metric)?;
        let scope = metric.scopes.iter().find(|(scope, _)| self.has(scope.dimensions()));
        scope.map(|(scope, from)| (metric, *scope, *from))
    }

    /// Whether it has exactly these dimensions, in any order.
    pub fn has(&self, dimensions: &[&str]) -> bool {
        self.dimensions.len() == dimensions.len()
            && dimensions.iter().all(|name| self.dimensions.iter().any(|found| found == name))
    }
}

/// A metric that is asked for, and by which statistic.
pub(super) struct Asked {
    pub used: Used,
    pub stat: String,
}

/// Whether an expression is a query of Metrics Insights.
pub(super) fn is_insights(expression: &str) -> bool {
    let word = expression.split_whitespace().next();
    word.is_some_and(|word| word.eq_ignore_ascii_case("SELECT"))
}

impl Row<'_> {
    /// What it asks for. `stat`: what its metric is asked by. Nothing of an expression that is not understood.
    pub fn asked(&self, stat: &str) -> Vec<Asked> {
        match &self.kind {
            Kind::Metric(used) => vec![Asked { used: used.clone(), stat: stat.to_owned() }],
            Kind::Expression(text) => {
                let Ok(expression) = metricmath::parse(text) else { return Vec::new() };
                let selections = expression.selections().into_iter();
                selections
                    .filter_map(|selection| {
                        let used = Used {
                            namespace: selection.namespace.clone(),
                            metric: selection.metric.clone(),
                            dimensions: selection.dimensions.clone()?,
                        };
                        Some(Asked { used, stat: selection.stat.name().to_owned() })
                    })
                    .collect()
            }
        }
    }

    /// The ids that its expression names. Nothing of an expression that is not understood.
    pub fn names(&self) -> Vec<String> {
        let Kind::Expression(text) = &self.kind else { return Vec::new() };
        let expression = metricmath::parse(text);
        expression.map(|found| found.ids().into_iter().map(str::to_owned).collect()).unwrap_or_default()
    }
}
