//! Every alarm and every dashboard that is rendered is taken by both descriptions.

use std::collections::BTreeSet;

use efsmon::catalog::Profile;
use efsmon::config::Config;
use efsmon::credits::{FileSystem, GIB, ThroughputMode};
use efsmon::provision::alarms::{self, Actions, Thresholds};
use efsmon::provision::{Target, dashboards};
use serde_json::{Value, json};

use super::models::{self, complaints};
use super::{CLOUDWATCH, api, cloudformation};

/// So many file systems of every mode and both performance modes, small and large, with and without names that need
/// escapes.
fn file_systems(count: usize) -> Vec<FileSystem> {
    let modes = [
        ThroughputMode::Bursting,
        ThroughputMode::Elastic,
        ThroughputMode::Provisioned { mibps: 10.5 },
        ThroughputMode::Provisioned { mibps: 1024.0 },
        ThroughputMode::Other("turbo".to_owned()),
    ];
    let one = |(index, mode): (usize, &ThroughputMode)| FileSystem {
        id: format!("fs-{index:017x}").parse().unwrap(),
        name: (index % 3 > 0).then(|| format!("\"équipe\" \\ ${{Region}} {index}\n")),
        mode: mode.clone(),
        general_purpose: index % 7 > 0,
        standard_bytes: GIB as u64 * [0, 1, 100, 1024, 20_480][index % 5],
        infrequent_bytes: 0,
        archive_bytes: 0,
        zone: None,
    };
    modes.iter().cycle().enumerate().take(count).map(one).collect()
}

/// With the longest names and runbook that are allowed.
fn target(count: usize, profile: Profile) -> Target {
    Target {
        owner: "o".repeat(64).parse().unwrap(),
        region: "ap-southeast-7".to_owned(),
        namespace: "n".repeat(255),
        profile,
        file_systems: file_systems(count),
        chosen: false,
        thresholds: Thresholds {
            runbook: Some(format!("https://{}", "r".repeat(300))),
            ..Config::default().alarms
        },
    }
}

/// As many as are allowed.
fn actions() -> Actions {
    let arns: Vec<String> =
        (0..5).map(|index| format!("arn:aws:sns:ap-southeast-7:123456789012:t{index}")).collect();
    Actions { page: arns.clone(), ticket: arns.clone(), ok: arns }
}

#[test]
fn every_alarm_is_one_that_cloudwatch_and_cloudformation_take() {
    let actions = actions();
    let templates = alarms::templates(&[]).unwrap();
    let mut kinds = BTreeSet::new();
    for count in [0, 1, 2, 70] {
        let alarms = alarms::render(&target(count, Profile::Full), &actions, &templates);
        for rendered in alarms.unwrap().rendered {
            let alarm = serde_json::to_value(&rendered.alarm).unwrap();
            assert_eq!(api(&alarm), Vec::<String>::new(), "{alarm:#}");
            assert_eq!(cloudformation(&alarm), Vec::<String>::new(), "{alarm:#}");
            kinds.insert(rendered.kind);
        }
    }
    assert_eq!(kinds, templates.into_keys().collect());
}

/// The body is a text to both descriptions.
#[test]
fn every_dashboard_is_one_that_cloudwatch_and_cloudformation_take() {
    let api = models::operation(&models::service(CLOUDWATCH), "PutDashboard");
    let cloudformation = models::resource("AWS::CloudWatch::Dashboard");
    let templates = dashboards::templates(&[]).unwrap();
    let check = |name: &str, body: Value| {
        let dashboard = json!({ "DashboardName": name, "DashboardBody": body });
        [complaints(&api, &dashboard), complaints(&cloudformation, &dashboard)].concat()
    };
    assert_eq!(check("a", json!({})).len(), 2, "a body is a text");
    for count in [0, 1, 2, 200, 1000] {
        for profile in Profile::ALL {
            let target = Target { namespace: "EFSMon".to_owned(), ..target(count, profile) };
            let rendered = dashboards::render(&target, &templates).unwrap();
            assert_eq!(rendered.len(), 2);
            for (name, body) in rendered {
                assert_eq!(check(&name, body.to_string().into()), Vec::<String>::new(), "{name}");
            }
        }
    }
}
