//! `efsmon dashboards`: rendered and applied.
