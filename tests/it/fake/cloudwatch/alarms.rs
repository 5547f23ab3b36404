//! Alarms: PutMetricAlarm, DescribeAlarms, DeleteAlarms, SetAlarmState.

use ciborium::Value;

use super::Refused;

#[derive(Default)]
pub struct Alarms {}

impl Alarms {
    /// None: the operation is not one of these.
    pub fn answer(&mut self, _operation: &str, _body: &Value) -> Option<Result<Value, Refused>> {
        None
    }
}
