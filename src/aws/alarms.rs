//! Alarms: PutMetricAlarm, DescribeAlarms, DeleteAlarms, SetAlarmState (CloudWatch API Reference).
