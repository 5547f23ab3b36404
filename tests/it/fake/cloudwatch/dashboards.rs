//! Dashboards: PutDashboard, GetDashboard, DeleteDashboards, ListDashboards.

use ciborium::Value;

use super::Refused;

#[derive(Default)]
pub struct Dashboards {}

impl Dashboards {
    /// None: the operation is not one of these.
    pub fn answer(&mut self, _operation: &str, _body: &Value) -> Option<Result<Value, Refused>> {
        None
    }
}
