use super::*;
use crate::catalog::Scope;
use crate::efs::helper_mounts;
use crate::model::{Minute, Moment};
use crate::source::StateFile;

const FS: &str = "fs-01234567";
const LOCAL: &str = "127.0.0.1:/";
const NAMED: &str = "fs-89abcdef.efs.us-east-1.amazonaws.com:/";

/// 2026-09-21T14:14:00Z, and the clock that does not jump.
fn at(seconds: u64) -> Moment {
    let since = Duration::from_secs(seconds);
    Moment { wall: Duration::from_secs(1_790_000_040) + since, monotonic: Duration::from_secs(5_000) + since }
}

/// A mount: number, mount point, device, age, READs so far.
type Mount<'a> = (&'a str, &'a str, &'a str, u64, u64);

fn reading(seconds: u64, mounts: &[Mount<'_>]) -> Reading {
    let mut mountinfo = "22 1 259:1 / / rw - ext4 /dev/vda1 rw\n".to_owned();
    let mut mountstats = "device /dev/vda1 mounted on / with fstype ext4\n".to_owned();
    for (number, mount_point, device, age, reads) in mounts {
        mountinfo += &format!("60 22 {number} / {mount_point} rw - nfs4 {device} rw\n");
        mountstats += &format!(
            "device {device} mounted on {mount_point} with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1,port=20100\n\
             \tage:\t{age}\n\tcaps:\tx\n\tsec:\tx\n\tevents:\t{}\n\tbytes:\t{}\n\tRPC iostats version: 1.1\n\
             \tper-op statistics\n\t        READ: {reads} {reads} 0 0 0 0 0 0 0\n\n",
            "0 ".repeat(27),
            "0 ".repeat(8)
        );
    }
    let mountinfo = mountinfo.into_bytes();
    let (mountinfo_before, mountinfo_after) = (mountinfo.clone(), mountinfo);
    let mountstats = mountstats.into_bytes();
    Reading { moment: at(seconds), view: View::Init, mountinfo_before, mountstats, mountinfo_after }
}

fn monitor() -> Monitor {
    let settings = Settings {
        sample_interval: Duration::from_secs(10),
        series: SeriesLimits::new(Profile::Minimal, 50),
        mounts: Vec::new(),
        stall_after: Duration::from_secs(30),
    };
    Monitor::new(settings, State::default())
}

fn state() -> Vec<HelperMount> {
    let text = Some(b"{\"mountpoint\": \"/mnt/efs\"}".to_vec());
    helper_mounts(&[StateFile { name: format!("{FS}.mnt.efs.20100"), text }])
}

/// The READs of each minute that closes, by file system.
fn reads(monitor: &mut Monitor) -> Vec<(i64, String, f64)> {
    let data = monitor.close(&OwnFigures::default());
    let reads = data.into_iter().filter(|datum| datum.metric == "ReadOperations");
    let read = |datum: Datum| {
        assert_eq!(datum.dimensions.len(), Scope::FileSystem.dimensions().len());
        let minute = datum.timestamp.seconds() - Minute::of(at(0).wall).seconds();
        (minute, datum.dimensions[0].value.clone().unwrap(), datum.values.iter().sum())
    };
    reads.map(read).collect()
}

#[test]
fn a_mount_that_is_named_late_is_counted_from_its_birth() {
    let mut monitor = monitor();
    let mount = |age, reads| [("0:52", "/mnt/efs", LOCAL, age, reads)];
    monitor.observe(&reading(0, &[]), Vec::new);
    let sighting = monitor.observe(&reading(10, &mount(5, 100)), Vec::new);
    assert_eq!((sighting.superblocks, sighting.file_systems.len(), sighting.not_published.len()), (1, 0, 1));
    monitor.observe(&reading(20, &mount(15, 150)), Vec::new);
    let sighting = monitor.observe(&reading(30, &mount(25, 160)), state);
    assert_eq!(sighting.file_systems, BTreeMap::from([(FS.parse().unwrap(), 1)]));
    monitor.observe(&reading(60, &mount(55, 170)), || panic!("its name is known"));
    assert_eq!(reads(&mut monitor), [(0, FS.to_owned(), 170.0)]);
    assert_eq!(monitor.series(), (4 + 11 + 2, 0));
}

#[test]
fn all_mounts_of_a_file_system_are_one() {
    let mut monitor = monitor();
    let mounts = |age, a, b, c| {
        [
            ("0:52", "/a", NAMED, age, a),
            ("0:53", "/b", NAMED, age, b),
            ("0:52", "/bind", NAMED, age, a),
            ("0:54", "/c", "10.0.0.9:/", age, c),
        ]
    };
    monitor.observe(&reading(0, &mounts(100, 10, 20, 1)), Vec::new);
    let sighting = monitor.observe(&reading(60, &mounts(160, 15, 27, 1000)), Vec::new);
    assert_eq!(sighting.file_systems, BTreeMap::from([("fs-89abcdef".parse().unwrap(), 2)]));
    assert_eq!(reads(&mut monitor), [(0, "fs-89abcdef".to_owned(), 5.0 + 7.0)]);
}

#[test]
fn a_commit_that_failed_is_counted_again_from_where_it_was() {
    let mount = |age, reads| [("0:52", "/mnt/efs", NAMED, age, reads)];
    let mut monitor = monitor();
    monitor.observe(&reading(0, &mount(100, 10)), Vec::new);
    let kept = serde_json::to_string(monitor.state()).unwrap();
    monitor.observe(&reading(60, &mount(160, 17)), Vec::new);
    assert_eq!(reads(&mut monitor), [(0, "fs-89abcdef".to_owned(), 7.0)]);
    monitor.go_back(serde_json::from_str(&kept).unwrap());
    monitor.observe(&reading(120, &mount(220, 30)), Vec::new);
    let counted = reads(&mut monitor);
    assert_eq!(counted.iter().map(|(_, _, reads)| reads).sum::<f64>(), 20.0);
    assert_eq!(
        counted.iter().map(|(minute, _, _)| *minute).collect::<std::collections::BTreeSet<_>>(),
        [0, 60].into()
    );
}

#[test]
fn a_sighting_says_what_is_not_published_and_why() {
    let mut monitor = monitor();
    let mounts = [
        ("0:52", "/mnt/efs", LOCAL, 9, 1),
        ("0:53", "/mnt/named", NAMED, 9, 1),
        ("0:54", r"/mnt/my\040nas", r"nas:/my\040export", 9, 1),
    ];
    let mut texts = reading(0, &mounts);
    texts.mountinfo_after.extend(b"61 22 nonsense\n");
    texts
        .mountstats
        .extend(b"device nas:/x mounted on /mnt/broken with fstype nfs4 statvers=1.1\n\tage:\tx\n\n");
    let sighting = monitor.observe(&texts, Vec::new);
    assert_eq!((sighting.view, sighting.superblocks, sighting.unjoined), (Some(View::Init), 3, 0));
    let shown = |mount: &NotPublished| format!("{} {}: {}", mount.mount_point, mount.device, mount.reason);
    assert_eq!(
        sighting.not_published.iter().map(shown).collect::<Vec<_>>(),
        [
            "/mnt/efs 127.0.0.1:/: no state file of amazon-efs-utils for its port",
            "/mnt/my nas nas:/my export: its server is not an EFS name; if it is EFS, set identity.lookup or name the file system in [[mounts]]",
        ]
    );
    assert_eq!(sighting.problems.len(), 2, "{:?}", sighting.problems);
    assert!(sighting.problems[0].contains("/mnt/broken"), "{:?}", sighting.problems);
    assert!(sighting.problems[1].contains("is this a mountinfo text?"), "{:?}", sighting.problems);
    // What a helper made and nobody named in 10 minutes is said to the fleet.
    assert_eq!(sighting.unidentified, 0);
    let aged = mounts.map(|(number, at, device, _, reads)| (number, at, device, 609, reads));
    assert_eq!(monitor.observe(&reading(600, &aged), Vec::new).unidentified, 1);
}

#[test]
fn a_name_that_is_not_utf8_keeps_its_bytes() {
    let mut texts = reading(0, &[("0:52", r"/mnt/?", "nas:/?", 9, 1)]);
    let latin = |text: &[u8]| text.iter().map(|byte| if *byte == b'?' { 0xfc } else { *byte }).collect();
    (texts.mountinfo_before, texts.mountstats, texts.mountinfo_after) =
        (latin(&texts.mountinfo_before), latin(&texts.mountstats), latin(&texts.mountinfo_after));
    let mount = monitor().observe(&texts, Vec::new).not_published.remove(0);
    assert_eq!((&*mount.mount_point, &*mount.device), (r"/mnt/\xfc", r"nas:/\xfc"));
}

#[test]
fn a_sighting_names_no_more_than_20() {
    let names: Vec<_> = (0..50).map(|n| (format!("0:{n}"), format!("/mnt/{n}"))).collect();
    let mounts: Vec<Mount<'_>> = names.iter().map(|(number, at)| (&**number, &**at, "nas:/", 9, 1)).collect();
    let sighting = monitor().observe(&reading(0, &mounts), Vec::new);
    assert_eq!((sighting.superblocks, sighting.not_published.len()), (50, 20));
}

#[test]
fn a_sighting_names_every_stalled_mount() {
    let mut monitor = monitor();
    let mut sighting = Sighting::default();
    for seconds in [0, 10, 40] {
        let mounts =
            [("0:52", "/mnt/efs", NAMED, 100 + seconds, 1), ("0:52", "/mnt/again", NAMED, 100 + seconds, 1)];
        let mut texts = reading(seconds, &mounts);
        let text = String::from_utf8(texts.mountstats).unwrap();
        let xprt = format!("\txprt:\ttcp 0 0 1 0 0 {} 7 0 9 0 2 0 0\n\tper-op", 7 + seconds.min(10));
        texts.mountstats = text.replace("\tper-op", &xprt).into_bytes();
        assert_eq!(sighting.stalled, []);
        sighting = monitor.observe(&texts, Vec::new);
    }
    let stalled = StalledMount {
        superblock: "0:52".parse().unwrap(),
        mount_point: "/mnt/efs".to_owned(),
        device: NAMED.to_owned(),
        reason: "no reply for 30 s, while 10 requests were sent".to_owned(),
    };
    assert_eq!(sighting.stalled, [stalled]);
    // It is published all the same.
    assert_eq!(sighting.file_systems.len(), 1);
}

#[test]
fn a_text_of_nothing_but_damage_gives_nothing() {
    for damage in [&b""[..], b"\0\xff\n", b"device\n\t\t\n", &[b'\n'; 100]] {
        let mut texts = reading(0, &[]);
        (texts.mountinfo_before, texts.mountstats, texts.mountinfo_after) =
            (damage.into(), damage.into(), damage.into());
        let sighting = monitor().observe(&texts, Vec::new);
        assert_eq!((sighting.superblocks, sighting.unjoined), (0, 0));
    }
}
