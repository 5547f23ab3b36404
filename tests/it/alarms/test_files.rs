//! `efsmon alarms test`: the test files that ship pass, alarms that are wrong do not, and mistakes are named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// A folder, and what the program says that is run in it: without credentials, and with nobody to ask.
struct Trial {
    folder: TempDir,
}

/// Standard output and exit status.
#[derive(Debug, PartialEq)]
struct Said {
    out: String,
    status: Option<i32>,
}

impl Trial {
    fn new() -> Trial {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("efsmon.toml"), "").unwrap();
        fs::create_dir_all(folder.path().join("mine/alarms")).unwrap();
        Trial { folder }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// One of the alarms that ship, with a part of its template replaced.
    fn template(&self, kind: &str, part: &str, by: &str) {
        let template = fs::read_to_string(alarms().join(format!("{kind}.json"))).unwrap();
        assert!(template.contains(part), "{kind}: {part}");
        self.write(&format!("mine/alarms/{kind}.json"), &template.replace(part, by));
    }

    fn test(&self, arguments: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_efsmon"))
            .args(["alarms", "test", "--config", "efsmon.toml", "--templates", "mine"])
            .args(arguments)
            .env_clear()
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        Said { out: String::from_utf8(output.stdout).unwrap(), status: output.status.code() }
    }
}

fn alarms() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards/alarms")
}

/// The files of a folder whose names end so, by their names.
fn files(folder: &Path, ending: &str) -> BTreeSet<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(ending)).collect()
}

/// One that ships, as the program finds it from anywhere.
fn shipped(name: &str) -> String {
    alarms().join("tests").join(name).to_str().unwrap().to_owned()
}

#[test]
fn every_test_file_that_ships_passes() {
    let files = files(&alarms().join("tests"), ".toml");
    let lines: String = files.iter().map(|name| format!("dashboards/alarms/tests/{name}: ok\n")).collect();
    assert_eq!(Trial::new().test(&[]), Said { out: lines, status: Some(0) });
}

#[test]
fn every_alarm_that_ships_has_a_test_file_in_which_it_is_there() {
    let folder = alarms().join("tests");
    let mut tested = BTreeSet::new();
    for name in files(&folder, ".toml") {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let alarm = text.lines().find_map(|line| line.strip_prefix("alarm = \"")?.strip_suffix('"'));
        if !text.contains("rendered = false") {
            tested.insert(format!("{}.json", alarm.unwrap()));
        }
    }
    assert_eq!(tested, files(&alarms(), ".json"));
}

#[test]
fn a_threshold_that_is_copied_from_somewhere_fails() {
    let trial = Trial::new();
    // Said to be an hour of bursting: it is 192,000,000,000 / 104,857,600 / 60 = 30.5 minutes.
    trial.template("credits-low", "\"${CreditsLowBytes}\"", "192000000000");
    let file = shipped("credits-low.toml");
    let line =
        1 + fs::read_to_string(&file).unwrap().lines().position(|l| l == "always = \"ALARM\"").unwrap();
    // Minute 64, the newest of the five that end at 65m, has 1,077,166,080,000 - 64 x 5,984,256,000; each period before
    // that 29,921,280,000 more.
    let expected = format!(
        "{file}:{}: expected always ALARM from 1h5m to 5h, found OK at 1h5m (3 of 4 LessThanThreshold 192000000000: \
         BurstCreditBalance 783937536000 754016256000 724094976000 694173696000)\n",
        line - 1
    );
    assert_eq!(trial.test(&[&file]), Said { out: expected, status: Some(1) });
}

#[test]
fn an_alarm_that_late_data_silence_fails() {
    let trial = Trial::new();
    // Five of five, and the newest three are never there when they are looked at.
    trial.template("mount-stalled", "\"DatapointsToAlarm\": 3", "\"DatapointsToAlarm\": 5");
    let said = trial.test(&[&shipped("mount-stalled-late.toml")]);
    assert_eq!(said.status, Some(1));
    let first = said.out.lines().next().unwrap();
    assert!(first.contains("expected ALARM, found OK at 36m (5 of 5"), "{first}");
    assert!(first.ends_with("MountStalled 1 1 _ _ _)"), "{first}");
}

#[test]
fn an_alarm_that_ends_at_zero_credits_fails() {
    let trial = Trial::new();
    // Without the floor: a balance that lies at zero does not fall, and all seems well.
    let formula = "IF(m1 < ${CreditsFloorBytes}, 0, IF(e1 > 0, m1/e1/3600, 720))";
    trial.template("credits-depletion-page", formula, "IF(e1 > 0, m1/e1/3600, 720)");
    let said = trial.test(&[&shipped("credits-depletion-page.toml")]);
    assert_eq!(said.status, Some(1));
    // The balance is 0 from minute 180 on. The period that ends at 186m is the first before which it was 0 as well: two
    // such periods are the newest of four at 191m. The one that ends at 176m has 5 minutes left at its end.
    let expected = "found OK at 3h11m (3 of 4 LessThanOrEqualToThreshold 1: hours left 0.083 0 720 720)\n";
    assert!(said.out.ends_with(expected), "{}", said.out);
}

