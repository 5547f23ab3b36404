//! Every kind of identity at once: what each mount of a machine is, and what is made of it when state files are torn.

mod asking;
mod torn;

use std::path::{Path, PathBuf};
use std::time::Duration;

use efsmon::clock::Clock;
use efsmon::efs::{
    Answer, Attribution, ConfiguredMount, HelperMount, Identity, Lookups, MountName, Place, Targets,
    helper_mount, helper_mounts, identify, shared_ports,
};
use efsmon::model::Moment;
use efsmon::mountstats::{self, Parsed, unescape};
use efsmon::sampler::join::{Seen, join_texts};
use efsmon::source::{Namespace, Reading, Roots, Source, StateFile};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/identity")
}

fn source() -> Source {
    let roots =
        Roots { procfs: folder().join("proc"), sysfs: folder().join("sys"), efs_state: folder().join("efs") };
    Source::new(roots, Namespace::Own)
}

/// 18 May 2033: younger than the mounts, older than what EFS said.
const NOW: Moment =
    Moment { wall: Duration::from_secs(2_000_000_000), monotonic: Duration::from_secs(1_000_000) };

struct At(Moment);

impl Clock for At {
    fn now(&self) -> Moment {
        self.0
    }
}

/// The folder, read.
struct Machine {
    reading: Reading,
    files: Vec<StateFile>,
    configured: Vec<ConfiguredMount>,
    targets: Targets,
}

impl Machine {
    fn read() -> Machine {
        let source = source();
        let configured =
            |mount_point: &str, file_system: &str, access_point: Option<&str>, region: Option<&str>| {
                ConfiguredMount {
                    mount_point: mount_point.to_owned(),
                    identity: Identity {
                        file_system: file_system.parse().unwrap(),
                        access_point: access_point.map(|id| id.parse().unwrap()),
                        region: region.map(str::to_owned),
                        mount_target: None,
                        zone: None,
                    },
                }
            };
        let kept = std::fs::read(folder().join("state/mount-targets.json")).unwrap();
        Machine {
            reading: source.read(&At(NOW)).unwrap(),
            files: source.efs_state().unwrap(),
            // As in efsmon.toml.
            configured: vec![
                configured(
                    "/mnt/configured",
                    "fs-0123456789abcde56",
                    Some("fsap-0123456789abcde56"),
                    Some("eu-west-1"),
                ),
                configured("/mnt/overruled", "fs-0123456789abcde57", None, None),
            ],
            targets: Targets::from_json(&kept, None).unwrap(),
        }
    }

    fn parsed(&self) -> Parsed<'_> {
        let parsed = mountstats::parse(&self.reading.mountstats);
        assert_eq!(parsed.problems, []);
        parsed
    }

    fn seen<'a>(&'a self, parsed: &'a Parsed<'a>) -> Seen<'a> {
        let (seen, problems) =
            join_texts(&self.reading.mountinfo_before, parsed, &self.reading.mountinfo_after);
        assert_eq!((seen.complete, seen.unjoined, problems), (true, 0, vec![]));
        seen
    }

    /// Each mount's line of the table, as [`identify`] says.
    fn table(&self, parsed: &Parsed<'_>, helper: &[HelperMount], targets: Option<&Targets>) -> Vec<String> {
        let seen = self.seen(parsed);
        let shared_ports = shared_ports(&seen);
        let lookups = Lookups { configured: &self.configured, helper, shared_ports: &shared_ports, targets };
        let names = seen.superblocks.iter().flat_map(|superblock| {
            let of = |record| MountName::of(superblock, record, NOW);
            superblock.records.iter().map(move |record| of(*record)).collect::<Vec<_>>()
        });
        names.map(|name| line(name.mount_point, &identify(name, lookups))).collect()
    }
}

fn line(mount_point: &[u8], answer: &Answer) -> String {
    let mount_point = String::from_utf8(unescape(mount_point).into_owned()).unwrap();
    let or = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let columns = match answer {
        Answer::Efs(identity) => [
            "efs".to_owned(),
            identity.file_system.to_string(),
            or(identity.access_point.as_ref().map(|id| id.as_str())),
            or(identity.region.as_deref()),
            or(identity.mount_target.as_deref()),
            or(identity.zone.as_deref()),
        ]
        .join(" | "),
        Answer::S3Files => "s3files".to_owned(),
        Answer::NotEfs(reason) => format!("nfs | {reason}"),
        Answer::Pending(reason) => format!("unknown | {reason}"),
    };
    format!("{mount_point} | {columns}")
}

