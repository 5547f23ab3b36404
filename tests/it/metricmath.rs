//! Metric math on whole dashboards and alarms.
