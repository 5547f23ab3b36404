use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::*;

const NO_NFS: &str = "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n";
const NFS: &str = "22 1 259:1 / / rw - ext4 /dev/vda1 rw\n60 22 0:52 / /mnt/efs rw - nfs4 10.0.0.1:/ rw\n";
/// A server's own control file system is no mount of NFS.
const NFSD: &str = "22 1 259:1 / / rw - ext4 /dev/vda1 rw\n126 23 0:42 / /proc/fs/nfsd rw - nfsd nfsd rw\n";

struct At(u64);

impl Clock for At {
    fn now(&self) -> Moment {
        Moment { wall: Duration::from_secs(self.0), monotonic: Duration::from_secs(self.0) }
    }
}

/// A machine's files, below `proc`, `sys` and `efs`.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        Machine(tempfile::tempdir().unwrap())
    }

    /// A process whose mountinfo is this, and whose mountstats is its name.
    fn process(self, name: &str, mountinfo: &str) -> Machine {
        self.file(&format!("proc/{name}/mountinfo"), mountinfo)
            .file(&format!("proc/{name}/mountstats"), format!("device of {name}\n"))
    }

    fn file(self, path: &str, text: impl AsRef<[u8]>) -> Machine {
        fs::write(self.path(path), text).unwrap();
        self
    }

    fn fifo(self, path: &str) -> Machine {
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, self.path(path), kind, 0o600.into(), 0).unwrap();
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn source(&self, namespace: Namespace) -> Source {
        let root = |name: &str| self.0.path().join(name);
        Source::new(Roots { procfs: root("proc"), sysfs: root("sys"), efs_state: root("efs") }, namespace)
    }

    fn read(&self, namespace: Namespace) -> Result<Reading, ReadError> {
        self.source(namespace).read(&At(77))
    }

    fn efs_state(&self) -> Vec<(String, Option<String>)> {
        let files = self.source(Namespace::Auto).efs_state().unwrap();
        let text = |text: Vec<u8>| String::from_utf8(text).unwrap();
        files.into_iter().map(|file| (file.name, file.text.map(text))).collect()
    }
}

fn check_view(machine: &Machine, namespace: Namespace, expected: Option<View>) {
    let reading = machine.read(namespace).ok();
    assert_eq!(reading.as_ref().map(|reading| reading.view), expected, "{namespace:?}");
    let process = match expected {
        Some(View::Own) => "device of self\n",
        Some(View::Init) => "device of 1\n",
        None => return,
    };
    assert_eq!(reading.unwrap().mountstats, process.as_bytes());
}

#[test]
fn the_whole_hosts_mounts_are_read_where_they_can_be() {
    let both = Machine::new().process("1", NFS).process("self", NFS);
    check_view(&both, Namespace::Auto, Some(View::Init));
    check_view(&both, Namespace::Init, Some(View::Init));
    check_view(&both, Namespace::Own, Some(View::Own));
    // PID 1's are not to be had.
    let own = Machine::new().process("self", NFS);
    check_view(&own, Namespace::Auto, Some(View::Own));
    check_view(&own, Namespace::Init, None);
    let own = Machine::new().process("self", NFS).file("proc/1/mountinfo", NFS);
    check_view(&own, Namespace::Auto, Some(View::Own));
    check_view(&Machine::new(), Namespace::Auto, None);
}

#[test]
fn when_pid_1_shows_no_nfs_and_we_do_ours_are_read() {
    for without in [NO_NFS, NFSD] {
        check_view(
            &Machine::new().process("1", without).process("self", NFS),
            Namespace::Auto,
            Some(View::Own),
        );
        check_view(
            &Machine::new().process("1", without).process("self", NFS),
            Namespace::Init,
            Some(View::Init),
        );
        // Nobody does: that is no reason to look elsewhere.
        check_view(
            &Machine::new().process("1", NO_NFS).process("self", without),
            Namespace::Auto,
            Some(View::Init),
        );
    }
    check_view(&Machine::new().process("1", NO_NFS), Namespace::Auto, Some(View::Init));
    check_view(&Machine::new().process("1", NFS).process("self", NO_NFS), Namespace::Auto, Some(View::Init));
}

