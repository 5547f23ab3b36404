//! The proof of exactness: what is published for a host is worked out a second time, from what truly happened
//! on it, and each figure of each minute and dimension set is compared; none may be missing, none be extra.

mod amounts;
mod host;
mod rules;
mod run;
mod table;
mod text;

use efsmon::catalog::Profile;

use host::{Counters, Hidden, Mount, Owner, SECOND};
use run::Run;

const FILE_SYSTEMS: [&str; 4] =
    ["fs-0a1b2c3d4e5f60711", "fs-0123456789abcdef0", "fs-12345678", "fs-0fedcba9876543210"];
const MS: i128 = SECOND / 1000;

/// Mounts that were there before: two file systems, one of them twice and once as another's alias, and one NFS
/// server that is nobody's.
fn with_mounts(run: &mut Run) {
    run.host.mount(FILE_SYSTEMS[0]);
    let at_three_places = run.host.mount(FILE_SYSTEMS[0]);
    for folder in ["team", "team/a\\040b"] {
        let device = format!("{}{folder}", at_three_places.mounts[0].device);
        at_three_places.mounts.push(Mount { point: format!("/srv/{folder}"), device });
    }
    run.host.mount(FILE_SYSTEMS[1]);
    let under = run.host.mount(FILE_SYSTEMS[1]).mounts[0].clone();
    run.host.mount(FILE_SYSTEMS[1]).mounts[0] = under;
    run.host.mount(FILE_SYSTEMS[1]).mounts[0].point =
        "/var/lib/kubelet/pods/0aa6e1c2-6c5c-4c34-9a3c-6a9d3c0f1e29/volumes/kubernetes.io~csi/pvc-1/mount"
            .to_owned();
    run.host.mount_other();
    run.host.age_everything();
}

/// What may happen to a host between two readings.
fn something(run: &mut Run, helper_mounts: bool) {
    let wait = run.until_tick(0);
    let offset = i128::from(run.host.rng.u64(..u64::try_from(wait).unwrap()));
    let age_of = |run: &Run, index: usize| run.host.superblocks[index].age(run.host.monotonic);
    match run.host.rng.u32(..100) {
        // Mounted again. The kernel's whole seconds cannot tell a superblock from one that is as young.
        0..4 => {
            if let Some(index) = run.host.any().filter(|index| age_of(run, *index) > 3) {
                run.host.pass(offset);
                run.host.remount(index);
            }
        }
        // Births, up to the instant of the reading.
        4..9 if run.host.superblocks.len() < 14 => {
            let offset = if run.host.rng.bool() { offset } else { wait };
            run.host.pass(offset);
            let file_system = FILE_SYSTEMS[run.host.rng.usize(..FILE_SYSTEMS.len())];
            let hidden = [Hidden::No, Hidden::No, Hidden::Before, Hidden::Garbled, Hidden::Gone];
            let hidden = hidden[run.host.rng.usize(..hidden.len())];
            let hidden_for = run.host.rng.u32(1..4);
            let superblock = run.host.mount(file_system);
            (superblock.hidden, superblock.hidden_for) = (hidden, hidden_for);
        }
        9..12 if helper_mounts => {
            run.host.pass(offset);
            let name = run.host.rng.bool();
            let superblock = run.host.mount_with_helper();
            if name {
                superblock.owner = Owner::FileSystem(FILE_SYSTEMS[3]);
            }
        }
        // Deaths.
        12..16 if run.host.superblocks.len() > 5 => {
            if let Some(index) = run.host.any().filter(|index| age_of(run, *index) > 3) {
                run.host.pass(offset);
                run.host.superblocks.remove(index);
            }
        }
        // Absences.
        16..26 => {
            let ways = [Hidden::Gone, Hidden::Before, Hidden::After, Hidden::LastMountAfter, Hidden::Garbled];
            let hidden = ways[run.host.rng.usize(..ways.len())];
            let hidden_for = run.host.rng.u32(1..=7);
            // Two superblocks at one place are told apart by their order, so both stay.
            if let Some(index) = run.host.any().filter(|index| !run.host.shares_a_place(*index)) {
                let superblock = &mut run.host.superblocks[index];
                (superblock.hidden, superblock.hidden_for) = (hidden, hidden_for);
            }
        }
        // Another mount of the same superblock comes, or the first goes.
        26..29 => {
            if let Some(index) = run.host.any() {
                let mounts = &mut run.host.superblocks[index].mounts;
                if mounts.len() < 4 {
                    let Mount { point, device } = mounts[0].clone();
                    let count = mounts.len();
                    mounts.push(Mount {
                        point: format!("{point}-{count}"),
                        device: format!("{device}{count}"),
                    });
                }
            }
        }
        29..31 => {
            if let Some(index) = run.host.any() {
                let mounts = &mut run.host.superblocks[index].mounts;
                if mounts.len() > 1 {
                    mounts.remove(0);
                }
            }
        }
        // A counter falls, and nothing else says that it is another superblock.
        31 => {
            if let Some(index) = run.host.any() {
                run.host.superblocks[index].counters.payload_read /= 2;
            }
        }
        // A reading in between.
        32 => {
            run.host.pass(offset);
            run.read();
        }
        _ => {}
    }
}

