//! Which records of mountstats are one superblock, by texts of a real client and by made-up ones.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use efsmon::model::Moment;
use efsmon::sampler::Sampler;
use efsmon::sampler::join::{Seen, join};
use efsmon::{mountinfo, mountstats};

fn fixture(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The superblocks with their mount points as printed, and what is wrong.
fn shown(seen: &Seen<'_>) -> String {
    let superblock = |superblock: &efsmon::sampler::join::Superblock<'_>| {
        let records = superblock.records.iter();
        let mounts = records.map(|record| String::from_utf8_lossy(record.mount_point).into_owned());
        format!("{} {}", superblock.number, mounts.collect::<Vec<_>>().join(" "))
    };
    let mut shown: Vec<String> = seen.superblocks.iter().map(superblock).collect();
    if seen.unjoined > 0 {
        shown.push(format!("{} unjoined", seen.unjoined));
    }
    if !seen.complete {
        shown.push("incomplete".to_owned());
    }
    shown.join("; ")
}

/// A mountinfo text from lines of `NUMBER MOUNT_POINT TYPE DEVICE`.
fn mountinfo_text(lines: &[&str]) -> String {
    let line = |line: &&str| {
        let [number, mount_point, fs_type, device] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        format!("60 31 {number} / {mount_point} rw shared:3 - {fs_type} {device} rw,addr=10.0.0.1\n")
    };
    lines.iter().map(line).collect()
}

/// A mountstats text from lines of `MOUNT_POINT TYPE DEVICE`; an NFS mount has the smallest block of statistics.
fn mountstats_text(lines: &[&str]) -> String {
    let block = format!(
        " statvers=1.1\n\topts:\trw\n\tage:\t9\n\tcaps:\tx\n\tsec:\tx\n\tevents:\t{}\n\tbytes:\t{}\n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\tper-op statistics\n\t        READ: 1 1 0 0 0 0 0 0 0\n\n",
        "0 ".repeat(27),
        "0 ".repeat(8),
    );
    let record = |line: &&str| {
        let [mount_point, fs_type, device] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let statistics = if fs_type.starts_with("nfs") && fs_type != "nfsd" { &block } else { "\n" };
        format!("device {device} mounted on {mount_point} with fstype {fs_type}{statistics}")
    };
    lines.iter().map(record).collect()
}

fn check_changing(before: &[&str], records: &[&str], after: &[&str], expected: &str) {
    let (before, after) = (mountinfo_text(before), mountinfo_text(after));
    let mountstats = mountstats_text(records);
    let parsed = mountstats::parse(mountstats.as_bytes());
    assert_eq!(parsed.problems, []);
    let seen = join(&mountinfo::parse(before.as_bytes()).0, &parsed, &mountinfo::parse(after.as_bytes()).0);
    assert_eq!(shown(&seen), expected);
}

fn check(mountinfo: &[&str], records: &[&str], expected: &str) {
    check_changing(mountinfo, records, mountinfo, expected);
}

#[test]
fn mounts_of_one_number_are_one_superblock() {
    check(
        &["259:1 / ext4 /dev/vda1", "0:52 /a nfs4 fs:/", "0:53 /b nfs4 fs:/b", "0:52 /c nfs4 fs:/dir"],
        &["/ ext4 /dev/vda1", "/a nfs4 fs:/", "/b nfs4 fs:/b", "/c nfs4 fs:/dir"],
        "0:52 /a /c; 0:53 /b",
    );
    check(&[], &[], "");
    check(&["259:1 / ext4 /dev/vda1"], &["/ ext4 /dev/vda1"], "");
}

#[test]
fn mounts_over_each_other_are_joined_in_their_order() {
    check(
        &["0:52 /a nfs4 127.0.0.1:/", "0:53 /b nfs4 127.0.0.1:/", "0:54 /a nfs4 127.0.0.1:/"],
        &["/a nfs4 127.0.0.1:/", "/a nfs4 127.0.0.1:/", "/b nfs4 127.0.0.1:/"],
        "0:52 /a; 0:54 /a; 0:53 /b",
    );
    // By device and type where they differ, whatever the order.
    check(
        &["0:52 /a nfs4 one:/", "0:53 /a nfs4 two:/", "0:54 /a nfs one:/"],
        &["/a nfs one:/", "/a nfs4 two:/", "/a nfs4 one:/"],
        "0:54 /a; 0:53 /a; 0:52 /a",
    );
    // One superblock, mounted twice at one place.
    check(&["0:52 /a nfs4 one:/", "0:52 /a nfs4 one:/"], &["/a nfs4 one:/", "/a nfs4 one:/"], "0:52 /a /a");
}

