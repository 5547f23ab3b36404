//! What the released program costs a host: its size, memory and threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::machine::Machine;
use super::process::Efsmon;
use super::publishing::leave_behind;
use crate::fake::cloudwatch::CloudWatch;
use crate::fake::tls::Certificate;

const BINARY: u64 = 10_000_000;
const RESIDENT_KIB: u64 = 10 * 1024;
const RESIDENT_KIB_A_MOUNT: u64 = 20;
/// Longer than a minute: one is closed and written.
const LIFE: Duration = Duration::from_secs(65);

/// Where the programs are as they are released; built if they are not there yet.
fn released() -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_efsmon")).ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--quiet", "--bins", "--target-dir"]).arg(target);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("release")
}

/// A line of `/proc/PID/status`, without its unit.
fn of_process(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[derive(Debug)]
struct Footprint {
    resident_kib: u64,
    fewest_threads: u64,
    most_threads: u64,
}

/// A life over TLS with the system's certificates, with a sample each second and a backlog to send.
fn footprint(program: &Path, mounts: usize) -> Footprint {
    let certificate = Certificate::new();
    let cloudwatch = CloudWatch::start_tls(&certificate);
    let machine = Machine::new();
    machine.mount_many(mounts);
    leave_behind(&machine, 3, 600);
    let mut authorities = fs::read("/etc/ssl/certs/ca-certificates.crt").unwrap_or_default();
    authorities.extend(fs::read(certificate.authority()).unwrap());
    let bundle = machine.path().join("authorities.pem");
    fs::write(&bundle, authorities).unwrap();

    let mut efsmon =
        Efsmon::on(&machine).with_aws(&cloudwatch.url()).set("SSL_CERT_FILE", bundle.to_str().unwrap());
    efsmon.program = vec![program.to_str().unwrap().to_owned()];
    let running = efsmon.start_with(efsmon.command(&[]));
    let mut footprint = Footprint { resident_kib: 0, fewest_threads: u64::MAX, most_threads: 0 };
    let end = Instant::now() + LIFE;
    let mut next_work = Instant::now();
    while Instant::now() < end {
        if Instant::now() >= next_work {
            machine.work();
            next_work += Duration::from_secs(1);
        }
        let threads = of_process(running.pid(), "Threads");
        footprint.fewest_threads = footprint.fewest_threads.min(threads);
        footprint.most_threads = footprint.most_threads.max(threads);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(cloudwatch.puts().len() >= 3, "the backlog was sent");
    footprint.resident_kib = of_process(running.pid(), "VmHWM");
    running.terminate();
    footprint
}

#[test]
fn the_released_program_is_small_in_size_memory_and_threads() {
    let released = released();
    let sizes = ["efsmon", "efsmond"].map(|name| fs::metadata(released.join(name)).unwrap().len());
    assert!(sizes.iter().all(|size| *size <= BINARY), "{sizes:?} bytes");
    let program = released.join("efsmond");
    let (few, many) = std::thread::scope(|scope| {
        let few = scope.spawn(|| footprint(&program, 10));
        let many = scope.spawn(|| footprint(&program, 1000));
        (few.join().unwrap(), many.join().unwrap())
    });
    println!("{sizes:?} bytes, with 10 mounts {few:?}, with 1,000 mounts {many:?}");
    assert!(few.resident_kib <= RESIDENT_KIB, "{few:?}");
    let more = many.resident_kib.saturating_sub(few.resident_kib);
    assert!(more <= RESIDENT_KIB_A_MOUNT * 990, "{many:?}");
    for footprint in [few, many] {
        assert_eq!(footprint.fewest_threads, 1, "at rest");
        assert!(footprint.most_threads <= 3, "{footprint:?}");
    }
}