/// An hour of everything that a host may go through, at 10 s.
fn hour(seed: u64, profile: Profile, interval: u64) {
    let mut run = Run::every(seed, profile, interval);
    with_mounts(&mut run);
    run.read();
    for tick in 0..360 {
        // A new process waits anew for the name of a mount, so none waits when one starts.
        let helper_mounts = !(60..215).contains(&tick) && tick < 300;
        something(&mut run, helper_mounts);
        name_late(&mut run, tick);
        match tick {
            // At 59.98 s: the clock was slewed.
            30..36 => {
                run.host.pass(run.until_tick(-20 * MS));
                run.read();
            }
            // Nothing at the full minute.
            60..72 if (run.host.wall + run.until_tick(0)) % (60 * SECOND) == 0 => run.void(),
            100..104 | 120..125 | 140..143 => run.void(),
            // Killed; the ticks since the last commit are lost.
            150 => {
                run.host.pass(run.until_tick(-3_300 * MS));
                run.start();
            }
            // Stopped and started within the minute, and again at once.
            170 | 176 => {
                run.host.pass(run.until_tick(-7_100 * MS));
                run.stop();
                run.host.pass(1_400 * MS);
                run.start();
            }
            // Stopped for three minutes.
            190 => {
                run.host.pass(2_300 * MS);
                run.stop();
                run.host.pass(180 * SECOND + 17 * MS);
                run.start();
            }
            // Suspended: the time of day goes on, and nothing else does.
            230 => run.host.wall += 433 * SECOND + 210 * MS,
            // The clock is set back.
            250 => run.host.wall -= 30 * SECOND,
            // The daemon was killed in a gap longer than a minute, with the minute not closed.
            330 => {
                run.host.pass(95 * SECOND);
                run.start();
            }
            _ => run.tick(),
        }
    }
    run.assert_exact(&format!("seed {seed}"));
}

/// The mount helper's answers come late, for some later than anyone waits.
fn name_late(run: &mut Run, tick: u32) {
    let now = run.host.monotonic;
    let always = (55..60).contains(&tick) || (290..300).contains(&tick);
    for superblock in &mut run.host.superblocks {
        let waited = superblock.age(now) > if superblock.truth % 3 == 0 { 640 } else { 25 };
        if superblock.owner == Owner::Unnamed && (waited || always) {
            superblock.owner = Owner::FileSystem(FILE_SYSTEMS[3]);
        }
    }
}

#[test]
fn every_figure_of_an_hour_is_exact() {
    for seed in 1..=2 {
        hour(seed, Profile::Standard, 10);
    }
}

#[test]
fn every_figure_of_an_hour_of_the_full_profile_is_exact() {
    hour(101, Profile::Full, 10);
}

#[test]
fn every_figure_is_exact_at_other_sample_intervals() {
    hour(201, Profile::Standard, 20);
    hour(202, Profile::Standard, 5);
}

#[test]
fn a_hundred_superblocks_of_one_file_system_are_one() {
    let mut run = Run::new(1, Profile::Standard);
    for _ in 0..100 {
        run.host.mount(FILE_SYSTEMS[0]);
    }
    run.host.age_everything();
    for tick in 0..14 {
        if matches!(tick, 6 | 9) { run.void() } else { run.tick() }
    }
    run.assert_exact("a hundred superblocks");
}

