//! The test files that efsmon brings along: at least one for each of its alarms.

/// Name and text of each.
pub const FILES: &[(&str, &str)] = &[];
