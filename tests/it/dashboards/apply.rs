//! What is made, changed, kept and deleted.

use serde_json::{Value, json};

use super::{MINE, account, dashboards, operations, template, told, write_template};
use crate::account::Account;

const OWN: [&str; 2] = ["efsmon-eu-west-1-file-system", "efsmon-eu-west-1-overview"];

/// What a plan begins with.
const HEAD: &str = "eu-west-1, 1 file system, owner efsmon:\n";

fn names(account: &Account) -> Vec<String> {
    account.cloudwatch.dashboards(|dashboards| dashboards.names())
}

fn body(account: &Account, name: &str) -> Value {
    account.cloudwatch.dashboards(|dashboards| dashboards.body(name))
}

fn title(account: &Account, name: &str, title: &str) {
    account.cloudwatch.dashboards(|dashboards| {
        dashboards.edit(name, |body| body["widgets"][1]["properties"]["title"] = json!(title));
    });
}

fn ok(ran: (i32, String, String)) -> String {
    assert_eq!((ran.0, ran.2.as_str()), (0, ""), "{}", ran.1);
    ran.1
}

#[test]
fn a_second_apply_finds_no_changes_and_writes_nothing() {
    let account = account();
    let expected = "eu-west-1, 1 file system, owner efsmon:
  create  efsmon-eu-west-1-file-system
  create  efsmon-eu-west-1-mine
  create  efsmon-eu-west-1-overview
3 new dashboards: $9.00 a month at $3.00 (us-east-1, 2026-09-22); an account's first 3 of up to 50 metrics are free
created efsmon-eu-west-1-file-system
created efsmon-eu-west-1-mine
created efsmon-eu-west-1-overview
";
    assert_eq!(ok(dashboards(&account, &["apply", "--yes"])), expected);
    assert_eq!(names(&account), [OWN[0], MINE, OWN[1]]);
    assert_eq!(account.cloudwatch.called("PutDashboard"), 3);

    // Although CloudWatch gives them back in other words.
    let unchanged = "no changes: 3 dashboards of eu-west-1 are as they should be\n";
    assert_eq!(ok(dashboards(&account, &["apply", "--yes"])), unchanged);
    assert_eq!(ok(dashboards(&account, &["diff"])), unchanged);
    assert_eq!(account.cloudwatch.called("PutDashboard"), 3);
    assert_eq!(operations(&account), ["GetDashboard", "PutDashboard"]);
    assert!(account.efs.requests().iter().all(|request| request.starts_with("/2015-02-01/file-systems?")));
}

#[test]
fn what_is_applied_is_what_the_template_says() {
    let account = account();
    ok(dashboards(&account, &["apply", "mine", "--yes"]));
    let mut expected = template();
    expected["widgets"][0]["properties"]["markdown"] =
        json!("Zähler ▶ efsmon owner efsmon, region eu-west-1.");
    expected["widgets"][1]["properties"]["region"] = json!("eu-west-1");
    expected["widgets"][1]["properties"]["metrics"][0][3] = json!("fs-0123456789abcdef0");
    assert_eq!(body(&account, MINE), expected);
    let (_, rendered, _) = dashboards(&account, &["render", MINE, "--file-system", "fs-0123456789abcdef0"]);
    assert_eq!(serde_json::from_str::<Value>(&rendered).unwrap(), expected);
}