#[test]
fn a_young_remount_gives_its_whole_counters_and_not_a_difference() {
    let mut run = Run::new(2, Profile::Standard);
    let set = |run: &mut Run, reads: u64| {
        let superblock = &mut run.host.superblocks[0];
        (superblock.counters, superblock.old_kernel, superblock.idle) = (Counters::new(), false, 100);
        let (_, read) = &mut superblock.counters.operations[1];
        (read.requests, read.transmissions) = (reads, reads);
    };
    run.read();
    run.host.pass(run.until_tick(-2_500 * MS));
    run.host.mount(FILE_SYSTEMS[0]);
    set(&mut run, 1000);
    run.host.pass(run.until_tick(10 * MS));
    assert_eq!(run.host.superblocks[0].age(run.host.monotonic), 2);
    run.read();
    run.host.pass(500 * MS);
    run.host.remount(0);
    set(&mut run, 5000);
    run.host.pass(run.until_tick(20 * MS));
    assert_eq!(run.host.superblocks[0].age(run.host.monotonic), 9);
    run.read();
    run.assert_exact("a young remount");
    assert_eq!(run.found.sum("ReadOperations", false), 6000.0, "1,000 of the old one and 5,000 of the new");
}

/// Of a whole day nothing is published; of what was born meanwhile, its whole counters.
#[test]
fn a_restart_after_a_day_starts_counting_anew() {
    let mut run = Run::new(3, Profile::Full);
    with_mounts(&mut run);
    (0..15).for_each(|_| run.tick());
    run.host.pass(3_700 * MS);
    run.stop();
    run.host.pass(23 * 3600 * SECOND);
    run.host.mount(FILE_SYSTEMS[2]);
    run.host.pass(2 * 3600 * SECOND + 411 * MS);
    run.start();
    (0..15).for_each(|_| run.tick());
    run.assert_exact("a restart after 25 h");
    assert!(run.found.sum("ReadBytes", false) > 0.0, "something was read");
}

/// Just after a full minute is where the ends of an interval have most to choose from.
#[test]
fn a_mount_of_this_very_second_belongs_to_the_sample_that_shows_it() {
    for seed in 0..60 {
        let mut run = Run::new(seed, Profile::Standard);
        run.host.mount(FILE_SYSTEMS[1]);
        run.host.age_everything();
        run.tick();
        (0..7).for_each(|_| run.tick());
        let late = i128::from(run.host.rng.u32(0..1_100)) * MS;
        let age = i128::from(run.host.rng.u32(0..2_200)) * MS;
        // To the last tick before a minute ends, less than one before that end.
        while (run.host.wall + run.until_tick(0)) % (60 * SECOND) != 0 {
            run.tick();
        }
        run.host.pass((run.until_tick(late) - age).max(0));
        run.host.mount(FILE_SYSTEMS[0]).idle = 0;
        run.host.pass(age);
        run.read();
        (0..8).for_each(|_| run.tick());
        run.assert_exact(&format!("seed {seed}"));
    }
}

#[test]
fn a_mount_that_moves_while_its_name_is_waited_for_loses_nothing() {
    let mut run = Run::new(5, Profile::Standard);
    run.tick();
    run.host.mount_with_helper().idle = 0;
    run.tick();
    let mounts = &mut run.host.superblocks[0].mounts;
    mounts.push(Mount { point: "/mnt/moved".into(), device: "127.0.0.1:/team".into() });
    run.tick();
    run.host.superblocks[0].mounts.remove(0);
    run.tick();
    run.tick();
    run.host.superblocks[0].owner = Owner::FileSystem(FILE_SYSTEMS[3]);
    run.tick();
    run.assert_exact("a mount that moves");
    let true_bytes = run.host.superblocks[0].counters.bytes("READ");
    assert_eq!(run.found.sum("ReadBytes", false), true_bytes as f64);
}

/// What was not named in 10 minutes goes unpublished, also when it is away for a moment afterwards.
#[test]
fn a_name_is_waited_for_once() {
    let mut run = Run::new(6, Profile::Standard);
    run.tick();
    run.host.mount_with_helper().idle = 0;
    (0..70).for_each(|_| run.tick());
    let superblock = &mut run.host.superblocks[0];
    (superblock.hidden, superblock.hidden_for) = (Hidden::Gone, 1);
    (0..20).for_each(|_| run.tick());
    run.host.superblocks[0].owner = Owner::FileSystem(FILE_SYSTEMS[3]);
    (0..9).for_each(|_| run.tick());
    run.assert_exact("a name that comes late");
}

