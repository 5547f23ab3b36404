//! `efsmon alarms test`: what the alarms would do with given data.

mod file;
mod reader;
mod shipped;
mod values;
mod verdict;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};

use self::file::{TestFile, What};
use self::values::time;
use self::verdict::{Failure, judge};
use crate::alarm::Alarm;
use crate::alarm::rehearsal::{Feed, asks_for, rehearse};
use crate::cli::provision::{OwnFlags, mistakes, write_json};
use crate::config::Config;
use crate::names::printable;
use crate::provision::alarms::{self, Actions, Alarms, Templates};
use crate::provision::dashboards::BadTemplate;
use crate::provision::{Mark, Target};

/// A test file is small: what is larger is another file.
const MOST_BYTES: usize = 256 << 10;

/// The Region that alarms are rendered for where none is given; their states do not depend on it.
const REGION: &str = "us-east-1";

/// Try the alarms out on written-down data, before they are needed
///
/// A test file (TOML) names an alarm, describes a file system and the data of some hours, and says which state is
/// expected when. The alarm is rendered as by efsmon alarms render, and evaluated as CloudWatch documents it: metric
/// math, M of N, missing data. What is not documented is named, never guessed. No AWS account is asked.
///
/// Without FILE: the tests that efsmon brings along, with its default settings. Begin your own with
/// efsmon alarms test --example > FILE
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Test files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    own: OwnFlags,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Write a test file that explains the format, and test nothing
    #[arg(long, conflicts_with_all = ["files", "json"])]
    example: bool,
}

/// What became of one file.
struct Report {
    file: String,
    alarm: Option<String>,
    mistakes: Vec<String>,
    failures: Vec<Failure>,
    /// What was evaluated.
    rendered: Option<Alarm>,
}

/// Evaluates each file, and writes what became of it.
///
/// # Errors
///
/// A bad configuration or template, and that a test failed or its file cannot be read.
pub fn run(args: &TestArgs, out: &mut impl Write) -> anyhow::Result<()> {
    if args.example {
        out.write_all(shipped::EXAMPLE.as_bytes())?;
        return Ok(out.flush()?);
    }
    let configured = args.own.account().config()?;
    let region = args.own.account().region(&configured).unwrap_or(REGION);
    let mark = args.own.mark(region);
    let templates = alarms::templates(&args.own.templates("alarms")?).map_err(|bad| mistakes(&bad))?;
    let mut reports = Vec::new();
    for (name, text) in shipped::FILES.iter().filter(|_| args.files.is_empty()) {
        reports.push(report((*name).to_owned(), text, &Config::default(), &mark, &templates));
    }
    for path in &args.files {
        let name = printable(path.as_os_str().as_encoded_bytes());
        reports.push(match read(path) {
            Ok(text) => report(name, &text, &configured, &mark, &templates),
            Err(reason) => Report { mistakes: vec![format!("{name}: {reason}")], ..Report::new(name) },
        });
    }
    let failed = reports.iter().filter(|report| !report.passed()).count();
    match args.json {
        true => write_json(&json!({ "files": reports.iter().map(Report::json).collect::<Vec<_>>() }), out)?,
        false => reports.iter().try_for_each(|report| report.write(out))?,
    }
    out.flush()?;
    match failed {
        0 => Ok(()),
        failed => bail!("{failed} of {} test files failed", reports.len()),
    }
}

/// The text of a test file, or why there is none.
fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > MOST_BYTES {
        return Err(format!("found more than {MOST_BYTES} bytes, which no test file has: another file?"));
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8 text, which TOML has to be".to_owned())
}

fn report(name: String, text: &str, config: &Config, mark: &Mark, templates: &Templates) -> Report {
    let kinds: Vec<&str> = templates.keys().map(String::as_str).collect();
    let mut report = Report::new(name);
    let test = match file::read(&report.file, text, config, &kinds) {
        Ok(test) => test,
        Err(mistakes) => return Report { mistakes: mistakes.0, ..report },
    };
    report.alarm = Some(test.alarm.clone());
    match render(&test, mark, templates) {
        Err(bad) => report.mistakes = bad.iter().map(BadTemplate::to_string).collect(),
        Ok(alarms) => try_out(&test, &alarms, &mut report),
    }
    report
}

/// The alarms of the file system, as `efsmon alarms render` would write them.
fn render(test: &TestFile, mark: &Mark, templates: &Templates) -> Result<Alarms, Vec<BadTemplate>> {
    let target = Target {
        owner: mark.owner.clone(),
        region: mark.region.clone(),
        namespace: test.config.namespace.clone(),
        profile: test.config.profile,
        file_systems: vec![test.file_system.clone()],
        chosen: false,
        thresholds: test.config.alarms.clone(),
    };
    alarms::render(&target, &Actions::default(), templates)
}

