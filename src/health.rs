//! What is wrong with a mount: that its server does not answer, and what a person should change. Pure.

mod stalls;

pub use stalls::{Stall, Stalls};
