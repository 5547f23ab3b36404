//! `efsmon mounts`: every NFS mount, what it is, and why it is published or not.

use std::collections::HashMap;
use std::io::{self, Write};

use clap::Args;
use serde_json::{Map, Value, json};

use super::config::ConfigFlags;
use crate::efs::{Answer, Lookups, MountName, helper_mounts, identify, shared_ports};
use crate::model::Moment;
use crate::mountinfo::DeviceNumber;
use crate::mountstats::{self, Parsed, Record, unescape};
use crate::names::{printable, raw_hex, safe_json, utf8};
use crate::sampler::join::{Seen, Superblock, join_texts};
use crate::source::View;

/// Show every NFS mount: which file system it is, or why it is not one of EFS
#[derive(Debug, Args)]
pub struct MountsArgs {
    #[command(flatten)]
    flags: ConfigFlags,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// One mount of the list.
struct Row<'a> {
    record: &'a Record<'a>,
    answer: Answer,
    number: Option<DeviceNumber>,
    /// The first mount of the same superblock, when that is another.
    same_as: Option<&'a [u8]>,
}

/// Lists the mounts.
///
/// # Errors
///
/// The mounts cannot be read.
pub fn run(args: &MountsArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let config = super::config::load(&args.flags)?.config;
    let (reading, efs_state) = super::replay::look(&config, &args.flags)?;
    let (helper, unreadable) = match efs_state {
        Ok(files) => (helper_mounts(&files), None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let configured = super::run::configured_mounts(&config);
    let parsed = mountstats::parse(&reading.mountstats);
    let (seen, _) = join_texts(&reading.mountinfo_before, &parsed, &reading.mountinfo_after);
    let (ports, targets) = (shared_ports(&seen), super::run::targets(&config));
    let lookups =
        Lookups { configured: &configured, helper: &helper, shared_ports: &ports, targets: targets.as_ref() };
    let rows = rows(&parsed, &seen, reading.moment, lookups);
    match args.json {
        true => writeln!(out, "{}", safe_json(&as_json(&rows, &parsed).to_string()))?,
        false => write_table(&rows, reading.view, out)?,
    }
    out.flush()?;
    let mut notes = io::stderr();
    for problem in parsed.problems.iter().filter(|_| !args.json) {
        let _ = writeln!(notes, "efsmon: mountstats {}", printable(problem.to_string().as_bytes()));
    }
    if let Some(error) = unreadable {
        let directory = config.source.efs_state.display();
        let _ = writeln!(
            notes,
            "efsmon: mounts made by the EFS mount helper have no name here: {directory}: {error}; run as root, or let \
             this user's group read it"
        );
    }
    Ok(())
}

fn rows<'a>(parsed: &'a Parsed<'a>, seen: &Seen<'a>, moment: Moment, lookups: Lookups<'_>) -> Vec<Row<'a>> {
    let mut superblocks: HashMap<usize, (&Superblock<'a>, &'a [u8])> = HashMap::new();
    for superblock in &seen.superblocks {
        let Some(first) = superblock.records.first() else { continue };
        for record in &superblock.records {
            superblocks.insert(record.line, (superblock, first.mount_point));
        }
    }
    let nfs = parsed.records.iter().filter_map(|record| Some((record, record.statistics.as_ref()?)));
    let row = |(record, statistics): (&'a Record<'a>, &mountstats::Statistics<'a>)| {
        let known = superblocks.get(&record.line);
        let mount = match known {
            Some((superblock, _)) => MountName::of(superblock, record, moment),
            None => MountName {
                device: record.device.unwrap_or_default(),
                mount_point: record.mount_point,
                options: statistics.options,
                ..MountName::default()
            },
        };
        Row {
            record,
            answer: identify(mount, lookups),
            number: known.map(|(superblock, _)| superblock.number),
            same_as: known.map(|(_, first)| *first).filter(|first| *first != record.mount_point),
        }
    };
    nfs.map(row).collect()
}

fn write_table(rows: &[Row<'_>], view: View, out: &mut impl Write) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "no NFS mounts{}", seen_from(view));
    }
    let name = |row: &Row<'_>| printable(&unescape(row.record.mount_point));
    let width = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).clamp(11, 60);
    writeln!(out, "{:width$}  {:20}  {:8}  NOTES", "MOUNT POINT", "FILE SYSTEM", "DEVICE")?;
    for row in rows {
        let number = row.number.map_or("-".to_owned(), |number| number.to_string());
        let (file_system, mut notes) = match &row.answer {
            Answer::Efs(identity) => {
                let access_point = identity.access_point.iter().map(ToString::to_string);
                let region = identity.region.clone();
                (identity.file_system.as_str(), access_point.chain(region).collect::<Vec<_>>())
            }
            Answer::S3Files => ("-", vec!["S3 Files: not published".to_owned()]),
            Answer::NotEfs(reason) => ("-", vec![format!("not published: {reason}")]),
            Answer::Pending(reason) => ("?", vec![format!("not published yet: {reason}")]),
        };
        if !matches!(row.answer, Answer::Efs(_)) {
            notes.push(printable(&unescape(row.record.device.unwrap_or_default())));
        }
        notes.extend(row.same_as.map(|first| format!("same as {}", printable(&unescape(first)))));
        let line = format!("{:width$}  {file_system:20}  {number:8}  {}", name(row), notes.join("; "));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn seen_from(view: View) -> &'static str {
    match view {
        View::Own => " in this process's mount namespace",
        View::Init => " in process 1's mount namespace",
    }
}

fn as_json(rows: &[Row<'_>], parsed: &Parsed<'_>) -> Value {
    let problem = |problem: &mountstats::Problem<'_>| {
        let mut object = Map::new();
        object.insert("line".into(), json!(problem.line));
        put_name(&mut object, "mount_point", problem.mount_point);
        object.insert("reason".into(), json!(problem.reason));
        Value::Object(object)
    };
    json!({
        "mounts": rows.iter().map(row_as_json).collect::<Vec<_>>(),
        "problems": parsed.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn row_as_json(row: &Row<'_>) -> Value {
    let mut object = Map::new();
    put_name(&mut object, "mount_point", Some(row.record.mount_point));
    put_name(&mut object, "device", row.record.device);
    put_name(&mut object, "fs_type", Some(row.record.fs_type));
    let (kind, identity, finding) = match &row.answer {
        Answer::Efs(identity) => ("efs", Some(identity), None),
        Answer::S3Files => ("s3files", None, None),
        Answer::NotEfs(reason) => ("nfs", None, Some(("not_efs", *reason))),
        Answer::Pending(reason) => ("unknown", None, Some(("unidentified", *reason))),
    };
    let findings = finding.map(|(code, text)| json!({"code": code, "severity": "info", "text": text}));
    object.insert("kind".into(), json!(kind));
    object.insert("file_system_id".into(), json!(identity.map(|identity| identity.file_system.as_str())));
    let access_point = identity.and_then(|identity| identity.access_point.as_ref());
    object.insert("access_point_id".into(), json!(access_point.map(|id| id.as_str())));
    object.insert("region".into(), json!(identity.and_then(|identity| identity.region.as_ref())));
    object.insert("mount_target".into(), Value::Null);
    object.insert("superblock".into(), json!(row.number.map(|number| number.to_string())));
    put_name(&mut object, "same_as", row.same_as);
    object.insert("findings".into(), json!(Vec::from_iter(findings)));
    Value::Object(object)
}

/// A name, and its bytes beside it when it is not UTF-8.
fn put_name(object: &mut Map<String, Value>, key: &str, printed: Option<&[u8]>) {
    let name = printed.map(unescape);
    object.insert(key.into(), json!(name.as_deref().map(utf8)));
    if let Some(hex) = name.as_deref().and_then(raw_hex) {
        object.insert(format!("{key}_raw_hex"), json!(hex));
    }
}
