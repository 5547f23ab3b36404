use std::borrow::Cow;
use std::os::unix::fs::PermissionsExt;

use super::failing_disk::FailingDisk;
use super::*;
use crate::model::{Dimension, Unit};

pub(super) const OWNER: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const STRANGER: &str = "ffffffffffffffffffffffffffffffff";
const START: u64 = 1_764_511_200;
const DAY: u64 = 86_400;

pub(super) fn minute(index: u64) -> Minute {
    Minute::of(Duration::from_secs(START + 60 * index))
}

pub(super) fn datum(metric: &str, at: Minute) -> Datum {
    Datum {
        metric: Cow::Owned(metric.to_owned()),
        dimensions: vec![Dimension { name: "FileSystemId".into(), value: Some("fs-0123abcd".to_owned()) }],
        timestamp: at,
        unit: Unit::Bytes,
        values: vec![4096.0],
        counts: vec![1.0],
    }
}

pub(super) fn batch(data: Vec<Datum>) -> Batch {
    Batch { namespace: "EFSMon".to_owned(), data }
}

fn open(disk: &FailingDisk) -> Opened<FailingDisk> {
    open_with(disk, Limits::default())
}

fn open_with(disk: &FailingDisk, limits: Limits) -> Opened<FailingDisk> {
    Spool::open(disk.clone(), OWNER, limits).unwrap()
}

/// Room for the counters, old and new, and for so many files of one block.
fn room_for(files: u64) -> Limits {
    Limits { max_bytes: (files + 2) * BLOCK, ..Limits::default() }
}

/// Commits minute `index` as one request of one datum.
fn commit_minute(spool: &mut Spool<FailingDisk>, index: u64) -> Result<(), SpoolError> {
    spool.commit(&[batch(vec![datum("ReadBytes", minute(index))])], format!("after {index}").as_bytes())
}

fn minutes(spool: &Spool<FailingDisk>) -> Vec<Minute> {
    spool.files().map(|(id, _)| id.newest).collect()
}

#[test]
fn the_bytes_on_disk_are_these() {
    let disk = FailingDisk::default();
    let mut waiting = datum("ReadBytes", minute(0));
    waiting.dimensions.push(Dimension { name: "InstanceId".into(), value: None });
    open(&disk).spool.commit(&[batch(vec![waiting])], br#"{"at":1}"#).unwrap();
    assert_eq!(disk.names(), ["000000000001-000.request", "counters"]);
    assert_eq!(
        String::from_utf8(disk.read("000000000001-000.request").unwrap()).unwrap(),
        "efsmon-request/1 6d06d6e4 0f1e2d3c4b5a69788796a5b4c3d2e1f0 1764511200 1764511200 1 host EFSMon\n\
         {\"namespace\":\"EFSMon\",\"data\":[{\"metric\":\"ReadBytes\",\"dimensions\":[{\"name\":\"FileSystemId\",\
         \"value\":\"fs-0123abcd\"},{\"name\":\"InstanceId\",\"value\":null}],\"timestamp\":1764511200,\
         \"unit\":\"Bytes\",\"values\":[4096.0],\"counts\":[1.0]}]}"
    );
    assert_eq!(
        String::from_utf8(disk.read("counters").unwrap()).unwrap(),
        "efsmon-counters/1 0656a779 0f1e2d3c4b5a69788796a5b4c3d2e1f0 1 1\n{\"at\":1}"
    );
}

#[test]
fn a_restart_finds_requests_and_counters_as_they_were() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    let batches = [
        batch(vec![datum("ReadBytes", minute(7)), datum("WriteBytes", minute(5))]),
        batch(Vec::new()),
        Batch { namespace: "CustomEC2".to_owned(), data: vec![datum("ec2-efs-read-throughput", minute(7))] },
    ];
    spool.commit(&batches, b"counters\n\xff").unwrap();

    let Opened { mut spool, counters } = open(&disk);
    assert_eq!(counters.as_deref(), Some(&b"counters\n\xff"[..]));
    assert_eq!(spool.counters().unwrap(), counters);
    let files: Vec<(FileId, Entry)> = spool.files().map(|(id, entry)| (id, entry.clone())).collect();
    assert_eq!(files.len(), 2);
    let (first, second) = (&files[0], &files[1]);
    assert_eq!((first.0.newest, first.1.oldest, first.1.data), (minute(7), minute(5), 2));
    assert_eq!((&*first.1.namespace, &*second.1.namespace), ("EFSMon", "CustomEC2"));
    assert!(!first.1.needs_host);
    assert_eq!(spool.read(first.0).as_ref(), Some(&batches[0]));
    assert_eq!(spool.read(second.0).as_ref(), Some(&batches[2]));
    let standing = spool.standing();
    assert_eq!((standing.files, standing.data, standing.bytes), (2, 3, 2 * BLOCK));
    assert_eq!((standing.oldest, standing.newest), (Some(minute(5)), Some(minute(7))));
}

