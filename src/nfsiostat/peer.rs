//! nfsiostat's own report: the same bytes as nfs-utils 2.8.3 to 3.1.1 print for the same texts, its oddities
//! too. They differ from each other in nothing that is printed here; 2.6.2 prints the same, but dies or
//! stops where a mount appears or the last one goes.
//!
//! The oddities, so that nobody mends them: the head line counts the last connection only; a remounted file
//! system gives negative rates; of two mounts on one mount point only the last is shown; time is the
//! interval that was asked for; the backlog is divided by it as well.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{View, cleaned, event, pages};
use crate::mountstats::{OpCounters, Parsed, Record, Statistics};

/// nfsiostat's options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub view: View,
    /// Most operations a second first.
    pub sort: bool,
    /// At most so many mounts, but at least one.
    pub limit: Option<usize>,
    /// MB (1,048,576 bytes) instead of kB (1,024 bytes); 3.1.1 and later.
    pub megabytes: bool,
}

/// The mount points among `arguments` that exist, as nfsiostat takes them: escaped as the kernel prints them,
/// NFS or not. None stands for all, so a name that does not exist is as good as no name.
pub fn chosen(parsed: &Parsed<'_>, arguments: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mounts = Mounts::of(parsed);
    arguments
        .iter()
        .map(|path| cleaned(path))
        .filter(|path| mounts.by_point.contains_key(&path[..]))
        .collect()
}

/// Writes one report: of the time since each mount, or of the `seconds` asked for since an earlier text.
/// `chosen` is what [`chosen`] gave for the first text.
pub fn write(
    out: &mut impl Write,
    new: &Parsed<'_>,
    earlier: Option<(&Parsed<'_>, f64)>,
    chosen: &[Vec<u8>],
    options: Options,
) -> io::Result<()> {
    let new = Mounts::of(new);
    let old = earlier.map(|(parsed, _)| Mounts::of(parsed));
    let points = match chosen {
        [] => new.in_order.clone(),
        chosen => chosen.iter().map(Vec::as_slice).collect(),
    };
    let mut reports: Vec<Report<'_>> = points
        .into_iter()
        .filter_map(|point| {
            let mount = new.nfs(point)?;
            let before = old.as_ref().and_then(|old| old.nfs(point));
            let before = before.filter(|before| before.record.fs_type == mount.record.fs_type);
            let seconds = match (earlier, mount.statistics.age_seconds) {
                (Some((_, seconds)), _) => seconds,
                (None, 0) => 1.0,
                (None, age) => age as f64,
            };
            Some(Report { mount, before: before.map(|before| before.statistics), seconds })
        })
        .collect();
    if reports.is_empty() {
        return writeln!(out, "No NFS mount points were found");
    }
    if options.sort {
        reports.sort_by(|a, b| b.sends_per_second().total_cmp(&a.sends_per_second()));
    }
    let shown = options.limit.map_or(usize::MAX, |limit| limit.max(1));
    reports.iter().take(shown).try_for_each(|report| report.write(out, options))
}

/// A text's mounts by mount point: the order of first mention, the content of the last.
struct Mounts<'a> {
    in_order: Vec<&'a [u8]>,
    by_point: HashMap<&'a [u8], &'a Record<'a>>,
}

/// An NFS mount.
#[derive(Clone, Copy)]
struct Nfs<'a> {
    record: &'a Record<'a>,
    statistics: &'a Statistics<'a>,
}

impl<'a> Mounts<'a> {
    fn of(parsed: &'a Parsed<'a>) -> Self {
        let mut mounts = Mounts { in_order: Vec::new(), by_point: HashMap::new() };
        for record in parsed.records.iter().filter(|record| record.device.is_some()) {
            if mounts.by_point.insert(record.mount_point, record).is_none() {
                mounts.in_order.push(record.mount_point);
            }
        }
        mounts
    }

    fn nfs(&self, point: &[u8]) -> Option<Nfs<'a>> {
        let record = *self.by_point.get(point)?;
        Some(Nfs { record, statistics: record.statistics.as_ref()? })
    }
}

/// One mount's part of a report.
struct Report<'a> {
    mount: Nfs<'a>,
    before: Option<&'a Statistics<'a>>,
    seconds: f64,
}

