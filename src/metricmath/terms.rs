//! The value of each part of an expression.

use super::evaluate::{Known, Request};
use super::expression::{Filler, Term};
use super::functions::{self, fill, fill_linear, fill_repeat, of_series};
use super::search;
use super::value::{Value, choose, each, join, values};
use super::{Points, Purpose, Series};

/// What a graph shows at most.
const MOST_SERIES: usize = 500;

impl Request<'_> {
    /// # Errors
    ///
    /// What is not modelled, or not for this purpose.
    pub fn value(&self, term: &Term) -> Result<Value, String> {
        Ok(match term {
            Term::Number(number) => Value::Scalar(Some(*number)),
            Term::Id(id) => self.known(id)?.value,
            Term::Array(terms) => Value::Array(self.array(terms)?),
            // Taken from 0, so that 0 gets no sign.
            Term::Negative(term) => match self.value(term)? {
                Value::Scalar(scalar) => Value::Scalar(scalar.map(|scalar| 0.0 - scalar)),
                value => value.map(|points| values(points, |value| 0.0 - value)),
            },
            Term::Chain(first, rest) => {
                let mut value = self.value(first)?;
                for (operator, term) in rest {
                    value = join(*operator, value, self.value(term)?)?;
                }
                value
            }
            Term::Call(function, term) => {
                functions::call(*function, self.value(term)?, &self.periods, self.purpose)?
            }
            Term::Fill(term, filler) => self.fill(self.value(term)?, filler)?,
            Term::If(condition, yes, no) => {
                let no = no.as_ref().map(|no| self.value(no)).transpose()?;
                choose(self.value(condition)?, self.value(yes)?, no)?
            }
            Term::Metrics(part) => {
                let ids = self.metrics.iter().filter(|id| id.contains(part.as_str()));
                let known = ids.map(|id| Ok(self.known(id)?.series())).collect::<Result<Vec<_>, String>>()?;
                Value::Array(known.concat())
            }
            Term::Period(id) if self.metrics.contains(id) => Value::Scalar(Some(self.periods.length as f64)),
            Term::Period(id) => return Err(format!("PERIOD takes a metric, and {id} is an expression")),
            Term::Search(_) if self.purpose == Purpose::Alarm => {
                return Err("SEARCH is not for alarms: CloudWatch refuses it".into());
            }
            Term::Search(selection) => Value::Array(search::run(selection, self.samples, &self.periods)),
            Term::Slice(array, from, to) => {
                let array = self.an_array("SLICE", array)?;
                let from = self.a_number("SLICE", from)?;
                let to = to.as_ref().map_or(Ok(usize::MAX), |to| self.a_number("SLICE", to))?;
                Value::Array(array.into_iter().take(to).skip(from).collect())
            }
            Term::Sort(array, by, direction, limit) => {
                let array = self.an_array("SORT", array)?;
                let limit = limit.as_ref().map_or(Ok(usize::MAX), |limit| self.a_number("SORT", limit))?;
                let mut sorted =
                    direction.sort(array, |series| of_series(*by, &series.points, &self.periods));
                sorted.truncate(limit);
                Value::Array(sorted)
            }
        })
    }

    /// The elements of `[..]`, where arrays become part of it.
    fn array(&self, terms: &[Term]) -> Result<Vec<Series>, String> {
        let mut array = Vec::new();
        for term in terms {
            let label = match term {
                Term::Id(id) => self.known(id)?.label,
                _ => String::new(),
            };
            match self.value(term)? {
                Value::Scalar(_) => return Err("[..] takes series, not a scalar".into()),
                value => array.extend(Known { label, value }.series()),
            }
            if array.len() > MOST_SERIES {
                return Err(format!("an array of more than {MOST_SERIES} series is not modelled"));
            }
        }
        Ok(array)
    }

    fn an_array(&self, function: &str, term: &Term) -> Result<Vec<Series>, String> {
        match self.value(term)? {
            Value::Array(array) => Ok(array),
            other => Err(format!("{function} takes an array of series, not {}", other.kind())),
        }
    }

    /// A number of series; 0 if it cannot be reckoned.
    fn a_number(&self, function: &str, term: &Term) -> Result<usize, String> {
        match self.value(term)? {
            Value::Scalar(scalar) => match scalar.unwrap_or_default() {
                number if number >= 0.0 && number.fract() == 0.0 => Ok(number as usize),
                number => Err(format!("{function} takes a number of series, not {number}")),
            },
            other => Err(format!("{function} takes a number of series, not {}", other.kind())),
        }
    }

    fn fill(&self, value: Value, filler: &Filler) -> Result<Value, String> {
        let periods = &self.periods;
        if let Value::Scalar(_) = value {
            return Err("FILL takes a series or an array of series, not a scalar".into());
        }
        let filler = match filler {
            Filler::Repeat => return Ok(value.map(|points| fill_repeat(&points, periods))),
            Filler::Linear => return Ok(value.map(|points| fill_linear(&points, periods))),
            Filler::Value(filler) => self.value(filler)?,
        };
        match (value, filler) {
            (value, Value::Scalar(scalar)) => Ok(value.map(|points| fill(&points, periods, |_| scalar))),
            (Value::Array(array), Value::Series(filler)) => {
                let filled = |points: Points| fill(&points, periods, |at| filler.get(&at).copied());
                Ok(Value::Array(each(array, filled)))
            }
            (value, filler) => {
                Err(format!("FILL of {} with {} is not modelled", value.kind(), filler.kind()))
            }
        }
    }
}
