//! What is found wrong with alarms before they are needed.

use std::time::Duration;

use ciborium::{Value, cbor};

use super::command::{
    Ended, FS_A, FS_B, PAGES, THREE, TICKETS, account, account_with_three, alarms, apply, name, names,
};
use crate::account::Account;
use crate::fake::cloudwatch::Fault;

const HOUR: Duration = Duration::from_secs(3600);

fn verify(account: &Account, arguments: &[&str]) -> Ended {
    alarms(account, "verify", &[&["credits-low", "mount-stalled"], arguments].concat())
}

/// The lines of what is wrong, and exit status 3.
#[track_caller]
fn finds(account: &Account, expected: &[String]) {
    let ended = verify(account, &[]);
    let wrong: Vec<&str> = ended.out.lines().filter_map(|line| line.strip_prefix("wrong  ")).collect();
    assert_eq!(wrong, expected, "{}", ended.err);
    assert_eq!(ended.code, Some(if expected.is_empty() { 0 } else { 3 }), "{}", ended.err);
}

#[test]
fn alarms_as_they_should_be_are_told_in_a_line() {
    let account = account_with_three();
    let ended = verify(&account, &[]);
    assert_eq!(
        (ended.code, ended.out.as_str(), ended.err.as_str()),
        (Some(0), "3 alarms are as they should be; 1 topic seen\n", "")
    );
    let all = verify(&account, &["--all"]);
    let lines = [(FS_A, "credits-low"), (FS_A, "mount-stalled"), (FS_B, "mount-stalled")];
    let lines = lines.map(|(id, kind)| format!("ok     {}\n", name(id, kind))).concat();
    assert_eq!(all.out, lines + "3 alarms are as they should be; 1 topic seen\n");
    // Each topic was asked for once a run, whatever the number of alarms.
    assert_eq!(account.sns.asked(), [PAGES, PAGES]);
}

#[test]
fn a_deleted_and_a_changed_alarm_are_found() {
    let account = account_with_three();
    let (low, stalled) = (name(FS_A, "credits-low"), name(FS_A, "mount-stalled"));
    account.cloudwatch.alarms(|alarms| {
        alarms.remove(&low);
        alarms.edit(&stalled, "Threshold", 9.0.into());
        alarms.edit(&stalled, "TreatMissingData", "missing".into());
    });
    finds(
        &account,
        &[
            format!("{low} is not there"),
            format!("{stalled} differs in Threshold, TreatMissingData: see efsmon alarms diff"),
        ],
    );
    let ended = verify(&account, &[]);
    assert_eq!(ended.err, "efsmon: 2 of 3 checked things are wrong\n");
}

#[test]
fn an_alarm_that_nobody_hears_is_found() {
    let account = account_with_three();
    let (low, stalled) = (name(FS_A, "credits-low"), name(FS_A, "mount-stalled"));
    account.cloudwatch.alarms(|alarms| {
        alarms.edit(&low, "ActionsEnabled", false.into());
        alarms.edit(&stalled, "AlarmActions", Value::Array(Vec::new()));
    });
    finds(
        &account,
        &[format!("{low} has its actions switched off"), format!("{stalled} has no actions: nobody is told")],
    );
}

#[test]
fn a_topic_that_is_gone_or_has_no_subscriber_is_found() {
    let account = account_with_three();
    let (low, stalled) = (name(FS_A, "credits-low"), name(FS_A, "mount-stalled"));
    account.cloudwatch.alarms(|alarms| alarms.edit(&low, "AlarmActions", cbor!([TICKETS]).unwrap()));
    account.sns.delete(TICKETS);
    finds(&account, &[format!("{low} tells {TICKETS}: there is no such topic")]);
    account.sns.create(TICKETS);
    account.sns.subscribe(PAGES, 0);
    let deaf = format!("tells {PAGES}: nobody has confirmed a subscription to it");
    finds(&account, &[format!("{stalled} {deaf}"), format!("{} {deaf}", name(FS_B, "mount-stalled"))]);
}

#[test]
fn what_may_not_be_asked_is_said_and_is_not_wrong() {
    let account = account_with_three();
    account.sns.deny();
    let ended = verify(&account, &[]);
    let expected = format!(
        "not checked: whether {PAGES} is there: sns:GetTopicAttributes on {PAGES} is refused (AuthorizationError: User: \
         arn:aws:sts::123456789012:assumed-role/ops/i-1 is not authorized to perform: SNS:GetTopicAttributes on \
         resource: {PAGES}); add to the policy of this role: {{\"Action\":\"sns:GetTopicAttributes\",\"Effect\":\
         \"Allow\",\"Resource\":\"{PAGES}\"}}\n3 alarms are as they should be; 0 topics seen\n"
    );
    assert_eq!((ended.code, ended.out), (Some(0), expected));
}

