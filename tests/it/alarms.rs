//! `efsmon alarms`: rendered, applied and verified.

mod apply;
mod command;
mod emulator;
mod evaluation;
mod expressions;
mod failures;
mod limits;
mod mutants;
mod ownership;
mod refused;
mod render;
mod target;
mod test_files;
mod verify;
