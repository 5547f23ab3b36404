use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::model::Moment;
use crate::mountinfo::DeviceNumber;
use crate::sampler::join::{Seen, join};
use crate::source::StateFile;
use crate::{mountinfo, mountstats};

const FS: &str = "fs-0123456789abcdef0";
const OTHER: &str = "fs-0fedcba9876543210";
const OPTIONS: &str = "rw,vers=4.1,rsize=1048576,hard,noresvport,proto=tcp,port=20127,timeo=600,sec=sys";

/// An answer in a line: the file system and what else is known, or the kind.
fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Efs(Identity { file_system, access_point, region, .. }) => {
            let mut shown = file_system.to_string();
            access_point.iter().for_each(|id| shown += &format!(" {id}"));
            region.iter().for_each(|region| shown += &format!(" {region}"));
            shown
        }
        Answer::S3Files => "s3files".to_owned(),
        Answer::NotEfs(_) => "not efs".to_owned(),
        Answer::Pending(_) => "pending".to_owned(),
    }
}

fn state(files: &[(&str, Option<&str>)]) -> Vec<StateFile> {
    let file = |(name, text): &(&str, Option<&str>)| StateFile {
        name: (*name).to_owned(),
        text: text.map(|text| text.as_bytes().to_owned()),
    };
    files.iter().map(file).collect()
}

fn answer(files: &[StateFile], device: &str, mount_point: &str, options: &str) -> Answer {
    let mount = MountName {
        device: device.as_bytes(),
        mount_point: mount_point.as_bytes(),
        options: options.as_bytes(),
        ..MountName::default()
    };
    identify(mount, Lookups { helper: &helper_mounts(files), ..Lookups::default() })
}

/// A mount of `127.0.0.1` at `mount_point` over `port`, with these state files.
fn check(files: &[(&str, Option<&str>)], mount_point: &str, port: u16, expected: &str) {
    let options = OPTIONS.replace("20127", &port.to_string());
    let answer = answer(&state(files), "127.0.0.1:/", mount_point, &options);
    assert_eq!(shown(&answer), expected, "{mount_point} {port} with {files:?}");
}

fn check_device(device: &str, expected: &str) {
    assert_eq!(shown(&answer(&[], device, "/mnt/efs", "rw,vers=4.1")), expected, "{device}");
}

#[test]
fn a_dns_name_in_the_device_is_the_file_system() {
    check_device(&format!("{FS}.efs.us-east-1.amazonaws.com:/"), &format!("{FS} us-east-1"));
    check_device(&format!("{FS}.efs.eu-central-2.amazonaws.com:/a/b:/c"), &format!("{FS} eu-central-2"));
    // A zone's name, and the id of a zone of another account.
    check_device(&format!("us-east-1a.{FS}.efs.us-east-1.amazonaws.com:/"), &format!("{FS} us-east-1"));
    check_device(&format!("use1-az4.{FS}.efs.us-east-1.amazonaws.com:/x"), &format!("{FS} us-east-1"));
    check_device("fs-01234567.efs.us-west-2.amazonaws.com:/", "fs-01234567 us-west-2");
    // As a person may write it: DNS knows no case, and a name may end with a dot.
    check_device("FS-01234567.EFS.Us-West-2.AmazonAWS.com.:/", "fs-01234567 us-west-2");
    check_device("Us-West-2A.fs-01234567.efs.us-west-2.amazonaws.com:/", "fs-01234567 us-west-2");
}

#[test]
fn every_partition_of_aws_has_its_domain() {
    for (region, suffix) in [
        ("us-gov-west-1", "amazonaws.com"),
        ("cn-north-1", "amazonaws.com.cn"),
        ("cn-northwest-1", "amazonaws.com.cn"),
        ("eusc-de-east-1", "amazonaws.eu"),
        ("us-iso-east-1", "c2s.ic.gov"),
        ("us-isob-east-1", "sc2s.sgov.gov"),
        ("eu-isoe-west-1", "cloud.adc-e.uk"),
        ("us-isof-south-1", "csp.hci.ic.gov"),
    ] {
        check_device(&format!("{FS}.efs.{region}.{suffix}:/"), &format!("{FS} {region}"));
    }
}

#[test]
fn another_name_is_not_efs() {
    for host in [
        "10.0.1.5",
        "[fd00::1]",
        "[fe80::1%eth0]",
        "files.example.com",
        "efs.example.com",
        "fs-01234567",
        "fs-01234567.efs.us-east-1.example.com",
        "fs-01234567.efs.us-east-1.amazonaws.com.example.com",
        "fs-01234567.efs.amazonaws.com",
        "fs-01234567.efs..amazonaws.com",
        "fs-01234567.ec2.us-east-1.amazonaws.com",
        "fs-0123456.efs.us-east-1.amazonaws.com",
        "fs-0123456789abcdef01.efs.us-east-1.amazonaws.com",
        "fs-0123456789abcdef.efs.us-east-1.amazonaws.com",
        "fs-0123456g.efs.us-east-1.amazonaws.com",
        "fsx-01234567.efs.us-east-1.amazonaws.com",
        "a.b.fs-01234567.efs.us-east-1.amazonaws.com",
        ".fs-01234567.efs.us-east-1.amazonaws.com",
        "fs-01234567.efs.us-east-1a,b.amazonaws.com",
        "",
    ] {
        check_device(&format!("{host}:/"), "not efs");
    }
    // Devices that name no server, or do it in a path.
    check_device("", "not efs");
    check_device("none", "not efs");
    check_device("/fs-01234567.efs.us-east-1.amazonaws.com", "not efs");
    check_device("10.0.1.5:/fs-01234567.efs.us-east-1.amazonaws.com:/", "not efs");
}

