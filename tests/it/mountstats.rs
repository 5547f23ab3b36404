//! Every text of `tests/fixtures/mountstats` against the values written down beside it.

mod captures;
mod cost;
mod damage;
mod grammar;
mod procfs;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use efsmon::mountstats::{Operation, Parsed, Record, Statistics, parse, unescape};
use serde_json::{Value, json};

/// Fewer would mean that some were lost.
const FIXTURES: usize = 42;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mountstats")
}

/// Names of the fixtures: all texts but a mountinfo and the halves of a pair.
fn names() -> BTreeSet<String> {
    let files =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let texts = files.filter_map(|file| file.strip_suffix(".txt").map(str::to_owned));
    texts.filter(|name| ![".mountinfo", ".t0", ".t1"].iter().any(|other| name.ends_with(other))).collect()
}

fn text(name: &str) -> Vec<u8> {
    let path = folder().join(format!("{name}.txt"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn expected(name: &str) -> Value {
    let path = folder().join(format!("{name}.expected.json"));
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_fixture_reads_as_written_down() {
    let names = names();
    assert_eq!(names.len(), FIXTURES);
    for name in &names {
        check(name);
    }
}

#[test]
fn both_texts_of_every_pair_read_without_a_problem() {
    let files =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pairs: Vec<String> =
        files.filter(|file| file.ends_with(".t0.txt") || file.ends_with(".t1.txt")).collect();
    assert_eq!(pairs.len(), 14);
    for file in pairs {
        let text = text(file.strip_suffix(".txt").unwrap());
        let parsed = parse(&text);
        let device_lines =
            text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"device ")).count();
        assert_eq!((parsed.records.len(), parsed.problems.as_slice()), (device_lines, &[][..]), "{file}");
    }
}

fn check(name: &str) {
    let text = text(name);
    let expected = expected(name);
    let parsed = parse(&text);
    if expected["accept_any"] == true {
        return;
    }
    let mounts = expected["mounts"].as_array().unwrap();
    assert_eq!(parsed.records.len(), mounts.len(), "{name}: {:?}", parsed.problems);
    for (record, mount) in parsed.records.iter().zip(mounts) {
        assert_eq!(as_json(record), without_program(mount), "{name}");
    }
    assert_eq!(json!(parsed.problems.len()), expected["bad_mounts"], "{name}: {:?}", parsed.problems);
    for problem in &parsed.problems {
        assert!(problem.mount_point.is_some(), "{name}: {problem:?}");
    }
    assert_line_numbers(name, &text, &parsed);
}

/// The form that the expectations have. `program` (RPC program and version) is not read.
fn as_json(record: &Record) -> Value {
    let mount_point = unescape(record.mount_point);
    json!({
        "device": record.device.map(|device| bytes(&unescape(device))),
        "mountpoint": bytes(&mount_point),
        "mountpoint_raw": bytes(record.mount_point),
        "fstype": bytes(record.fs_type),
        "stats": record.statistics.as_ref().map(statistics_as_json),
    })
}

fn statistics_as_json(statistics: &Statistics) -> Value {
    let list =
        |text: Option<&[u8]>| text.map(|text| text.split(|b| *b == b',').map(bytes).collect::<Vec<_>>());
    let transports = statistics.transports.iter().map(|transport| {
        // The idle time may be negative.
        let numbers = transport.numbers.iter().enumerate();
        let numbers: Vec<Value> =
            numbers.map(|(i, n)| if i == 4 { json!(n.cast_signed()) } else { json!(n) }).collect();
        json!({"proto": bytes(transport.protocol), "values": numbers})
    });
    let operations: serde_json::Map<String, Value> =
        statistics.operations.iter().map(|op| (name_of(&op), json!(numbers_of(&op)))).collect();
    json!({
        "statvers": bytes(statistics.version),
        "opts": list(Some(statistics.options)),
        "age_s": statistics.age_seconds,
        "impl_id_raw": statistics.impl_id.map(bytes),
        "caps": list(statistics.caps),
        "nfsv4": list(statistics.nfsv4),
        "sec": list(statistics.sec),
        "events": statistics.events.as_slice(),
        "bytes": statistics.bytes.as_slice(),
        "fsc": statistics.fscache,
        "rpc_iostats_version": statistics.rpc_version.map(bytes),
        "xprts": transports.collect::<Vec<_>>(),
        "ops": operations,
        "ops_in_order": statistics.operations.iter().map(|op| name_of(&op)).collect::<Vec<_>>(),
    })
}

fn bytes(text: &[u8]) -> Value {
    match std::str::from_utf8(text) {
        Ok(text) => json!(text),
        Err(_) => json!({"hex": text.iter().map(|byte| format!("{byte:02x}")).collect::<String>()}),
    }
}

fn name_of(operation: &Operation) -> String {
    String::from_utf8(operation.name.to_vec()).unwrap()
}

fn numbers_of(operation: &Operation) -> Vec<u64> {
    let c = &operation.counters;
    let times = [c.queue_ms, c.rtt_ms, c.execute_ms].map(i64::cast_unsigned);
    let counts = [c.requests, c.transmissions, c.timeouts, c.bytes_sent, c.bytes_received];
    counts.into_iter().chain(times).chain(c.errors).collect()
}

/// The expectation without the program, and with lists cut to what this version knows.
fn without_program(mount: &Value) -> Value {
    let mut mount = mount.clone();
    let Some(stats) = mount["stats"].as_object_mut() else { return mount };
    stats.remove("program");
    let cut = |list: &mut Value, longest: usize| list.as_array_mut().unwrap().truncate(longest);
    cut(&mut stats["events"], 27);
    cut(&mut stats["bytes"], 8);
    stats["ops"].as_object_mut().unwrap().values_mut().for_each(|op| cut(op, 9));
    mount
}

fn assert_line_numbers(name: &str, text: &[u8], parsed: &Parsed) {
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    for record in &parsed.records {
        let line = lines[record.line - 1];
        let words = [b" mounted on ", record.mount_point, b" with fstype ", record.fs_type].concat();
        assert!(line.windows(words.len()).any(|window| window == words), "{name}: {record:?}");
    }
}
