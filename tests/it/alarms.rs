//! `efsmon alarms`: rendered, applied and verified.

mod apply;
mod expressions;
mod limits;
mod refused;
mod render;
mod target;
mod verify;