#[test]
fn bytes_that_are_no_text_do_not_hinder() {
    let mount = MountName {
        device: b"\xff\xfe:/\xff",
        mount_point: b"/mnt/\xff",
        options: b"rw,port=\xff",
        ..MountName::default()
    };
    assert_eq!(shown(&identify(mount, Lookups::default())), "not efs");
    let device = b"fs-01234567.efs.us-east-1.amazonaws.com:/\xff\\040x";
    assert_eq!(shown(&identify(MountName { device, ..mount }, Lookups::default())), "fs-01234567 us-east-1");
}

/// What version 3.2 writes for a mount with TLS through an access point.
const TLS: &str = r#"{"pid": 4211, "cmd": ["/usr/sbin/efs-proxy", "/var/run/efs/stunnel-config.fs-0123456789abcdef0.mnt.efs.20127", "--tls"],
 "files": ["/var/run/efs/stunnel-config.fs-0123456789abcdef0.mnt.efs.20127"], "mount_time": 1790000000.12,
 "mountpoint": "/mnt/efs", "service_type": "elasticfilesystem", "accessPoint": "fsap-0123456789abcdef0",
 "mountStateDir": "fs-0123456789abcdef0.mnt.efs.20127+", "commonName": "ip-10-0-1-5", "region": "us-east-1",
 "privateKey": "/etc/amazon/efs/privateKey.pem", "fsId": "fs-0123456789abcdef0", "unmount_count": 0}"#;
/// Without TLS, version 2.
const PLAIN: &str =
    r#"{"pid":1,"cmd":["/usr/sbin/efs-proxy","x"],"files":[],"mount_time":1,"mountpoint":"/mnt/efs"}"#;
/// Version 1.x, before 1.32: without a mount point.
const OLD: &str =
    r#"{"pid": 9, "cmd": ["stunnel"], "files": [], "region": "us-east-1", "fsId": "fs-0123456789abcdef0"}"#;
const NAME: &str = "fs-0123456789abcdef0.mnt.efs.20127";

#[test]
fn a_state_file_names_the_file_system_of_a_local_mount() {
    let whole = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    check(&[(NAME, Some(TLS))], "/mnt/efs", 20127, &whole);
    // Without TLS there is no `fsId`: the name has it.
    check(&[(NAME, Some(PLAIN))], "/mnt/efs", 20127, FS);
    check(&[(NAME, Some(OLD))], "/mnt/efs", 20127, &format!("{FS} us-east-1"));
    check(&[("fs-01234567.srv.x.20385", Some(PLAIN))], "/srv/x", 20385, "fs-01234567");
    // Through an IPv6 proxy, and of a folder.
    for device in ["[::1]:/", "127.0.0.1:/export/a", "::1:/"] {
        let answer = answer(&state(&[(NAME, Some(TLS))]), device, "/mnt/efs", OPTIONS);
        assert_eq!(shown(&answer), whole, "{device}");
    }
    // The root of the machine, mounted from EFS.
    check(&[("fs-01234567..20127", Some("{}"))], "/", 20127, "fs-01234567");
    // A mount point with a space, as the kernel prints it and as the mount helper writes it.
    let spaced = PLAIN.replace("/mnt/efs", "/mnt/my efs");
    let files = [("fs-01234567.mnt.my efs.20127", Some(spaced.as_str())), (NAME, Some(PLAIN))];
    check(&files, r"/mnt/my\040efs", 20127, "fs-01234567");
}

#[test]
fn a_file_that_may_not_be_read_still_has_its_name() {
    check(&[(NAME, None)], "/mnt/efs", 20127, FS);
    // Half of one may be of a mount that is gone: the whole will tell.
    check(&[(NAME, Some(""))], "/mnt/efs", 20127, "pending");
    check(&[(NAME, TLS.get(..300))], "/mnt/efs", 20127, "pending");
    check(&[(NAME, Some("null"))], "/mnt/efs", 20127, "pending");
    check(&[(NAME, Some("[1]"))], "/mnt/efs", 20127, "pending");
    // It was rewritten by a shorter one.
    let longer = format!("{TLS}\"unmount_time\": 5}}");
    check(&[(NAME, Some(&longer))], "/mnt/efs", 20127, &format!("{FS} fsap-0123456789abcdef0 us-east-1"));
}

#[test]
fn a_name_that_is_not_one_of_a_mount_is_passed_over() {
    for name in [
        "fs-0123456789abcdef0",
        "fs-0123456789abcdef0.20127",
        "fs-0123456789abcdef0.mnt.efs",
        "fs-0123456789abcdef0.mnt.efs.20127+",
        "fs-0123456789abcdef0.mnt.efs.70000",
        "fs-0123456789ABCDEF0.mnt.efs.20127",
        "fs-012345.mnt.efs.20127",
        "stunnel-config.fs-0123456789abcdef0.mnt.efs.20127",
        "~~fs-0123456789abcdef0.mnt.efs.20127",
        "",
    ] {
        check(&[(name, Some(PLAIN))], "/mnt/efs", 20127, "pending");
    }
}

#[test]
fn a_mount_that_is_being_made_or_was_never_finished_is_told_by_its_file_too() {
    let name = format!("~{NAME}");
    check(&[(&name, Some(TLS))], "/mnt/efs", 20127, &format!("{FS} fsap-0123456789abcdef0 us-east-1"));
    assert!(helper_mounts(&state(&[(&name, Some(TLS))]))[0].unfinished);
    // The watchdog writes each file anew under this name: the half file beside the whole one says nothing.
    let files = [(NAME, Some(OLD)), (name.as_str(), Some("{\"pid\""))];
    check(&files, "/mnt/efs", 20127, &format!("{FS} us-east-1"));
    assert!(helper_mounts(&state(&files)).iter().all(|mount| !mount.unfinished));
}

