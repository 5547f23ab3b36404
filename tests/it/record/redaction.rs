//! With its names replaced, a recording tells the same story of nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use efsmon::recording::redact::Redaction;
use efsmon::recording::{About, Tick};
use efsmon::source::StateFile;
use serde_json::Value;

use super::{data, efsmon, efsmon_with, files, record, state_file, stdout, tick};

/// More mounts than the identity fixture has: with names where nobody looks for any.
const MORE_MOUNTINFO: &str = r"
90 21 8:17 /secretroot /srv/secretvolume rw,relatime shared:30 - fuse.secretfs /dev/mapper/secretgroup rw,user_id=1000
91 21 0:191 /secretexport /mnt/secretlabel rw,relatime shared:9 secrettag:4 - nfs4 fs-0123456789abcde91.efs.us-east-1.amazonaws.com:/secretexport rw,vers=4.1,context=system_u:object_r:secret_t:s0:c1,c2,clientaddr=10.0.1.161,addr=10.0.1.91
secretline
";
const MORE_MOUNTSTATS: &str = "\
device /dev/mapper/secretgroup mounted on /srv/secretvolume with fstype fuse.secretfs
device fs-0123456789abcde91.efs.us-east-1.amazonaws.com:/secretexport mounted on /mnt/secretlabel with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.1,context=\"system_u:object_r:secret_t:s0:c1,c2\",secretoption=3,hard,fsc=123456789012,clientaddr=10.0.1.161
	age:	200191
	impl_id:	name='secretserver
secret line',domain='secret.example.com',date='0,0'
	caps:	caps=0x3ffdf,secretcap=secretvalue
	nfsv4:	bm0=0xfdffafff,acl=0x0,sessions,pnfs=secretdriver
	sec:	flavor=1,pseudoflavor=1
	secretlabel:	secretvalue
	events:	0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 
	bytes:	0 0 0 0 4096 0 1 0 
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	tcp 0 0 1 0 -3 10 10 0 10 0 2 0 0
	xprt:	secretproto 1 2 3
	per-op statistics
	        READ: 10 10 0 2000 4000 18446744073709551615 10 10 0
	secretoperation: 1 1 0 1 1 0 1 1 0

device 10.0.1.92:/secretexport mounted on /mnt/secretlabel2 with fstype nfs4 statvers=1.1
	opts:	secretbroken
	age:	secret

";

fn more_state() -> [StateFile; 6] {
    [
        state_file(
            "fs-0123456789abcde94.home.secretuser.20194",
            Some(
                r#"{"mountpoint": "/home/secretuser", "awsCredentialsMethod":
                "webidentity:arn:aws:iam::123456789012:role/secretrole,/home/secretuser/token", "secretkey": "secretvalue",
                "secretnumber": 123456789012, "cmd": ["/opt/secretdir/stunnel5", "secretargument", 123456789012],
                "accessPoint": "secretpoint", "fsId": "fs-0123456789abcde94", "unmount_time": null}"#,
            ),
        ),
        state_file("fs-0123456789abcde95.mnt.secrettorn.20195", Some(r#"{"mountpoint": "/mnt/secrettor"#)),
        state_file("fs-0123456789abcde96.mnt.secretunread.20196", None),
        state_file("fs-secret.name", Some("secret")),
        state_file(
            "stunnel-config.fs-0123456789abcde94.home.secretuser.20194",
            Some(
                "; secret comment\npid = /var/run/secretpid\nsocket = secret\n[efs]\nclient = yes\ncert = /secret\n\
                 connect = secret.example.com:2049\nregion = secret-region\nefs_utils_version = secret\nlast = secre",
            ),
        ),
        state_file("stunnel-config.fs-0123456789abcde94.home.secretuser.20194.log", Some("secret")),
    ]
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/identity").join(name);
    fs::read_to_string(path).unwrap()
}

/// The texts `ticks` of 10 s later: every mount is older, and has done its own.
fn later(mountstats: &str, ticks: u64) -> String {
    let line = |(index, line): (usize, &str)| {
        let numbers = |text: &str, grows: &dyn Fn(usize) -> u64| {
            let numbers = text.split_whitespace().enumerate().map(|(column, number)| {
                number
                    .parse::<u64>()
                    .map_or(number.to_owned(), |number| number.saturating_add(grows(column)).to_string())
            });
            numbers.collect::<Vec<_>>().join(" ")
        };
        match line.split_once(':') {
            Some(("\tage", age)) => format!("\tage:\t{}", numbers(age, &|_| 10 * ticks)),
            Some((name, counters)) if matches!(name.trim(), "READ" | "WRITE" | "GETATTR") => {
                let grows = |column| {
                    if column == 2 || column == 8 { 0 } else { ticks * (index as u64 + column as u64) }
                };
                format!("{name}: {}", numbers(counters, &grows))
            }
            _ => line.to_owned(),
        }
    };
    mountstats.lines().enumerate().map(line).map(|line| line + "\n").collect()
}

/// The fixture with every kind of mount, and more, for a minute.
fn ticks() -> Vec<Tick> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/identity/efs");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let state = entries.filter_map(|entry| {
        let text = fs::read(entry.path()).ok()?;
        Some(StateFile { name: entry.file_name().into_string().unwrap(), text: Some(text) })
    });
    let mut state: Vec<StateFile> = state.chain(more_state()).collect();
    state.sort_by(|a, b| a.name.cmp(&b.name));
    let mountinfo = fixture("proc/self/mountinfo") + MORE_MOUNTINFO.trim_start();
    let mountstats = fixture("proc/self/mountstats") + MORE_MOUNTSTATS;
    let mut ticks: Vec<Tick> = (0..8)
        .map(|index| {
            let mut tick =
                tick(index + 1, f64::from(index) * 10.0, &mountinfo, &later(&mountstats, u64::from(index)));
            tick.efs_state = Ok(state.clone());
            tick
        })
        .collect();
    ticks[3].reading = Err("reading /srv/secretroot/self/mountstats: secret".to_owned());
    ticks[5].efs_state = Err("/srv/secretroot: secret".to_owned());
    ticks
}

