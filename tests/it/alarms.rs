//! `efsmon alarms`: rendered, applied and verified.

mod apply;
mod evaluation;
mod expressions;
mod limits;
mod refused;
mod render;
mod target;
mod test_files;
mod verify;