#[test]
fn other_file_systems_at_the_same_place_are_not_in_the_way() {
    let mountinfo = ["0:40 /a autofs systemd-1", "0:52 /a nfs4 fs:/", "0:60 /a tmpfs fs:/"];
    check(&mountinfo, &["/a autofs systemd-1", "/a nfs4 fs:/", "/a tmpfs fs:/"], "0:52 /a");
    // The automounter's mount alone, and a server's own control file system.
    check(&["0:40 /a autofs systemd-1"], &["/a autofs systemd-1"], "");
    check(&["0:42 /proc/fs/nfsd nfsd nfsd"], &["/proc/fs/nfsd nfsd nfsd"], "");
}

#[test]
fn names_are_compared_as_printed() {
    let (point, device) = (r"/mnt/a\040b\134c\011d\012e#\134040", r"fs:/with\040fstype\040nfs4");
    check(
        &[&format!("0:52 {point} nfs4 {device}")],
        &[&format!("{point} nfs4 {device}")],
        &format!("0:52 {point}"),
    );
}

#[test]
fn a_mount_that_came_went_or_moved_meanwhile_is_not_joined() {
    let (a, b) = ("0:52 /a nfs4 fs:/", "0:53 /b nfs4 fs:/b");
    let records = ["/a nfs4 fs:/", "/b nfs4 fs:/b"];
    check_changing(&[a, b], &records, &[a, b], "0:52 /a; 0:53 /b");
    check_changing(&[a], &records, &[a, b], "0:52 /a; 1 unjoined; incomplete");
    check_changing(&[a, b], &records, &[a], "0:52 /a; 1 unjoined; incomplete");
    check_changing(&[a], &records, &[a], "0:52 /a; 1 unjoined; incomplete");
    check_changing(&[a, b], &records, &[a, "0:54 /b nfs4 fs:/b"], "0:52 /a; 1 unjoined; incomplete");
    // In mountinfo, but not in mountstats: which superblock it is, and that it is there, is not known.
    check_changing(&[a, b], &records[..1], &[a, b], "0:52 /a; incomplete");
    check_changing(&[a], &records[..1], &[a, b], "0:52 /a; incomplete");
    // Gone before mountstats was read.
    check_changing(&[a, b], &records[..1], &[a], "0:52 /a");
}

#[test]
fn of_mounts_over_each_other_none_is_joined_when_their_number_differs() {
    let over = ["0:52 /a nfs4 127.0.0.1:/", "0:53 /a nfs4 127.0.0.1:/", "0:54 /b nfs4 127.0.0.1:/"];
    let (a, b) = ("/a nfs4 127.0.0.1:/", "/b nfs4 127.0.0.1:/");
    check(&over, &[a, a, b], "0:52 /a; 0:53 /a; 0:54 /b");
    // It may be either of the two.
    check(&over, &[a, b], "0:54 /b; 1 unjoined; incomplete");
    check(&over, &[a, a, a, b], "0:54 /b; 3 unjoined; incomplete");
}

#[test]
fn a_broken_record_hides_no_other_and_makes_the_reading_incomplete() {
    let mounts = mountinfo_text(&["0:52 /a nfs4 fs:/", "0:53 /b nfs4 fs:/b"]);
    let records = mountstats_text(&["/a nfs4 fs:/", "/b nfs4 fs:/b"]).replacen("\tage:\t9\n", "", 1);
    let (mounts, parsed) = (mountinfo::parse(mounts.as_bytes()).0, mountstats::parse(records.as_bytes()));
    assert_eq!(parsed.problems.len(), 1);
    assert_eq!(shown(&join(&mounts, &parsed, &mounts)), "0:53 /b; incomplete");
}

