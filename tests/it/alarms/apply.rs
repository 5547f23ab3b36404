use crate::account::Account;
use serde_json::json;

#[test]
fn explore() {
    let account = Account::start();
    account.efs.create("fs-0123456789abcdef0", &[]);
    account.efs.create("fs-0fedcba9876543210", &[]);
    account.efs.describe("fs-0fedcba9876543210", json!({"ThroughputMode": "elastic"}));
    account.sns.create("arn:aws:sns:eu-west-1:123456789012:pages");
    let run = |arguments: &[&str]| {
        let all: Vec<&str> = [&["alarms"], arguments, &["--config", "efsmon.toml"]].concat();
        let output = account.efsmon(&all);
        println!(
            "$ efsmon {}\n{}{}=> {:?}\n",
            all.join(" "),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            output.status.code()
        );
    };
    run(&["apply", "--dry-run"]);
    run(&["apply", "--sns", "arn:aws:sns:eu-west-1:123456789012:pages"]);
    run(&["apply", "--yes", "--sns", "arn:aws:sns:eu-west-1:123456789012:pages", "--tag", "team=web"]);
    run(&["apply", "--yes", "--sns", "arn:aws:sns:eu-west-1:123456789012:pages"]);
    run(&["apply", "--yes"]);
    run(&["list"]);
    run(&["verify"]);
    account.cloudwatch.alarms(|alarms| {
        alarms.remove("efsmon-fs-0123456789abcdef0-credits-low");
        alarms.edit("efsmon-fs-0123456789abcdef0-mount-stalled", "Threshold", ciborium::Value::Float(7.0));
        alarms.edit(
            "efsmon-fs-0123456789abcdef0-mount-stalled",
            "ActionsEnabled",
            ciborium::Value::Bool(false),
        );
        alarms.edit("efsmon-fs-0123456789abcdef0-client-latency", "AlarmDescription", "gone".into());
    });
    run(&["diff", "credits-low", "mount-stalled", "client-latency"]);
    run(&["verify", "--all"]);
    account.efs.delete("fs-0fedcba9876543210");
    run(&["verify"]);
    run(&["apply", "--prune", "--dry-run", "--ok-sns", "arn:aws:sns:eu-west-1:123456789012:pages"]);
    run(&["apply", "--prune", "--dry-run", "--json"]);
    run(&["verify", "--fire", "efsmon-fs-0123456789abcdef0-percent-io-limit", "--hold", "0", "--yes"]);
    run(&["delete", "fs-0123456789abcdef0"]);
    run(&["delete", "--yes"]);
    run(&["verify"]);
    run(&["render", "fs-0123456789abcdef0", "--help"]);
    run(&["render", "creditslow"]);
}
