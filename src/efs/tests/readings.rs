//! What is known of a mount from one reading to the next.

use super::*;
use crate::mountinfo::DeviceNumber;
use crate::sampler::join::{Seen, join};
use crate::{mountinfo, mountstats};

/// When the clock of [`Followed`] stands at 0 s: seconds since 1970.
const START: u64 = 1_790_000_000;

/// Follows mounts through readings, with the state files as they are at each.
#[derive(Default)]
struct Followed {
    attribution: Attribution,
    configured: Vec<ConfiguredMount>,
    asked: usize,
    /// The server's, in mountinfo.
    address: Option<&'static str>,
}

impl Followed {
    /// A reading: each mount is number, age, device and mount point. Gives each superblock's answer, `held` where
    /// its traffic waits.
    fn read(
        &mut self,
        seconds: u64,
        mounts: &[(&str, u64, &str, &str)],
        options: &str,
        files: &[StateFile],
    ) -> String {
        let mut info = String::new();
        let mut stats = String::new();
        let address = self.address.map(|address| format!(",addr={address}")).unwrap_or_default();
        for (number, age, device, mount_point) in mounts {
            info += &format!("60 31 {number} / {mount_point} rw - nfs4 {device} rw{address}\n");
            stats += &format!(
                "device {device} mounted on {mount_point} with fstype nfs4 statvers=1.1\n\topts:\t{options}\n\
                 \tage:\t{age}\n\tcaps:\tx\n\tsec:\tx\n\tevents:\t{}\n\tbytes:\t{}\n\n",
                "0 ".repeat(27),
                "0 ".repeat(8)
            );
        }
        let (mounts, parsed) = (mountinfo::parse(info.as_bytes()).0, mountstats::parse(stats.as_bytes()));
        assert_eq!(parsed.problems, []);
        let seen: Seen<'_> = join(&mounts, &parsed, &mounts);
        let moment =
            Moment { wall: Duration::from_secs(START + seconds), monotonic: Duration::from_secs(seconds) };
        self.attribution.update(moment, &seen, &self.configured, || {
            self.asked += 1;
            helper_mounts(files)
        });
        let held = self.attribution.held(moment);
        let one = |number: DeviceNumber| {
            let answer = self.attribution.answer(number).map(shown).unwrap_or_default();
            if held.contains(&number) { format!("{answer} held") } else { answer }
        };
        let mut answers: Vec<String> =
            seen.superblocks.iter().map(|superblock| one(superblock.number)).collect();
        if self.attribution.unidentified(moment) > 0 {
            answers.push(format!("{} unidentified", self.attribution.unidentified(moment)));
        }
        answers.join("; ")
    }
}

#[test]
fn what_a_dead_mount_left_behind_is_not_taken_for_the_state_of_a_later_one() {
    // Of a mount at /mnt/efs, begun at START.
    let files = state(&[(NAME, Some(TLS))]);
    let mut followed = Followed::default();
    let mut read = |number, seconds, age| {
        followed.read(seconds, &[(number, age, "127.0.0.1:/", "/srv/x")], OPTIONS, &files)
    };
    let known = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    assert_eq!(read("0:52", 1000, 400), known, "made 600 s later");
    assert_eq!(read("0:53", 1000, 390), "pending held", "made 610 s later");
    assert_eq!(read("0:54", 1000, 1590), known, "590 s earlier: the clock was set");
    assert_eq!(read("0:55", 1000, 1610), "pending held", "made 610 s earlier");
    // A mount that is at the place that the text names is not judged by the clock.
    let there = [("0:56", 5, "127.0.0.1:/", "/mnt/efs")];
    assert_eq!(Followed::default().read(1_000_000, &there, OPTIONS, &files), known);
    // Beside it the state of the mount itself, whose parent directory was renamed.
    let own =
        PLAIN.replace("/mnt/efs", "/old/x").replace("\"mount_time\":1,", "\"mount_time\":1790000995.0,");
    let both = state(&[(NAME, Some(TLS)), (&format!("{OTHER}.old.x.20127"), Some(&own))]);
    let later = [("0:57", 5, "127.0.0.1:/", "/srv/x")];
    assert_eq!(Followed::default().read(1000, &later, OPTIONS, &both), OTHER);
}

