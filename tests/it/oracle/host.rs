//! A host that mounts file systems: superblocks with true counters that a seeded process lets grow.

use fastrand::Rng;

pub const SECOND: i128 = 1_000_000_000;

/// The numbers of one operation, as the kernel keeps them.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    pub requests: u64,
    pub transmissions: u64,
    pub timeouts: u64,
    pub sent: u64,
    pub received: u64,
    pub queue: i64,
    pub rtt: i64,
    pub execute: i64,
    pub errors: u64,
}

/// What a superblock counted since it was made.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub operations: Vec<(&'static str, Numbers)>,
    pub payload_read: u64,
    pub payload_written: u64,
}

impl Counters {
    pub fn new() -> Counters {
        let operations = OPERATIONS.iter().map(|name| (*name, Numbers::default())).collect();
        Counters { operations, ..Counters::default() }
    }

    pub fn of(&self, name: &str) -> Option<&Numbers> {
        self.operations.iter().find(|(operation, _)| *operation == name).map(|(_, numbers)| numbers)
    }

    /// Sent and received.
    pub fn bytes(&self, name: &str) -> u64 {
        self.of(name).map_or(0, |numbers| numbers.sent + numbers.received)
    }
}

/// What the kernel prints, some of the session's among them, and two that nobody knows.
pub const OPERATIONS: [&str; 15] = [
    "NULL",
    "READ",
    "WRITE",
    "COMMIT",
    "OPEN",
    "CLOSE",
    "ACCESS",
    "GETATTR",
    "LOOKUP",
    "RENEW",
    "EXCHANGE_ID",
    "SEQUENCE",
    "TEST_STATEID",
    "FROBNICATE",
    "77",
];

const ACCESS_POINTS: [&str; 2] = ["fsap-0123456789abcdef0", "fsap-89abcdef"];

#[derive(Clone, Debug)]
pub struct Mount {
    pub point: String,
    pub device: String,
}

/// How a superblock is kept from a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    No,
    /// Mounted nowhere: another namespace, or a lazy unmount, keeps it alive.
    Gone,
    /// mountinfo did not show it before mountstats was read, or not after.
    Before,
    After,
    /// Its last mount came or went meanwhile; the others did not.
    LastMountAfter,
    /// Its record cannot be read.
    Garbled,
}

/// Which file system a superblock is of, as far as can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    FileSystem(&'static str),
    Nobody,
    /// The mount helper has not said yet.
    Unnamed,
}

#[derive(Clone, Debug)]
pub struct Superblock {
    /// Which one it truly is: numbers are used again, this is not.
    pub truth: usize,
    pub minor: u32,
    /// Nanoseconds of the monotonic clock.
    pub born: i128,
    pub owner: Owner,
    /// What it is mounted through, which the mount helper says.
    pub access_point: Option<&'static str>,
    /// The local port of the mount helper's proxy.
    pub port: Option<u16>,
    pub mounts: Vec<Mount>,
    pub counters: Counters,
    /// Before Linux 4.19: eight numbers an operation, times that fall, requests that were never sent.
    pub old_kernel: bool,
    pub hidden: Hidden,
    /// Readings for which it stays hidden.
    pub hidden_for: u32,
    /// Of 100 stretches, how many are idle; and how much is done in the others.
    pub idle: u32,
    pub load: u64,
}

impl Superblock {
    pub fn age(&self, monotonic: i128) -> i128 {
        (monotonic - self.born) / SECOND
    }
}

pub struct Host {
    pub rng: Rng,
    /// Nanoseconds.
    pub monotonic: i128,
    pub wall: i128,
    pub superblocks: Vec<Superblock>,
    made: usize,
}

impl Host {
    pub fn new(seed: u64, wall: i128) -> Host {
        Host {
            rng: Rng::with_seed(seed),
            monotonic: 900_000 * SECOND + 123_456_789,
            wall,
            superblocks: Vec::new(),
            made: 0,
        }
    }

    /// Lets time pass, and every superblock work.
    pub fn pass(&mut self, nanoseconds: i128) {
        assert!(nanoseconds >= 0, "time goes on");
        self.monotonic += nanoseconds;
        self.wall += nanoseconds;
        for superblock in &mut self.superblocks {
            work(&mut self.rng, superblock, nanoseconds);
        }
    }

    /// A new superblock of a file system by its DNS name, with the lowest free number.
    pub fn mount(&mut self, file_system: &'static str) -> &mut Superblock {
        let device = format!("{file_system}.efs.eu-west-1.amazonaws.com:/");
        self.make(Owner::FileSystem(file_system), device, None)
    }

    /// One that the mount helper made; which file system it is shows with the state file only.
    pub fn mount_with_helper(&mut self) -> &mut Superblock {
        let port = 20_049 + u16::try_from(self.made).unwrap();
        let access_point = self.rng.choice([None, Some(ACCESS_POINTS[0]), Some(ACCESS_POINTS[1])]).flatten();
        let superblock = self.make(Owner::Unnamed, "127.0.0.1:/".to_owned(), Some(port));
        superblock.access_point = access_point;
        superblock
    }

    /// NFS that is not EFS.
    pub fn mount_other(&mut self) -> &mut Superblock {
        self.make(Owner::Nobody, "10.0.0.5:/export".to_owned(), None)
    }