impl Report<'_> {
    fn write(&self, out: &mut impl Write, options: Options) -> io::Result<()> {
        let [sends, backlog] = self.difference(|statistics| Some(last_connection(statistics)));
        let backlog = match sends {
            0 => 0.0,
            sends => (backlog as f64 / sends as f64) / self.seconds,
        };
        out.write_all(b"\n")?;
        out.write_all(self.mount.record.device.unwrap_or_default())?;
        out.write_all(b" mounted on ")?;
        out.write_all(self.mount.record.mount_point)?;
        out.write_all(b":\n\n")?;
        writeln!(out, "{:>16}{:>16}", "ops/s", "rpc bklog")?;
        writeln!(out, "{:>16.3}{backlog:>16.3}\n", self.sends_per_second())?;
        let operations: &[&str] = match options.view {
            View::Files | View::Pages => &["READ", "WRITE"],
            View::Attributes => &["GETATTR", "ACCESS"],
            View::Directories => &["LOOKUP", "READDIR", "READDIRPLUS"],
        };
        operations.iter().try_for_each(|name| self.write_operation(out, name, options.megabytes))?;
        match options.view {
            View::Files => Ok(()),
            View::Attributes => self.write_attribute_cache(out),
            View::Directories => self.write_directories(out),
            View::Pages => self.write_page_cache(out),
        }
    }

    fn write_operation(&self, out: &mut impl Write, name: &str, megabytes: bool) -> io::Result<()> {
        let Some(now) = operation(self.mount.statistics, name) else { return Ok(()) };
        let before = self.before.and_then(|before| operation(before, name));
        let [requests, transmissions, sent, received, queue, rtt, execute] =
            less(numbers(now), before.map(numbers));
        let errors = match (now.errors, before) {
            (Some(now), None) => Some(i128::from(now)),
            (Some(now), Some(before)) => before.errors.map(|before| i128::from(now) - i128::from(before)),
            (None, _) => None,
        };
        let each = |total: f64| if requests == 0 { 0.0 } else { total / requests as f64 };
        let (data, unit) = match (sent + received) as f64 / 1024.0 {
            kilobytes if megabytes => (kilobytes / 1024.0, "MB"),
            kilobytes => (kilobytes, "kB"),
        };
        // Counts are rounded to a double before they are printed, too.
        let with_share = |count: i128| {
            let count = count as f64;
            format!("{count:.0} ({:.1}%)", each(count * 100.0))
        };

        write!(out, "{:<16}{:>8}", name.to_lowercase() + ":", "ops/s")?;
        write!(out, "{:>16}{:>16}{:>16}", format!("{unit}/s"), format!("{unit}/op"), "retrans")?;
        write!(out, "{:>16}{:>16}{:>16}", "avg RTT (ms)", "avg exe (ms)", "avg queue (ms)")?;
        writeln!(out, "{}", if errors.is_some() { format!("{:>16}", "errors") } else { String::new() })?;

        write!(out, "{:>24.3}{:>16.3}", requests as f64 / self.seconds, data / self.seconds)?;
        write!(out, "{:>16.3}{:>16}", each(data), with_share(transmissions - requests))?;
        write!(out, "{:>16.3}{:>16.3}", each(rtt as f64), each(execute as f64))?;
        write!(out, "{:>16.3}", each(queue as f64))?;
        writeln!(out, "{}", errors.map(|errors| format!("{:>16}", with_share(errors))).unwrap_or_default())
    }

    fn write_attribute_cache(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n{} VFS opens", self.event(event::OPEN))?;
        writeln!(out, "{} inoderevalidates (forced GETATTRs)", self.event(event::INODE_REVALIDATE))?;
        writeln!(out, "{} page cache invalidations", self.event(event::DATA_INVALIDATE))?;
        writeln!(out, "{} attribute cache invalidations", self.event(event::ATTRIBUTE_INVALIDATE))
    }

    fn write_directories(&self, out: &mut impl Write) -> io::Result<()> {
        let [lookups] = self.requests("LOOKUP");
        let [readdirs] = self.requests("READDIR");
        let [more_readdirs] = self.requests("READDIRPLUS");
        let (revalidates, vfs_lookups) = (self.event(event::DENTRY_REVALIDATE), self.event(event::LOOKUP));
        let (getdents, readdirs) = (self.event(event::GET_DENTS), readdirs + more_readdirs);
        writeln!(out, "\n{} open operations (pathname lookups)", self.event(event::OPEN))?;
        writeln!(out, "{revalidates} dentry revalidates and {vfs_lookups} vfs lookup requests")?;
        writeln!(out, "resulted in {lookups} LOOKUPs on the wire")?;
        writeln!(out, "{getdents} vfs getdents calls resulted in {readdirs} READDIRs on the wire")
    }

    fn write_page_cache(&self, out: &mut impl Write) -> io::Result<()> {
        // From statistics version 1.2 on the event that READ_PAGES counts is a readahead.
        let version = self.mount.statistics.version;
        let version = std::str::from_utf8(version).ok().and_then(|version| version.parse::<f64>().ok());
        let readpages = if version.is_some_and(|version| version >= 1.2) { "readahead" } else { "readpages" };
        let [pages_read] = self.difference(|statistics| Some([number(&statistics.bytes, pages::READ)]));
        let [pages_written] = self.difference(|statistics| Some([number(&statistics.bytes, pages::WRITTEN)]));
        let (read, write) = (self.event(event::READ_PAGE), self.event(event::WRITE_PAGE));

        writeln!(out, "\n{read} nfs_readpage() calls read {read} pages")?;
        write_pages(out, readpages, "read", self.event(event::READ_PAGES), pages_read - read)?;
        writeln!(out, "\n{} nfs_updatepage() calls", self.event(event::UPDATE_PAGE))?;
        writeln!(out, "{write} nfs_writepage() calls wrote {write} pages")?;
        write_pages(out, "writepages", "wrote", self.event(event::WRITE_PAGES), pages_written - write)?;
        match self.event(event::CONGESTION_WAIT) {
            0 => Ok(()),
            waits => writeln!(out, "\n{waits} congestion waits"),
        }
    }

    fn sends_per_second(&self) -> f64 {
        let [sends, _] = self.difference(|statistics| Some(last_connection(statistics)));
        sends as f64 / self.seconds
    }

    fn event(&self, index: usize) -> i128 {
        let [count] = self.difference(|statistics| Some([number(&statistics.events, index)]));
        count
    }

    fn requests(&self, name: &str) -> [i128; 1] {
        self.difference(|statistics| operation(statistics, name).map(|counters| [counters.requests]))
    }

    /// Now minus before, without a look at whether that makes sense; what was not there before counts whole.
    fn difference<const N: usize>(&self, numbers: impl Fn(&Statistics<'_>) -> Option<[u64; N]>) -> [i128; N] {
        let now = numbers(self.mount.statistics).unwrap_or([0; N]);
        less(now, self.before.and_then(numbers))
    }
}