#[test]
fn an_acknowledged_request_is_gone_and_its_number_is_not_used_again() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    commit_minute(&mut spool, 0).unwrap();
    let sent: Vec<FileId> = spool.files().map(|(id, _)| id).collect();
    spool.finish(&sent, Ending::Acknowledged).unwrap();
    assert_eq!(disk.names(), ["counters"]);
    commit_minute(&mut open(&disk).spool, 1).unwrap();
    assert_eq!(disk.names(), ["000000000002-000.request", "counters"]);
    assert_eq!(spool.standing().losses, Losses::default());
}

#[test]
fn a_rewritten_request_keeps_what_is_left_of_it() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    let (a, b) = (datum("A", minute(0)), datum("B", minute(0)));
    spool.commit(&[batch(vec![a, b.clone()])], b"").unwrap();
    let (id, _) = spool.files().next().unwrap();
    spool.rewrite(id, &batch(vec![b.clone()])).unwrap();
    let mut spool = open(&disk).spool;
    assert_eq!(spool.read(id), Some(batch(vec![b])));
    spool.rewrite(id, &batch(Vec::new())).unwrap();
    spool.rewrite(id, &batch(vec![datum("A", minute(0))])).unwrap();
    assert_eq!((spool.files().count(), disk.names()), (0, vec!["counters".to_owned()]));
}

#[test]
fn a_damaged_file_costs_itself_and_is_counted() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    commit_minute(&mut spool, 0).unwrap();
    spool.commit(&[batch(vec![datum("A", minute(1)); 3])], b"").unwrap();
    commit_minute(&mut spool, 2).unwrap();
    commit_minute(&mut spool, 3).unwrap();
    disk.damage("000000000002-000.request");
    disk.plant("000000000003-000.request", b"efsmon-request/1");
    disk.plant("000000000004-000.request.tmp", b"half");
    let mut spool = open(&disk).spool;
    assert_eq!(minutes(&spool), [minute(0), minute(3)]);
    // As many data as the head of the one says; the head of the other is torn.
    assert_eq!((spool.losses().damaged_files, spool.losses().data()), (2, 3 + 1));
    assert_eq!(disk.names(), ["000000000001-000.request", "000000000004-000.request", "counters"]);

    // Damaged, or not readable for now, after the start.
    disk.damage("000000000001-000.request");
    disk.set_unreadable(Some("000000000004-000.request"));
    for id in spool.files().map(|(id, _)| id).collect::<Vec<_>>() {
        assert_eq!(spool.read(id), None);
    }
    assert_eq!((spool.files().count(), spool.losses().damaged_files), (0, 4));
    assert_eq!(spool.losses().data(), 6);
    disk.set_unreadable(None);
    assert_eq!(minutes(&open(&disk).spool), [minute(3)]);
}

#[test]
fn the_data_of_a_damaged_request_are_as_many_as_a_request_can_hold() {
    let check = |head: &[u8], data| assert_eq!(format::damaged_data(head), data, "{}", head.escape_ascii());
    check(b"efsmon-request/1 6d06d6e4 owner 1764511200 1764511200 1000 - EFSMon\n{", 1000);
    check(b"efsmon-request/1 6d06d6e4 owner 1764511200 1764511200 7", 7);
    check(b"efsmon-request/1 6d06d6e4 owner 1764511200 1764511200 1001 - EFSMon\n{", 1);
    check(b"efsmon-request/1 6d06d6e4 owner 1764511200 1764511200 0 - EFSMon\n{", 1);
    check(b"efsmon-request/1 6d06d6e4 owner 1764511200 1764511200 \xff - EFSMon\n{", 1);
    check(b"a b c d e 9", 1);
    check(b"", 1);
}