#[test]
fn no_data_for_an_hour_is_found_and_no_sooner() {
    let account = account_with_three();
    let low = name(FS_A, "credits-low");
    let put = |state: &str, since: Duration, configured: Duration| {
        account.cloudwatch.alarms(|alarms| {
            alarms.set_state(&low, state, since);
            alarms.age(&low, configured);
        });
    };
    put("INSUFFICIENT_DATA", HOUR * 3, HOUR / 2);
    finds(&account, &[]);
    put("INSUFFICIENT_DATA", HOUR / 2, HOUR * 3);
    finds(&account, &[]);
    put("OK", HOUR * 3, HOUR * 3);
    finds(&account, &[]);
    put("INSUFFICIENT_DATA", HOUR * 3 + HOUR / 2, HOUR * 3);
    finds(&account, &[format!("{low} has been in INSUFFICIENT_DATA for 3 h: its metrics have no data")]);
    put("OK", HOUR, HOUR);
    account.cloudwatch.alarms(|alarms| {
        alarms.edit(&low, "EvaluationState", "EVALUATION_ERROR".into());
        alarms.edit(&low, "StateReason", "the query\u{1b} failed".into());
    });
    finds(&account, &[format!("{low} cannot be evaluated: the query\\x1b failed")]);
}

/// Where no file system has credits, its query finds nothing, and it has no other state.
#[test]
fn the_alarm_of_all_file_systems_may_be_without_data_while_none_has_credits() {
    let account = account();
    let arguments = ["credits-any", "--sns", PAGES];
    assert_eq!(apply(&account, &arguments).code, Some(0));
    let any = "efsmon-eu-west-1-credits-any";
    account.cloudwatch.alarms(|alarms| {
        alarms.set_state(any, "INSUFFICIENT_DATA", HOUR * 26 + HOUR / 2);
        alarms.age(any, HOUR * 30);
    });
    let ended = alarms(&account, "verify", &arguments);
    let expected = format!("wrong  {any} has been in INSUFFICIENT_DATA for 26 h: its metrics have no data\n");
    assert!(ended.code == Some(3) && ended.out.starts_with(&expected), "{}{}", ended.out, ended.err);
    account.efs.describe(FS_A, serde_json::json!({ "ThroughputMode": "elastic" }));
    let ended = alarms(&account, "verify", &arguments);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
}

