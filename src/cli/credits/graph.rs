//! A graph of one line.

use crate::metricmath::{Points, Window};

/// Most columns: with a title and a scale they fill 80.
const COLUMNS: i64 = 48;

/// What a column shows of the points that fall in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Mean,
    Lowest,
}

/// Columns of equal time; one without data is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Seconds that a column stands for.
    pub step: i64,
    pub columns: Vec<Option<f64>>,
}

/// Seconds that a column stands for: a whole number of periods.
pub fn step(window: Window) -> i64 {
    let period = i64::from(window.period.max(1));
    let periods = (window.to - window.from + period - 1) / period;
    period * ((periods + COLUMNS - 1) / COLUMNS).max(1)
}

impl Graph {
    pub fn of(points: &Points, window: Window, of: Of) -> Graph {
        let step = step(window);
        let starts = (window.from..window.to).step_by(usize::try_from(step).unwrap_or(1));
        let column = |start: i64| {
            let values = points.range(start..(start + step).min(window.to)).map(|(_, value)| *value);
            match of {
                Of::Lowest => values.reduce(f64::min),
                Of::Mean => {
                    let (sum, number) =
                        values.fold((0.0, 0_u32), |(sum, number), value| (sum + value, number + 1));
                    (number > 0).then(|| sum / f64::from(number))
                }
            }
        };
        Graph { step, columns: starts.map(column).collect() }
    }

    /// The highest value, where the scale ends; none without data.
    pub fn top(&self) -> Option<f64> {
        self.columns.iter().flatten().copied().reduce(f64::max)
    }

    /// A character for each column, from 0 to [`Graph::top`]; a dot where there are no data.
    pub fn line(&self) -> String {
        const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let top = self.top().unwrap_or_default();
        let character = |value: &Option<f64>| match value {
            None => GAP,
            Some(value) if *value > 0.0 => {
                let level = (value / top * LEVELS.len() as f64).ceil() as usize;
                LEVELS.get(level.clamp(1, LEVELS.len()) - 1).copied().unwrap_or(GAP)
            }
            Some(_) => '_',
        };
        self.columns.iter().map(character).collect()
    }

    /// Whether there are data, and not everywhere.
    pub fn has_gaps(&self) -> bool {
        self.top().is_some() && self.columns.iter().any(Option::is_none)
    }
}

/// Stands for a column without data.
pub const GAP: char = '·';

#[cfg(test)]
mod tests {
    use super::*;

    /// Six hours: columns of 8 minutes.
    const WINDOW: Window = Window { from: 7_200, to: 7_200 + 21_600, period: 60 };

    #[test]
    fn a_column_is_a_whole_number_of_periods() {
        let of = |hours: i64, period| step(Window { from: 0, to: hours * 3_600, period });
        // 360, 60 and 1,440 minutes; 300 five minutes; 361 hours: in 48 columns at most.
        assert_eq!(
            [of(6, 60), of(1, 60), of(24, 60), of(25, 300), of(361, 3_600)],
            [480, 120, 1_800, 2_100, 28_800]
        );
        assert_eq!(Graph::of(&Points::new(), WINDOW, Of::Mean).columns, vec![None; 45]);
    }

    #[test]
    fn a_column_is_the_mean_or_the_lowest_of_its_points() {
        let points = Points::from([(7_140, 100.0), (7_200, 8.0), (7_620, 2.0), (7_680, 16.0), (28_740, 1.0)]);
        let columns = |of| {
            let columns = Graph::of(&points, WINDOW, of).columns;
            [columns[0], columns[1], columns[2], columns[44]]
        };
        assert_eq!(columns(Of::Mean), [Some(5.0), Some(16.0), None, Some(1.0)]);
        assert_eq!(columns(Of::Lowest), [Some(2.0), Some(16.0), None, Some(1.0)]);
    }

    #[test]
    fn the_line_goes_from_nothing_to_the_highest_and_shows_gaps() {
        let graph = |columns: &[Option<f64>]| Graph { step: 60, columns: columns.to_vec() };
        let values = [Some(0.0), Some(0.1), Some(1.0), Some(1.1), None, Some(7.0), Some(8.0)];
        assert_eq!(graph(&values).line(), "_▁▁▂·▇█");
        assert_eq!((graph(&values).top(), graph(&values).has_gaps()), (Some(8.0), true));
        assert_eq!(graph(&[Some(0.0); 3]).line(), "___");
        assert_eq!((graph(&[None; 3]).line(), graph(&[None; 3]).has_gaps()), ("···".to_owned(), false));
    }
}
