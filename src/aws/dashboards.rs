//! Dashboards: PutDashboard, GetDashboard, ListDashboards, DeleteDashboards (CloudWatch API Reference).
