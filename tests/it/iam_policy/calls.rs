//! What is asked of AWS, by the source code of `src/aws`: the operations are told by AWS's own models of its services.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use super::{EVERYTHING, ROLE, actions, iam_policy, policy};
use crate::schemas::models;

/// The SDK's crates: the name of each, the service's model, and the prefix of its actions.
const SERVICES: &[(&str, &str, &str)] = &[
    ("aws_sdk_cloudwatch", "cloudwatch/2010-08-01", "cloudwatch"),
    ("aws_sdk_efs", "efs/2015-02-01", "elasticfilesystem"),
    ("aws_sdk_sns", "sns/2010-03-31", "sns"),
];

/// Who needs what the files of `src/aws` ask for. The others ask the machine and its surroundings, where no policy
/// counts: the instance metadata, the agent of ECS, the files of certificates.
const WHO: &[(&str, &[&str])] = &[
    ("daemon", &["efs", "metrics", "role"]),
    ("provision", &["alarms", "dashboards", "file_systems", "topics"]),
    ("read", &["file_systems", "metric_data"]),
];

/// What each of [`SERVICES`] can be asked for: the method that asks for it, and the action.
static OPERATIONS: LazyLock<Vec<Vec<(String, String)>>> = LazyLock::new(|| {
    let of = |(_, model, prefix): &(&str, &str, &str)| {
        let model = models::service(model);
        let names = model["operations"].as_object().unwrap().keys();
        names.map(|name| (format!(".{}(", method(name)), format!("{prefix}:{name}"))).collect()
    };
    SERVICES.iter().map(of).collect()
});

/// An operation's name as the SDK spells it: `PutMetricData` is called as `put_metric_data`.
fn method(operation: &str) -> String {
    let mut method = String::new();
    for character in operation.chars() {
        if character.is_ascii_uppercase() && !method.is_empty() {
            method.push('_');
        }
        method.push(character.to_ascii_lowercase());
    }
    method
}

/// The actions that a file needs.
fn calls(text: &str) -> BTreeSet<String> {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    let code: String = lines.map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let mut found = BTreeSet::new();
    let mut crates = BTreeSet::new();
    for ((name, _, prefix), operations) in SERVICES.iter().zip(OPERATIONS.iter()) {
        if !code.contains(name) {
            continue;
        }
        crates.insert(*name);
        let asked = operations.iter().filter(|(method, _)| code.contains(method));
        found.extend(asked.map(|(_, action)| action.clone()));
        // What is made with tags is tagged, too.
        if code.contains(".tags(") || code.contains(".set_tags(") {
            found.insert(format!("{prefix}:TagResource"));
        }
    }
    // ECS's agent is asked by reqwest.
    let asks = code.contains(".send()") && !code.contains("reqwest::");
    assert_eq!(found.is_empty(), !asks, "a request that is not known: {code}");
    let others = code.split("aws_sdk_").skip(1).filter(|rest| {
        !crates.iter().any(|name| name.strip_prefix("aws_sdk_").is_some_and(|name| rest.starts_with(name)))
    });
    assert_eq!(others.count(), 0, "a service that is not known: {code}");
    if code.contains("AssumeRoleProvider::") {
        found.insert("sts:AssumeRole".to_owned());
    }
    found
}

/// Every file of `src/aws` by its path from there without `.rs`, and what it needs.
fn files() -> Vec<(String, BTreeSet<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/aws");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(&root).unwrap().with_extension("");
                    files.push((
                        name.to_str().unwrap().to_owned(),
                        calls(&fs::read_to_string(&path).unwrap()),
                    ));
                }
            }
        }
    }
    files
}

#[test]
fn every_policy_allows_what_its_requests_need_and_nothing_else() {
    let files = files();
    for (who, names) in WHO {
        let asked: BTreeSet<String> = files
            .iter()
            .filter(|(name, _)| names.contains(&name.split('/').next().unwrap()))
            .flat_map(|(_, calls)| calls.clone())
            .collect();
        let mut allowed = actions(&policy(&iam_policy(EVERYTHING, &["--for", who])));
        if *who == "daemon" {
            allowed.extend(actions(&policy(&iam_policy(ROLE, &["--for", who]))));
        }
        assert_eq!(allowed, asked, "{who}");
    }
}

#[test]
fn every_request_is_somebodys() {
    for (name, calls) in files() {
        let known = WHO.iter().any(|(_, names)| names.contains(&name.split('/').next().unwrap()));
        assert!(known || calls.is_empty(), "src/aws/{name}.rs asks for {calls:?}: whose policy allows it?");
    }
}

#[test]
fn requests_are_found_wherever_they_are_begun() {
    let asked = |text: &str| calls(text).into_iter().collect::<Vec<_>>();
    let chain =
        "use aws_sdk_efs::Client;\nlet a = client\n    .update_file_system()\n    .send()\n    .await;";
    assert_eq!(asked(chain), ["elasticfilesystem:UpdateFileSystem"]);
    let split =
        "use aws_sdk_cloudwatch::Client;\nlet ask = c.put_dashboard().set_tags(tags);\nask.send().await";
    assert_eq!(asked(split), ["cloudwatch:PutDashboard", "cloudwatch:TagResource"]);
    assert_eq!(asked("use aws_sdk_sns::Client;\n// client.publish()"), [""; 0]);
    assert_eq!(asked("AssumeRoleProvider::builder(arn)"), ["sts:AssumeRole"]);
}

#[test]
#[should_panic = "a service that is not known"]
fn a_service_that_nobody_told_of_is_found() {
    calls("use aws_sdk_sns::Client; use aws_sdk_ec2::Client;");
}

#[test]
#[should_panic = "a request that is not known"]
fn a_request_that_no_model_has_is_found() {
    calls("use aws_sdk_sns::Client; client.call_somebody().send()");
}
