//! The command line: one file for each command.

pub mod alarms;
pub mod completions;
pub mod config;
pub mod cost;
pub mod credits;
pub mod dashboards;
pub mod iam_policy;
pub mod migrate;
pub mod mounts;
pub mod provision;
pub mod record;
mod replay;
pub mod run;
pub mod stat;
pub mod state;
pub mod status;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::ConfigError;

/// Client-side monitoring for Amazon EFS
///
/// Reads what the kernel counts about NFS mounts, adds it up by the minute, keeps it on disk and publishes it to Amazon
/// CloudWatch: which host reads and writes how much, how long the calls take, whether a mount hangs. The daemon does
/// that on every host. The other commands show what is mounted and what the mounts do now, write dashboards and
/// alarms, and tell how long burst credits last.
///
/// Nothing on a mount is ever touched, so a server that hangs does not hang efsmon.
#[derive(Debug, Parser)]
#[command(
    name = "efsmon",
    version,
    after_help = "Exit status: 0 done, 1 failed, 2 bad usage, 3 differences found, 78 bad configuration."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The daemon of efsmon: sample the mounts, publish to CloudWatch
///
/// The same as efsmon run, in a program without the other commands, which takes less memory. The service runs it.
///
/// Every 10 seconds it reads the counters of every NFS mount. Each minute becomes figures by file system and by host,
/// goes to disk, and from there to CloudWatch. What cannot be sent waits on disk for up to two weeks, and goes out
/// under the minute in which it happened.
///
/// SIGTERM or SIGINT ends it: it takes a last reading, goes on sending for some seconds or until another signal, and
/// leaves the rest for the next start. It logs to standard error.
#[derive(Debug, Parser)]
#[command(
    name = "efsmond",
    version,
    after_help = "Exit status: 0 done, 1 failed, 2 bad usage, 78 bad configuration."
)]
pub struct Efsmond {
    #[command(flatten)]
    args: run::RunArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    /// Tell what each NFS mount does: operations, throughput, latency
    ///
    /// The first report is of the time since each mount; with INTERVAL another follows every so many seconds,
    /// COUNT in all. Rates are over the true time and all connections, and never negative. Mount points are
    /// compared as text: nothing on a mount is touched, so a server that hangs does not hang this.
    Stat(stat::StatArgs),
    Mounts(mounts::MountsArgs),
    Status(status::StatusArgs),
    Record(record::RecordArgs),
    /// Tell what CloudWatch bills in a month, for this host or a fleet
    ///
    /// Counts series, requests and US dollars, for each profile. Without --hosts: for this host and what it mounts
    /// now. Nothing is published, and nobody is asked. A series is a custom metric: a name with its dimensions.
    /// Those of a file system are shared by all hosts and billed once, those of a host are its own.
    Cost(cost::CostArgs),
    Dashboards(dashboards::DashboardsArgs),
    Alarms(alarms::AlarmsArgs),
    Credits(credits::CreditsArgs),
    IamPolicy(iam_policy::IamPolicyArgs),
    Migrate(migrate::MigrateArgs),
    /// Write, check or show the configuration
    ///
    /// It is in /etc/efsmon/efsmon.toml and the files conf.d/*.toml beside it. None is needed: every setting has a
    /// default.
    Config(config::ConfigArgs),
    /// Empty what the daemon keeps on this disk
    ///
    /// Counters, what was never sent, and names: in /var/lib/efsmon, or where state_dir says.
    State(state::StateArgs),
    /// Print what a shell needs to complete commands and flags
    ///
    /// The packages bring it for bash, zsh and fish. Without a package, for bash:
    /// efsmon completions bash > ~/.local/share/bash-completion/completions/efsmon
    Completions(completions::CompletionsArgs),
}

/// Arguments that clap takes one by one, but that do not go together.
#[derive(Debug, thiserror::Error)]
#[error("{0}; try --help")]
pub struct UsageError(String);

/// What is there is not what should be there: nothing failed, but a script wants to know.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Differences(String);

/// Runs the command.
///
/// # Errors
///
/// Whatever kept it from its end; [`exit_code`] tells what the process ends with. A reader that has seen
/// enough and closes the pipe is none.
pub fn run(cli: Cli) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let done = match cli.command {
        Command::Run(args) => run::run(&args, &mut out),
        Command::Stat(args) => stat::run(&args, &mut out),
        Command::Mounts(args) => mounts::run(&args, &mut out),
        Command::Status(args) => status::run(&args, &mut out),
        Command::Record(args) => record::run(&args, &mut out),
        Command::Cost(args) => cost::run(&args, &mut out),
        Command::Dashboards(args) => dashboards::run(&args, &mut out),
        Command::Alarms(args) => alarms::run(&args, &mut out),
        Command::Credits(args) => credits::run(&args, &mut out),
        Command::IamPolicy(args) => iam_policy::run(&args, &mut out),
        Command::Migrate(args) => migrate::run(&args, &mut out),
        Command::Config(args) => config::run(args, &mut out),
        Command::State(args) => state::run(&args, &mut out),
        Command::Completions(args) => completions::run(&args, &mut out),
    };
    unless_closed_pipe(done)
}

/// Runs the daemon.
///
/// # Errors
///
/// As [`run`].
pub fn run_daemon(daemon: &Efsmond) -> anyhow::Result<()> {
    unless_closed_pipe(run::run(&daemon.args, &mut io::stdout().lock()))
}

/// What the process ends with, and for people what went wrong.
pub fn end(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(io::stderr(), "efsmon: {error:#}");
            exit_code(&error)
        }
    }
}

fn unless_closed_pipe(done: anyhow::Result<()>) -> anyhow::Result<()> {
    match done {
        Err(error) if is_closed_pipe(&error) => Ok(()),
        done => done,
    }
}

/// Standard output is the only pipe whose error gets here as itself: the daemon's are told in its own words.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// 78 for a bad configuration, 2 for bad usage (as clap), 3 for differences that were looked for, 1 for everything else.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<ConfigError>() {
        ExitCode::from(ConfigError::EXIT_CODE)
    } else if error.is::<UsageError>() {
        ExitCode::from(2)
    } else if error.is::<Differences>() {
        ExitCode::from(3)
    } else {
        ExitCode::FAILURE
    }
}
