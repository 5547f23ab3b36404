//! mountstats with other names: written anew, in the kernel's form, from what was understood.

use std::fmt::Write;

use super::mountinfo::fs_type;
use super::names::Names;
use super::options;
use crate::mountstats::{self, Operation, Record, Statistics, Transport};

/// Stands for a part that cannot be read: no more can this.
const UNREADABLE: &str = "left out: this part could not be read\n\n";
/// Stands for what the server says of itself.
const SERVER: &str = "name='redacted',domain='redacted',date='0,0'";

/// The text with its names replaced.
pub(super) fn redacted(text: &[u8], names: &mut Names) -> Vec<u8> {
    let parsed = mountstats::parse(text);
    let mut problems = parsed.problems.iter().peekable();
    let mut redacted = String::with_capacity(text.len());
    for record in &parsed.records {
        while problems.next_if(|problem| problem.line < record.line).is_some() {
            redacted += UNREADABLE;
        }
        redacted += &printed(record, names);
    }
    redacted.extend(problems.map(|_| UNREADABLE));
    if redacted.is_empty() {
        redacted.push('\n');
    }
    redacted.into_bytes()
}

fn printed(record: &Record<'_>, names: &mut Names) -> String {
    let fs_type = fs_type(record.fs_type);
    let device = match (record.device, &record.statistics) {
        (None, _) => "no device".to_owned(),
        (Some(_), None) => "device none".to_owned(),
        (Some(device), Some(_)) => format!("device {}", names.printed_device(device)),
    };
    let mount_point = names.printed_path(record.mount_point);
    let device_line = format!("{device} mounted on {mount_point} with fstype {fs_type}");
    match &record.statistics {
        None => format!("{device_line}\n"),
        Some(statistics) => {
            let version = version(statistics.version);
            format!("{device_line} statvers={version}\n{}\n", block(statistics, fs_type, names))
        }
    }
}

fn block(statistics: &Statistics<'_>, fs_type: &str, names: &mut Names) -> String {
    let mut lines: Vec<(&str, String)> = vec![
        ("opts", options::redacted(statistics.options, names)),
        ("age", statistics.age_seconds.to_string()),
    ];
    lines.extend(statistics.impl_id.map(|_| ("impl_id", SERVER.to_owned())));
    for (label, list) in [("caps", statistics.caps), ("nfsv4", statistics.nfsv4), ("sec", statistics.sec)] {
        lines.extend(list.map(|list| (label, options::redacted(list, names))));
    }
    lines.push(("events", numbers(&statistics.events) + " "));
    lines.push(("bytes", numbers(&statistics.bytes) + " "));
    lines.extend(statistics.fscache.map(|counters| ("fsc", numbers(&counters) + " ")));
    let mut block: String = lines.iter().map(|(label, value)| format!("\t{label}:\t{value}\n")).collect();
    if let Some(rpc_version) = statistics.rpc_version {
        let program = if fs_type == "nfs" { 3 } else { 4 };
        let rpc_version = version(rpc_version);
        block += &format!("\tRPC iostats version: {rpc_version}  p/v: 100003/{program} (nfs)\n");
        block.extend(statistics.transports.iter().filter_map(transport));
        block += "\tper-op statistics\n";
        block.extend(statistics.operations.iter().filter_map(|operation| self::operation(&operation)));
    }
    block
}

fn transport(transport: &Transport<'_>) -> Option<String> {
    let protocol = ["tcp", "udp", "local", "rdma"].into_iter();
    let protocol = { protocol }.find(|known| known.as_bytes() == transport.protocol)?;
    // An idle time may be negative.
    let signed: Vec<i64> = transport.numbers.iter().map(|number| number.cast_signed()).collect();
    Some(format!("\txprt:\t{protocol} {}\n", numbers(&signed)))
}

fn operation(operation: &Operation<'_>) -> Option<String> {
    let is_kernels = |byte: &u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_');
    let name = str::from_utf8(operation.name).ok()?;
    let is_name = (1..=32).contains(&name.len()) && name.as_bytes().iter().all(is_kernels);
    let counters = is_name.then_some(operation.counters)?;
    let mut values = vec![
        counters.requests,
        counters.transmissions,
        counters.timeouts,
        counters.bytes_sent,
        counters.bytes_received,
        counters.queue_ms.cast_unsigned(),
        counters.rtt_ms.cast_unsigned(),
        counters.execute_ms.cast_unsigned(),
    ];
    values.extend(counters.errors);
    Some(format!("\t{name:>12}: {}\n", numbers(&values)))
}

fn numbers(numbers: &[impl std::fmt::Display]) -> String {
    let mut text = String::new();
    for (index, number) in numbers.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{}{number}", if index == 0 { "" } else { " " });
    }
    text
}

fn version(printed: &[u8]) -> &str {
    let is_version =
        (1..=8).contains(&printed.len()) && printed.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    str::from_utf8(printed).ok().filter(|_| is_version).unwrap_or("1.1")
}
