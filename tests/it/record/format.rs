//! The format on disk, byte for byte.

use std::fs;
use std::os::unix::fs::MetadataExt;

use efsmon::recording::{About, Damage, OpenError, Recording};
use efsmon::source::View;

use super::{BOOT_ID, efsmon, files, record, state_file, stderr, stdout, tick};

const MOUNTINFO: &str = "40 1 0:40 / /mnt/efs rw - nfs4 127.0.0.1:/ rw,port=20127\n";
const MOUNTSTATS: &str = "device proc mounted on /proc with fstype proc\n";

/// The files of a recording of two ticks, one of process 1's mounts and one void.
#[test]
fn a_recording_is_these_files_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    let about = About {
        host_name: Some("web-1".to_owned()),
        board_asset_tag: Some("i-0123456789abcdef0".to_owned()),
        is_ec2: true,
    };
    let mut first = tick(1, 0.0035, MOUNTINFO, MOUNTSTATS);
    let reading = first.reading.as_mut().unwrap();
    reading.view = View::Init;
    reading.mountinfo_before = b"before\n".to_vec();
    first.efs_state = Ok(vec![
        state_file("fs-0123456789abcdef0.mnt.efs.20127", Some("{}")),
        state_file("fs-0123456789abcdef0.mnt.gone.20128", None),
    ]);
    let mut second = tick(2, 10.0, MOUNTINFO, MOUNTSTATS);
    second.reading = Err("reading /proc/1/mountstats: it is empty".to_owned());
    record(&kept, &about, &[first, second]);

    let version = env!("CARGO_PKG_VERSION");
    let header = format!(
        r#"{{
  "format": "efsmon-recording/1",
  "what": "What efsmon read of a machine, a folder for each time. To look at it: efsmon mounts --procfs DIR, efsmon stat --procfs DIR, efsmon run --dry-run --procfs DIR.",
  "efsmon": "{version}",
  "interval_seconds": 10,
  "redacted": false
}}
"#
    );
    let first_moment = r#"{
  "wall": "2026-11-30T16:00:00.0035Z",
  "monotonic_ns": 5000003500000,
  "view": "init",
  "efs_state_unread": [
    "fs-0123456789abcdef0.mnt.gone.20128"
  ]
}
"#;
    let second_moment = r#"{
  "wall": "2026-11-30T16:00:10Z",
  "monotonic_ns": 5010000000000,
  "void": "reading /proc/1/mountstats: it is empty"
}
"#;
    let boot_id = format!("{BOOT_ID}\n");
    let expected = [
        ("000001/efs/fs-0123456789abcdef0.mnt.efs.20127", "{}"),
        ("000001/moment.json", first_moment),
        ("000001/proc/1/mountinfo", MOUNTINFO),
        ("000001/proc/1/mountinfo.before", "before\n"),
        ("000001/proc/1/mountstats", MOUNTSTATS),
        ("000001/proc/sys/kernel/random/boot_id", &boot_id),
        ("000002/moment.json", second_moment),
        ("000002/proc/sys/kernel/random/boot_id", &boot_id),
        ("efsmon-recording.json", &header),
        ("proc/sys/kernel/hostname", "web-1\n"),
        ("sys/class/dmi/id/board_asset_tag", "i-0123456789abcdef0\n"),
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
    ];
    let found = files(&kept);
    let found: Vec<_> =
        found.iter().map(|(name, text)| (name.as_str(), str::from_utf8(text).unwrap())).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_read_back_is_what_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    let about = About { host_name: Some("web-1".to_owned()), board_asset_tag: None, is_ec2: false };
    let mut ticks =
        [1, 2, 3, 4].map(|number| tick(number, f64::from(number) * 10.000_000_001, MOUNTINFO, MOUNTSTATS));
    ticks[0].efs_state = Ok(vec![
        state_file("fs-0123456789abcdef0.mnt.a.20127", None),
        state_file("fs-0123456789abcdef0.mnt.b.20127", Some("half")),
        state_file("stunnel-config.fs-0123456789abcdef0.mnt.b.20127", Some("")),
        state_file("~fs-0123456789abcdef0.mnt.c.20128", None),
    ]);
    ticks[1].efs_state = Err("Permission denied (os error 13)".to_owned());
    ticks[1].boot_id = None;
    let reading = ticks[2].reading.as_mut().unwrap();
    (reading.view, reading.mountinfo_before) =
        (View::Init, b"40 1 0:40 / /mnt/other rw - nfs4 a:/ rw\n".to_vec());
    ticks[3].reading = Err("void".to_owned());
    record(&kept, &about, &ticks);

    let recording = Recording::open(&kept).unwrap().unwrap();
    assert_eq!(About::ask(&recording.machine(), false), about);
    assert_eq!(recording.header().interval().as_secs(), 10);
    let read: Vec<_> = recording.ticks().map(Result::unwrap).collect();
    assert_eq!(format!("{read:?}"), format!("{ticks:?}"));
    let (last, _) = recording.last().unwrap();
    assert_eq!(last.moment, ticks[2].moment, "the fourth is void");
}

