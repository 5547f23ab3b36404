//! `efsmon credits`: the program against an account whose metrics end a minute ago.

mod command;
mod double;
