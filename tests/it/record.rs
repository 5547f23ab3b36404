//! Recordings: what is written, what a replay makes of it, and what is left when the names are replaced.

mod command;
mod daemon;
mod format;
mod redaction;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use efsmon::model::Moment;
use efsmon::recording::{About, Header, Recorder, Tick};
use efsmon::source::{Reading, StateFile, View};
use serde_json::Value;

const BOOT_ID: &str = "1b4e28ba-2fa1-4d2e-883f-0016d3cca427";

/// A tick of texts that did not change while they were read, `seconds` after 2026-11-30T16:00:00Z and 5000 s of uptime.
fn tick(number: u32, seconds: f64, mountinfo: &str, mountstats: &str) -> Tick {
    let since = Duration::from_secs_f64(seconds);
    let moment = Moment {
        wall: Duration::from_secs(1_796_054_400) + since,
        monotonic: Duration::from_secs(5000) + since,
    };
    let reading = Reading {
        moment,
        view: View::Own,
        mountinfo_before: mountinfo.into(),
        mountstats: mountstats.into(),
        mountinfo_after: mountinfo.into(),
    };
    Tick {
        number,
        moment,
        boot_id: Some(BOOT_ID.to_owned()),
        reading: Ok(reading),
        efs_state: Ok(Vec::new()),
    }
}

fn state_file(name: &str, text: Option<&str>) -> StateFile {
    StateFile { name: name.to_owned(), text: text.map(|text| text.as_bytes().to_vec()) }
}

/// A recording of these ticks, one every 10 s.
fn record(directory: &Path, about: &About, ticks: &[Tick]) {
    let header = Header::new(Duration::from_secs(10), false);
    let mut recorder = Recorder::create(directory, &header, about).unwrap();
    for tick in ticks {
        recorder.write(tick).unwrap();
    }
}

/// Every file below a directory, by its path from there; no directory or file may be read by others.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// `efsmon ARGUMENTS` in a directory, without any environment but what keeps it from AWS.
fn efsmon(directory: &Path, arguments: &[&str]) -> Output {
    efsmon_with(directory, &[], arguments)
}

fn efsmon_with(directory: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_efsmon"));
    command.args(arguments).current_dir(directory).env_clear().envs(environment.iter().copied());
    command.env("AWS_EC2_METADATA_DISABLED", "true").env("PATH", "/usr/bin:/bin").output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The data of requests as `run --dry-run` prints them, sorted.
fn data(requests: &str) -> Vec<Value> {
    let requests = requests.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut data: Vec<Value> =
        requests.flat_map(|request| request["data"].as_array().unwrap().clone()).collect();
    data.sort_by_key(|datum| datum.to_string());
    data
}

/// The value of a metric that has one datum of one value.
fn value(data: &[Value], metric: &str, dimensions: Value) -> f64 {
    let mut found =
        data.iter().filter(|datum| datum["metric"] == metric && datum["dimensions"] == dimensions);
    let datum = found.next().unwrap_or_else(|| panic!("no {metric} of {dimensions}"));
    assert_eq!((found.next(), &datum["counts"]), (None, &serde_json::json!([1.0])), "{metric}");
    datum["values"][0].as_f64().unwrap()
}
