//! The functions (CloudWatch User Guide, "Functions supported for metric math").

use std::collections::BTreeMap;

use super::aggregate::Aggregate;
use super::expression::Function;
use super::value::{Value, values};
use super::window::Periods;
use super::{Points, Purpose, Series};

/// A function of one argument.
///
/// # Errors
///
/// The argument is of another kind than the function takes, or an alarm had better not use it.
pub(super) fn call(
    function: Function,
    argument: Value,
    periods: &Periods,
    purpose: Purpose,
) -> Result<Value, String> {
    let name = function.name();
    if purpose == Purpose::Alarm && of_the_whole_window(function, &argument) {
        return Err(format!(
            "{name} of {} is not for alarms: it depends on how many points CloudWatch fetches, which is more than \
             the alarm's periods",
            argument.kind()
        ));
    }
    match (function, argument) {
        (Function::TimeSeries, Value::Scalar(scalar)) => {
            let points = periods.starts().filter_map(|at| Some((at, scalar?)));
            Ok(Value::Series(points.collect()))
        }
        (Function::First, Value::Array(array)) => Ok(Value::Series(alone(array.into_iter().next()))),
        (Function::Last, Value::Array(array)) => Ok(Value::Series(alone(array.into_iter().next_back()))),
        (Function::MetricCount, Value::Array(array)) => Ok(Value::Scalar(Some(array.len() as f64))),
        (Function::RemoveEmpty, Value::Array(mut array)) => {
            array.retain(|series| !series.points.is_empty());
            Ok(Value::Array(array))
        }
        (Function::Aggregate(aggregate), Value::Series(points)) => {
            Ok(Value::Scalar(of_series(aggregate, &points, periods)))
        }
        (Function::Aggregate(aggregate), Value::Array(array)) => Ok(Value::Series(across(aggregate, &array))),
        (_, Value::Scalar(_)) => Err(format!("{name} takes {}, not a scalar", function.takes())),
        (_, argument) => match function.of_points() {
            Some(of_points) => Ok(argument.map(of_points)),
            None => Err(format!("{name} takes {}, not {}", function.takes(), argument.kind())),
        },
    }
}

/// "We recommend that you do not use this function in CloudWatch alarms."
fn of_the_whole_window(function: Function, argument: &Value) -> bool {
    match function {
        Function::RemoveEmpty | Function::RunningSum | Function::Aggregate(Aggregate::Count) => true,
        Function::Aggregate(_) => matches!(argument, Value::Series(_)),
        _ => false,
    }
}

fn alone(series: Option<Series>) -> Points {
    series.map(|series| series.points).unwrap_or_default()
}

/// A series as one number; in an average, a period without a point counts 0.
pub(super) fn of_series(aggregate: Aggregate, points: &Points, periods: &Periods) -> Option<f64> {
    aggregate.of(points.values(), usize::try_from(periods.count).unwrap_or_default())
}

/// Many series as one, time by time; in an average, a series without a point counts 0.
fn across(aggregate: Aggregate, array: &[Series]) -> Points {
    let mut columns = BTreeMap::<i64, Vec<f64>>::new();
    for (at, value) in array.iter().flat_map(|series| &series.points) {
        columns.entry(*at).or_default().push(*value);
    }
    let value = |column: Vec<f64>| aggregate.of(column.iter(), array.len());
    columns.into_iter().filter_map(|(at, column)| Some((at, value(column)?))).collect()
}

impl Function {
    pub const ALL: [Function; 19] = [
        Function::Abs,
        Function::Aggregate(Aggregate::Average),
        Function::Aggregate(Aggregate::Count),
        Function::Aggregate(Aggregate::Maximum),
        Function::Aggregate(Aggregate::Minimum),
        Function::Aggregate(Aggregate::Sum),
        Function::Ceil,
        Function::Diff,
        Function::DiffTime,
        Function::First,
        Function::Floor,
        Function::Last,
        Function::Log,
        Function::Log10,
        Function::MetricCount,
        Function::Rate,
        Function::RemoveEmpty,
        Function::RunningSum,
        Function::TimeSeries,
    ];

