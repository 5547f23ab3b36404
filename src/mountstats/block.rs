//! The statistics of one NFS mount: the lines that follow its device line.

use arrayvec::ArrayVec;

use super::lines::Lines;
use super::numbers::Numbers;
use super::operations::{self, Operations};
use super::{Operation, Record, Statistics, Transport};

/// Linux had 25 event counters before pNFS (`include/linux/nfs_iostat.h`).
const FEWEST_EVENTS: usize = 25;
/// The byte counters; the two page counters come after them.
const FEWEST_BYTES: usize = 6;

/// Line number and what is wrong there.
pub(super) type Fault = (usize, String);

/// What was found of a block so far.
#[derive(Default)]
pub(super) struct Block<'a> {
    pub unknown_numbers: u64,
    pub unknown_lines: u64,
    version: &'a [u8],
    options: Option<&'a [u8]>,
    age_seconds: Option<u64>,
    impl_id: Option<&'a [u8]>,
    caps: Option<&'a [u8]>,
    nfsv4: Option<&'a [u8]>,
    sec: Option<&'a [u8]>,
    events: Option<ArrayVec<u64, 27>>,
    bytes: Option<ArrayVec<u64, 8>>,
    fscache: Option<[u64; 5]>,
    rpc_version: Option<&'a [u8]>,
    transports: Vec<Transport<'a>>,
    /// Where the table starts in the text; `None` before the line `per-op statistics`.
    table: Option<usize>,
    operations: Operations<'a>,
    /// The first fault; the lines after it are still read, to find the end of the block.
    fault: Option<Fault>,
    /// The last line was one of the table.
    at_operation: bool,
    /// Ended by an empty line or another record, not by the end of the text.
    closed: bool,
}

impl<'a> Block<'a> {
    /// Reads up to the end of the block and never past it.
    pub fn read(version: &'a [u8], lines: &mut Lines<'a>) -> Self {
        let mut block = Block { version, ..Block::default() };
        loop {
            if let Some(table) = block.table {
                block.operations(table, lines);
            }
            if lines.at_record() {
                break;
            }
            let Some(line) = lines.next() else { return block };
            if line.is_empty() {
                break;
            }
            block.at_operation = false;
            if let Err(reason) = block.line(line, lines) {
                block.fault.get_or_insert((lines.number(), reason));
            }
        }
        block.closed = true;
        block
    }

    /// Takes the operations that come next; `table` is where the first of all starts.
    #[inline]
    fn operations(&mut self, table: usize, lines: &mut Lines<'a>) {
        let before = self.operations.count;
        while let Some((unknown, rest)) = operations::check(lines.rest()) {
            lines.skip_to(rest);
            self.unknown_numbers += unknown;
            self.operations.count += 1;
        }
        if self.operations.count > before {
            self.operations.table = lines.since(table);
            self.at_operation = true;
        }
    }

    fn line(&mut self, line: &'a [u8], lines: &mut Lines<'a>) -> Result<(), String> {
        if self.table.is_some()
            && let Some(fault) = operations::fault(line)
        {
            return Err(fault);
        }
        let (label, value) = match memchr::memchr(b':', line).and_then(|colon| line.split_at_checked(colon)) {
            Some((label, value)) => (label, value.strip_prefix(b":\t").unwrap_or_default()),
            None => (line, &b""[..]),
        };
        let unknown = &mut self.unknown_numbers;
        match label {
            b"\topts" => once(&mut self.options, "opts", value)?,
            b"\tage" => {
                let age = numbers::<1>(1, "age", value, unknown)?.first().copied().unwrap_or_default();
                once(&mut self.age_seconds, "age", age)?;
            }
            // Only where the kernel prints it does the server's text reach over line ends.
            b"\timpl_id" if self.caps.is_none() && self.events.is_none() && self.impl_id.is_none() => {
                self.impl_id = Some(lines.whole_impl_id(value));
            }
            b"\timpl_id" => return Err("`impl_id` comes twice or too late".to_owned()),
            b"\tcaps" => once(&mut self.caps, "caps", value)?,
            b"\tnfsv4" => once(&mut self.nfsv4, "nfsv4", value)?,
            b"\tsec" => once(&mut self.sec, "sec", value)?,
            b"\tevents" => {
                once(&mut self.events, "events", numbers(FEWEST_EVENTS, "events", value, unknown)?)?
            }
            b"\tbytes" => once(&mut self.bytes, "bytes", numbers(FEWEST_BYTES, "bytes", value, unknown)?)?,
            b"\tfsc" => {
                let fscache = numbers(5, "fsc", value, unknown)?.into_inner().unwrap_or_default();
                once(&mut self.fscache, "fsc", fscache)?;
            }
            b"\tRPC iostats version" => {
                let version = line.strip_prefix(b"\tRPC iostats version: ").unwrap_or_default();
                let version = version.split(|byte| *byte == b' ').next().unwrap_or_default();
                once(&mut self.rpc_version, "RPC iostats version", version)?;
            }
            b"\txprt" => self.transports.push(transport(value, unknown)?),
            b"\tper-op statistics" => {
                once(&mut self.table, "per-op statistics", lines.position())?;
            }
            _ => self.unknown_lines += 1,
        }
        Ok(())
    }

