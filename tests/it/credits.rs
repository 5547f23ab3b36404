//! `efsmon credits`.