#[test]
fn the_proxys_configuration_gives_the_region_that_the_state_lacks() {
    let config = format!("stunnel-config.{NAME}");
    let new = "fips = no\n[efs]\nclient = yes\naccept = 127.0.0.1:20127\nconnect = 10.0.1.7:2049\nregion = us-east-1\n";
    let old = format!("[efs]\nsocket = a\nsocket = b\nconnect = {FS}.efs.eu-west-1.amazonaws.com:2049\nx = ");
    let check = |config_text: &str, text: &str, expected: &str| {
        check(&[(NAME, Some(text)), (&config, Some(config_text))], "/mnt/efs", 20127, expected);
    };
    check(new, PLAIN, &format!("{FS} us-east-1"));
    check(&old, PLAIN, &format!("{FS} eu-west-1"));
    check(&old, TLS, &format!("{FS} fsap-0123456789abcdef0 us-east-1"));
    // Half a file: half a region is none.
    check("region = us-ea", PLAIN, FS);
    check("[efs]\nregion = us-ea", PLAIN, FS);
    check("connect = 10.0.1.7:2049\n", PLAIN, FS);
    check("\u{0}=\n=\n", PLAIN, FS);
    // What is no Region's name is none, for it is shown to people.
    check("region = eu\u{1b}[31m-west-1\n", PLAIN, FS);
    let odd = TLS.replace("us-east-1", "us-east-1\\u001b[31m");
    check("region = eu-west-1\n", &odd, &format!("{FS} fsap-0123456789abcdef0 eu-west-1"));
}

#[test]
fn an_unmounted_file_system_is_not_what_is_mounted_there_now() {
    let dead = TLS.replace("\"unmount_count\": 0", "\"unmount_count\": 5, \"unmount_time\": 1790000500.5");
    check(&[(NAME, Some(&dead))], "/mnt/efs", 20127, "pending");
    let name = format!("{OTHER}.mnt.efs.20127");
    check(&[(NAME, Some(&dead)), (&name, Some(PLAIN))], "/mnt/efs", 20127, OTHER);
}

#[test]
fn a_text_that_contradicts_its_name_is_not_believed() {
    check(&[(&format!("{OTHER}.mnt.efs.20127"), Some(TLS))], "/mnt/efs", 20127, "pending");
}

#[test]
fn a_mount_of_s3_files_is_never_taken_for_efs() {
    let s3 = TLS.replace("elasticfilesystem", "s3files");
    let options = OPTIONS.replace("vers=4.1", "vers=4.2");
    let check = |text: Option<&str>, options: &str, expected: &str| {
        let files = state(&[(NAME, text)]);
        assert_eq!(shown(&answer(&files, "127.0.0.1:/", "/mnt/efs", options)), expected, "{text:?}");
    };
    check(Some(&s3), &options, "s3files");
    check(Some(&s3), OPTIONS, "s3files");
    // Its name is like that of EFS: without its text, only the version of NFS is left to tell them apart.
    check(None, &options, "pending");
    check(None, OPTIONS, FS);
    for torn in ["", &s3[..200]] {
        check(Some(torn), &options, "pending");
        check(Some(torn), OPTIONS, "pending");
    }
    check(Some(PLAIN), &options, FS);
}

#[test]
fn one_port_and_several_file_systems_are_no_guess() {
    let other = format!("{OTHER}.mnt.efs.20127");
    check(&[(NAME, Some(PLAIN)), (&other, Some(PLAIN))], "/mnt/efs", 20127, "pending");
    check(&[(NAME, Some(PLAIN)), (&other, None)], "/mnt/efs", 20127, FS);
    check(&[(NAME, None), (&other, None)], "/mnt/efs", 20127, "pending");
    // In several network namespaces: the mount point tells, or its folded form where that is all there is.
    let elsewhere = format!("{OTHER}.srv.x.20127");
    let srv = PLAIN.replace("/mnt/efs", "/srv/x");
    for (text, other) in
        [(Some(PLAIN), Some(srv.as_str())), (None, Some(&*srv)), (Some(PLAIN), None), (None, None)]
    {
        let files = [(NAME, text), (elsewhere.as_str(), other)];
        check(&files, "/mnt/efs", 20127, FS);
        check(&files, "/srv/x", 20127, OTHER);
        check(&files, "/opt/renamed", 20127, "pending");
    }
    // `/a.b` and `/a/b` have the same folded form.
    let (one, two) = (format!("{FS}.a.b.20127"), format!("{OTHER}.a.b.20127"));
    check(&[(&one, None), (&two, None)], "/a/b", 20127, "pending");
    let dotted = PLAIN.replace("/mnt/efs", "/a.b");
    check(&[(&one, Some(&dotted)), (&two, None)], "/a.b", 20127, FS);
    check(&[(&one, Some(&dotted)), (&two, None)], "/a/b", 20127, OTHER);
    // What says that it is another mount's is not taken for this one's folded form.
    check(&[(&one, Some(&dotted)), (&elsewhere, Some(&srv))], "/a/b", 20127, "pending");
    // Two state files of one file system say the same.
    check(&[(NAME, Some(PLAIN)), (&format!("{FS}.old.efs.20127"), Some("{}"))], "/new", 20127, FS);
}

