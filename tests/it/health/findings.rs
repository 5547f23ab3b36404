//! What is found of a mount, kind by kind.

use std::collections::HashSet;

use efsmon::efs::{Answer, Identity, Place};
use efsmon::health::{Finding, HostPlace, KINDS, MountFacts, Severity, findings};

const RECOMMENDED: &str = "rw,vers=4.1,rsize=1048576,wsize=1048576,namlen=255,acregmin=3,acregmax=60,acdirmin=30,\
                           acdirmax=60,hard,noresvport,proto=tcp,port=20049,timeo=600,retrans=2,sec=sys";
const POD: &str = "0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29";

fn efs() -> Answer {
    Answer::Efs(Identity {
        file_system: "fs-01234567".parse().unwrap(),
        access_point: None,
        region: Some("us-east-1".to_owned()),
        mount_target: None,
        zone: None,
    })
}

fn efs_in(region: &str, zone: Option<&str>) -> Answer {
    let Answer::Efs(identity) = efs() else { unreachable!() };
    Answer::Efs(Identity { region: Some(region.to_owned()), zone: zone.map(str::to_owned), ..identity })
}

fn host() -> HostPlace {
    HostPlace {
        zone: Some("us-east-1a".to_owned()),
        zone_id: Some("use1-az1".to_owned()),
        region: Some("us-east-1".to_owned()),
    }
}

/// A mount of which nothing is to be said.
fn sound<'a>(answer: &'a Answer, host: &'a HostPlace) -> MountFacts<'a> {
    MountFacts {
        answer,
        device: b"127.0.0.1:/",
        options: RECOMMENDED.as_bytes(),
        host,
        stalled: None,
        same_as: None,
        stacked: 1,
        unfinished: false,
        encrypted: Some(true),
        state_unread: false,
        place: Place::Plain,
    }
}

fn codes(found: &[Finding]) -> Vec<&'static str> {
    found.iter().map(|finding| finding.code).collect()
}