#[test]
fn what_is_not_documented_is_named_and_fails() {
    let trial = Trial::new();
    trial.template("mount-stalled", "\"notBreaching\"", "\"breaching\"");
    // No data after minute 9. CloudWatch looks back on 6 to 12 minutes: the last value is out of sight at 16m or at 22m.
    let text = |at: &str| {
        format!(
            "alarm = \"mount-stalled\"\n[file_system]\nmode = \"elastic\"\n\
             [[series]]\nmetric = \"MountStalled\"\nvalues = \"0x10 _x20\"\n\
             [[expect]]\nat = \"{at}\"\nstate = \"ALARM\"\n"
        )
    };
    trial.write("late.toml", &text("30m"));
    assert_eq!(trial.test(&["late.toml"]), Said { out: "late.toml: ok\n".into(), status: Some(0) });
    trial.write("open.toml", &text("16m"));
    let said = trial.test(&["open.toml"]);
    assert_eq!(said.status, Some(1));
    let open = "open.toml:7: expected ALARM, found not modelled: it depends on how many periods CloudWatch looks back on";
    assert!(said.out.starts_with(open), "{}", said.out);
}

#[test]
fn thresholds_come_from_the_file_then_from_the_configuration() {
    let trial = Trial::new();
    let text = |own: &str| {
        format!(
            "alarm = \"percent-io-limit\"\n{own}[file_system]\nmode = \"elastic\"\n\
             [[series]]\nmetric = \"PercentIOLimit\"\nvalues = \"60x1h\"\n\
             [[expect]]\nat = \"1h\"\nstate = \"ALARM\"\n"
        )
    };
    trial.write("plain.toml", &text(""));
    trial.write("own.toml", &text("[alarms]\nio_limit_percent = 60\n"));
    assert_eq!(trial.test(&["plain.toml"]).status, Some(1));
    assert_eq!(trial.test(&["own.toml"]), Said { out: "own.toml: ok\n".into(), status: Some(0) });
    trial.write("efsmon.toml", "[alarms]\nio_limit_percent = 60\n");
    assert_eq!(trial.test(&["plain.toml"]), Said { out: "plain.toml: ok\n".into(), status: Some(0) });
    // Those that ship are worked out for the defaults.
    assert_eq!(trial.test(&[]).status, Some(0));
}

#[test]
fn every_mistake_of_a_file_is_named_with_its_line() {
    let trial = Trial::new();
    trial.write(
        "bad.toml",
        r#"alarm = "credits-low"
starts = 3
[alarms]
credits_low_minutes = 0
[file_system]
mode = "elastik"
[[series]]
metric = "BurstCreditBalances"
values = "1 2 3y"
[[series]]
metric = "BurstCreditBalance"
values = "1x3"
counts = "1x2"
[[expect]]
at = "0m"
state = "OK"
[[expect]]
always = "OK"
at = "3m"
[[expect]]
never = "ALARM"
from = "5m"
to = "3m"
[[expect]]
changes = -1
"#,
    );
    let expected = "\
bad.toml:2: starts: unknown key; allowed: alarm, alarms, expect, file_system, series, start
bad.toml:4: alarms.credits_low_minutes: found 0; allowed: a whole number from 1 to 360
bad.toml:6: file_system.mode: found \"elastik\"; allowed: \"bursting\", \"provisioned\" or \"elastic\"
bad.toml:8: series.metric: found \"BurstCreditBalances\"; allowed: a metric of AWS/EFS or of efsmon; one of others, with its namespace
bad.toml:9: series.values: found 3y; allowed: VALUExCOUNT, VALUE+STEPxCOUNT, VALUE-STEPxCOUNT or _xCOUNT, separated by spaces, a week at most; COUNT is a number of minutes, or a time such as 2h10m; without xCOUNT it is one minute
bad.toml:13: series.counts: found \"1x2\"; allowed: how many data each minute has: a number, or as values, with as many minutes; 0 or more
bad.toml:15: expect.at: found \"0m\"; allowed: whole minutes such as 5m or 2h10m, a week at most
bad.toml:17: expect: found always, at; allowed: at and state; or one of always, never and changes, with from, to, both or neither; or rendered = false
bad.toml:20: expect: found never, from, to; allowed: from that is not after to
bad.toml:25: expect.changes: found -1; allowed: a whole number
";
    assert_eq!(trial.test(&["bad.toml"]), Said { out: expected.into(), status: Some(1) });
}

