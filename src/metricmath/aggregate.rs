//! Many values to one, and the order of series by it.

use super::Series;

/// What many values become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    Average,
    Count,
    Maximum,
    Minimum,
    Sum,
}

impl Aggregate {
    /// `places`: how many values there could be. A missing one counts 0 in an average and not at all in the others.
    pub fn of<'a>(self, values: impl Iterator<Item = &'a f64>, places: usize) -> Option<f64> {
        let value = match self {
            Aggregate::Average => values.sum::<f64>() / places as f64,
            Aggregate::Count => values.count() as f64,
            Aggregate::Maximum => values.copied().reduce(f64::max)?,
            Aggregate::Minimum => values.copied().reduce(f64::min)?,
            Aggregate::Sum => values.sum(),
        };
        value.is_finite().then_some(value)
    }
}

/// The order of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    /// Those without a value go last; equals stay as they are.
    pub fn sort(self, series: Vec<Series>, value: impl Fn(&Series) -> Option<f64>) -> Vec<Series> {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for series in series {
            match value(&series) {
                Some(value) => with.push((value, series)),
                None => without.push(series),
            }
        }
        with.sort_by(|(a, _), (b, _)| match self {
            Direction::Ascending => a.total_cmp(b),
            Direction::Descending => b.total_cmp(a),
        });
        with.into_iter().map(|(_, series)| series).chain(without).collect()
    }
}
