//! Metrics Insights (CloudWatch User Guide, "Query components and syntax in CloudWatch Metrics Insights").
//!
//! `SELECT FUNCTION(metric) FROM "namespace" | SCHEMA("namespace", dimension, ..) [WHERE dimension = 'value' [AND ..]]
//! [GROUP BY dimension, ..] [ORDER BY FUNCTION() [ASC | DESC]] [LIMIT number]`

use std::collections::BTreeMap;

use super::aggregate::{Aggregate, Direction};
use super::samples::{Samples, Statistic};
use super::selection::{Filter, Selection, value};
use super::text::Text;
use super::window::Periods;
use super::{Metric, Series};

/// A query of Metrics Insights.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Insights {
    pub selection: Selection,
    order: Option<(Aggregate, Direction)>,
    limit: usize,
}

/// Queries give no more series, and LIMIT takes no more.
const MOST_SERIES: usize = 500;

/// What has no such dimension, grouped by it.
const NO_VALUE: &str = "Other";

/// The words of a query; a name that is one of them stands in double quotes.
#[rustfmt::skip]
const KEYWORDS: [&str; 18] = [
    "SELECT", "FROM", "SCHEMA", "WHERE", "AND", "OR", "NOT", "GROUP", "ORDER", "BY", "ASC", "DESC", "LIMIT",
    "AVG", "COUNT", "MAX", "MIN", "SUM",
];

/// Whether a text is meant to be a query and not a mathematical expression.
pub(super) fn is_query(text: &str) -> bool {
    Text::new(text).keyword("SELECT")
}

/// # Errors
///
/// What CloudWatch would not take, and what is not modelled: tags and accounts, and `!=` where a metric may lack the
/// dimension.
pub(super) fn parse(text: &str) -> Result<Insights, String> {
    let mut text = Text::new(text);
    expect(&mut text, "SELECT")?;
    let stat = statistic(aggregate(&mut text)?);
    text.expect("(")?;
    let metric = name(&mut text, "the name of a metric")?;
    text.expect(")")?;

    expect(&mut text, "FROM")?;
    let (namespace, dimensions) = from(&mut text)?;
    let mut clauses = "WHERE, GROUP BY, ORDER BY, LIMIT or the end";
    let filters = if text.keyword("WHERE") {
        clauses = "AND, GROUP BY, ORDER BY, LIMIT or the end";
        filters(&mut text, dimensions.as_deref())?
    } else {
        Vec::new()
    };
    let mut group_by = Vec::new();
    if text.keyword("GROUP") {
        clauses = "ORDER BY, LIMIT or the end";
        expect(&mut text, "BY")?;
        group_by.push(dimension(&mut text)?);
        while text.eat(",") {
            group_by.push(dimension(&mut text)?);
        }
    }
    let mut order = None;
    if text.keyword("ORDER") {
        clauses = "ASC, DESC, LIMIT or the end";
        expect(&mut text, "BY")?;
        let by = aggregate(&mut text)?;
        text.expect("(")?;
        text.expect(")")?;
        let descending = text.keyword("DESC");
        if !descending {
            text.keyword("ASC");
        }
        order = Some((by, if descending { Direction::Descending } else { Direction::Ascending }));
    }
    let mut most = MOST_SERIES;
    if text.keyword("LIMIT") {
        clauses = "the end";
        most = limit(&mut text)?;
    }
    text.end(clauses)?;
    let selection = Selection { namespace, metric, dimensions, stat, filters, group_by };
    Ok(Insights { selection, order, limit: most })
}

fn expect(text: &mut Text<'_>, keyword: &str) -> Result<(), String> {
    if text.keyword(keyword) { Ok(()) } else { Err(text.found(keyword)) }
}

fn aggregate(text: &mut Text<'_>) -> Result<Aggregate, String> {
    let word = text.next_word().to_ascii_uppercase();
    let known = match word.as_str() {
        "AVG" => Aggregate::Average,
        "COUNT" => Aggregate::Count,
        "MAX" => Aggregate::Maximum,
        "MIN" => Aggregate::Minimum,
        "SUM" => Aggregate::Sum,
        _ => return Err(text.found("AVG, COUNT, MAX, MIN or SUM")),
    };
    text.word();
    Ok(known)
}