#[test]
fn an_unreadable_request_takes_room_and_is_the_first_to_make_some() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    commit_minute(&mut spool, 0).unwrap();
    commit_minute(&mut spool, 1).unwrap();
    let unreadable = "000000000002-000.request";
    disk.set_unreadable(Some(unreadable));

    // Found at the start, or when it was to be sent.
    let found = open_with(&disk, room_for(2)).spool;
    let mut read = spool;
    let (id, _) = read.files().next_back().unwrap();
    assert_eq!(read.read(id), None);
    for mut spool in [found, read] {
        spool.limits = room_for(2);
        assert_eq!((minutes(&spool), spool.standing().aside_files), (vec![minute(0)], 0));
        assert_eq!((spool.losses().damaged_files, spool.losses().data()), (1, 1));
        let kept = disk.after_kill();
        spool.disk = kept.clone();
        commit_minute(&mut spool, 2).unwrap();
        assert_eq!(kept.names(), ["000000000001-000.request", "000000000003-000.request", "counters"]);
        assert_eq!(spool.losses().deleted_data, 0);
    }
}

#[test]
fn counters_of_another_version_are_kept_aside() {
    let disk = FailingDisk::default();
    commit_minute(&mut open(&disk).spool, 0).unwrap();
    let later = b"efsmon-counters/2 of a later version";
    disk.plant(COUNTERS, later);
    let Opened { mut spool, counters } = open(&disk);
    assert_eq!((counters, minutes(&spool)), (None, vec![minute(0)]));
    assert_eq!((spool.standing().aside_files, spool.losses()), (1, Losses::default()));
    commit_minute(&mut spool, 1).unwrap();
    assert_eq!(disk.read("counters.aside").unwrap(), later);
    assert_eq!(open(&disk).counters.as_deref(), Some(&b"after 1"[..]));

    // They go when room is needed.
    let mut spool = open_with(&disk, room_for(2)).spool;
    commit_minute(&mut spool, 2).unwrap();
    assert!(!disk.names().contains(&"counters.aside".to_owned()));
    assert_eq!(minutes(&spool), [minute(1), minute(2)]);
}

#[test]
fn damaged_counters_are_no_counters_and_cost_no_request() {
    let disk = FailingDisk::default();
    commit_minute(&mut open(&disk).spool, 0).unwrap();
    disk.damage(COUNTERS);
    let Opened { mut spool, counters } = open(&disk);
    assert_eq!((counters, minutes(&spool)), (None, vec![minute(0)]));
    commit_minute(&mut spool, 1).unwrap();
    assert_eq!(minutes(&open(&disk).spool), [minute(0), minute(1)]);
}

#[test]
fn a_part_numbered_above_the_counters_is_of_a_commit_that_never_was() {
    let disk = FailingDisk::default();
    commit_minute(&mut open(&disk).spool, 0).unwrap();
    disk.plant("000000000002-000.request", &disk.read("000000000001-000.request").unwrap());
    disk.plant(COUNTERS_NEXT, b"efsmon-counters/1 0000");
    assert_eq!(minutes(&open(&disk).spool), [minute(0)]);
    assert_eq!(disk.names(), ["000000000001-000.request", "counters"]);
}

#[test]
fn another_machines_state_is_kept_aside_and_deleted_first() {
    let disk = FailingDisk::default();
    let mut other = Spool::open(disk.clone(), STRANGER, Limits::default()).unwrap().spool;
    commit_minute(&mut other, 0).unwrap();
    commit_minute(&mut other, 1).unwrap();
    disk.plant("000000000002-001.request", b"efsmon-request/2 of a later version");

    let Opened { mut spool, counters } = open_with(&disk, room_for(3));
    assert_eq!((counters, spool.files().count(), spool.standing().aside_files), (None, 0, 3));
    commit_minute(&mut spool, 2).unwrap();
    let Opened { mut spool, counters } = open_with(&disk, room_for(3));
    assert_eq!(counters.as_deref(), Some(&b"after 2"[..]));
    assert_eq!((minutes(&spool), spool.standing().aside_files), (vec![minute(2)], 2));
    for index in 3..6 {
        commit_minute(&mut spool, index).unwrap();
    }
    assert_eq!((minutes(&spool), spool.standing().aside_files), (vec![minute(3), minute(4), minute(5)], 0));
    assert_eq!(spool.standing().losses.deleted_data, 1);
}