#[test]
fn an_answer_holds_when_the_state_is_gone() {
    let files = state(&[(NAME, Some(TLS))]);
    let known = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    let mut followed = Followed::default();
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    assert_eq!(followed.read(0, &mount(5), OPTIONS, &files), known);
    for n in 1..100 {
        assert_eq!(followed.read(n * 10, &mount(5 + n * 10), OPTIONS, &[]), known);
    }
    assert_eq!(followed.asked, 1, "the state is read only for a mount without an answer");
    // Long known, and missing from some readings.
    assert_eq!(followed.read(1000, &[], OPTIONS, &[]), "");
    assert_eq!(followed.read(1010, &[], OPTIONS, &[]), "");
    assert_eq!(followed.read(1020, &mount(1025), OPTIONS, &[]), known);
    // A recording that is replayed faster than it was made.
    assert_eq!(followed.read(1021, &mount(1035), OPTIONS, &[]), known);
}

#[test]
fn a_new_mount_with_the_number_place_and_port_of_an_old_one_is_asked_anew() {
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    let (old, new) = (state(&[(NAME, Some(PLAIN))]), state(&[("fs-01234567.mnt.efs.20127", Some(PLAIN))]));
    let mut followed = Followed::default();
    assert_eq!(followed.read(0, &mount(500), OPTIONS, &old), FS);
    assert_eq!(followed.read(10, &mount(3), OPTIONS, &new), "fs-01234567");
    // Young ones: 2 s old, and 10 s later 9 s old.
    assert_eq!(followed.read(20, &mount(2), OPTIONS, &old), FS);
    assert_eq!(followed.read(30, &mount(9), OPTIONS, &new), "fs-01234567");
    // Not a second older than the clock allows, but over another port.
    let port = OPTIONS.replace("20127", "20128");
    assert_eq!(followed.read(40, &mount(19), &port, &new), "pending held");
    // With no state yet, the old answer is not the new mount's.
    let mut followed = Followed::default();
    assert_eq!(followed.read(0, &mount(500), OPTIONS, &old), FS);
    assert_eq!(followed.read(10, &mount(3), OPTIONS, &[]), "pending held");
    assert_eq!(followed.read(20, &mount(13), OPTIONS, &new), "fs-01234567");
}

#[test]
fn a_mount_helper_has_10_minutes_to_say_what_it_mounted() {
    let mut followed = Followed::default();
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs"), ("0:53", age, "10.0.0.1:/", "/mnt/other")];
    for seconds in (1000..1600).step_by(10) {
        assert_eq!(followed.read(seconds, &mount(seconds), OPTIONS, &[]), "pending held; not efs");
    }
    assert_eq!(followed.read(1600, &mount(1600), OPTIONS, &[]), "pending; not efs; 1 unidentified");
    assert_eq!(followed.read(1610, &mount(1610), OPTIONS, &[]), "pending; not efs; 1 unidentified");
    // A mount that is gone is no unidentified one.
    assert_eq!(followed.read(1620, &mount(1620)[1..], OPTIONS, &[]), "not efs");
    assert_eq!(followed.read(1630, &mount(1630), OPTIONS, &[]), "pending; not efs; 1 unidentified");
    // Better late than never.
    assert_eq!(followed.read(1640, &mount(1640), OPTIONS, &state(&[(NAME, None)])), format!("{FS}; not efs"));
}

#[test]
fn what_no_reading_shows_is_forgotten() {
    let mut followed = Followed::default();
    for n in 0..1000 {
        let number = format!("0:{n}");
        followed.read(n * 60, &[(&number, 1, "10.0.0.1:/", "/mnt/efs")], OPTIONS, &[]);
    }
    let known = |minor| followed.attribution.answer(DeviceNumber { major: 0, minor }).is_some();
    assert_eq!((0..1000).filter(|minor| known(*minor)).count(), 10, "those of the last 10 minutes");
}