#[test]
fn a_reading_is_three_texts_and_their_moment() {
    let reading = Machine::new().process("self", NFS).read(Namespace::Own).unwrap();
    assert_eq!((reading.moment, reading.view), (At(77).now(), View::Own));
    assert_eq!(
        (&reading.mountinfo_before[..], &reading.mountinfo_after[..]),
        (NFS.as_bytes(), NFS.as_bytes())
    );
    assert_eq!(reading.mountstats, b"device of self\n");
}

fn check_error(machine: &Machine, expected: &str) {
    let error = machine.read(Namespace::Own).unwrap_err().to_string();
    assert_eq!(error.replace(&machine.0.path().display().to_string(), ""), expected);
}

#[test]
fn half_a_text_is_no_reading() {
    let check_text = |file: &str, text: &str, found: &str| {
        let path = format!("proc/self/{file}");
        let expected = format!("reading /{path}: it is {found}; the kernel's text ends with a line feed");
        check_error(&Machine::new().process("self", NFS).file(&path, text), &expected);
    };
    check_text("mountstats", "", "empty");
    check_text("mountstats", "device of self\nde", "cut off within a line");
    check_text("mountinfo", "", "empty");
    check_text("mountinfo", NFS.trim_end(), "cut off within a line");
}

#[test]
fn a_text_that_cannot_be_read_is_named() {
    let not_there = "No such file or directory (os error 2)";
    check_error(&Machine::new(), &format!("reading /proc/self/mountstats: {not_there}"));
    let machine = Machine::new().file("proc/self/mountstats", "x\n");
    check_error(&machine, &format!("reading /proc/self/mountinfo: {not_there}"));
    let machine = Machine::new().process("self", NFS);
    fs::remove_file(machine.path("proc/self/mountstats")).unwrap();
    fs::create_dir(machine.path("proc/self/mountstats")).unwrap();
    check_error(&machine, "reading /proc/self/mountstats: Is a directory (os error 21)");
}

#[test]
fn a_fifo_under_a_files_name_does_not_hold_us() {
    let machine = Machine::new().file("proc/self/mountinfo", NFS).fifo("proc/self/mountstats");
    check_error(
        &machine,
        "reading /proc/self/mountstats: it is empty; the kernel's text ends with a line feed",
    );
    let machine = Machine::new()
        .fifo("efs/fs-01234567.a.20100")
        .file("efs/fs-01234567.b.20101", "{}")
        .fifo("efs/fs-01234567.c.20102");
    // Opened both ways, so that opening it does not wait: there is a writer, who says nothing.
    let silent =
        File::options().read(true).write(true).open(machine.path("efs/fs-01234567.c.20102")).unwrap();
    let files = machine.efs_state();
    let text = |place: usize| files[place].1.as_deref().unwrap_or_default();
    assert_eq!((files.len(), text(0), text(1), text(2)), (3, "", "{}", ""));
    drop(silent);
    // The rest of what is asked of the machine.
    let machine =
        Machine::new().fifo("proc/sys/kernel/random/boot_id").fifo("sys/class/dmi/id/board_asset_tag");
    assert_eq!(machine.source(Namespace::Own).boot_id(), None);
    assert_eq!(machine.source(Namespace::Own).board_asset_tag(), None);
}

#[test]
fn no_other_processs_command_line_is_opened() {
    let files =
        ["proc/1/cmdline", "proc/self/cmdline", "proc/4242/cmdline", "proc/4242/environ", "proc/4242/maps"];
    let machine = Machine::new().process("1", NO_NFS).process("self", NFS);
    let machine =
        machine.file("proc/4242/stat", "4242 (efs-proxy) S\n").file("efs/fs-01234567.a.20100", "{}");
    let machine = files.into_iter().fold(machine, Machine::fifo);
    let opened = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = files
        .iter()
        .map(|file| {
            let (path, opened) = (machine.path(file), Arc::clone(&opened));
            // Waits until someone opens it for reading.
            thread::spawn(move || {
                File::options().write(true).open(path).unwrap();
                opened.store(true, Ordering::SeqCst);
            })
        })
        .collect();
    let source = machine.source(Namespace::Auto);
    // Often, so that the writers wait by then.
    for _ in 0..100 {
        assert_eq!(source.read(&At(1)).unwrap().view, View::Own);
        assert_eq!(source.efs_state().unwrap().len(), 1);
        let (_, _, _) = (source.boot_id(), source.host_name(), source.board_asset_tag());
        source.is_ec2();
    }
    assert!(!opened.load(Ordering::SeqCst));
    for (writer, file) in writers.into_iter().zip(files) {
        File::open(machine.path(file)).unwrap();
        writer.join().unwrap();
    }
}

