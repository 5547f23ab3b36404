//! `efsmon alarms`: rendered, applied and verified.
