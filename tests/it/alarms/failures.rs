//! What is said when CloudWatch does not take an alarm, and how it goes on after that.

use std::process::Stdio;
use std::time::{Duration, Instant};

use ciborium::cbor;

use super::command::{
    Ended, FS_A, FS_B, PAGES, THREE, TICKETS, account, account_with_three, alarms, apply, name, names, puts,
};
use crate::fake::cloudwatch::Fault;
use crate::fake::efs;

const NONE_OF_1: &str = "efsmon: 0 of 1 alarms are done, and running this again goes on with the rest: ";

fn says(ended: &Ended, code: i32, expected: &str) {
    assert_eq!((ended.code, ended.err.as_str()), (Some(code), expected), "{}", ended.out);
}

#[test]
fn a_refusal_names_the_action_the_alarm_and_the_statement() {
    let account = account();
    account.cloudwatch.fail_calls("PutMetricAlarm", 1, Fault::AccessDenied);
    let arn = format!("arn:aws:cloudwatch:eu-west-1:*:alarm:{}", name(FS_A, "credits-low"));
    let expected = format!(
        "{NONE_OF_1}cloudwatch:PutMetricAlarm on {arn} is refused (AccessDenied: User: \
         arn:aws:sts::123456789012:assumed-role/web/i-1 is not authorized to perform: cloudwatch:PutMetricAlarm); add to \
         the policy of this role: {{\"Action\":\"cloudwatch:PutMetricAlarm\",\"Effect\":\"Allow\",\"Resource\":\"{arn}\"}}\n"
    );
    says(&apply(&account, &["credits-low", "--sns", PAGES]), 1, &expected);

    account.cloudwatch.fail_calls("DescribeAlarms", 1, Fault::AccessDenied);
    let ended = alarms(&account, "list", &[]);
    let expected = "efsmon: cloudwatch:DescribeAlarms on arn:aws:cloudwatch:eu-west-1:*:alarm:* is refused \
                    (AccessDenied: User: arn:aws:sts::123456789012:assumed-role/web/i-1 is not authorized to perform: \
                    cloudwatch:DescribeAlarms); add to the policy of this role: \
                    {\"Action\":\"cloudwatch:DescribeAlarms\",\"Effect\":\"Allow\",\"Resource\":\
                    \"arn:aws:cloudwatch:eu-west-1:*:alarm:*\"}\n";
    says(&ended, 1, expected);
}

#[test]
fn tags_need_a_right_of_their_own_and_that_is_said() {
    let account = account();
    account.cloudwatch.alarms(|alarms| alarms.deny_tags());
    let ended = apply(&account, &["credits-low", "--sns", PAGES, "--tag", "team=web"]);
    let alarm = name(FS_A, "credits-low");
    let expected = format!(
        "{NONE_OF_1}cloudwatch:TagResource on arn:aws:cloudwatch:eu-west-1:*:alarm:{alarm} is refused (AccessDenied: \
         User: arn:aws:sts::123456789012:assumed-role/ops/i-1 is not authorized to perform: cloudwatch:TagResource on \
         resource: arn:aws:cloudwatch:eu-west-1:123456789012:alarm:{alarm}); add to the policy of this role: \
         {{\"Action\":\"cloudwatch:TagResource\",\"Effect\":\"Allow\",\"Resource\":\
         \"arn:aws:cloudwatch:eu-west-1:*:alarm:{alarm}\"}}\n"
    );
    says(&ended, 1, &expected);
    assert_eq!(apply(&account, &["credits-low", "--sns", PAGES]).code, Some(0));
}

#[test]
fn an_empty_answer_does_not_prune_all_alarms() {
    let account = account_with_three();
    let made = names(&account);
    assert!(!made.is_empty());
    account.efs.fail_next(9, efs::Fault::Empty);
    let expected = "efsmon: elasticfilesystem:DescribeFileSystems: the answer is not AWS's: check AWS_ENDPOINT_URL and \
                    the proxy\n";
    says(&apply(&account, &["--prune", "--sns", PAGES]), 1, expected);
    assert_eq!(names(&account), made);
}

#[test]
fn a_throttle_says_to_wait() {
    let account = account();
    account.cloudwatch.fail_calls("PutMetricAlarm", 3, Fault::Throttling);
    let expected = format!(
        "{NONE_OF_1}cloudwatch:PutMetricAlarm was throttled in every attempt (Throttling: Rate exceeded); try again in \
         a minute\n"
    );
    says(&apply(&account, &["credits-low", "--sns", PAGES]), 1, &expected);
    assert_eq!(apply(&account, &["credits-low", "--sns", PAGES]).code, Some(0));
}