/// Mount point, kind, file system, access point, Region, mount target and zone, or why there is none; worked out by
/// hand from the files.
const TABLE: &str = "\
/mnt/dns | efs | fs-0123456789abcde10 | - | us-east-1 | fs-0123456789abcde10.efs.us-east-1.amazonaws.com | us-east-1a
/mnt/dns-bind | efs | fs-0123456789abcde10 | - | us-east-1 | fs-0123456789abcde10.efs.us-east-1.amazonaws.com | us-east-1a
/mnt/zone | efs | fs-0123456789abcde11 | - | us-east-1 | us-east-1b.fs-0123456789abcde11.efs.us-east-1.amazonaws.com | us-east-1b
/mnt/cross-account | efs | fs-0123456789abcde12 | - | us-east-1 | use1-az4.fs-0123456789abcde12.efs.us-east-1.amazonaws.com | use1-az4
/mnt/other-region | efs | fs-01234513 | - | us-west-2 | fs-01234513.efs.us-west-2.amazonaws.com | -
/mnt/china | efs | fs-0123456789abcde14 | - | cn-north-1 | fs-0123456789abcde14.efs.cn-north-1.amazonaws.com.cn | -
/mnt/govcloud | efs | fs-0123456789abcde15 | - | us-gov-west-1 | fs-0123456789abcde15.efs.us-gov-west-1.amazonaws.com | -
/mnt/iso | efs | fs-0123456789abcde16 | - | us-iso-east-1 | fs-0123456789abcde16.efs.us-iso-east-1.c2s.ic.gov | -
/mnt/isob | efs | fs-0123456789abcde17 | - | us-isob-east-1 | fs-0123456789abcde17.efs.us-isob-east-1.sc2s.sgov.gov | -
/mnt/isoe | efs | fs-0123456789abcde18 | - | eu-isoe-west-1 | fs-0123456789abcde18.efs.eu-isoe-west-1.cloud.adc-e.uk | -
/mnt/isof | efs | fs-0123456789abcde19 | - | us-isof-south-1 | fs-0123456789abcde19.efs.us-isof-south-1.csp.hci.ic.gov | -
/mnt/european | efs | fs-0123456789abcde20 | - | eusc-de-east-1 | fs-0123456789abcde20.efs.eusc-de-east-1.amazonaws.eu | -
/mnt/a b\\c | efs | fs-0123456789abcde21 | - | us-east-1 | fs-0123456789abcde21.efs.us-east-1.amazonaws.com | -
/efs-auto/home | efs | fs-0123456789abcde22 | - | us-east-1 | fs-0123456789abcde22.efs.us-east-1.amazonaws.com | -
/mnt/v1 | efs | fs-0123456789abcde23 | - | us-east-1 | fs-0123456789abcde23.efs.us-east-1.amazonaws.com | -
/mnt/v2 | efs | fs-0123456789abcde24 | - | - | 10.0.2.24 | us-east-1b
/mnt/v2-tls | efs | fs-0123456789abcde25 | fsap-0123456789abcde25 | us-east-1 | us-east-1c.fs-0123456789abcde25.efs.us-east-1.amazonaws.com | us-east-1c
/mnt/v3 | efs | fs-0123456789abcde26 | fsap-0123456789abcde26 | us-east-1 | fs-0123456789abcde26.efs.us-east-1.amazonaws.com | -
/mnt/v3-ipv6 | efs | fs-0123456789abcde27 | - | us-east-1 | fd00::27 | -
/mnt/v3-cross | efs | fs-0123456789abcde28 | - | eu-west-1 | euw1-az2.fs-0123456789abcde28.efs.eu-west-1.amazonaws.com | euw1-az2
/var/lib/kubelet/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29/volumes/kubernetes.io~csi/pvc-29/mount | efs | fs-0123456789abcde29 | fsap-0123456789abcde29 | us-east-1 | fs-0123456789abcde29.efs.us-east-1.amazonaws.com | -
/var/lib/kubelet/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29/volume-subpaths/pvc-29/app/0 | efs | fs-0123456789abcde29 | fsap-0123456789abcde29 | us-east-1 | fs-0123456789abcde29.efs.us-east-1.amazonaws.com | -
/mnt/rewritten | efs | fs-0123456789abcde30 | fsap-0123456789abcde30 | us-east-1 | fs-0123456789abcde30.efs.us-east-1.amazonaws.com | -
/mnt/trailing | efs | fs-0123456789abcde31 | fsap-0123456789abcde31 | us-east-1 | fs-0123456789abcde31.efs.us-east-1.amazonaws.com | -
/data/new/efs | efs | fs-0123456789abcde32 | - | us-east-1 | fs-0123456789abcde32.efs.us-east-1.amazonaws.com | -
/.efs | efs | fs-0123456789abcde33 | - | us-east-1 | fs-0123456789abcde33.efs.us-east-1.amazonaws.com | -
/efs | efs | fs-0123456789abcde34 | - | us-east-1 | fs-0123456789abcde34.efs.us-east-1.amazonaws.com | -
/a.b | efs | fs-0123456789abcde35 | fsap-0123456789abcde35 | us-east-1 | fs-0123456789abcde35.efs.us-east-1.amazonaws.com | -
/a/b | efs | fs-0123456789abcde36 | fsap-0123456789abcde36 | us-east-1 | fs-0123456789abcde36.efs.us-east-1.amazonaws.com | -
/mnt/my efs | efs | fs-0123456789abcde37 | - | us-east-1 | fs-0123456789abcde37.efs.us-east-1.amazonaws.com | -
/mnt/mismatch | unknown | no state file of amazon-efs-utils for its port
/mnt/no-state | unknown | no state file of amazon-efs-utils for its port
/mnt/empty-state | unknown | its state file is empty or half written
/mnt/reused | efs | fs-0123456789abcde41 | fsap-0123456789abcde41 | us-east-1 | fs-0123456789abcde41.efs.us-east-1.amazonaws.com | -
/mnt/s3 | s3files
/loc | nfs | a server on this host, without a mount helper's port
/var/lib/ecs/volumes/ecs-app-7-data-e2b1c4d3 | efs | fs-0123456789abcde44 | - | us-east-1 | fs-0123456789abcde44.efs.us-east-1.amazonaws.com | -
/mnt/address | efs | fs-0123456789abcde50 | - | us-east-1 | 10.0.1.50 | us-east-1a
/mnt/ipv6 | efs | fs-0123456789abcde51 | - | us-east-1 | fd00::51 | us-east-1b
/mnt/cname | efs | fs-0123456789abcde52 | - | us-east-1 | 10.0.2.52 | us-east-1b
/mnt/nas | nfs | its server's address is no mount target of this account and Region; if it is EFS, name the file system in [[mounts]]
/mnt/overlapping | unknown | several file systems have a mount target with its address; name the right one in [[mounts]]
/mnt/nfs3 | nfs | its server is not an EFS name, and EFS speaks no NFS but 4.0 and 4.1
/mnt/configured | efs | fs-0123456789abcde56 | fsap-0123456789abcde56 | eu-west-1 | 10.7.0.56 | -
/mnt/overruled | efs | fs-0123456789abcde57 | - | - | - | -
/mnt/stacked | nfs | its server is not an EFS name, and EFS speaks no NFS but 4.0 and 4.1
/mnt/stacked | efs | fs-0123456789abcde59 | - | us-east-1 | fs-0123456789abcde59.efs.us-east-1.amazonaws.com | -
";

