//! Searches (CloudWatch User Guide, "CloudWatch search expression syntax"): those that name a whole metric.
//!
//! `SEARCH('{Namespace,Dimension,..} MetricName="..." [Dimension="..."] [NOT Dimension="..."]', 'Statistic')`

use super::samples::Samples;
use super::selection::{Filter, Selection, value};
use super::text::Text;
use super::window::Periods;
use super::{Metric, Series};

/// CloudWatch's limit, in characters.
const LONGEST: usize = 1024;

/// Searches give no more.
const MOST_SERIES: usize = 500;

/// What may be escaped between double quotes.
const ESCAPED: &str = "\"\\()";

/// `statistic` as it stands in the second argument.
///
/// # Errors
///
/// What CloudWatch would not take, and what is not modelled: searches without a schema or the metric's name, and
/// partial matches.
pub(super) fn parse(text: &str, statistic: &str) -> Result<Selection, String> {
    if text.chars().count() > LONGEST {
        return Err(format!("the search has more than {LONGEST} characters"));
    }
    search(text, statistic).map_err(|reason| format!("in the search, {reason}"))
}

fn search(text: &str, statistic: &str) -> Result<Selection, String> {
    let stat = statistic.parse()?;
    let mut text = Text::new(text);
    text.expect("{")?;
    let namespace = name(&mut text, "the namespace")?;
    let mut dimensions = Vec::new();
    while text.eat(",") {
        dimensions.push(name(&mut text, "the name of a dimension")?);
    }
    text.expect("}")?;
    text.eat(",");

    let mut metric = None;
    let mut filters = Vec::new();
    while text.peek().is_some() {
        let equal = !operator(&mut text, "NOT");
        let (name, value) = term(&mut text)?;
        match name {
            "MetricName" if equal && metric.is_none() => metric = Some(value),
            "MetricName" => return Err("MetricName is not modelled twice or after NOT".into()),
            _ if dimensions.iter().any(|dimension| dimension == name) => {
                filters.push(Filter { dimension: name.to_owned(), value, equal });
            }
            _ => return Err(format!("{name} is neither MetricName nor a dimension in the braces")),
        }
        operator(&mut text, "AND");
    }
    let metric = metric.ok_or("MetricName=\"..\" is missing: without it a search is not modelled")?;
    Ok(Selection { namespace, metric, dimensions: Some(dimensions), stat, filters, group_by: Vec::new() })
}

/// A name in the braces; without quotes if it has letters, digits, `_` and `/` only.
fn name(text: &mut Text<'_>, what: &str) -> Result<String, String> {
    if text.peek() == Some('"') {
        return text.quoted('"', ESCAPED);
    }
    match text.run(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '/')) {
        "" => {
            Err(text.found(&format!("{what}, in double quotes if it has more than letters, digits, _ and /")))
        }
        name => Ok(name.to_owned()),
    }
}

fn term<'a>(text: &mut Text<'a>) -> Result<(&'a str, String), String> {
    const ALLOWED: &str = "MetricName=\"..\" or a dimension's NAME=\"..\" (OR, parentheses and partial matches are \
                           not modelled)";
    let name = text.next_word();
    if matches!(name, "" | "AND" | "OR" | "NOT") {
        return Err(text.found(ALLOWED));
    }
    text.word();
    text.expect("=")?;
    if text.peek() != Some('"') {
        return Err(text.found("a value in double quotes (partial matches are not modelled)"));
    }
    Ok((name, text.quoted('"', ESCAPED)?))
}

/// Upper case only.
fn operator(text: &mut Text<'_>, operator: &str) -> bool {
    let found = text.next_word() == operator;
    if found {
        text.word();
    }
    found
}

/// The series of each metric, also of those without data in these periods, named after what tells it from the others.
pub(super) fn run(selection: &Selection, samples: &Samples, periods: &Periods) -> Vec<Series> {
    let found: Vec<&Metric> = selection.metrics(samples).take(MOST_SERIES).collect();
    let dimensions = selection.dimensions.as_deref().unwrap_or_default();
    let differs = |name: &&String| {
        let mut values = found.iter().map(|metric| value(metric, name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let differing: Vec<&String> = dimensions.iter().filter(differs).collect();
    let label = |metric: &Metric| match differing.as_slice() {
        [] => metric.metric_name.clone(),
        names => names.iter().filter_map(|name| value(metric, name)).collect::<Vec<_>>().join(" "),
    };
    let series = |metric: &&Metric| Series {
        label: label(metric),
        points: samples.points([*metric], selection.stat, periods),
    };
    found.iter().map(series).collect()
}
