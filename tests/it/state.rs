//! `efsmon state reset`: what goes, what stays, and when it refuses.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use efsmon::model::{Batch, Datum, Minute, Unit};
use efsmon::spool::{Directory, DirectoryError, Limits, Note, Opened, Spool};
use tempfile::TempDir;

/// 2026-11-30 08:14:00 UTC.
const MINUTE: u64 = 1_796_026_440;
const MACHINE: &str = "3f8a2c61d7e44b0f9c5de2a1b7063e58";

/// A machine without an asset tag on its board, and its state directory.
struct Host {
    root: TempDir,
}

impl Host {
    fn new() -> Host {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("sys")).unwrap();
        Host { root }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn state(&self) -> String {
        self.path("state").display().to_string()
    }

    /// What efsmon takes this machine for.
    fn owner(&self) -> String {
        let roots = efsmon::source::Roots {
            procfs: "/proc".into(),
            sysfs: self.path("sys"),
            efs_state: self.path("efs"),
        };
        efsmon::source::Source::new(roots, efsmon::source::Namespace::Own).installation()
    }

    fn open(&self, owner: &str) -> Opened<Directory> {
        let directory = patiently(|| match Directory::open(&self.path("state")) {
            Err(DirectoryError::Held { .. }) => None,
            directory => Some(directory.unwrap()),
        });
        Spool::open(directory, owner, Limits::default()).unwrap()
    }

    /// One request a minute, the first one of 08:14.
    fn leave_unsent(&self, owner: &str, requests: u64) {
        let mut spool = self.open(owner).spool;
        for index in 0..requests {
            let datum = Datum {
                metric: "ReadBytes".into(),
                dimensions: Vec::new(),
                timestamp: Minute::of(Duration::from_secs(MINUTE + 60 * index)),
                unit: Unit::Bytes,
                values: vec![1.0],
                counts: vec![1.0],
            };
            let batch = Batch { namespace: "EFSMon".to_owned(), data: vec![datum] };
            spool.commit(&[batch], b"counters").unwrap();
        }
        spool.keep(Note::MountTargets, b"{}").unwrap();
    }

    fn reset(&self, arguments: &[&str]) -> Output {
        patiently(|| {
            Some(self.reset_at_once(arguments)).filter(|output| !said(output).2.contains("it holds"))
        })
    }

