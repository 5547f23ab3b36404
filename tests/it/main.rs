//! The one integration test binary: a module for each thing that is tested from outside.

mod config;