#[test]
fn without_a_state_directory_there_is_no_state() {
    assert_eq!(Machine::new().efs_state(), []);
    let machine = Machine::new();
    fs::create_dir(machine.path("efs")).unwrap();
    assert_eq!(machine.efs_state(), []);
    let error = Machine::new().file("efs", "").source(Namespace::Auto).efs_state().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
}

#[test]
fn a_mount_that_is_finished_while_its_state_is_read_is_not_passed_over() {
    let machine = Machine::new().file("efs/fs-01234567.a.20100", "a");
    let source = machine.source(Namespace::Auto);
    let read = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        source.state_file("~fs-01234567.a.20100", &names)
    };
    let whole = StateFile { name: "fs-01234567.a.20100".to_owned(), text: Some(b"a".to_vec()) };
    assert_eq!(read(&["~fs-01234567.a.20100"]), Some(whole));
    assert_eq!(read(&["fs-01234567.a.20100", "~fs-01234567.a.20100"]), None, "it is read under that name");
}

#[test]
fn of_the_state_directory_only_the_mounts_files_are_read() {
    let machine = Machine::new()
        .file("efs/fs-01234567.b.20101", "b")
        .file("efs/~fs-01234567.a.20100", "a")
        .file("efs/stunnel-config.fs-01234567.b.20101", "c")
        .file("efs/stunnel-config.fs-01234567.b.20101.log", "d")
        .file("efs/other", "x")
        .file("efs/.fs-01234567.c.20102", "x")
        .file("efs/fs-01234567.b.20101+/certificate.pem", "x")
        .file("efs/fs-01234567.f.20105/no-file", "x");
    // Listed, and gone when it is opened.
    symlink("gone", machine.path("efs/fs-01234567.d.20103")).unwrap();
    symlink("fs-01234567.b.20101", machine.path("efs/fs-01234567.e.20104")).unwrap();
    let expected = [
        ("fs-01234567.b.20101", Some("b")),
        ("fs-01234567.e.20104", Some("b")),
        ("fs-01234567.f.20105", None),
        ("stunnel-config.fs-01234567.b.20101", Some("c")),
        ("stunnel-config.fs-01234567.b.20101.log", Some("d")),
        ("~fs-01234567.a.20100", Some("a")),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.map(str::to_owned)));
    assert_eq!(machine.efs_state(), expected);
}

#[test]
fn of_a_huge_state_file_only_the_start_is_read() {
    let machine = Machine::new().file("efs/fs-01234567.a.20100", "x".repeat(65_537));
    assert_eq!(machine.efs_state()[0].1.as_ref().unwrap().len(), 65_536);
    let machine = Machine::new();
    symlink("/dev/zero", machine.path("efs/fs-01234567.a.20100")).unwrap();
    assert_eq!(machine.efs_state()[0].1.as_ref().unwrap().len(), 65_536);
}

#[test]
fn an_asset_tag_is_an_instance_id_only_when_it_looks_like_one() {
    let check = |text: &str, expected: Option<&str>| {
        let machine = Machine::new().file("sys/class/dmi/id/board_asset_tag", text);
        assert_eq!(machine.source(Namespace::Auto).board_asset_tag().as_deref(), expected, "{text:?}");
    };
    check("i-0123456789abcdef0\n", Some("i-0123456789abcdef0"));
    check("i-0123456789abcdef0", Some("i-0123456789abcdef0"));
    check("Amazon EC2\n", None);
    check("Default string\n", None);
    check("\n", None);
    check("", None);
    assert_eq!(Machine::new().source(Namespace::Auto).board_asset_tag(), None);
}

