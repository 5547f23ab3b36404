//! A file system in some lines, with its graphs, in 80 columns.

use std::io::{self, Write};

use super::graph::{GAP, Graph, Of, step};
use super::units::{bytes, clock, digits, lasting, throughput};
use super::{Look, Report, Seen};
use crate::credits::{Bucket, Outlook, ThroughputMode, baseline};
use crate::names::printable;

/// What stands before the values.
const LABEL: usize = 14;

/// Ten years, in seconds: of what is as far off as that, a date says nothing.
const FAR: f64 = 10.0 * 365.0 * 86_400.0;

/// Writes a block for each.
pub fn write(report: &Report, look: &Look<'_>, out: &mut impl Write) -> io::Result<()> {
    for seen in &report.seen {
        Block { report, seen }.write(look, out)?;
        writeln!(out)?;
    }
    let graphs = || report.seen.iter().flat_map(|seen| graphs(report, seen));
    let column = lasting(step(report.window) as f64, false);
    let gaps = if graphs().any(|(_, graph, _)| graph.has_gaps()) {
        format!("; {GAP} no data")
    } else {
        String::new()
    };
    if graphs().any(|(_, graph, _)| graph.top().is_some()) {
        writeln!(out, "A column is {column}: its lowest balance, its mean throughput{gaps}.")?;
    }
    writeln!(out, "Throughput is metered: reads of file data count a third. Times are UTC.")
}

/// Title, graph, and what its scale is in.
type Titled = (&'static str, Graph, fn(f64) -> String);

fn graphs(report: &Report, seen: &Seen) -> Vec<Titled> {
    let mut graphs: Vec<Titled> = Vec::new();
    if seen.file_system.may_have_credits() {
        let balance = Graph::of(&seen.metrics.balance, report.window, Of::Lowest);
        graphs.push(("balance", balance, bytes));
    }
    graphs.push(("metered", Graph::of(&seen.metrics.metered, report.window, Of::Mean), throughput));
    graphs
}

struct Block<'r> {
    report: &'r Report,
    seen: &'r Seen,
}

