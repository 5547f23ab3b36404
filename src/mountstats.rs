//! `/proc/self/mountstats`: bytes in, records and problems out. Pure; it never fails and never panics.
//!
//! The format is the kernel's: `fs/proc_namespace.c` (show_vfsstat), `fs/nfs/super.c` (nfs_show_stats),
//! `net/sunrpc/stats.c` (rpc_clnt_show_stats), `net/sunrpc/xprtsock.c` (xs_tcp_print_stats and its kin).

use std::borrow::Cow;

use arrayvec::ArrayVec;

use self::block::Block;
use self::device_line::DeviceLine;
use self::lines::Lines;
pub use self::operations::Operations;

mod block;
mod device_line;
mod lines;
mod numbers;
mod operations;

/// What a text holds: what was understood, and what was not.
#[derive(Debug, Default)]
pub struct Parsed<'a> {
    /// Every mount of the text that could be read whole, in its order; NFS or not.
    pub records: Vec<Record<'a>>,
    /// Every mount (or line) that could not.
    pub problems: Vec<Problem<'a>>,
    /// Numbers past the ones that this version knows, of lines that are otherwise understood.
    pub unknown_numbers: u64,
    /// Lines inside NFS records that this version does not know.
    pub unknown_lines: u64,
}

/// A mount, or a part of the text, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem<'a> {
    /// Line number in the text, from 1.
    pub line: usize,
    /// The mount point as printed, when it was read.
    pub mount_point: Option<&'a [u8]>,
    /// What was found and what was expected.
    pub reason: String,
}

/// One mount.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<'a> {
    /// Line number of its device line, from 1.
    pub line: usize,
    /// The device as printed, octal escapes kept (see [`unescape`]); `None` for `no device`.
    pub device: Option<&'a [u8]>,
    /// The mount point as printed, octal escapes kept.
    pub mount_point: &'a [u8],
    /// The file system type as printed: `nfs4` for NFSv4, `nfs` for NFSv2 and v3.
    pub fs_type: &'a [u8],
    /// The statistics; only NFS mounts have them.
    pub statistics: Option<Statistics<'a>>,
}

/// The block that follows an NFS mount's device line. Per superblock, but for the transports.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics<'a> {
    /// `1.0` (before Linux 3.4) or `1.1`.
    pub version: &'a [u8],
    /// The mount options, comma separated; without `addr=`.
    pub options: &'a [u8],
    /// Seconds since the superblock was made.
    pub age_seconds: u64,
    /// The server's own text, unescaped: hostile input.
    pub impl_id: Option<&'a [u8]>,
    /// The `caps:` line's text.
    pub caps: Option<&'a [u8]>,
    /// The `nfsv4:` line's text (bitmaps, `lease_time=`, `lease_expired=`).
    pub nfsv4: Option<&'a [u8]>,
    /// The `sec:` line's text.
    pub sec: Option<&'a [u8]>,
    /// The 27 event counters, fewer on old kernels (`include/linux/nfs_iostat.h`, nfs_stat_eventcounters).
    pub events: ArrayVec<u64, 27>,
    /// Six byte and two page counters (`include/linux/nfs_iostat.h`, nfs_stat_bytecounters).
    pub bytes: ArrayVec<u64, 8>,
    /// The five counters of `-o fsc` mounts, up to Linux 6.1.
    pub fscache: Option<[u64; 5]>,
    /// `1.0` (before Linux 5.3) or `1.1`; `None` when the RPC section is missing.
    pub rpc_version: Option<&'a [u8]>,
    /// One for each connection (`nconnect=`); shared by every superblock of the same server client.
    pub transports: Vec<Transport<'a>>,
    /// One for each operation that the kernel printed, in its order.
    pub operations: Operations<'a>,
}

/// One `xprt:` line.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport<'a> {
    /// `tcp`, `udp`, `rdma`, `local`, or a later kernel's.
    pub protocol: &'a [u8],
    /// Every number of the line, at most 27; a negative one (idle time) as its two's complement.
    pub numbers: ArrayVec<u64, 27>,
}

/// One line of the per-operation table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operation<'a> {
    /// As printed: `READ`, or a number for a procedure without a name.
    pub name: &'a [u8],
    pub counters: OpCounters,
}

/// The numbers of one operation since the superblock was made (`net/sunrpc/stats.c`, rpc_count_iostats_metrics).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct OpCounters {
    /// Finished requests, failed ones too.
    pub requests: u64,
    /// Times that a request was sent; below `requests` on kernels before 4.19.
    pub transmissions: u64,
    /// Major timeouts.
    pub timeouts: u64,
    /// Bytes sent, RPC and NFS headers and repetitions included.
    pub bytes_sent: u64,
    /// Bytes received, headers included.
    pub bytes_received: u64,
    /// Sum of milliseconds from a request's start to its last transmission; negative on kernels before 4.19.
    pub queue_ms: i64,
    /// Sum of milliseconds from the last transmission to the reply.
    pub rtt_ms: i64,
    /// Sum of milliseconds from a request's start to its end.
    pub execute_ms: i64,
    /// Requests that ended with an error; `None` before Linux 5.3.
    pub errors: Option<u64>,
}

