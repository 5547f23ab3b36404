//! `efsmon alarms`: rendered, applied and verified.

mod expressions;
mod refused;
mod render;
mod target;
