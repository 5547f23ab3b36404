//! Processes, by `/proc/PID/stat`, `comm` and `status` (proc_pid_stat(5), proc_pid_status(5)) and nothing else: never
//! their command line, environment, memory or program.

use std::path::PathBuf;

use procfs::process::{Stat, Status};
use procfs::{FromBufRead, FromRead, page_size, ticks_per_second};

use super::{Opened, Source};

/// A process as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// In the PID namespace of the procfs that is read.
    pub pid: u32,
    /// The name of its program, at most 15 bytes.
    pub comm: String,
    /// Clock ticks after boot. With `pid` it is this process and no later one.
    pub started: u64,
    /// Milliseconds of CPU that all its threads have used, in user mode and in the kernel.
    pub cpu_ms: u64,
    /// Resident memory, bytes.
    pub memory: u64,
}

/// Most processes that are looked at in search of one.
const PROCESSES: usize = 32_768;
/// More than the kernel prints of any.
const TEXT_BYTES: u64 = 16 * 1024;

impl Source {
    /// A process; `None` when it is gone or may not be looked at.
    pub fn process(&self, pid: u32) -> Option<Process> {
        let stat = Stat::from_read(self.of_process(pid, "stat")?.as_slice()).ok()?;
        let ticks = stat.utime.checked_add(stat.stime)?;
        Some(Process {
            pid,
            comm: stat.comm,
            started: stat.starttime,
            cpu_ms: ticks.checked_mul(1000)? / ticks_per_second().max(1),
            memory: stat.rss.checked_mul(page_size())?,
        })
    }

    /// The number that a process has in the innermost PID namespace that it is in: its own name for itself.
    pub fn innermost_pid(&self, pid: u32) -> Option<u32> {
        let status = Status::from_buf_read(self.of_process(pid, "status")?.as_slice()).ok()?;
        status.nspid?.last().copied()?.try_into().ok()
    }

    /// The processes whose program has one of these names.
    pub fn processes_named(&self, names: &[&str]) -> Vec<u32> {
        let Ok(entries) = std::fs::read_dir(&self.roots.procfs) else { return Vec::new() };
        let pids = entries.take(PROCESSES).filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let named = |pid: &u32| {
            let comm = self.of_process(*pid, "comm").unwrap_or_default();
            names.iter().any(|name| comm.strip_suffix(b"\n") == Some(name.as_bytes()))
        };
        pids.filter(named).collect()
    }

    fn of_process(&self, pid: u32, file: &str) -> Option<Vec<u8>> {
        let path: PathBuf = [pid.to_string().as_str(), file].iter().collect();
        Opened::open(self.roots.procfs.join(path)).ok()?.read_at_most(TEXT_BYTES)
    }
}
