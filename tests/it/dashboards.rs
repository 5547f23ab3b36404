//! `efsmon dashboards`: rendered and applied.

mod render;
mod render_limits;
mod render_values;
