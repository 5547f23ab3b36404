//! `efsmon stat`: what each NFS mount does, now and then again.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::UsageError;
use crate::clock::{Clock, SystemClock};
use crate::efs::{HelperMount, Lookups, helper_mounts};
use crate::model::Moment;
use crate::mountstats::{self, Parsed, Problem, unescape};
use crate::names::printable;
use crate::nfsiostat::activity::{self, Activity, Earlier};
use crate::nfsiostat::{View, csv, json, peer, selection, table};
use crate::sampler::join::{Seen, join_texts};
use crate::source::{Namespace, Roots, Source, read_text};

mod recorded;

const EFS_STATE: &str = "/var/run/efs";

/// `efsmon stat ..`
#[derive(Debug, clap::Args)]
#[command(override_usage = "efsmon stat [OPTIONS] [INTERVAL [COUNT]] [MOUNT]...\n       \
    efsmon stat [OPTIONS] --file NEW [--since OLD [--interval SECONDS]] [MOUNT]...")]
pub struct StatArgs {
    /// INTERVAL in seconds, COUNT of reports, and the mount points to show (default: all)
    #[arg(value_name = "NUMBER|MOUNT", value_parser = OsStringValueParser::new().try_map(positional))]
    positional: Vec<Positional>,

    /// Attribute cache: GETATTR and ACCESS
    #[arg(short = 'a', long = "attr", overrides_with_all = ["directories", "pages"])]
    attributes: bool,
    /// Directory operations: LOOKUP and READDIR
    #[arg(short = 'd', long = "dir", overrides_with_all = ["attributes", "pages"])]
    directories: bool,
    /// READ, WRITE and the page cache
    #[arg(short = 'p', long = "page", overrides_with_all = ["attributes", "directories"])]
    pages: bool,
    /// Busiest mounts first
    #[arg(short, long)]
    sort: bool,
    /// Show at most N mounts
    #[arg(short, long = "list", value_name = "N")]
    list: Option<usize>,

    /// Print exactly what nfsiostat prints (nfs-utils 2.8.3 to 3.1.1), its mistakes too
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    nfsiostat: bool,
    /// With --nfsiostat: MB instead of kB
    #[arg(short, long, requires = "nfsiostat")]
    megabytes: bool,
    /// One JSON object for each report, on one line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Comma-separated values: a line for each mount and operation
    #[arg(long)]
    csv: bool,

    /// The root of procfs, or a recording (see efsmon record): as the mounts were at its last tick; with INTERVAL
    /// from its first tick on, in its own time, up to the last
    #[arg(long, value_name = "DIR", default_value = "/proc")]
    procfs: PathBuf,
    /// Where amazon-efs-utils keeps the state of its mounts [default: /var/run/efs]
    #[arg(long, value_name = "DIR")]
    efs_state: Option<PathBuf>,

    /// Read this copy of /proc/self/mountstats instead
    #[arg(long, value_name = "NEW")]
    file: Option<PathBuf>,
    /// Report what changed since this earlier copy
    #[arg(long, value_name = "OLD", requires = "file")]
    since: Option<PathBuf>,
    /// Seconds between the two copies (default: what each mount's age tells)
    #[arg(long, value_name = "SECONDS", requires = "since", value_parser = seconds)]
    interval: Option<f64>,
}

#[derive(Clone, Debug)]
enum Positional {
    Number(u64),
    Mount(Vec<u8>),
}