impl Block<'_> {
    fn write(&self, look: &Look<'_>, out: &mut impl Write) -> io::Result<()> {
        let file_system = &self.seen.file_system;
        let name = file_system.name.as_ref().map(|name| format!("  {}", printable(name.as_bytes())));
        writeln!(out, "{}{}", file_system.id, name.unwrap_or_default())?;
        let outlook = self.seen.situation.outlook;
        let (label, text) = self.outlook();
        writeln!(out, "{}{text}", look.painted(outlook, &format!("{label:<LABEL$}")))?;
        let lines = [
            ("mode", Some(self.mode())),
            ("storage", Some(self.storage())),
            ("credits", self.credits()),
            ("throughput", Some(self.throughput())),
            ("burn", Some(self.burn())),
        ];
        for (label, text) in lines {
            if let Some(text) = text {
                writeln!(out, "{label:<LABEL$}{text}")?;
            }
        }
        self.write_graphs(out)
    }

    /// The time of day.
    fn clock(&self, at: i64) -> String {
        clock(at, self.report.now)
    }

    /// So many seconds after the newest balance.
    fn end(&self, seconds: f64) -> String {
        let from = self.seen.situation.balance.map_or(self.report.now, |balance| balance.at);
        self.clock(from.saturating_add(seconds as i64))
    }

    /// What stands first, for it is what was asked.
    fn outlook(&self) -> (&'static str, String) {
        let then = |seconds| {
            let at = if seconds < FAR { format!(", at {}", self.end(seconds)) } else { String::new() };
            format!("{} at this burn{at}", lasting(seconds, false))
        };
        match self.seen.situation.outlook {
            Outlook::Empty { since, or_before, refill } => {
                let before = if or_before { "before " } else { "" };
                let then = refill.map_or(": throttled to the baseline".to_owned(), |seconds| {
                    format!("; full in {} at this burn", lasting(seconds, false))
                });
                let text = format!("since {before}{}{then}", self.clock(since));
                ("EMPTY", text)
            }
            Outlook::Depletion { seconds } => ("TO DEPLETION", then(seconds)),
            Outlook::Refill { seconds } => ("TO REFILL", then(seconds)),
            Outlook::Full => ("FULL", "not draining".to_owned()),
            Outlook::Steady => ("STEADY", "not draining: as much is used as is earned".to_owned()),
            Outlook::NoBurn => ("UNKNOWN", "no MeteredIOBytes in the last 15 minutes".to_owned()),
            Outlook::NoBalance if self.seen.situation.balance.is_some() => {
                ("UNKNOWN", "no BurstCreditBalance in the last 15 minutes: not mounted?".to_owned())
            }
            Outlook::NoBalance => {
                let hours = lasting((self.report.window.to - self.report.window.from) as f64, false);
                ("UNKNOWN", format!("no BurstCreditBalance in the last {hours}: new, or not mounted"))
            }
            Outlook::NoCredits => match self.seen.file_system.mode {
                ThroughputMode::Provisioned { .. } => {
                    ("NO CREDITS", "more is provisioned than the storage earns".to_owned())
                }
                _ => ("NO CREDITS", format!("in {} mode", self.seen.file_system.mode.name())),
            },
        }
    }

    fn mode(&self) -> String {
        let file_system = &self.seen.file_system;
        let mut text = printable(file_system.mode.name().as_bytes());
        if let ThroughputMode::Provisioned { mibps } = file_system.mode {
            text += &format!(", {} MiB/s", digits(mibps));
        }
        if let Some(zone) = &file_system.zone {
            text += &format!(", One Zone {}", printable(zone.as_bytes()));
        }
        if !file_system.general_purpose {
            text += ", Max I/O";
        }
        text
    }

    fn storage(&self) -> String {
        let file_system = &self.seen.file_system;
        let classes =
            [(file_system.infrequent_bytes, "Infrequent Access"), (file_system.archive_bytes, "Archive")];
        let classes = classes.iter().filter(|(bytes, _)| *bytes > 0);
        let classes = classes.map(|(stored, class)| format!(", {} {class}", bytes(*stored as f64)));
        bytes(file_system.standard_bytes as f64) + " Standard" + &classes.collect::<String>()
    }

    /// None of a file system without credits.
    fn credits(&self) -> Option<String> {
        let Seen { file_system, situation, .. } = self.seen;
        let balance = situation.balance.filter(|_| file_system.may_have_credits())?;
        let bucket = Bucket::of(file_system, balance.value);
        let text =
            format!("{}, {:.1} % of {}", bytes(balance.value), bucket.share() * 100.0, bytes(bucket.cap));
        Some(match file_system.burst_seconds(balance.value, &self.report.region) {
            // It was so then.
            _ if balance.is_old(self.report.now) => {
                format!("{text}; OLD: of {}, none since", self.clock(balance.at))
            }
            Some(seconds) if seconds >= 60.0 => format!("{text}: {} of burst", lasting(seconds, false)),
            _ => text,
        })
    }

    /// What is permitted now, by CloudWatch or else by the model; and what always is.
    fn throughput(&self) -> String {
        let Seen { file_system, situation, .. } = self.seen;
        let permitted = match situation.permitted {
            Some(permitted) if permitted.is_old(self.report.now) => {
                format!("permitted {} (old: of {})", throughput(permitted.value), self.clock(permitted.at))
            }
            Some(permitted) => format!("permitted {}", throughput(permitted.value)),
            None => "permitted: no data of PermittedThroughput".to_owned(),
        };
        match file_system.mode {
            ThroughputMode::Elastic => permitted,
            _ => format!("{permitted}; baseline {}", throughput(baseline(file_system.standard_bytes))),
        }
    }

    fn burn(&self) -> String {
        let Some(burn) = self.seen.situation.burn else {
            let newest = self.seen.metrics.metered.last_key_value();
            return match newest {
                Some((at, _)) => {
                    format!("unknown: no data of MeteredIOBytes since {}", self.clock(*at + 60))
                }
                None => "unknown: no data of MeteredIOBytes".to_owned(),
            };
        };
        let (rate, until) = (throughput(burn.rate), self.clock(burn.until));
        let minutes = match burn.minutes {
            15 => "15 minutes".to_owned(),
            some => format!("{some} of 15 minutes"),
        };
        match burn.is_censored() {
            false => format!("{rate}, the mean of {minutes} to {until}"),
            true => {
                let of = burn.at_ceiling;
                format!("at least {rate}: at the limit in {of} of {} min to {until}", burn.minutes)
            }
        }
    }

    fn write_graphs(&self, out: &mut impl Write) -> io::Result<()> {
        let graphs = graphs(self.report, self.seen);
        if graphs.iter().all(|(_, graph, _)| graph.top().is_none()) {
            return Ok(());
        }
        let mut columns = 0;
        for (title, graph, unit) in &graphs {
            columns = graph.columns.len();
            match graph.top() {
                Some(top) => {
                    let scale = unit(top);
                    writeln!(out, "{title:<LABEL$}{}  0..{scale}", graph.line())?;
                }
                None => writeln!(out, "{title:<LABEL$}no data")?,
            }
        }
        let (from, to) = (self.report.window.from, self.report.window.to);
        let (from, to) = (self.clock(from), self.clock(to) + " UTC");
        let between = columns.saturating_sub(from.len() + to.len()).max(1);
        writeln!(out, "{:LABEL$}{from}{:between$}{to}", "", "")
    }
}
