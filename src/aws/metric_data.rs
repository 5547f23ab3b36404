//! What CloudWatch knows of metrics: GetMetricData (CloudWatch API Reference).