    pub fn named(name: &str) -> Option<Function> {
        Function::ALL.into_iter().find(|function| function.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Function::Abs => "ABS",
            Function::Aggregate(Aggregate::Average) => "AVG",
            Function::Aggregate(Aggregate::Count) => "DATAPOINT_COUNT",
            Function::Aggregate(Aggregate::Maximum) => "MAX",
            Function::Aggregate(Aggregate::Minimum) => "MIN",
            Function::Aggregate(Aggregate::Sum) => "SUM",
            Function::Ceil => "CEIL",
            Function::Diff => "DIFF",
            Function::DiffTime => "DIFF_TIME",
            Function::First => "FIRST",
            Function::Floor => "FLOOR",
            Function::Last => "LAST",
            Function::Log => "LOG",
            Function::Log10 => "LOG10",
            Function::MetricCount => "METRIC_COUNT",
            Function::Rate => "RATE",
            Function::RemoveEmpty => "REMOVE_EMPTY",
            Function::RunningSum => "RUNNING_SUM",
            Function::TimeSeries => "TIME_SERIES",
        }
    }

    fn takes(self) -> &'static str {
        match self {
            Function::First | Function::Last | Function::MetricCount | Function::RemoveEmpty => {
                "an array of series"
            }
            Function::TimeSeries => "a scalar",
            _ => "a series or an array of series",
        }
    }

    /// What it makes of each series by itself, if that is how it works.
    fn of_points(self) -> Option<fn(Points) -> Points> {
        Some(match self {
            Function::Abs => |points| values(points, f64::abs),
            Function::Ceil => |points| values(points, f64::ceil),
            Function::Floor => |points| values(points, f64::floor),
            Function::Log => |points| values(points, f64::ln),
            Function::Log10 => |points| values(points, f64::log10),
            Function::Diff => |points| steps(&points, |_, change| change),
            Function::DiffTime => |points| steps(&points, |seconds, _| seconds),
            Function::Rate => |points| steps(&points, |seconds, change| change / seconds),
            Function::RunningSum => running_sum,
            _ => return None,
        })
    }
}

/// From each point to the next one there is, whatever is missing between them, in seconds and in value. The first point
/// has none before it.
fn steps(points: &Points, step: fn(f64, f64) -> f64) -> Points {
    let following = points.iter().zip(points.iter().skip(1));
    let steps = following.map(|((before, old), (at, new))| (*at, step((at - before) as f64, new - old)));
    steps.filter(|(_, value)| value.is_finite()).collect()
}

fn running_sum(points: Points) -> Points {
    let mut sum = 0.0;
    let added = points.into_iter().map(|(at, value)| {
        sum += value;
        (at, sum)
    });
    added.filter(|(_, value)| value.is_finite()).collect()
}

/// Fills the periods between two points along a straight line; before the first and after the last stays nothing.
pub(super) fn fill_linear(points: &Points, periods: &Periods) -> Points {
    fill(points, periods, |at| {
        let (before, old) = points.range(..at).next_back()?;
        let (after, new) = points.range(at..).next()?;
        Some(old + (new - old) * ((at - before) as f64 / (after - before) as f64))
    })
}

/// Fills every period after the first point with the latest value.
pub(super) fn fill_repeat(points: &Points, periods: &Periods) -> Points {
    fill(points, periods, |at| points.range(..at).next_back().map(|(_, value)| *value))
}

/// Puts a value, if there is one, where nothing is.
pub(super) fn fill(points: &Points, periods: &Periods, filler: impl Fn(i64) -> Option<f64>) -> Points {
    let value = |at| points.get(&at).copied().or_else(|| filler(at)).filter(|value| value.is_finite());
    periods.starts().filter_map(|at| Some((at, value(at)?))).collect()
}