/// The one finding of a mount of EFS that `change` makes of a sound one.
fn one(answer: Answer, change: impl FnOnce(&mut MountFacts<'_>)) -> (Severity, &'static str, String) {
    let host = host();
    let mut mount = sound(&answer, &host);
    change(&mut mount);
    let mut found = findings(&mount);
    assert_eq!(found.len(), 1, "{found:?}");
    let Finding { severity, code, text } = found.remove(0);
    (severity, code, text)
}

#[test]
fn of_a_mount_as_efs_recommends_it_nothing_is_found() {
    assert_eq!(findings(&sound(&efs(), &host())), []);
    assert_eq!(findings(&sound(&efs_in("us-east-1", Some("us-east-1a")), &host())), []);
    assert_eq!(findings(&sound(&efs_in("us-east-1", Some("use1-az1")), &host())), []);
    // Where the host is not known, nothing is said of its place.
    assert_eq!(findings(&sound(&efs_in("us-west-2", Some("us-west-2b")), &HostPlace::default())), []);
}

#[test]
fn options_other_than_the_recommended_are_found() {
    let check = |from: &str, to: &str, code: Option<&str>, starts: &str| {
        let (answer, host) = (efs(), host());
        let options = RECOMMENDED.replace(from, to);
        assert_ne!(options, RECOMMENDED);
        let found = findings(&MountFacts { options: options.as_bytes(), ..sound(&answer, &host) });
        assert_eq!(codes(&found), Vec::from_iter(code), "{to}");
        assert!(found.iter().all(|finding| finding.text.starts_with(starts)), "{found:?}");
    };
    check("hard", "soft", Some("soft"), "soft: ");
    check("hard", "softerr", Some("soft"), "softerr: ");
    check("vers=4.1", "vers=4.0", Some("nfs_version"), "vers=4.0: NFS 4.1 reads small files");
    check("vers=4.1", "vers=3", Some("nfs_version"), "vers=3: EFS offers NFS 4.0 and 4.1");
    check("vers=4.1", "vers=4.2", Some("nfs_version"), "vers=4.2: EFS offers");
    // As Linux 3.4 prints it.
    check("vers=4.1", "vers=4,minorversion=1", None, "");
    check("vers=4.1", "vers=4,minorversion=0", Some("nfs_version"), "vers=4.0: ");
    check("rsize=1048576", "rsize=1048575", Some("rsize"), "rsize=1048575: ");
    check("wsize=1048576", "wsize=65536", Some("wsize"), "wsize=65536: ");
    check("timeo=600", "timeo=599", Some("timeo"), "timeo=599: a request is repeated after 59.9 s");
    check("timeo=600", "timeo=601", None, "");
    check("retrans=2", "retrans=3", Some("retrans"), "retrans=3: ");
    check("noresvport,", "", Some("noresvport"), "without noresvport ");
    check("noresvport,", "resvport,", Some("noresvport"), "without noresvport ");
    check("hard", "hard,noac", Some("no_cache"), "noac: ");
    check("acregmax=60", "acregmax=0", Some("no_cache"), "acregmax=0: ");
    check("sec=sys", "sec=sys,lookupcache=pos", Some("no_cache"), "lookupcache=pos: ");
    check("sec=sys", "sec=sys,lookupcache=all", None, "");
    // What says nothing of an option says nothing against it.
    check("vers=4.1,rsize=1048576,", "", None, "");
}

#[test]
fn options_of_mounts_that_are_not_efs_are_nobodys_business() {
    for answer in [Answer::NotEfs("a nas"), Answer::S3Files, Answer::Pending("no state file")] {
        let (_, code, _) = one(answer, |mount| mount.options = b"rw,vers=3,soft");
        assert!(["not_efs", "s3_files", "unidentified"].contains(&code), "{code}");
    }
}

#[test]
fn a_stalled_mount_comes_first_and_says_why() {
    let reason = "no reply for 34 s, while 3 requests were sent";
    let (severity, code, text) = one(efs(), |mount| mount.stalled = Some(reason));
    assert_eq!((severity, code), (Severity::Critical, "stalled"));
    assert!(
        text.starts_with("its server does not answer: no reply for 34 s, while 3 requests were sent; "),
        "{text}"
    );
    assert!(text.contains("amazon-efs-mount-watchdog"), "it is a proxy's: {text}");
    let (answer, host) = (Answer::NotEfs("a nas"), host());
    let nas = MountFacts { stalled: Some(reason), device: b"nas:/", ..sound(&answer, &host) };
    let found = findings(&nas);
    assert_eq!(codes(&found), ["stalled", "not_efs"]);
    assert!(!found[0].text.contains("watchdog"), "{}", found[0].text);
}

#[test]
fn a_mount_target_elsewhere_is_found_once() {
    let place = |region, zone| {
        let (severity, code, text) = one(efs_in(region, zone), |_| {});
        assert_eq!(severity, Severity::Warning);
        (code, text)
    };
    let (code, text) = place("us-east-1", Some("us-east-1b"));
    assert_eq!(code, "other_zone");
    assert!(text.starts_with("its mount target is in us-east-1b, this host in us-east-1a: "), "{text}");
    let (code, text) = place("us-east-1", Some("use1-az4"));
    assert_eq!(code, "other_zone");
    assert!(text.starts_with("its mount target is in use1-az4, this host in use1-az1: "), "{text}");
    let (code, text) = place("us-west-2", Some("us-west-2b"));
    assert_eq!(code, "other_region");
    assert!(text.starts_with("its file system is in us-west-2, this host in us-east-1: "), "{text}");
    // By name only, where the host knows its zone by id only.
    let (answer, host) = (efs_in("us-east-1", Some("us-east-1b")), HostPlace { zone: None, ..host() });
    assert_eq!(findings(&sound(&answer, &host)), []);
}

#[test]
fn how_a_mount_of_efs_names_its_server_is_found() {
    let found = |device: &str, encrypted| {
        let (answer, host) = (efs(), host());
        codes(&findings(&MountFacts { device: device.as_bytes(), encrypted, ..sound(&answer, &host) }))
    };
    assert_eq!(found("127.0.0.1:/", None), [""; 0]);
    assert_eq!(found("127.0.0.1:/", Some(false)), ["not_encrypted"]);
    assert_eq!(found("[::1]:/", Some(true)), [""; 0]);
    assert_eq!(found("fs-01234567.efs.us-east-1.amazonaws.com:/", None), ["not_encrypted"]);
    assert_eq!(found("10.0.1.5:/", None), ["by_address", "not_encrypted"]);
    assert_eq!(found("[fd00::5]:/", None), ["by_address", "not_encrypted"]);
    assert_eq!(found("files.example.com:/", None), ["by_alias", "not_encrypted"]);
}

#[test]
fn what_is_not_published_says_why() {
    let text = |answer, state_unread| one(answer, |mount| mount.state_unread = state_unread).2;
    assert_eq!(
        text(Answer::NotEfs("its device names no server"), false),
        "not published: its device names no server"
    );
    assert_eq!(
        text(Answer::Pending("no state file of amazon-efs-utils for its port"), false),
        "no state file of amazon-efs-utils for its port; its figures are not published; if that lasts, mount it anew, \
         or name the file system in [[mounts]]"
    );
    assert_eq!(
        text(Answer::Pending("no state file of amazon-efs-utils for its port"), true),
        "the mount helper's state, which says which file system it is, cannot be read here"
    );
    assert_eq!(
        text(Answer::Pending("EFS has not said yet whose its server's address is"), false),
        "EFS has not said yet whose its server's address is; its figures are not published"
    );
}

#[test]
fn how_mounts_lie_beside_each_other_is_found() {
    let (_, code, text) = one(efs(), |mount| mount.same_as = Some(br"/mnt/my\040efs"));
    assert_eq!(
        (code, &*text),
        ("same_as", "the same as /mnt/my efs: both show the same counters, which are published once")
    );
    let (_, code, text) = one(efs(), |mount| mount.stacked = 3);
    assert_eq!(code, "stacked");
    assert!(text.starts_with("3 mounts lie over one another"), "{text}");
    assert_eq!(one(efs(), |mount| mount.unfinished = true).1, "unfinished_state");
    let volume = |place| one(efs(), |mount| mount.place = place).2;
    assert_eq!(
        volume(Place::Kubelet { pod: Some(POD), volume: Some("pvc-29") }),
        format!("the volume pvc-29 of the pod {POD}")
    );
    assert_eq!(volume(Place::Ecs { volume: "ecs-app-7" }), "the volume ecs-app-7 of an ECS task");
}

#[test]
fn codes_are_what_programs_know_and_the_gravest_come_first() {
    // A code that is missing here breaks a program; a new one is added.
    let known = [
        "stalled",
        "unidentified",
        "unfinished_state",
        "stacked",
        "other_region",
        "other_zone",
        "soft",
        "nfs_version",
        "rsize",
        "wsize",
        "timeo",
        "noresvport",
        "no_cache",
        "retrans",
        "other_account",
        "by_address",
        "by_alias",
        "not_encrypted",
        "not_efs",
        "s3_files",
        "same_as",
        "volume",
    ];
    let codes: Vec<&str> = KINDS.iter().map(|kind| kind.code).collect();
    assert_eq!(codes, known);
    assert_eq!(codes.iter().collect::<HashSet<_>>().len(), codes.len());
    assert!(KINDS.windows(2).all(|pair| pair[0].severity >= pair[1].severity));
}