fn table() -> Vec<String> {
    TABLE.lines().map(str::to_owned).collect()
}

#[test]
fn every_mount_is_what_the_table_says() {
    let machine = Machine::read();
    let parsed = machine.parsed();
    let found = machine.table(&parsed, &helper_mounts(&machine.files), Some(&machine.targets));
    assert_eq!(found.join("\n"), table().join("\n"));
}

#[test]
fn a_daemon_that_follows_the_mounts_says_the_same() {
    let machine = Machine::read();
    let parsed = machine.parsed();
    let seen = machine.seen(&parsed);
    let mut attribution = Attribution::with_targets(Some(machine.targets.clone()));
    let mut asked = 0;
    for seconds in [0, 10] {
        let moment = Moment { monotonic: NOW.monotonic + Duration::from_secs(seconds), wall: NOW.wall };
        attribution.update(moment, &seen, &machine.configured, || {
            asked += 1;
            helper_mounts(&machine.files)
        });
        let lines = seen.superblocks.iter().flat_map(|superblock| {
            let answer = attribution.answer(superblock.number).unwrap();
            superblock.records.iter().map(move |record| line(record.mount_point, answer))
        });
        assert_eq!(lines.collect::<Vec<_>>().join("\n"), table().join("\n"));
        // `/mnt/mismatch`, `/mnt/no-state`, `/mnt/empty-state` and `/mnt/overlapping`.
        assert_eq!((attribution.held(moment).len(), attribution.unidentified(moment)), (4, 0));
        assert_eq!(attribution.wanted(moment), [], "EFS has said all that it can");
    }
    assert_eq!(asked, 2, "once a reading");
}

