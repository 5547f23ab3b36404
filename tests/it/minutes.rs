//! Minutes when the clock or the disk misbehaves, and what is said once.

use std::time::Duration;

use efsmon::catalog::{OwnFigures, Profile};
use efsmon::minutes::SeriesLimits;
use efsmon::model::{Datum, Moment};
use efsmon::monitor::{self, Monitor, State};
use efsmon::source::{Reading, View};

const NOON: u64 = 1_796_040_000;

fn monitor(state: State) -> Monitor {
    let settings = monitor::Settings {
        sample_interval: Duration::from_secs(10),
        series: SeriesLimits::new(Profile::Minimal, 50),
        mounts: Vec::new(),
        stall_after: Duration::from_secs(30),
    };
    Monitor::new(settings, state)
}

/// One mount, as old as the boot, that has read so many bytes.
fn reading(wall: u64, monotonic: u64, bytes: u64) -> Reading {
    let device = "fs-01234567.efs.us-east-1.amazonaws.com:/";
    let mountinfo = format!("60 22 0:52 / /mnt rw - nfs4 {device} rw\n").into_bytes();
    let (events, counters) = ("0 ".repeat(27), "0 ".repeat(8));
    let mountstats = format!(
        "device {device} mounted on /mnt with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1\n\tage:\t{monotonic}\n\
         \tcaps:\tx\n\tsec:\tx\n\tevents:\t{events}\n\tbytes:\t{counters}\n\tRPC iostats version: 1.1\n\
         \tper-op statistics\n\t        READ: {bytes} {bytes} 0 {bytes} 0 0 0 0 0\n\n"
    );
    Reading {
        moment: Moment { wall: Duration::from_secs(wall), monotonic: Duration::from_secs(monotonic) },
        view: View::Init,
        mountinfo_before: mountinfo.clone(),
        mountstats: mountstats.into_bytes(),
        mountinfo_after: mountinfo,
    }
}

/// Of the fleet's and the file system's series.
fn sum(data: &[Datum], metric: &str) -> f64 {
    let of_metric = data.iter().filter(|datum| datum.metric == metric && datum.dimensions.len() < 2);
    of_metric.flat_map(|datum| &datum.values).sum()
}

#[test]
fn what_is_so_at_present_is_said_once_of_a_minute_that_is_closed_early_and_goes_on() {
    let own = OwnFigures { unidentified_mounts: 2, ..OwnFigures::default() };
    let mut before = monitor(State::default());
    before.observe(&reading(NOON + 10, 1010, 0), Vec::new);
    let mut data = before.close_early(&own);
    let state = serde_json::to_vec(before.state()).unwrap();
    let mut after = monitor(serde_json::from_slice(&state).unwrap());
    after.observe(&reading(NOON + 20, 1020, 0), Vec::new);
    after.observe(&reading(NOON + 60, 1060, 0), Vec::new);
    data.extend(after.close(&own));
    assert_eq!((sum(&data, "Hosts"), sum(&data, "UnidentifiedMounts")), (1.0, 2.0));
}

#[test]
fn a_clock_that_is_set_back_half_an_hour_does_not_silence_the_host() {
    let mut monitor = monitor(State::default());
    let own = OwnFigures::default();
    for sample in 0..=12 {
        monitor.observe(&reading(NOON + 10 * sample, 1000 + 10 * sample, 0), Vec::new);
        monitor.close(&own);
    }
    // From 12:02:00 to 11:32:10, and on for a minute.
    let mut data = Vec::new();
    for sample in 0..6 {
        monitor.observe(&reading(NOON - 1670 + 10 * sample, 1130 + 10 * sample, 0), Vec::new);
        data.extend(monitor.close(&own));
    }
    assert_eq!(sum(&data, "Hosts"), 1.0);
}

#[test]
fn what_was_counted_before_a_wrong_clock_is_corrected_is_published() {
    let mut monitor = monitor(State::default());
    let own = OwnFigures::default();
    let mut published = 0.0;
    // A day ahead at first, for 2 min 50 s; then right.
    let ahead = (0..18).map(|sample| NOON + 86_400 + 10 * sample);
    let right = (0..31).map(|sample| NOON + 10 * sample);
    for (sample, wall) in (0..).zip(ahead.chain(right)) {
        monitor.observe(&reading(wall, 1000 + 10 * sample, 1000 * sample), Vec::new);
        published += sum(&monitor.close(&own), "ReadBytes");
    }
    published += sum(&monitor.close_early(&own), "ReadBytes");
    assert_eq!((published, monitor.unpublished_bytes()), (48_000.0, 0));
}

#[test]
fn a_first_reading_at_a_full_minute_says_nothing_of_the_minute_before() {
    let mut monitor = monitor(State::default());
    monitor.observe(&reading(NOON, 1000, 0), Vec::new);
    assert_eq!(monitor.close(&OwnFigures::default()), []);
}

#[test]
fn after_a_failed_commit_a_host_that_mounts_is_a_client_too() {
    let mut monitor = monitor(State::default());
    monitor.observe(&reading(NOON + 5, 1005, 0), Vec::new);
    let committed = monitor.state().clone();
    for sample in 1..=6 {
        monitor.observe(&reading(NOON + 10 * sample, 1000 + 10 * sample, 0), Vec::new);
    }
    monitor.close(&OwnFigures::default());
    monitor.go_back(committed);
    monitor.observe(&reading(NOON + 70, 1070, 100), Vec::new);
    let data = monitor.close_early(&OwnFigures::default());
    // Both minutes had a reading; the mount has figures in the second.
    assert_eq!((sum(&data, "Hosts"), sum(&data, "Clients"), sum(&data, "ReadBytes")), (2.0, 1.0, 100.0));
}

#[test]
fn a_clock_that_jumped_ahead_does_not_silence_the_host_after_a_restart() {
    let own = OwnFigures::default();
    let mut before = monitor(State::default());
    before.observe(&reading(NOON + 10, 1010, 0), Vec::new);
    before.observe(&reading(NOON + 10_800, 1020, 0), Vec::new);
    before.close_early(&own);
    let state = serde_json::to_vec(before.state()).unwrap();
    let mut after = monitor(serde_json::from_slice(&state).unwrap());
    after.observe(&reading(NOON + 70, 1070, 0), Vec::new);
    after.observe(&reading(NOON + 120, 1120, 0), Vec::new);
    let data = after.close(&own);
    assert_eq!((sum(&data, "Hosts"), sum(&data, "Clients")), (1.0, 1.0));
}

#[test]
fn a_clock_at_the_beginning_of_its_time_is_no_reason_to_end() {
    let mut monitor = monitor(State::default());
    monitor.observe(&reading(0, 1000, 0), Vec::new);
    monitor.observe(&reading(0, 1001, 100), Vec::new);
    monitor.observe(&reading(60, 1061, 300), Vec::new);
    assert_eq!(sum(&monitor.close_early(&OwnFigures::default()), "ReadBytes"), 300.0);
}
