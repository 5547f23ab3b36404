//! The report as comma-separated values (RFC 4180, lines end with LF): a line for each mount and operation.
//! Every record is one line: control characters in names are escaped (see [`printable`]).

use std::io::{self, Write};

use super::activity::Activity;
use crate::mountstats::unescape;
use crate::names::printable;

/// The names of the columns. Columns may be added at the end.
pub const HEADER: &str = "time,mount_point,device,file_system_id,same_as,since,interval_seconds,operation,\
    requests,transmissions,timeouts,bytes_sent,bytes_received,queue_ms,rtt_ms,execute_ms,errors";

/// Writes the lines of one report; `time` is when it was taken (RFC 3339), empty for a file.
pub fn write(out: &mut impl Write, activities: &[Activity<'_>], time: &str) -> io::Result<()> {
    for activity in activities {
        let mount_point = field(&unescape(activity.mount.mount_point));
        let device = activity.mount.device.map(|device| field(&unescape(device))).unwrap_or_default();
        let same_as = activity.same_as.map(|path| field(&unescape(path))).unwrap_or_default();
        let file_system = activity.file_system_id.as_ref().map(|id| id.as_str()).unwrap_or_default();
        for operation in &activity.operations {
            let (name, c) = (field(operation.name), &operation.counters);
            write!(out, "{time},{mount_point},{device},{file_system},{same_as}")?;
            write!(out, ",{},{},{name}", activity.since.name(), activity.seconds)?;
            write!(out, ",{},{},{}", c.requests, c.transmissions, c.timeouts)?;
            write!(out, ",{},{}", c.bytes_sent, c.bytes_received)?;
            write!(out, ",{},{},{}", c.queue_ms, c.rtt_ms, c.execute_ms)?;
            writeln!(out, ",{}", c.errors.map(|errors| errors.to_string()).unwrap_or_default())?;
        }
    }
    Ok(())
}

fn field(name: &[u8]) -> String {
    let name = printable(name);
    match name.contains([',', '"']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name,
    }
}
