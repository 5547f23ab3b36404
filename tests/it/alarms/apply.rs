//! What is applied is there, and what is there is not applied again.

use ciborium::Value;
use ciborium::cbor;

use super::command::{
    FS_A, FS_B, PAGES, THREE, TICKETS, account, account_with_three, alarms, apply, name, names, puts,
};
use crate::fake::cloudwatch::{member, text};

#[test]
fn a_second_apply_writes_nothing_and_the_first_stays_below_the_rate() {
    let account = account();
    account.cloudwatch.alarms(|alarms| alarms.limit());
    let first = apply(&account, &["--sns", PAGES]);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""), "{}", first.out);
    // Of the bursting file system 8 kinds, of the elastic one 4, and one of all; none was asked for twice.
    assert_eq!((names(&account).len(), puts(&account)), (13, 13));
    // 13 at 0.4 s. In all 19 metrics at $0.10: 2 + 1 + 1 + 1 + 1 + 1 + 2 + 2 of one, 2 + 1 + 1 + 2 of the other, and
    // for the query one of each file system.
    let told = "\
13 alarms to create: about 6 s
$1.90 a month for 13 alarms, by the metrics in them; an account's first 10 are free, and not deducted (prices of \
us-east-1, 2026-09-22)
13 alarms changed
";
    assert!(first.out.ends_with(told), "{}", first.out);
    assert!(first.out.contains(&format!(
        "  skip    {FS_B}  elastic throughput has no burst credits: no credits-depletion-page, \
         credits-depletion-ticket, credits-low\n"
    )));
    let second = apply(&account, &["--sns", PAGES]);
    assert_eq!((second.code, puts(&account)), (Some(0), 13), "{}", second.err);
    assert!(second.out.contains("\nno changes: 13 alarms are as they should be\n"), "{}", second.out);
    let diff = alarms(&account, "diff", &["--sns", PAGES]);
    assert_eq!((diff.code, diff.err.as_str()), (Some(0), ""), "{}", diff.out);
}

#[test]
fn what_another_hand_changed_is_shown_and_only_that_is_written() {
    let account = account_with_three();
    account.cloudwatch.alarms(|alarms| {
        alarms.remove(&name(FS_A, "credits-low"));
        alarms.edit(&name(FS_B, "mount-stalled"), "Threshold", 7.0.into());
        alarms.set_state(&name(FS_B, "mount-stalled"), "OK", std::time::Duration::from_secs(60));
    });
    let diff = alarms(&account, "diff", &THREE);
    assert_eq!(diff.code, Some(3));
    assert_eq!(diff.err, "efsmon: 2 of 3 alarms differ: efsmon alarms apply\n");
    let changed = name(FS_B, "mount-stalled");
    assert!(diff.out.contains(&format!("--- {changed}\n+++ {changed}\n")), "{}", diff.out);
    assert!(diff.out.contains("\n-  \"Threshold\": 7.0,\n+  \"Threshold\": 1.0,\n"), "{}", diff.out);
    assert!(diff.out.contains(&format!("--- /dev/null\n+++ {}\n", name(FS_A, "credits-low"))));
    assert!(diff.out.contains("\n1 alarm to create, 1 to update: about 1 s\n"), "{}", diff.out);
    let applied = apply(&account, &THREE);
    assert_eq!((applied.code, puts(&account)), (Some(0), 5));
    let line = format!("  update  {changed}  differs in Threshold\n");
    assert!(applied.out.contains(&line), "{}", applied.out);
    // An update keeps the state.
    let state = account
        .cloudwatch
        .alarms(|alarms| text(alarms.get(&changed).unwrap(), "StateValue").unwrap().to_owned());
    assert_eq!((alarms(&account, "diff", &THREE).code, state.as_str()), (Some(0), "OK"));
}

#[test]
fn nothing_that_cloudwatch_knows_of_an_alarm_is_overlooked() {
    let account = account_with_three();
    let stalled = name(FS_A, "mount-stalled");
    let differs = |member: &str, value: Value| {
        let before = account
            .cloudwatch
            .alarms(|alarms| crate::fake::cloudwatch::member(alarms.get(&stalled).unwrap(), member).cloned());
        account.cloudwatch.alarms(|alarms| alarms.edit(&stalled, member, value));
        let diff = alarms(&account, "diff", &THREE);
        account.cloudwatch.alarms(|alarms| alarms.edit(&stalled, member, before.unwrap_or(Value::Null)));
        (diff.code == Some(3), diff.out.contains(&format!("-  \"{member}\": ")))
    };
    for (member, value) in [
        ("AlarmDescription", "other words, efsmon owner efsmon, region eu-west-1".into()),
        ("OKActions", cbor!([PAGES]).unwrap()),
        ("InsufficientDataActions", cbor!([PAGES]).unwrap()),
        ("Unit", "Count".into()),
        ("ExtendedStatistic", "p99".into()),
        ("EvaluateLowSampleCountPercentile", "ignore".into()),
        ("ThresholdMetricId", "m1".into()),
        ("EvaluationInterval", 60.into()),
        ("EvaluationWindow", cbor!({ "WallClockWindow" => { "Timezone" => "UTC" } }).unwrap()),
        ("WarmUpConfiguration", cbor!({ "WarmUpPeriodDurationInMinutes" => 5 }).unwrap()),
        ("EvaluationCriteria", cbor!({ "PromQLCriteria" => { "Query" => "up" } }).unwrap()),
        (
            "ActionConfiguration",
            cbor!({ "AlarmTagsPropagation" => { "Enabled" => true, "IncludedTagKeys" => ["a"] } }).unwrap(),
        ),
    ] {
        assert_eq!(differs(member, value), (true, true), "{member}");
    }
}

