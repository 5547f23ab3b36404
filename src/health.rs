//! What is wrong with a mount: that its server does not answer, and what a person should change. Pure.

mod findings;
mod options;
mod stalls;

pub use findings::{Finding, HostPlace, KINDS, Kind, MountFacts, Severity, findings};
pub use stalls::{Stall, Stalls};
