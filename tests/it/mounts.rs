//! `efsmon mounts` on a machine with every kind of mount.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::daemon::{Efsmon, Machine};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/identity")
}

/// Every mount: superblock, mount point, kind, file system, access point, Region, zone, codes of its findings; worked
/// out by hand from the files, for a host in us-east-1a, which is use1-az1, that finds 0:124 stalled.
const TABLE: &str = "\
0:110 | /mnt/dns | efs | fs-0123456789abcde10 | - | us-east-1 | us-east-1a | not_encrypted
0:110 | /mnt/dns-bind | efs | fs-0123456789abcde10 | - | us-east-1 | us-east-1a | not_encrypted same_as
0:111 | /mnt/zone | efs | fs-0123456789abcde11 | - | us-east-1 | us-east-1b | other_zone not_encrypted
0:112 | /mnt/cross-account | efs | fs-0123456789abcde12 | - | us-east-1 | use1-az4 | other_zone other_account not_encrypted
0:113 | /mnt/other-region | efs | fs-01234513 | - | us-west-2 | - | other_region not_encrypted
0:114 | /mnt/china | efs | fs-0123456789abcde14 | - | cn-north-1 | - | other_region not_encrypted
0:115 | /mnt/govcloud | efs | fs-0123456789abcde15 | - | us-gov-west-1 | - | other_region not_encrypted
0:116 | /mnt/iso | efs | fs-0123456789abcde16 | - | us-iso-east-1 | - | other_region not_encrypted
0:117 | /mnt/isob | efs | fs-0123456789abcde17 | - | us-isob-east-1 | - | other_region not_encrypted
0:118 | /mnt/isoe | efs | fs-0123456789abcde18 | - | eu-isoe-west-1 | - | other_region not_encrypted
0:119 | /mnt/isof | efs | fs-0123456789abcde19 | - | us-isof-south-1 | - | other_region not_encrypted
0:120 | /mnt/european | efs | fs-0123456789abcde20 | - | eusc-de-east-1 | - | other_region not_encrypted
0:121 | /mnt/a b\\c | efs | fs-0123456789abcde21 | - | us-east-1 | - | not_encrypted
0:122 | /efs-auto/home | efs | fs-0123456789abcde22 | - | us-east-1 | - | not_encrypted
0:123 | /mnt/v1 | efs | fs-0123456789abcde23 | - | us-east-1 | - |
0:124 | /mnt/v2 | efs | fs-0123456789abcde24 | - | - | us-east-1b | stalled other_zone not_encrypted
0:125 | /mnt/v2-tls | efs | fs-0123456789abcde25 | fsap-0123456789abcde25 | us-east-1 | us-east-1c | other_zone
0:126 | /mnt/v3 | efs | fs-0123456789abcde26 | fsap-0123456789abcde26 | us-east-1 | - |
0:127 | /mnt/v3-ipv6 | efs | fs-0123456789abcde27 | - | us-east-1 | - | not_encrypted
0:128 | /mnt/v3-cross | efs | fs-0123456789abcde28 | - | eu-west-1 | euw1-az2 | other_region other_account
0:129 | /var/lib/kubelet/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29/volumes/kubernetes.io~csi/pvc-29/mount | efs | fs-0123456789abcde29 | fsap-0123456789abcde29 | us-east-1 | - | unfinished_state volume
0:129 | /var/lib/kubelet/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29/volume-subpaths/pvc-29/app/0 | efs | fs-0123456789abcde29 | fsap-0123456789abcde29 | us-east-1 | - | unfinished_state same_as volume
0:130 | /mnt/rewritten | efs | fs-0123456789abcde30 | fsap-0123456789abcde30 | us-east-1 | - |
0:131 | /mnt/trailing | efs | fs-0123456789abcde31 | fsap-0123456789abcde31 | us-east-1 | - |
0:132 | /data/new/efs | efs | fs-0123456789abcde32 | - | us-east-1 | - |
0:133 | /.efs | efs | fs-0123456789abcde33 | - | us-east-1 | - | not_encrypted
0:134 | /efs | efs | fs-0123456789abcde34 | - | us-east-1 | - | not_encrypted
0:135 | /a.b | efs | fs-0123456789abcde35 | fsap-0123456789abcde35 | us-east-1 | - |
0:136 | /a/b | efs | fs-0123456789abcde36 | fsap-0123456789abcde36 | us-east-1 | - |
0:137 | /mnt/my efs | efs | fs-0123456789abcde37 | - | us-east-1 | - |
0:138 | /mnt/mismatch | unknown | - | - | - | - | unidentified
0:139 | /mnt/no-state | unknown | - | - | - | - | unidentified
0:140 | /mnt/empty-state | unknown | - | - | - | - | unidentified
0:141 | /mnt/reused | efs | fs-0123456789abcde41 | fsap-0123456789abcde41 | us-east-1 | - |
0:142 | /mnt/s3 | s3files | - | - | - | - | s3_files
0:143 | /loc | nfs | - | - | - | - | not_efs
0:144 | /var/lib/ecs/volumes/ecs-app-7-data-e2b1c4d3 | efs | fs-0123456789abcde44 | - | us-east-1 | - | volume
0:150 | /mnt/address | efs | fs-0123456789abcde50 | - | us-east-1 | us-east-1a | by_address not_encrypted
0:151 | /mnt/ipv6 | efs | fs-0123456789abcde51 | - | us-east-1 | us-east-1b | other_zone by_address not_encrypted
0:152 | /mnt/cname | efs | fs-0123456789abcde52 | - | us-east-1 | us-east-1b | other_zone by_alias not_encrypted
0:153 | /mnt/nas | nfs | - | - | - | - | not_efs
0:154 | /mnt/overlapping | unknown | - | - | - | - | unidentified
0:155 | /mnt/nfs3 | nfs | - | - | - | - | not_efs
0:156 | /mnt/configured | efs | fs-0123456789abcde56 | fsap-0123456789abcde56 | eu-west-1 | - | other_region by_address not_encrypted
0:157 | /mnt/overruled | efs | fs-0123456789abcde57 | - | - | - |
0:158 | /mnt/stacked | nfs | - | - | - | - | stacked not_efs
0:159 | /mnt/stacked | efs | fs-0123456789abcde59 | - | us-east-1 | - | stacked not_encrypted
";

