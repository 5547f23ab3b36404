//! `efsmon stat`: figures worked out by hand.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use efsmon::efs::Lookups;
use efsmon::mountstats;
use efsmon::nfsiostat::activity::{self, Activity, Earlier, Since};
use efsmon::nfsiostat::{View, csv, json, table};
use efsmon::traffic::Kind;
use serde_json::Value;

const EFS: &str = "fs-0123456789abcdef0.efs.eu-west-1.amazonaws.com:/";

/// One mount's record: an age, connections and operations as the kernel prints them.
fn record(device: &str, mount_point: &str, age: u64, xprts: &[&str], operations: &[&str]) -> String {
    let mut text = format!("device {device} mounted on {mount_point} with fstype nfs4 statvers=1.1\n");
    text += "\topts:\trw,vers=4.1,rsize=1048576,wsize=1048576,hard,proto=tcp\n";
    text += &format!("\tage:\t{age}\n\tcaps:\tcaps=0x3fffff,wtmult=512\n\tnfsv4:\tbm0=0xfdffbfff,acl=0x0\n");
    text += "\tsec:\tflavor=1,pseudoflavor=1\n";
    text += &format!("\tevents:\t{}\n", "5 ".repeat(27));
    text += "\tbytes:\t0 0 0 0 0 0 0 0 \n";
    text += "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n";
    for xprt in xprts {
        text += &format!("\txprt:\t{xprt}\n");
    }
    text += "\tper-op statistics\n";
    for operation in operations {
        text += &format!("\t{operation}\n");
    }
    text + "\n"
}

/// A connection: sends, receives and the backlog sum.
fn tcp(sends: u64, receives: u64, backlog: u64) -> String {
    format!("tcp 0 0 1 0 3 {sends} {receives} 0 {sends} {backlog} 2 0 0")
}

/// The table of two texts that were read `elapsed` seconds apart.
fn report(old: &str, new: &str, elapsed: f64) -> String {
    with_activities(old, new, Some(elapsed), |activities| {
        let mut out = Vec::new();
        table::write(&mut out, activities, View::Files, Some("then")).unwrap();
        String::from_utf8(out).unwrap()
    })
}

