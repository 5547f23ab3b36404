use proptest::prelude::*;

use super::*;
use crate::source::StateFile;

mod readings;

const FS: &str = "fs-0123456789abcdef0";
const OTHER: &str = "fs-0fedcba9876543210";
const OPTIONS: &str = "rw,vers=4.1,rsize=1048576,hard,noresvport,proto=tcp,port=20127,timeo=600,sec=sys";

/// The configuration says that OTHER is mounted there.
fn other_at(mount_point: &str) -> ConfiguredMount {
    let file_system = OTHER.parse().unwrap();
    let identity = Identity { file_system, access_point: None, region: None, mount_target: None, zone: None };
    ConfiguredMount { mount_point: mount_point.into(), identity }
}

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
    let configured = [other_at("/mnt/my efs")];
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
