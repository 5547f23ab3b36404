use super::crontab::{Entry, Kind, entries};
use super::words::commands;
use super::*;

fn words(text: &str) -> Vec<String> {
    commands(text).iter().map(|command| format!("{} {}", command.line, command.words.join("|"))).collect()
}

#[test]
fn quotes_escapes_and_continued_lines_make_words() {
    assert_eq!(words("a 'b c' \"d e\" f\\ g ''"), ["1 a|b c|d e|f g|"]);
    assert_eq!(words("a \\\n  b\nc # d\n\n#e\nf#g"), ["1 a|b", "3 c", "6 f#g"]);
    assert_eq!(words("'a\nb'\nc"), ["1 a\nb", "3 c"]);
}

#[test]
fn separators_end_commands_and_redirections_are_no_arguments() {
    assert_eq!(
        words("a 1 2 | b -4 > /c; d && e || f & g"),
        ["1 a|1|2", "1 b|-4", "1 d", "1 e", "1 f", "1 g"]
    );
    assert_eq!(words("a < /b 2>&1 3>>/c d"), ["1 a|d"]);
    assert_eq!(words("a &> /b; (c; d)"), ["1 a", "1 c", "1 d"]);
    let appending = commands("a >> /log 2>>/errors >/none");
    assert_eq!(appending[0].appends_to, ["/log", "/errors"]);
}

#[test]
fn inner_commands_come_first_and_the_outer_one_goes_on() {
    assert_eq!(words("a x=$(b c | d) e"), ["1 b|c", "1 d", "1 a|x=$(..)|e"]);
    assert_eq!(words("a \"x $(b \"c\") y\" z"), ["1 b|c", "1 a|x $(..) y|z"]);
    assert_eq!(words("a `b c` d"), ["1 b|c", "1 a|d"]);
    assert_eq!(words("x=`b c`\nd"), ["1 b|c", "1 x=(..)", "2 d"]);
    assert_eq!(words("a\nbash -c 'b; c'"), ["1 a", "2 b", "2 c", "2 bash|-c|b; c"]);
}

#[test]
fn what_makes_no_sense_is_read_all_the_same() {
    for text in ["$(", ")", "a \"b", "'", "\\", "`a", "a >", "((((", "$(`$(`"] {
        commands(text);
    }
    commands(&"$(".repeat(10_000));
    commands(&format!("{}x", "sh -c 'sh -c ".repeat(1_000)));
}

fn entry(line: &str) -> Entry {
    entries(line, Kind::Of("me")).remove(0)
}

#[test]
fn entries_of_users_and_of_the_system() {
    let text =
        "# * * * * * /old\nHOME=/srv\nPATH = \"/a:/b\"\n\n*/5 1-3 * * 1 x \\% y%input\n@reboot z\nbad line\n";
    let found = entries(text, Kind::Of("me"));
    let told =
        |entry: &Entry| format!("{} {}: {} as {}", entry.line, entry.schedule, entry.command, entry.user);
    assert_eq!(
        found.iter().map(told).collect::<Vec<_>>(),
        ["5 */5 1-3 * * 1: x % y as me", "6 @reboot: z as me"]
    );
    let settings: Vec<_> = found[0].settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(settings, ["HOME=/srv", "PATH=/a:/b"]);
    let found = entries("* * * * * root a b\n@daily\tme\tc\n* * * * * root\n", Kind::System);
    assert_eq!(found.iter().map(told).collect::<Vec<_>>(), ["1 * * * * *: a b as root", "2 @daily: c as me"]);
}

#[test]
fn runs_a_month_are_reckoned_from_the_schedule() {
    for (schedule, expected, when) in [
        ("* * * * *", Some(43_800), "every minute"),
        ("*/5 * * * *", Some(8_760), "every 5 minutes"), // 12 x 730
        ("0 * * * *", Some(730), "at 0 * * * *"),
        ("0,30 8-17 * * *", Some(608), "at 0,30 8-17 * * *"), // 20 a day x 730 / 24
        ("10-50/20 * * * *", Some(2_190), "at 10-50/20 * * * *"), // 10, 30, 50
        ("@hourly", Some(730), "at @hourly"),
        ("@daily", Some(30), "at @daily"),
        ("@reboot", None, "at @reboot"),
        ("* * * * 1", None, "at * * * * 1"),
        ("61 * * * *", None, "at 61 * * * *"),
        ("*/0 * * * *", None, "every 0 minutes"),
        ("9-1 * * * *", Some(0), "at 9-1 * * * *"),
    ] {
        let entry = entry(&format!("{schedule} x"));
        assert_eq!((entry.runs_a_month(), entry.when().as_str()), (expected, when), "{schedule}");
    }
}