#[test]
fn where_efs_may_not_be_asked_an_address_is_nobodys() {
    let machine = Machine::read();
    let parsed = machine.parsed();
    let hint = "nfs | its server is not an EFS name; if it is EFS, set identity.lookup or name the file system in \
                [[mounts]]";
    let by_address = ["/mnt/address", "/mnt/ipv6", "/mnt/cname", "/mnt/nas", "/mnt/overlapping"];
    // Without what EFS said, these two have no zone.
    let by_name = ["/mnt/dns", "/mnt/dns-bind", "/mnt/v2"];
    let expected: Vec<String> = table()
        .into_iter()
        .map(|line| match line.split_once(" | ").unwrap() {
            (mount_point, _) if by_address.contains(&mount_point) => format!("{mount_point} | {hint}"),
            (mount_point, rest) if by_name.contains(&mount_point) => {
                format!("{mount_point} | {} | -", rest.rsplit_once(" | ").unwrap().0)
            }
            _ => line,
        })
        .collect();
    let found = machine.table(&parsed, &helper_mounts(&machine.files), None);
    assert_eq!(found.join("\n"), expected.join("\n"));
}

#[test]
fn only_a_zone_s_id_names_another_account() {
    let machine = Machine::read();
    let parsed = machine.parsed();
    let found: Vec<String> = machine
        .seen(&parsed)
        .superblocks
        .iter()
        .filter_map(|superblock| {
            let name = MountName::of(superblock, superblock.records[0], NOW);
            let helper = helper_mounts(&machine.files);
            let lookups = Lookups { helper: &helper, ..Lookups::default() };
            match identify(name, lookups) {
                Answer::Efs(identity) if identity.is_cross_account() => {
                    Some(identity.file_system.to_string())
                }
                _ => None,
            }
        })
        .collect();
    assert_eq!(found, ["fs-0123456789abcde12", "fs-0123456789abcde28"]);
}

/// What else the mount helper's state tells.
#[test]
fn the_state_tells_what_is_unfinished_and_what_is_encrypted() {
    let machine = Machine::read();
    let parsed = machine.parsed();
    let helper = helper_mounts(&machine.files);
    let lookups = Lookups { helper: &helper, ..Lookups::default() };
    let seen = machine.seen(&parsed);
    let state = |mount_point: &str| {
        let mut names = seen.superblocks.iter().flat_map(|superblock| {
            superblock.records.iter().map(move |record| MountName::of(superblock, record, NOW))
        });
        let name = names.find(|name| name.mount_point == mount_point.as_bytes()).unwrap();
        helper_mount(name, lookups).map(|state| (state.unfinished, state.tls))
    };
    assert_eq!(state("/mnt/v1"), Some((false, Some(true))));
    assert_eq!(state("/mnt/v2"), Some((false, Some(false))));
    assert_eq!(state("/mnt/v3"), Some((false, Some(true))));
    assert_eq!(state("/mnt/v3-ipv6"), Some((false, Some(false))));
    assert_eq!(state("/mnt/empty-state"), Some((false, None)));
    assert_eq!(state("/mnt/rewritten"), Some((false, Some(true))), "a copy beside the whole file is none");
    let pod = "/var/lib/kubelet/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29";
    assert_eq!(state(&format!("{pod}/volumes/kubernetes.io~csi/pvc-29/mount")), Some((true, Some(true))));
    assert_eq!(state("/mnt/no-state"), None);
    assert_eq!(state("/mnt/dns"), None);
}

#[test]
fn orchestrators_paths_are_told_from_people_s() {
    let pod = "0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29";
    let made_up: Vec<(String, Place<'static>)> = TABLE
        .lines()
        .map(|line| line.split_once(" | ").unwrap().0)
        .filter(|mount_point| !Place::of(mount_point).is_lasting())
        .map(|mount_point| (mount_point.to_owned(), Place::of(mount_point)))
        .collect();
    let volume = Place::Kubelet { pod: Some(pod), volume: Some("pvc-29") };
    assert_eq!(
        made_up,
        [
            (format!("/var/lib/kubelet/pods/{pod}/volumes/kubernetes.io~csi/pvc-29/mount"), volume),
            (format!("/var/lib/kubelet/pods/{pod}/volume-subpaths/pvc-29/app/0"), volume),
            (
                "/var/lib/ecs/volumes/ecs-app-7-data-e2b1c4d3".to_owned(),
                Place::Ecs { volume: "ecs-app-7-data-e2b1c4d3" }
            ),
        ]
    );
}