#[test]
fn a_renamed_parent_directory_is_found_by_the_port() {
    check(&[(NAME, Some(TLS))], "/data/efs", 20127, &format!("{FS} fsap-0123456789abcdef0 us-east-1"));
    // Of a text that cannot be read it is not known when its mount was made.
    check(&[(NAME, None)], "/data/efs", 20127, "pending");
    check(&[(NAME, None)], "/mnt/efs", 20127, FS);
}

#[test]
fn what_a_dead_mount_left_behind_is_not_taken_for_the_state_of_a_later_one() {
    // Of a mount at /mnt/efs, begun at START.
    let files = state(&[(NAME, Some(TLS))]);
    let mut followed = Followed::default();
    let mut read = |number, seconds, age| {
        followed.read(seconds, &[(number, age, "127.0.0.1:/", "/srv/x")], OPTIONS, &files)
    };
    let known = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    assert_eq!(read("0:52", 1000, 400), known, "made 600 s later");
    assert_eq!(read("0:53", 1000, 390), "pending held", "made 610 s later");
    assert_eq!(read("0:54", 1000, 1590), known, "590 s earlier: the clock was set");
    assert_eq!(read("0:55", 1000, 1610), "pending held", "made 610 s earlier");
    // A mount that is at the place that the text names is not judged by the clock.
    let there = [("0:56", 5, "127.0.0.1:/", "/mnt/efs")];
    assert_eq!(Followed::default().read(1_000_000, &there, OPTIONS, &files), known);
    // Beside it the state of the mount itself, whose parent directory was renamed.
    let own =
        PLAIN.replace("/mnt/efs", "/old/x").replace("\"mount_time\":1,", "\"mount_time\":1790000995.0,");
    let both = state(&[(NAME, Some(TLS)), (&format!("{OTHER}.old.x.20127"), Some(&own))]);
    let later = [("0:57", 5, "127.0.0.1:/", "/srv/x")];
    assert_eq!(Followed::default().read(1000, &later, OPTIONS, &both), OTHER);
}

#[test]
fn a_hidden_directory_is_told_from_one_that_is_not() {
    let hidden = PLAIN.replace("/mnt/efs", "/.efs");
    let plain = PLAIN.replace("/mnt/efs", "/efs");
    let other = format!("{OTHER}.efs.20500");
    // The mount helper left the second dot in before version 3, and not since.
    for name in [format!("{FS}..efs.20407"), format!("{FS}.efs.20407")] {
        for (text, other_text) in [(Some(&*hidden), Some(&*plain)), (None, None), (Some("{}"), Some("{}"))] {
            let files = [(name.as_str(), text), (other.as_str(), other_text)];
            check(&files, "/.efs", 20407, FS);
            check(&files, "/efs", 20500, OTHER);
        }
    }
}

#[test]
fn a_mount_without_state_is_not_guessed() {
    let files = [("fs-01234567.a.20133", Some(PLAIN)), ("fs-01234567.b.20236", Some(PLAIN))];
    check(&files, "/a", 20313, "pending");
    check(&[], "/a", 20313, "pending");
}

#[test]
fn a_server_of_this_hosts_own_is_not_efs() {
    let own = |files: &[(&str, Option<&str>)], options: &str| {
        shown(&answer(&state(files), "127.0.0.1:/export", "/loc", options))
    };
    assert_eq!(own(&[], "rw,vers=4.2,hard"), "not efs");
    assert_eq!(own(&[(NAME, Some(TLS))], "rw,vers=4.2,hard"), "not efs");
    assert_eq!(own(&[(NAME, Some(TLS))], "rw,vers=3,mountport=20127,hard"), "not efs");
    // A proxy may have been given the port of NFS itself (`tlsport=2049`), which the kernel does not print.
    assert_eq!(own(&[("fs-01234567.loc.2049", Some("{}"))], "rw,vers=4.1,hard"), "fs-01234567");
}

#[test]
fn the_configuration_overrules_what_a_mount_looks_like() {
    let identity = Identity {
        file_system: OTHER.parse().unwrap(),
        access_point: None,
        region: None,
        mount_target: None,
        zone: None,
    };
    let configured = [ConfiguredMount { mount_point: "/mnt/my efs".into(), identity }];
    let helper = helper_mounts(&state(&[(NAME, Some(TLS))]));
    let lookups = Lookups { configured: &configured, helper: &helper, ..Lookups::default() };
    let check = |device: &str, mount_point: &str, expected: &str| {
        let (device, mount_point) = (device.as_bytes(), mount_point.as_bytes());
        let mount = MountName { device, mount_point, options: OPTIONS.as_bytes(), ..MountName::default() };
        assert_eq!(shown(&identify(mount, lookups)), expected);
    };
    for device in ["10.0.1.5:/", "127.0.0.1:/", "fs-01234567.efs.us-east-1.amazonaws.com:/"] {
        check(device, r"/mnt/my\040efs", OTHER);
    }
    check("10.0.1.5:/", "/mnt/my", "not efs");
}

fn state_text(mount_point: &str, file_system: Option<&str>, s3: bool) -> String {
    let fs_id =
        file_system.map(|id| format!(", \"fsId\": \"{id}\", \"region\": \"us-east-1\"")).unwrap_or_default();
    let service = if s3 { "s3files" } else { "elasticfilesystem" };
    format!(
        "{{\"pid\": 7, \"mountpoint\": \"{mount_point}\", \"service_type\": \"{service}\"{fs_id}, \"unmount_count\": 0}}"
    )
}

