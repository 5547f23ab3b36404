//! The time: everything that needs it is handed a [`Clock`], so that tests can be too.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::Moment;

/// Tells the time of day and the time since boot.
pub trait Clock {
    fn now(&self) -> Moment;
}

/// The machine's clocks: CLOCK_REALTIME and CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine for the time")]
    fn now(&self) -> Moment {
        let monotonic = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Moment {
            wall: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO),
            monotonic: Duration::new(monotonic.tv_sec as u64, monotonic.tv_nsec as u32),
        }
    }
}
