//! The loop on a clock of the test's: a sample at every multiple, whatever else wakes it.

use std::fs;
use std::time::Duration;

use efsmon::daemon::host::{HostFinder, Surroundings};

use crate::paused::{self, Home, Paused, Recorder};

/// Ten minutes of a host that sends at that place of the minute: samples taken and missed, and `SamplesLost`.
fn ten_minutes(place: std::ops::Range<u32>) -> (u64, u64, f64) {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::create_dir_all(path("proc/self")).unwrap();
    fs::create_dir_all(path("proc/sys/kernel/random")).unwrap();
    fs::write(path("proc/self/mountstats"), "device proc mounted on /proc with fstype proc\n").unwrap();
    fs::write(path("proc/self/mountinfo"), "22 1 0:21 / /proc rw - proc proc rw\n").unwrap();
    fs::write(path("proc/sys/kernel/random/boot_id"), "b\n").unwrap();
    let home = Home::at(root.path());
    let is_there = |id: &String| place.contains(&(crc32fast::hash(id.as_bytes()) % 50_001));
    let identity = (0..).map(|number| format!("host-{number}")).find(is_there).unwrap();
    paused::live(async {
        let clock = Paused::at(Duration::from_secs(1_796_040_000));
        let finder = HostFinder::new(Some("host".to_owned()), &home.source, Surroundings::Host);
        let sink = Recorder::that_takes(Duration::from_millis(50));
        let publisher = paused::publisher(&identity, Duration::from_secs(60));
        let mut daemon = home.daemon(paused::settings(), &clock, publisher);
        let end = async || tokio::time::sleep(Duration::from_secs(605)).await;
        daemon.run(&sink, &finder, end).await;
        let data = sink.data();
        let lost = data.iter().filter(|(_, datum)| datum.metric == "SamplesLost");
        let lost = lost.flat_map(|(_, datum)| &datum.values).sum();
        let status = home.status();
        let samples = |kind: &str| status["samples"][kind].as_u64().unwrap();
        (samples("taken"), samples("missed"), lost)
    })
}

/// At the start, at 60 multiples of 10 s, and at the end.
#[test]
fn no_sample_is_skipped_wherever_in_the_minute_a_host_sends() {
    assert_eq!(ten_minutes(35_000..35_900), (62, 0, 0.0));
    assert_eq!(ten_minutes(39_100..39_900), (62, 0, 0.0));
}