/// The double counts the attempts that it fails, too, and would throttle the fourth in a second.
#[test]
fn attempts_that_fail_keep_the_pace() {
    let account = account();
    account.cloudwatch.alarms(|alarms| alarms.limit());
    account.cloudwatch.fail_calls("PutMetricAlarm", 2, Fault::InternalError);
    let ended = apply(&account, &["mount-stalled", "percent-io-limit", "--sns", PAGES]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
    assert_eq!((names(&account).len(), puts(&account)), (4, 4 + 2));
}

#[test]
fn what_was_decided_is_done_when_nobody_reads_about_it_and_its_failure_is_no_success() {
    let account = account();
    let run = |arguments: &[&str]| {
        let mut command = account.command(&[&["alarms"], arguments].concat());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdin(Stdio::null()).stdout(writer).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let apply = ["apply", "--yes", "--sns", PAGES, "mount-stalled"];
    account.cloudwatch.alarms(|alarms| alarms.allow_writes(1));
    for more in [&[][..], &["--json"]] {
        let (code, err) = run(&[&apply, more].concat());
        assert!(code == Some(1) && err.contains("cloudwatch:PutMetricAlarm"), "{err}");
        assert_eq!(names(&account).len(), 1);
    }
    account.cloudwatch.alarms(|alarms| alarms.allow_writes(None));
    assert_eq!((run(&apply), names(&account).len()), ((Some(0), String::new()), 2));
    account.cloudwatch.fail_calls("DeleteAlarms", 1, Fault::AccessDenied);
    let (code, err) = run(&["delete", "--yes", "--json"]);
    assert!(code == Some(1) && err.contains("cloudwatch:DeleteAlarms"), "{err}");
    assert_eq!((run(&["delete", "--yes"]), names(&account).len()), ((Some(0), String::new()), 0));
}

#[test]
fn alarms_are_rendered_though_nobody_reads_the_notes() {
    let account = account();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = account.command(&["alarms", "render", "credits-low"]);
    let output = command.stdin(Stdio::null()).stderr(writer).output().unwrap();
    let body: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &body["AlarmName"]), (Some(0), &name(FS_A, "credits-low").into()));
}

#[test]
fn an_alarm_that_cloudwatch_does_not_take_is_named_with_its_reason() {
    let account = account();
    account.cloudwatch.fail_calls("PutMetricAlarm", 1, Fault::InvalidWithoutHeader);
    let on = format!(
        "cloudwatch:PutMetricAlarm on arn:aws:cloudwatch:eu-west-1:*:alarm:{}",
        name(FS_A, "credits-low")
    );
    let expected = format!(
        "efsmon: {on}: InvalidParameterValueException: The value NaN is invalid\n\
         efsmon: 2 of 3 alarms are done; CloudWatch does not take the others, for the reasons above\n"
    );
    says(&apply(&account, &THREE), 1, &expected);
    assert_eq!(names(&account).len(), 2);
}

#[test]
fn an_account_that_is_full_ends_it_and_says_where_to_ask_for_more() {
    let account = account();
    account.cloudwatch.alarms(|alarms| alarms.set_quota(1));
    let expected = "efsmon: 1 of 3 alarms are done, and running this again goes on with the rest: \
                    cloudwatch:PutMetricAlarm: LimitExceeded: The quota for this customer has already been reached.; \
                    ask for more in Service Quotas, or let there be fewer\n";
    says(&apply(&account, &THREE), 1, expected);
    assert_eq!((names(&account).len(), puts(&account)), (1, 2));
}

#[test]
fn what_cloudwatch_would_not_take_is_not_sent() {
    let account = account();
    let template = account.path().join("templates/alarms");
    std::fs::create_dir_all(&template).unwrap();
    let body = serde_json::json!({
        "AlarmName": "efsmon-${FileSystemId}-odd", "AlarmDescription": "A test of odd periods. ${Mark}",
        "ActionsEnabled": true, "Namespace": "AWS/EFS", "MetricName": "PercentIOLimit", "Statistic": "Average",
        "Dimensions": [{ "Name": "FileSystemId", "Value": "${FileSystemId}" }], "Period": 61,
        "ComparisonOperator": "GreaterThanThreshold", "Threshold": 1, "EvaluationPeriods": 1,
        "DatapointsToAlarm": 1, "TreatMissingData": "missing",
    });
    std::fs::write(template.join("odd.json"), body.to_string()).unwrap();
    let ended = apply(&account, &["odd", "--templates", "templates", "--sns", PAGES]);
    let expected = "efsmon: nothing was done, because of the templates:\n  odd: ";
    assert!(ended.code == Some(1) && ended.err.starts_with(expected), "{}", ended.err);
    assert_eq!(account.cloudwatch.calls(), []);
}

#[test]
fn what_was_not_written_is_written_by_the_next_run_and_nothing_twice() {
    let account = account();
    account.cloudwatch.alarms(|alarms| alarms.allow_writes(2));
    let ended = apply(&account, &THREE);
    let expected = "efsmon: 2 of 3 alarms are done, and running this again goes on with the rest: \
                    cloudwatch:PutMetricAlarm on ";
    assert!(ended.code == Some(1) && ended.err.starts_with(expected), "{}", ended.err);
    account.cloudwatch.alarms(|alarms| alarms.allow_writes(None));
    let again = apply(&account, &THREE);
    assert!(again.out.contains("1 alarm to create: about 1 s\n"), "{}", again.out);
    assert_eq!((again.code, names(&account).len(), puts(&account)), (Some(0), 3, 4));
}

