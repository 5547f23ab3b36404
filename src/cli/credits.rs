//! `efsmon credits`: how long burst credits last.

mod ask;
mod blocks;
mod graph;
mod json;
mod table;
mod units;

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::Args;

use super::provision::{AccountFlags, coloured, wait, write_json};
use crate::aws::file_systems::file_systems;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::cost::prices::{self, AS_OF, REGION, thousands};
use crate::credits::{FileSystem, Metrics, Outlook, Situation};
use crate::metricmath::Window;
use crate::model::FileSystemId;
use crate::names::printable;
use crate::provision::alarms::Thresholds;

/// Tell how long burst credits last: mode, storage, balance, baseline, burn
///
/// Asks EFS for the file systems, and CloudWatch for the metrics that EFS publishes of them; says what that costs. The
/// worst comes first: those without credits left, then by the time that is left. Up to three file systems are shown with
/// their graphs, more as a table. Throughput is metered: reads of file data count a third of their bytes.
#[derive(Debug, Args)]
pub struct CreditsArgs {
    /// Only these file systems; without them, all that EFS lists
    #[arg(value_name = "FS")]
    file_systems: Vec<FileSystemId>,
    #[command(flatten)]
    account: AccountFlags,
    /// How many hours the graphs show; more than 24 cost twice as much
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=MAX_HOURS))]
    hours: u32,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// CloudWatch keeps metrics for 455 days.
const MAX_HOURS: i64 = 455 * 24;
/// So many file systems are shown with their graphs; more as a table.
const MOST_BLOCKS: usize = 3;

/// A file system, and what CloudWatch has of it.
struct Seen {
    file_system: FileSystem,
    metrics: Metrics,
    situation: Situation,
}

/// Everything that is told.
struct Report {
    region: String,
    /// Seconds since 1970.
    now: i64,
    /// What the graphs show; the period is that of their data.
    window: Window,
    /// The worst first.
    seen: Vec<Seen>,
    /// Metrics that CloudWatch was asked for.
    metrics: u64,
    requests: u64,
    /// What CloudWatch had to say.
    messages: Vec<String>,
}

/// How it is written.
struct Look<'a> {
    /// Of the terminal; none: nothing is shortened.
    width: Option<usize>,
    colours: bool,
    /// From when on a depletion is coloured.
    alarms: &'a Thresholds,
}

/// Tells how long the credits last.
///
/// # Errors
///
/// A bad configuration, no region, no credentials, what EFS and CloudWatch refuse.
pub fn run(args: &CreditsArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = args.account.config()?;
    let report = wait(ask(args, &config, &SystemClock))?;
    match args.json {
        true => write_json(&json::of(&report), out)?,
        false => write(&report, &config.alarms, out)?,
    }
    out.flush()?;
    for message in &report.messages {
        // A note: that nobody reads it does not matter.
        let _ = writeln!(io::stderr(), "efsmon: CloudWatch: {}", printable(message.as_bytes()));
    }
    Ok(())
}

async fn ask(args: &CreditsArgs, config: &Config, clock: &impl Clock) -> anyhow::Result<Report> {
    let session = args.account.session(config).await?;
    let file_systems = file_systems(&session, &args.file_systems).await?;
    let now = seconds(clock.now().wall);
    let answers = ask::ask(&session, &file_systems, now, args.hours).await?;
    let seen = file_systems.into_iter().zip(answers.metrics).map(|(file_system, metrics)| {
        let situation = Situation::of(&file_system, &metrics, now);
        Seen { file_system, metrics, situation }
    });
    let mut seen: Vec<Seen> = seen.collect();
    seen.sort_by(|one, other| {
        let ((rank, value), (other_rank, other_value)) = (urgency(one), urgency(other));
        rank.cmp(&other_rank).then(value.total_cmp(&other_value))
    });
    Ok(Report {
        region: session.region().to_owned(),
        now,
        window: answers.window,
        seen,
        metrics: answers.asked,
        requests: answers.requests,
        messages: answers.messages,
    })
}

fn seconds(wall: Duration) -> i64 {
    i64::try_from(wall.as_secs()).unwrap_or(i64::MAX)
}

/// The lower, the worse.
fn urgency(seen: &Seen) -> (u8, f64) {
    let at_ceiling = seen.situation.burn.is_some_and(|burn| burn.is_censored());
    match seen.situation.outlook {
        Outlook::Empty { since, .. } => (0, since as f64),
        Outlook::Depletion { seconds } => (1, seconds),
        Outlook::NoBalance | Outlook::NoBurn => (2, 0.0),
        _ if at_ceiling => (3, 0.0),
        Outlook::Refill { seconds } => (4, -seconds),
        Outlook::Steady | Outlook::Full => (5, 0.0),
        Outlook::NoCredits => (6, 0.0),
    }
}

fn write(report: &Report, alarms: &Thresholds, out: &mut impl Write) -> io::Result<()> {
    let stdout = io::stdout();
    let size = rustix::termios::tcgetwinsize(&stdout).ok().filter(|_| stdout.is_terminal());
    let width = size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    let look = Look { width, colours: coloured(), alarms };
    match report.seen.len() {
        0 => writeln!(out, "no EFS file systems in {}", report.region)?,
        1..=MOST_BLOCKS => blocks::write(report, &look, out)?,
        _ => table::write(report, &look, out)?,
    }
    if report.metrics > 0 {
        writeln!(out, "{}", cost(report))?;
    }
    Ok(())
}

/// What asking has cost.
fn cost(report: &Report) -> String {
    let plural = |number: u64, noun: &str| {
        format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
    };
    format!(
        "This asked CloudWatch for {} in {}: {}\n(GetMetricData, {REGION}'s price of {AS_OF}; other Regions differ).",
        plural(report.metrics, "metric"),
        plural(report.requests, "request"),
        prices::metrics_read(report.metrics).exact(),
    )
}

impl Look<'_> {
    /// A text in the colour of how bad that is.
    fn painted(&self, outlook: Outlook, text: &str) -> String {
        let within = |seconds: f64, minutes: u64| seconds <= minutes as f64 * 60.0;
        let colour = match outlook {
            Outlook::Empty { .. } => "1;31",
            Outlook::Depletion { seconds } if within(seconds, self.alarms.depletion_page_minutes) => "1;31",
            Outlook::Depletion { seconds } if within(seconds, self.alarms.depletion_ticket_minutes) => "33",
            _ => return text.to_owned(),
        };
        match self.colours {
            true => format!("\x1b[{colour}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}