/// Of two mounts over one port or two, with their files cut anywhere, each is itself or not known.
fn check_torn(mount_points: [&str; 2], ports: [u16; 2], tls: bool, s3: bool, cuts: [usize; 2]) {
    let systems = [FS, OTHER];
    let files: Vec<StateFile> = (0..2)
        .map(|n| {
            let folded = mount_points[n].replace('/', ".");
            let text = state_text(mount_points[n], tls.then_some(systems[n]), s3 && n == 0);
            StateFile {
                name: format!("{}.{}.{}", systems[n], folded.trim_start_matches('.'), ports[n]),
                text: Some(text.as_bytes()[..cuts[n].min(text.len())].to_owned()),
            }
        })
        .collect();
    for n in 0..2 {
        let version = if s3 && n == 0 { "4.2" } else { "4.1" };
        let options = format!("rw,vers={version},port={}", ports[n]);
        match answer(&files, "127.0.0.1:/", mount_points[n], &options) {
            Answer::Efs(identity) => {
                assert!(!(s3 && n == 0), "S3 Files taken for EFS: {files:?}");
                assert_eq!(identity.file_system.as_str(), systems[n], "{files:?}");
            }
            Answer::S3Files => assert!(s3 && n == 0, "{files:?}"),
            Answer::Pending(_) => {}
            Answer::NotEfs(reason) => panic!("{reason}"),
        }
    }
}