#[test]
fn order_and_what_cloudwatch_writes_out_do_not_count() {
    let account = account();
    let arguments = ["credits-depletion-page", "--sns", PAGES, "--sns", TICKETS];
    assert_eq!(apply(&account, &arguments).code, Some(0));
    let depletion = name(FS_A, "credits-depletion-page");
    account.cloudwatch.alarms(|alarms| {
        let mut metrics =
            member(alarms.get(&depletion).unwrap(), "Metrics").unwrap().as_array().unwrap().clone();
        assert!(metrics.len() > 1);
        metrics.reverse();
        alarms.edit(&depletion, "Metrics", Value::Array(metrics));
        alarms.edit(&depletion, "AlarmActions", cbor!([TICKETS, PAGES]).unwrap());
        alarms.edit(&depletion, "EvaluationWindow", cbor!({ "SlidingWindow" => {} }).unwrap());
    });
    let diff = alarms(&account, "diff", &arguments);
    assert_eq!((diff.code, diff.err.as_str()), (Some(0), ""), "{}", diff.out);
}

#[test]
fn without_topics_alarms_keep_theirs_and_new_ones_have_none() {
    let account = account_with_three();
    let applied = apply(&account, &["credits-low", "mount-stalled"]);
    assert_eq!((applied.code, applied.err.as_str(), puts(&account)), (Some(0), "", 3), "{}", applied.out);
    account.cloudwatch.alarms(|alarms| alarms.remove(&name(FS_B, "mount-stalled")));
    let applied = apply(&account, &["credits-low", "mount-stalled"]);
    let expected = "efsmon: warning: 1 of 3 alarms have no actions, so that nobody is told: give --sns, or --page-sns \
                    and --ticket-sns\n";
    assert_eq!((applied.code, applied.err.as_str(), puts(&account)), (Some(0), expected, 4));
    // With another topic the old one goes, and that is said.
    let other = alarms(&account, "apply", &["credits-low", "--ticket-sns", TICKETS, "--dry-run"]);
    assert_eq!(
        other.err,
        "efsmon: warning: topics are taken away from 1 alarm: those that are not given now\n"
    );
    let diff = alarms(&account, "diff", &["credits-low", "--ticket-sns", TICKETS]);
    assert!(diff.out.contains(&format!("-    \"{PAGES}\"\n+    \"{TICKETS}\"\n")), "{}", diff.out);
}

#[test]
fn more_alarms_than_twenty_are_counted_and_the_time_is_told_in_minutes() {
    let account = account();
    for number in 0..300 {
        account.efs.create(format!("fs-{number:08x}").leak(), &[]);
    }
    account.efs.set_page(100);
    let stalled = ["mount-stalled", "credits-any", "--dry-run", "--sns", PAGES];
    let created = alarms(&account, "apply", &stalled);
    // 303 times 0.4 s are 121.2 s.
    let expected = "  create  302 alarms  of the kind mount-stalled\n";
    assert!(created.out.contains(expected), "{}", created.out);
    assert!(created.out.contains("\n303 alarms to create: about 3 min\n"), "{}", created.out);

    // Those of 23 file systems are there, and tell another topic.
    assert_eq!(apply(&account, &["--file-system", FS_A, "mount-stalled", "--sns", TICKETS]).code, Some(0));
    let ids: Vec<String> = (0..22).map(|number| format!("fs-{number:08x}")).collect();
    account.cloudwatch.alarms(|alarms| {
        let of = |id: &str| name(id, "mount-stalled");
        ids.iter().for_each(|id| alarms.copy(&of(FS_A), &of(id)));
    });
    let told = |expected: &str| {
        let ended = alarms(&account, "apply", &stalled);
        assert!(ended.out.contains(expected), "{}", ended.out);
    };
    told("  update  1 alarm  of the kind mount-stalled, each differs in AlarmActions\n");
    let more = "AlarmActions, AlarmDescription, Dimensions";
    told(&format!("  update  22 alarms  of the kind mount-stalled, each differs in {more}\n"));
    // One of each is useless when they are gone.
    ids.iter().for_each(|id| account.efs.delete(id));
    told("  useless 1 alarm  fs-00000015 is gone: --prune deletes it\n");
}