#[test]
fn the_oldest_requests_make_room_for_the_newest() {
    let disk = FailingDisk::default();
    let mut spool = open_with(&disk, room_for(2)).spool;
    for index in [0, 2, 1, 3] {
        commit_minute(&mut spool, index).unwrap();
    }
    assert_eq!(minutes(&spool), [minute(2), minute(3)]);
    let losses = spool.standing().losses;
    assert_eq!((losses.deleted_files, losses.deleted_data, losses.data()), (2, 2, 2));
    assert_eq!(disk.names().len(), 3);
}

#[test]
fn a_minute_larger_than_the_spool_is_refused_and_the_next_one_is_not() {
    let disk = FailingDisk::default();
    let mut spool = open_with(&disk, room_for(1)).spool;
    let large = batch(vec![datum("ReadBytes", minute(0)); 100]);
    assert!(matches!(spool.commit(&[large], b"lost"), Err(SpoolError::Full { .. })));
    assert_eq!((disk.names().len(), spool.counters().unwrap()), (0, None));
    commit_minute(&mut spool, 0).unwrap();
    assert_eq!(minutes(&open(&disk).spool), [minute(0)]);
}

#[test]
fn a_full_disk_costs_the_oldest_data_and_then_the_commit_but_never_half_a_minute() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    for index in 0..5 {
        commit_minute(&mut spool, index).unwrap();
    }
    // Somebody else filled the disk.
    let used: usize = disk.list().unwrap().iter().map(|(_, bytes)| *bytes as usize).sum();
    disk.set_capacity(Some(used));
    commit_minute(&mut spool, 5).unwrap();
    let deleted = spool.standing().losses.deleted_data;
    assert!((1..5).contains(&deleted), "{deleted}");
    assert_eq!(minutes(&spool).last(), Some(&minute(5)));

    disk.set_capacity(Some(0));
    assert!(matches!(commit_minute(&mut spool, 6), Err(SpoolError::Full { .. })));
    assert_eq!((spool.files().count(), disk.names()), (0, vec![COUNTERS.to_owned()]));
    assert_eq!(open(&disk).counters.as_deref(), Some(&b"after 5"[..]));

    disk.set_capacity(None);
    commit_minute(&mut spool, 7).unwrap();
    assert_eq!(open(&disk).counters.as_deref(), Some(&b"after 7"[..]));
}

#[test]
fn a_read_only_disk_refuses_the_commit_and_keeps_everything() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    commit_minute(&mut spool, 0).unwrap();
    disk.set_read_only(true);
    assert!(matches!(commit_minute(&mut spool, 1), Err(SpoolError::Disk(_))));
    let (id, _) = spool.files().next().unwrap();
    assert!(spool.finish(&[id], Ending::Acknowledged).is_err());
    assert_eq!((spool.files().count(), spool.standing().unremoved_files), (0, 1));
    assert_eq!(minutes(&open(&disk).spool), [minute(0)]);

    disk.set_read_only(false);
    commit_minute(&mut spool, 2).unwrap();
    spool.finish(&[], Ending::Acknowledged).unwrap();
    assert_eq!((minutes(&open(&disk).spool), spool.standing().unremoved_files), (vec![minute(2)], 0));
}

#[test]
fn data_that_cloudwatch_no_longer_takes_expire() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    let now = minute(0).start() + Duration::from_secs(15 * DAY);
    for index in [0, 2 * DAY / 60, 15 * DAY / 60 - 1] {
        commit_minute(&mut spool, index).unwrap();
    }
    spool.expire(now).unwrap();
    assert_eq!(minutes(&spool), [minute(2 * DAY / 60), minute(15 * DAY / 60 - 1)]);
    assert_eq!((spool.standing().losses.expired_data, disk.names().len()), (1, 3));
    // Exactly two weeks is still taken.
    spool.expire(minute(2 * DAY / 60).start() + Duration::from_secs(14 * DAY)).unwrap();
    assert_eq!(spool.files().count(), 2);
}

