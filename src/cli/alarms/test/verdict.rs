//! Whether an alarm did what a test file expects. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{Expectation, What};
use super::values::time;
use crate::alarm::rehearsal::{Evaluation, Rehearsal, Seen};
use crate::alarm::state::State;

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Of the expectation; None: it is not one of the file's, but that the alarm is there and can be evaluated.
    pub line: Option<usize>,
    pub expected: String,
    pub found: String,
    /// The evaluation, in minutes since the start, and what it looked at.
    pub at: Option<(usize, Vec<Seen>)>,
}

/// What is wrong, if anything is. The expectation is one of an alarm that there is.
pub fn judge(expectation: &Expectation, rehearsal: &Rehearsal) -> Option<Failure> {
    let line = Some(expectation.line);
    let evaluations = |from: usize, to: usize| {
        let taken = rehearsal.evaluations.iter().enumerate().take(to).skip(from.saturating_sub(1));
        taken.map(|(index, evaluation)| (index + 1, evaluation))
    };
    let failed = |expected: String, bad: Option<(usize, &Evaluation)>| {
        let (at, evaluation) = bad?;
        let found = format!("{} at {}", states(evaluation, &rehearsal.ranges), time(at));
        Some(Failure { line, expected, found, at: Some((at, evaluation.seen.clone())) })
    };
    match expectation.what {
        What::State { at, state } => {
            let bad = evaluations(at, at).find(|(_, evaluation)| !is_certainly(evaluation, state));
            failed(format!("{state}"), bad)
        }
        What::Always { from, to, state } => {
            let bad = evaluations(from, to).find(|(_, evaluation)| !is_certainly(evaluation, state));
            failed(format!("always {state} from {} to {}", time(from), time(to)), bad)
        }
        What::Never { from, to, state } => {
            let bad = evaluations(from, to).find(|(_, evaluation)| evaluation.possible().contains(&state));
            failed(format!("never {state} from {} to {}", time(from), time(to)), bad)
        }
        What::Changes { from, to, count } => {
            let found = rehearsal.changes(from.saturating_sub(1), to.saturating_sub(1));
            let story = || story(evaluations(from, to));
            let found = match found {
                (fewest, most) if fewest == count && most == count => return None,
                (fewest, most) if fewest == most => format!("{fewest}: {}", story()),
                (fewest, most) => format!("{fewest} to {most}, as it is not modelled exactly: {}", story()),
            };
            let expected = format!("{count} state changes from {} to {}", time(from), time(to));
            Some(Failure { line, expected, found, at: None })
        }
        What::NotRendered => {
            let found = "one that can be evaluated".to_owned();
            Some(Failure { line, expected: "no such alarm for this file system".to_owned(), found, at: None })
        }
    }
}

fn is_certainly(evaluation: &Evaluation, state: State) -> bool {
    evaluation.possible().iter().eq([&state])
}

/// The state, or what it depends on.
fn states(evaluation: &Evaluation, ranges: &[u32]) -> String {
    let possible = evaluation.possible();
    let names = |states: &BTreeSet<State>| states.iter().map(|s| s.name()).collect::<Vec<_>>().join(" or ");
    if possible.len() <= 1 {
        return names(&possible);
    }
    let mut courses: BTreeMap<&BTreeSet<State>, Vec<String>> = BTreeMap::new();
    for (states, range) in evaluation.states.iter().zip(ranges) {
        courses.entry(states).or_default().push(range.to_string());
    }
    if courses.len() == 1 {
        return format!("{}, not modelled: CloudWatch's documentation leaves it open", names(&possible));
    }
    let courses =
        courses.iter().map(|(states, ranges)| format!("{} with {}", names(states), ranges.join(", ")));
    let courses: Vec<String> = courses.collect();
    format!("not modelled: it depends on how many periods CloudWatch looks back on, {}", courses.join("; "))
}

/// The first state, and the times of the next few.
fn story<'a>(evaluations: impl Iterator<Item = (usize, &'a Evaluation)>) -> String {
    const LONGEST: usize = 6;
    let mut turns: Vec<(usize, BTreeSet<State>)> = Vec::new();
    for (at, evaluation) in evaluations {
        let possible = evaluation.possible();
        if turns.last().is_none_or(|(_, last)| *last != possible) {
            turns.push((at, possible));
        }
    }
    let told = turns.iter().take(LONGEST).map(|(at, states)| {
        let names: Vec<_> = states.iter().map(|state| state.name()).collect();
        format!("{} at {}", names.join(" or "), time(*at))
    });
    let told: Vec<String> = told.collect();
    let more = if turns.len() > LONGEST { ", .." } else { "" };
    format!("{}{more}", told.join(", "))
}
