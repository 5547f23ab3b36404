//! What packages have besides the programs: the very files that `make package` puts in, made by the same code.

mod completions;
mod manual;
#[path = "../../packaging/assets/mod.rs"]
mod packaged;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use efsmon::provision::{alarms, dashboards};
use serde_json::Value;

/// The text of a file of the packages, by its name below the directory of all.
fn text(name: &str) -> String {
    let files = packaged::files("2026-12-01").unwrap();
    let (_, bytes) = files.into_iter().find(|(path, _)| path == Path::new(name)).expect(name);
    String::from_utf8(bytes).unwrap()
}

/// The names of all files whose names begin so.
fn names(beginning: &str) -> Vec<String> {
    let files = packaged::files("").unwrap();
    let mut names: Vec<String> =
        files.into_iter().map(|(path, _)| path.to_str().unwrap().to_owned()).collect();
    names.retain(|name| name.starts_with(beginning));
    names.sort();
    names
}

#[test]
fn each_file_lies_where_the_packages_fetch_it() {
    assert_eq!(
        names("completions/"),
        [
            "completions/bash/efsmon",
            "completions/bash/efsmond",
            "completions/fish/efsmon.fish",
            "completions/fish/efsmond.fish",
            "completions/zsh/_efsmon",
            "completions/zsh/_efsmond",
        ]
    );
    let share = names("share/");
    for name in [
        "share/dashboards/overview.json",
        "share/dashboards/alarms/credits-low.json",
        "share/iam/daemon.json",
        "share/iam/provision.json",
        "share/iam/read.json",
    ] {
        assert!(share.iter().any(|one| one == name), "{name}: {share:?}");
    }
    assert!(share.iter().all(|name| name.ends_with(".json")), "{share:?}");
    let all = names("");
    let elsewhere =
        |name: &&String| !["man/", "completions/", "share/"].iter().any(|part| name.starts_with(part));
    assert_eq!(all.iter().find(elsewhere), None);
}

#[test]
fn writing_again_leaves_nothing_of_the_last_time() {
    let directory = tempfile::tempdir().unwrap();
    packaged::write(directory.path(), "").unwrap();
    let (stale, foreign) = (directory.path().join("man/efsmon-gone.1"), directory.path().join("notes"));
    fs::write(&stale, "").unwrap();
    fs::write(&foreign, "").unwrap();
    packaged::write(directory.path(), "").unwrap();
    assert!(!stale.exists() && foreign.exists());
    for name in names("") {
        assert!(!fs::read_to_string(directory.path().join(&name)).unwrap().is_empty(), "{name}");
    }
}

#[test]
fn the_same_source_gives_the_same_bytes() {
    assert_eq!(packaged::files("2026-12-01").unwrap(), packaged::files("2026-12-01").unwrap());
    // By `date -u -d @1796083200`.
    assert_eq!(packaged::day("1796083200").unwrap(), "2026-12-01");
    let error = format!("{:#}", packaged::day("today").unwrap_err());
    assert!(error.starts_with("SOURCE_DATE_EPOCH: found \"today\"; allowed: seconds since 1970"), "{error}");
}

#[test]
fn the_policies_are_what_the_command_prints() {
    let directory = tempfile::tempdir().unwrap();
    let nothing = directory.path().join("efsmon.toml");
    fs::write(&nothing, "").unwrap();
    for who in ["daemon", "provision", "read"] {
        let mut efsmon = Command::new(env!("CARGO_BIN_EXE_efsmon"));
        let efsmon = efsmon.args(["iam-policy", "--for", who, "--config"]).arg(&nothing).env_clear();
        let output = efsmon.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&format!("share/iam/{who}.json")), String::from_utf8(output.stdout).unwrap());
    }
    assert_eq!(names("share/iam/").len(), 3);
}

/// The templates of a folder, by name.
fn templates(folder: &str) -> BTreeMap<String, Value> {
    let files = names(folder).into_iter().filter(|name| !name[folder.len()..].contains('/'));
    let template = |name: String| {
        let kind = name[folder.len()..].strip_suffix(".json").unwrap().to_owned();
        (kind, serde_json::from_str(&text(&name)).unwrap())
    };
    files.map(template).collect()
}

#[test]
fn the_templates_are_those_that_efsmon_has_built_in() {
    assert_eq!(templates("share/dashboards/"), dashboards::templates(&[]).unwrap());
    assert_eq!(templates("share/dashboards/alarms/"), alarms::templates(&[]).unwrap());
}
