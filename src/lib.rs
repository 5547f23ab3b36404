//! efsmon: what a host's Amazon EFS mounts really do, for people and for CloudWatch.
//!
//! The modules in reading order; each may use only those above it (`tests/it/house.rs` checks that).

#![forbid(unsafe_code)]

pub mod model;
pub mod clock;
pub mod mountstats;
pub mod mountinfo;
pub mod spool;
pub mod publish;