#[test]
fn the_machine_id_is_the_installation_s_and_else_that_of_dbus() {
    let machine = Machine::new().file("proc/sys/kernel/hostname", "web-1\n");
    let source = || machine.source(Namespace::Auto).installed_at(machine.0.path());
    assert_eq!((source().machine_id(), source().installation()), (None, "web-1".to_owned()));
    fs::create_dir_all(machine.0.path().join("etc")).unwrap();
    fs::write(machine.path("var/lib/dbus/machine-id"), "0f8a2c61d7e44b0f9c5de2a1b7063e58\n").unwrap();
    assert_eq!(source().installation(), "0f8a2c61d7e44b0f9c5de2a1b7063e58");
    fs::write(machine.path("etc/machine-id"), "3f8a2c61d7e44b0f9c5de2a1b7063e58\n").unwrap();
    assert_eq!(source().machine_id().as_deref(), Some("3f8a2c61d7e44b0f9c5de2a1b7063e58"));
}

#[test]
fn instances_of_one_image_are_two_installations() {
    let installation = |tag: &str| {
        let machine = Machine::new().file("proc/sys/kernel/hostname", "web-1\n");
        let machine = machine.file("sys/class/dmi/id/board_asset_tag", tag);
        machine.source(Namespace::Auto).installation()
    };
    // The machine-id, if there is one, is of the machine that runs the test.
    let id = installation("no instance");
    assert_eq!(
        id,
        std::fs::read_to_string("/etc/machine-id").map_or("web-1".into(), |id| id.trim().to_owned())
    );
    assert_eq!(installation("i-0123456789abcdef0\n"), format!("{id}/i-0123456789abcdef0"));
    assert_eq!(installation("i-0fedcba9876543210\n"), format!("{id}/i-0fedcba9876543210"));
}

#[test]
fn ec2_is_told_by_its_firmware() {
    let check = |path: &str, text: &str, expected: bool| {
        let machine = Machine::new().file(path, text);
        assert_eq!(machine.source(Namespace::Auto).is_ec2(), expected, "{text:?}");
    };
    check("sys/class/dmi/id/sys_vendor", "Amazon EC2\n", true);
    check("sys/hypervisor/uuid", "ec2e1916-9099-7caf-fd21-012345abcdef\n", true);
    check("sys/class/dmi/id/sys_vendor", "QEMU\n", false);
    check("sys/class/dmi/id/other", "Amazon EC2\n", false);
}

#[test]
fn a_boot_id_and_a_host_name_are_a_line() {
    let machine = Machine::new()
        .file("proc/sys/kernel/random/boot_id", "5f0c5b06-6f3c-4d6e-8a38-1c2f00000001\n")
        .file("proc/sys/kernel/hostname", "web-1\n");
    let source = machine.source(Namespace::Auto);
    assert_eq!(source.boot_id().as_deref(), Some("5f0c5b06-6f3c-4d6e-8a38-1c2f00000001"));
    assert_eq!(source.host_name().as_deref(), Some("web-1"));
    let machine = Machine::new().file("proc/sys/kernel/hostname", b"\xff\n");
    assert_eq!(machine.source(Namespace::Auto).host_name(), None);
    assert_eq!(machine.source(Namespace::Auto).boot_id(), None);
}

#[test]
fn a_kept_text_may_come_through_a_pipe_that_is_slow() {
    let machine = Machine::new().fifo("kept");
    let path = machine.path("kept");
    let writer = thread::spawn(move || {
        let mut pipe = File::options().write(true).open(path).unwrap();
        pipe.write_all(b"device a ").unwrap();
        thread::sleep(Duration::from_millis(20));
        pipe.write_all(b"mounted on /").unwrap();
    });
    assert_eq!(read_text(&machine.path("kept")).unwrap(), b"device a mounted on /");
    writer.join().unwrap();
    let error = read_text(&machine.path("none")).unwrap_err().to_string();
    assert!(error.ends_with("/none: No such file or directory (os error 2)"), "{error}");
}

#[test]
fn this_process_is_found_by_its_name_and_its_number() {
    let roots = Roots { procfs: "/proc".into(), sysfs: "/sys".into(), efs_state: "/none".into() };
    let source = Source::new(roots, Namespace::Own);
    let pid = std::process::id();
    let process = source.process(pid).unwrap();
    assert_eq!(process.pid, pid);
    assert!(process.memory > 1 << 20 && process.started > 0, "{process:?}");
    assert_eq!(source.innermost_pid(pid), Some(pid), "its own namespace is the one that it reads");
    assert!(source.processes_named(&["no-such", &process.comm]).contains(&pid));
    assert!(!source.processes_named(&["no-such"]).contains(&pid));
    assert_eq!((source.process(u32::MAX), source.innermost_pid(u32::MAX)), (None, None));
}
