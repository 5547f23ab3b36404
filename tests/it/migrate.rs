//! `efsmon migrate`: what it finds in a copy of a machine's files, and what it says to do. The bills are worked out by
//! hand: a series is $0.30 a month, a thousand requests are $0.01, and a minute comes 43,800 times a month.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A script of the kind that is meant: nfsiostat's last lines, two words of them, two calls, the second with an en
/// dash, and the instance id by IMDSv1.
const SCRIPT: &str = "#!/bin/bash
# Throughput of this client
LOG=/var/log/efs-client
ID=$(wget -qO- http://169.254.169.254/latest/meta-data/instance-id)
nfsiostat 1 2 | tail -4 > /run/efs-client
READ=$(echo \"scale=2; $(cut -d' ' -f13 /run/efs-client) / 1024\" | bc)
WRITE=$(echo \"scale=2; $(cut -d' ' -f31 /run/efs-client) / 1024\" | bc)
sudo echo $READ $WRITE >> $LOG
aws cloudwatch put-metric-data --namespace CustomEC2 --metric-name ec2-efs-read-throughput \\
  --value $READ --dimensions InstanceID=$ID
aws cloudwatch put-metric-data --namespace CustomEC2 --metric-name ec2-efs-write-throughput --value $WRITE –dimensions InstanceID=$ID
";
const ROOTS: &str = "var/spool/cron/crontabs/root";

fn machine(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mountinfo =
        "31 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 31 0:40 / /mnt/efs rw - nfs4 fs-1:/ rw,addr=10.0.0.1\n";
    let passwd = "root:x:0:0:root:/root:/bin/sh\nec2-user:x:1000:1000::/home/ec2-user:/bin/bash\n";
    let base = [("proc/self/mountinfo", mountinfo), ("etc/passwd", passwd), ("efsmon.toml", "")];
    for (path, text) in base.iter().chain(files) {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn efsmon(machine: &TempDir, arguments: &[&str]) -> Output {
    let mut efsmon = Command::new(env!("CARGO_BIN_EXE_efsmon"));
    efsmon.env_clear().current_dir(machine.path());
    efsmon.args(["migrate", "--config", "efsmon.toml"]);
    if !arguments.contains(&"--root") {
        efsmon.args(["--root", "."]);
    }
    efsmon.args(arguments).output().unwrap()
}

/// What it says on stdout; it ends with this status, and this on stderr.
#[track_caller]
fn text(machine: &TempDir, status: i32, notes: &str) -> String {
    let output = efsmon(machine, &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(status), notes));
    String::from_utf8(output.stdout).unwrap()
}

fn report(machine: &TempDir) -> Value {
    serde_json::from_slice(&efsmon(machine, &["--json"]).stdout).unwrap()
}

/// `what it is, crontab:line, script` of each entry that was found.
fn found(machine: &TempDir) -> Vec<String> {
    let report = report(machine);
    let told = |found: &Value| {
        let word = |key: &str| found[key].as_str().unwrap_or("-").to_owned();
        format!("{} {}:{} {}", word("what"), word("crontab"), found["line"], word("script"))
    };
    report["found"].as_array().unwrap().iter().map(told).collect()
}

const ONE: &str = "efsmon: 1 cron entry is left to remove\n";

#[test]
fn what_was_published_what_is_wrong_and_what_to_do_is_told_in_80_columns() {
    let crontab = "# of root\n\n* * * * * /opt/client-metrcis.sh\n0 3 * * * /usr/bin/backup\n";
    let machine = machine(&[(ROOTS, crontab), ("opt/client-metrcis.sh", SCRIPT)]);
    let text = text(&machine, 3, ONE);
    let expected = "\
1 cron entry runs what efsmon replaces; 1 crontab read.

/var/spool/cron/crontabs/root, line 3: every minute, as root
    * * * * * /opt/client-metrcis.sh
  It runs /opt/client-metrcis.sh, which publishes:
    CustomEC2 ec2-efs-read-throughput by InstanceID
    CustomEC2 ec2-efs-write-throughput by InstanceID           never published
  ! It cuts words 13 and 31 out of what nfsiostat prints. With nfs-utils 2.6 and
    later these are words of the heading, which count as 0: it publishes 0, and
    ends with success.
  ! Line 11 has \"–dimensions\", with a dash for a hyphen. aws refuses the call:
    ec2-efs-write-throughput was never published.
  ! It keeps the last 4 lines of nfsiostat: one mount, the last that is listed.
  ! It looks for 1 second at each run: what happens between two looks is never
    seen.
  ! It asks for the instance id by IMDSv1. Where tokens are required it gets
    none, and aws refuses what it publishes.
  ! It appends to /var/log/efs-client at every run; nothing empties it.
  ! What it cannot send is lost: it does not try again.
  A month: 1 series $0.30, 43,800 requests $0.44.

efsmon publishes instead (profile minimal)
    EFSMon ReadThroughput by FileSystemId, InstanceId
    EFSMon WriteThroughput by FileSystemId, InstanceId
  and more: every byte of every mount, in each minute, of each file system.

Old dashboards and alarms
  compat.cron_script is false (default); with true, efsmon publishes these too,
  in MiB/s of the whole host:
    CustomEC2 ec2-efs-read-throughput by InstanceID
    CustomEC2 ec2-efs-write-throughput by InstanceID
  A month: 2 series $0.60, 43,800 requests $0.44.
  What still looks at them, only CloudWatch knows. Alarms are listed by
    aws cloudwatch describe-alarms --query \"MetricAlarms[?Namespace=='CustomEC2'].AlarmName\"
  and dashboards by aws cloudwatch list-dashboards: look for the namespace in
  the body that get-dashboard gives of each.

To do
  1. Only where old dashboards or alarms are to go on: in
     /etc/efsmon/efsmon.toml
         [compat]
         cron_script = true
     then sudo systemctl restart efsmon. The role must be allowed that namespace
     too: efsmon iam-policy --for daemon.
  2. Delete these lines:
         /var/spool/cron/crontabs/root, line 3:
         * * * * * /opt/client-metrcis.sh
     with
         sudo crontab -u root -e
  3. If nothing else runs it:
         sudo rm /opt/client-metrcis.sh
  4. See that nothing is left: sudo efsmon migrate; echo $?
";
    let (told, closing) = text.split_at(text.find("\nNothing was changed.").unwrap());
    assert_eq!(told, expected);
    assert!(closing.contains("us-east-1 on 2026-09-22"), "{closing}");
    assert!(
        text.lines().filter(|line| !line.contains("describe-alarms")).all(|line| line.chars().count() <= 80)
    );
    assert!(fs::read_to_string(machine.path().join(ROOTS)).unwrap() == crontab);
}

#[test]
fn an_entry_in_the_other_spelling_does_not_run() {
    for (named, file) in [("metrics", "metrcis"), ("metrcis", "metrics")] {
        let crontab = format!("* * * * * root /opt/efs-{named}.sh\n");
        let machine = machine(&[("etc/cron.d/efs", &crontab), (&format!("opt/efs-{file}.sh"), SCRIPT)]);
        let text = text(&machine, 3, ONE);
        let said =
            format!("It does not run: there is no /opt/efs-{named}.sh. The script is /opt/efs-{file}.sh, so");
        assert!(text.contains(&said.replace("is /opt", "is\n  /opt")), "{text}");
        assert_eq!(text.matches("  not published").count(), 1, "{text}");
        assert_eq!(text.matches("  never published").count(), 1, "{text}");
        assert!(!text.contains("A month: 0"), "{text}");
        let report = report(&machine);
        assert_eq!(
            report["commands"],
            json!(["sudo rm /etc/cron.d/efs", format!("sudo rm /opt/efs-{file}.sh")])
        );
        let found = &report["found"][0];
        assert_eq!((&found["runs"], &found["cost"]["requests"]), (&json!(false), &json!(0)));
    }
}

#[test]
fn every_place_where_cron_looks_is_looked_at() {
    let entry = "* * * * * /opt/x.sh\n";
    let system = "17 * * * * root cd / && run-parts /etc/cron.hourly\n* * * * * ec2-user /opt/x.sh\n";
    let machine = machine(&[
        ("opt/x.sh", SCRIPT),
        (ROOTS, entry),
        ("var/spool/cron/root", entry),
        ("var/spool/cron/ec2-user", "MAILTO=''\n\n* * * * * ./bin/mine\n"),
        ("home/ec2-user/bin/mine", SCRIPT),
        ("var/spool/cron/tabs/suse", entry),
        ("etc/crontab", system),
        ("etc/cron.d/efs", "* * * * * root flock -n /run/x bash /opt/x.sh\n* * * * * root /bin/true\n"),
        ("etc/cron.d/.placeholder", system),
        ("etc/cron.d/efs.rpmsave", system),
        ("etc/cron.d/efs.dpkg-old", system),
        ("etc/cron.d/efs~", system),
    ]);
    assert_eq!(
        found(&machine),
        [
            "script /var/spool/cron/crontabs/root:1 /opt/x.sh",
            "script /var/spool/cron/ec2-user:3 /home/ec2-user/bin/mine",
            "script /var/spool/cron/root:1 /opt/x.sh",
            "script /var/spool/cron/tabs/suse:1 /opt/x.sh",
            "script /etc/crontab:2 /opt/x.sh",
            "script /etc/cron.d/efs:1 /opt/x.sh",
        ]
    );
    assert_eq!(
        report(&machine)["commands"],
        json!([
            "sudo sed -i '1d' /etc/cron.d/efs",
            "sudo sed -i '2d' /etc/crontab",
            "sudo crontab -u suse -e",
            "sudo crontab -u root -e",
            "sudo crontab -u ec2-user -e",
            "sudo rm /opt/x.sh",
            "sudo rm /home/ec2-user/bin/mine",
        ])
    );
    let text = text(&machine, 3, "efsmon: 6 cron entries are left to remove\n");
    assert_eq!(text.matches("What is wrong with that script is said above.").count(), 4);
}

#[test]
fn a_machine_without_such_a_script_has_nothing_to_remove() {
    let other = "#!/bin/sh\nnfsiostat 1 2 | mail -s nfs me\n";
    let machine = machine(&[
        (ROOTS, "#* * * * * /opt/x.sh\n0 * * * * /opt/y.sh\n"),
        ("opt/x.sh", SCRIPT),
        ("opt/y.sh", other),
    ]);
    assert_eq!(text(&machine, 0, ""), "No cron entry runs what efsmon replaces; 1 crontab read.\n");
    assert_eq!(report(&machine)["commands"], json!([]));
    fs::write(machine.path().join("efsmon.toml"), "[compat]\ncron_script = true\n").unwrap();
    let text = text(&machine, 0, "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("efsmon.toml:2): 2 series, $0.60 a month on this host. Set it to false once"),
        "{text}"
    );
}

/// Nobody knows what is behind the mount, and nobody looks.
#[test]
fn what_is_on_a_mount_is_not_opened_and_not_taken_for_nothing() {
    let machine =
        machine(&[(ROOTS, "* * * * * /mnt/efs/x.sh\n* * * * * /opt/link.sh\n"), ("mnt/efs/x.sh", SCRIPT)]);
    fs::create_dir(machine.path().join("opt")).unwrap();
    symlink("/mnt/efs/x.sh", machine.path().join("opt/link.sh")).unwrap();
    let on_efs = "it is on /mnt/efs, a mount of nfs4, where efsmon opens nothing";
    let notes = format!(
        "efsmon: not looked at: /mnt/efs/x.sh (run by /{ROOTS}, line 1): {on_efs}\n\
         efsmon: not looked at: /opt/link.sh (run by /{ROOTS}, line 2): {on_efs}\n\
         efsmon: nothing was found, but not everything could be looked at\n"
    );
    text(&machine, 1, &notes);
    let unread = &report(&machine)["not_looked_at"];
    assert_eq!(unread[0]["path"], "/mnt/efs/x.sh");
    assert_eq!((&unread[0]["line"], &unread[0]["permission_denied"]), (&json!(1), &json!(false)));
}

/// As another user than root, who may read everything; that user may not reach the program where it was built.
#[test]
fn what_may_not_be_read_calls_for_root() {
    let machine = machine(&[(ROOTS, "* * * * * /opt/x.sh\n"), ("opt/x.sh", SCRIPT)]);
    let crontabs = machine.path().join("var/spool/cron/crontabs");
    fs::set_permissions(&crontabs, fs::Permissions::from_mode(0o311)).unwrap();
    fs::set_permissions(machine.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = machine.path().join("efsmon");
    fs::copy(env!("CARGO_BIN_EXE_efsmon"), &program).unwrap();
    let mut efsmon = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        efsmon.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    efsmon.arg(program).args(["migrate", "--config", "efsmon.toml", "--root", "."]);
    let output =
        efsmon.env_clear().env("PATH", "/usr/bin:/bin").current_dir(machine.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), said.as_str()),
        (
            Some(1),
            "efsmon: not looked at: /var/spool/cron/crontabs: Permission denied (os error 13)\n\
             efsmon: nothing was found, but not everything could be looked at: run as root\n"
        )
    );
}

#[test]
fn a_script_that_is_gone_is_told_by_its_name_and_one_in_the_crontab_by_its_text() {
    let inline = "*/5 * * * * V=$(nfsiostat 1 2 | awk '/read/ {print $9}'); aws cloudwatch put-metric-data --namespace Own \
                  --metric-name reads --value $V --dimensions Host=a";
    let machine = machine(&[(ROOTS, &format!("* * * * * /opt/efs-metrics.sh\n{inline}\n"))]);
    assert_eq!(found(&machine), [format!("missing /{ROOTS}:1 -"), format!("inline /{ROOTS}:2 -")]);
    let text = text(&machine, 3, "efsmon: 2 cron entries are left to remove\n");
    for said in [
        "It runs nothing: there is no /opt/efs-metrics.sh.",
        "/var/spool/cron/crontabs/root, line 2: every 5 minutes, as root",
        "It publishes, without a script:\n    Own reads by Host\n",
        "It cuts word 9 out",
        // 12 an hour x 730.
        "A month: 1 series $0.30, 8,760 requests $0.09.",
        "It does not go on with Own reads by Host",
        "[?Namespace=='Own'].AlarmName",
        "[?Namespace=='CustomEC2'].AlarmName",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn with_both_calls_right_and_a_day_of_the_week_the_bill_is_what_can_be_told() {
    let script = SCRIPT.replace('–', "--");
    let machine = machine(&[(ROOTS, "* * * * * /opt/x.sh\n* * * * 1 /opt/x.sh\n"), ("opt/x.sh", &script)]);
    let report = report(&machine);
    let cost = json!({"series": 2, "series_usd": 0.6, "requests": 87_600, "requests_usd_beyond_free": 0.88});
    assert_eq!((&report["found"][0]["cost"], &report["found"][1]["cost"]), (&cost, &Value::Null));
    assert_eq!(report["compat"]["cost"]["requests"], 43_800);
    let kept = |index: usize| report["found"][0]["publishes"][index]["kept_by_compat"] == true;
    assert!(kept(0) && kept(1));
}

#[test]
fn with_the_setting_on_the_advice_is_to_remove_the_script_now() {
    let machine = machine(&[(ROOTS, "* * * * * /opt/x.sh\n"), ("opt/x.sh", SCRIPT)]);
    fs::write(machine.path().join("efsmon.toml"), "profile = \"fleet\"\n[compat]\ncron_script = true\n")
        .unwrap();
    let text = text(&machine, 3, ONE);
    assert!(
        text.contains("compat.cron_script is true (") && text.contains("both publish: an Average"),
        "{text}"
    );
    assert!(text.contains("  1. Delete these lines:") && !text.contains("[compat]"), "{text}");
    assert!(
        text.contains("EFSMon ReadBytes by FileSystemId\n") && !text.contains("ReadThroughput by"),
        "{text}"
    );
}

/// A crontab is another user's: what it holds must not move the cursor of who reads it.
#[test]
fn foreign_names_are_written_out_and_quoted() {
    let machine =
        machine(&[("etc/cron.d/my efs", "* * * * * root '/opt/a b.sh' \u{1b}[2J\n"), ("opt/a b.sh", SCRIPT)]);
    let text = text(&machine, 3, ONE);
    assert!(text.contains(r"* * * * * root '/opt/a b.sh' \x1b[2J"), "{text}");
    assert_eq!(
        report(&machine)["commands"],
        json!(["sudo rm '/etc/cron.d/my efs'", "sudo rm '/opt/a b.sh'"])
    );
}

/// Copied from the terminal into bash, the command removes that file and no other.
#[test]
fn a_file_whose_name_no_terminal_shows_can_be_removed_by_the_command() {
    let machine = machine(&[("opt/x.sh", SCRIPT)]);
    let name = std::ffi::OsStr::from_bytes(b"it's\x1b a\\\xff");
    let crontabs = machine.path().join("etc/cron.d");
    fs::create_dir(&crontabs).unwrap();
    fs::write(crontabs.join(name), "* * * * * root /opt/x.sh\n").unwrap();
    let text = text(&machine, 3, ONE);
    let command = r"sudo rm $'/etc/cron.d/it\'s\x1b a\\\xff'";
    assert!(text.contains(command), "{text}");
    let echo = command.replace("sudo rm", "printf %s");
    let echoed = Command::new("bash").arg("-c").arg(echo).output().unwrap();
    assert_eq!(echoed.stdout, b"/etc/cron.d/it's\x1b a\\\xff");
}

#[test]
fn a_lock_that_is_not_there_is_not_taken_for_a_script() {
    let machine = machine(&[
        (ROOTS, "* * * * * flock -n /run/efs-metrics.lock /opt/x.sh\n* * * * * sh /opt/y.sh efs-metrics\n"),
        ("opt/x.sh", SCRIPT),
        ("opt/y.sh", "true"),
    ]);
    assert_eq!(found(&machine), [format!("script /{ROOTS}:1 /opt/x.sh")]);
}

#[test]
fn what_is_published_in_a_loop_has_no_bill() {
    let script =
        "for m in a b; do nfsiostat 1 2; aws cloudwatch put-metric-data --namespace A --metric-name $m; done";
    let machine = machine(&[(ROOTS, "* * * * * /opt/x.sh\n"), ("opt/x.sh", script)]);
    assert!(text(&machine, 3, ONE).contains("What it costs cannot be told from its text."));
    assert_eq!(report(&machine)["found"][0]["cost"], Value::Null);
}

#[test]
fn a_copy_that_is_not_there_is_not_taken_for_a_machine_without_scripts() {
    let machine = machine(&[]);
    let output = efsmon(&machine, &["--root", "nowhere"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), b"".as_slice()));
    assert!(said.starts_with("efsmon: --root /") && said.ends_with("nowhere: it is not there\n"), "{said}");
}

#[test]
fn a_large_crontab_and_a_fifo_are_told_or_passed_over() {
    let large = format!("* * * * * /opt/x.sh\n{}", "#\n".repeat(200 * 1024));
    let machine =
        machine(&[(ROOTS, &large), ("opt/x.sh", SCRIPT), ("etc/cron.d/a", "* * * * * root /opt/fifo\n")]);
    let made = Command::new("mkfifo").arg(machine.path().join("opt/fifo")).status().unwrap();
    assert!(made.success());
    let notes = format!("efsmon: not looked at: /{ROOTS}: only its first 256 KiB were read\n{ONE}");
    text(&machine, 3, &notes);
}

/// Keys may be added; none goes or changes.
#[test]
fn programs_find_these_keys() {
    let machine = machine(&[(ROOTS, "* * * * * /opt/x.sh\n"), ("opt/x.sh", SCRIPT)]);
    let report = report(&machine);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&report), "commands compat crontabs_read efsmon_publishes found not_looked_at");
    assert_eq!(keys(&report["compat"]), "cost is_on origin publishes setting");
    let found = &report["found"][0];
    assert_eq!(
        keys(found),
        "appends_to cost crontab defects line names other_entries publishes runs runs_per_month schedule script text \
         user what"
    );
    assert_eq!(keys(&found["publishes"][0]), "dimensions kept_by_compat line metric namespace refused");
    assert_eq!(keys(&found["cost"]), "requests requests_usd_beyond_free series series_usd");
    let codes: Vec<_> = found["defects"].as_array().unwrap().iter().map(|defect| &defect["code"]).collect();
    assert_eq!(codes, ["fixed_fields", "dash", "last_mount", "sample", "imdsv1", "grows", "lost"]);
}
