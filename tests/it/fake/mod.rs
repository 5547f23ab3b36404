//! Our doubles of AWS on loopback: each runs on a thread of its own, so that any test, async or not, and any child
//! process can use them.

pub mod cloudwatch;
pub mod ecs;
pub mod efs;
pub mod imds;
pub mod limits;
pub mod proxy;
mod query;
pub mod server;
pub mod sns;
pub mod sts;
pub mod tls;