impl<'a> Transport<'a> {
    /// Transmissions over this connection, of every mount that shares it; `None` for a transport not known.
    pub fn sends(&self) -> Option<u64> {
        self.number(5, 2)
    }

    /// Replies matched to a request.
    pub fn receives(&self) -> Option<u64> {
        self.number(6, 3)
    }

    /// Times that a connection was made, or tried; 0 for `udp`, which has none.
    pub fn connects(&self) -> Option<u64> {
        match self.protocol {
            b"udp" => Some(0),
            _ => self.number(2, 0),
        }
    }

    /// Replies whose request was given up before they came.
    pub fn unmatched(&self) -> Option<u64> {
        self.number(7, 4)
    }

    /// Sum over sends of the number of requests that waited for an RPC slot.
    pub fn backlog(&self) -> Option<u64> {
        self.number(9, 6)
    }

    /// Sum over sends of the number of requests that waited for their reply then; `None` where the kernel does not
    /// count it (`rdma`, and before Linux 3.4).
    pub fn pending(&self) -> Option<u64> {
        match self.protocol {
            b"rdma" => None,
            _ => self.number(12, 9),
        }
    }

    fn number(&self, stream: usize, udp: usize) -> Option<u64> {
        let index = match self.protocol {
            b"tcp" | b"rdma" => stream,
            b"local" => stream - 1,
            b"udp" => udp,
            _ => return None,
        };
        self.numbers.get(index).copied()
    }
}

/// Reads a whole text.
pub fn parse(text: &[u8]) -> Parsed<'_> {
    let mut parsed = Parsed::default();
    let mut lines = Lines::of(text);
    let mut before = Before::Record;
    while let Some(line) = lines.next() {
        let number = lines.number();
        if line.is_empty() {
            continue;
        }
        let device_line = match DeviceLine::read(line) {
            Some(Ok(device_line)) => device_line,
            Some(Err(reason)) => {
                // Its statistics are stepped over with care all the same: an impl_id in them may hold anything.
                if memchr::memmem::find(line, b" statvers=").is_some() {
                    let _ = Block::read(b"", &mut lines);
                }
                parsed.problems.push(Problem { line: number, mount_point: None, reason });
                before = Before::Problem;
                continue;
            }
            None => {
                before = stray(&mut parsed, number, line, before);
                continue;
            }
        };
        let mount_point = Some(device_line.mount_point);
        let statistics = match device_line.statistics {
            None => None,
            Some(version) => {
                let block = Block::read(version, &mut lines);
                parsed.unknown_numbers += block.unknown_numbers;
                parsed.unknown_lines += block.unknown_lines;
                match block.finish(number, lines.number(), &parsed.records) {
                    Ok(statistics) => Some(statistics),
                    Err((line, reason)) => {
                        parsed.problems.push(Problem { line, mount_point, reason });
                        before = Before::Problem;
                        continue;
                    }
                }
            }
        };
        before = Before::Record;
        parsed.records.push(Record {
            line: number,
            device: device_line.device,
            mount_point: device_line.mount_point,
            fs_type: device_line.fs_type,
            statistics,
        });
    }
    parsed
}

/// What stands before a line that belongs to no record.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Record,
    Problem,
}

/// Takes a line outside every record. A run of them is one problem, and none when it goes on after another one.
fn stray<'a>(parsed: &mut Parsed<'a>, number: usize, line: &'a [u8], before: Before) -> Before {
    if before == Before::Problem {
        return before;
    }
    // An empty line in the middle of a block: the record before is not whole, so it must not count as one.
    let cut = match line.first() {
        Some(b'\t') => parsed.records.pop_if(|record| record.statistics.is_some()),
        _ => None,
    };
    let (mount_point, reason) = match cut {
        Some(record) => {
            (Some(record.mount_point), "statistics go on after the empty line that ends them".to_owned())
        }
        None => (None, format!("expected `device ..`, found {}", shown(line))),
    };
    parsed.problems.push(Problem { line: number, mount_point, reason });
    Before::Problem
}

/// The start of something found, fit for a message.
fn shown(found: &[u8]) -> String {
    const LONGEST: usize = 160;
    match found.get(..LONGEST) {
        None => format!("`{}`", found.escape_ascii()),
        Some(start) => format!("`{}..`", start.escape_ascii()),
    }
}

/// A device or mount point with `\` and three octal digits turned back into the byte that they stand for.
pub fn unescape(printed: &[u8]) -> Cow<'_, [u8]> {
    if !printed.contains(&b'\\') {
        return Cow::Borrowed(printed);
    }
    let mut bytes = Vec::with_capacity(printed.len());
    let mut rest = printed;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] if first == b'\\' => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            _ => bytes.push(first),
        }
    }
    Cow::Owned(bytes)
}

impl std::fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(mount_point) = self.mount_point {
            write!(f, ", {}", mount_point.escape_ascii())?;
        }
        write!(f, ": {}", self.reason)
    }
}