/// The status of a daemon that was at work a moment ago, with these changes.
fn status(change: impl FnOnce(&mut Value)) -> Value {
    let machine = Machine::new();
    let running = Efsmon::on(&machine).start();
    let mut status = running.status();
    running.terminate();
    // A test may take its time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    status["written"] = json!(now + 600.0);
    (status["host_zone"], status["host_zone_id"]) = (json!("us-east-1a"), json!("use1-az1"));
    status["host_region"] = json!("us-east-1");
    status["sighting"]["stalled"] = json!([{
        "superblock": "0:124",
        "mount_point": "/mnt/v2",
        "device": "127.0.0.1:/",
        "reason": "no reply for 34 s, while 3 requests were sent",
    }]);
    change(&mut status);
    status
}

/// Runs `efsmon mounts` on the machine, with this status of a daemon.
fn mounts(status: Option<&Value>, arguments: &[&str]) -> Output {
    mounts_with("efs", status, arguments)
}

/// [`mounts`], with this as the directory of the mount helper's state.
fn mounts_with(efs_state: &str, status: Option<&Value>, arguments: &[&str]) -> Output {
    let paths =
        [("--procfs", "proc"), ("--efs-state", efs_state)].map(|(flag, path)| (flag, folder().join(path)));
    efsmon(&[&["mounts"], arguments].concat(), &paths, status)
}

