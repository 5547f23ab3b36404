//! A machine to watch: `/proc`, `/sys` and the mount helper's state as files. Every change is a whole new tree behind
//! one symbolic link, and `age:` goes on as the kernel's does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const FS_A: &str = "fs-0123456789abcdef0";
pub const FS_B: &str = "fs-0fedcba9876543210";
pub const DEVICE_A: &str = "fs-0123456789abcdef0.efs.eu-west-1.amazonaws.com:/";
pub const DEVICE_B: &str = "fs-0fedcba9876543210.efs.eu-west-1.amazonaws.com:/";
/// Its place in the minute, where it sends, is among the first: its CRC-32 modulo 50,001 is 16 ms.
pub const HOST_NAME: &str = "web-1690.example";

/// How often the tree is made anew: the kernel shows an age in whole seconds, and efsmon allows for little more.
const REFRESH: Duration = Duration::from_millis(100);
const REFRESH_OF_MANY: Duration = Duration::from_millis(400);

/// All operations that a kernel prints, most of them unused.
const CAPTURE: &str = include_str!("../../fixtures/captures/smoke/nfsiostat/0.mountstats");

pub struct Machine {
    directory: tempfile::TempDir,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    refresher: Option<JoinHandle<()>>,
}

struct State {
    procfs: PathBuf,
    trees: u64,
    mounts: Vec<Mount>,
    fault: Option<Fault>,
    /// Further lines of each record's table.
    other_operations: String,
}

/// What is wrong with the texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    NoMountstats,
    /// Cut off in the middle of a line.
    Cut,
    /// The READ line of the mount at this place is not one.
    BadRecord(usize),
}

#[derive(Clone)]
pub struct Mount {
    device: String,
    pub mount_point: String,
    minor: u32,
    port: u16,
    /// The server's, in mountinfo.
    address: String,
    born: Instant,
    age: u64,
    read: Calls,
    write: Calls,
    lookup: Calls,
    payload: (u64, u64),
    mounted: bool,
}

#[derive(Clone, Copy, Default)]
struct Calls {
    requests: u64,
    sent: u64,
    received: u64,
    ms: u64,
}

impl Calls {
    fn add(&mut self, requests: u64, sent: u64, received: u64, ms: u64) {
        self.requests += requests;
        self.sent += sent;
        self.received += received;
        self.ms += ms;
    }

    fn line(&self, name: &str) -> String {
        let Calls { requests, sent, received, ms } = self;
        format!("\t{name:>12}: {requests} {requests} 0 {sent} {received} 0 {ms} {ms} 0\n")
    }
}

impl Machine {
    pub fn new() -> Machine {
        let directory = tempfile::tempdir().unwrap();
        let procfs = directory.path().join("proc");
        for folder in ["proc/sys/kernel/random", "proc/trees", "sys/class/dmi/id", "efs", "run", "state"] {
            fs::create_dir_all(directory.path().join(folder)).unwrap();
        }
        let boot_id = "1b4e28ba-2fa1-4d2e-883f-0016d3cca427\n";
        fs::write(procfs.join("sys/kernel/random/boot_id"), boot_id).unwrap();
        fs::write(procfs.join("sys/kernel/hostname"), format!("{HOST_NAME}\n")).unwrap();
        let (mounts, other_operations) = (Vec::new(), String::new());
        let state = State { procfs, trees: 0, mounts, fault: None, other_operations };
        let state = Arc::new(Mutex::new(state));
        state.lock().unwrap().show();
        let stop = Arc::new(AtomicBool::new(false));
        let refresher = std::thread::spawn({
            let (state, stop) = (state.clone(), stop.clone());
            move || {
                while !stop.load(Ordering::Relaxed) {
                    let many = state.lock().unwrap().mounts.len() > 100;
                    std::thread::sleep(if many { REFRESH_OF_MANY } else { REFRESH });
                    state.lock().unwrap().show();
                }
            }
        });
        Machine { directory, state, stop, refresher: Some(refresher) }
    }

    /// Where everything is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Makes it an EC2 instance, as its firmware says.
    pub fn be_ec2(&self) {
        self.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    }

