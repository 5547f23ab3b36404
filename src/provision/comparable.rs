//! An alarm's body in the one form in which two can be compared: what CloudWatch adds is added, and what has no order
//! is sorted.

use serde_json::{Map, Value, json};

/// The body of PutMetricAlarm, or what DescribeAlarms tells of one, with CloudWatch's defaults written out (CloudWatch
/// API Reference, PutMetricAlarm and MetricDataQuery). Actions, dimensions and queries are sorted; empty lists of the
/// latter two are left out.
pub fn comparable(mut body: Value) -> Value {
    let Some(members) = body.as_object_mut() else { return body };
    for actions in ["OKActions", "AlarmActions", "InsufficientDataActions"] {
        let listed = members.entry(actions).or_insert_with(|| json!([]));
        sort_by(listed, |action| action.as_str().map(str::to_owned));
    }
    let periods = members.get("EvaluationPeriods").cloned();
    for (name, default) in [
        ("ActionsEnabled", Some(json!(true))),
        ("TreatMissingData", Some(json!("missing"))),
        ("DatapointsToAlarm", periods),
    ] {
        if let Some(default) = default {
            members.entry(name).or_insert(default);
        }
    }
    sort_dimensions(members);
    let Some(metrics) = members.get_mut("Metrics") else { return body };
    sort_by(metrics, |query| query.get("Id").and_then(Value::as_str).map(str::to_owned));
    for query in metrics.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        query.entry("ReturnData").or_insert(json!(true));
        let metric = query.get_mut("MetricStat").and_then(|stat| stat.get_mut("Metric"));
        if let Some(metric) = metric.and_then(Value::as_object_mut) {
            sort_dimensions(metric);
        }
    }
    if members.get("Metrics") == Some(&json!([])) {
        members.remove("Metrics");
    }
    body
}

fn sort_dimensions(members: &mut Map<String, Value>) {
    if let Some(dimensions) = members.get_mut("Dimensions") {
        sort_by(dimensions, |dimension| dimension.get("Name").and_then(Value::as_str).map(str::to_owned));
        if dimensions == &json!([]) {
            members.remove("Dimensions");
        }
    }
}

fn sort_by(list: &mut Value, key: impl Fn(&Value) -> Option<String>) {
    if let Some(items) = list.as_array_mut() {
        items.sort_by_key(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_defaults_do_not_count() {
        let one = json!({
            "AlarmName": "a", "AlarmActions": ["t2", "t1"], "EvaluationPeriods": 3,
            "Dimensions": [{ "Name": "B", "Value": "1" }, { "Name": "A", "Value": "2" }],
            "Metrics": [],
        });
        let other = json!({
            "AlarmName": "a", "ActionsEnabled": true, "OKActions": [], "AlarmActions": ["t1", "t2"],
            "InsufficientDataActions": [], "EvaluationPeriods": 3, "DatapointsToAlarm": 3,
            "TreatMissingData": "missing",
            "Dimensions": [{ "Name": "A", "Value": "2" }, { "Name": "B", "Value": "1" }],
        });
        assert_eq!(comparable(one), other);
        assert_eq!(comparable(other.clone()), other);
    }

    #[test]
    fn queries_are_known_by_their_ids() {
        let dimensions = json!([{ "Name": "B", "Value": "1" }, { "Name": "A", "Value": "2" }]);
        let sorted = json!([{ "Name": "A", "Value": "2" }, { "Name": "B", "Value": "1" }]);
        let metric = |dimensions: &Value, more: Value| {
            let mut query = json!({ "Id": "m1", "MetricStat": { "Period": 60, "Stat": "Sum", "Metric": {
                "Namespace": "AWS/EFS", "MetricName": "MeteredIOBytes", "Dimensions": dimensions,
            } } });
            query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            query
        };
        let expression = json!({ "Id": "e1", "Expression": "m1 / 2", "ReturnData": false });
        let one = comparable(json!({ "Metrics": [metric(&dimensions, json!({})), expression] }));
        let expected = json!([expression, metric(&sorted, json!({ "ReturnData": true }))]);
        assert_eq!(one["Metrics"], expected);
    }
}
