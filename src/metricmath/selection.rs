//! Which metrics a search or a query of Metrics Insights is about.

use super::samples::{Samples, Statistic};
use super::{Dimension, Metric};

/// The metrics that a search or a query of Metrics Insights is about, and what it asks of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub namespace: String,
    pub metric: String,
    /// The names of its dimensions: a metric with one more or one less is another. None: all metrics of that name.
    pub dimensions: Option<Vec<String>>,
    pub stat: Statistic,
    /// All of them hold.
    pub filters: Vec<Filter>,
    /// GROUP BY; empty in a search, where each metric stays by itself.
    pub group_by: Vec<String>,
}

/// What the value of a dimension must be, or must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub dimension: String,
    pub value: String,
    pub equal: bool,
}

impl Selection {
    /// The metrics among those that have data.
    pub(super) fn metrics<'a>(&'a self, samples: &'a Samples) -> impl Iterator<Item = &'a Metric> {
        samples.metrics().filter(|metric| self.holds(metric))
    }

    fn holds(&self, metric: &Metric) -> bool {
        metric.namespace == self.namespace
            && metric.metric_name == self.metric
            && self.dimensions.as_ref().is_none_or(|names| has_exactly(&metric.dimensions, names))
            && self.filters.iter().all(|filter| {
                (value(metric, &filter.dimension) == Some(filter.value.as_str())) == filter.equal
            })
    }
}

/// The value of one of its dimensions.
pub(super) fn value<'a>(metric: &'a Metric, dimension: &str) -> Option<&'a str> {
    metric.dimensions.iter().find(|found| found.name == dimension).map(|found| found.value.as_str())
}

fn has_exactly(dimensions: &[Dimension], names: &[String]) -> bool {
    dimensions.len() == names.len() && dimensions.iter().all(|dimension| names.contains(&dimension.name))
}
