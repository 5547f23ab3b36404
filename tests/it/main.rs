//! The one integration test binary.

mod aws;
mod child;
mod fake;
mod fake_limits;
mod host;
mod ministack;