#[test]
fn one_mount_that_tells_its_name_tells_it_of_the_superblock() {
    let mut followed = Followed::default();
    let name = format!("{FS}.efs.us-east-1.amazonaws.com:/dir");
    let both = |age| [("0:52", age, "10.0.0.1:/", "/a"), ("0:52", age, name.as_str(), "/b")];
    assert_eq!(followed.read(0, &both(100), OPTIONS, &[]), format!("{FS} us-east-1"));
    // Still the same superblock when only the other is left.
    assert_eq!(followed.read(10, &both(110)[..1], OPTIONS, &[]), format!("{FS} us-east-1"));
    assert_eq!(followed.read(20, &both(120)[..1], OPTIONS, &[]), format!("{FS} us-east-1"));
    assert_eq!(followed.asked, 0, "no mount is of this host's server");
    // Known by an address first, by its name later.
    let mut followed = Followed::default();
    assert_eq!(followed.read(0, &both(100)[..1], OPTIONS, &[]), "not efs");
    assert_eq!(followed.read(10, &both(110), OPTIONS, &[]), format!("{FS} us-east-1"));
}

#[test]
fn the_configuration_names_a_superblock_by_any_of_its_mount_points() {
    let configured = vec![other_at("/b")];
    let name = format!("{FS}.efs.us-east-1.amazonaws.com:/");
    let mut followed = Followed { configured, ..Followed::default() };
    assert_eq!(followed.read(0, &[("0:52", 9, &name, "/a"), ("0:52", 9, &name, "/b")], OPTIONS, &[]), OTHER);
    let mut address = |age, mounts: usize| {
        followed.read(
            age,
            &[("0:53", age, "10.0.0.1:/", "/a"), ("0:53", age, "10.0.0.1:/", "/b")][..mounts],
            OPTIONS,
            &[],
        )
    };
    assert_eq!(address(100, 1), "not efs");
    assert_eq!(address(110, 2), OTHER);
    assert_eq!(address(120, 1), OTHER);
}

#[test]
fn the_largest_age_is_no_trouble() {
    let mut followed = Followed::default();
    for seconds in [0, 10] {
        assert_eq!(
            followed.read(seconds, &[("0:52", u64::MAX, "10.0.0.1:/", "/a")], OPTIONS, &[]),
            "not efs"
        );
    }
}

#[test]
fn what_a_name_left_open_a_later_text_tells() {
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    let known = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    let by_name = state(&[(NAME, None)]);
    let mut followed = Followed::default();
    assert_eq!(followed.read(0, &mount(100), OPTIONS, &by_name), FS);
    // Half of it, none at all, and another file system's say nothing new.
    let half = state(&[(NAME, TLS.get(..300))]);
    let other = state(&[(&format!("{OTHER}.mnt.efs.20127"), Some(PLAIN))]);
    for (n, files) in [half, Vec::new(), other].iter().enumerate() {
        assert_eq!(followed.read(10 + 10 * n as u64, &mount(110 + 10 * n as u64), OPTIONS, files), FS);
    }
    assert_eq!(followed.read(40, &mount(140), OPTIONS, &state(&[(NAME, Some(TLS))])), known);
    // Told once, it holds.
    for files in [by_name, state(&[(NAME, Some(PLAIN))]), Vec::new()] {
        assert_eq!(followed.read(50, &mount(150), OPTIONS, &files), known);
    }
    assert_eq!(followed.asked, 5);
}