#[test]
fn another_hand_is_found_by_diff_and_mended_by_apply() {
    let account = account();
    ok(dashboards(&account, &["apply", "--yes"]));
    title(&account, MINE, "Mètered\u{1b}[2J");
    let (code, out, err) = dashboards(&account, &["diff"]);
    let expected = r#"--- efsmon-eu-west-1-mine
+++ efsmon-eu-west-1-mine
@@ -24,7 +24,7 @@ widget 2 (Mètered\x1b[2J)
         "period": 60,
         "region": "eu-west-1",
         "stat": "Sum",
-        "title": "Mètered\u001b[2J"
+        "title": "Metered"
       },
       "type": "metric",
       "width": 12,
"#;
    assert_eq!((code, out.as_str()), (3, expected));
    assert_eq!(err, "efsmon: 1 of 3 dashboards to change: efsmon dashboards apply\n");

    let (code, out, _) = dashboards(&account, &["apply", "--dry-run"]);
    let plan = "eu-west-1, 1 file system, owner efsmon:
  keep    efsmon-eu-west-1-file-system  as it should be
  update  efsmon-eu-west-1-mine         +1 -1 lines
  keep    efsmon-eu-west-1-overview     as it should be
";
    assert_eq!((code, out.as_str()), (0, plan));
    assert_eq!(account.cloudwatch.called("PutDashboard"), 3);

    assert_eq!(ok(dashboards(&account, &["apply", "--yes"])), format!("{plan}updated {MINE}\n"));
    assert_eq!(account.cloudwatch.called("PutDashboard"), 4);
    ok(dashboards(&account, &["diff"]));
}

#[test]
fn a_dashboard_that_is_not_there_comes_from_nowhere_in_a_diff() {
    let account = account();
    let (code, out, err) = dashboards(&account, &["diff", "mine"]);
    assert_eq!((code, err.as_str()), (3, "efsmon: 1 of 1 dashboard to change: efsmon dashboards apply\n"));
    assert!(out.starts_with("--- /dev/null\n+++ efsmon-eu-west-1-mine\n@@ -0,0 +1,"), "{out}");
    assert!(out.lines().skip(3).all(|line| line.starts_with('+')), "{out}");
}

#[test]
fn dry_runs_write_nothing() {
    let account = account();
    let (code, out, _) = dashboards(&account, &["apply", "--dry-run", "--tag", "team=web"]);
    assert_eq!((code, out.lines().count()), (0, 5), "{out}");
    ok(dashboards(&account, &["apply", "--yes"]));
    write_template(&account, "mine", &json!({}));
    std::fs::remove_file(account.path().join("templates/mine.json")).unwrap();
    let out = ok(dashboards(&account, &["apply", "--prune", "--dry-run"]));
    assert!(out.contains("  delete  efsmon-eu-west-1-mine         no template makes it any more\n"), "{out}");
    let out = ok(dashboards(&account, &["delete", "--dry-run"]));
    assert_eq!(out, "  delete  efsmon-eu-west-1-file-system\n  delete  efsmon-eu-west-1-overview\n");
    assert_eq!((names(&account).len(), account.cloudwatch.called("DeleteDashboards")), (3, 0));
}

#[test]
fn nobody_there_to_confirm_changes_nothing() {
    let account = account();
    let (code, out, err) = dashboards(&account, &["apply", "mine"]);
    assert_eq!((code, out.lines().count()), (1, 3), "{out}");
    assert_eq!(err, "efsmon: nobody is there to confirm this: add --yes\n");
    assert_eq!(names(&account), [""; 0]);
}

#[test]
fn two_regions_stand_side_by_side() {
    let account = account();
    ok(dashboards(&account, &["apply", "mine", "--yes"]));
    ok(dashboards(&account, &["apply", "mine", "--yes", "--region", "us-east-1"]));
    assert_eq!(names(&account), [MINE, "efsmon-us-east-1-mine"]);
    for region in ["eu-west-1", "us-east-1"] {
        let name = format!("efsmon-{region}-mine");
        assert_eq!(body(&account, &name)["widgets"][1]["properties"]["region"], region);
        let out = ok(dashboards(&account, &["diff", "mine", "--region", region]));
        assert_eq!(out, format!("no changes: 1 dashboard of {region} is as it should be\n"));
    }
    // All of one Region are not all.
    assert_eq!(ok(dashboards(&account, &["delete", "--yes"])), format!("  delete  {MINE}\ndeleted {MINE}\n"));
    assert_eq!(names(&account), ["efsmon-us-east-1-mine"]);
}

