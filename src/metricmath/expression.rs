//! An expression, taken apart.

use std::collections::BTreeSet;

use super::aggregate::{Aggregate, Direction};
use super::insights::{self, Insights};
use super::math;
use super::selection::Selection;

/// CloudWatch's limit for an expression, in characters (API Reference, MetricDataQuery).
const LONGEST: usize = 2048;

/// An expression that is understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    pub(super) form: Form,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Math(Term),
    Insights(Insights),
}

/// Takes an expression apart: metric math, or a query of Metrics Insights, which begins with SELECT.
///
/// # Errors
///
/// What was found and where, and what is allowed there; or what is not modelled here.
pub fn parse(text: &str) -> Result<Expression, String> {
    if text.chars().count() > LONGEST {
        return Err(format!("the expression has more than {LONGEST} characters"));
    }
    let form = match insights::is_query(text) {
        true => Form::Insights(insights::parse(text)?),
        false => Form::Math(math::parse(text)?),
    };
    Ok(Expression { form })
}

impl Expression {
    /// The ids of the queries that it names; those that METRICS() finds are not among them.
    pub fn ids(&self) -> BTreeSet<&str> {
        let mut ids = BTreeSet::new();
        self.visit(&mut |term| {
            if let Term::Id(id) | Term::Period(id) = term {
                ids.insert(id.as_str());
            }
        });
        ids
    }

    /// What its searches find, from left to right, or what its query of Metrics Insights is about.
    pub fn selections(&self) -> Vec<&Selection> {
        let mut selections = Vec::new();
        if let Form::Insights(query) = &self.form {
            selections.push(&query.selection);
        }
        self.visit(&mut |term| {
            if let Term::Search(selection) = term {
                selections.push(selection);
            }
        });
        selections
    }

    fn visit<'a>(&'a self, seen: &mut dyn FnMut(&'a Term)) {
        if let Form::Math(term) = &self.form {
            term.visit(seen);
        }
    }
}

/// A part of a mathematical expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    Number(f64),
    Id(String),
    /// `[a, b]`
    Array(Vec<Term>),
    Negative(Box<Term>),
    /// Operators of one rank, from left to right.
    Chain(Box<Term>, Vec<(Operator, Term)>),
    /// Of one argument.
    Call(Function, Box<Term>),
    Fill(Box<Term>, Filler),
    /// Condition, value if it holds, value if not.
    If(Box<Term>, Box<Term>, Option<Box<Term>>),
    /// All metrics, or those whose ids contain a text.
    Metrics(String),
    /// Of the metric with that id.
    Period(String),
    Search(Selection),
    /// From one place to, but not with, another.
    Slice(Box<Term>, Box<Term>, Option<Box<Term>>),
    /// The most that are left.
    Sort(Box<Term>, Aggregate, Direction, Option<Box<Term>>),
}

impl Term {
    fn visit<'a>(&'a self, seen: &mut dyn FnMut(&'a Term)) {
        seen(self);
        let mut all = |terms: &[&'a Term]| terms.iter().for_each(|term| term.visit(seen));
        match self {
            Term::Number(_) | Term::Id(_) | Term::Metrics(_) | Term::Period(_) | Term::Search(_) => (),
            Term::Array(terms) => terms.iter().for_each(|term| all(&[term])),
            Term::Negative(term) | Term::Call(_, term) => all(&[term]),
            Term::Chain(first, rest) => {
                all(&[first]);
                rest.iter().for_each(|(_, term)| all(&[term]));
            }
            Term::Fill(term, Filler::Value(value)) => all(&[term, value]),
            Term::Fill(term, Filler::Repeat | Filler::Linear) => all(&[term]),
            Term::If(condition, yes, no) => {
                all(&[condition, yes]);
                no.iter().for_each(|no| all(&[no]));
            }
            Term::Slice(array, from, to) => {
                all(&[array, from]);
                to.iter().for_each(|to| all(&[to]));
            }
            Term::Sort(array, _, _, limit) => {
                all(&[array]);
                limit.iter().for_each(|limit| all(&[limit]));
            }
        }
    }
}

/// What FILL puts where nothing is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filler {
    Value(Box<Term>),
    /// The latest value before.
    Repeat,
    /// A straight line between the values before and after.
    Linear,
}

/// Between two terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    And,
    Or,
}

/// A function of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// AVG, DATAPOINT_COUNT, MAX, MIN, SUM.
    Aggregate(Aggregate),
    Abs,
    Ceil,
    Diff,
    DiffTime,
    First,
    Floor,
    Last,
    Log,
    Log10,
    MetricCount,
    Rate,
    RemoveEmpty,
    RunningSum,
    TimeSeries,
}
