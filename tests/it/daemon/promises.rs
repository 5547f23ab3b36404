//! What efsmon never does, as the kernel sees it: `strace` of a whole life.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use super::machine::{FS_A, FS_B, Machine};
use super::process::Efsmon;
use super::sum;
use crate::fake::cloudwatch::CloudWatch;

/// Every text that a system call named, with the call.
fn named(trace: &str) -> Vec<(&str, &str)> {
    trace.lines().flat_map(|call| call.split('"').skip(1).step_by(2).map(move |name| (name, call))).collect()
}

#[test]
fn it_touches_no_mount_and_no_other_process_and_starts_two_threads_at_most() {
    let strace = Command::new("strace").arg("-V").output();
    assert!(strace.is_ok(), "strace is missing: `make test` installs it");
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    // Mount points that are there, to be opened by who would.
    let mount_point = |name: &str| {
        let path = machine.path().join("mnt").join(name);
        fs::create_dir_all(path.join("folder")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (on_a, on_b) = (mount_point("a"), mount_point("b"));
    let a = machine.mount(&format!("{FS_A}.efs.eu-west-1.amazonaws.com:/"), &on_a);
    machine.mount_by_proxy(FS_B, &on_b, 20_049);
    // Another process, whose files would hang who reads them: nobody writes into a FIFO.
    for process in ["proc/1", "proc/4242"] {
        fs::create_dir_all(machine.path().join(process)).unwrap();
        for name in ["cmdline", "environ", "maps", "exe"] {
            let fifo = machine.path().join(process).join(name);
            rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        }
    }

    let trace = machine.path().join("trace");
    // By name, so that a resolver has something to do.
    let url = cloudwatch.url().replace("127.0.0.1", "localhost");
    let mut efsmon = Efsmon::on(&machine).with_aws(&url);
    // -D: efsmon itself is this process's child, and ends with it.
    let calls = "trace=%file,%network,%process";
    let strace = ["strace", "-D", "-f", "-q", "-s", "4096", "-e", calls, "-o", trace.to_str().unwrap()];
    efsmon.program.splice(0..0, strace.map(str::to_owned));
    let running = efsmon.start();
    machine.read(a, 3, (600, 12_672), 12_288);
    running.wait_for_a_sample();
    running.terminate();
    assert_eq!(sum(&cloudwatch.data(), "ReadBytes", &[("FileSystemId", FS_A)]), 13_272.0);

    // strace is a moment longer at it.
    let deadline = Instant::now() + Duration::from_secs(30);
    let trace = loop {
        let trace = fs::read_to_string(&trace).unwrap();
        if trace.contains("+++ exited with 0 +++") {
            break trace;
        }
        assert!(Instant::now() < deadline, "{trace}");
        std::thread::sleep(Duration::from_millis(20));
    };
    let named = named(&trace);
    let mountstats = named.iter().filter(|(name, _)| name.ends_with("/self/mountstats")).count();
    assert!(mountstats >= 3, "the trace is not of a life: {mountstats} samples");
    let procfs = machine.path().join("proc").to_str().unwrap().to_owned();
    for (name, call) in &named {
        let below = |mount: &str| {
            name.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        assert!(!below(&on_a) && !below(&on_b), "{call}");
        let in_proc = name.strip_prefix(procfs.as_str()).or(name.strip_prefix("/proc"));
        let process = in_proc.map(|rest| rest.trim_start_matches('/')).unwrap_or_default();
        let secret = ["/cmdline", "/environ", "/maps", "/exe"].iter().any(|file| process.ends_with(file));
        // libc looks for the main thread's stack in this process's own maps.
        assert!(!secret || process == "self/maps" && name.starts_with("/proc/"), "{call}");
        assert_ne!(*name, "169.254.169.254", "{call}");
    }
    let programs = trace.lines().filter(|call| call.contains("execve(")).count();
    assert_eq!(programs, 1, "it runs no other program");
    let threads = trace.lines().filter(|call| call.contains("clone(") || call.contains("clone3(")).count();
    assert!(threads <= 2, "{threads} threads besides the first");
}
