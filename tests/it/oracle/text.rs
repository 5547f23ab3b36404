//! A host as the kernel prints it, and as it is when the text can be believed.

use std::fmt::Write;
use std::time::Duration;

use efsmon::model::Moment;
use efsmon::source::{Reading, StateFile, View};

use super::host::{Counters, Hidden, Host, Mount, Owner, Superblock};

/// What a reading shows of the host, for those who need no text.
pub struct Sight {
    /// Nanoseconds.
    pub wall: i128,
    pub monotonic: i128,
    /// Every NFS mount could be read and joined.
    pub complete: bool,
    pub superblocks: Vec<Shown>,
}

pub struct Shown {
    pub truth: usize,
    pub minor: u32,
    /// Whole seconds.
    pub age: i128,
    pub devices: Vec<String>,
    pub owner: Owner,
    pub access_point: Option<&'static str>,
    /// The first of its mount points, as a person writes it.
    pub mount_point: String,
    pub counts_errors: bool,
    pub counters: Counters,
}

pub fn sight(host: &Host) -> Sight {
    let mut sight =
        Sight { wall: host.wall, monotonic: host.monotonic, complete: true, superblocks: Vec::new() };
    for superblock in &host.superblocks {
        let joined = match superblock.hidden {
            Hidden::No => superblock.mounts.len(),
            Hidden::LastMountAfter => superblock.mounts.len() - 1,
            _ => 0,
        };
        sight.complete &= matches!(superblock.hidden, Hidden::No | Hidden::Gone);
        if joined > 0 {
            sight.superblocks.push(Shown {
                truth: superblock.truth,
                minor: superblock.minor,
                age: superblock.age(host.monotonic),
                devices: superblock.mounts.iter().take(joined).map(|mount| mount.device.clone()).collect(),
                owner: superblock.owner,
                access_point: superblock.access_point,
                mount_point: superblock.mounts[0].point.replace("\\040", " "),
                counts_errors: !superblock.old_kernel,
                counters: superblock.counters.clone(),
            });
        }
    }
    sight
}

pub fn reading(host: &Host) -> Reading {
    let nanoseconds = |time: i128| Duration::from_nanos(u64::try_from(time).unwrap());
    Reading {
        moment: Moment { wall: nanoseconds(host.wall), monotonic: nanoseconds(host.monotonic) },
        view: View::Init,
        mountinfo_before: mountinfo(host, false),
        mountstats: mountstats(host),
        mountinfo_after: mountinfo(host, true),
    }
}

/// Mount points are made in rounds, the first mount of every superblock first, so that aliases lie apart.
fn mounts(host: &Host) -> impl Iterator<Item = (&Superblock, usize, &Mount)> {
    (0..8).flat_map(|round| {
        host.superblocks.iter().filter_map(move |superblock| {
            superblock.mounts.get(round).map(|mount| (superblock, round, mount))
        })
    })
}

fn mountinfo(host: &Host, after: bool) -> Vec<u8> {
    let mut text = "31 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n".to_owned();
    for (superblock, round, mount) in mounts(host) {
        let missing = match superblock.hidden {
            Hidden::Gone => true,
            Hidden::Before => !after,
            Hidden::After => after,
            Hidden::LastMountAfter => after && round + 1 == superblock.mounts.len(),
            Hidden::No | Hidden::Garbled => false,
        };
        if !missing {
            let Mount { point, device } = mount;
            let minor = superblock.minor;
            let id = 60 + minor;
            writeln!(text, "{id} 31 0:{minor} / {point} rw shared:{id} - nfs4 {device} rw,addr=10.0.0.1")
                .unwrap();
        }
    }
    text.into_bytes()
}

fn mountstats(host: &Host) -> Vec<u8> {
    let mut text = "device /dev/nvme0n1p1 mounted on / with fstype ext4\n".to_owned();
    for (superblock, _, mount) in mounts(host) {
        if superblock.hidden != Hidden::Gone {
            record(&mut text, superblock, mount, superblock.age(host.monotonic));
        }
    }
    text.into_bytes()
}

fn record(text: &mut String, superblock: &Superblock, mount: &Mount, age: i128) {
    let Counters { operations, payload_read, payload_written } = &superblock.counters;
    let port = superblock.port.map(|port| format!("port={port},")).unwrap_or_default();
    let version = if superblock.old_kernel { "1.0" } else { "1.1" };
    write!(
        text,
        "device {} mounted on {} with fstype nfs4 statvers=1.1\n\
         \topts:\trw,vers=4.1,rsize=1048576,wsize=1048576,hard,proto=tcp,{port}timeo=600,retrans=2\n\
         \tage:\t{age}\n\
         \tcaps:\tcaps=0x3ffdf,wtmult=512,dtsize=1048576,bsize=0,namlen=255\n\
         \tsec:\tflavor=1,pseudoflavor=1\n\
         \tevents:\t1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 \n\
         \tbytes:\t11 22 33 44 {payload_read} {payload_written} 55 66 \n\
         \tRPC iostats version: {version}  p/v: 100003/4 (nfs)\n\
         \txprt:\ttcp 0 0 1 0 13 39702 39702 0 79404 0 32 13234 19851\n\
         \tper-op statistics\n",
        mount.device, mount.point
    )
    .unwrap();
    for (name, numbers) in operations {
        let garbled = superblock.hidden == Hidden::Garbled && *name == "WRITE";
        // Sums of times are signed, and printed as if they were not.
        let [queue, rtt, execute] = [numbers.queue, numbers.rtt, numbers.execute].map(i64::cast_unsigned);
        write!(
            text,
            "\t{name:>12}: {} {} {} {} {} {queue} {rtt} {execute}",
            numbers.requests, numbers.transmissions, numbers.timeouts, numbers.sent, numbers.received
        )
        .unwrap();
        match (garbled, superblock.old_kernel) {
            (true, _) => text.push_str("x\n"),
            (false, true) => text.push('\n'),
            (false, false) => writeln!(text, " {}", numbers.errors).unwrap(),
        }
    }
    text.push('\n');
}

/// The mount helper's state files of the mounts that have a name.
pub fn state_files(host: &Host) -> Vec<StateFile> {
    let named = host.superblocks.iter().filter_map(|superblock| match (superblock.port, superblock.owner) {
        (Some(port), Owner::FileSystem(id)) => Some((id, port, superblock)),
        _ => None,
    });
    named
        .map(|(id, port, superblock)| {
            let point = &superblock.mounts[0].point;
            let through =
                superblock.access_point.map(|id| format!(r#", "accessPoint": "{id}""#)).unwrap_or_default();
            let text = format!(r#"{{"pid": 7, "fsId": "{id}", "mountpoint": "{point}"{through}}}"#);
            StateFile {
                name: format!("{id}.{}.{port}", point.trim_start_matches('/').replace('/', ".")),
                text: Some(text.into_bytes()),
            }
        })
        .collect()
}
