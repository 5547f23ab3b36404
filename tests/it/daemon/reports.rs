//! `efsmon status` and `efsmon mounts`.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::early_in_a_minute;
use super::machine::{DEVICE_A, FS_A, FS_B, Machine};
use super::process::{Efsmon, HOST, stderr, stdout};
use crate::fake::cloudwatch::{CloudWatch, Fault};

#[test]
fn a_status_without_a_daemon_is_an_error_that_says_so() {
    let machine = Machine::new();
    let efsmon = Efsmon::on(&machine);
    let run = machine.path().join("run").display().to_string();
    let output = efsmon.output(&["status"]);
    let expected =
        format!("efsmon: no status in {run}: the daemon does not run, or has another runtime_dir\n");
    assert_eq!((output.status.code(), stdout(&output), stderr(&output)), (Some(1), String::new(), expected));

    efsmon.start().terminate();
    let output = efsmon.output(&["status"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("efsmon: the daemon does not run: it ended "), "{}", stderr(&output));
    assert!(stdout(&output).contains("publishes    EFSMon"), "what it did last is still told");

    // Killed half a minute ago.
    let running = efsmon.start();
    let mut status = running.status();
    running.kill();
    status["written"] = json!(status["written"].as_f64().unwrap() - 30.0);
    machine.write("run/status.json", &status.to_string());
    let output = efsmon.output(&["status", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the daemon does not run, or hangs"), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["sighting"]["superblocks"], 0);
}

#[test]
fn a_status_tells_what_is_published_what_is_not_and_why() {
    early_in_a_minute();
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    machine.mount("10.0.1.5:/", "/mnt/by-address");
    machine.mount("127.0.0.1:/", "/mnt/lost");
    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    cloudwatch.fail_next(1000, Fault::AccessDenied);
    efsmon.start().terminate();
    cloudwatch.recover();

    let running = efsmon.start();
    let text = stdout(&efsmon.output(&["status"]));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(&format!("efsmon 0.1.0, process {}, started ", running.pid())), "{text}");
    for line in [
        "publishes    EFSMon (profile minimal) as i-0a1b2c3d4e5f60718",
        "last sent    nothing yet: a minute goes out within a minute of its end",
        "mounts       fs-0123456789abcdef0: 1 mount",
        "not sent     /mnt/by-address (10.0.1.5:/): its server is not an EFS name; if it is EFS, set identity.lookup or name the file system in [[mounts]]",
        "not sent     /mnt/lost (127.0.0.1:/): a server on this host, without a mount helper's port",
        "seen by      efsmon's own process",
        // What the first daemon could not send waits for the end of the minute.
        "spool        1 request, 4 KiB",
    ] {
        assert!(lines.contains(&line), "{line}\n{text}");
    }
    let json: Value = serde_json::from_str(&stdout(&efsmon.output(&["status", "--json"]))).unwrap();
    assert_eq!(json["host_id"], HOST);
    assert_eq!(json["sighting"]["file_systems"], json!({ "fs-0123456789abcdef0": 1 }));
    assert_eq!(json["sighting"]["not_published"][0]["mount_point"], "/mnt/by-address");
    assert_eq!(json["publish"]["state"], "ok");
    running.terminate();
}

#[test]
fn a_status_names_the_first_ten_stalled_mounts() {
    let machine = Machine::new();
    let efsmon = Efsmon::on(&machine);
    let running = efsmon.start();
    let mut status = running.status();
    running.terminate();
    let stalled = |n: usize| {
        let reason = "no reply for 34 s, while 3 requests were sent";
        json!({ "superblock": format!("0:{n}"), "mount_point": format!("/mnt/{n}"), "device": "nas:/", "reason": reason })
    };
    let mut shown = |mounts: usize| {
        status["sighting"]["stalled"] = (0..mounts).map(stalled).collect();
        machine.write("run/status.json", &status.to_string());
        let text = stdout(&efsmon.output(&["status"]));
        let lines = text.lines().skip_while(|line| !line.starts_with("STALLED"));
        lines
            .take_while(|line| line.starts_with("STALLED") || line.starts_with("  "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(1), ["STALLED      /mnt/0 (nas:/): no reply for 34 s, while 3 requests were sent"]);
    assert_eq!(shown(10).len(), 10);
    assert_eq!(shown(12).len(), 11);
    assert_eq!(shown(12)[10], "             and 2 more; efsmon mounts shows them");
}

#[test]
fn mounts_are_listed_with_what_they_are() {
    let machine = Machine::new();
    let efsmon = Efsmon::on(&machine);
    let none = efsmon.output(&["mounts"]);
    assert!(none.status.success());
    assert_eq!(stdout(&none), "no NFS mounts in this process's mount namespace\n");

    machine.mount(DEVICE_A, "/mnt/a");
    machine.mount_by_proxy(FS_B, "/mnt/b", 20_049);
    machine.mount("10.0.1.5:/", "/mnt/by-address");
    let output = efsmon.output(&["mounts"]);
    let expected = "\
MOUNT POINT      FILE SYSTEM           STATE
/mnt/a           fs-0123456789abcdef0  ok
/mnt/b           fs-0fedcba9876543210  ok
/mnt/by-address  10.0.1.5:/            not EFS

INFO      not published: its server is not an EFS name; if it is EFS, set identity.lookup or name the file system in \
[[mounts]]
            /mnt/by-address

3 mounts, 2 EFS file systems: 1 not of EFS
Seen from this process's mount namespace.
";
    assert_eq!(stdout(&output), expected);
    let no_daemon = "no daemon runs here (efsmon status): which mounts are stalled, and which are in another zone than \
                     the host, is not known";
    assert_eq!(stderr(&output), format!("efsmon: {no_daemon}\n"));
    let json: Value = serde_json::from_str(&stdout(&efsmon.output(&["mounts", "--json"]))).unwrap();
    assert_eq!(json["problems"], json!([]));
    assert_eq!((&json["view"], &json["notes"]), (&json!("own"), &json!([no_daemon])));
    assert_eq!(
        (&json["host_region"], &json["host_zone"], &json["host_zone_id"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    let mounts = json["mounts"].as_array().unwrap();
    assert_eq!(mounts.len(), 3);
    let first = json!({
        "mount_point": "/mnt/a", "device": DEVICE_A, "fs_type": "nfs4", "kind": "efs", "file_system_id": FS_A,
        "access_point_id": null, "region": "eu-west-1", "mount_target": DEVICE_A.trim_end_matches(":/"), "zone": null,
        "superblock": "0:40", "same_as": null, "stalled": null,
        "findings": [{
            "code": "not_encrypted",
            "severity": "info",
            "text": "its traffic is not encrypted; where that is required, mount with amazon-efs-utils and the option tls",
        }],
    });
    assert_eq!(mounts[0], first);
    assert_eq!((&mounts[1]["kind"], &mounts[1]["file_system_id"]), (&json!("efs"), &json!(FS_B)));
    assert_eq!((&mounts[2]["kind"], &mounts[2]["file_system_id"]), (&json!("nfs"), &Value::Null));
    assert_eq!(mounts[2]["findings"][0]["code"], "not_efs");
}

/// Standard output whose reader has gone before the first word.
fn with_a_closed_pipe(mut command: Command) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), stderr(&output))
}

#[test]
fn every_command_whose_reader_has_gone_ends_quietly() {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let efsmon = Efsmon::on(&machine).set("EFSMON_LOG__LEVEL", "warn");
    let running = efsmon.start();
    for arguments in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["config", "check"],
        &["mounts"],
        &["mounts", "--json"],
        &["status"],
        &["status", "--json"],
        &["run", "--once", "--dry-run"],
    ] {
        let command = efsmon.command(arguments);
        assert_eq!(with_a_closed_pipe(command), (Some(0), String::new()), "{arguments:?}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_efsmon"));
    command.args(["config", "init", "--path", "-"]);
    assert_eq!(with_a_closed_pipe(command), (Some(0), String::new()));
    running.terminate();
}