#[test]
fn two_superblocks_on_one_path_are_two() {
    let text = fixture("mountstats/43_two_nfs_on_one_path.txt");
    let parsed = mountstats::parse(&text);
    let device = "fs-0a1b2c3d4e5f60711.efs.eu-west-1.amazonaws.com:/";
    let mounts =
        mountinfo_text(&[&format!("0:52 /mnt/same nfs4 {device}"), "0:53 /mnt/same nfs4 10.1.1.1:/other"]);
    let mounts = mountinfo::parse(mounts.as_bytes()).0;
    assert_eq!(shown(&join(&mounts, &parsed, &mounts)), "0:52 /mnt/same; 0:53 /mnt/same");
}

/// Texts of a real client: the superblocks at the beginning and at the end, and the finished READs and WRITEs
/// between, by the difference of the numbers that the kernel printed.
fn check_capture(name: &str, superblocks: &str, requests: &[(&str, u64, u64)]) {
    let mut sampler = Sampler::default();
    let mut intervals = Vec::new();
    for (seconds, moment) in [(0, "begin"), (10, "end")] {
        let text = |kind: &str| fixture(&format!("superblocks/{name}/{moment}.{kind}"));
        let (mountinfo, mountstats) = (text("mountinfo"), text("mountstats"));
        let (mounts, problems) = mountinfo::parse(&mountinfo);
        let parsed = mountstats::parse(&mountstats);
        assert_eq!((problems, &parsed.problems), (vec![], &vec![]));
        let seen = join(&mounts, &parsed, &mounts);
        assert_eq!(shown(&seen), superblocks, "{name}, {moment}");
        let moment = Moment { wall: Duration::from_secs(seconds), monotonic: Duration::from_secs(seconds) };
        intervals = sampler.observe(moment, &seen, &HashSet::new(), false);
    }
    let counted: BTreeMap<_, _> = intervals
        .iter()
        .map(|interval| (interval.number.to_string(), &interval.traffic))
        .map(|(number, traffic)| (number, (traffic.read.requests, traffic.write.requests)))
        .collect();
    let expected: BTreeMap<_, _> =
        requests.iter().map(|(number, read, write)| ((*number).to_owned(), (*read, *write))).collect();
    assert_eq!(counted, expected, "{name}");
}

#[test]
fn four_mounts_of_one_superblock_are_counted_once() {
    // 3176 - 1401 READs and 1642 - 863 WRITEs, in each of the four records.
    let superblocks = r"0:44 /mnt/efs /mnt/efs\040again /mnt/efs-dir /mnt/bind";
    check_capture("aliases", superblocks, &[("0:44", 1775, 779)]);
}

#[test]
fn odd_names_and_a_mount_over_another_are_told_apart() {
    let superblocks = r"0:44 /mnt/efs /mnt/tab\011nl\012hash#back\134slash /mnt/subdir /mnt/on\040with\040fstype\040nfs4 /mnt/over; 0:47 /mnt/over; 0:48 /mnt/ünï";
    check_capture("odd-names", superblocks, &[("0:44", 1338, 588), ("0:47", 0, 0), ("0:48", 0, 0)]);
}

#[test]
fn one_export_mounted_with_nosharecache_has_its_own_superblock() {
    let superblocks = "0:44 /mnt/efs; 0:45 /mnt/fs2; 0:46 /mnt/efs-nosharecache";
    check_capture("nosharecache", superblocks, &[("0:44", 0, 0), ("0:45", 0, 0), ("0:46", 690, 315)]);
}

#[test]
fn mounts_through_local_proxies_differ_though_their_device_is_the_same() {
    check_capture("proxy", "0:48 /mnt/efs; 0:49 /mnt/efs2", &[("0:48", 171, 0), ("0:49", 0, 0)]);
}

#[test]
fn two_file_systems_of_one_server_are_two_superblocks() {
    let requests = [("0:44", 0, 0), ("0:45", 235, 32)];
    check_capture("two-filesystems-one-server", "0:44 /mnt/efs; 0:45 /mnt/fs2", &requests);
}

#[test]
fn a_mount_that_the_client_made_below_another_is_its_own() {
    let requests = [("0:44", 1664, 732), ("0:45", 0, 0)];
    check_capture("submount-crossing", "0:44 /mnt/efs; 0:45 /mnt/efs/fs2", &requests);
}
