//! The double of GetMetricData refuses what CloudWatch refuses, and reckons as it does.