#[test]
fn what_a_full_disk_did_not_take_is_in_the_next_minute_that_it_takes() {
    for seed in 0..8 {
        let mut run = Run::new(seed, Profile::Standard);
        with_mounts(&mut run);
        (0..20).for_each(|_| run.tick());
        run.disk_is_full = true;
        (0..if seed % 2 == 0 { 4 } else { 17 }).for_each(|_| run.tick());
        run.disk_is_full = false;
        (0..12).for_each(|_| run.tick());
        run.assert_exact(&format!("seed {seed}"));
    }
}

#[test]
fn two_readings_at_one_instant_are_no_sample() {
    let mut run = Run::new(8, Profile::Full);
    with_mounts(&mut run);
    for tick in 0..15 {
        run.tick();
        if tick % 4 == 0 {
            run.read();
        }
    }
    run.stop();
    run.stop();
    run.assert_exact("two readings at one instant");
}

/// A host whose every byte can be accounted for: no superblock is out of sight for more than 6 readings, and none
/// goes with bytes that no reading showed.
fn accountable(seed: u64) -> Run {
    let mut run = Run::new(seed, Profile::Standard);
    with_mounts(&mut run);
    run.read();
    for tick in 0..90 {
        let offset = i128::from(run.host.rng.u32(0..9_000)) * MS;
        match run.host.rng.u32(..12) {
            0 if run.host.superblocks.len() < 12 => {
                run.host.pass(offset.min(run.until_tick(0)));
                let file_system = FILE_SYSTEMS[run.host.rng.usize(..FILE_SYSTEMS.len())];
                run.host.mount(file_system);
            }
            1 => {
                if let Some(index) = run.host.any().filter(|index| !run.host.shares_a_place(*index)) {
                    let ways = [Hidden::Gone, Hidden::Before, Hidden::After, Hidden::Garbled];
                    let (way, readings) = (run.host.rng.usize(..ways.len()), run.host.rng.u32(1..=6));
                    let superblock = &mut run.host.superblocks[index];
                    (superblock.hidden, superblock.hidden_for) = (ways[way], readings);
                }
            }
            2 if run.host.superblocks.len() > 6 => {
                if let Some(index) = run.host.any().filter(|index| !run.host.shares_a_place(*index)) {
                    run.host.superblocks.remove(index);
                }
            }
            _ => {}
        }
        match (tick, run.host.rng.u32(..10)) {
            (30 | 60, _) => {
                run.host.pass(2_600 * MS);
                run.stop();
                run.host.pass(if tick == 30 { 3_100 * MS } else { 400 * SECOND });
                run.start();
            }
            (75, _) => run.host.wall += 1_234 * SECOND,
            (_, 0) => run.void(),
            _ => run.tick(),
        }
    }
    // Everyone is seen a last time.
    run.host.superblocks.iter_mut().for_each(|superblock| superblock.hidden = Hidden::No);
    run.assert_exact(&format!("seed {seed}"));
    run
}

#[test]
fn what_is_published_adds_up_to_what_the_counters_grew_by() {
    for seed in 0..3 {
        let run = accountable(seed);
        let grew: u64 = run.stretches.iter().map(|stretch| stretch.bytes).sum();
        assert!(grew > 0, "seed {seed}");
        for client in [false, true] {
            assert_eq!(run.found.sum("ReadBytes", client), grew as f64, "seed {seed}");
        }
    }
}

#[test]
fn no_minute_holds_more_than_the_counters_grew_by_around_it() {
    for seed in 10..13 {
        let run = accountable(seed);
        for ((minute, metric, dimensions), figures) in &run.found.figures {
            assert!(figures.smallest >= 0.0, "seed {seed}: {metric} {figures:?}");
            let bytes = match metric.as_str() {
                "ReadBytes" => figures.sum,
                // A sample counts whole seconds of its minute, and may have lasted a little less.
                "ReadThroughput" => figures.sum * 1_048_576.0 / 1.3,
                _ => continue,
            };
            let (from, to) = ((minute.0 - 1) * SECOND, (minute.0 + 61) * SECOND);
            let around = run.stretches.iter().filter(|stretch| {
                stretch.to > from && stretch.from < to && dimensions.contains(stretch.file_system)
            });
            let most: u64 = around.map(|stretch| stretch.bytes).sum();
            assert!(bytes <= most as f64, "seed {seed}: {metric} {figures:?} of {minute:?}, at most {most}");
        }
    }
}
