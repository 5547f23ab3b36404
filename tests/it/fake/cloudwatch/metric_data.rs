//! GetMetricData.

use ciborium::Value;

use super::Refused;

#[derive(Default)]
pub struct MetricData {}

impl MetricData {
    /// None: the operation is not one of these.
    pub fn answer(&mut self, _operation: &str, _body: &Value) -> Option<Result<Value, Refused>> {
        None
    }
}
