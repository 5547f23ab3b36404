//! `efsmon alarms`: rendered, applied and verified.

mod apply;
mod evaluation;
mod limits;
mod render;
mod test_files;
mod verify;
