//! The integration tests: one binary, so that they link once.

mod mountinfo;
mod mountstats;