#[test]
fn a_file_system_without_alarms_and_alarms_without_a_file_system_are_found() {
    let account = account_with_three();
    account.efs.create("fs-00112233445566778", &[]);
    account.efs.delete(FS_B);
    finds(
        &account,
        &[
            "fs-00112233445566778 has none of its 2 alarms: efsmon alarms apply".to_owned(),
            format!(
                "{} should not be: {FS_B} is gone; efsmon alarms apply --prune deletes it",
                name(FS_B, "mount-stalled")
            ),
        ],
    );
    let json = verify(&account, &["--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(document["checked"][0]["file_system"], "fs-00112233445566778");
    assert_eq!(
        document["checked"][1],
        serde_json::json!({
            "name": name(FS_A, "credits-low"), "file_system": FS_A, "wrong": [],
        })
    );
    assert_eq!(document["topics"], serde_json::json!([{ "arn": PAGES, "state": "there", "reason": null }]));
    assert_eq!(json.code, Some(3));
}

#[test]
fn with_topics_those_must_be_the_actions() {
    let account = account_with_three();
    let ended = alarms(&account, "verify", &["credits-low", "--sns", TICKETS]);
    let expected = format!(
        "wrong  {} differs in AlarmActions: see efsmon alarms diff\n0 alarms are as they should be; 1 topic seen\n",
        name(FS_A, "credits-low")
    );
    assert_eq!((ended.code, ended.out), (Some(3), expected));
}

#[test]
fn a_fired_alarm_goes_to_alarm_and_back() {
    let account = account_with_three();
    let low = name(FS_A, "credits-low");
    let fire = |more: &[&str]| alarms(&account, "verify", &[&["--fire", &low, "--hold", "0"], more].concat());
    let asked = fire(&[]);
    assert_eq!(
        (asked.code, asked.err.as_str()),
        (Some(1), "efsmon: nobody is there to confirm this: add --yes\n")
    );
    assert_eq!(account.cloudwatch.called("SetAlarmState"), 0);
    let fired = fire(&["--yes"]);
    let expected = format!(
        "{low} is in INSUFFICIENT_DATA. Set to ALARM, it tells\n  {PAGES}\nwithin a minute. Set back to OK, 0 s later, it \
         tells\n  nobody\nset to ALARM and back to OK; CloudWatch's next evaluation gives it its true state\nif nothing \
         arrives: is a subscription of the topic confirmed?\n"
    );
    assert_eq!((fired.code, fired.out, fired.err.as_str()), (Some(0), expected, ""));
    let reason = "efsmon alarms verify --fire, by somebody: a test, nothing is wrong";
    let states = ["ALARM", "OK"].map(|state| (low.clone(), state.to_owned(), reason.to_owned()));
    assert_eq!(account.cloudwatch.alarms(|alarms| alarms.states()), states);
}

#[test]
fn what_would_reach_nobody_is_not_fired() {
    let account = account_with_three();
    let low = name(FS_A, "credits-low");
    let refuses = |expected: &str| {
        let ended = alarms(&account, "verify", &["--fire", &low, "--yes"]);
        assert_eq!((ended.code, ended.err), (Some(1), format!("efsmon: {low} {expected}\n")));
    };
    let edit =
        |member: &str, value: Value| account.cloudwatch.alarms(|alarms| alarms.edit(&low, member, value));
    edit("StateValue", "ALARM".into());
    edit("StateReason", "too\u{1b}[2Jlow".into());
    refuses("is in ALARM already: only a change tells anybody (too\\x1b[2Jlow)");
    edit("AlarmActions", Value::Array(Vec::new()));
    refuses("has no actions: nothing would arrive; efsmon alarms apply --sns ARN gives it some");
    edit("ActionsEnabled", false.into());
    refuses("has its actions switched off: nothing would arrive");
    edit("AlarmDescription", "efsmon owner storage, region eu-west-1".into());
    refuses("is of owner storage, region eu-west-1: give its --owner");
    edit("AlarmDescription", "by hand".into());
    refuses("was not made by efsmon, or somebody took its mark away: it is not fired");
    for flags in [["--sns", PAGES], ["--file-system", FS_A]] {
        let ignored = alarms(&account, "verify", &[&["--fire", &low, "--yes"], &flags[..]].concat());
        assert!(ignored.code == Some(2) && ignored.err.contains("cannot be used with"), "{}", ignored.err);
    }
    let other = alarms(&account, "verify", &["--fire", "efsmon-x", "--yes"]);
    assert_eq!(other.err, "efsmon: there is no alarm efsmon-x in eu-west-1\n");
    assert_eq!(account.cloudwatch.alarms(|alarms| alarms.states()), []);
}

#[test]
fn an_alarm_that_cannot_be_set_back_is_said_to_stay() {
    let account = account_with_three();
    let low = name(FS_A, "credits-low");
    account.cloudwatch.alarms(|alarms| alarms.allow_states(1));
    let fired = alarms(&account, "verify", &["--fire", &low, "--hold", "0", "--yes"]);
    let expected = format!(
        "efsmon: {low} is left in ALARM; CloudWatch sets it right when it evaluates it, within minutes: \
         cloudwatch:SetAlarmState on arn:aws:cloudwatch:eu-west-1:*:alarm:{low} is refused"
    );
    assert!(fired.code == Some(1) && fired.err.starts_with(&expected), "{}", fired.err);
}

#[test]
fn the_list_tells_states_actions_and_owners() {
    let account = account_with_three();
    account.cloudwatch.alarms(|alarms| {
        alarms.edit(&name(FS_A, "credits-low"), "ActionsEnabled", false.into());
        alarms.edit(&name(FS_A, "mount-stalled"), "AlarmDescription", "by hand".into());
        alarms.set_state(&name(FS_A, "mount-stalled"), "OK", Duration::ZERO);
        for alarm in alarms.names() {
            alarms.edit(&alarm, "StateTransitionedTimestamp", Value::Tag(1, Box::new(1_796_040_000.into())));
        }
    });
    let list = alarms(&account, "list", &[]);
    let expected = "\
ALARM                                     STATE              SINCE                 ACTIONS  OWNER
efsmon-fs-0123456789abcdef0-credits-low    INSUFFICIENT_DATA  2026-11-30T12:00:00Z  off      efsmon
efsmon-fs-0123456789abcdef0-mount-stalled  OK                 2026-11-30T12:00:00Z  1        -
efsmon-fs-0fedcba9876543210-mount-stalled  INSUFFICIENT_DATA  2026-11-30T12:00:00Z  1        efsmon
"
    .replacen("ALARM    ", "ALARM     ", 1);
    assert_eq!((list.code, list.out), (Some(0), expected));
    let json = alarms(&account, "list", &["--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(
        document["alarms"][1],
        serde_json::json!({
            "name": name(FS_A, "mount-stalled"), "state": "OK", "reason": "Unchecked: Initial alarm creation",
            "since": "2026-11-30T12:00:00Z", "actions_enabled": true, "alarm_actions": [PAGES], "ok_actions": [],
            "owner": null, "file_system": FS_A,
        })
    );
    let nothing = alarms(&self::account(), "list", &[]);
    assert_eq!(
        (nothing.code, nothing.out.as_str()),
        (Some(0), "no alarm in eu-west-1 is called efsmon-..\n")
    );
}

#[test]
fn all_thirteen_alarms_verify_as_they_were_applied() {
    let account = account();
    let topics = ["--sns", PAGES, "--ok-sns", TICKETS];
    assert_eq!(apply(&account, &topics).code, Some(0));
    assert_eq!(names(&account).len(), 13);
    let ended = alarms(&account, "verify", &topics);
    let expected = "13 alarms are as they should be; 2 topics seen\n";
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), expected), "{}", ended.err);
    account.cloudwatch.fail_calls("DescribeAlarms", 3, Fault::Throttling);
    assert_eq!(alarms(&account, "verify", &THREE).code, Some(1));
}
