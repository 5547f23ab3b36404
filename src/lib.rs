//! efsmon: what a host's Amazon EFS mounts really do, for people and for CloudWatch.
//!
//! The modules in reading order; each may use only those above it (`tests/it/house.rs` checks that).

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::string_slice,
        reason = "tests make their own files, time and mistakes"
    )
)]

pub mod model;
pub mod names;
pub mod clock;
pub mod mountstats;
pub mod mountinfo;
pub mod source;
pub mod recording;
pub mod traffic;
pub mod sampler;
pub mod efs;
pub mod nfsiostat;
pub mod health;
pub mod catalog;
pub mod minutes;
pub mod batch;
pub mod cost;
pub mod cronscript;
pub mod metricmath;
pub mod credits;
pub mod alarm;
pub mod provision;
pub mod iam;
pub mod monitor;
pub mod spool;
pub mod publish;
pub mod aws;
pub mod config;
pub mod daemon;
pub mod cli;