#[test]
fn another_owners_is_left_alone_until_it_is_adopted() {
    let account = account();
    ok(dashboards(&account, &["apply", "mine", "--yes", "--owner", "team-a"]));
    let theirs = body(&account, MINE);
    let reason = "is of owner team-a, region eu-west-1; take it over with --adopt";

    let (code, out, err) = dashboards(&account, &["diff", "mine"]);
    let expected = format!("efsmon: {MINE}: {reason}\nefsmon: 1 of 1 dashboard left alone without --adopt\n");
    assert_eq!((code, out.as_str(), err), (3, "", expected));
    let (code, out, err) = dashboards(&account, &["apply", "mine", "--yes"]);
    assert_eq!((code, out), (1, format!("{HEAD}  refuse  {MINE}  {reason}\n")));
    assert_eq!(err, "efsmon: 1 of 1 dashboard not applied, for the reasons above\n");
    let (code, _, err) = dashboards(&account, &["delete", "mine", "--yes"]);
    let expected = format!(
        "efsmon: {MINE}: is of owner team-a, region eu-west-1; delete it in the console\n\
         efsmon: 1 dashboard not deleted\n"
    );
    assert_eq!((code, err), (1, expected));
    let nothing = "nothing to delete: there is no such dashboard of efsmon owner efsmon, region eu-west-1\n";
    assert_eq!(ok(dashboards(&account, &["delete", "--yes"])), nothing);
    assert_eq!(body(&account, MINE), theirs);
    assert_eq!(account.cloudwatch.called("DeleteDashboards"), 0);

    // One that is refused does not stop the others.
    let (code, _, err) = dashboards(&account, &["apply", "--yes"]);
    assert_eq!((code, err.as_str()), (1, "efsmon: 1 of 3 dashboards not applied, for the reasons above\n"));
    assert_eq!(names(&account), [OWN[0], MINE, OWN[1]]);

    assert_eq!(dashboards(&account, &["diff", "mine", "--adopt"]).0, 3);
    let out = ok(dashboards(&account, &["apply", "mine", "--adopt", "--yes"]));
    assert_eq!(
        out,
        format!(
            "{HEAD}  update  {MINE}  +1 -1 lines, though it is of owner team-a, region eu-west-1\nupdated {MINE}\n"
        )
    );
    ok(dashboards(&account, &["diff"]));
}