fn with_activities<T>(old: &str, new: &str, elapsed: Option<f64>, look: impl Fn(&[Activity<'_>]) -> T) -> T {
    let (old, new) = (mountstats::parse(old.as_bytes()), mountstats::parse(new.as_bytes()));
    assert!(old.problems.is_empty() && new.problems.is_empty(), "{:?} {:?}", old.problems, new.problems);
    let earlier = Earlier { parsed: &old, elapsed_seconds: elapsed };
    look(&activity::since(&new, Some(earlier), Lookups::default()))
}

#[test]
fn an_interval_is_what_happened_in_it_over_the_true_time() {
    let old = record(
        EFS,
        "/mnt/efs",
        3600,
        &[&tcp(900, 900, 0)],
        &[
            "READ: 1000 1000 0 200000 100000000 500 4000 5000 0",
            "WRITE: 100 100 0 100000000 16000 50 400 500 0",
            "COMMIT: 1 1 0 200 100 0 9 9 0",
            "LOOKUP: 20 20 0 4000 4000 0 40 40 2",
            "GETATTR: 30 30 0 6000 6000 0 60 60 0",
            "SEQUENCE: 60 60 0 6000 6000 0 60 60 0",
        ],
    );
    // 10.5 s later: 420 READs of 256 KiB (with 200 and 128 bytes of headers), 6 sent twice, 3 failed.
    let new = record(
        EFS,
        "/mnt/efs",
        3611,
        &[&tcp(1530, 1530, 315)],
        &[
            "READ: 1420 1426 0 284000 210153440 710 5260 6680 3",
            "WRITE: 100 100 0 100000000 16000 50 400 500 0",
            "COMMIT: 1 1 0 200 100 0 9 9 0",
            "LOOKUP: 125 125 0 57760 57760 0 145 250 12",
            "GETATTR: 135 135 0 59760 59760 105 165 270 0",
            "SEQUENCE: 75 75 0 7500 7500 0 75 75 0",
        ],
    );
    // READ: 420 / 10.5 s; 84,000 + 110,153,440 = 110,237,440 bytes: / 420 / 1024, / 10.5 / 1,048,576.
    // Metadata: 105 + 105 requests of 215,040 bytes. Server: 630 sends, each found 0.5 waiting.
    assert_eq!(
        report(&old, &new, 10.5),
        "\
then
                ops/s    MiB/s   KiB/op   rtt ms   exe ms  queue ms      retrans       errors
/mnt/efs  fs-0123456789abcdef0
  read           40.0    10.01    256.3     3.00     4.00      0.50     6 (1.4%)     3 (0.7%)
  write           0.0     0.00        -        -        -         -            0            0
  metadata       20.0     0.02      1.0     1.00     2.00      0.50            0    10 (4.8%)
  server         60.0  over 1 connection, 0.500 waiting
"
    );
}

#[test]
fn an_idle_mount_is_one_line_and_the_upkeep_of_the_session_is_no_work() {
    let at = |age, sends, sequences: u64| {
        let sequence = format!("SEQUENCE: {sequences} {sequences} 0 0 0 0 0 0 0");
        record(
            "10.0.0.5:/",
            "/mnt/idle",
            age,
            &[&tcp(sends, sends, 0)],
            &["READ: 7 7 0 7 7 7 7 7 0", &sequence],
        )
    };
    let idle = report(&at(100, 10, 1), &at(110, 11, 2), 10.0);
    assert_eq!(idle.lines().skip(2).collect::<Vec<_>>(), ["/mnt/idle  idle"]);
}

#[test]
fn a_server_that_does_not_answer_is_not_idle() {
    let at = |age, sends| record(EFS, "/mnt/efs", age, &[&tcp(sends, 10, 0)], &["READ: 7 7 0 7 7 7 7 7 0"]);
    let hung = report(&at(100, 10), &at(110, 18), 10.0);
    let line = "/mnt/efs  fs-0123456789abcdef0  idle  no reply from the server to 8 sends";
    assert_eq!(hung.lines().nth(2), Some(line));
}

#[test]
fn a_remounted_file_system_begins_anew_and_is_never_negative() {
    let before =
        record(EFS, "/mnt/efs", 3600, &[&tcp(9000, 9000, 0)], &["READ: 9000 9000 0 9 9 9 9000 9000 5"]);
    // Young: 7 s old, so mounted within the 10 s.
    let young = record(EFS, "/mnt/efs", 7, &[&tcp(70, 70, 0)], &["READ: 70 70 0 10240 10240 0 140 210 0"]);
    assert_eq!(
        report(&before, &young, 10.0).lines().skip(2).collect::<Vec<_>>(),
        [
            "/mnt/efs  fs-0123456789abcdef0  new, 7 s old",
            "  read           10.0     0.00      0.3     2.00     3.00      0.00            0            0",
            "  write           0.0     0.00        -        -        -         -            0            -",
            "  metadata        0.0     0.00        -        -        -         -            0            -",
        ]
    );
    // Grown past the old counters, and only the age tells: READ 1,000 -> 5,000 at age 2 -> 9 over 10 s.
    let small = record(EFS, "/mnt/efs", 2, &[], &["READ: 1000 1000 0 0 0 0 0 0 0"]);
    let grown = record(EFS, "/mnt/efs", 9, &[], &["READ: 5000 5000 0 0 0 0 0 0 0"]);
    with_activities(&small, &grown, Some(10.0), |activities| {
        assert_eq!((activities[0].since, activities[0].seconds), (Since::Birth, 9.0));
        assert_eq!(activities[0].total(Kind::Read).requests, 5000);
    });
    // Another mount came to light below it: older than the interval, and not the one before.
    let older = record(EFS, "/mnt/efs", 4000, &[&tcp(1, 1, 0)], &["READ: 20 20 0 0 0 0 0 0 0"]);
    with_activities(&before, &older, Some(10.0), |activities| {
        assert_eq!((activities[0].since, activities[0].seconds), (Since::Mount, 4000.0));
        assert_eq!(activities[0].connections.since, None);
    });
}

#[test]
fn a_mount_that_appears_is_new_or_since_its_mount() {
    let first = record(EFS, "/mnt/a", 100, &[], &["READ: 1 1 0 0 0 0 0 0 0"]);
    let born = record(EFS, "/mnt/b", 0, &[], &["READ: 3 3 0 0 0 0 0 0 0"]);
    let bound = record(EFS, "/mnt/c", 500, &[], &["READ: 1000 1000 0 0 0 0 0 0 0"]);
    let later = record(EFS, "/mnt/a", 105, &[], &["READ: 6 6 0 0 0 0 0 0 0"]) + &born + &bound;
    with_activities(&first, &later, Some(5.0), |activities| {
        let found: Vec<_> =
            activities.iter().map(|a| (a.since, a.seconds, a.requests_per_second())).collect();
        // Less than a second old counts as a second.
        assert_eq!(found, [(Since::Reading, 5.0, 1.0), (Since::Birth, 1.0, 3.0), (Since::Mount, 500.0, 2.0)]);
    });
}

#[test]
fn mounts_over_each_other_on_one_mount_point_are_kept_apart() {
    let at = |age, lower: u64, upper: u64| {
        let read = |requests| format!("READ: {requests} {requests} 0 0 0 0 0 0 0");
        record(EFS, "/mnt/efs", age, &[], &[&read(lower)])
            + &record(EFS, "/mnt/efs", age, &[], &[&read(upper)])
    };
    with_activities(&at(100, 10, 1000), &at(110, 15, 1700), Some(10.0), |activities| {
        let requests: Vec<_> = activities.iter().map(Activity::requests).collect();
        assert_eq!(requests, [5, 700]);
    });
}

#[test]
fn every_connection_counts() {
    let at = |age, counts: [u64; 4]| {
        let xprts = counts.map(|sends| tcp(sends, sends, 2 * sends));
        record(EFS, "/mnt/efs", age, &xprts.each_ref().map(String::as_str), &["READ: 7 7 0 0 0 0 0 0 0"])
    };
    let (old, new) = (at(100, [100, 200, 300, 400]), at(110, [200, 300, 400, 500]));
    with_activities(&old, &new, Some(10.0), |activities| {
        let connections = activities[0].connections;
        let sum = connections.since.unwrap();
        assert_eq!((connections.count, sum.sends, sum.receives, sum.backlog), (4, 400, 400, 800));
    });
    // One was replaced: what they did is not known.
    with_activities(&old, &at(110, [5, 200, 300, 400]), Some(10.0), |activities| {
        assert_eq!((activities[0].since, activities[0].connections.since), (Since::Reading, None));
    });
}

#[test]
fn a_kernel_without_errors_shows_none_and_a_queue_below_zero_is_no_figure() {
    // Linux 3.10: 8 numbers, fewer transmissions than requests, a queue time of -7,000 in unsigned decimal.
    let old = record(EFS, "/mnt/efs", 100, &[], &["READ: 100 100 0 0 0 0 100 200"]);
    let new = record(EFS, "/mnt/efs", 110, &[], &["READ: 200 188 0 0 0 18446744073709544616 300 500"]);
    let text = report(&old, &new, 10.0);
    assert_eq!(
        text.lines().nth(3),
        Some("  read           10.0     0.00      0.0     2.00     3.00         -            0            -")
    );
    with_activities(&old, &new, Some(10.0), |activities| {
        let line = json::report(activities, &[], None);
        let json: Value = serde_json::from_str(&line).unwrap();
        let read = &json["mounts"][0]["operations"]["READ"];
        assert_eq!(read["queue_ms"], -7000);
        assert_eq!(read["errors"], Value::Null);
        assert_eq!(read["transmissions"], 88);
    });
}

#[test]
fn without_a_known_interval_the_ages_tell() {
    let old = record(EFS, "/mnt/efs", 100, &[], &["READ: 100 100 0 0 0 0 0 0 0"]);
    let new = record(EFS, "/mnt/efs", 140, &[], &["READ: 500 500 0 0 0 0 0 0 0"]);
    with_activities(&old, &new, None, |activities| {
        assert_eq!((activities[0].seconds, activities[0].requests_per_second()), (40.0, 10.0));
    });
}

#[test]
fn json_holds_every_operation_in_the_kernels_order_and_names_that_are_no_text() {
    let mut text = record(
        EFS,
        "/mnt/a\\040b",
        60,
        &[],
        &["NULL: 1 1 0 44 24 3 3 14 0", "READ: 10 11 1 2000 3000 4 50 60 2", "99: 5 5 0 0 0 0 0 0 0"],
    )
    .into_bytes();
    let other = record(":/x", "/mnt/?", 5, &[], &["WRITE: 1 1 0 1 1 1 1 1 0"]).replace('?', "\u{9b}?");
    text.extend(other.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }));
    let parsed = mountstats::parse(&text);
    let line = json::report(&activity::since(&parsed, None, Lookups::default()), &parsed.problems, None);
    let operation = |numbers: [u64; 9]| {
        let names =
            ["requests", "transmissions", "timeouts", "bytes_sent", "bytes_received", "queue_ms", "rtt_ms"];
        let names = names.into_iter().chain(["execute_ms", "errors"]);
        let members: Vec<_> =
            names.zip(numbers).map(|(name, number)| format!("\"{name}\":{number}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let expected = [
        r#"{"time":null,"mounts":[{"mount_point":"/mnt/a b","device":""#,
        EFS,
        r#"","file_system_id":"fs-0123456789abcdef0","same_as":null,"since":"mount","interval_seconds":60.0,"#,
        r#""operations":{"NULL":"#,
        &operation([1, 1, 0, 44, 24, 3, 3, 14, 0]),
        r#","READ":"#,
        &operation([10, 11, 1, 2000, 3000, 4, 50, 60, 2]),
        r#","99":"#,
        &operation([5, 5, 0, 0, 0, 0, 0, 0, 0]),
        r#"}},{"mount_point":"/mnt/\u009b\\xff","mount_point_raw_hex":"2f6d6e742fc29bff","device":":/x","#,
        r#""file_system_id":null,"same_as":null,"since":"mount","interval_seconds":5.0,"operations":{"WRITE":"#,
        &operation([1, 1, 0, 1, 1, 1, 1, 1, 0]),
        r#"}}],"problems":[]}"#,
    ]
    .concat();
    assert_eq!(line, expected);
}

#[test]
fn csv_has_a_line_for_each_mount_and_operation_and_a_name_cannot_break_it() {
    let text = record("10.0.0.5:/a,b", "/mnt/a\\012\"b", 60, &[], &["READ: 10 11 1 2000 3000 4 50 60"]);
    let parsed = mountstats::parse(text.as_bytes());
    let mut out = Vec::new();
    csv::write(&mut out, &activity::since(&parsed, None, Lookups::default()), "then").unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "then,\"/mnt/a\\x0a\"\"b\",\"10.0.0.5:/a,b\",,,mount,60,READ,10,11,1,2000,3000,4,50,60,\n"
    );
    assert_eq!(csv::HEADER.split(',').count(), 17);
}

/// A procfs of files.
fn procfs(mountstats: &str, mountinfo: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("self")).unwrap();
    fs::write(root.path().join("self/mountstats"), mountstats).unwrap();
    fs::write(root.path().join("self/mountinfo"), mountinfo).unwrap();
    root
}