fn positional(argument: OsString) -> Result<Positional, String> {
    let bytes = argument.as_bytes();
    if bytes.starts_with(b"/") {
        return Ok(Positional::Mount(bytes.to_vec()));
    }
    match argument.to_str().and_then(|text| text.parse().ok()) {
        Some(number) if number > 0 => Ok(Positional::Number(number)),
        _ => Err("a whole number from 1, or a mount point that starts with /, is expected".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("a number of seconds above 0 is expected".to_owned()),
    }
}

/// Runs `efsmon stat ..`; problems go to stderr.
///
/// # Errors
///
/// Arguments that do not go together ([`UsageError`]), a text that cannot be read, a mount point that is not
/// there, or a report that cannot be written.
pub fn run(args: &StatArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let mut numbers = Vec::new();
    let mut mounts = Vec::new();
    for positional in &args.positional {
        match positional {
            Positional::Number(number) => numbers.push(*number),
            Positional::Mount(path) => mounts.push(path.clone()),
        }
    }
    let mut printer = Printer { args, out, mounts, chosen: None, told: Vec::new(), is_first: true };
    match (&args.file, &numbers[..]) {
        (Some(new), []) => offline(&mut printer, new),
        (Some(_), [number, ..]) => {
            bail!(UsageError(format!("INTERVAL ({number}) is for live reports; --file is read once")))
        }
        (None, []) => online(&mut printer, None, Some(1)),
        (None, [interval]) => online(&mut printer, Some(*interval), None),
        (None, [interval, count]) => online(&mut printer, Some(*interval), Some(*count)),
        (None, [_, _, third, ..]) => {
            bail!(UsageError(format!("{third} is one number too many: INTERVAL and COUNT are all there are")))
        }
    }
}

fn offline(printer: &mut Printer<'_, impl Write>, new: &Path) -> anyhow::Result<()> {
    let StatArgs { since, interval, nfsiostat, .. } = printer.args;
    if *nfsiostat && since.is_some() && interval.is_none() {
        let reason = "--nfsiostat divides by the interval that was asked for: give it with --interval";
        bail!(UsageError(reason.to_owned()));
    }
    let what_to_do = "give a copy of /proc/self/mountstats";
    let old = since.as_deref().map(|path| read(path, what_to_do)).transpose()?;
    let new = read(new, what_to_do)?;
    let old = old.as_deref().map(mountstats::parse);
    let new = mountstats::parse(&new);
    let names_a_mount = new.problems.iter().any(|problem| problem.mount_point.is_some());
    if new.records.is_empty() && !names_a_mount && !*nfsiostat {
        bail!("there is no mount in it, and every system has some: {what_to_do}");
    }
    printer.print(&Report {
        new: &new,
        earlier: old.as_ref().map(|parsed| Earlier { parsed, elapsed_seconds: *interval }),
        nominal_seconds: *interval,
        wall: None,
        seen: Seen::default(),
        helper: &[],
    })
}

fn online(
    printer: &mut Printer<'_, impl Write>,
    interval: Option<u64>,
    count: Option<u64>,
) -> anyhow::Result<()> {
    let interval = interval.map(Duration::from_secs);
    let StatArgs { procfs, efs_state, .. } = printer.args;
    match super::replay::open(procfs, efs_state.as_deref())? {
        Some(recording) => recorded::report(printer, &recording, interval, count),
        None => live(printer, interval.unwrap_or_default(), count),
    }
}

fn live(printer: &mut Printer<'_, impl Write>, interval: Duration, count: Option<u64>) -> anyhow::Result<()> {
    let StatArgs { procfs, efs_state, .. } = printer.args;
    let own = procfs.join("self");
    let efs_state = efs_state.clone().unwrap_or_else(|| EFS_STATE.into());
    let roots = Roots { procfs: procfs.clone(), sysfs: PathBuf::new(), efs_state };
    let source = Source::new(roots, Namespace::Own);
    let mut before: Option<(Vec<u8>, Moment)> = None;
    let mut due = SystemClock.now().monotonic;
    let mut reports = 0;
    loop {
        // Not Source::read: without mountinfo there is still a report, only without the mounts that are one.
        let mountinfo = || read_text(&own.join("mountinfo")).unwrap_or_default();
        let mountinfo_before = mountinfo();
        let moment = SystemClock.now();
        let text = read(&own.join("mountstats"), "--procfs names the directory that holds self/mountstats")?;
        let mountinfo_after = mountinfo();
        let helper = source.efs_state().map(|files| helper_mounts(&files)).unwrap_or_default();

        let new = mountstats::parse(&text);
        let old =
            before.as_ref().map(|(text, then)| (mountstats::parse(text), moment.monotonic - then.monotonic));
        printer.print(&Report {
            new: &new,
            earlier: old
                .as_ref()
                .map(|(parsed, elapsed)| Earlier { parsed, elapsed_seconds: Some(elapsed.as_secs_f64()) }),
            nominal_seconds: Some(interval.as_secs_f64()),
            wall: Some(moment.wall),
            seen: join_texts(&mountinfo_before, &new, &mountinfo_after).0,
            helper: &helper,
        })?;
        reports += 1;
        if count.is_some_and(|count| reports >= count) {
            return Ok(());
        }
        due += interval;
        thread::sleep(due.saturating_sub(SystemClock.now().monotonic));
        before = Some((text, moment));
    }
}

fn read(path: &Path, what_to_do: &str) -> anyhow::Result<Vec<u8>> {
    read_text(path).map_err(|error| anyhow!("{error}; {what_to_do}"))
}

/// What one report is made of.
struct Report<'a> {
    new: &'a Parsed<'a>,
    earlier: Option<Earlier<'a>>,
    /// The interval that was asked for.
    nominal_seconds: Option<f64>,
    /// When the text was read.
    wall: Option<Duration>,
    /// Which mounts are one superblock.
    seen: Seen<'a>,
    helper: &'a [HelperMount],
}