fn try_out(test: &TestFile, alarms: &Alarms, report: &mut Report) {
    let rendered = alarms.rendered.iter().find(|rendered| rendered.kind == test.alarm);
    let Some(rendered) = rendered else {
        let skipped = alarms.skipped.iter().find(|skipped| skipped.kind == test.alarm);
        let reason = skipped.map(|skipped| format!(": {}", skipped.reason)).unwrap_or_default();
        let unmet = test.expectations.iter().filter(|expectation| expectation.what != What::NotRendered);
        report.failures.extend(unmet.map(|expectation| Failure {
            line: Some(expectation.line),
            expected: "an alarm".to_owned(),
            found: format!("that this file system does not get it{reason}"),
            at: None,
        }));
        return;
    };
    report.rendered = Some(rendered.alarm.clone());
    // Data that nobody looks at test nothing.
    let idle = test.series.iter().filter(|(_, feed)| !asks_for(&rendered.alarm, &feed.metric));
    report.failures.extend(idle.map(|(line, feed)| {
        let dimensions = feed.metric.dimensions.iter().map(|d| format!(" {}={}", d.name, d.value));
        let dimensions: String = dimensions.collect();
        Failure {
            line: Some(*line),
            expected: "a metric that the alarm asks for".to_owned(),
            found: format!("{} {}{dimensions}", feed.metric.namespace, feed.metric.metric_name),
            at: None,
        }
    }));
    let feeds: Vec<Feed> = test.series.iter().map(|(_, feed)| feed.clone()).collect();
    match rehearse(&rendered.alarm, &feeds, test.start, test.minutes) {
        Ok(rehearsal) => {
            let failures = test.expectations.iter().filter_map(|expectation| judge(expectation, &rehearsal));
            report.failures.extend(failures);
        }
        Err(not_modelled) => report.failures.push(Failure {
            line: None,
            expected: "an alarm that can be evaluated here".to_owned(),
            found: format!("one that is not modelled: {not_modelled}"),
            at: None,
        }),
    }
}

impl Report {
    fn new(file: String) -> Report {
        Report { file, alarm: None, mistakes: Vec::new(), failures: Vec::new(), rendered: None }
    }

    fn passed(&self) -> bool {
        self.mistakes.is_empty() && self.failures.is_empty()
    }

    /// One line, or one for each mistake or failure.
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        if self.passed() {
            return writeln!(out, "{}: ok", self.file);
        }
        self.mistakes.iter().try_for_each(|mistake| writeln!(out, "{mistake}"))?;
        for Failure { line, expected, found, at } in &self.failures {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let seen = at.iter().flat_map(|(_, seen)| seen);
            let seen: Vec<String> = seen.map(|seen| shown(&seen.label, &seen.values)).collect();
            let looked = match (&self.rendered, at) {
                (Some(alarm), Some(_)) => format!(" ({}: {})", rule(alarm), seen.join("; ")),
                _ => String::new(),
            };
            let text = format!("{}{line}: expected {expected}, found {found}{looked}", self.file);
            writeln!(out, "{}", printable(text.as_bytes()))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let failures = self.failures.iter().map(|failure| {
            let seen = failure.at.iter().flat_map(|(_, seen)| seen);
            let seen = seen.map(|seen| json!({ "label": seen.label, "values": seen.values }));
            json!({
                "line": failure.line,
                "expected": failure.expected,
                "found": failure.found,
                "at": failure.at.as_ref().map(|(at, _)| time(*at)),
                "series": seen.collect::<Vec<_>>(),
            })
        });
        json!({
            "file": self.file,
            "alarm": self.alarm,
            "passed": self.passed(),
            "mistakes": self.mistakes,
            "failures": failures.collect::<Vec<_>>(),
        })
    }
}

/// As `3 of 4 LessThanOrEqualToThreshold 1`.
fn rule(alarm: &Alarm) -> String {
    let (m, n) = (alarm.datapoints_to_alarm, alarm.evaluation_periods);
    format!("{m} of {n} {:?} {}", alarm.comparison_operator, alarm.threshold)
}

fn shown(label: &str, values: &[Option<f64>]) -> String {
    let number = |value: &Option<f64>| match value {
        None => "_".to_owned(),
        Some(value) if value.abs() >= 1000.0 || value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
    };
    let values: Vec<String> = values.iter().map(number).collect();
    format!("{label} {}", values.join(" "))
}
