//! `efsmon iam-policy`: no more and no less than what is asked of AWS.

mod calls;

use std::collections::BTreeSet;
use std::process::Output;

use efsmon::iam;
use serde_json::{Value, json};

use crate::account::Account;
use crate::daemon::machine::{DEVICE_A, Machine};
use crate::daemon::process::Efsmon;
use crate::fake::cloudwatch::Fault;
use crate::schemas::models::{self, complaints};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The policy that was printed, and nothing besides.
#[track_caller]
fn policy(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// `efsmon iam-policy FLAGS` with that configuration.
fn iam_policy(toml: &str, flags: &[&str]) -> Output {
    let account = Account::start();
    std::fs::write(account.path().join("efsmon.toml"), toml).unwrap();
    let output = account.efsmon(&[&["iam-policy", "--config", "efsmon.toml"], flags].concat());
    assert_eq!((account.cloudwatch.connections(), account.efs.requests().len()), (0, 0), "nobody is asked");
    output
}

fn list(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        several => several.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect(),
    }
}

fn actions(policy: &Value) -> BTreeSet<String> {
    policy["Statement"].as_array().unwrap().iter().flat_map(|statement| list(&statement["Action"])).collect()
}

fn resources(policy: &Value) -> Vec<String> {
    policy["Statement"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|statement| list(&statement["Resource"]))
        .collect()
}

const EVERYTHING: &str = "[identity]\nlookup = true\n[compat]\ncron_script = true\n";
const ROLE: &str =
    "[publish]\nrole_arn = \"arn:aws:iam::444455556666:role/efsmon\"\nexternal_id = \"efsmon-42\"\n";

