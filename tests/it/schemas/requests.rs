//! Every request but PutMetricData is one that AWS's model of CloudWatch takes.

use std::collections::{BTreeMap, BTreeSet};

use ciborium::Value as Cbor;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::CLOUDWATCH;
use super::models::{self, complaints};
use crate::account::Account;

/// A request's parameters as JSON: what CBOR marks as a time is its number.
fn json_of(cbor: &Cbor) -> Value {
    match cbor {
        Cbor::Bool(yes) => json!(yes),
        Cbor::Integer(number) => json!(i64::try_from(*number).unwrap()),
        Cbor::Float(number) => json!(number),
        Cbor::Text(text) => json!(text),
        Cbor::Tag(_, inner) => json_of(inner),
        Cbor::Array(items) => items.iter().map(json_of).collect(),
        Cbor::Map(members) => {
            let members = members.iter();
            Value::Object(
                members.map(|(name, value)| (name.as_text().unwrap().to_owned(), json_of(value))).collect(),
            )
        }
        other => panic!("{other:?} is nothing that a request holds"),
    }
}

#[test]
fn every_request_is_one_that_cloudwatch_takes() {
    let account = Account::start();
    account.efs.create("fs-0123456789abcdef0", &[]);
    let topic = "arn:aws:sns:eu-west-1:123456789012:efs";
    let fire = "efsmon-fs-0123456789abcdef0-credits-low";
    for command in [
        &["dashboards", "apply", "--yes", "--tag", "team=storage"][..],
        &["dashboards", "list"],
        &["credits"],
        &["dashboards", "delete", "--yes"],
        &["alarms", "apply", "--yes", "--tag", "team=storage", "--sns", topic, "--ok-sns", topic],
        &["alarms", "verify", "--fire", fire, "--hold", "0", "--yes"],
        &["alarms", "delete", "--yes"],
    ] {
        let output = account.efsmon(&[command, &["--config", "efsmon.toml"]].concat());
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let model = models::service(CLOUDWATCH);
    let mut operations: BTreeMap<String, Validator> = BTreeMap::new();
    for call in account.cloudwatch.calls() {
        let operation = call.operation;
        let validator =
            operations.entry(operation.clone()).or_insert_with(|| models::operation(&model, &operation));
        let body = json_of(&call.body);
        assert_eq!(complaints(validator, &body), Vec::<String>::new(), "{operation}: {body:#}");
    }
    let asked: BTreeSet<&str> = operations.keys().map(String::as_str).collect();
    let all = [
        "DeleteAlarms",
        "DeleteDashboards",
        "DescribeAlarms",
        "GetDashboard",
        "GetMetricData",
        "ListDashboards",
        "PutDashboard",
        "PutMetricAlarm",
        "SetAlarmState",
    ];
    assert_eq!(asked, all.into());
}
