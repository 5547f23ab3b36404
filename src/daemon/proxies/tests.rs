use std::cell::Cell;
use std::fs;

use super::*;
use crate::efs::helper_mounts;
use crate::source::{Namespace, Roots, StateFile};

const ONE: &str = "fs-01234567";
const TWO: &str = "fs-89abcdef";

/// A folder as `/proc`, and what the mount helper says.
struct Machine {
    procfs: tempfile::TempDir,
    source: Source,
    proxies: Proxies,
    /// Port, number of the process, file system.
    state: Vec<(u16, u32, &'static str)>,
    /// How often the helper's state was read.
    asked: Cell<usize>,
}

/// What a process shows: its name, hundredths of a second of CPU, pages of memory, its start.
type Shown<'a> = (&'a str, u64, u64, u64);

impl Machine {
    fn new(state: &[(u16, u32, &'static str)]) -> Machine {
        let procfs = tempfile::tempdir().unwrap();
        let root = procfs.path().to_owned();
        let roots = Roots { procfs: root.clone(), sysfs: root.join("sys"), efs_state: root.join("efs") };
        let source = Source::new(roots, Namespace::Own);
        let state = state.to_vec();
        Machine { procfs, source, proxies: Proxies::default(), state, asked: Cell::new(0) }
    }

    /// A process and its numbers in the PID namespaces that it is in, the outermost first.
    fn process(&self, pids: &[u32], (comm, cpu, pages, started): Shown<'_>) {
        let pid = pids[0];
        let directory = self.procfs.path().join(pid.to_string());
        fs::create_dir_all(&directory).unwrap();
        let (user, system) = (cpu - cpu / 3, cpu / 3);
        let stat = format!(
            "{pid} ({comm}) S 1 {pid} {pid} 0 -1 4194304 100 0 0 0 {user} {system} 9000 9000 20 0 3 0 {started} 31334400 \
             {pages} 18446744073709551615 1 1 0 0 0 0 0 4096 16386 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        let own = pids.iter().map(u32::to_string).collect::<Vec<_>>().join("\t");
        // As Linux 6.18 prints it, the lines in between left out.
        let status = format!(
            "Name:\t{comm}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{pid}\nNgid:\t0\nPid:\t{pid}\nPPid:\t1\n\
             TracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t256\nGroups:\t \nNStgid:\t{own}\n\
             NSpid:\t{own}\nNSpgid:\t{own}\nNSsid:\t{own}\nKthread:\t0\nVmRSS:\t    1732 kB\nThreads:\t3\n\
             SigQ:\t0/96364\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\n\
             SigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\nCapInh:\t0000000000000000\n\
             CapPrm:\t000001fffeffffff\nCapEff:\t000001fffeffffff\nSeccomp_filters:\t0\n"
        );
        fs::write(directory.join("stat"), stat).unwrap();
        fs::write(directory.join("status"), status).unwrap();
        fs::write(directory.join("comm"), format!("{comm}\n")).unwrap();
    }

    fn ends(&self, pid: u32) {
        fs::remove_dir_all(self.procfs.path().join(pid.to_string())).unwrap();
    }

    /// A reading of mounts: port, file system, age. What is known of the file systems: ms of CPU, pages of memory.
    fn observe(&mut self, now: u64, mounts: &[(u16, &str, u64)]) -> Vec<(String, u64, u64)> {
        let mount = |(port, file_system, age): &(u16, &str, u64)| ProxiedMount {
            number: DeviceNumber { major: 0, minor: u32::from(*port) % 100 },
            file_system: file_system.parse().unwrap(),
            port: *port,
            port_is_shared: mounts.iter().filter(|(other, ..)| other == port).count() > 1,
            mount_points: vec![format!("/mnt/{port}")],
            age: Duration::from_secs(*age),
        };
        let mounts: Vec<ProxiedMount> = mounts.iter().map(mount).collect();
        let state = || {
            self.asked.set(self.asked.get() + 1);
            let file = |(port, pid, id): &(u16, u32, &'static str)| StateFile {
                name: format!("{id}.mnt.{port}.{port}"),
                text: Some(format!(r#"{{"pid": {pid}, "mountpoint": "/mnt/{port}"}}"#).into_bytes()),
            };
            helper_mounts(&self.state.iter().map(file).collect::<Vec<_>>())
        };
        let used = self.proxies.observe(&self.source, Duration::from_secs(now), &mounts, state);
        let pages = |bytes: u64| bytes / procfs::page_size();
        used.into_iter().map(|(id, used)| (id.to_string(), used.cpu_ms, pages(used.memory))).collect()
    }
}

fn known(file_system: &str, cpu_ms: u64, pages: u64) -> Vec<(String, u64, u64)> {
    vec![(file_system.to_owned(), cpu_ms, pages)]
}

#[test]
fn the_proxies_of_a_file_system_are_added_up_from_the_second_reading_on() {
    let mut machine = Machine::new(&[(20_100, 500, ONE), (20_101, 501, ONE), (20_102, 502, TWO)]);
    let mounts = [(20_100, ONE, 900), (20_101, ONE, 900), (20_102, TWO, 900)];
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    machine.process(&[501], ("efs-proxy", 2000, 3000, 78));
    machine.process(&[502], ("stunnel5", 5000, 1500, 79));
    assert_eq!(machine.observe(1000, &mounts), []);
    machine.process(&[500], ("efs-proxy", 1250, 2100, 77));
    machine.process(&[501], ("efs-proxy", 2007, 3000, 78));
    let expected = vec![(ONE.to_owned(), 2570, 5100), (TWO.to_owned(), 0, 1500)];
    assert_eq!(machine.observe(1010, &mounts), expected);
    assert_eq!(machine.asked.get(), 1, "their processes are known");
}

#[test]
fn a_proxy_that_came_with_its_mount_has_used_all_for_it() {
    let mut machine = Machine::new(&[(20_100, 500, ONE)]);
    assert_eq!(machine.observe(1000, &[]), []);
    machine.process(&[500], ("efs-proxy", 30, 2000, 77));
    assert_eq!(machine.observe(1010, &[(20_100, ONE, 7)]), known(ONE, 300, 2000));
    machine.process(&[500], ("efs-proxy", 35, 2000, 77));
    assert_eq!(machine.observe(1020, &[(20_100, ONE, 17)]), known(ONE, 50, 2000));
}

#[test]
fn nothing_is_known_of_a_file_system_of_which_one_proxy_is_not() {
    let mut machine = Machine::new(&[(20_100, 500, ONE)]);
    let mounts = [(20_100, ONE, 900), (20_101, ONE, 900)];
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    for now in [1000, 1010, 1020] {
        assert_eq!(machine.observe(now, &mounts), []);
    }
    // The one alone is known.
    assert_eq!(machine.observe(1030, &mounts[..1]), known(ONE, 0, 2000));
}

#[test]
fn a_number_alone_is_not_believed() {
    let mut machine = Machine::new(&[(20_100, 500, ONE)]);
    let mounts = [(20_100, ONE, 900)];
    machine.process(&[500], ("efs-proxy-log", 1000, 2000, 77));
    assert_eq!((machine.observe(1000, &mounts), machine.observe(1010, &mounts)), (vec![], vec![]));
    // Another process has the number: one that started later, though it is a proxy.
    let mut machine = Machine::new(&[(20_100, 500, ONE)]);
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    machine.observe(1000, &mounts);
    assert_eq!(machine.observe(1010, &mounts), known(ONE, 0, 2000));
    machine.process(&[500], ("efs-proxy", 1001, 2000, 9999));
    assert_eq!(machine.observe(1020, &mounts), []);
    machine.process(&[500], ("efs-proxy", 1003, 2000, 9999));
    assert_eq!(
        machine.observe(1030, &mounts),
        known(ONE, 20, 2000),
        "the state still names it: started anew"
    );
    machine.ends(500);
    assert_eq!(machine.observe(1040, &mounts), []);
}

#[test]
fn a_proxy_that_was_started_anew_is_found_by_the_state() {
    let mut machine = Machine::new(&[(20_100, 500, ONE)]);
    let mounts = [(20_100, ONE, 900)];
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    machine.observe(1000, &mounts);
    machine.ends(500);
    (machine.state[0].1, machine.asked) = (640, Cell::new(0));
    machine.process(&[640], ("efs-proxy", 4, 1800, 9999));
    assert_eq!(machine.observe(1010, &mounts), []);
    machine.process(&[640], ("efs-proxy", 9, 1800, 9999));
    assert_eq!((machine.observe(1020, &mounts), machine.asked.get()), (known(ONE, 50, 1800), 1));
}

#[test]
fn a_pods_number_is_looked_for_among_the_proxies_and_at_most_once_a_minute() {
    // In the pod it is 17, which is something else here; and so is 18, which is a proxy's of another pod's number.
    let mut machine = Machine::new(&[(20_100, 17, ONE), (20_101, 18, TWO)]);
    let mounts = [(20_100, ONE, 900), (20_101, TWO, 900)];
    machine.process(&[17], ("kworker/0:1", 0, 0, 5));
    machine.process(&[18, 3], ("efs-proxy", 777, 1, 6));
    machine.process(&[4000, 17], ("efs-proxy", 1000, 2000, 77));
    machine.process(&[4001, 18], ("bash", 1000, 2000, 77));
    machine.observe(1000, &mounts);
    machine.process(&[4000, 17], ("efs-proxy", 1001, 2000, 77));
    assert_eq!(machine.observe(1010, &mounts), known(ONE, 10, 2000));
    // The other one comes; it is found when a minute is over.
    machine.process(&[4002, 18], ("efs-proxy", 50, 900, 88));
    for now in (1020..1060).step_by(10) {
        assert_eq!(machine.observe(now, &mounts), known(ONE, 0, 2000), "{now}");
    }
    assert_eq!(machine.asked.get(), 1);
    machine.observe(1060, &mounts);
    let both = vec![(ONE.to_owned(), 0, 2000), (TWO.to_owned(), 0, 900)];
    assert_eq!(machine.observe(1070, &mounts), both);
    assert_eq!(machine.asked.get(), 2);
}

#[test]
fn a_mount_that_comes_is_no_reason_to_look_at_all_processes_before_a_minute_is_over() {
    let mut machine = Machine::new(&[(20_100, 17, ONE), (20_101, 18, TWO)]);
    let mounts = [(20_100, ONE, 900), (20_101, TWO, 900)];
    machine.process(&[4001, 18], ("efs-proxy", 50, 900, 88));
    machine.observe(1000, &mounts[..1]);
    assert_eq!((machine.observe(1010, &mounts), machine.asked.get()), (vec![], 2));
    assert_eq!(machine.observe(1020, &mounts), []);
    machine.observe(1070, &mounts);
    assert_eq!(machine.observe(1080, &mounts), known(TWO, 0, 900));
}

#[test]
fn a_later_mount_with_the_number_of_an_earlier_one_has_its_own_proxy() {
    let mut machine = Machine::new(&[(20_100, 500, ONE), (20_200, 640, ONE)]);
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    machine.observe(1000, &[(20_100, ONE, 900)]);
    // The earlier one's proxy lives on for a while.
    machine.process(&[640], ("efs-proxy", 7, 1800, 9999));
    assert_eq!(machine.observe(1010, &[(20_200, ONE, 3)]), known(ONE, 70, 1800));
}

#[test]
fn of_two_pods_with_one_number_neither_is_believed() {
    let mut machine = Machine::new(&[(20_100, 17, ONE)]);
    machine.process(&[4000, 17], ("efs-proxy", 1000, 2000, 77));
    machine.process(&[5000, 17], ("efs-proxy", 1000, 2000, 77));
    for now in [1000, 1010, 1020] {
        assert_eq!(machine.observe(now, &[(20_100, ONE, 900)]), []);
    }
}

#[test]
fn a_process_that_two_mounts_claim_is_neithers() {
    let mut machine = Machine::new(&[(20_100, 500, ONE), (20_101, 500, TWO)]);
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    let mounts = [(20_100, ONE, 900), (20_101, TWO, 900)];
    for now in [1000, 1010, 1020] {
        assert_eq!(machine.observe(now, &mounts), []);
    }
    // One that has it keeps it.
    let mut machine = Machine::new(&[(20_100, 500, ONE), (20_101, 500, TWO)]);
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    machine.observe(1000, &mounts[..1]);
    assert_eq!(machine.observe(1010, &mounts), known(ONE, 0, 2000));
    assert_eq!(machine.observe(1020, &mounts), known(ONE, 0, 2000));
}

#[test]
fn what_cannot_be_read_is_not_known() {
    let mut machine = Machine::new(&[(20_100, 500, ONE)]);
    let mounts = [(20_100, ONE, 900)];
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    for (file, text) in [("stat", "500 (efs-proxy"), ("stat", ""), ("status", "NSpid 500"), ("status", "")] {
        machine.proxies = Proxies::default();
        machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
        fs::write(machine.procfs.path().join("500").join(file), text).unwrap();
        assert_eq!(
            (machine.observe(1000, &mounts), machine.observe(1010, &mounts)),
            (vec![], vec![]),
            "{file} {text}"
        );
    }
    // Half a status of a process that is known already is not asked for.
    machine.proxies = Proxies::default();
    machine.process(&[500], ("efs-proxy", 1000, 2000, 77));
    machine.observe(1000, &mounts);
    fs::remove_file(machine.procfs.path().join("500/status")).unwrap();
    assert_eq!(machine.observe(1010, &mounts), known(ONE, 0, 2000));
}