#[test]
fn a_text_that_was_read_has_told_its_access_point() {
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    let config = format!("stunnel-config.{NAME}");
    let mut followed = Followed::default();
    // Without TLS the region is in the proxy's configuration, of which half is there.
    let half = state(&[(NAME, Some(PLAIN)), (&config, Some("[efs]\nconnect"))]);
    assert_eq!(followed.read(0, &mount(100), OPTIONS, &half), FS);
    // Nothing but the region is taken from what comes later.
    let later = state(&[(NAME, Some(TLS)), (&config, None)]);
    assert_eq!(followed.read(10, &mount(110), OPTIONS, &later), format!("{FS} us-east-1"));
    assert_eq!(followed.read(20, &mount(120), OPTIONS, &later), format!("{FS} us-east-1"));
    assert_eq!(followed.asked, 2);
}

#[test]
fn a_state_that_may_not_be_read_is_asked_seldom_in_the_long_run() {
    let mount = |age| [("0:52", age, "127.0.0.1:/", "/mnt/efs")];
    let mut followed = Followed::default();
    for seconds in (0..6000).step_by(10) {
        assert_eq!(followed.read(seconds, &mount(seconds), OPTIONS, &state(&[(NAME, None)])), FS);
    }
    // 60 times in 10 minutes, and after the last of them (590 s) every 10 minutes.
    assert_eq!(followed.asked, 60 + 9);
    let files = state(&[(NAME, Some(TLS))]);
    assert_eq!(
        followed.read(6590, &mount(6590), OPTIONS, &files),
        format!("{FS} fsap-0123456789abcdef0 us-east-1")
    );
}

#[test]
fn the_only_state_of_a_port_that_two_mounts_share_may_be_the_others() {
    let both = [("0:52", 100, "127.0.0.1:/", "/mnt/efs"), ("0:53", 100, "127.0.0.1:/", "/srv/x")];
    let mut followed = Followed::default();
    let one = state(&[(NAME, Some(TLS))]);
    let known = format!("{FS} fsap-0123456789abcdef0 us-east-1");
    assert_eq!(followed.read(0, &both, OPTIONS, &one), format!("{known}; pending held"));
    let other = PLAIN.replace("/mnt/efs", "/srv/x");
    let files = state(&[(NAME, Some(TLS)), (&format!("{OTHER}.srv.x.20127"), Some(&other))]);
    let later = both.map(|(number, age, device, mount_point)| (number, age + 10, device, mount_point));
    assert_eq!(followed.read(10, &later, OPTIONS, &files), format!("{known}; {OTHER}"));
}

#[test]
fn a_mount_by_address_waits_for_efs_ten_minutes() {
    let mount = |age| [("0:52", age, "files.example.com:/", "/mnt/a"), ("0:53", age, "10.0.1.5:/", "/mnt/b")];
    let options = OPTIONS.replace("port=20127,", "");
    let targets = Some(Targets::default());
    let attribution = Attribution::with_targets(targets);
    let mut followed = Followed { attribution, address: Some("10.0.1.5"), ..Followed::default() };
    for seconds in (0..600).step_by(10) {
        assert_eq!(
            followed.read(seconds, &mount(seconds + 100), &options, &[]),
            "pending held; pending held"
        );
    }
    assert_eq!(followed.read(600, &mount(700), &options, &[]), "pending; pending; 2 unidentified");
    // Both were made 100 s before the first reading, and have one address between them.
    let now = Moment { wall: Duration::ZERO, monotonic: Duration::from_secs(600) };
    let wanted = Wanted { address: "10.0.1.5".parse().unwrap(), made: Duration::from_secs(START - 100) };
    assert_eq!(followed.attribution.wanted(now), [wanted]);
    let targets = followed.attribution.targets_mut().unwrap();
    targets.answered_in("eu-west-1");
    targets.swept(START + 605, true);
    assert_eq!(followed.read(610, &mount(710), &options, &[]), "not efs; not efs");
    assert_eq!(followed.asked, 0, "no mount is of this host's server");
    // A mount that came later must be asked about again.
    assert_eq!(followed.read(620, &mount(5), &options, &[]), "pending held; pending held");
    let now = Moment { wall: Duration::ZERO, monotonic: Duration::from_secs(620) };
    assert_eq!(
        followed.attribution.wanted(now),
        [Wanted { made: Duration::from_secs(START + 615), ..wanted }]
    );
}
