//! The one integration test binary: a module for each subject.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unreachable,
    clippy::unwrap_used,
    reason = "a test may fail loudly, run programs, and make files, threads and time of its own"
)]

mod account;
mod alarms;
mod assets;
mod aws;
mod changelog;
mod child;
mod churn;
mod completions;
mod config;
mod cost;
mod credits;
mod daemon;
mod dashboards;
mod fake;
mod fake_limits;
mod health;
mod host;
mod house;
mod iam_policy;
mod identity;
mod metricmath;
mod migrate;
mod ministack;
mod minute;
mod minutes;
mod mountinfo;
mod mounts;
mod mountstats;
mod oracle;
mod packages;
mod parity;
mod paused;
mod proxies;
mod readme;
mod record;
mod role;
mod schemas;
mod scopes;
mod stat;
mod state;
mod superblocks;
mod ticks;
mod unit;
