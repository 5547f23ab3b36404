//! `efsmon alarms`: rendered, applied and verified.

mod apply;
mod limits;
mod render;
mod verify;
