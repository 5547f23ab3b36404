//! The directories and files that a daemon stands on, when they are another's, not writable, full or wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use efsmon::daemon::runtime::RuntimeDirectory;
use efsmon::model::{Batch, Datum, Minute, Unit};
use efsmon::spool::{Directory, Limits, Spool};

use super::machine::{DEVICE_A, FS_A, Machine};
use super::process::{Efsmon, stderr, stdout};
use super::publishing::leave_behind;
use super::{early_in_a_minute, minutes, spooled, sum};
use crate::fake::cloudwatch::CloudWatch;

const A: [(&str, &str); 1] = [("FileSystemId", FS_A)];

#[test]
fn a_second_daemon_is_refused_and_told_of_the_first() {
    let machine = Machine::new();
    let efsmon = Efsmon::on(&machine);
    let running = efsmon.start();
    let second = efsmon.output(&["run"]);
    let lock = machine.path().join("run/lock");
    let expected = format!(
        "efsmon: another efsmon runs already (process {}, which holds {}); two would publish everything twice: stop it, \
         or give this one its own runtime_dir and state_dir\n",
        running.pid(),
        lock.display()
    );
    assert_eq!((second.status.code(), stderr(&second)), (Some(1), expected));
    running.terminate();
    efsmon.start().terminate();
}

#[test]
fn a_bad_configuration_ends_with_78_and_names_the_line() {
    let machine = Machine::new();
    machine.write("efsmon.toml", "profile = \"minimal\"\n[spool]\nmax_mb = 64\n");
    let output = Efsmon::on(&machine).output(&["run"]);
    assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
    let text = stderr(&output);
    assert!(
        text.contains("efsmon.toml:3: ") && text.contains("max_mb") && text.contains("max_mib"),
        "{text}"
    );
}

/// Runs as a user who is not root, from a copy of the program that everybody may run.
fn as_nobody(machine: &Machine, efsmon: &Efsmon<'_>) -> Output {
    let mut command = efsmon.command(&["run"]);
    if rustix::process::geteuid().is_root() {
        let program = machine.path().join("efsmon");
        // By another process: while a child of another test holds the copy open for writing, it cannot be run.
        let status = Command::new("cp").arg(env!("CARGO_BIN_EXE_efsmon")).arg(&program).status();
        assert!(status.unwrap().success());
        let mut copy = Command::new(program);
        copy.args(command.get_args()).env_clear();
        copy.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        copy.uid(65_534).gid(65_534);
        command = copy;
    }
    command.output().unwrap()
}

fn let_in(machine: &Machine, path: &str, mode: u32) {
    fs::set_permissions(machine.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_state_directory_without_permission_is_named_with_its_setting_and_the_remedy() {
    let machine = Machine::new();
    let_in(&machine, "", 0o755);
    let_in(&machine, "run", 0o777);
    let_in(&machine, "state", 0o500);
    let efsmon = Efsmon::on(&machine);
    let output = as_nobody(&machine, &efsmon);
    let text = stderr(&output);
    let state = machine.path().join("state").display().to_string();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let line = text.lines().last().unwrap();
    for part in
        ["efsmon: the state directory ", &state, "--state-dir", "or set state_dir", "Permission denied"]
    {
        assert!(line.contains(part), "{part}\n{text}");
    }
    assert_eq!(text.lines().count(), 1, "{text}");
    let_in(&machine, "state", 0o700);
}

#[test]
fn a_runtime_directory_without_permission_is_named_with_its_setting() {
    let machine = Machine::new();
    let_in(&machine, "", 0o755);
    let_in(&machine, "run", 0o500);
    let output = as_nobody(&machine, &Efsmon::on(&machine));
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let run = machine.path().join("run").display().to_string();
    for part in
        ["efsmon: the runtime directory ", &run, "EFSMON_RUNTIME_DIR", "Permission denied", "set runtime_dir"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(text.lines().count(), 1, "{text}");
    let_in(&machine, "run", 0o700);
}

#[test]
fn what_another_machine_left_behind_is_set_aside_and_never_sent() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let directory = Directory::open(&machine.path().join("state")).unwrap();
    let mut spool =
        Spool::open(directory, "3f8a2c61d7e44b0f9c5de2a1b7063e58", Limits::default()).unwrap().spool;
    let datum = Datum {
        metric: "Foreign".into(),
        dimensions: Vec::new(),
        timestamp: Minute::of(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap()),
        unit: Unit::Count,
        values: vec![1.0],
        counts: vec![1.0],
    };
    spool.commit(&[Batch { namespace: "EFSMon".to_owned(), data: vec![datum] }], b"{}").unwrap();
    drop(spool);

    let efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let running = efsmon.start();
    machine.read(a, 3, (600, 12_672), 12_288);
    let text = stdout(&efsmon.output(&["status"]));
    assert!(text.contains("1 file of another machine or version set aside, never sent"), "{text}");
    let log = running.terminate();
    assert!(
        log.contains("holds data of another machine or version; they are kept aside and never sent"),
        "{log}"
    );
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "Foreign", &[]), 0.0);
    assert_eq!(sum(&data, "ReadBytes", &A), 13_272.0);
    assert_eq!(spooled(&machine).len(), 1);
}