    fn reset_at_once(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_efsmon"));
        command.env_clear().stdin(Stdio::null());
        command.args(["state", "reset", "--state-dir", &self.state(), "--sysfs"]).arg(self.path("sys"));
        command.args(arguments).output().unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("state")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Another test's child has a copy of every open file until it begins its program, of locks too.
fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3_000 {
        match attempt() {
            Some(done) => return done,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    panic!("after a minute the lock is still held")
}

fn said(output: &Output) -> (Option<i32>, &str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_was_never_sent_is_not_removed_unasked() {
    let host = Host::new();
    host.leave_unsent(&host.owner(), 12);
    let before = host.names();
    let output = host.reset(&[]);
    let expected = format!(
        "efsmon: {}: 12 requests of 2026-11-30T08:14:00Z to 2026-11-30T08:25:00Z were never sent and would be lost: \
         nobody is there to confirm this: add --yes\n",
        host.state()
    );
    assert_eq!(said(&output), (Some(1), "", expected.as_str()));
    assert_eq!(host.names(), before);
}

#[test]
fn with_yes_everything_of_this_host_goes_and_the_next_start_is_a_first_one() {
    let host = Host::new();
    host.leave_unsent(&host.owner(), 12);
    let output = host.reset(&["--yes"]);
    let state = host.state();
    let expected = format!(
        "{state}: removed counters, mount-targets.json, 12 requests\n\
         {state}: 12 requests of 2026-11-30T08:14:00Z to 2026-11-30T08:25:00Z were never sent\n"
    );
    assert_eq!(said(&output), (Some(0), expected.as_str(), ""));
    assert_eq!(host.names(), ["lock"]);
    let Opened { spool, counters } = host.open(&host.owner());
    assert_eq!((spool.standing().files, spool.standing().aside_files, counters), (0, 0, None));
    drop(spool);
    assert_eq!(said(&host.reset(&[])), (Some(0), format!("{state}: nothing to remove\n").as_str(), ""));
}

#[test]
fn what_is_another_machine_s_is_never_sent_and_goes_unasked() {
    let host = Host::new();
    host.leave_unsent(MACHINE, 1);
    let output = host.reset(&[]);
    let expected = format!("{}: removed counters, mount-targets.json, 1 request\n", host.state());
    assert_eq!(said(&output), (Some(0), expected.as_str(), ""));
    assert_eq!(host.names(), ["lock"]);
}

#[test]
fn a_directory_that_a_daemon_uses_is_left_alone() {
    let host = Host::new();
    host.leave_unsent(&host.owner(), 1);
    let daemon = host.open(&host.owner());
    let before = host.names();
    let expected = format!(
        "efsmon: the daemon runs: it holds {}/lock; stop it first (systemctl stop efsmon), and nothing was removed\n",
        host.state()
    );
    assert_eq!(said(&host.reset_at_once(&["--yes"])), (Some(1), "", expected.as_str()));
    assert_eq!(host.names(), before);
    drop(daemon);
}

#[test]
fn a_directory_that_is_missing_is_fine_and_stays_missing() {
    let host = Host::new();
    let expected = format!("{}: not there, so nothing to remove\n", host.state());
    assert_eq!(said(&host.reset(&[])), (Some(0), expected.as_str(), ""));
    assert!(!host.path("state").exists());
}

#[test]
fn files_of_others_stay_and_no_link_is_followed() {
    let host = Host::new();
    host.leave_unsent(&host.owner(), 1);
    let outside = host.path("outside");
    fs::write(&outside, "a host's own").unwrap();
    fs::create_dir(host.path("outside.d")).unwrap();
    fs::write(host.path("outside.d/counters"), "not to be touched").unwrap();
    let state = host.path("state");
    fs::write(state.join("notes.txt"), "").unwrap();
    fs::write(state.join("bad\nname"), "").unwrap();
    fs::create_dir(state.join(".aws")).unwrap();
    fs::write(state.join(".aws/config"), "").unwrap();
    fs::remove_file(state.join("counters")).unwrap();
    symlink(&outside, state.join("counters")).unwrap();
    symlink(&outside, state.join("rejected.jsonl")).unwrap();
    symlink(host.path("outside.d"), state.join("more")).unwrap();
    let output = host.reset(&["--yes"]);
    let (code, text, errors) = said(&output);
    assert_eq!((code, errors), (Some(0), ""));
    assert!(text.contains("removed mount-targets.json, 1 request\n"), "{text}");
    let left = "left what is not efsmon's: .aws, bad\\x0aname, counters, more, notes.txt, rejected.jsonl\n";
    assert!(text.ends_with(left), "{text}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "a host's own");
    assert_eq!(fs::read_to_string(host.path("outside.d/counters")).unwrap(), "not to be touched");
    assert!(state.join(".aws/config").exists());
}

/// As an administrator does it; only root can see the difference.
#[test]
fn root_leaves_nothing_behind_that_the_daemon_s_user_could_not_use() {
    let host = Host::new();
    let state = host.path("state");
    host.leave_unsent(&host.owner(), 2);
    let is_root = rustix::process::geteuid().is_root();
    let owner = if is_root { 65_534 } else { rustix::process::geteuid().as_raw() };
    let own = |path: &Path| std::os::unix::fs::chown(path, Some(owner), None).unwrap();
    host.names().iter().for_each(|name| own(&state.join(name)));
    own(&state);
    fs::set_permissions(&state, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(said(&host.reset(&["--yes"])).0, Some(0));
    let about = |path: &Path| fs::metadata(path).map(|about| (about.uid(), about.mode() & 0o7777)).unwrap();
    assert_eq!(about(&state), (owner, 0o750));
    assert_eq!(about(&state.join("lock")), (owner, 0o600));

    // Nobody has used it yet: no lock is made that the daemon could not open.
    fs::remove_file(state.join("lock")).unwrap();
    assert_eq!(said(&host.reset(&["--yes"])).0, Some(0));
    assert_eq!(host.names(), [""; 0]);
}

/// Another user than root is told to be root, not to take the directory over. That user may not reach the program where
/// it was built.
#[test]
fn another_user_is_told_to_be_root() {
    let host = Host::new();
    host.leave_unsent(&host.owner(), 1);
    let before = host.names();
    let mode =
        |name: &str, mode| fs::set_permissions(host.path(name), fs::Permissions::from_mode(mode)).unwrap();
    let program = host.path("efsmon");
    fs::copy(env!("CARGO_BIN_EXE_efsmon"), &program).unwrap();
    mode("", 0o755);
    let expected = format!(
        "efsmon: {}: this user may not read and remove everything in it: run as root\n",
        host.state()
    );
    // Nothing may be listed; the lock may not be read; all may be read and nothing removed.
    for (directory, files) in [(0o000, 0o600), (0o555, 0o000), (0o555, 0o444)] {
        host.names().iter().for_each(|name| mode(&format!("state/{name}"), files));
        mode("state", directory);
        let mut efsmon = Command::new("setpriv");
        if rustix::process::geteuid().is_root() {
            efsmon.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        efsmon.arg(&program).args(["state", "reset", "--yes", "--state-dir", &host.state(), "--sysfs"]);
        efsmon.arg(host.path("sys")).env_clear().env("PATH", "/usr/bin:/bin");
        let output = patiently(|| {
            Some(efsmon.output().unwrap()).filter(|output| !said(output).2.contains("it holds"))
        });
        mode("state", 0o755);
        assert_eq!(said(&output), (Some(1), "", expected.as_str()), "{directory:o} {files:o}");
    }
    assert_eq!(host.names(), before);
}

/// Whoever may write to the directory may put anything there; root must not wait for it.
#[test]
fn a_fifo_in_place_of_the_counters_is_not_waited_for() {
    let host = Host::new();
    host.leave_unsent(&host.owner(), 1);
    let counters = host.path("state/counters");
    fs::remove_file(&counters).unwrap();
    assert!(Command::new("mkfifo").arg(&counters).status().unwrap().success());
    let expected =
        format!("efsmon: nothing was removed: cannot read {}: it is no file\n", counters.display());
    assert_eq!(said(&host.reset(&["--yes"])), (Some(1), "", expected.as_str()));
}