/// Both recordings, below a directory.
fn recordings() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let about = About {
        host_name: Some("secret-host.example.com".to_owned()),
        board_asset_tag: Some("i-0123456789abcde99".to_owned()),
        is_ec2: true,
    };
    record(&directory.path().join("open"), &about, &ticks());
    let header = directory.path().join("open/efsmon-recording.json");
    let text =
        fs::read_to_string(&header).unwrap().replace("\"What efsmon read", "\"secretnote; what efsmon read");
    fs::write(&header, text).unwrap();
    let output = efsmon(directory.path(), &["record", "--redact", "--from", "open", "closed"]);
    assert!(stdout(&output).starts_with("closed: 8 ticks (1 of them void), "), "{}", stdout(&output));
    directory
}

/// All that a recording holds, its file names too.
fn everything(recording: &Path) -> String {
    let text = |(name, text): (String, Vec<u8>)| format!("{name}\n{}\n", String::from_utf8(text).unwrap());
    files(recording).into_iter().map(text).collect()
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "_-~".contains(c))).collect()
}

fn addresses(text: &str) -> BTreeSet<IpAddr> {
    let words = text.split(|c: char| !(c.is_ascii_hexdigit() || ".:".contains(c)));
    let with_port = |word: &str| word.rsplit_once(':').and_then(|(address, _)| address.parse().ok());
    words.flat_map(|word| [word.parse().ok(), with_port(word)]).flatten().collect()
}