#[test]
fn a_state_file_cut_at_any_byte_never_gives_a_wrong_name() {
    for (tls, s3) in [(true, false), (false, false), (true, true), (false, true)] {
        for cut in 0..200 {
            for mount_points in [["/mnt/a", "/mnt/b"], ["/a.b", "/a/b"], ["/.efs", "/efs"]] {
                for ports in [[20100, 20101], [20100, 20100]] {
                    check_torn(mount_points, ports, tls, s3, [cut, 1000]);
                    check_torn(mount_points, ports, tls, s3, [1000, cut]);
                    check_torn(mount_points, ports, tls, s3, [cut, cut]);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn two_files_cut_anywhere_never_give_a_wrong_name(
        first in 0usize..200, second in 0usize..200, same_port: bool, tls: bool, s3: bool,
    ) {
        let ports = if same_port { [20100, 20100] } else { [20100, 20101] };
        check_torn(["/mnt/a", "/mnt/b"], ports, tls, s3, [first, second]);
        check_torn(["/a.b", "/a/b"], ports, tls, s3, [first, second]);
    }

    #[test]
    fn any_bytes_are_taken(
        device in proptest::collection::vec(any::<u8>(), 0..60),
        options in proptest::collection::vec(any::<u8>(), 0..60),
        name in ".{0,60}",
        text in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let files = [StateFile { name, text: Some(text) }];
        let mount = MountName { device: &device, mount_point: &device, options: &options, ..MountName::default() };
        identify(mount, Lookups { helper: &helper_mounts(&files), ..Lookups::default() });
    }
}

/// When the clock of [`Followed`] stands at 0 s: seconds since 1970.
const START: u64 = 1_790_000_000;

/// Follows mounts through readings, with the state files as they are at each.
#[derive(Default)]
struct Followed {
    attribution: Attribution,
    configured: Vec<ConfiguredMount>,
    asked: usize,
    /// The server's, in mountinfo.
    address: Option<&'static str>,
}

impl Followed {
    /// A reading: each mount is number, age, device and mount point. Gives each superblock's answer, `held` where
    /// its traffic waits.
    fn read(
        &mut self,
        seconds: u64,
        mounts: &[(&str, u64, &str, &str)],
        options: &str,
        files: &[StateFile],
    ) -> String {
        let mut info = String::new();
        let mut stats = String::new();
        let address = self.address.map(|address| format!(",addr={address}")).unwrap_or_default();
        for (number, age, device, mount_point) in mounts {
            info += &format!("60 31 {number} / {mount_point} rw - nfs4 {device} rw{address}\n");
            stats += &format!(
                "device {device} mounted on {mount_point} with fstype nfs4 statvers=1.1\n\topts:\t{options}\n\
                 \tage:\t{age}\n\tcaps:\tx\n\tsec:\tx\n\tevents:\t{}\n\tbytes:\t{}\n\n",
                "0 ".repeat(27),
                "0 ".repeat(8)
            );
        }
        let (mounts, parsed) = (mountinfo::parse(info.as_bytes()).0, mountstats::parse(stats.as_bytes()));
        assert_eq!(parsed.problems, []);
        let seen: Seen<'_> = join(&mounts, &parsed, &mounts);
        let moment =
            Moment { wall: Duration::from_secs(START + seconds), monotonic: Duration::from_secs(seconds) };
        self.attribution.update(moment, &seen, &self.configured, || {
            self.asked += 1;
            helper_mounts(files)
        });
        let held = self.attribution.held(moment);
        let one = |number: DeviceNumber| {
            let answer = self.attribution.answer(number).map(shown).unwrap_or_default();
            if held.contains(&number) { format!("{answer} held") } else { answer }
        };
        let mut answers: Vec<String> =
            seen.superblocks.iter().map(|superblock| one(superblock.number)).collect();
        if self.attribution.unidentified(moment) > 0 {
            answers.push(format!("{} unidentified", self.attribution.unidentified(moment)));
        }
        answers.join("; ")
    }
}

#[test]
fn an_answer_holds_when_the_state_is_gone() {
    let files = state(&[(NAME, Some(TLS))]);
    let known = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    let mut followed = Followed::default();
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    assert_eq!(followed.read(0, &mount(5), OPTIONS, &files), known);
    for n in 1..100 {
        assert_eq!(followed.read(n * 10, &mount(5 + n * 10), OPTIONS, &[]), known);
    }
    assert_eq!(followed.asked, 1, "the state is read only for a mount without an answer");
    // Long known, and missing from some readings.
    assert_eq!(followed.read(1000, &[], OPTIONS, &[]), "");
    assert_eq!(followed.read(1010, &[], OPTIONS, &[]), "");
    assert_eq!(followed.read(1020, &mount(1025), OPTIONS, &[]), known);
    // A recording that is replayed faster than it was made.
    assert_eq!(followed.read(1021, &mount(1035), OPTIONS, &[]), known);
}

#[test]
fn a_new_mount_with_the_number_place_and_port_of_an_old_one_is_asked_anew() {
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    let (old, new) = (state(&[(NAME, Some(PLAIN))]), state(&[("fs-01234567.mnt.efs.20127", Some(PLAIN))]));
    let mut followed = Followed::default();
    assert_eq!(followed.read(0, &mount(500), OPTIONS, &old), FS);
    assert_eq!(followed.read(10, &mount(3), OPTIONS, &new), "fs-01234567");
    // Young ones: 2 s old, and 10 s later 9 s old.
    assert_eq!(followed.read(20, &mount(2), OPTIONS, &old), FS);
    assert_eq!(followed.read(30, &mount(9), OPTIONS, &new), "fs-01234567");
    // Not a second older than the clock allows, but over another port.
    let port = OPTIONS.replace("20127", "20128");
    assert_eq!(followed.read(40, &mount(19), &port, &new), "pending held");
    // With no state yet, the old answer is not the new mount's.
    let mut followed = Followed::default();
    assert_eq!(followed.read(0, &mount(500), OPTIONS, &old), FS);
    assert_eq!(followed.read(10, &mount(3), OPTIONS, &[]), "pending held");
    assert_eq!(followed.read(20, &mount(13), OPTIONS, &new), "fs-01234567");
}

#[test]
fn a_mount_helper_has_10_minutes_to_say_what_it_mounted() {
    let mut followed = Followed::default();
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs"), ("0:53", age, "10.0.0.1:/", "/mnt/other")];
    for seconds in (1000..1600).step_by(10) {
        assert_eq!(followed.read(seconds, &mount(seconds), OPTIONS, &[]), "pending held; not efs");
    }
    assert_eq!(followed.read(1600, &mount(1600), OPTIONS, &[]), "pending; not efs; 1 unidentified");
    assert_eq!(followed.read(1610, &mount(1610), OPTIONS, &[]), "pending; not efs; 1 unidentified");
    // A mount that is gone is no unidentified one.
    assert_eq!(followed.read(1620, &mount(1620)[1..], OPTIONS, &[]), "not efs");
    assert_eq!(followed.read(1630, &mount(1630), OPTIONS, &[]), "pending; not efs; 1 unidentified");
    // Better late than never.
    assert_eq!(followed.read(1640, &mount(1640), OPTIONS, &state(&[(NAME, None)])), format!("{FS}; not efs"));
}

#[test]
fn what_no_reading_shows_is_forgotten() {
    let mut followed = Followed::default();
    for n in 0..1000 {
        let number = format!("0:{n}");
        followed.read(n * 60, &[(&number, 1, "10.0.0.1:/", "/mnt/efs")], OPTIONS, &[]);
    }
    let known = |minor| followed.attribution.answer(DeviceNumber { major: 0, minor }).is_some();
    assert_eq!((0..1000).filter(|minor| known(*minor)).count(), 10, "those of the last 10 minutes");
}

#[test]
fn one_mount_that_tells_its_name_tells_it_of_the_superblock() {
    let mut followed = Followed::default();
    let name = format!("{FS}.efs.us-east-1.amazonaws.com:/dir");
    let both = |age| [("0:52", age, "10.0.0.1:/", "/a"), ("0:52", age, name.as_str(), "/b")];
    assert_eq!(followed.read(0, &both(100), OPTIONS, &[]), format!("{FS} us-east-1"));
    // Still the same superblock when only the other is left.
    assert_eq!(followed.read(10, &both(110)[..1], OPTIONS, &[]), format!("{FS} us-east-1"));
    assert_eq!(followed.read(20, &both(120)[..1], OPTIONS, &[]), format!("{FS} us-east-1"));
    assert_eq!(followed.asked, 0, "no mount is of this host's server");
    // Known by an address first, by its name later.
    let mut followed = Followed::default();
    assert_eq!(followed.read(0, &both(100)[..1], OPTIONS, &[]), "not efs");
    assert_eq!(followed.read(10, &both(110), OPTIONS, &[]), format!("{FS} us-east-1"));
}

#[test]
fn the_configuration_names_a_superblock_by_any_of_its_mount_points() {
    let identity = Identity {
        file_system: OTHER.parse().unwrap(),
        access_point: None,
        region: None,
        mount_target: None,
        zone: None,
    };
    let configured = vec![ConfiguredMount { mount_point: "/b".into(), identity }];
    let name = format!("{FS}.efs.us-east-1.amazonaws.com:/");
    let mut followed = Followed { configured, ..Followed::default() };
    assert_eq!(followed.read(0, &[("0:52", 9, &name, "/a"), ("0:52", 9, &name, "/b")], OPTIONS, &[]), OTHER);
    let mut address = |age, mounts: usize| {
        followed.read(
            age,
            &[("0:53", age, "10.0.0.1:/", "/a"), ("0:53", age, "10.0.0.1:/", "/b")][..mounts],
            OPTIONS,
            &[],
        )
    };
    assert_eq!(address(100, 1), "not efs");
    assert_eq!(address(110, 2), OTHER);
    assert_eq!(address(120, 1), OTHER);
}

#[test]
fn the_largest_age_is_no_trouble() {
    let mut followed = Followed::default();
    for seconds in [0, 10] {
        assert_eq!(
            followed.read(seconds, &[("0:52", u64::MAX, "10.0.0.1:/", "/a")], OPTIONS, &[]),
            "not efs"
        );
    }
}

#[test]
fn what_a_name_left_open_a_later_text_tells() {
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    let known = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    let by_name = state(&[(NAME, None)]);
    let mut followed = Followed::default();
    assert_eq!(followed.read(0, &mount(100), OPTIONS, &by_name), FS);
    // Half of it, none at all, and another file system's say nothing new.
    let half = state(&[(NAME, TLS.get(..300))]);
    let other = state(&[(&format!("{OTHER}.mnt.efs.20127"), Some(PLAIN))]);
    for (n, files) in [half, Vec::new(), other].iter().enumerate() {
        assert_eq!(followed.read(10 + 10 * n as u64, &mount(110 + 10 * n as u64), OPTIONS, files), FS);
    }
    assert_eq!(followed.read(40, &mount(140), OPTIONS, &state(&[(NAME, Some(TLS))])), known);
    // Told once, it holds.
    for files in [by_name, state(&[(NAME, Some(PLAIN))]), Vec::new()] {
        assert_eq!(followed.read(50, &mount(150), OPTIONS, &files), known);
    }
    assert_eq!(followed.asked, 5);
}

#[test]
fn a_text_that_was_read_has_told_its_access_point() {
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    let config = format!("stunnel-config.{NAME}");
    let mut followed = Followed::default();
    // Without TLS the region is in the proxy's configuration, of which half is there.
    let half = state(&[(NAME, Some(PLAIN)), (&config, Some("[efs]\nconnect"))]);
    assert_eq!(followed.read(0, &mount(100), OPTIONS, &half), FS);
    // Nothing but the region is taken from what comes later.
    let later = state(&[(NAME, Some(TLS)), (&config, None)]);
    assert_eq!(followed.read(10, &mount(110), OPTIONS, &later), format!("{FS} us-east-1"));
    assert_eq!(followed.read(20, &mount(120), OPTIONS, &later), format!("{FS} us-east-1"));
    assert_eq!(followed.asked, 2);
}

#[test]
fn a_state_that_may_not_be_read_is_asked_seldom_in_the_long_run() {
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    let mut followed = Followed::default();
    for seconds in (0..6000).step_by(10) {
        assert_eq!(followed.read(seconds, &mount(seconds), OPTIONS, &state(&[(NAME, None)])), FS);
    }
    // 60 times in 10 minutes, and after the last of them (590 s) every 10 minutes.
    assert_eq!(followed.asked, 60 + 9);
    let files = state(&[(NAME, Some(TLS))]);
    assert_eq!(
        followed.read(6590, &mount(6590), OPTIONS, &files),
        format!("{FS} fsap-0123456789abcdef0 us-east-1")
    );
}

#[test]
fn the_only_state_of_a_port_that_two_mounts_share_may_be_the_others() {
    let both = [("0:52", 100, "127.0.0.1:/", "/mnt/efs"), ("0:53", 100, "127.0.0.1:/", "/srv/x")];
    let mut followed = Followed::default();
    let one = state(&[(NAME, Some(TLS))]);
    let known = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    assert_eq!(followed.read(0, &both, OPTIONS, &one), format!("{known}; pending held"));
    let other = PLAIN.replace("/mnt/efs", "/srv/x");
    let files = state(&[(NAME, Some(TLS)), (&format!("{OTHER}.srv.x.20127"), Some(&other))]);
    let later = both.map(|(number, age, device, mount_point)| (number, age + 10, device, mount_point));
    assert_eq!(followed.read(10, &later, OPTIONS, &files), format!("{known}; {OTHER}"));
}

#[test]
fn of_two_states_of_one_file_system_only_what_both_tell_is_taken() {
    let (old, config) = (format!("{FS}.old.efs.20127"), format!("stunnel-config.{NAME}"));
    let old_config = format!("stunnel-config.{old}");
    let connect = |server: &str| format!("[efs]\nconnect = {server}:2049\nregion = us-east-1\n");
    let (one, two) = (connect("10.0.1.7"), connect("10.0.2.7"));
    let check = |old_text: &str, expected: &str| {
        let files = state(&[
            (NAME, Some(PLAIN)),
            (&config, Some(&one)),
            (&old, Some(PLAIN)),
            (&old_config, Some(old_text)),
        ]);
        assert_eq!(target_of(&answer(&files, "127.0.0.1:/", "/mnt/efs", OPTIONS)), expected);
    };
    check(&one, r#"Some("us-east-1") Some("10.0.1.7") None"#);
    check(&two, r#"Some("us-east-1") None None"#);
    check(&two.replace("us-east-1", "eu-west-1"), "None None None");
}

/// An answer with where its traffic goes.
fn target_of(answer: &Answer) -> String {
    match answer {
        Answer::Efs(Identity { region, mount_target, zone, .. }) => {
            format!("{region:?} {mount_target:?} {zone:?}")
        }
        _ => shown(answer),
    }
}

#[test]
fn the_proxys_configuration_tells_the_mount_target() {
    let check = |connect: &str, expected: &str| {
        let config = format!("[efs]\nconnect = {connect}:2049\nsslVersion = TLSv1.2\n");
        let files = state(&[(NAME, Some(PLAIN)), (&format!("stunnel-config.{NAME}"), Some(&config))]);
        assert_eq!(target_of(&answer(&files, "127.0.0.1:/", "/mnt/efs", OPTIONS)), expected, "{connect}");
    };
    check("10.0.1.7", r#"None Some("10.0.1.7") None"#);
    check("[fd00::7]", r#"None Some("fd00::7") None"#);
    check("fd00::7", r#"None Some("fd00::7") None"#);
    let name = format!("use1-az4.{FS}.efs.us-east-1.amazonaws.com");
    check(&name, &format!(r#"Some("us-east-1") Some("{name}") Some("use1-az4")"#));
    // Another file system's is not this mount's.
    check(&format!("{OTHER}.efs.us-east-1.amazonaws.com"), "None None None");
    check(&format!("10.0.1.7:2049\nfs_id = {OTHER}\nx = y"), "None None None");
}

#[test]
fn a_mount_by_address_waits_for_efs_ten_minutes() {
    let mount = |age| [("0:52", age, "files.example.com:/", "/mnt/a"), ("0:53", age, "10.0.1.5:/", "/mnt/b")];
    let options = OPTIONS.replace("port=20127,", "");
    let targets = Some(Targets::default());
    let attribution = Attribution::with_targets(targets);
    let mut followed = Followed { attribution, address: Some("10.0.1.5"), ..Followed::default() };
    for seconds in (0..600).step_by(10) {
        assert_eq!(
            followed.read(seconds, &mount(seconds + 100), &options, &[]),
            "pending held; pending held"
        );
    }
    assert_eq!(followed.read(600, &mount(700), &options, &[]), "pending; pending; 2 unidentified");
    // Both were made 100 s before the first reading, and have one address between them.
    let now = Moment { wall: Duration::ZERO, monotonic: Duration::from_secs(600) };
    let wanted = Wanted { address: "10.0.1.5".parse().unwrap(), made: Duration::from_secs(START - 100) };
    assert_eq!(followed.attribution.wanted(now), [wanted]);
    let targets = followed.attribution.targets_mut().unwrap();
    targets.answered_in("eu-west-1");
    targets.swept(START + 605, true);
    assert_eq!(followed.read(610, &mount(710), &options, &[]), "not efs; not efs");
    assert_eq!(followed.asked, 0, "no mount is of this host's server");
    // A mount that came later must be asked about again.
    assert_eq!(followed.read(620, &mount(5), &options, &[]), "pending held; pending held");
    let now = Moment { wall: Duration::ZERO, monotonic: Duration::from_secs(620) };
    assert_eq!(
        followed.attribution.wanted(now),
        [Wanted { made: Duration::from_secs(START + 615), ..wanted }]
    );
}

#[test]
fn efs_is_not_asked_about_what_cannot_be_efs() {
    let targets = Targets::default();
    let lookups = Lookups { targets: Some(&targets), ..Lookups::default() };
    let check = |device: &str, address: Option<&str>, options: &str, expected: &str| {
        let mount = MountName {
            device: device.as_bytes(),
            mount_point: b"/mnt/a",
            options: options.as_bytes(),
            address: address.map(|address| address.parse().unwrap()),
            ..MountName::default()
        };
        let wanted = address::wanted(mount, lookups).map(|address| address.to_string());
        assert_eq!(
            format!("{} {wanted:?}", shown(&identify(mount, lookups))),
            expected,
            "{device} {options}"
        );
    };
    for version in ["vers=4.1", "vers=4.0", "vers=4", "hard"] {
        check("10.0.1.5:/", None, version, r#"pending Some("10.0.1.5")"#);
    }
    check("[fd00::5]:/", Some("fd00::5"), "vers=4.1", r#"pending Some("fd00::5")"#);
    check("[fe80::1%eth0]:/", None, "vers=4.1", r#"pending Some("fe80::1")"#);
    check("files.example.com:/", Some("10.0.1.5"), "vers=4.1", r#"pending Some("10.0.1.5")"#);
    for (device, address, version) in [
        ("10.0.1.5:/", None, "vers=3"),
        ("10.0.1.5:/", None, "vers=4.2"),
        ("files.example.com:/", None, "vers=4.1"),
        ("localhost:/", Some("127.0.0.1"), "vers=4.1"),
        ("ip6-localhost:/", Some("::1"), "vers=4.1"),
        ("127.0.0.1:/", Some("127.0.0.1"), "vers=4.1"),
        ("none", Some("10.0.1.5"), "vers=4.1"),
    ] {
        check(device, address, version, "not efs None");
    }
    let named = format!("{FS}.efs.us-east-1.amazonaws.com:/");
    check(&named, Some("10.0.1.5"), "vers=4.1", &format!("{FS} us-east-1 None"));
}

#[test]
fn a_proxys_state_is_the_only_one_of_its_port_unless_the_port_is_shared() {
    let file = |name: &str, pid: u32| StateFile {
        name: name.to_owned(),
        text: Some(format!(r#"{{"pid": {pid}, "mountpoint": "/mnt/a"}}"#).into_bytes()),
    };
    let helper = helper_mounts(&[file("fs-01234567.mnt.a.20100", 17)]);
    let pid = |helper: &[HelperMount], mount_point, is_shared| {
        state_of_proxy(helper, mount_point, 20_100, is_shared).map(|state| state.pid)
    };
    assert_eq!(pid(&helper, "/mnt/a", true), Some(Some(17)));
    assert_eq!(pid(&helper, "/renamed/a", false), Some(Some(17)));
    assert_eq!(pid(&helper, "/renamed/a", true), None);
    // Two files of one mount that name different processes name none.
    let helper = helper_mounts(&[file("fs-01234567.mnt.a.20100", 17), file("fs-01234567..mnt.a.20100", 18)]);
    assert_eq!(pid(&helper, "/mnt/a", false), Some(None));
}