#[test]
fn programs_and_what_other_programs_run_are_looked_for() {
    let files = |command: &str| {
        let programs = entry(&format!("* * * * * {command}")).programs("/home/me");
        programs.into_iter().map(|program| program.files.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(files("/opt/x.sh >> /mnt/log 2>&1"), ["/opt/x.sh"]);
    assert_eq!(files("rsync -a /data /mnt/efs"), ["/usr/bin/rsync /bin/rsync"]);
    assert_eq!(files("~/x.sh; $HOME/y.sh"), ["/home/me/x.sh", "/home/me/y.sh"]);
    assert_eq!(files("bin/x.sh"), ["/home/me/bin/x.sh"]);
    assert_eq!(files("cd /opt/efs && ./x.sh"), ["/opt/efs/x.sh"]);
    assert_eq!(files("bash x.sh"), ["/home/me/x.sh /usr/bin/x.sh /bin/x.sh"]);
    assert_eq!(files("A=1 sudo -n A=2 /opt/x.sh"), ["/opt/x.sh"]);
    assert_eq!(files("bash -c '/opt/x.sh | cat'"), ["/opt/x.sh", "/usr/bin/cat /bin/cat"]);
    assert_eq!(files("bash -c 'cd /opt; ./x.sh'"), ["/opt/x.sh"]);
    assert_eq!(files("bash '/opt/a b.sh'"), ["/opt/a b.sh"]);
    for command in [
        "flock -n /run/efs-metrics.lock -c '/opt/x.sh -v >> /log'",
        "nice flock -w 10 /run/efs-metrics.lock /opt/x.sh",
        "su -c '/opt/x.sh -v'",
        "runuser --command /opt/x.sh",
        "{ /opt/x.sh; }",
        "! /opt/x.sh",
        "cronic /opt/x.sh",
        "systemd-run --scope /opt/x.sh",
        "/opt/python3.11 /opt/x.sh",
        "D=/opt; $D/x.sh",
        "if true; then /opt/x.sh; fi",
        "while true; do /opt/x.sh; done",
    ] {
        let files = files(command);
        assert!(files.iter().any(|file| file == "/opt/x.sh"), "{command}: {files:?}");
        assert!(!files.concat().contains(".lock"), "{command}: {files:?}");
    }
    let set = &entries("D=/opt\n* * * * * ${D}/x.sh\n* * * * * $E/x.sh", Kind::Of("me"));
    assert_eq!(set[0].programs("/home/me")[0].files, ["/opt/x.sh"]);
    assert_eq!(set[1].programs("/home/me")[0].files, [""; 0]);
    assert_eq!(files("[ -x /opt/x.sh ] && /opt/x.sh"), ["/usr/bin/[ /bin/[", "/opt/x.sh"]);
    assert_eq!(entry("* * * * * x.sh; ./y").programs("")[1].files, [""; 0]);
}

#[test]
fn both_spellings_lead_to_each_other() {
    assert_eq!(other_spelling("/metrics/efs-metrics.sh").unwrap(), "/metrics/efs-metrcis.sh");
    assert_eq!(other_spelling("/x/efs_metrcis").unwrap(), "/x/efs_metrics");
    assert_eq!(other_spelling("metrics").unwrap(), "metrcis");
    assert_eq!(other_spelling("/metrics/efs.sh"), None);
    assert!(is_named_so("/x/EFS-Throughput.sh") && is_named_so("nfs_metrcis"));
    assert!(!is_named_so("/efs-metrics/backup.sh") && !is_named_so("/x/metrics.sh"));
}

fn script(text: &str) -> Script {
    Script::of(text.as_bytes()).unwrap()
}

fn put(options: &str) -> Put {
    script(&format!("nfsiostat 1 2\nNS=Own\naws cloudwatch put-metric-data {options}")).puts.remove(0)
}

#[test]
fn only_what_has_both_is_such_a_script() {
    for text in [
        "nfsiostat 1 2",
        "aws cloudwatch put-metric-data --namespace nfs",
        "#nfsiostat\naws cloudwatch put-metric-data",
        "nfsiostat\n  # put-metric-data",
    ] {
        assert_eq!(Script::of(text.as_bytes()), None, "{text}");
    }
    let python = script(
        "import subprocess\nsubprocess.run(['nfsiostat'])\nsubprocess.run(['aws', 'put-metric-data'])",
    );
    assert_eq!(python.puts, []);
    assert!(Script::of(b"\xff nfsiostat put-metric-data \xfe").is_some());
}

#[test]
fn namespace_metric_and_dimensions_are_read_where_they_are_plain() {
    let found =
        put("--namespace=Own --metric-name reads --dimensions InstanceID=$ID,Host=x --value $V --unit None");
    assert_eq!(found.namespace.as_deref(), Some("Own"));
    assert_eq!(
        (found.metric.as_deref(), found.dimensions.join(" ")),
        (Some("reads"), "Host InstanceID".into())
    );
    let found =
        put("--dimensions Name=InstanceID,Value=i-1 Name=Fs,Value=$FS --namespace ${NS}2 --metric-name $(x)");
    assert_eq!((found.namespace.as_deref(), found.metric.as_deref()), (Some("Own2"), None));
    assert_eq!((found.dimensions.join(" "), found.dash), ("Fs InstanceID".into(), None));
    let found = put(
        "--dimensions '[{\"Name\": \"InstanceID\", \"Value\": \"'$ID'\"}, {\"Name\":\"Fs\",\"Value\":\"x\"}]'",
    );
    assert_eq!(found.dimensions.join(" "), "Fs InstanceID");
    let found = put("--dimensions \"[{\\\"Name\\\": \\\"InstanceID\\\", \\\"Value\\\": \\\"$ID\\\"}]\"");
    assert_eq!(found.dimensions.join(" "), "InstanceID");
    assert_eq!(put("--namespace $OTHER --metric-data file://x").namespace, None);
    // Not when it has two values.
    let twice = script("nfsiostat\nNS=a\nNS=b\naws cloudwatch put-metric-data --namespace $NS");
    assert_eq!(twice.puts[0].namespace, None);
}

#[test]
fn a_dash_for_a_hyphen_is_a_call_that_aws_refuses() {
    for dash in ['\u{2010}', '–', '—', '−'] {
        let found = put(&format!("--namespace A --metric-name b {dash}dimensions InstanceID=$i"));
        assert_eq!(
            (found.dash.unwrap(), found.dimensions),
            (format!("{dash}dimensions"), vec!["InstanceID".into()])
        );
    }
    assert_eq!(put("--namespace A --value 3–4").dash, None);
    let one_of_two =
        script("nfsiostat\naws put-metric-data --metric-name a\naws put-metric-data —metric-name b");
    assert_eq!(one_of_two.sent().count(), 1);
}

fn codes(text: &str) -> String {
    let script = script(&format!("{text}\naws cloudwatch put-metric-data --namespace A"));
    script.defects.iter().map(Defect::code).collect::<Vec<_>>().join(" ")
}

#[test]
fn each_defect_is_told_from_its_cure() {
    assert_eq!(codes("nfsiostat"), "since_mount lost");
    assert_eq!(codes("/usr/sbin/nfsiostat 1 2"), "sample lost");
    assert_eq!(codes("sudo nfsiostat 1 2 | tail -n 4"), "last_mount sample lost");
    assert_eq!(codes("nfsiostat 1 2 | tail -4"), "last_mount sample lost");
    assert_eq!(codes("nfsiostat 1 2 | cut -d ' ' -f13,31"), "fixed_fields sample lost");
    assert_eq!(codes("nfsiostat 1 2 | cut -d: -f1"), "sample lost");
    assert_eq!(codes("nfsiostat 1 2 | awk '/read/ {print $13}'"), "fixed_fields sample lost");
    assert_eq!(codes("nfsiostat 1 2 | awk '{print $0}'"), "sample lost");
    assert_eq!(codes("nfsiostat 1 2; curl http://169.254.169.254/latest/"), "sample imdsv1 lost");
    assert_eq!(
        codes("nfsiostat 1 2; curl -H \"X-aws-ec2-metadata-token: $T\" http://169.254.169.254/latest/"),
        "sample lost"
    );
    assert_eq!(
        codes("L=/var/log/x\nnfsiostat 1 2 >> $L; echo >> /dev/null; echo >> $M"),
        "sample grows lost"
    );
}

#[test]
fn the_published_words_are_zero_and_others_merely_risky() {
    let text = |fields: &str| {
        let text = format!("nfsiostat 1 2 | cut -d' ' -f{fields}; aws cloudwatch put-metric-data");
        script(&text).defects[0].text()
    };
    assert!(text("13").starts_with("It cuts word 13 out") && text("13").contains("it publishes 0"));
    assert!(
        text("9,11").starts_with("It cuts words 9 and 11 out") && text("9,11").contains("has other figures")
    );
}
