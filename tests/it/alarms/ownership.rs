//! Whose an alarm is: nobody overwrites or deletes another's.

use super::command::{
    FS_A, FS_B, PAGES, THREE, account, account_with_three, alarms, apply, name, names, puts,
};

const STALLED: [&str; 3] = ["mount-stalled", "--sns", PAGES];

#[test]
fn two_file_systems_have_alarms_of_their_own() {
    let account = account();
    for id in [FS_A, FS_B] {
        let arguments = [&["--file-system", id], &STALLED[..]].concat();
        assert_eq!(apply(&account, &arguments).code, Some(0));
    }
    assert_eq!(names(&account), [name(FS_A, "mount-stalled"), name(FS_B, "mount-stalled")]);
    // What is asked of one is not of the other.
    let pruned = apply(&account, &[&["--file-system", FS_A, "--prune"], &STALLED[..]].concat());
    assert_eq!((pruned.code, puts(&account), names(&account).len()), (Some(0), 2, 2));
}

#[test]
fn another_owners_alarms_are_left_alone_until_they_are_adopted() {
    let account = account();
    assert_eq!(apply(&account, &[&["--owner", "storage"], &STALLED[..]].concat()).code, Some(0));
    let ours = apply(&account, &STALLED);
    let stalled = name(FS_A, "mount-stalled");
    let line =
        format!("  refuse  {stalled}  is of owner storage, region eu-west-1; take it over with --adopt\n");
    assert!(ours.out.contains(&line), "{}", ours.out);
    assert_eq!(
        (ours.code, ours.err.as_str(), puts(&account)),
        (Some(1), "efsmon: 2 alarms are not ours and left alone\n", 2)
    );
    let diff = alarms(&account, "diff", &STALLED);
    assert_eq!(diff.code, Some(3), "{}", diff.err);
    // Neither is it ours to delete.
    assert_eq!(alarms(&account, "delete", &["--yes"]).code, Some(0));
    let named = alarms(&account, "delete", &["--yes", &stalled]);
    let expected =
        format!("efsmon: {stalled} is of owner storage, region eu-west-1; delete it in the console\n");
    assert_eq!((named.code, named.err.as_str()), (Some(1), expected.as_str()));
    assert_eq!(names(&account).len(), 2);
    let adopted = apply(&account, &[&["--adopt"], &STALLED[..]].concat());
    assert_eq!((adopted.code, puts(&account)), (Some(0), 4), "{}", adopted.err);
    let list = alarms(&account, "list", &[]);
    let owners: Vec<&str> =
        list.out.lines().skip(1).filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(owners, ["efsmon", "efsmon"]);
}

#[test]
fn an_alarm_without_a_mark_is_nobodys() {
    let account = account_with_three();
    let low = name(FS_A, "credits-low");
    account.cloudwatch.alarms(|alarms| alarms.edit(&low, "AlarmDescription", "by hand".into()));
    let ended = apply(&account, &THREE);
    let line = format!(
        "  refuse  {low}  was not made by efsmon, or somebody took its mark away; take it over with --adopt\n"
    );
    assert!(ended.code == Some(1) && ended.out.contains(&line), "{}", ended.out);
    assert_eq!(apply(&account, &[&["--adopt"], &THREE[..]].concat()).code, Some(0));
    assert_eq!((alarms(&account, "diff", &THREE).code, puts(&account)), (Some(0), 4));
}

#[test]
fn only_what_is_ours_and_useless_is_pruned() {
    let account = account_with_three();
    assert_eq!(apply(&account, &["--owner", "storage", "percent-io-limit", "--sns", PAGES]).code, Some(0));
    let prunes = |arguments: &[&str]| apply(&account, &[arguments, &THREE[..]].concat());
    account.efs.delete(FS_B);
    let kept = prunes(&[]);
    let gone = name(FS_B, "mount-stalled");
    let line = format!("  useless {gone}  {FS_B} is gone: --prune deletes it\n");
    assert!(kept.out.contains(&line) && kept.code == Some(0), "{}{}", kept.out, kept.err);
    assert_eq!(names(&account).len(), 5);
    let diff = alarms(&account, "diff", &[&["--prune"], &THREE[..]].concat());
    assert_eq!(
        (diff.code, diff.err.as_str()),
        (Some(3), "efsmon: 1 of 3 alarms differ: efsmon alarms apply\n")
    );
    // Where it now has another mode, it has no such alarm any more.
    account.efs.describe(FS_A, serde_json::json!({ "ThroughputMode": "elastic" }));
    let pruned = prunes(&["--prune"]);
    let low = name(FS_A, "credits-low");
    let lines = format!(
        "  delete  {low}  elastic throughput has no burst credits\n  delete  {gone}  {FS_B} is gone\n"
    );
    assert!(pruned.out.contains(&lines), "{}", pruned.out);
    assert!(pruned.out.ends_with("\n2 alarms changed\n"), "{}", pruned.out);
    let left = [(FS_A, "mount-stalled"), (FS_A, "percent-io-limit"), (FS_B, "percent-io-limit")];
    assert_eq!(names(&account), left.map(|(id, kind)| name(id, kind)));
    assert_eq!(account.cloudwatch.called("DeleteAlarms"), 1);
}

#[test]
fn delete_takes_only_ours_and_only_what_was_asked_for() {
    let account = account_with_three();
    assert_eq!(apply(&account, &["--owner", "storage", "percent-io-limit", "--sns", PAGES]).code, Some(0));
    let dry = alarms(&account, "delete", &["--dry-run", "mount-stalled"]);
    let [a, b] = [FS_A, FS_B].map(|id| name(id, "mount-stalled"));
    assert_eq!(dry.out, format!("  delete  {a}\n  delete  {b}\nnothing was done: --dry-run\n"));
    assert_eq!(alarms(&account, "delete", &["--yes", FS_B]).out, format!("  delete  {b}\n1 alarm deleted\n"));
    let all = alarms(&account, "delete", &["--yes", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&all.out).unwrap();
    assert_eq!(
        document["alarms"][0],
        serde_json::json!({ "name": name(FS_A, "credits-low"), "deleted": true })
    );
    assert_eq!(names(&account), [FS_A, FS_B].map(|id| name(id, "percent-io-limit")));
    let none = alarms(&account, "delete", &["--yes"]);
    assert_eq!(none.out, "nothing to delete: there is no alarm of efsmon owner efsmon, region eu-west-1\n");
    let nothing = alarms(&account, "delete", &["--yes", "credits"]);
    let expected = "efsmon: found NAME \"credits\", and no alarm of efsmon owner efsmon, region eu-west-1 is that: efsmon \
                    alarms list\n";
    assert_eq!((nothing.code, nothing.err.as_str()), (Some(1), expected));
}

#[test]
fn more_alarms_than_a_page_and_a_deletion_hold_are_listed_and_deleted() {
    let account = account_with_three();
    account.cloudwatch.alarms(|alarms| {
        let low = name(FS_A, "credits-low");
        (0..249).for_each(|number| alarms.copy(&low, &format!("{low}-{number:03}")));
        alarms.copy(&low, "another");
    });
    let list = alarms(&account, "list", &["--json"]);
    let document: serde_json::Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!(document["alarms"].as_array().unwrap().len(), 252);
    assert_eq!(account.cloudwatch.called("DescribeAlarms"), 1 + 3);
    assert_eq!(alarms(&account, "delete", &["--yes"]).code, Some(0));
    assert_eq!((names(&account), account.cloudwatch.called("DeleteAlarms")), (vec!["another".to_owned()], 3));
}
