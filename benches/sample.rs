//! What a sample costs: CPU time of the pure stages, on texts in memory. `cargo bench` fails when a Must is missed.
//!
//! efsmon turns an operation into numbers when it is asked for it, so the row that asks for all is the one to compare:
//! the sampler reads no more than that. The last row is a whole sample, from the texts to the minute: what it takes
//! beyond parsing is the stages after it.
//!
//! CPU time of this thread, not wall time, so that a busy machine changes little; medians of rounds in which every
//! row takes its turn.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "a benchmark asks for the time, prints, and may fail loudly"
)]

use std::cell::RefCell;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use efsmon::catalog::{OwnFigures, Profile};
use efsmon::minutes::SeriesLimits;
use efsmon::model::Moment;
use efsmon::monitor::{Monitor, Settings, State};
use efsmon::mountstats;
use efsmon::source::{Reading, View};
use procfs::FromRead;

const ROUNDS: usize = 21;
/// A row is repeated within a round until it has used this much.
const ENOUGH: Duration = Duration::from_millis(40);

/// Our parser against the `procfs` crate's, which reads fewer fields.
const FEWEST_TIMES_CHEAPER: f64 = 7.0;
/// CPU for ten times as many mounts, a mount, against CPU for the fewer.
const WORST_GROWTH: f64 = 1.2;

/// CPU of the stages after the parser against the parser's.
const WORST_REST: f64 = 1.0;

fn main() -> ExitCode {
    let small = text(1_000, 0);
    let large = text(10_000, 0);
    let host = RefCell::new(Host::new(1_000));
    let mut rows = [
        Row::new("procfs crate, 1,000 mounts", || {
            let parsed = procfs::process::MountStats::from_read(black_box(small.as_slice()));
            assert_eq!(black_box(parsed).expect("a text that procfs reads").0.len(), 1_000);
        }),
        Row::new("efsmon, 1,000 mounts", || {
            assert_eq!(black_box(mountstats::parse(black_box(&small))).records.len(), 1_000);
        }),
        Row::new("efsmon, and every operation read, 1,000", || {
            let parsed = mountstats::parse(black_box(&small));
            let statistics = parsed.records.iter().filter_map(|record| record.statistics.as_ref());
            statistics.flat_map(|statistics| &statistics.operations).for_each(|operation| {
                black_box(operation);
            });
        }),
        Row::new("efsmon, 10,000 mounts", || {
            assert_eq!(black_box(mountstats::parse(black_box(&large))).records.len(), 10_000);
        }),
        Row::new("efsmon, a whole sample, 1,000 mounts", || host.borrow_mut().sample()),
    ];
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Row::measure);
    }
    let [theirs, ours, with_operations, ours_large, sample] = &rows;

    println!("{} bytes for 1,000 mounts; medians of {ROUNDS} rounds", small.len());
    println!("{:<40}{:>12}{:>16}", "from memory", "CPU ms", "procfs / this");
    for row in &rows {
        println!("{:<40}{:>12.3}{:>16.1}", row.name, milliseconds(row.median()), ratio(theirs, row));
    }
    println!();
    let musts = [
        Must {
            name: "times less CPU than procfs",
            found: ratio(theirs, with_operations),
            least: Some(FEWEST_TIMES_CHEAPER),
            most: None,
        },
        Must {
            name: "growth a mount, 1,000 to 10,000",
            found: ratio(ours_large, ours) / 10.0,
            least: None,
            most: Some(WORST_GROWTH),
        },
        Must {
            name: "stages after the parser, against it",
            found: ratio(sample, with_operations) - 1.0,
            least: None,
            most: Some(WORST_REST),
        },
    ];
    println!("{:<40}{:>12}{:>16}", "must", "found", "allowed");
    let kept: Vec<bool> = musts.iter().map(Must::print).collect();
    match kept.iter().all(|kept| *kept) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Something that is measured.
struct Row<'a> {
    name: &'static str,
    run: Box<dyn Fn() + 'a>,
    /// CPU time of one run, of each round.
    rounds: Vec<Duration>,
}

impl<'a> Row<'a> {
    fn new(name: &'static str, run: impl Fn() + 'a) -> Self {
        Self { name, run: Box::new(run), rounds: Vec::new() }
    }

    fn measure(&mut self) {
        let start = cpu_time();
        let mut runs = 0;
        let used = loop {
            (self.run)();
            runs += 1;
            let used = cpu_time() - start;
            if used >= ENOUGH {
                break used;
            }
        };
        self.rounds.push(used / runs);
    }

    fn median(&self) -> Duration {
        let mut rounds = self.rounds.clone();
        rounds.sort();
        rounds[rounds.len() / 2]
    }
}

/// A bound that the product promises.
struct Must {
    name: &'static str,
    found: f64,
    least: Option<f64>,
    most: Option<f64>,
}

