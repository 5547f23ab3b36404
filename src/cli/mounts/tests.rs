//! The list as it looks on terminals, on a machine with every kind of mount.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::config::{self, Inputs as ConfigInputs};
use crate::efs::Targets;
use crate::model::Moment;
use crate::monitor::StalledMount;
use crate::source::{Roots, Source};

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Moment {
        Moment { wall: Duration::from_secs(2_000_000_000), monotonic: Duration::from_secs(1_000_000) }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/identity")
}

fn listed(look: Look) -> String {
    let file = folder().join("efsmon.toml");
    let inputs =
        ConfigInputs { file, file_may_be_missing: false, environment: Vec::new(), flags: Vec::new() };
    let configured = super::super::run::configured_mounts(&config::load(&inputs).unwrap().config);
    let roots =
        Roots { procfs: folder().join("proc"), sysfs: folder().join("sys"), efs_state: folder().join("efs") };
    let source = Source::new(roots, Namespace::Own);
    let reading = source.read(&Noon).unwrap();
    let helper = helper_mounts(&source.efs_state().unwrap());
    let kept = fs::read(folder().join("state/mount-targets.json")).unwrap();
    let parsed = mountstats::parse(&reading.mountstats);
    let (seen, _) = join_texts(&reading.mountinfo_before, &parsed, &reading.mountinfo_after);
    let host = HostPlace { zone: Some("us-east-1a".into()), zone_id: None, region: Some("us-east-1".into()) };
    let stalled = StalledMount {
        superblock: "0:124".parse().unwrap(),
        mount_point: "/mnt/v2".into(),
        device: "127.0.0.1:/".into(),
        reason: "no reply for 34 s, while 3 requests were sent".into(),
    };
    let inputs = Inputs {
        moment: reading.moment,
        configured: &configured,
        helper: &helper,
        state_unread: false,
        targets: Targets::from_json(&kept, None),
        told: Some(Told { host, stalled: vec![stalled] }),
    };
    let mut out = Vec::new();
    table::write(&rows(&parsed, &seen, inputs), look, "Seen from somewhere.", &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn on_80_columns_every_line_fits_and_the_access_points_are_left_out() {
    let list = listed(Look { width: Some(80), ..Look::default() });
    let path = folder().with_file_name("mounts").join("80-columns.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &list).unwrap();
    }
    assert_eq!(list, fs::read_to_string(&path).unwrap(), "read it, and refresh it with UPDATE_EXPECT=1");
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
}

#[test]
fn on_120_columns_nothing_is_left_out() {
    let list = listed(Look { width: Some(120), ..Look::default() });
    assert_eq!(
        list.lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" "),
        "MOUNT POINT FILE SYSTEM ACCESS POINT ZONE STATE"
    );
    assert!(list.lines().all(|line| line.chars().count() <= 120), "{list}");
    assert!(!list.contains("For lack of room"), "{list}");
}

#[test]
fn colours_change_nothing_but_the_colour() {
    let plain = listed(Look { width: Some(80), ..Look::default() });
    let coloured = listed(Look { width: Some(80), colours: true, verbose: false });
    assert!(coloured.contains("us-east-1b  \x1b[1;31mSTALLED\x1b[0m\n"), "{coloured}");
    assert!(coloured.contains("\n\x1b[33mWARNING   \x1b[0mits "), "{coloured}");
    let bare =
        ["\x1b[1;31m", "\x1b[33m", "\x1b[0m"].iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(bare, plain);
}

#[test]
fn told_in_full_no_mount_and_no_finding_is_left_out() {
    let list = listed(Look { width: None, colours: false, verbose: true });
    for line in [
        "INFO      the same as /mnt/dns: both show the same counters, which are published once\n            /mnt/dns-bind\n",
        "INFO      the volume ecs-app-7-data-e2b1c4d3 of an ECS task\n",
    ] {
        assert!(list.contains(line), "{line}\n{list}");
    }
    let (_, not_encrypted) = list.split_once("INFO      its traffic is not encrypted;").unwrap();
    let mounts = not_encrypted.lines().skip(1).take_while(|line| line.starts_with("            /"));
    // 14 by name, 4 by a proxy without TLS, 3 by address or alias, 1 configured, 1 over another.
    assert_eq!(mounts.count(), 14 + 4 + 3 + 1 + 1);
}

#[test]
fn a_refusal_to_show_process_1s_mounts_is_told_and_no_other_error() {
    let error = |kind| ReadError::Io { path: "/proc/1/mountstats".into(), error: io::Error::from(kind) };
    let expected = "these are the mounts that this process sees; those of process 1 cannot be read (reading \
                    /proc/1/mountstats: permission denied): run as root";
    assert_eq!(refusal(&error(io::ErrorKind::PermissionDenied)).as_deref(), Some(expected));
    assert_eq!(refusal(&error(io::ErrorKind::NotFound)), None);
    assert_eq!(refusal(&ReadError::Short { path: "/proc/1/mountinfo".into(), found: "empty" }), None);
}