#[test]
fn what_another_instance_of_the_same_image_left_behind_is_never_sent() {
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    machine.write("sys/class/dmi/id/board_asset_tag", "i-0123456789abcdef0\n");
    leave_behind(&machine, 2, 1);
    machine.write("sys/class/dmi/id/board_asset_tag", "i-0fedcba9876543210\n");
    let log = Efsmon::on(&machine).with_aws(&cloudwatch.url()).start().terminate();
    assert!(log.contains("holds data of another machine or version"), "{log}");
    let data = cloudwatch.data();
    assert!(sum(&data, "Hosts", &[]) > 0.0);
    assert_eq!(sum(&data, "Left0-0", &[]) + sum(&data, "Left1-0", &[]), 0.0);
}

/// The state directory is a file system of 128 KiB, in a mount namespace of efsmon's own.
#[test]
fn on_a_full_disk_it_goes_on_and_when_there_is_room_again_nothing_is_missing() {
    // A first sample at the very end of a minute would be all there is of it: a host, and not a client yet.
    early_in_a_minute();
    let cloudwatch = CloudWatch::start();
    let machine = Machine::new();
    let a = machine.mount(DEVICE_A, "/mnt/a");
    let mut efsmon = Efsmon::on(&machine).with_aws(&cloudwatch.url());
    let state = machine.path().join("state").display().to_string();
    let mount = format!("mount -t tmpfs -o size=128k efsmon {state} && exec \"$0\" \"$@\"");
    let unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &mount];
    efsmon.program.splice(0..0, unshare.map(str::to_owned));

    let running = efsmon.start();
    let inside = format!("/proc/{}/root{state}", running.pid());
    let filler = format!("{inside}/filler");
    // Every block is taken, so that not even the counters fit.
    let full = fs::write(&filler, vec![0; 1 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    machine.read(a, 3, (600, 12_672), 12_288);
    running.wait_for("a minute that cannot be kept", |status| status["commits_fail"] == true);
    let text = stdout(&Efsmon::on(&machine).output(&["status"]));
    assert!(text.contains("CANNOT BE WRITTEN: see the log"), "{text}");
    let log = running.log();
    assert!(log.contains("no room for a minute of "), "{log}");
    assert!(log.contains("No space left on device"), "{log}");
    machine.read(a, 1, (200, 4_224), 4_096);
    running.wait_for_a_sample();
    fs::remove_file(&filler).unwrap();
    let log = running.terminate();
    assert!(log.contains("the state directory takes data again"), "{log}");
    assert_eq!(log.matches("minutes cannot be kept on disk").count(), 1, "{log}");
    let data = cloudwatch.data();
    assert_eq!(sum(&data, "ReadBytes", &A), 17_696.0);
    assert_eq!(minutes(&data, "Hosts", &[]), minutes(&data, "Clients", &A));
}

#[test]
fn the_lock_is_for_its_own_user_only_and_a_directory_that_is_there_stays_as_it_is() {
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).unwrap();
    // As an earlier version made it.
    fs::write(run.join("lock"), "17\n").unwrap();
    fs::set_permissions(run.join("lock"), fs::Permissions::from_mode(0o644)).unwrap();
    let locked = RuntimeDirectory::lock(&run).unwrap();
    assert_eq!((mode(&run), mode(&run.join("lock"))), (0o777, 0o600));
    drop(locked);

    let deep = directory.path().join("a/b");
    let locked = RuntimeDirectory::lock(&deep).unwrap();
    assert_eq!(mode(&deep.join("lock")), 0o600);
    assert_eq!(
        mode(&directory.path().join("a")),
        mode(&deep),
        "who may look into one gets through the other"
    );
    drop(locked);
}