    /// Writes a file below [`Machine::path`].
    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.path().join(path), text).unwrap();
    }

    /// A mount that has been there for an hour, and has done something.
    pub fn mount(&self, device: &str, mount_point: &str) -> usize {
        self.change(|state| state.add(device, mount_point, 3600, 1_000_000))
    }

    /// As [`Machine::mount`], from the server at `address`.
    pub fn mount_from(&self, device: &str, address: &str, mount_point: &str) -> usize {
        self.change(|state| {
            let place = state.add(device, mount_point, 3600, 1_000_000);
            state.mounts[place].address = address.to_owned();
            place
        })
    }

    /// A mount made just now.
    pub fn mount_now(&self, device: &str, mount_point: &str) -> usize {
        self.change(|state| state.add(device, mount_point, 0, 0))
    }

    /// As [`Machine::mount`], through efs-utils' proxy on `port`; its state file says that it is `file_system`.
    pub fn mount_by_proxy(&self, file_system: &str, mount_point: &str, port: u16) -> usize {
        let folded = mount_point.trim_start_matches('/').replace('/', ".");
        let state =
            format!(r#"{{"pid": 1, "cmd": [], "fsId": "{file_system}", "mountpoint": "{mount_point}"}}"#);
        self.write(&format!("efs/{file_system}.{folded}.{port}"), &state);
        self.change(|state| {
            let place = state.add("127.0.0.1:/", mount_point, 3600, 1_000_000);
            state.mounts[place].port = port;
            state.mounts[place].address = "127.0.0.1".to_owned();
            place
        })
    }

    /// Mounts of `mounts / 10` file systems, in all their length, and each at work.
    pub fn mount_many(&self, mounts: usize) {
        let ours = ["NULL", "READ", "WRITE", "LOOKUP", "SEQUENCE"];
        let table = CAPTURE.lines().skip_while(|line| *line != "\tper-op statistics").skip(1);
        let table =
            table.filter(|line| !line.is_empty() && !ours.contains(&line.trim().split(':').next().unwrap()));
        let other_operations: String = table.map(|line| format!("{line}\n")).collect();
        self.change(|state| {
            state.other_operations = other_operations;
            for place in 0..mounts {
                let device = format!("fs-{:017x}.efs.eu-west-1.amazonaws.com:/", place / 10);
                state.add(&device, &format!("/var/lib/data/mount-{place}"), 3600, 1_000_000);
            }
        });
    }

    /// Every mount does something.
    pub fn work(&self) {
        self.change(|state| {
            for mount in &mut state.mounts {
                mount.read.add(10, 2_000, 41_000, 50);
                mount.write.add(10, 41_000, 1_600, 80);
            }
        });
    }

    pub fn unmount(&self, place: usize) {
        self.change(|state| state.mounts[place].mounted = false);
    }

    /// READs: their RPC bytes out and back, and the file data in what came back.
    pub fn read(&self, place: usize, requests: u64, (sent, received): (u64, u64), payload: u64) {
        self.change(|state| {
            state.mounts[place].read.add(requests, sent, received, 5 * requests);
            state.mounts[place].payload.0 += payload;
        });
    }

    /// WRITEs, as [`Machine::read`].
    pub fn written(&self, place: usize, requests: u64, (sent, received): (u64, u64), payload: u64) {
        self.change(|state| {
            state.mounts[place].write.add(requests, sent, received, 8 * requests);
            state.mounts[place].payload.1 += payload;
        });
    }

    /// LOOKUPs of 200 bytes out and 200 back.
    pub fn look_up(&self, place: usize, requests: u64) {
        self.change(|state| {
            state.mounts[place].lookup.add(requests, 200 * requests, 200 * requests, requests)
        });
    }

    pub fn set_fault(&self, fault: Option<Fault>) {
        self.change(|state| state.fault = fault);
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap();
        let result = change(&mut state);
        state.show();
        result
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(refresher) = self.refresher.take() {
            let _ = refresher.join();
        }
    }
}