fn statistic(aggregate: Aggregate) -> Statistic {
    match aggregate {
        Aggregate::Average => Statistic::Average,
        Aggregate::Count => Statistic::SampleCount,
        Aggregate::Maximum => Statistic::Maximum,
        Aggregate::Minimum => Statistic::Minimum,
        Aggregate::Sum => Statistic::Sum,
    }
}

/// Without quotes if it has letters, digits and `_` only.
fn name(text: &mut Text<'_>, what: &str) -> Result<String, String> {
    if text.peek() == Some('"') {
        return text.quoted('"', "\"'");
    }
    let word = text.next_word();
    if word.is_empty() || KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word)) {
        return Err(text.found(&format!(
            "{what}, in double quotes if it has more than letters, digits and _, or is a keyword"
        )));
    }
    Ok(text.word().to_owned())
}

fn dimension(text: &mut Text<'_>) -> Result<String, String> {
    let name = name(text, "the name of a dimension")?;
    if text.peek() == Some('.') {
        return Err(format!("{name:?} before a period is not modelled: neither tags nor accounts are"));
    }
    Ok(name)
}

/// The namespace; and the dimensions, unless it may be any.
fn from(text: &mut Text<'_>) -> Result<(String, Option<Vec<String>>), String> {
    if !text.keyword("SCHEMA") {
        return Ok((name(text, "SCHEMA or a namespace")?, None));
    }
    text.expect("(")?;
    let namespace = name(text, "a namespace")?;
    let mut dimensions = Vec::new();
    while text.eat(",") {
        dimensions.push(dimension(text)?);
    }
    text.expect(")")?;
    Ok((namespace, Some(dimensions)))
}

fn filters(text: &mut Text<'_>, schema: Option<&[String]>) -> Result<Vec<Filter>, String> {
    let mut filters = Vec::new();
    loop {
        let dimension = dimension(text)?;
        let equal = !text.eat("!=");
        if equal && !text.eat("=") {
            return Err(text.found("= or !="));
        }
        if !equal && !schema.is_some_and(|names| names.contains(&dimension)) {
            return Err(format!("{dimension} != .. is modelled only when SCHEMA names {dimension}"));
        }
        filters.push(Filter { dimension, value: text.quoted('\'', "")?, equal });
        if !text.keyword("AND") {
            return Ok(filters);
        }
    }
}

fn limit(text: &mut Text<'_>) -> Result<usize, String> {
    let digits = text.next_word();
    match digits.parse() {
        Ok(limit @ 1..=MOST_SERIES) => {
            text.word();
            Ok(limit)
        }
        _ => Err(text.found(&format!("a number from 1 to {MOST_SERIES}"))),
    }
}

impl Insights {
    /// The series in order: one without GROUP BY, else one for each group that has data.
    pub fn run(&self, samples: &Samples, periods: &Periods) -> Vec<Series> {
        let Selection { group_by, stat, .. } = &self.selection;
        let mut groups = BTreeMap::<Vec<&str>, Vec<&Metric>>::new();
        if group_by.is_empty() {
            groups.insert(Vec::new(), Vec::new());
        }
        for metric in self.selection.metrics(samples) {
            let key = group_by.iter().map(|dimension| value(metric, dimension).unwrap_or(NO_VALUE)).collect();
            groups.entry(key).or_default().push(metric);
        }
        let series = groups.into_iter().map(|(key, metrics)| Series {
            label: key.join(" "),
            points: samples.points(metrics, *stat, periods),
        });
        let mut series: Vec<Series> =
            series.filter(|series| group_by.is_empty() || !series.points.is_empty()).collect();
        if let Some((by, direction)) = self.order {
            series = direction.sort(series, |series| by.of(series.points.values(), series.points.len()));
        }
        series.truncate(self.limit);
        series
    }
}
