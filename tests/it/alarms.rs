//! `efsmon alarms`: rendered, applied and verified.

mod evaluation;
mod render;