#[test]
fn what_is_not_known_again_is_nobodys() {
    let account = account();
    let huge = format!(r#"{{"widgets":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
    for foreign in ["", "\u{0}not JSON", "[1, 2]", r#"{"widgets":[{"type":"text"}]}"#, &huge] {
        account.cloudwatch.dashboards(|dashboards| dashboards.write_text(MINE, foreign));
        let (code, out, _) = dashboards(&account, &["apply", "mine", "--yes"]);
        let reason = "was not made by efsmon, or somebody took its mark away; take it over with --adopt";
        assert_eq!((code, out), (1, format!("{HEAD}  refuse  {MINE}  {reason}\n")));
        assert_eq!(account.cloudwatch.called("PutDashboard"), 0);
        let (code, out, _) = dashboards(&account, &["diff", "mine", "--adopt"]);
        assert_eq!((code, out.is_empty()), (3, false));
    }
    ok(dashboards(&account, &["apply", "mine", "--yes", "--adopt"]));
    ok(dashboards(&account, &["diff", "mine"]));
}

#[test]
fn delete_and_prune_take_away_just_what_is_ours() {
    let account = account();
    write_template(&account, "old", &template());
    ok(dashboards(&account, &["apply", "--yes"]));
    ok(dashboards(&account, &["apply", "old", "--yes", "--region", "eu-west-2"]));
    write_template(&account, "theirs", &template());
    ok(dashboards(&account, &["apply", "theirs", "--yes", "--owner", "team-a"]));
    for name in ["old", "theirs"] {
        std::fs::remove_file(account.path().join(format!("templates/{name}.json"))).unwrap();
    }
    let foreign = ["efsmon-eu-west-1-by-hand", "production"];
    account.cloudwatch.dashboards(|dashboards| {
        foreign.iter().for_each(|name| dashboards.write_text(name, r#"{"widgets":[]}"#));
    });

    // Without --prune it stays.
    ok(dashboards(&account, &["apply", "--yes"]));
    assert_eq!(names(&account).len(), 8);
    assert_eq!(account.cloudwatch.called("ListDashboards"), 0);
    let out = ok(dashboards(&account, &["apply", "--prune", "--yes"]));
    assert!(out.ends_with("deleted efsmon-eu-west-1-old\n"), "{out}");
    let theirs = ["efsmon-eu-west-1-theirs", "efsmon-eu-west-2-old", "production"];
    assert_eq!(names(&account), [&["efsmon-eu-west-1-by-hand", OWN[0], MINE, OWN[1]], &theirs[..]].concat());

    let listed = account.cloudwatch.called("ListDashboards");
    let out = ok(dashboards(&account, &["delete", "overview", MINE, "--yes"]));
    assert!(out.ends_with("deleted efsmon-eu-west-1-mine\ndeleted efsmon-eu-west-1-overview\n"), "{out}");
    let out = ok(dashboards(&account, &["delete", "--yes"]));
    assert_eq!(out, format!("  delete  {0}\ndeleted {0}\n", OWN[0]));
    assert_eq!(names(&account), [&["efsmon-eu-west-1-by-hand"], &theirs[..]].concat());
    assert_eq!(account.cloudwatch.called("ListDashboards"), listed);

    let (code, _, err) = dashboards(&account, &["delete", "overveiw", "--yes"]);
    let expected = "efsmon: overveiw: there is no dashboard of that name\nefsmon: 1 dashboard not deleted\n";
    assert_eq!((code, err.as_str()), (1, expected));
}

#[test]
fn tags_are_set_when_a_dashboard_is_made() {
    let account = account();
    let tagged = &["apply", "mine", "--yes", "--tag", "team=web", "--tag", "url=a=b"];
    ok(dashboards(&account, tagged));
    let tags = [("team".to_owned(), "web".to_owned()), ("url".to_owned(), "a=b".to_owned())];
    assert_eq!(account.cloudwatch.dashboards(|dashboards| dashboards.tags(MINE)), tags);
    title(&account, MINE, "other");
    let (code, _, err) = dashboards(&account, tagged);
    let note =
        "efsmon: --tag: CloudWatch tags dashboards only when they are made, not when they are updated\n";
    assert_eq!((code, err.as_str()), (0, note));
    let (code, _, err) = dashboards(&account, &["apply", "--tag", "aws:x=y"]);
    assert_eq!(code, 2);
    assert!(err.contains("a key may not begin with aws: (AWS keeps those for itself)"), "{err}");
}

#[test]
fn the_list_is_of_every_owner_and_region() {
    let account = account();
    let empty = told(account.efsmon(&["dashboards", "list"]));
    assert_eq!(empty, (0, "no dashboard of this account is called efsmon-..\n".to_owned(), String::new()));
    ok(dashboards(&account, &["apply", "mine", "--yes"]));
    ok(dashboards(&account, &["apply", "mine", "--yes", "--region", "us-east-1", "--owner", "team-a"]));
    account.cloudwatch.dashboards(|dashboards| {
        dashboards.write_text("efsmon-old", "{}");
        dashboards.write_text("production", "{}");
    });
    let bytes = |name: &str| body(&account, name).to_string().len();
    let expected = format!(
        "DASHBOARD              OWNER   REGION     MODIFIED              BYTES
efsmon-eu-west-1-mine  efsmon  eu-west-1  2026-11-30T12:00:00Z    {}
efsmon-old             -       -          2026-11-30T12:02:00Z      2
efsmon-us-east-1-mine  team-a  us-east-1  2026-11-30T12:01:00Z    {}
",
        bytes(MINE),
        bytes("efsmon-us-east-1-mine"),
    );
    assert_eq!(ok(told(account.efsmon(&["dashboards", "list"]))), expected);
    let listed = ok(told(account.efsmon(&["dashboards", "list", "--json"])));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let first = json!({
        "name": MINE, "owner": "efsmon", "region": "eu-west-1", "modified": "2026-11-30T12:00:00Z", "bytes": bytes(MINE),
    });
    assert_eq!((&listed["dashboards"][0], &listed["dashboards"][1]["owner"]), (&first, &Value::Null));
}

#[test]
fn programs_get_json() {
    let account = account();
    let json = |arguments: &[&str]| -> (i32, Value) {
        let (code, out, err) = dashboards(&account, arguments);
        (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")))
    };
    let (code, planned) = json(&["apply", "mine", "--dry-run", "--json"]);
    let row = json!({ "name": MINE, "change": "create", "done": false, "error": null, "remarks": [] });
    assert_eq!((code, &planned["dashboards"]), (0, &json!([row])));
    assert_eq!((&planned["dry_run"], &planned["new_usd_per_month"]), (&json!(true), &json!(3.0)));
    assert_eq!((&planned["region"], &planned["owner"]), (&json!("eu-west-1"), &json!("efsmon")));
    let (code, differing) = json(&["diff", "mine", "--json"]);
    let lines = differing["dashboards"][0]["diff"].as_array().unwrap();
    assert_eq!((code, &lines[0], &lines[1]), (3, &json!("--- /dev/null"), &json!(format!("+++ {MINE}"))));

    let (code, applied) = json(&["apply", "mine", "--yes", "--json"]);
    assert_eq!((code, &applied["dashboards"][0]["done"]), (0, &json!(true)));
    let (_, kept) = json(&["apply", "mine", "--yes", "--json"]);
    assert_eq!((&kept["dashboards"][0]["change"], &kept["new_usd_per_month"]), (&json!("keep"), &json!(0.0)));
    let (code, deleted) = json(&["delete", "mine", "--yes", "--json"]);
    assert_eq!(
        (code, &deleted["dashboards"]),
        (0, &json!([{ "name": MINE, "deleted": true, "reason": null }]))
    );
    for command in ["apply", "delete"] {
        let (code, out, err) = dashboards(&account, &[command, "--json"]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
    }
}

#[test]
fn bodies_are_rendered_without_asking_anybody() {
    let account = account();
    let mut command = account.command(&["dashboards", "render", "--file-system", "fs-0123456789abcdef0"]);
    command.args(["--region", "eu-west-1", "--templates", "templates"]);
    let bare = |command: &mut std::process::Command| {
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY").env_remove("AWS_REGION");
        told(command.output().unwrap())
    };
    let all: Value = serde_json::from_str(&ok(bare(&mut command))).unwrap();
    assert_eq!(all.as_object().unwrap().keys().collect::<Vec<_>>(), [OWN[0], MINE, OWN[1]]);
    command.args(["--file-system", "fs-0123456789abcdef0"]);
    let one: Value = serde_json::from_str(&ok(bare(command.arg("mine")))).unwrap();
    assert_eq!(one, all[MINE], "a file system that is asked for twice is there once");
    let files = ok(bare(command.args(["overview", "--out", "bodies/new"])));
    assert_eq!(files, format!("bodies/new/{MINE}.json\nbodies/new/{}.json\n", OWN[1]));
    let file = std::fs::read_to_string(account.path().join(format!("bodies/new/{MINE}.json"))).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&file).unwrap(), one);
    assert_eq!((account.cloudwatch.calls().len(), account.efs.requests().len()), (0, 0));
}

#[test]
fn what_was_decided_is_done_although_nobody_reads_about_it() {
    let account = account();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = account.command(&["dashboards", "apply", "--yes", "--templates", "templates"]);
    assert!(command.stdout(writer).status().unwrap().success());
    assert_eq!(names(&account), [OWN[0], MINE, OWN[1]]);
}