#[test]
fn no_name_id_or_address_is_left() {
    let directory = recordings();
    let open = everything(&directory.path().join("open"));
    let closed = everything(&directory.path().join("closed"));
    assert!(open.contains("secret") && open.contains("123456789012"));
    assert!(!closed.contains("secret"), "{:?}", words(&closed).iter().find(|word| word.contains("secret")));
    assert!(!closed.contains("123456789012"));

    let ours: [IpAddr; 2] = ["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
    let open_addresses = addresses(&open);
    assert!(open_addresses.len() > 25, "{open_addresses:?}");
    let both: BTreeSet<IpAddr> = open_addresses.intersection(&addresses(&closed)).copied().collect();
    // Parts of times and the like look like addresses: `::` and what begins with it.
    let left: Vec<&IpAddr> =
        both.iter().filter(|address| !ours.contains(address) && !address.is_unspecified()).collect();
    assert_eq!(left, Vec::<&IpAddr>::new());

    let is_number = |word: &str| word.trim_start_matches("0x").bytes().all(|byte| byte.is_ascii_hexdigit());
    let (open, closed) = (words(&open), words(&closed));
    let known: BTreeSet<&str> = HARMLESS.iter().flat_map(|words| words.split_whitespace()).collect();
    let both: Vec<&&str> = open.intersection(&closed).filter(|word| !is_number(word)).collect();
    assert!(both.len() > 150, "{both:?}");
    assert_eq!(both.iter().filter(|word| !known.contains(**word)).collect::<Vec<_>>(), Vec::<&&&str>::new());
}

/// What may be in both, as nobody can be told by it.
const HARMLESS: [&str; 7] = [
    // The recording's own.
    "What To at board_asset_tag boot_id class configured dmi each efs_state_error efs_state_unread efsmon efsmon-recording folder for \
     format hostname id interval_seconds it json look machine moment monotonic_ns of --dry-run --procfs DIR own random \
     read redacted stat sys_vendor time view void wall what with Amazon 2026-11-30T16 00Z 10Z 20Z 30Z 40Z 50Z 60Z 70Z",
    // mountinfo and mountstats.
    "- -3 GETATTR NULL READ RPC WRITE acl addr age autofs bm0 bm1 bm2 bsize bytes caps clientaddr date device domain dtsize \
     events ext4 flavor fsc fstype hard impl_id iostats local_lock master mountaddr mounted mountinfo mountport mountproto \
     mounts mountstats mountvers name namlen nfs nfs4 nfsv4 no none noresvport not null on opts p per-op pnfs port \
     propagate_from proto pseudoflavor relatime retrans rsize rw sec self sessions shared statistics statvers tcp timeo tmpfs \
     udp v vers version wsize wtmult xprt yes",
    // State of amazon-efs-utils.
    "--tls 260921120000Z TIMEOUTbusy TIMEOUTclose TIMEOUTidle accept accessPoint certificate certificateCreationTime \
     client cmd commonName connect delay efs-proxy efs_utils_version elasticfilesystem files fips fsId fs_id \
     mountStateDir mount_time mountpoint pem pid privateKey region renegotiation s3files service_type stunnel-config \
     stunnel5 unmount_count unmount_time",
    // Folders.
    "amazon bin ecs efs etc home io~csi kernel kubelet kubernetes lib mnt mount opt pods proc run sbin srv sys usr var \
     volume-subpaths volumes",
    // Domains of AWS's partitions.
    "adc-e amazonaws c2s cloud cn com csp eu gov hci ic sc2s sgov uk",
    // Regions.
    "cn-north-1 eu-isoe-west-1 eu-west-1 eusc-de-east-1 us-east-1 us-gov-west-1 us-iso-east-1 us-isob-east-1 \
     us-isof-south-1 us-west-2",
    // Zones.
    "euw1-az2 us-east-1b us-east-1c use1-az4",
];

/// The answer to a mount, with what names it taken apart.
fn mounts(directory: &Path, recording: &str) -> Vec<Value> {
    let text = stdout(&efsmon(directory, &["mounts", "--json", "--procfs", recording]));
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["mounts"].as_array_mut().unwrap().drain(..).collect()
}

/// What each text of one becomes in the other, where both are alike but for texts.
fn compare(open: &Value, closed: &Value, names: &mut BTreeMap<String, String>) {
    match (open, closed) {
        (Value::String(open), Value::String(closed)) => {
            let known = names.entry(open.clone()).or_insert_with(|| closed.clone());
            assert_eq!(known, closed, "{open} has two names");
        }
        (Value::Array(open), Value::Array(closed)) => {
            assert_eq!(open.len(), closed.len());
            open.iter().zip(closed).for_each(|(open, closed)| compare(open, closed, names));
        }
        (Value::Object(open), Value::Object(closed)) => {
            assert!(open.keys().eq(closed.keys()));
            open.values().zip(closed.values()).for_each(|(open, closed)| compare(open, closed, names));
        }
        _ => assert_eq!(open, closed),
    }
}

#[test]
fn each_mount_has_the_same_answer_and_the_figures_are_the_same() {
    let directory = recordings();
    let open = mounts(directory.path(), "open");
    let closed = mounts(directory.path(), "closed");
    assert!(open.len() > 40, "{}", open.len());
    let mut names = BTreeMap::new();
    compare(&open.into(), &closed.into(), &mut names);
    names.insert("i-0123456789abcde99".to_owned(), "i-00000000000000001".to_owned());
    let outputs: BTreeSet<&String> = names.values().collect();
    assert_eq!(outputs.len(), names.len(), "two have one name: {names:#?}");
    for stays in
        ["efs", "nfs", "unknown", "s3files", "nfs4", "0:110", "us-east-1", "us-isob-east-1", "127.0.0.1:/"]
    {
        assert_eq!(names.get(stays).map(String::as_str), Some(stays));
    }
    for shape in ["fs-", "fsap-"] {
        assert!(names.iter().any(|(open, closed)| {
            open.starts_with(shape)
                && closed.starts_with(shape)
                && open.len() == closed.len()
                && open != closed
        }));
    }

    let all = [("EFSMON_PROFILE", "full"), ("EFSMON_LIMITS__MAX_SERIES", "1000")];
    let dry_run = |recording: &str| {
        stdout(&efsmon_with(directory.path(), &all, &["run", "--dry-run", "--procfs", recording]))
    };
    let renamed = |text: &str| {
        names
            .iter()
            .filter(|(open, _)| {
                open.starts_with("fs-") || open.starts_with("fsap-") || open.starts_with("i-")
            })
            .fold(text.to_owned(), |text, (open, closed)| {
                text.replace(&format!("\"{open}\""), &format!("\"{closed}\""))
            })
    };
    let (open, closed) = (data(&renamed(&dry_run("open"))), data(&dry_run("closed")));
    assert!(open.len() > 500, "{}", open.len());
    assert_eq!(open.len(), closed.len());
    for (open, closed) in open.iter().zip(&closed) {
        assert_eq!(open, closed);
    }
}

#[test]
fn what_is_redacted_while_it_is_recorded_is_redacted_alike() {
    let directory = recordings();
    let mut redaction = Redaction::default();
    let about = About {
        host_name: Some("secret-host.example.com".to_owned()),
        board_asset_tag: Some("i-0123456789abcde99".to_owned()),
        is_ec2: true,
    };
    let about = redaction.about(&about);
    let ticks: Vec<Tick> = ticks().iter().map(|tick| redaction.tick(tick)).collect();
    record(&directory.path().join("live"), &about, &ticks);
    let without_header = |name: &str| {
        let mut files = files(&directory.path().join(name));
        files.retain(|(name, _)| name != "efsmon-recording.json");
        files
    };
    assert!(without_header("live") == without_header("closed"));
    let header =
        |name: &str| fs::read_to_string(directory.path().join(name).join("efsmon-recording.json")).unwrap();
    assert!(
        header("closed").contains("\"redacted\": true") && header("open").contains("\"redacted\": false")
    );
}

/// Whatever a text holds, what comes out is of the kernel's form, and has the same numbers.
#[test]
fn a_redacted_text_is_read_as_the_text_is() {
    let text = later(&(fixture("proc/self/mountstats") + MORE_MOUNTSTATS), 3);
    let mut open = tick(1, 0.0, "x\n", &text);
    open.reading.as_mut().unwrap().mountinfo_before = b"y\n".to_vec();
    let mut closed = Redaction::default().tick(&open);
    let closed = std::mem::replace(&mut closed.reading, Err(String::new())).unwrap().mountstats;
    let (open, closed) = (efsmon::mountstats::parse(text.as_bytes()), efsmon::mountstats::parse(&closed));
    assert_eq!(open.records.len(), closed.records.len());
    assert_eq!(open.problems.len(), closed.problems.len());
    for (open, closed) in open.records.iter().zip(&closed.records) {
        let (Some(open), Some(closed)) = (&open.statistics, &closed.statistics) else { continue };
        assert_eq!(
            (open.age_seconds, &open.events, &open.bytes),
            (closed.age_seconds, &closed.events, &closed.bytes)
        );
        let known = |operation: &efsmon::mountstats::Operation<'_>| operation.name != b"secretoperation";
        assert!(open.operations.iter().filter(known).eq(closed.operations.iter()));
        let known = |transport: &&efsmon::mountstats::Transport<'_>| transport.protocol != b"secretproto";
        assert!(open.transports.iter().filter(known).eq(closed.transports.iter()));
    }
}