fn stat(procfs: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_efsmon"));
    command.arg("stat").arg("--procfs").arg(procfs).arg("--efs-state").arg(procfs.join("efs"));
    command.args(arguments);
    command
}

fn run(procfs: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = stat(procfs, arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_superblock_that_is_mounted_twice_is_shown_once() {
    let read = &["READ: 600 600 0 0 0 0 0 0 0"];
    let text = record(EFS, "/mnt/efs", 60, &[], read)
        + &record(EFS, "/mnt/again", 60, &[], read)
        + &record(EFS, "/mnt/other", 60, &[], read);
    let line = |number, path| format!("{number} 1 0:{number} / {path} rw - nfs4 {EFS} rw,addr=10.0.0.1\n");
    let info = line(44, "/mnt/efs") + &line(44, "/mnt/again") + &line(45, "/mnt/other");
    let procfs = procfs(&text, &info);
    let (code, out, err) = run(procfs.path(), &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let heads: Vec<_> = out.lines().filter(|line| line.starts_with('/')).collect();
    let id = "fs-0123456789abcdef0";
    assert_eq!(
        heads,
        [
            &format!("/mnt/efs  {id}  since mount, 1 min 0 s"),
            &format!("/mnt/again  {id}  same as /mnt/efs"),
            &format!("/mnt/other  {id}  since mount, 1 min 0 s"),
        ]
    );
    // Asked for by name, and with the slash that a shell puts there, it is shown in full.
    let (_, out, _) = run(procfs.path(), &["/mnt/again/"]);
    assert_eq!(out.lines().nth(1), Some(&*format!("/mnt/again  {id}  since mount, 1 min 0 s")));
}

#[test]
fn the_mount_helpers_state_tells_the_file_system() {
    let text = record("127.0.0.1:/", "/mnt/efs", 60, &[], &["READ: 6 6 0 0 0 0 0 0 0"])
        .replace("proto=tcp", "proto=tcp,port=20127");
    let procfs = procfs(&text, "");
    fs::create_dir(procfs.path().join("efs")).unwrap();
    fs::write(procfs.path().join("efs/fs-0a1b2c3d.mnt.efs.20127"), "{}").unwrap();
    let (_, out, _) = run(procfs.path(), &[]);
    assert_eq!(out.lines().nth(1), Some("/mnt/efs  fs-0a1b2c3d  since mount, 1 min 0 s"));
}

#[test]
fn a_mount_is_asked_for_with_or_without_escapes() {
    let text = record(EFS, "/mnt/a\\040b", 60, &[], &["READ: 6 6 0 0 0 0 0 0 0"])
        + &record(EFS, "/mnt/c", 60, &[], &["READ: 6 6 0 0 0 0 0 0 0"]);
    let procfs = procfs(&text, "");
    for path in ["/mnt/a b", "/mnt/a\\040b"] {
        let (code, out, _) = run(procfs.path(), &["--json", path]);
        let json: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, json["mounts"].as_array().unwrap().len()), (Some(0), 1), "{path}");
        assert_eq!(json["mounts"][0]["mount_point"], "/mnt/a b");
    }
    let (code, out, err) = run(procfs.path(), &["/mnt/d"]);
    let expected = "efsmon: no NFS file system is mounted at /mnt/d; efsmon mounts lists those that are\n";
    assert_eq!((code, out.as_str(), err.as_str()), (Some(1), "", expected));
}

#[test]
fn a_problem_is_told_with_its_line_and_the_other_mounts_are_shown() {
    let bad = record(EFS, "/mnt/bad", 60, &[], &["READ: 6 6 0 0 nonsense 0 0 0 0"]);
    let procfs = procfs(&(bad + &record(EFS, "/mnt/good", 60, &[], &["READ: 6 6 0 0 0 0 0 0 0"])), "");
    let (code, out, err) = run(procfs.path(), &[]);
    assert_eq!(code, Some(0));
    assert!(out.contains("/mnt/good") && !out.contains("/mnt/bad"), "{out}");
    assert!(err.starts_with("efsmon: line 11: /mnt/bad: ") && err.contains("nonsense"), "{err}");
    let (_, out, err) = run(procfs.path(), &["--json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((err.as_str(), &json["problems"][0]["mount_point"]), ("", &Value::from("/mnt/bad")));
    assert_eq!(json["problems"][0]["line"], 11);
    assert_eq!(json["mounts"][0]["mount_point"], "/mnt/good");
}

#[test]
fn reports_follow_each_other_and_end_with_the_last() {
    let procfs = procfs(&record(EFS, "/mnt/efs", 60, &[], &["READ: 6 6 0 0 0 0 0 0 0"]), "");
    let (code, out, _) = run(procfs.path(), &["--csv", "1", "2"]);
    let lines: Vec<_> = out.lines().collect();
    assert_eq!((code, lines.len()), (Some(0), 3), "a header and a line for each report");
    assert!(lines[0].starts_with("time,mount_point,"));
    assert!(lines[1].ends_with(",mount,60,READ,6,6,0,0,0,0,0,0,0"), "{}", lines[1]);
    assert!(lines[2].contains(",reading,") && lines[2].ends_with(",READ,0,0,0,0,0,0,0,0,0"), "{}", lines[2]);
    let (_, out, _) = run(procfs.path(), &["--json", "1", "2"]);
    let reports: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), 2);
    assert!(reports[1]["mounts"][0]["interval_seconds"].as_f64().unwrap() >= 1.0);
}

#[test]
fn a_reader_that_goes_away_ends_it_without_a_word() {
    let procfs = procfs(&record(EFS, "/mnt/efs", 60, &[], &["READ: 6 6 0 0 0 0 0 0 0"]), "");
    let mut child =
        stat(procfs.path(), &["1"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}

#[test]
fn a_text_that_cannot_be_read_is_named_with_what_to_do() {
    let procfs = procfs("", "");
    let missing = procfs.path().join("missing");
    let (code, _, err) = run(&missing, &[]);
    let expected = format!(
        "efsmon: reading {}/self/mountstats: No such file or directory (os error 2); \
         --procfs names the directory that holds self/mountstats\n",
        missing.display()
    );
    assert_eq!((code, err), (Some(1), expected));
    let (code, out, _) = run(procfs.path(), &[]);
    assert_eq!((code, out.as_str()), (Some(0), "no NFS mounts\n"));
    let (_, out, _) = run(procfs.path(), &["--nfsiostat"]);
    assert_eq!(out, "No NFS mount points were found\n");
}

#[test]
fn arguments_that_do_not_go_together_end_with_2() {
    let procfs = procfs("", "");
    for (arguments, message) in [
        (&["1", "2", "3"][..], "3 is one number too many"),
        (&["--file", "x", "5"], "--file is read once"),
        (&["--since", "x"], "--file <NEW>"),
        (&["--file", "x", "--since", "y", "--nfsiostat"], "give it with --interval"),
        (&["0"], "a whole number from 1"),
        (&["mnt/efs"], "a mount point that starts with /"),
        (&["--json", "--csv"], "cannot be used with"),
        (&["--file", "x", "--since", "y", "--interval", "-1"], "a value"),
    ] {
        let (code, out, err) = run(procfs.path(), arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn of_two_lines_of_one_operation_the_last_counts() {
    let lines = |first: u64, last: u64| {
        [first, last].map(|requests| format!("READ: {requests} {requests} 0 0 0 0 0 0 0"))
    };
    let at = |age, [first, last]: [String; 2]| record(EFS, "/mnt/efs", age, &[], &[&first, &last]);
    with_activities(&at(100, lines(1, 50)), &at(110, lines(2, 80)), Some(10.0), |activities| {
        assert_eq!(activities[0].operations.len(), 1);
        assert_eq!(activities[0].total(Kind::Read).requests, 30);
    });
}

#[test]
fn a_text_of_which_nothing_can_be_read_is_not_one_without_mounts() {
    let folder = tempfile::tempdir().unwrap();
    let cut = format!("device {EFS} mounted on /mnt/a with fstype nfs4 statvers=1.1\n\topts:\trw\n");
    for (name, text, said) in [
        ("cut", cut.as_str(), "efsmon: no NFS mount could be read, and there is one\n"),
        ("other", "Dear diary,\n", "there is no mount in it, and every system has some"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let (code, out, err) = run(folder.path(), &["--file", path.to_str().unwrap()]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{name}: {err}");
        assert!(err.contains(said), "{name}: {err}");
    }
}