    /// The statistics when they are whole. `device_line` and `last_line` are line numbers; `others` are the records
    /// of the same text.
    pub fn finish(
        self,
        device_line: usize,
        last_line: usize,
        others: &[Record<'a>],
    ) -> Result<Statistics<'a>, Fault> {
        if !self.closed && !self.ends_like_a_table(others) {
            return Err((last_line, "the text ends in the middle of this mount's statistics".to_owned()));
        }
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let missing = |label: &str| (device_line, format!("the statistics have no `{label}` line"));
        if self.rpc_version.is_some() && self.table.is_none() {
            return Err(missing("per-op statistics"));
        }
        Ok(Statistics {
            version: self.version,
            options: self.options.ok_or_else(|| missing("opts:"))?,
            age_seconds: self.age_seconds.ok_or_else(|| missing("age:"))?,
            impl_id: self.impl_id,
            caps: self.caps,
            nfsv4: self.nfsv4,
            sec: self.sec,
            events: self.events.ok_or_else(|| missing("events:"))?,
            bytes: self.bytes.ok_or_else(|| missing("bytes:"))?,
            fscache: self.fscache,
            rpc_version: self.rpc_version,
            transports: self.transports,
            operations: self.operations,
        })
    }

    /// Whether a block that the end of the text ends may still be whole: someone may have cut the empty line, even
    /// the last LF, but then the last line is an operation like the first, and no other mount's table goes on.
    fn ends_like_a_table(&self, others: &[Record<'a>]) -> bool {
        let has_errors = |operation: Operation| operation.counters.errors.is_some();
        let as_wide = self.operations.iter().next().map(has_errors)
            == self.operations.iter().next_back().map(has_errors);
        let goes_on = |other: &Statistics| {
            let same = self.operations.iter().zip(&other.operations).all(|(a, b)| a.name == b.name);
            same && other.operations.len() > self.operations.len()
        };
        self.at_operation
            && as_wide
            && !others.iter().filter_map(|other| other.statistics.as_ref()).any(goes_on)
    }
}

/// Puts a value where there is none: a label that comes twice shows that the device line between is damaged.
fn once<T>(slot: &mut Option<T>, label: &str, value: T) -> Result<(), String> {
    match slot {
        Some(_) => Err(format!("`{label}` comes twice in one mount's statistics")),
        None => {
            *slot = Some(value);
            Ok(())
        }
    }
}

/// Reads a list that has grown before and may grow again: at most `N` numbers, the others are counted.
fn numbers<const N: usize>(
    fewest: usize,
    label: &str,
    value: &[u8],
    unknown: &mut u64,
) -> Result<ArrayVec<u64, N>, String> {
    let mut left = Numbers(value);
    let mut values = [0; N];
    let count = left.fill(&mut values).map_err(|reason| format!("{label}: {reason}"))?;
    if count < fewest {
        return Err(format!("{label}: expected at least {fewest} numbers, found {count}"));
    }
    *unknown += left.skip_line();
    Ok(values.into_iter().take(count).collect())
}

/// Reads an `xprt:` value. One of a kind that this version does not know may hold anything after its numbers.
fn transport<'a>(value: &'a [u8], unknown: &mut u64) -> Result<Transport<'a>, String> {
    let protocol = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    let known = match protocol {
        b"tcp" => Some(13),
        b"udp" => Some(10),
        b"local" => Some(12),
        b"rdma" => Some(27),
        _ => None,
    };
    let mut left = Numbers(value.get(protocol.len()..).unwrap_or_default());
    let mut numbers = ArrayVec::new();
    while !numbers.is_full() {
        match left.next_signed() {
            Ok(Some(number)) => numbers.push(number),
            Ok(None) => break,
            Err(_) if known.is_none_or(|known| numbers.len() >= known) => break,
            Err(reason) => return Err(format!("xprt: {reason}")),
        }
    }
    let more = known.map_or(0, |known| numbers.len().saturating_sub(known));
    *unknown += more as u64 + left.skip_line();
    Ok(Transport { protocol, numbers })
}