/// Runs efsmon on these paths.
fn efsmon(arguments: &[&str], paths: &[(&str, PathBuf)], status: Option<&Value>) -> Output {
    let run = tempfile::tempdir().unwrap();
    if let Some(status) = status {
        fs::write(run.path().join("status.json"), status.to_string()).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_efsmon"));
    command
        .env_clear()
        .env("EFSMON_RUNTIME_DIR", run.path())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .args(arguments);
    command.arg("--config").arg(folder().join("efsmon.toml")).arg("--state-dir").arg(folder().join("state"));
    for (flag, path) in paths {
        command.arg(flag).arg(path);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn line(mount: &Value) -> String {
    let text = |key: &str| mount[key].as_str().unwrap_or("-").to_owned();
    let codes: Vec<&str> = mount["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    let columns =
        ["superblock", "mount_point", "kind", "file_system_id", "access_point_id", "region", "zone"];
    let line = format!("{} | {}", columns.map(text).join(" | "), codes.join(" "));
    line.trim_end().to_owned()
}

#[test]
fn every_mount_has_what_the_table_says() {
    let json = json_of(&mounts(Some(&status(|_| {})), &["--json"]));
    let mounts = json["mounts"].as_array().unwrap();
    let found: Vec<String> = mounts.iter().map(line).collect();
    assert_eq!(found.join("\n"), TABLE.trim_end());
    assert_eq!((&json["problems"], &json["notes"], &json["view"]), (&json!([]), &json!([]), &json!("own")));
    assert_eq!((&json["host_zone"], &json["host_zone_id"]), (&json!("us-east-1a"), &json!("use1-az1")));
    for mount in mounts {
        assert_eq!(mount["stalled"], json!(mount["superblock"] == "0:124"), "{mount}");
        let same_as = match mount["mount_point"].as_str().unwrap() {
            "/mnt/dns-bind" => json!("/mnt/dns"),
            path if path.contains("/volume-subpaths/") => json!(
                "/var/lib/kubelet/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29/volumes/kubernetes.io~csi/pvc-29/mount"
            ),
            _ => Value::Null,
        };
        assert_eq!(mount["same_as"], same_as);
    }
}

#[test]
fn without_a_daemon_nothing_is_said_of_zones_and_stalls() {
    let ended = status(|status| status["ended"] = json!(true));
    let late = status(|status| status["written"] = json!(1_790_000_000.0));
    for status in [None, Some(&ended), Some(&late)] {
        let output = mounts(status, &["--json"]);
        let json = json_of(&output);
        let note = "no daemon runs here (efsmon status): which mounts are stalled, and which are in another zone than \
                     the host, is not known";
        assert_eq!(json["notes"], json!([note]));
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("efsmon: {note}\n"));
        let expected = TABLE.replace("stalled ", "").replace("other_zone ", "").replace("other_region ", "");
        let expected = expected.replace("other_zone\n", "\n");
        let found: Vec<String> = json["mounts"].as_array().unwrap().iter().map(line).collect();
        let expected: Vec<&str> = expected.lines().map(str::trim_end).collect();
        assert_eq!(found, expected);
        assert!(json["mounts"].as_array().unwrap().iter().all(|mount| mount["stalled"].is_null()));
    }
}

#[test]
fn a_recording_is_of_another_machine_than_the_daemon_here() {
    let recording = tempfile::tempdir().unwrap();
    let kept = recording.path().join("kept");
    let tree = [("--procfs", folder().join("proc")), ("--efs-state", folder().join("efs"))];
    efsmon(&["record", kept.to_str().unwrap(), "1", "1"], &tree, None);
    let status = status(|_| {});
    let output = efsmon(&["mounts", "--json"], &[("--procfs", kept)], Some(&status));
    let json = json_of(&output);
    let note = "this is a recording: which mounts are stalled, and which are in another zone than the host, is not known";
    assert_eq!(json["notes"], json!([note]));
    let mounts = json["mounts"].as_array().unwrap();
    assert_eq!(mounts.len(), TABLE.lines().count());
    assert!(mounts.iter().all(|mount| mount["stalled"].is_null()));
}

#[test]
fn a_state_directory_that_cannot_be_read_is_told_and_hides_no_mount() {
    let output = mounts_with("README.md", Some(&status(|_| {})), &["--json"]);
    let json = json_of(&output);
    let mounts = json["mounts"].as_array().unwrap();
    assert_eq!(mounts.len(), TABLE.lines().count());
    let notes = json["notes"].as_array().unwrap();
    let note = notes[0].as_str().unwrap();
    assert!(note.starts_with("mounts made by the EFS mount helper have no name here: "), "{note}");
    assert!(note.ends_with("; run as root, or let this user's group read it"), "{note}");
    assert_eq!(notes.len(), 1);
    let mount = |path: &str| mounts.iter().find(|mount| mount["mount_point"] == path).unwrap();
    assert_eq!(mount("/mnt/dns")["kind"], "efs");
    assert_eq!(mount("/mnt/v3")["kind"], "unknown");
    let text = "the mount helper's state, which says which file system it is, cannot be read here";
    let expected = json!([{ "code": "unidentified", "severity": "warning", "text": text }]);
    assert_eq!(mount("/mnt/v3")["findings"], expected);
}

#[test]
fn mounts_of_one_file_system_can_be_asked_for() {
    let points = |arguments: &[&str]| {
        let json = json_of(&mounts(None, &[arguments, &["--json"]].concat()));
        let mounts = json["mounts"].as_array().unwrap().clone();
        mounts.iter().map(|mount| mount["mount_point"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let one = ["--file-system", "fs-0123456789abcde10"];
    assert_eq!(points(&one), ["/mnt/dns", "/mnt/dns-bind"]);
    let more = [&one[..], &["--file-system", "fs-0123456789abcde26"]].concat();
    assert_eq!(points(&more), ["/mnt/dns", "/mnt/dns-bind", "/mnt/v3"]);
    let none = mounts(None, &["--file-system", "fs-00000000"]);
    assert_eq!(
        String::from_utf8_lossy(&none.stdout),
        "no mounts of that file system in this process's mount namespace\n"
    );
}

/// What a pipe gets.
#[test]
fn the_list_for_people_is_what_it_was() {
    let output = mounts(Some(&status(|_| {})), &[]);
    let path = folder().with_file_name("mounts").join("pipe.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &output.stdout).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        expected,
        "read it, and refresh it with UPDATE_EXPECT=1"
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