impl State {
    fn add(&mut self, device: &str, mount_point: &str, age: u64, so_far: u64) -> usize {
        let calls = Calls { requests: so_far, sent: so_far * 200, received: so_far * 4096, ms: so_far };
        let place = self.mounts.len();
        self.mounts.push(Mount {
            device: device.to_owned(),
            mount_point: mount_point.to_owned(),
            minor: 40 + place as u32,
            port: 2049,
            address: "10.0.1.5".to_owned(),
            born: Instant::now(),
            age,
            read: calls,
            write: calls,
            lookup: calls,
            payload: (so_far * 4096, so_far * 4096),
            mounted: true,
        });
        place
    }

    /// Makes the tree of this moment, and `self` a link to it.
    fn show(&mut self) {
        self.trees += 1;
        let tree = self.procfs.join(format!("trees/{}", self.trees));
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("mountinfo"), self.mountinfo()).unwrap();
        if self.fault != Some(Fault::NoMountstats) {
            fs::write(tree.join("mountstats"), self.mountstats()).unwrap();
        }
        let (link, new) = (self.procfs.join("self"), self.procfs.join("self.new"));
        symlink(&tree, &new).unwrap();
        fs::rename(&new, &link).unwrap();
        // The last one may still be read.
        if let Some(old) = self.trees.checked_sub(20) {
            let _ = fs::remove_dir_all(self.procfs.join(format!("trees/{old}")));
        }
    }

    fn mountinfo(&self) -> String {
        let mut text = "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n".to_owned();
        for mount in self.mounts.iter().filter(|mount| mount.mounted) {
            let Mount { device, mount_point, minor, address, .. } = mount;
            text += &format!(
                "{minor} 21 0:{minor} / {mount_point} rw,relatime shared:{minor} - nfs4 {device} rw,vers=4.1,addr={address}\n"
            );
        }
        text
    }

    fn mountstats(&self) -> String {
        let mut text = "device /dev/vda mounted on / with fstype ext4\n".to_owned();
        for (place, mount) in self.mounts.iter().enumerate().filter(|(_, mount)| mount.mounted) {
            let mut record = mount.record(&self.other_operations);
            if self.fault == Some(Fault::BadRecord(place)) {
                record = record.replace("\t        READ: ", "\t        READ: x ");
            }
            text += &record;
        }
        if self.fault == Some(Fault::Cut) {
            text.truncate(text.len() - 30);
        }
        text
    }
}

impl Mount {
    fn record(&self, other_operations: &str) -> String {
        let Mount { device, mount_point, port, payload: (read, written), .. } = self;
        let age = self.age + self.born.elapsed().as_secs();
        let mut text = format!("device {device} mounted on {mount_point} with fstype nfs4 statvers=1.1\n");
        // The kernel prints a port only when it is not the usual one.
        let port = if *port == 2049 { String::new() } else { format!("port={port},") };
        text += &format!(
            "\topts:\trw,vers=4.1,rsize=1048576,wsize=1048576,hard,noresvport,proto=tcp,{port}timeo=600,retrans=2,sec=sys\n"
        );
        text +=
            &format!("\tage:\t{age}\n\tcaps:\tcaps=0x3fffff,wtmult=512\n\tnfsv4:\tbm0=0xfdffbfff,acl=0x0\n");
        text += &format!("\tsec:\tflavor=1,pseudoflavor=1\n\tevents:\t{}\n", "5 ".repeat(27));
        text += &format!("\tbytes:\t0 0 0 0 {read} {written} 0 0 \n");
        text += "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n";
        text += "\txprt:\ttcp 0 0 1 0 3 900 900 0 900 0 2 0 0\n\tper-op statistics\n";
        text += &Calls { requests: 1, sent: 44, received: 24, ms: 1 }.line("NULL");
        text += &self.read.line("READ");
        text += &self.write.line("WRITE");
        text += &self.lookup.line("LOOKUP");
        text += other_operations;
        text + &Calls { requests: 60, sent: 6000, received: 6000, ms: 60 }.line("SEQUENCE") + "\n"
    }
}
