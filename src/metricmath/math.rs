//! The parser of mathematical expressions (CloudWatch User Guide, "Metric math syntax and functions").
//!
//! Where the guide does not say what binds more strongly, parentheses are asked for.

use super::aggregate::{Aggregate, Direction};
use super::expression::{Filler, Function, Operator, Term};
use super::search;
use super::text::Text;

/// How many parentheses, brackets, functions and minus signs may stand in one another.
const DEEPEST: usize = 50;

/// What may stand where a value is due.
const VALUE: &str = "a number, an id, a function, -, ( or [";

/// # Errors
///
/// What was found and where, and what is allowed there; or what is not modelled here.
pub(super) fn parse(text: &str) -> Result<Term, String> {
    let mut parser = Parser { text: Text::new(text), depth: 0 };
    let term = parser.term()?;
    parser.text.end("an operator or the end")?;
    Ok(term)
}

struct Parser<'a> {
    text: Text<'a>,
    depth: usize,
}

impl Parser<'_> {
    fn term(&mut self) -> Result<Term, String> {
        self.deeper(Self::logic)
    }

    fn deeper(&mut self, parse: fn(&mut Self) -> Result<Term, String>) -> Result<Term, String> {
        if self.depth == DEEPEST {
            return Err(format!(
                "more than {DEEPEST} parts stand in one another: give some an id of their own"
            ));
        }
        self.depth += 1;
        let term = parse(self);
        self.depth -= 1;
        term
    }

    fn logic(&mut self) -> Result<Term, String> {
        let first = self.comparison()?;
        let mut rest = Vec::<(Operator, Term)>::new();
        loop {
            let operator = match self.text.next_word() {
                "AND" => Operator::And,
                "OR" => Operator::Or,
                _ if self.text.eat("&&") => Operator::And,
                _ if self.text.eat("||") => Operator::Or,
                _ => return Ok(chain(first, rest)),
            };
            if rest.iter().any(|(other, _)| *other != operator) {
                return Err(format!("AND beside OR at {} needs parentheses", self.text.place()));
            }
            if matches!(self.text.next_word(), "AND" | "OR") {
                self.text.word();
            }
            rest.push((operator, self.comparison()?));
        }
    }

    fn comparison(&mut self) -> Result<Term, String> {
        const SIGNS: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let first = self.sum()?;
        let Some(operator) = self.operator(&SIGNS) else { return Ok(first) };
        let second = self.sum()?;
        if self.operator(&SIGNS).is_some() {
            return Err(format!(
                "one comparison after another before {} needs parentheses",
                self.text.place()
            ));
        }
        Ok(chain(first, vec![(operator, second)]))
    }

    fn sum(&mut self) -> Result<Term, String> {
        let first = self.product()?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(&[("+", Operator::Add), ("-", Operator::Subtract)]) {
            rest.push((operator, self.product()?));
        }
        Ok(chain(first, rest))
    }

    fn product(&mut self) -> Result<Term, String> {
        let first = self.signed()?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(&[("*", Operator::Multiply), ("/", Operator::Divide)]) {
            rest.push((operator, self.signed()?));
        }
        Ok(chain(first, rest))
    }

    fn operator(&mut self, signs: &[(&str, Operator)]) -> Option<Operator> {
        signs.iter().find(|(sign, _)| self.text.eat(sign)).map(|(_, operator)| *operator)
    }

    /// A minus sign before it, or one power of it, but not both.
    fn signed(&mut self) -> Result<Term, String> {
        let negative = self.text.eat("-");
        let base = match negative {
            true => Term::Negative(Box::new(self.deeper(Self::negated)?)),
            false => self.value()?,
        };
        if !self.text.eat("^") {
            return Ok(base);
        }
        let exponent = match self.text.eat("-") {
            true => Term::Negative(Box::new(self.deeper(Self::negated)?)),
            false => self.value()?,
        };
        if negative || self.text.eat("^") {
            return Err(format!(
                "a power before {} needs parentheses: it has more than one reading",
                self.text.place()
            ));
        }
        Ok(chain(base, vec![(Operator::Power, exponent)]))
    }

    fn negated(&mut self) -> Result<Term, String> {
        match self.text.eat("-") {
            true => Ok(Term::Negative(Box::new(self.deeper(Self::negated)?))),
            false => self.value(),
        }
    }

    fn value(&mut self) -> Result<Term, String> {
        match self.text.peek() {
            Some('0'..='9') => self.text.number().map(Term::Number),
            Some('a'..='z') => self.id(),
            Some('A'..='Z') => self.call(),
            Some('(') => {
                self.text.eat("(");
                let term = self.term()?;
                self.text.expect(")")?;
                Ok(term)
            }
            Some('[') => {
                self.text.eat("[");
                let mut terms = vec![self.term()?];
                while self.text.eat(",") {
                    terms.push(self.term()?);
                }
                self.text.expect("]")?;
                Ok(Term::Array(terms))
            }
            _ => Err(self.text.found(VALUE)),
        }
    }

    fn id(&mut self) -> Result<Term, String> {
        let id = self.text.word();
        if self.text.peek() == Some('(') {
            return Err(format!(
                "{id}(..) is no function: their names are upper case, as {}",
                id.to_uppercase()
            ));
        }
        Ok(Term::Id(id.to_owned()))
    }

    fn call(&mut self) -> Result<Term, String> {
        let place = self.text.place();
        let name = self.text.word();
        if self.text.peek() != Some('(') {
            return Err(format!(
                "{place}: found {name:?}, allowed: {VALUE} (ids begin with a lower-case letter)"
            ));
        }
        self.text.eat("(");
        let term = match name {
            "FILL" => self.fill(),
            "IF" => self.condition(),
            "METRICS" => self.metrics(),
            "PERIOD" => self.period(),
            "SEARCH" => self.search(),
            "SLICE" => self.slice(),
            "SORT" => self.sort(),
            _ => match Function::named(name) {
                Some(function) => self.boxed().map(|term| Term::Call(function, term)),
                None => Err(not_modelled(name)),
            },
        }?;
        self.text.expect(")")?;
        Ok(term)
    }

    fn boxed(&mut self) -> Result<Box<Term>, String> {
        self.term().map(Box::new)
    }

    fn after_comma(&mut self) -> Result<Box<Term>, String> {
        self.text.expect(",")?;
        self.boxed()
    }

    fn if_there(&mut self) -> Result<Option<Box<Term>>, String> {
        if self.text.eat(",") { self.boxed().map(Some) } else { Ok(None) }
    }

    fn fill(&mut self) -> Result<Term, String> {
        let term = self.boxed()?;
        self.text.expect(",")?;
        let filler = match self.text.next_word() {
            "REPEAT" => Filler::Repeat,
            "LINEAR" => Filler::Linear,
            _ => return Ok(Term::Fill(term, Filler::Value(self.boxed()?))),
        };
        self.text.word();
        Ok(Term::Fill(term, filler))
    }

    fn condition(&mut self) -> Result<Term, String> {
        Ok(Term::If(self.boxed()?, self.after_comma()?, self.if_there()?))
    }

    fn metrics(&mut self) -> Result<Term, String> {
        match self.text.peek() {
            Some(')') => Ok(Term::Metrics(String::new())),
            _ => Ok(Term::Metrics(self.text.between('"')?.to_owned())),
        }
    }

    fn period(&mut self) -> Result<Term, String> {
        let id = self.text.word();
        if !id.starts_with(|character: char| character.is_ascii_lowercase()) || self.text.peek() != Some(')')
        {
            return Err("PERIOD takes the id of a metric, and no expression".into());
        }
        Ok(Term::Period(id.to_owned()))
    }

    fn search(&mut self) -> Result<Term, String> {
        let text = self.text.between('\'')?;
        self.text.expect(",")?;
        let statistic = self.text.between('\'')?;
        if self.text.eat(",") {
            // The graph's own takes its place.
            self.text.number()?;
        }
        search::parse(text, statistic).map(Term::Search)
    }

    fn slice(&mut self) -> Result<Term, String> {
        Ok(Term::Slice(self.boxed()?, self.after_comma()?, self.if_there()?))
    }

    fn sort(&mut self) -> Result<Term, String> {
        let array = self.boxed()?;
        self.text.expect(",")?;
        let by = match self.text.next_word() {
            "AVG" => Aggregate::Average,
            "MAX" => Aggregate::Maximum,
            "MIN" => Aggregate::Minimum,
            "SUM" => Aggregate::Sum,
            _ => return Err(self.text.found("AVG, MAX, MIN or SUM")),
        };
        self.text.word();
        self.text.expect(",")?;
        let direction = match self.text.next_word() {
            "ASC" => Direction::Ascending,
            "DESC" => Direction::Descending,
            _ => return Err(self.text.found("ASC or DESC")),
        };
        self.text.word();
        Ok(Term::Sort(array, by, direction, self.if_there()?))
    }
}

fn chain(first: Term, rest: Vec<(Operator, Term)>) -> Term {
    if rest.is_empty() { first } else { Term::Chain(Box::new(first), rest) }
}

fn not_modelled(name: &str) -> String {
    if name == "STDDEV" {
        return "STDDEV is not modelled: CloudWatch does not say whether it divides by n or by n - 1".into();
    }
    let mut known = vec!["FILL", "IF", "METRICS", "PERIOD", "SEARCH", "SLICE", "SORT"];
    known.extend(Function::ALL.map(Function::name));
    known.sort_unstable();
    format!("{name}(..) is not modelled; known: {}", known.join(", "))
}