#[test]
fn a_daemon_without_any_setting_may_publish_in_efsmons_namespace() {
    let output = iam_policy("", &["--for", "daemon"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let expected = r#"{
  "Version": "2012-10-17",
  "Statement": [
    {
      "Sid": "PublishMetrics",
      "Effect": "Allow",
      "Action": "cloudwatch:PutMetricData",
      "Resource": "*",
      "Condition": {
        "StringEquals": {
          "cloudwatch:namespace": "EFSMon"
        }
      }
    }
  ]
}
"#;
    assert_eq!((text.as_str(), stderr(&output).as_str()), (expected, ""));
}

#[test]
fn look_ups_add_what_efs_is_asked_for_where_it_is() {
    let flags = ["--for", "daemon", "--account", "111122223333"];
    let settings = "[identity]\nlookup = true\n[publish]\nregion = \"cn-north-1\"\n";
    let file_systems = "arn:aws-cn:elasticfilesystem:cn-north-1:111122223333:file-system/*";
    assert_eq!(resources(&policy(&iam_policy(settings, &flags))), ["*", "*", file_systems]);
    let elsewhere = [&flags[..], &["--region", "*", "--partition", "aws-us-gov"]].concat();
    let file_systems = "arn:aws-us-gov:elasticfilesystem:*:111122223333:file-system/*";
    assert_eq!(resources(&policy(&iam_policy(settings, &elsewhere))), ["*", "*", file_systems]);
}

#[test]
fn a_daemon_that_publishes_as_a_role_may_become_it_and_the_role_may_publish() {
    let output = iam_policy(ROLE, &["--for", "daemon"]);
    let own = policy(&output);
    assert_eq!(actions(&own), ["sts:AssumeRole".to_owned()].into());
    assert_eq!(resources(&own), ["arn:aws:iam::444455556666:role/efsmon"]);
    let note = stderr(&output);
    let (words, of_the_role) = note.split_once('\n').unwrap();
    assert_eq!(
        words,
        "efsmon: arn:aws:iam::444455556666:role/efsmon itself needs a trust policy that lets these hosts assume it, \
         with the external id efsmon-42, and this policy:"
    );
    let of_the_role: Value = serde_json::from_str(of_the_role).unwrap();
    assert_eq!(of_the_role, policy(&iam_policy("", &["--for", "daemon"])));
}

#[test]
fn a_daemon_that_asks_aws_for_nothing_needs_no_policy() {
    let output = iam_policy("[publish]\nenabled = false\n", &["--for", "daemon"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    assert_eq!(
        stderr(&output),
        "efsmon: the daemon needs no policy: publish.enabled and identity.lookup are false, so that it asks AWS for \
         nothing\n"
    );
    let asking = iam_policy("[publish]\nenabled = false\n[identity]\nlookup = true\n", &["--for", "daemon"]);
    assert!(!actions(&policy(&asking)).contains("cloudwatch:PutMetricData"));
}

#[test]
fn flags_that_are_not_what_they_should_be_are_bad_usage() {
    for (flags, told) in [
        (&["--for", "daemon", "--account", "1234"][..], "the 12 digits of an account"),
        (&["--for", "daemon", "--region", "Ireland"], "the name of a Region, such as eu-west-1, or *"),
        (&["--for", "daemon", "--partition", "azure"], "aws, aws-cn, aws-us-gov"),
        (&["--for", "nobody"], "[possible values: daemon, provision, read]"),
        (&[], "--for <WHO>"),
    ] {
        let output = iam_policy("", flags);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
}

/// The namespaces of the requests that the daemon would make.
fn published(efsmon: &Efsmon) -> BTreeSet<String> {
    let output = efsmon.output(&["run", "--once", "--dry-run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let requests = String::from_utf8(output.stdout).unwrap();
    let namespace =
        |line| serde_json::from_str::<Value>(line).unwrap()["namespace"].as_str().unwrap().to_owned();
    requests.lines().map(namespace).collect()
}

#[test]
fn the_namespaces_are_those_that_a_dry_run_prints() {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    for (cron_script, namespace) in [("false", "EFSMon"), ("true", "EFSMon"), ("true", "Team #7/EFS")] {
        let settings = format!("namespace = \"{namespace}\"\n[compat]\ncron_script = {cron_script}\n");
        std::fs::write(machine.path().join("efsmon.toml"), &settings).unwrap();
        let policy = policy(&iam_policy(&settings, &["--for", "daemon"]));
        let condition = &policy["Statement"][0]["Condition"]["StringEquals"]["cloudwatch:namespace"];
        let allowed: BTreeSet<String> = list(condition).into_iter().collect();
        assert!(allowed.contains(namespace), "{allowed:?}");
        assert_eq!(published(&Efsmon::on(&machine)), allowed);
    }
}

/// Whether `*` in a pattern can stand for what is missing in it.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| matches(rest, &text[at..]))
        }),
    }
}

#[test]
fn what_a_refused_request_needs_is_in_the_policy() {
    let account = Account::start();
    account.efs.create("fs-0123456789abcdef0", &[]);
    let policy = policy(&iam_policy("", &["--for", "provision", "--region", "eu-west-1"]));
    let allowed = |wanted: &Value| {
        policy["Statement"].as_array().unwrap().iter().any(|statement| {
            let resources = list(&statement["Resource"]);
            list(&statement["Action"]).contains(&wanted["Action"].as_str().unwrap().to_owned())
                && resources.iter().any(|pattern| matches(pattern, wanted["Resource"].as_str().unwrap()))
        })
    };
    for (operation, command) in [
        ("GetDashboard", &["dashboards", "apply", "--yes"][..]),
        ("PutDashboard", &["dashboards", "apply", "--yes"]),
        ("ListDashboards", &["dashboards", "list"]),
        ("DescribeAlarms", &["alarms", "diff"]),
        ("PutMetricAlarm", &["alarms", "apply", "--yes"]),
    ] {
        account.cloudwatch.fail_calls(operation, 1, Fault::AccessDenied);
        let output = account.efsmon(&[command, &["--config", "efsmon.toml"]].concat());
        let told = stderr(&output);
        let (_, statement) =
            told.split_once("add to the policy of this role: ").unwrap_or_else(|| panic!("{told}"));
        let statement: Value = serde_json::from_str(statement.lines().next().unwrap()).unwrap();
        assert_eq!(statement["Action"], format!("cloudwatch:{operation}"));
        assert!(allowed(&statement), "{statement}\n{policy:#}");
    }
    assert!(!allowed(
        &json!({ "Action": "cloudwatch:PutMetricAlarm", "Resource": "arn:aws:cloudwatch:eu-west-1:*:alarm:web" })
    ));
}

/// Every policy there is, with everything switched on.
fn policies() -> Vec<Value> {
    let long = format!("namespace = \"{}\"\n{EVERYTHING}", "n".repeat(255));
    let role = format!("{EVERYTHING}{ROLE}");
    let place = ["--account", "111122223333", "--region", "us-gov-west-1"];
    let mut outputs = vec![iam_policy(&role, &["--for", "daemon"])];
    for who in ["daemon", "provision", "read"] {
        outputs.push(iam_policy(&long, &["--for", who]));
        outputs.push(iam_policy(&long, &[&["--for", who], &place[..]].concat()));
    }
    outputs.iter().map(policy).collect()
}

#[test]
fn iam_takes_every_policy() {
    // One schema of two: the second is known to the first by the name `policy`.
    let read = |name: &str| models::json(&format!("cfnlint/data/schemas/other/iam/{name}.json")).to_string();
    let general = read("policy").replace("\"#/", "\"#/$defs/policy/").replace("\"$id\":\"policy\",", "");
    let mut schema: Value =
        serde_json::from_str(&read("policy_identity").replace("\"policy#/", "\"#/$defs/policy/")).unwrap();
    schema["$defs"]["policy"] = serde_json::from_str(&general).unwrap();
    let schema = models::cloudformation(schema);
    let mut wrong = policies().remove(0);
    wrong["Statement"][0]["Sid"] = json!("Publish metrics");
    wrong["Statement"][1]["Resource"] = json!("file-system/*");
    let complaints_of = |policy: &Value| complaints(&schema, policy);
    let found = complaints_of(&wrong);
    assert!(found.len() == 2 && found[0].starts_with("/Statement/0/Sid"), "{found:?}");
    assert!(found[1].starts_with("/Statement/1/Resource"), "{found:?}");
    for policy in policies() {
        assert_eq!(complaints_of(&policy), Vec::<String>::new(), "{policy:#}");
        assert_eq!(policy["Version"], "2012-10-17");
        let statements = policy["Statement"].as_array().unwrap();
        let sids: BTreeSet<&str> = statements.iter().map(|one| one["Sid"].as_str().unwrap()).collect();
        assert_eq!(sids.len(), statements.len(), "{policy:#}");
        // A managed policy's limit (IAM User Guide, "IAM and AWS STS quotas"), white space not counted.
        assert!(policy.to_string().len() <= 6144, "{policy:#}");
    }
}

/// Whether an action may be limited to that resource: otherwise a statement of both allows nothing.
fn takes(reference: &Value, action: &str, resource: &str) -> bool {
    let (service, name) = action.split_once(':').unwrap();
    let action = &reference[service]["Actions"][name.to_lowercase()];
    assert!(action.is_object(), "{service} has no action {name}");
    let kinds = action["Resources"].as_array().into_iter().flatten();
    let formats =
        kinds.flat_map(|kind| list(&reference[service]["Resources"][kind.as_str().unwrap()]["ARNFormats"]));
    let fits = |format: String| {
        let pattern = format
            .replace("${Partition}", "aws(-[a-z]+)*")
            .replace("${Region}", r"(\*|[a-z]+(-[a-z0-9]+)+)")
            .replace("${Account}", r"(\*|\d{12})");
        complaints(&models::validator(&json!({ "pattern": format!("^{pattern}$") })), &json!(resource))
            .is_empty()
    };
    resource == "*" || formats.into_iter().any(fits)
}

#[test]
fn every_action_takes_the_resources_of_its_statement() {
    let reference = models::json("cfnlint/data/AdditionalSpecs/Policies.json");
    for policy in policies() {
        for statement in policy["Statement"].as_array().unwrap() {
            for action in list(&statement["Action"]) {
                for resource in list(&statement["Resource"]) {
                    assert!(takes(&reference, &action, &resource), "{action} does not take {resource}");
                }
            }
        }
    }
    let dashboard = "arn:aws:cloudwatch::111122223333:dashboard/efsmon-*";
    assert!(takes(&reference, "cloudwatch:GetDashboard", dashboard));
    assert!(!takes(&reference, "cloudwatch:ListDashboards", dashboard));
    assert!(!takes(
        &reference,
        "cloudwatch:GetDashboard",
        &dashboard.replace("cloudwatch::", "cloudwatch:eu-west-1:")
    ));
}

#[test]
fn every_region_is_in_its_partition() {
    let known = models::json("botocore/data/partitions.json");
    let mut regions = 0;
    for partition in known["partitions"].as_array().unwrap() {
        for region in
            partition["regions"].as_object().unwrap().keys().filter(|name| !name.ends_with("-global"))
        {
            assert_eq!(iam::partition(region), partition["id"], "{region}");
            regions += 1;
        }
    }
    assert!(regions > 30, "{known:#}");
    assert_eq!(iam::partition("*"), "aws");
}
