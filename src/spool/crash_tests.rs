//! Commits with a drain between them, broken off at every step.

use std::collections::{BTreeMap, BTreeSet};

use super::failing_disk::FailingDisk;
use super::tests::{OWNER, batch, datum, minute};
use super::*;

/// What CloudWatch has, and what the daemon goes on from.
#[derive(Default)]
struct World {
    /// How often each datum, by the name of its metric, was acknowledged.
    received: BTreeMap<String, usize>,
    /// The last minute whose commit succeeded.
    committed: u64,
    /// The data of a request that was acknowledged and may not be off the disk yet.
    in_flight: BTreeSet<String>,
}

fn names(batch: &Batch) -> impl Iterator<Item = String> {
    batch.data.iter().map(|datum| datum.metric.to_string())
}

/// Minute `index` makes 0 to 3 requests of 1 or 2 data, named after it.
fn batches(index: u64) -> Vec<Batch> {
    let data = |part| (0..=(index + part) % 2).map(move |k| format!("{index}.{part}.{k}"));
    let batch = |part| batch(data(part).map(|name| datum(&name, minute(index))).collect());
    (0..index * 7 % 4).map(batch).collect()
}

impl World {
    /// Commits or sends (all of a request, or the first datum of it), as the generator says.
    fn step(&mut self, spool: &mut Spool<FailingDisk>, rng: &mut fastrand::Rng) -> Result<(), SpoolError> {
        let newest = spool.files().next_back().map(|(id, _)| id);
        if rng.u8(..3) > 0 {
            let next = self.committed + 1;
            spool.commit(&batches(next), next.to_string().as_bytes())?;
            self.committed = next;
        } else if let Some(id) = newest {
            let mut batch = spool.read(id).expect("a whole file");
            let rest = batch.data.split_off(if rng.bool() { 1 } else { batch.data.len() });
            self.in_flight = names(&batch).collect();
            for name in names(&batch) {
                *self.received.entry(name).or_default() += 1;
            }
            let rest = Batch { data: rest, ..batch };
            // Twice, as a publisher would: what was acknowledged must not be read again.
            let first = spool.rewrite(id, &rest);
            first.or_else(|_| spool.rewrite(id, &rest))?;
            self.in_flight.clear();
        }
        Ok(())
    }

    /// Each datum of a minute up to the counters is on disk or received, of a later one neither; on disk and received
    /// is only what was in flight.
    fn check(&mut self, Opened { spool, counters }: &mut Opened<FailingDisk>) {
        let number = |text: &Vec<u8>| std::str::from_utf8(text).unwrap().parse().unwrap();
        let counted = counters.as_ref().map_or(0, number);
        assert!(counted == self.committed || counted == self.committed + 1, "{counted}");
        self.committed = counted;

        let mut stored: BTreeMap<String, usize> = BTreeMap::new();
        for id in spool.files().map(|(id, _)| id).collect::<Vec<_>>() {
            for name in names(&spool.read(id).expect("a whole file")) {
                *stored.entry(name).or_default() += 1;
            }
        }
        for name in (1..=counted).flat_map(batches).flat_map(|batch| names(&batch).collect::<Vec<_>>()) {
            let again = usize::from(self.in_flight.contains(&name));
            let stored = stored.remove(&name).unwrap_or(0);
            let received = self.received.entry(name.clone()).or_default();
            let total = stored + *received;
            assert!((1..=1 + again).contains(&total), "{name}: {stored} stored, {received} received");
            if total == 2 {
                *received = 0; // From here on it is as if it had not been sent.
            }
        }
        assert!(stored.is_empty(), "of no committed minute: {stored:?}");
        let known = |name: &str| name.split('.').next().unwrap().parse::<u64>().unwrap() <= counted;
        assert!(self.received.keys().all(|name| known(name)), "sent before it was committed");
        assert_eq!(spool.standing().losses, Losses::default());
        self.in_flight.clear();
    }
}

fn open(disk: &FailingDisk) -> Result<Opened<FailingDisk>, SpoolError> {
    Spool::open(disk.clone(), OWNER, Limits::default())
}

/// Runs until the power goes, or to the end; false then.
fn run(world: &mut World, disk: &FailingDisk, rng: &mut fastrand::Rng) -> bool {
    let mut opened = open(disk).expect("power while it starts");
    (0..12).any(|_| world.step(&mut opened.spool, rng).is_err())
}

#[test]
fn a_power_cut_at_any_step_leaves_whole_minutes_and_their_counters() {
    for seed in 0..6 {
        for cut in 0.. {
            let rng = &mut fastrand::Rng::with_seed(seed);
            let (mut world, mut disk) = (World::default(), FailingDisk::default());
            // The steps that start with a fresh disk need none.
            disk.cut_power_after(cut);
            let broken = run(&mut world, &disk, rng);
            // The next start may be cut short as well, and the next run.
            disk = disk.after_power_cut(rng);
            disk.cut_power_after(rng.usize(..8));
            let _ = open(&disk);
            disk = disk.after_power_cut(rng);
            world.check(&mut open(&disk).unwrap());
            disk.cut_power_after(rng.usize(..100));
            run(&mut world, &disk, rng);
            disk = disk.after_power_cut(rng);
            world.check(&mut open(&disk).unwrap());
            if !broken {
                break;
            }
        }
    }
}

#[test]
fn a_kill_at_any_step_leaves_whole_minutes_and_their_counters() {
    for seed in 0..6 {
        for cut in 0.. {
            let rng = &mut fastrand::Rng::with_seed(seed);
            let (mut world, disk) = (World::default(), FailingDisk::default());
            disk.cut_power_after(cut);
            let broken = run(&mut world, &disk, rng);
            world.check(&mut open(&disk.after_kill()).unwrap());
            if !broken {
                break;
            }
        }
    }
}

#[test]
fn a_step_that_fails_once_costs_at_most_its_own_commit() {
    for seed in 0..6 {
        for failing in 0..150 {
            let rng = &mut fastrand::Rng::with_seed(seed);
            let (mut world, disk) = (World::default(), FailingDisk::default());
            disk.fail_once_after(failing);
            let Ok(mut opened) = open(&disk) else { continue };
            let failures = (0..12).filter(|_| world.step(&mut opened.spool, rng).is_err()).count();
            assert!(failures <= 1);
            let committed = world.committed;
            world.check(&mut open(&disk.after_power_cut(rng)).unwrap());
            assert_eq!(world.committed, committed);
        }
    }
}
