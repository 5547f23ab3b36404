//! What expressions work on, and how operators join it.
//!
//! Missing points as the CloudWatch User Guide has them ("Metric math syntax and functions"): of two series, at a time
//! at which just one has a value the other counts 0; at a time at which no series has one there is none. What would
//! divide by zero, or is no number for another reason, is dropped.

use std::collections::BTreeSet;

use super::expression::Operator;
use super::{Points, Series};

/// S, TS and TS[] of the guide.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// None: one that cannot be reckoned, such as the maximum of nothing.
    Scalar(Option<f64>),
    Series(Points),
    /// Each with its own label.
    Array(Vec<Series>),
}

impl Value {
    /// For people.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Scalar(_) => "a scalar",
            Value::Series(_) => "a series",
            Value::Array(_) => "an array of series",
        }
    }

    /// With every point replaced, in all of its series.
    pub fn map(self, points: impl Fn(Points) -> Points) -> Value {
        match self {
            Value::Scalar(_) => self,
            Value::Series(series) => Value::Series(points(series)),
            Value::Array(array) => Value::Array(each(array, points)),
        }
    }
}

pub(super) fn each(array: Vec<Series>, points: impl Fn(Points) -> Points) -> Vec<Series> {
    array.into_iter().map(|series| Series { points: points(series.points), ..series }).collect()
}

/// With every value replaced, or dropped if it is no number then.
pub(super) fn values(points: Points, value: impl Fn(f64) -> f64) -> Points {
    points.into_iter().map(|(at, old)| (at, value(old))).filter(|(_, value)| value.is_finite()).collect()
}

/// # Errors
///
/// CloudWatch does not say what the operator makes of these.
pub(super) fn join(operator: Operator, left: Value, right: Value) -> Result<Value, String> {
    let refused = |why: &str| Err(format!("{} {} {} {why}", left.kind(), operator.sign(), right.kind()));
    match (&left, &right) {
        (Value::Array(_), Value::Array(_)) => refused("is not modelled: one of them may be an array"),
        (Value::Array(_), _) | (_, Value::Array(_)) if !operator.is_arithmetic() => {
            refused("is not modelled: comparisons and logic take series and scalars")
        }
        _ => Ok(match (left, right) {
            (Value::Array(array), other) => {
                Value::Array(each(array, |points| joined(operator, &Value::Series(points), &other)))
            }
            (other, Value::Array(array)) => {
                Value::Array(each(array, |points| joined(operator, &other, &Value::Series(points))))
            }
            (Value::Scalar(left), Value::Scalar(right)) => {
                Value::Scalar(left.zip(right).and_then(|(left, right)| operator.apply(left, right)))
            }
            (left, right) => Value::Series(joined(operator, &left, &right)),
        }),
    }
}

/// Two series, or a series and a scalar.
fn joined(operator: Operator, left: &Value, right: &Value) -> Points {
    let times: BTreeSet<i64> = [left, right].iter().flat_map(|value| times(value)).collect();
    let at = |time| operator.apply(value_at(left, time)?, value_at(right, time)?);
    times.into_iter().filter_map(|time| Some((time, at(time)?))).collect()
}

fn times(value: &Value) -> impl Iterator<Item = i64> {
    let points = if let Value::Series(points) = value { Some(points) } else { None };
    points.into_iter().flat_map(|points| points.keys().copied())
}

fn value_at(value: &Value, time: i64) -> Option<f64> {
    match value {
        Value::Scalar(scalar) => *scalar,
        Value::Series(points) => Some(points.get(&time).copied().unwrap_or(0.0)),
        Value::Array(_) => None,
    }
}

/// IF, with the four ways in which a point may be missing ("Using IF expressions").
///
/// # Errors
///
/// The guide has no such form.
pub(super) fn choose(condition: Value, yes: Value, no: Option<Value>) -> Result<Value, String> {
    let no_kind = no.as_ref().map_or("nothing", Value::kind);
    let kinds = format!("IF({}, {}, {no_kind}) is not modelled", condition.kind(), yes.kind());
    if [Some(&condition), Some(&yes), no.as_ref()]
        .iter()
        .flatten()
        .any(|value| matches!(value, Value::Array(_)))
    {
        return Err(format!("{kinds}: IF takes series and scalars"));
    }
    match (condition, yes, no) {
        (Value::Series(condition), yes, no) => {
            let chosen = |time: i64, holds: bool| match (&yes, &no) {
                _ if holds => value_at(&yes, time),
                (_, None) => None,
                // After a scalar, the missing point of a series stays missing; after a series it counts 0.
                (Value::Scalar(_), Some(Value::Series(no))) => no.get(&time).copied(),
                (_, Some(no)) => value_at(no, time),
            };
            let points =
                condition.into_iter().filter_map(|(time, value)| Some((time, chosen(time, value != 0.0)?)));
            Ok(Value::Series(points.collect()))
        }
        (Value::Scalar(condition), yes @ Value::Series(_), no @ (None | Some(Value::Series(_)))) => {
            let chosen = match condition {
                Some(condition) if condition != 0.0 => Some(yes),
                Some(_) => no,
                None => None,
            };
            Ok(chosen.unwrap_or(Value::Series(Points::new())))
        }
        _ => Err(format!("{kinds}: with a scalar for a condition, IF takes series")),
    }
}

impl Operator {
    fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Power => "^",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::Greater => ">",
            Operator::LessOrEqual => "<=",
            Operator::GreaterOrEqual => ">=",
            Operator::And => "AND",
            Operator::Or => "OR",
        }
    }

    fn is_arithmetic(self) -> bool {
        use Operator::{Add, Divide, Multiply, Power, Subtract};
        matches!(self, Add | Subtract | Multiply | Divide | Power)
    }

    /// None where it is no number.
    fn apply(self, left: f64, right: f64) -> Option<f64> {
        let truth = |holds: bool| f64::from(u8::from(holds));
        let value = match self {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            Operator::Power => left.powf(right),
            Operator::Equal => truth(left == right),
            Operator::NotEqual => truth(left != right),
            Operator::Less => truth(left < right),
            Operator::Greater => truth(left > right),
            Operator::LessOrEqual => truth(left <= right),
            Operator::GreaterOrEqual => truth(left >= right),
            Operator::And => truth(left != 0.0 && right != 0.0),
            Operator::Or => truth(left != 0.0 || right != 0.0),
        };
        value.is_finite().then_some(value)
    }
}