/// Writes reports in the form that was asked for.
struct Printer<'a, W> {
    args: &'a StatArgs,
    out: &'a mut W,
    mounts: Vec<Vec<u8>>,
    /// The mounts that nfsiostat would take, once the first text is known.
    chosen: Option<Vec<Vec<u8>>>,
    /// The problems of the last report: what stays is told once, not every second.
    told: Vec<String>,
    is_first: bool,
}

impl<W: Write> Printer<'_, W> {
    fn print(&mut self, report: &Report<'_>) -> anyhow::Result<()> {
        if !self.args.json {
            self.tell(&report.new.problems);
        }
        // A report goes out whole: its reader may be a program that waits for its end.
        let text = match self.args.nfsiostat {
            true => self.as_nfsiostat(report)?,
            false => self.own(report)?,
        };
        self.out.write_all(&text)?;
        Ok(self.out.flush()?)
    }

    fn as_nfsiostat(&mut self, report: &Report<'_>) -> io::Result<Vec<u8>> {
        let StatArgs { sort, list, megabytes, .. } = *self.args;
        let options = peer::Options { view: self.args.view(), sort, limit: list, megabytes };
        let chosen = self.chosen.get_or_insert_with(|| peer::chosen(report.new, &self.mounts));
        let earlier = report.earlier.map(|earlier| earlier.parsed).zip(report.nominal_seconds);
        let mut text = Vec::new();
        peer::write(&mut text, report.new, earlier, chosen, options)?;
        if io::stdout().is_terminal() {
            let lines: Vec<String> = text.split(|byte| *byte == b'\n').map(printable).collect();
            text = lines.join("\n").into_bytes();
        }
        Ok(text)
    }

    fn own(&mut self, report: &Report<'_>) -> anyhow::Result<Vec<u8>> {
        let lookups = Lookups { helper: report.helper, ..Lookups::default() };
        let mut activities = activity::since(report.new, report.earlier, lookups);
        let is_first = std::mem::replace(&mut self.is_first, false);
        if is_first {
            if activities.is_empty() && !report.new.problems.is_empty() && !self.args.json {
                bail!("no NFS mount could be read, and there is one");
            }
            self.check_mounts(&activities)?;
        }
        selection::keep_wanted(&mut activities, &self.mounts);
        selection::mark_same(&mut activities, &report.seen);
        if self.args.sort {
            selection::sort_by_requests(&mut activities);
        }
        activities.truncate(self.args.list.unwrap_or(usize::MAX));

        let time = report.wall.map(rfc3339);
        let mut text = Vec::new();
        if self.args.json {
            writeln!(text, "{}", json::report(&activities, &report.new.problems, time))?;
        } else if self.args.csv {
            if is_first {
                writeln!(text, "{}", csv::HEADER)?;
            }
            csv::write(&mut text, &activities, &time.unwrap_or_default())?;
        } else {
            let elapsed = report.earlier.and_then(|earlier| earlier.elapsed_seconds);
            let heading = elapsed.map(|elapsed| match time {
                Some(time) => format!("\n{time}, {elapsed:.3} s"),
                None => format!("{elapsed:.3} s"),
            });
            table::write(&mut text, &activities, self.args.view(), heading.as_deref())?;
        }
        Ok(text)
    }

    /// A mount point that is not there is a slip of the pen, unless there was time to unmount it.
    fn check_mounts(&self, activities: &[Activity<'_>]) -> anyhow::Result<()> {
        for path in &self.mounts {
            if !activities.iter().any(|activity| selection::is_at(activity.mount, path)) {
                bail!(
                    "no NFS file system is mounted at {}; efsmon mounts lists those that are",
                    printable(path)
                );
            }
        }
        Ok(())
    }

    fn tell(&mut self, problems: &[Problem<'_>]) {
        let told: Vec<String> = problems.iter().map(describe).collect();
        for problem in told.iter().filter(|problem| !self.told.contains(problem)) {
            // A note: that nobody reads it does not stop the report.
            let _ = writeln!(io::stderr(), "efsmon: {problem}");
        }
        self.told = told;
    }
}

fn describe(problem: &Problem<'_>) -> String {
    let reason = printable(problem.reason.as_bytes());
    match problem.mount_point {
        Some(path) => format!("line {}: {}: {reason}", problem.line, printable(&unescape(path))),
        None => format!("line {}: {reason}", problem.line),
    }
}

fn rfc3339(wall: Duration) -> String {
    match jiff::Timestamp::from_second(wall.as_secs() as i64) {
        Ok(time) => time.to_string(),
        Err(_) => wall.as_secs().to_string(),
    }
}

impl StatArgs {
    fn view(&self) -> View {
        match self {
            StatArgs { attributes: true, .. } => View::Attributes,
            StatArgs { directories: true, .. } => View::Directories,
            StatArgs { pages: true, .. } => View::Pages,
            _ => View::Files,
        }
    }
}