#[test]
fn a_tick_can_be_looked_at_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    let mut only = tick(1, 0.0, MOUNTINFO, MOUNTSTATS);
    only.efs_state = Ok(vec![state_file("fs-0123456789abcdef0.mnt.efs.20127", Some("{}"))]);
    record(&kept, &About::default(), &[only]);
    let flags = ["mounts", "--procfs", "kept/000001/proc", "--efs-state", "kept/000001/efs"];
    assert_eq!(
        stdout(&efsmon(directory.path(), &flags)),
        "no NFS mounts in this process's mount namespace\n"
    );
}

#[test]
fn what_does_not_change_takes_room_once() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    let ticks: Vec<_> = (1..=3)
        .map(|number| {
            let mut tick =
                tick(number, f64::from(number) * 10.0, MOUNTINFO, &format!("{MOUNTSTATS}device {number}\n"));
            tick.efs_state = Ok(vec![state_file("fs-0123456789abcdef0.mnt.efs.20127", Some("{}"))]);
            tick
        })
        .collect();
    record(&kept, &About::default(), &ticks);
    let node =
        |number: u32, name: &str| fs::metadata(kept.join(format!("{number:06}/{name}"))).unwrap().ino();
    for name in ["proc/self/mountinfo", "efs/fs-0123456789abcdef0.mnt.efs.20127"] {
        assert!(node(1, name) == node(2, name) && node(2, name) == node(3, name), "{name}");
    }
    assert_ne!(node(1, "proc/self/mountstats"), node(2, "proc/self/mountstats"));
}

/// A recording of ticks 1 to 6, and what is left of it after `damage`.
fn damaged(damage: impl Fn(&std::path::Path)) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    let ticks: Vec<_> =
        (1..=6).map(|number| tick(number, f64::from(number) * 10.0, MOUNTINFO, MOUNTSTATS)).collect();
    record(&kept, &About::default(), &ticks);
    damage(&kept);
    let root = format!("{}/", kept.display());
    let recording = Recording::open(&kept).unwrap().unwrap();
    let shown = recording.ticks().map(|tick| match tick {
        Ok(tick) => match tick.reading {
            Ok(_) => tick.number.to_string(),
            Err(reason) => format!("{} void: {}", tick.number, reason.replace(&root, "")),
        },
        Err(damage) => damage.to_string().replace(&root, ""),
    });
    shown.collect()
}

