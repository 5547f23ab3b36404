//! `efsmon record`: keeps what is read, to be looked at later or by somebody else.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::config::ConfigFlags;
use super::run::Signals;
use crate::clock::{Clock, SystemClock};
use crate::daemon::host::Surroundings;
use crate::daemon::until_multiple;
use crate::recording::redact::Redaction;
use crate::recording::{About, Header, MARKER, Recorder, Recording, Tick};

/// Record what efsmon reads, as files, to look at it later or elsewhere
///
/// Each tick is a folder with the texts of mountstats and mountinfo, both clocks, and the state of amazon-efs-utils'
/// mounts. `--procfs DIR` shows the recording to `efsmon mounts`, `efsmon stat` and `efsmon run --dry-run`, which
/// has all figures but ProxyCpu and ProxyMemory. It takes as much room as the texts: about 4 kB for each NFS mount and
/// tick.
#[derive(Debug, Args)]
#[command(override_usage = "efsmon record [OPTIONS] DIR [INTERVAL [COUNT]]\n       \
    efsmon record --redact --from RECORDING DIR")]
pub struct RecordArgs {
    #[command(flatten)]
    flags: ConfigFlags,
    /// Where to write it: a directory that is new or empty
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Seconds between two ticks, as sample_interval (default: what that is)
    #[arg(value_parser = interval)]
    interval: Option<Duration>,
    /// How many ticks to take (default: until SIGINT or SIGTERM, which take a last one)
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Replace ids, addresses, and names of hosts, paths and volumes, each by the same wherever it stands; numbers,
    /// times, options, regions and zones stay
    #[arg(long)]
    redact: bool,
    /// Take the ticks from this recording
    #[arg(long, value_name = "RECORDING", requires = "redact", conflicts_with = "interval")]
    from: Option<PathBuf>,
}

/// What is recorded is what the daemon would have read.
fn interval(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds) if (1..=20).contains(&seconds) && 60 % seconds == 0 => Ok(Duration::from_secs(seconds)),
        _ => {
            Err("a number of seconds that divides 60, at most 20, is expected, as for sample_interval"
                .to_owned())
        }
    }
}

/// Records until there are COUNT ticks or a signal comes; notes go to stderr.
///
/// # Errors
///
/// A directory that is not new, or cannot be written to: the ticks that it holds by then are whole.
pub fn run(args: &RecordArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let total = match &args.from {
        Some(recording) => copy(recording, &args.directory)?,
        None => record(args)?,
    };
    let Total { ticks, void, bytes } = total;
    let void = if void > 0 { format!(" ({void} of them void)") } else { String::new() };
    writeln!(out, "{}: {ticks} ticks{void}, {bytes} bytes", args.directory.display())?;
    Ok(())
}

fn record(args: &RecordArgs) -> anyhow::Result<Total> {
    let config = super::config::load(&args.flags)?.config;
    super::replay::refuse(
        &config.source.procfs,
        "name the machine's own --procfs, or redact it with --redact --from",
    )?;
    let source = super::run::source(&config);
    let interval = args.interval.unwrap_or(config.sample_interval);
    let mut redaction = args.redact.then(Redaction::default);
    let in_container = Surroundings::of_this_process() != Surroundings::Host;
    let header = Header::new(interval, args.redact);
    let mut taker =
        Taker::create(&args.directory, &header, &About::ask(&source, in_container), &mut redaction)?;
    let end = if args.count.is_some() { "" } else { "; Ctrl-C ends it" };
    note(&format!("recording to {} every {} s{end}", args.directory.display(), interval.as_secs()));
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting")?;
    tokio.block_on(async {
        let mut signals = Signals::new().context("waiting for signals")?;
        let mut is_last = false;
        for number in 1.. {
            taker.take(&Tick::take(number, &source, &SystemClock))?;
            if is_last || args.count.is_some_and(|count| number >= count) {
                break;
            }
            let pause = until_multiple(SystemClock.now().wall, interval);
            tokio::select! {
                biased;
                // As the daemon does, which ends with a last reading.
                () = signals.next() => is_last = true,
                () = tokio::time::sleep(pause) => {}
            }
        }
        Ok(taker.end())
    })
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<Total> {
    let Some(recording) = Recording::open(from).context("the recording cannot be read")? else {
        bail!("{} is no recording: there is no {MARKER} in it", from.display());
    };
    let machine = recording.machine();
    let mut redaction = Some(Redaction::default());
    let mut taker =
        Taker::create(to, &recording.header().of_redacted(), &About::ask(&machine, false), &mut redaction)?;
    for tick in recording.ticks() {
        match tick {
            Ok(tick) => taker.take(&tick)?,
            Err(damage) => taker.note(&format!("the recording is damaged: {damage}")),
        }
    }
    Ok(taker.end())
}

/// What was written.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    ticks: u32,
    void: u32,
    bytes: u64,
}

/// Writes ticks and says how it goes.
struct Taker<'a> {
    recorder: Recorder,
    redaction: &'a mut Option<Redaction>,
    total: Total,
    /// The reason of the last void tick, and why there was no state: what stays is told once.
    told: [Option<String>; 2],
    /// Whether a line of progress stands on the terminal.
    shows: bool,
}

impl Taker<'_> {
    fn create<'a>(
        directory: &Path,
        header: &Header,
        about: &About,
        redaction: &'a mut Option<Redaction>,
    ) -> anyhow::Result<Taker<'a>> {
        let about = match redaction {
            Some(redaction) => redaction.about(about),
            None => about.clone(),
        };
        let recorder = Recorder::create(directory, header, &about).context("the recording cannot be made")?;
        Ok(Taker { recorder, redaction, total: Total::default(), told: [None, None], shows: false })
    }

    fn take(&mut self, tick: &Tick) -> anyhow::Result<()> {
        let errors = [
            tick.reading.as_ref().err().map(|reason| format!("void: {reason}")),
            tick.efs_state.as_ref().err().map(|reason| {
                format!("without the state of amazon-efs-utils' mounts, so those have no name: {reason}; run as root, or let this user's group read it")
            }),
        ];
        let news = errors.iter().zip(&self.told).filter(|(error, told)| error != told);
        let news: Vec<String> = news.filter_map(|(error, _)| error.clone()).collect();
        for error in news {
            self.note(&format!("tick {:06} is {error}", tick.number));
        }
        self.told = errors;
        let redacted = self.redaction.as_mut().map(|redaction| redaction.tick(tick));
        let kept = || format!("the recording ends before tick {:06}; those before it are whole", tick.number);
        self.total.bytes += self.recorder.write(redacted.as_ref().unwrap_or(tick)).with_context(kept)?;
        self.total.ticks += 1;
        self.total.void += u32::from(tick.reading.is_err());
        self.show();
        Ok(())
    }

    /// Progress, where a person sees it.
    fn show(&mut self) {
        if io::stderr().is_terminal() {
            let Total { ticks, void, bytes } = self.total;
            let _ = write!(io::stderr(), "\r{ticks} ticks, {void} void, {} kB ", bytes / 1000);
            self.shows = true;
        }
    }

    fn note(&mut self, text: &str) {
        self.end_line();
        note(text);
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.shows) {
            let _ = writeln!(io::stderr());
        }
    }

    fn end(mut self) -> Total {
        self.end_line();
        self.total
    }
}

/// Nobody is left to tell when stderr is closed.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "efsmon: {text}");
}