impl Must {
    /// Prints the row and says whether the bound is kept.
    fn print(&self) -> bool {
        let kept = self.least.is_none_or(|least| self.found >= least)
            && self.most.is_none_or(|most| self.found <= most);
        let allowed = match (self.least, self.most) {
            (Some(least), _) => format!(">= {least:.2}"),
            (None, Some(most)) => format!("<= {most:.2}"),
            (None, None) => String::new(),
        };
        println!(
            "{:<40}{:>12.2}{allowed:>16}  {}",
            self.name,
            self.found,
            if kept { "kept" } else { "MISSED" }
        );
        kept
    }
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The median of the rounds' ratios: what else the machine does in a round slows both rows down.
fn ratio(more: &Row, less: &Row) -> f64 {
    let rounds = more.rounds.iter().zip(&less.rounds);
    let mut ratios: Vec<f64> = rounds.map(|(more, less)| more.as_secs_f64() / less.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// A host whose mounts are all busy, sampled every 10 seconds; the default profile.
struct Host {
    readings: Vec<Reading>,
    next: usize,
    monitor: Monitor,
}

impl Host {
    fn new(mounts: usize) -> Host {
        let mountinfo = mountinfo(mounts);
        let reading = |sample: usize| {
            let time = Duration::from_secs(1_800_000_000 + 10 * sample as u64);
            Reading {
                moment: Moment { wall: time, monotonic: time },
                view: View::Own,
                mountinfo_before: mountinfo.clone(),
                mountstats: text(mounts, sample),
                mountinfo_after: mountinfo.clone(),
            }
        };
        Host { readings: (0..12).map(reading).collect(), next: 0, monitor: monitor() }
    }

    /// The next sample, over and over: two minutes, then from the start.
    fn sample(&mut self) {
        if self.next == self.readings.len() {
            self.next = 0;
            self.monitor = monitor();
        }
        let sighting = self.monitor.observe(&self.readings[self.next], Vec::new);
        assert_eq!(sighting.superblocks, 1_000);
        black_box(self.monitor.close(&OwnFigures::default()));
        self.next += 1;
    }
}

fn monitor() -> Monitor {
    let settings = Settings {
        sample_interval: Duration::from_secs(10),
        series: SeriesLimits::new(Profile::Minimal, 50),
        mounts: Vec::new(),
        stall_after: Duration::from_secs(30),
    };
    Monitor::new(settings, State::default())
}

fn mountinfo(mounts: usize) -> Vec<u8> {
    let device = device();
    let line = |mount: usize| {
        let minor = 100 + mount;
        format!(
            "{minor} 28 0:{minor} / /mnt/efs-{mount:05} rw,relatime shared:9 - nfs4 {device} rw,vers=4.1\n"
        )
    };
    (0..mounts).map(line).collect::<String>().into_bytes()
}

fn device() -> &'static str {
    let block = include_str!("../tests/fixtures/mountstats/50_scale_1.txt");
    let start = block.find("device fs-").expect("an NFS mount") + "device ".len();
    block[start..].split(' ').next().expect("a device")
}

/// A text of so many NFS mounts: one real block shape, every name and every count its own; greater with every sample.
fn text(mounts: usize, sample: usize) -> Vec<u8> {
    let block = include_str!("../tests/fixtures/mountstats/50_scale_1.txt");
    let block = &block[block.find("device fs-").expect("an NFS mount")..];
    let mut text = String::new();
    for mount in 0..mounts {
        for line in block.lines() {
            match line.split_once(" mounted on ") {
                Some((device, rest)) => {
                    let (_, kind) = rest.split_once(" with ").expect("a device line");
                    text.push_str(&format!("{device} mounted on /mnt/efs-{mount:05} with {kind}\n"));
                }
                None => varied(&mut text, line, mount as u64, sample as u64),
            }
        }
    }
    text.into_bytes()
}

/// A line with its counts varied a little: those above 9, so that as many numbers as on a real host stay short.
fn varied(text: &mut String, line: &str, mount: u64, sample: u64) {
    if let Some(age) = line.strip_prefix("\tage:\t") {
        let age: u64 = age.parse().expect("seconds");
        text.push_str(&format!("\tage:\t{}\n", age + 10 * sample));
        return;
    }
    let counts = ["\tage:", "\tevents:", "\tbytes:", "\txprt:"];
    if !counts.iter().any(|label| line.starts_with(label))
        && !line.ends_with(|last: char| last.is_ascii_digit())
    {
        text.push_str(line);
    } else {
        for (index, word) in line.split(' ').enumerate() {
            let space = if index == 0 { "" } else { " " };
            match word.parse::<u64>() {
                Ok(number) if number > 9 => text.push_str(&format!(
                    "{space}{}",
                    number + number * (mount % 97) / 97 + number * sample / 90
                )),
                _ => text.push_str(&format!("{space}{word}")),
            }
        }
    }
    text.push('\n');
}