fn less<const N: usize>(now: [u64; N], before: Option<[u64; N]>) -> [i128; N] {
    let mut before = before.unwrap_or([0; N]).into_iter();
    now.map(|now| i128::from(now) - i128::from(before.next().unwrap_or(0)))
}

fn write_pages(out: &mut impl Write, function: &str, verb: &str, calls: i128, pages: i128) -> io::Result<()> {
    writeln!(out, "{calls} nfs_{function}() calls {verb} {pages} pages")?;
    match calls {
        0 => writeln!(out),
        calls => writeln!(out, "({:.1} pages per call)", pages as f64 / calls as f64),
    }
}

/// Of two lines of one operation the last counts.
fn operation(statistics: &Statistics<'_>, name: &str) -> Option<OpCounters> {
    let found = statistics.operations.iter().rfind(|operation| operation.name == name.as_bytes());
    found.map(|operation| operation.counters)
}

/// Times as the kernel prints them: one below zero as 2^64 less its size.
fn numbers(counters: OpCounters) -> [u64; 7] {
    [
        counters.requests,
        counters.transmissions,
        counters.bytes_sent,
        counters.bytes_received,
        counters.queue_ms as u64,
        counters.rtt_ms as u64,
        counters.execute_ms as u64,
    ]
}

/// Sends and backlog of the last connection. For RDMA nfsiostat takes the number before the backlog.
fn last_connection(statistics: &Statistics<'_>) -> [u64; 2] {
    let Some(transport) = statistics.transports.last() else { return [0, 0] };
    let backlog = match transport.protocol {
        b"rdma" => transport.numbers.get(8).copied(),
        _ => transport.backlog(),
    };
    [transport.sends().unwrap_or(0), backlog.unwrap_or(0)]
}

fn number(numbers: &[u64], index: usize) -> u64 {
    numbers.get(index).copied().unwrap_or(0)
}