#[test]
fn an_interrupted_apply_ends_between_two_alarms_and_goes_on_later() {
    let account = account();
    let mut command =
        account.command(&["alarms", "apply", "--config", "efsmon.toml", "--yes", "--sns", PAGES]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let deadline = Instant::now() + Duration::from_secs(60);
    while puts(&account) == 0 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let done = puts(&account);
    assert!((1..13).contains(&done) && names(&account).len() == done, "{done}");
    let expected = format!(
        "efsmon: interrupted: {done} of 13 alarms are done, and running this again goes on with the rest\n"
    );
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(1), expected));
    assert_eq!(apply(&account, &["--sns", PAGES]).code, Some(0));
    assert_eq!((names(&account).len(), puts(&account)), (13, 13));
}

#[test]
fn a_refused_deletion_names_the_alarm() {
    let account = account_with_three();
    account.cloudwatch.fail_calls("DeleteAlarms", 1, Fault::AccessDenied);
    let stalled = name(FS_B, "mount-stalled");
    let ended = alarms(&account, "delete", &["--yes", &stalled]);
    let expected = format!(
        "{NONE_OF_1}cloudwatch:DeleteAlarms on arn:aws:cloudwatch:eu-west-1:*:alarm:{stalled} is refused"
    );
    assert!(ended.code == Some(1) && ended.err.starts_with(&expected), "{}", ended.err);
}

#[test]
fn topics_are_checked_before_anything_is_asked() {
    let account = account();
    for (arguments, expected) in [
        (vec!["--sns", "pages"], "invalid value 'pages' for '--sns <ARN>': allowed: an SNS topic, such as"),
        (vec!["--ok-sns", "arn:aws:sqs:eu-west-1:123456789012:q"], "allowed: an SNS topic, such as"),
        (vec!["--page-sns", "arn:aws:sns:eu-west-1:1234:pages"], "allowed: an SNS topic, such as"),
        (
            vec!["--sns", "arn:aws:sns:us-east-1:123456789012:pages"],
            "efsmon: --page-sns and --sns: found arn:aws:sns:us-east-1:123456789012:pages; allowed: topics in \
             eu-west-1, where the alarms are; try --help\n",
        ),
    ] {
        let ended = alarms(&account, "apply", &arguments);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(expected), "{}", ended.err);
    }
    let many: Vec<String> = (0..6).map(|n| format!("--sns={PAGES}{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let ended = alarms(&account, "apply", &many);
    says(&ended, 2, "efsmon: --page-sns and --sns: found 6 topics; allowed: 5 at most; try --help\n");
    // The same one twice is one.
    let twice = ["credits-low", "--sns", PAGES, "--page-sns", PAGES, "--ticket-sns", TICKETS, "--sns", PAGES];
    assert_eq!(apply(&account, &twice).code, Some(0));
    let actions = account.cloudwatch.alarms(|alarms| {
        crate::fake::cloudwatch::member(alarms.get(&name(FS_A, "credits-low")).unwrap(), "AlarmActions")
            .cloned()
    });
    assert_eq!(actions, Some(cbor!([PAGES, TICKETS]).unwrap()));
}

#[test]
fn a_misspelled_name_is_told() {
    let account = account();
    let expected = "efsmon: no alarm is \"credit-low\"; allowed: a file system, an alarm's whole name, or a kind: \
                    client-latency, credits-any, credits-depletion-page, credits-depletion-ticket, credits-low, \
                    mount-stalled, percent-io-limit, publisher-silent, throughput-utilisation; try --help\n";
    says(&apply(&account, &["credit-low"]), 2, expected);
    // A kind is one even where no file system has it.
    account.efs.delete(FS_A);
    account.efs.delete(FS_B);
    says(&apply(&account, &["credit-low"]), 2, expected);
    let none = apply(&account, &["credits-low"]);
    assert!(
        none.code == Some(0) && none.out.contains("no changes: 0 alarms are"),
        "{}{}",
        none.out,
        none.err
    );
}

/// Something between answers 200 and says nothing: that is no yes.
#[test]
fn an_answer_that_is_not_aws_is_no_success() {
    let account = account();
    account.cloudwatch.fail_calls("PutMetricAlarm", 3, Fault::Nothing);
    let ended = apply(&account, &["credits-low", "--sns", PAGES]);
    let expected =
        "cloudwatch:PutMetricAlarm: the answer is not AWS's: check AWS_ENDPOINT_URL and the proxy\n";
    assert!(ended.code == Some(1) && ended.err.ends_with(expected), "{}", ended.err);
    assert_eq!(names(&account), Vec::<String>::new());
}