#[test]
fn refused_data_are_kept_for_people_within_two_mebibytes() {
    let disk = FailingDisk::default();
    let mut spool = open(&disk).spool;
    let long = datum(&"x".repeat(300_000), minute(0));
    for second in 0..8 {
        spool.reject(Duration::from_secs(START + second), "EFSMon", &long, "too \"long\"").unwrap();
    }
    let lines = |name| -> Vec<u64> {
        let text = String::from_utf8(disk.read(name).unwrap()).unwrap();
        let line = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(line).map(|line| line["rejected_at"].as_u64().unwrap() - START).collect()
    };
    assert_eq!((lines("rejected.jsonl.1"), lines("rejected.jsonl")), (vec![3, 4, 5], vec![6, 7]));
    assert_eq!(spool.standing().losses.rejected_data, 8);
    assert!(disk.names().len() == 2 && open(&disk).spool.files().count() == 0);
}

#[test]
fn a_directory_is_private_and_its_errors_name_the_path() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("state");
    let mut spool = Spool::open(Directory::open(&path).unwrap(), OWNER, Limits::default()).unwrap().spool;
    spool.commit(&[batch(vec![datum("ReadBytes", minute(0))])], b"x").unwrap();
    let mode = |name: &str| std::fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("counters"), mode("000000000001-000.request")), (0o700, 0o600, 0o600));
    drop(spool);
    let mut spool = Spool::open(Directory::open(&path).unwrap(), OWNER, Limits::default()).unwrap().spool;
    let (id, _) = spool.files().next().unwrap();
    assert!(spool.read(id).is_some());
    spool.finish(&[id], Ending::Acknowledged).unwrap();
    assert!(!path.join("000000000001-000.request").exists());

    std::fs::remove_dir_all(&path).unwrap();
    let error = spool.commit(&[], b"x").unwrap_err().to_string();
    assert!(error.contains(&format!("cannot write {}/counters.next", path.display())), "{error}");
}

#[test]
fn a_directory_is_one_process_s() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("state");
    let first = Directory::open(&path).unwrap();
    let second = Directory::open(&path).unwrap_err();
    assert!(matches!(&second, DirectoryError::Held { path: lock } if *lock == path.join("lock")));
    let said = second.to_string();
    assert!(said.starts_with("another efsmon uses this state directory (it holds "), "{said}");
    let mode = std::fs::metadata(path.join("lock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(first);
    Directory::open(&path).unwrap();
}

#[test]
fn what_is_above_a_directory_that_is_made_is_no_secret() {
    let parent = tempfile::tempdir().unwrap();
    // Whatever this process's usual mode is.
    std::fs::create_dir(parent.path().join("usual")).unwrap();
    Directory::open(&parent.path().join("lib/efsmon")).unwrap();
    let mode = |name: &str| std::fs::metadata(parent.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("lib"), mode("lib/efsmon")), (mode("usual"), 0o700));
}

#[test]
fn a_note_is_the_old_or_the_new_one_and_disturbs_no_request() {
    for seed in 0..20 {
        for steps in 0..6 {
            let disk = FailingDisk::default();
            let mut spool = open(&disk).spool;
            commit_minute(&mut spool, 0).unwrap();
            let standing = spool.standing();
            spool.keep(Note::MountTargets, b"old").unwrap();
            assert_eq!(spool.standing(), standing);
            disk.cut_power_after(steps);
            let kept = spool.keep(Note::MountTargets, b"new").is_ok();
            let disk = disk.after_power_cut(&mut fastrand::Rng::with_seed(seed));
            let Opened { spool, counters } = open(&disk);
            let note = spool.kept(Note::MountTargets).unwrap();
            assert!(note == b"new" || note == b"old" && !kept, "{note:?} after {steps} steps");
            assert_eq!((counters.as_deref(), minutes(&spool)), (Some(&b"after 0"[..]), vec![minute(0)]));
            assert_eq!(disk.names(), ["000000000001-000.request", "counters", "mount-targets.json"]);
        }
    }
    assert_eq!(open(&FailingDisk::default()).spool.kept(Note::MountTargets), None);
}