#[test]
fn pages_and_tickets_go_to_their_topics() {
    let account = account();
    let topics = ["--page-sns", PAGES, "--ticket-sns", TICKETS, "--ok-sns", TICKETS];
    let arguments = [&["--file-system", FS_A, "credits-low", "credits-depletion-page"], &topics[..]].concat();
    assert_eq!(apply(&account, &arguments).code, Some(0));
    let actions = |kind: &str, member: &str| {
        account.cloudwatch.alarms(|alarms| {
            let alarm = alarms.get(&name(FS_A, kind)).unwrap();
            crate::fake::cloudwatch::member(alarm, member).unwrap().clone()
        })
    };
    assert_eq!(actions("credits-depletion-page", "AlarmActions"), cbor!([PAGES]).unwrap());
    assert_eq!(actions("credits-low", "AlarmActions"), cbor!([TICKETS]).unwrap());
    assert_eq!(actions("credits-low", "OKActions"), cbor!([TICKETS]).unwrap());
    // With --file-system, the alarm of all file systems is not made.
    assert_eq!(names(&account).len(), 2);
}

#[test]
fn a_dry_run_writes_nothing_and_nobody_there_is_no_yes() {
    let account = account();
    let dry = alarms(&account, "apply", &["--dry-run", "--sns", PAGES, "credits-low"]);
    let name = name(FS_A, "credits-low");
    assert!(dry.out.starts_with(&format!("  create  {name}\n")), "{}", dry.out);
    assert!(dry.out.ends_with("\nnothing was done: --dry-run\n"), "{}", dry.out);
    let asked = alarms(&account, "apply", &["--sns", PAGES, "credits-low"]);
    assert_eq!(
        (asked.code, asked.err.as_str()),
        (Some(1), "efsmon: nobody is there to confirm this: add --yes\n")
    );
    assert_eq!(puts(&account), 0);
}

#[test]
fn programs_get_json() {
    let account = account();
    let ended = apply(&account, &["--json", "--sns", PAGES, "credits-low"]);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let expected = serde_json::json!([
        { "name": name(FS_A, "credits-low"), "change": "create", "reason": null, "done": true },
    ]);
    assert_eq!(document["alarms"], expected);
    let skipped = serde_json::json!([{
        "kind": "credits-low", "file_system": FS_B, "reason": "elastic throughput has no burst credits",
    }]);
    assert_eq!(document["skipped"], skipped);
    assert_eq!((&document["seconds"], &document["usd_per_month"]), (&1.into(), &0.1.into()));
    assert_eq!((&document["region"], &document["dry_run"]), (&"eu-west-1".into(), &false.into()));
    let diff = alarms(&account, "diff", &["--json", "credits-low"]);
    let document: serde_json::Value = serde_json::from_str(&diff.out).unwrap();
    assert_eq!(document["alarms"][0]["change"], "keep");
    assert_eq!(apply(&account, &["--json", "--sns", PAGES, "credits-low"]).code, Some(0));
    let ended = alarms(&account, "apply", &["--json"]);
    assert_eq!(ended.code, Some(2));
}

#[test]
fn tags_are_for_new_alarms() {
    let account = account();
    let arguments = ["credits-low", "--sns", PAGES, "--tag", "team=web", "--tag", "cost=1"];
    assert_eq!(apply(&account, &arguments).code, Some(0));
    let tags = account.cloudwatch.alarms(|alarms| alarms.tags(&name(FS_A, "credits-low")));
    assert_eq!(tags, [("team".to_owned(), "web".to_owned()), ("cost".to_owned(), "1".to_owned())]);
    assert_eq!((apply(&account, &arguments).code, puts(&account)), (Some(0), 1));
}

#[test]
fn a_rendered_alarm_is_what_the_cli_of_aws_takes() {
    let account = account();
    let one = alarms(&account, "render", &["credits-low", "--sns", PAGES]);
    let body: serde_json::Value = serde_json::from_str(&one.out).unwrap();
    assert_eq!(body["AlarmName"], name(FS_A, "credits-low"));
    assert_eq!(body["AlarmActions"], serde_json::json!([PAGES]));
    assert_eq!(body["Threshold"], 754_974_720_000.0);
    let skipped = format!("  skip    {FS_B}  elastic throughput has no burst credits: no credits-low\n");
    assert_eq!((one.code, one.err), (Some(0), skipped));
    let files = alarms(&account, "render", &["mount-stalled", "--out", "rendered"]);
    let written = [FS_A, FS_B].map(|id| format!("rendered/{}.json", name(id, "mount-stalled")));
    assert_eq!(files.out.lines().collect::<Vec<_>>(), written);
    for path in written {
        let text = std::fs::read_to_string(account.path().join(path)).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["Period"] == 60);
    }
    let both = alarms(&account, "render", &["mount-stalled"]);
    let bodies: serde_json::Value = serde_json::from_str(&both.out).unwrap();
    assert_eq!(bodies.as_object().unwrap().len(), 2);
    assert_eq!(account.cloudwatch.calls(), []);
}
