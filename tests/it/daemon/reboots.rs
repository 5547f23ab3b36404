//! A reboot on a board without an asset tag: what an earlier boot left waits until it is known whose it is, and no
//! sample waits for that.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::late::{Boot, INSTANCE, Run, boot};

const COPY: &str = "i-0fedcba9876543210";

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The sample of 12:01:00 comes at 12:01:04, so that four seconds of the minute that has begun are on the disk when the
/// power is cut: at that time nothing but the counters has been sent or kept of them.
fn cut_off(directory: &Path) {
    let step = (secs(55), secs(4));
    let run = boot(directory, Boot { step, power_cut: true, ..Boot::lasting(secs(61)) });
    assert_eq!(run.status["host_id"], INSTANCE);
    assert_eq!(run.data, []);
}

fn next_boot(lasts: Duration) -> Boot {
    Boot { id: "6fa459ea-ee8a-4ca4-894e-db77e160355e", begins: secs(600), ..Boot::lasting(lasts) }
}

/// The bytes of a minute after noon.
fn bytes(run: &Run, minute: i64) -> Option<f64> {
    run.series("ReadBytes", &["FileSystemId"]).get(&minute).map(|(_, bytes)| *bytes)
}

#[test]
fn the_first_sample_does_not_wait_for_the_metadata_service() {
    let directory = tempfile::tempdir().unwrap();
    cut_off(directory.path());
    let run = boot(
        directory.path(),
        Boot { answers: Duration::MAX, power_cut: true, ..next_boot(Duration::from_millis(1)) },
    );
    assert_eq!(run.status["samples"]["taken"], 1);
}

#[test]
fn what_was_open_when_the_power_was_cut_is_sent_once_the_instance_is_known() {
    for answers in [secs(0), secs(20)] {
        let directory = tempfile::tempdir().unwrap();
        cut_off(directory.path());
        let run = boot(directory.path(), Boot { answers, ..next_boot(secs(181)) });
        // Six READs of 10,000 bytes are in the two minutes, four tenths of the last in the second.
        assert_eq!((bytes(&run, 0), bytes(&run, 1)), (Some(56_000.0), Some(4_000.0)), "{answers:?}");
        assert_eq!((bytes(&run, 10), bytes(&run, 12)), (Some(60_000.0), Some(60_000.0)), "{answers:?}");
        assert_eq!(run.names(), BTreeSet::from([INSTANCE]));
        assert_eq!(run.status["spool"]["files"], 0);
    }
}

#[test]
fn what_was_open_on_another_instance_is_never_sent() {
    for answers in [secs(0), secs(20)] {
        let directory = tempfile::tempdir().unwrap();
        cut_off(directory.path());
        let run = boot(directory.path(), Boot { answers, instance: COPY, ..next_boot(secs(181)) });
        assert_eq!((bytes(&run, 0), bytes(&run, 1)), (None, None), "{answers:?}");
        assert_eq!((bytes(&run, 10), bytes(&run, 12)), (Some(60_000.0), Some(60_000.0)), "{answers:?}");
        assert_eq!(run.names(), BTreeSet::from([COPY]));
        // Minute 0; and of the four seconds what is the host's, and what is not.
        assert_eq!(run.status["spool"]["aside_files"], 3);
    }
}