/// Who sends a recording may have put something else in it; nobody waits for that.
#[test]
fn a_fifo_under_a_files_name_is_damage() {
    let fifo = |path: &str| {
        let path = path.to_owned();
        damaged(move |kept| {
            let path = kept.join(&path);
            let _ = fs::remove_file(&path);
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
            rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        })
    };
    assert!(fifo("000003/moment.json")[2].starts_with("tick 000003 cannot be read: moment.json: EOF"));
    for name in ["mountstats", "mountinfo", "mountinfo.before"] {
        let path = format!("000003/proc/self/{name}");
        assert!(fifo(&path)[2].starts_with(&format!("3 void: reading {path}: it is empty")), "{name}");
    }
}

#[test]
fn a_damaged_tick_costs_a_tick() {
    let write = |path: &str, text: &str| {
        let (path, text) = (path.to_owned(), text.to_owned());
        damaged(move |kept| fs::write(kept.join(&path), &text).unwrap())
    };
    assert_eq!(damaged(|_| ()), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(
        write("000003/proc/self/mountstats", "device proc moun")[2],
        "3 void: reading 000003/proc/self/mountstats: it is cut off within a line; the kernel's text ends with a line feed"
    );
    assert_eq!(
        write("000003/moment.json", "{\"wall\": \"yesterday\", \"monotonic_ns\": 1}")[2]
            .split(": wall")
            .next(),
        Some("tick 000003 cannot be read: moment.json")
    );
    assert!(write("000003/moment.json", "")[2].starts_with("tick 000003 cannot be read: moment.json: EOF"));
    assert_eq!(
        write("000003/proc/self/mountinfo.before", "40 1 0:4")[2],
        "3 void: reading 000003/proc/self/mountinfo.before: it is cut off within a line; the kernel's text ends with a \
         line feed"
    );
    let removed = |numbers: &'static [u32]| {
        damaged(move |kept| {
            for number in numbers {
                fs::remove_dir_all(kept.join(format!("{number:06}"))).unwrap();
            }
        })
    };
    assert_eq!(removed(&[3]), ["1", "2", "tick 000003 is missing", "4", "5", "6"]);
    assert_eq!(removed(&[3, 4, 5]), ["1", "2", "ticks 000003 to 000005 are missing", "6"]);
    // What was cut off at either end is not missed, nor what a killed recorder left.
    assert_eq!(removed(&[1, 6]), ["2", "3", "4", "5"]);
    assert_eq!(damaged(|kept| fs::rename(kept.join("000006"), kept.join("unfinished")).unwrap()).len(), 5);
}

#[test]
fn a_directory_that_cannot_be_replayed_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path();
    assert!(Recording::open(kept).unwrap().is_none());
    assert!(Recording::open(&kept.join("none")).unwrap().is_none());
    let open = |header: &str| {
        fs::write(kept.join("efsmon-recording.json"), header).unwrap();
        Recording::open(kept).map(|_| ()).unwrap_err()
    };
    assert!(matches!(open("{"), OpenError::Header { .. }));
    assert!(matches!(open("[]"), OpenError::Header { .. }));
    assert!(matches!(open(r#"{"format": "efsmon-recording/1"}"#), OpenError::Header { .. }));
    let newer = open(r#"{"format": "efsmon-recording/2", "more": 1}"#).to_string();
    let expected =
        "is a recording in the format \"efsmon-recording/2\", and this efsmon reads efsmon-recording/1 only";
    assert!(newer.contains(expected), "{newer}");
    let header =
        r#"{"format":"efsmon-recording/1","what":"","efsmon":"9","interval_seconds":10,"redacted":false}"#;
    assert!(matches!(open(header), OpenError::Empty(_)));
    let output = efsmon(kept, &["mounts", "--procfs", "."]);
    assert!(stderr(&output).contains("is a recording without a single tick"), "{}", stderr(&output));
    assert_eq!(Damage::ManyMissing(2, 3).to_string(), "ticks 000002 to 000003 are missing");
}

#[test]
fn nothing_is_ever_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("mine"), "x").unwrap();
    let output = efsmon(directory.path(), &["record", "kept", "1", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let expected = "kept is not empty; name a directory that is new or empty: nothing is ever overwritten";
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 1);
}