#[test]
fn what_is_missing_is_named_and_the_next_file_is_tried() {
    let trial = Trial::new();
    trial.write("empty.toml", "");
    trial.write("broken.toml", "alarm = \"credits-low\"\nvalues = \n");
    let good = shipped("credits-low.toml");
    let said = trial.test(&["empty.toml", "broken.toml", &good]);
    assert_eq!(said.status, Some(1));
    let lines: Vec<&str> = said.out.lines().collect();
    let starts = [
        "empty.toml:1: alarm: missing; allowed: client-latency, credits-any, ",
        "empty.toml:1: expect: missing; allowed: at least one section [[expect]]",
        "empty.toml:1: file_system: missing; allowed: a section [file_system]",
        "broken.toml:2: not TOML: ",
        &format!("{good}: ok"),
    ];
    assert_eq!(lines.len(), starts.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_next_one_is_tried() {
    let trial = Trial::new();
    fs::write(trial.folder.path().join("binary.toml"), [b'a', 0xff, 0]).unwrap();
    let good = shipped("credits-any-none.toml");
    let expected = format!(
        "none.toml: No such file or directory (os error 2)\n\
         binary.toml: not UTF-8 text, which TOML has to be\n\
         /dev/zero: found more than 262144 bytes, which no test file has: another file?\n\
         {good}: ok\n"
    );
    let said = trial.test(&["none.toml", "binary.toml", "/dev/zero", &good]);
    assert_eq!(said, Said { out: expected, status: Some(1) });
}

#[test]
fn a_file_with_more_than_anybody_reads_is_refused() {
    let trial = Trial::new();
    let series = "[[series]]\nmetric = \"MountStalled\"\nvalues = \"0x168h\"\n";
    let text = |series: &str, expect: usize| {
        let expect = "[[expect]]\nchanges = 0\n".repeat(expect);
        format!("alarm = \"mount-stalled\"\n[file_system]\nmode = \"elastic\"\n{series}{expect}")
    };
    trial.write("many.toml", &text(&series.repeat(101), 101));
    let expected = "many.toml:4: series: found 101 sections [[series]]; allowed: 100 at most\n\
                    many.toml:307: expect: found 101 sections [[expect]]; allowed: 100 at most\n";
    assert_eq!(trial.test(&["many.toml"]), Said { out: expected.into(), status: Some(1) });
    let short = series.replace("168h", "10");
    trial.write("just.toml", &text(&short.repeat(100), 100));
    assert_eq!(trial.test(&["just.toml"]).status, Some(0));
}

#[test]
fn data_that_the_alarm_does_not_look_at_fail() {
    let trial = Trial::new();
    let text = fs::read_to_string(shipped("credits-low.toml")).unwrap();
    let wrong = text.replace(
        "\"BurstCreditBalance\"",
        "\"BurstCreditBalance\"\ndimensions = { FileSystemId = \"fs-2\" }",
    );
    trial.write("other.toml", &wrong);
    let said = trial.test(&["other.toml"]);
    assert_eq!(said.status, Some(1));
    let expected =
        "expected a metric that the alarm asks for, found AWS/EFS BurstCreditBalance FileSystemId=fs-2\n";
    assert!(said.out.contains(expected), "{}", said.out);
}

#[test]
fn an_alarm_that_a_file_system_does_not_get_fails_with_the_reason() {
    let trial = Trial::new();
    let text = fs::read_to_string(shipped("credits-low.toml")).unwrap();
    trial.write("elastic.toml", &text.replace("\"bursting\"", "\"elastic\""));
    let said = trial.test(&["elastic.toml"]);
    assert_eq!(said.status, Some(1));
    assert!(
        said.out.contains("expected an alarm, found that this file system does not get it: "),
        "{}",
        said.out
    );
    // And the other way round.
    let text = fs::read_to_string(shipped("credits-low-provisioned.toml")).unwrap();
    trial.write("bursting.toml", &text.replace("mibps = 300", "mibps = 30"));
    let said = trial.test(&["bursting.toml"]);
    assert!(said.out.contains("expected no such alarm for this file system, found one"), "{}", said.out);
}

#[test]
fn the_example_is_a_test_file_that_passes() {
    let trial = Trial::new();
    let example = trial.test(&["--example"]);
    assert_eq!(example.status, Some(0));
    trial.write("mine.toml", &example.out);
    assert_eq!(trial.test(&["mine.toml"]), Said { out: "mine.toml: ok\n".into(), status: Some(0) });
}

#[test]
fn programs_are_told_in_json() {
    let trial = Trial::new();
    trial.template("mount-stalled", "\"DatapointsToAlarm\": 3", "\"DatapointsToAlarm\": 5");
    let (good, bad) = (shipped("credits-low.toml"), shipped("mount-stalled-late.toml"));
    let said = trial.test(&["--json", &good, &bad]);
    assert_eq!(said.status, Some(1));
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let files = found["files"].as_array().unwrap();
    assert_eq!((&files[0]["file"], &files[0]["passed"]), (&Value::from(good), &Value::from(true)));
    assert_eq!(
        (&files[1]["alarm"], &files[1]["passed"]),
        (&Value::from("mount-stalled"), &Value::from(false))
    );
    let failure = &files[1]["failures"][0];
    assert_eq!((&failure["expected"], &failure["at"]), (&Value::from("ALARM"), &Value::from("36m")));
    let values = &failure["series"][0]["values"];
    assert_eq!(*values, serde_json::json!([1.0, 1.0, null, null, null]));
}