    fn make(&mut self, owner: Owner, device: String, port: Option<u16>) -> &mut Superblock {
        let used = |minor: &u32| self.superblocks.iter().any(|superblock| superblock.minor == *minor);
        let minor = (40..).find(|minor| !used(minor)).unwrap();
        let truth = self.made;
        self.made += 1;
        self.superblocks.push(Superblock {
            truth,
            minor,
            born: self.monotonic,
            owner,
            access_point: None,
            port,
            mounts: vec![Mount { point: format!("/mnt/{truth}"), device }],
            counters: Counters::new(),
            old_kernel: self.rng.u32(..4) == 0,
            hidden: Hidden::No,
            hidden_for: 0,
            idle: self.rng.u32(..90),
            load: 1 << self.rng.u32(1..14),
        });
        self.superblocks.last_mut().unwrap()
    }

    /// Gives superblocks a past: they were there long before.
    pub fn age_everything(&mut self) {
        for superblock in &mut self.superblocks {
            superblock.born -= i128::from(self.rng.u32(20..800_000)) * SECOND;
            for (_, numbers) in &mut superblock.counters.operations {
                numbers.requests += self.rng.u64(..1 << 40);
                numbers.transmissions += numbers.requests;
                numbers.sent += self.rng.u64(..1 << 50);
                numbers.received += self.rng.u64(..1 << 50);
                numbers.execute += self.rng.i64(0..1 << 45);
            }
            superblock.counters.payload_read += self.rng.u64(..1 << 50);
            superblock.counters.payload_written += self.rng.u64(..1 << 50);
        }
    }

    /// The superblock `index` is unmounted and mounted again: a new one with the number of the old one.
    pub fn remount(&mut self, index: usize) {
        let old = &mut self.superblocks[index];
        old.truth = self.made;
        self.made += 1;
        old.born = self.monotonic;
        old.counters = Counters::new();
    }

    pub fn visible(&self) -> impl Iterator<Item = usize> {
        (0..self.superblocks.len()).filter(|index| self.superblocks[*index].hidden == Hidden::No)
    }

    /// One that can be seen.
    pub fn any(&mut self) -> Option<usize> {
        let visible: Vec<usize> = self.visible().collect();
        self.rng.choice(visible)
    }

    /// Whether another one is mounted at a place of this one's.
    pub fn shares_a_place(&self, index: usize) -> bool {
        let others = self.superblocks.iter().enumerate().filter(|(other, _)| *other != index);
        let mut there = others.flat_map(|(_, superblock)| &superblock.mounts);
        there.any(|mount| self.superblocks[index].mounts.iter().any(|here| here.point == mount.point))
    }

    /// Counts a reading down for those that are hidden.
    pub fn reading_done(&mut self) {
        for superblock in &mut self.superblocks {
            superblock.hidden_for = superblock.hidden_for.saturating_sub(1);
            if superblock.hidden_for == 0 {
                superblock.hidden = Hidden::No;
            }
        }
    }
}

fn work(rng: &mut Rng, superblock: &mut Superblock, nanoseconds: i128) {
    // The session's operations are shared by all mounts of a server: they may do anything, even fall.
    for (name, numbers) in &mut superblock.counters.operations {
        if matches!(*name, "NULL" | "RENEW" | "EXCHANGE_ID" | "SEQUENCE") {
            numbers.requests = rng.u64(..1000);
            numbers.sent = rng.u64(..100_000);
        }
    }
    if rng.u32(..100) < superblock.idle {
        return;
    }
    let most = (i128::from(superblock.load) * nanoseconds / (10 * SECOND)).max(1);
    let most = u64::try_from(most).unwrap();
    let Counters { operations, payload_read, payload_written } = &mut superblock.counters;
    for (name, numbers) in operations {
        if matches!(*name, "NULL" | "RENEW" | "EXCHANGE_ID" | "SEQUENCE") || rng.u32(..3) == 0 {
            continue;
        }
        let requests = rng.u64(..=most);
        let again = if rng.u32(..6) == 0 { rng.u64(..=requests) } else { 0 };
        numbers.requests += requests;
        numbers.transmissions += match superblock.old_kernel {
            true => requests.saturating_sub(again / 2),
            false => requests + again,
        };
        let payload = requests * rng.u64(1..70_000);
        let (sent, received) = match *name {
            "READ" => (0, payload),
            "WRITE" => (payload, 0),
            _ => (0, 0),
        };
        *payload_read += received;
        *payload_written += sent;
        numbers.sent += sent + (requests + again) * rng.u64(180..300);
        numbers.received += received + requests * rng.u64(100..260);
        numbers.timeouts += again / 3;
        if !superblock.old_kernel {
            numbers.errors += rng.u64(..=requests) / 7;
        }
        let requests = i64::try_from(requests).unwrap();
        numbers.rtt += requests * rng.i64(0..20) + rng.i64(0..5);
        numbers.execute += requests * rng.i64(0..25) + rng.i64(0..5);
        let falls = superblock.old_kernel && rng.u32(..3) == 0;
        if falls && rng.u32(..4) == 0 {
            numbers.execute -= rng.i64(0..20_000);
        }
        numbers.queue += if falls { -rng.i64(0..300) } else { requests * rng.i64(0..3) };
    }
}
