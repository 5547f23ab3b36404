use std::time::Duration;

use super::*;

/// A limit, and the minutes since noon that have passed.
struct Chooser {
    limits: SeriesLimits,
    series: Series,
    minute: u64,
}

impl Chooser {
    fn new(profile: Profile, max_series: usize) -> Chooser {
        Chooser { limits: SeriesLimits::new(profile, max_series), series: Series::default(), minute: 0 }
    }

    /// The next minute, of a file system that used operations 0, 1 .. so many times.
    fn choose_operations(&mut self, requests: &[u64]) {
        let by_operation = requests.iter().enumerate().map(|(name, requests)| (name.to_string(), *requests));
        let traffic = Traffic {
            by_operation: by_operation.filter(|(_, requests)| *requests > 0).collect(),
            ..Traffic::default()
        };
        let now = self.now();
        self.series.choose(&self.limits, now, [(&subject("1"), &traffic)]);
    }

    fn now(&mut self) -> Minute {
        self.minute += 1;
        Minute::of(Duration::from_secs(1_796_040_000 + 60 * (self.minute - 1)))
    }

    /// The next minute, of subjects that read and wrote so many bytes.
    fn choose(&mut self, seen: &[(&str, u64)]) {
        let traffic = |bytes: u64| {
            let mut traffic = Traffic::default();
            (traffic.read.bytes_received, traffic.write.bytes_sent) = (bytes / 2, bytes - bytes / 2);
            traffic
        };
        let seen: Vec<_> = seen.iter().map(|(name, bytes)| (subject(name), traffic(*bytes))).collect();
        let now = self.now();
        self.series.choose(&self.limits, now, seen.iter().map(|(subject, traffic)| (subject, traffic)));
    }

    fn kept(&self, scope: Scope) -> Vec<String> {
        self.series.kept.get(&scope).into_iter().flat_map(BTreeMap::keys).map(short).collect()
    }

    fn used(&self) -> usize {
        self.series.used(self.limits.profile)
    }

    /// What is named as dropped since the last call.
    fn dropped(&mut self) -> Vec<(Scope, String, &'static str)> {
        let dropped = self.series.newly_dropped().into_iter();
        dropped.map(|Dropped { scope, subject, limit }| (scope, short(&subject), limit)).collect()
    }
}

/// `3` is a file system, `3 a` an access point of it, `3 /x` a mount point.
fn subject(name: &str) -> Subject {
    match name.split_once(' ') {
        Some((id, path)) if path.starts_with('/') => format!("fs-0000000{id} {path}").parse().unwrap(),
        Some((id, access_point)) => format!("fs-0000000{id} fsap-0000000{access_point}").parse().unwrap(),
        None if name == "host" => Subject::Host,
        None => format!("fs-0000000{name}").parse().unwrap(),
    }
}

fn short(subject: &Subject) -> String {
    subject.to_string().replace("fs-0000000", "").replace("fsap-0000000", "")
}

const MAX_SERIES: &str = "limits.max_series";

#[test]
fn file_systems_come_before_clients_and_the_busiest_first() {
    let mut chooser = Chooser::new(Profile::Minimal, 54);
    assert_eq!(chooser.used(), 4, "the fleet's, always");
    chooser.choose(&[("1", 10), ("2", 500), ("3", 20), ("4", 400), ("5", 30)]);
    // The fleet's 4, then 11 for each of 4 file systems; the fifth would be 59. Then 2 for each of 3 clients.
    assert_eq!(chooser.kept(Scope::FileSystem), ["2", "3", "4", "5"]);
    assert_eq!(chooser.kept(Scope::Client), ["2", "4", "5"]);
    assert_eq!((chooser.used(), chooser.series.left_out()), (54, 3));
    let expected = [(Scope::FileSystem, "1"), (Scope::Client, "3"), (Scope::Client, "1")];
    assert_eq!(chooser.dropped(), expected.map(|(scope, name)| (scope, name.to_owned(), MAX_SERIES)));
}

#[test]
fn of_equally_busy_ones_the_first_by_name_is_kept() {
    let mut chooser = Chooser::new(Profile::Fleet, 15);
    chooser.choose(&[("7", 0), ("3", 0), ("5", 0)]);
    assert_eq!(chooser.kept(Scope::FileSystem), ["3"]);
    // Sums beyond the largest number are equally busy, too.
    let mut chooser = Chooser::new(Profile::Fleet, 15);
    chooser.choose(&[("7", u64::MAX), ("3", u64::MAX)]);
    assert_eq!(chooser.kept(Scope::FileSystem), ["3"]);
}

#[test]
fn a_choice_stays_and_what_is_left_out_is_named_once() {
    let mut chooser = Chooser::new(Profile::Minimal, 17);
    chooser.choose(&[("1", 10), ("2", 5)]);
    assert_eq!(
        (chooser.kept(Scope::FileSystem), chooser.kept(Scope::Client)),
        (vec!["1".into()], vec!["1".into()])
    );
    let both =
        |name: &str| [Scope::FileSystem, Scope::Client].map(|scope| (scope, name.to_owned(), MAX_SERIES));
    assert_eq!(chooser.dropped(), both("2"));
    // Busier since, and the other one gone.
    chooser.choose(&[("1", 10), ("2", 5000)]);
    chooser.choose(&[("2", 5000)]);
    chooser.choose(&[]);
    assert_eq!(
        (chooser.kept(Scope::FileSystem), chooser.kept(Scope::Client)),
        (vec!["1".into()], vec!["1".into()])
    );
    assert_eq!((chooser.dropped(), chooser.series.left_out(), chooser.used()), (vec![], 2, 17));
    // A new one is named, but no more than once.
    chooser.choose(&[("2", 1), ("3", 1)]);
    chooser.choose(&[("2", 1), ("3", 1)]);
    assert_eq!(
        (chooser.dropped(), chooser.dropped(), chooser.series.left_out()),
        (both("3").to_vec(), vec![], 4)
    );
}

#[test]
fn a_limit_holds_to_the_last_series() {
    let used = |profile: Profile, max_series: usize| {
        let mut chooser = Chooser::new(profile, max_series);
        chooser.choose(&[("1", 10)]);
        (chooser.used(), chooser.series.left_out())
    };
    assert_eq!(used(Profile::Fleet, 0), (4, 1), "the fleet's four are published under any limit");
    assert_eq!(used(Profile::Fleet, 14), (4, 1));
    assert_eq!(used(Profile::Fleet, 15), (15, 0));
    assert_eq!(used(Profile::Minimal, 16), (15, 1));
    assert_eq!(used(Profile::Minimal, 17), (17, 0));
    assert_eq!(used(Profile::Standard, 26), (15, 1));
    assert_eq!(used(Profile::Standard, 27), (27, 0));
    // Also 12 of each host's detail, and an allowance of 20 for its operations.
    assert_eq!(used(Profile::Full, 58), (39, 1));
    assert_eq!(used(Profile::Full, 59), (59, 0));
}

#[test]
fn a_scope_that_the_profile_lacks_is_neither_kept_nor_dropped() {
    let mut chooser = Chooser::new(Profile::Fleet, 50);
    chooser.choose(&[("1", 10)]);
    assert_eq!((chooser.kept(Scope::Client).len(), chooser.kept(Scope::Operation).len()), (0, 0));
    assert!(chooser.series.keeps(Scope::Fleet, &subject("9")));
    assert_eq!(chooser.dropped(), []);
}

#[test]
fn who_was_not_seen_for_an_hour_makes_room_for_who_waits() {
    let mut chooser = Chooser::new(Profile::Fleet, 15);
    chooser.choose(&[("1", 10), ("2", 5)]);
    // Minutes 1 to 59 after it was last seen.
    for _ in 0..59 {
        chooser.choose(&[("2", 5)]);
        assert_eq!(chooser.kept(Scope::FileSystem), ["1"]);
    }
    chooser.choose(&[("2", 5)]);
    assert_eq!((chooser.kept(Scope::FileSystem), chooser.series.left_out()), (vec!["2".to_owned()], 0));
    // Back, it waits in its turn, and is named again: it was gone.
    chooser.dropped();
    chooser.choose(&[("1", 10), ("2", 5)]);
    assert_eq!(chooser.dropped(), [(Scope::FileSystem, "1".to_owned(), MAX_SERIES)]);
}

#[test]
fn a_share_is_kept_while_its_subject_is_seen_at_least_once_an_hour() {
    let mut chooser = Chooser::new(Profile::Fleet, 15);
    for minute in 0..600 {
        let seen: &[(&str, u64)] = if minute % 59 == 0 { &[("1", 1), ("2", 9)] } else { &[("2", 9)] };
        chooser.choose(seen);
    }
    // The busier one was there in the first minute, too.
    assert_eq!(chooser.kept(Scope::FileSystem), ["2"]);
    let mut chooser = Chooser::new(Profile::Fleet, 15);
    chooser.choose(&[("1", 1)]);
    for minute in 1..600 {
        let seen: &[(&str, u64)] = if minute % 59 == 0 { &[("1", 1), ("2", 9)] } else { &[("2", 9)] };
        chooser.choose(seen);
    }
    assert_eq!(chooser.kept(Scope::FileSystem), ["1"]);
}

#[test]
fn those_who_come_and_go_are_forgotten() {
    let mut chooser = Chooser::new(Profile::Fleet, 15);
    chooser.limits.mount_points = Some(3);
    for minute in 0..600 {
        chooser.choose(&[("1", 1), (&format!("1 /mnt/{minute}"), 1)]);
    }
    assert_eq!(chooser.series.left_out(), 60, "those of the last hour");
    assert_eq!(chooser.dropped().len(), 600, "each was named");
}

#[test]
fn a_clock_that_was_ahead_keeps_no_share_for_longer() {
    let mut chooser = Chooser::new(Profile::Fleet, 15);
    chooser.minute = 100_000;
    chooser.choose(&[("1", 10)]);
    chooser.minute = 0;
    for _ in 0..61 {
        chooser.choose(&[("2", 10)]);
    }
    assert_eq!(chooser.kept(Scope::FileSystem), ["2"]);
}

#[test]
fn a_choice_holds_after_a_restart_but_not_under_other_settings() {
    let mut chooser = Chooser::new(Profile::Fleet, 15);
    chooser.choose(&[("1", 10)]);
    chooser.choose(&[("1", 10), ("2", 500)]);
    chooser.dropped();
    let written = serde_json::to_string(&chooser.series).unwrap();
    chooser.series = serde_json::from_str(&written).unwrap();
    chooser.choose(&[("1", 10), ("2", 500)]);
    assert_eq!((chooser.kept(Scope::FileSystem), chooser.dropped()), (vec!["1".to_owned()], vec![]));
    chooser.limits.profile = Profile::Minimal;
    chooser.choose(&[("1", 10), ("2", 500)]);
    assert_eq!(chooser.kept(Scope::FileSystem), ["2"]);
}

#[test]
fn the_busiest_access_points_have_their_own_and_the_others_are_together() {
    let mut chooser = Chooser::new(Profile::Fleet, 100);
    chooser.limits.access_points = Some(2);
    chooser.choose(&[("1", 0), ("1 a", 10), ("1 b", 500), ("2", 0), ("2 c", 20)]);
    assert_eq!(chooser.kept(Scope::AccessPoint), ["1 other", "1 b", "2 other", "2 c"]);
    let place = |name: &str| short(&chooser.series.place(subject(name)));
    assert_eq!(
        (place("1 a"), place("1 b"), place("2 c"), place("1")),
        ("1 other".into(), "1 b".into(), "2 c".into(), "1".into())
    );
    // Nothing is lost, so nobody is told.
    assert_eq!((chooser.dropped(), chooser.series.left_out()), (vec![], 0));
    // 4, 2 file systems, 4 of access points.
    assert_eq!(chooser.used(), 4 + 2 * 11 + 4 * 6);
}

#[test]
fn the_others_of_a_file_system_that_comes_later_have_their_share_too() {
    let mut chooser = Chooser::new(Profile::Fleet, 100);
    chooser.limits.access_points = Some(1);
    chooser.choose(&[("1", 0), ("1 a", 10)]);
    chooser.choose(&[("1", 0), ("1 a", 10), ("2", 0), ("2 b", 500)]);
    assert_eq!(chooser.kept(Scope::AccessPoint), ["1 other", "1 a", "2 other"]);
}

#[test]
fn access_points_without_room_even_for_the_others_are_named() {
    let mut chooser = Chooser::new(Profile::Fleet, 4 + 11 + 6 + 5);
    chooser.limits.access_points = Some(2);
    chooser.choose(&[("1", 0), ("1 a", 10), ("1 b", 500)]);
    assert_eq!(chooser.kept(Scope::AccessPoint), ["1 other"], "room for the others comes first");
    assert_eq!(chooser.dropped(), []);
    chooser.limits.max_series -= 6;
    chooser.choose(&[("1", 0), ("1 a", 10), ("1 b", 500)]);
    assert_eq!(chooser.kept(Scope::AccessPoint).len(), 0);
    assert_eq!(chooser.dropped(), [(Scope::AccessPoint, "1 other".to_owned(), MAX_SERIES)]);
}

#[test]
fn mount_points_come_last_and_the_limit_in_the_way_is_named() {
    let mut chooser = Chooser::new(Profile::Minimal, 4 + 2 + 13 + 6 * 3 + 5);
    (chooser.limits.cron_script, chooser.limits.access_points) = (true, Some(5));
    chooser.limits.mount_points = Some(1);
    let seen = [("host", 99), ("1", 99), ("1 a", 9), ("1 /x", 90), ("1 /y", 9)];
    chooser.choose(&seen);
    assert_eq!(chooser.kept(Scope::CronScript), ["host"]);
    assert_eq!(chooser.kept(Scope::AccessPoint), ["1 other", "1 a"]);
    assert_eq!(chooser.kept(Scope::MountPoint), ["1 /x"]);
    assert_eq!(chooser.dropped(), [(Scope::MountPoint, "1 /y".to_owned(), "limits.max_mount_points")]);
    chooser.limits.mount_points = Some(2);
    chooser.choose(&seen);
    assert_eq!(chooser.kept(Scope::MountPoint), ["1 /x"]);
    assert_eq!(chooser.dropped(), [(Scope::MountPoint, "1 /y".to_owned(), MAX_SERIES)]);
}

#[test]
fn operations_have_no_more_series_than_are_reckoned_for_them() {
    let own = |chooser: &Chooser, name: &str| chooser.series.operation(&subject("1"), name) == name;
    let mut chooser = Chooser::new(Profile::Full, 59);
    // As many as a kernel knows; 69 is the busiest.
    let all: Vec<u64> = (1..=70).collect();
    chooser.choose_operations(&all);
    let names: Vec<String> = (0..70).map(|name| name.to_string()).collect();
    let kept: Vec<&str> = names.iter().map(String::as_str).filter(|name| own(&chooser, name)).collect();
    assert_eq!((kept.len(), kept[0], kept[18]), (19, "51", "69"), "and the twentieth is of the others");
    assert_eq!(chooser.used(), 59);
    // It stays so, over a restart too, until one is not used for an hour.
    let written = serde_json::to_string(&chooser.series).unwrap();
    chooser.series = serde_json::from_str(&written).unwrap();
    let mut without_the_busiest: Vec<u64> = (1..=70).rev().collect();
    without_the_busiest[69] = 0;
    for _ in 0..59 {
        chooser.choose_operations(&without_the_busiest);
        assert!(own(&chooser, "69") && own(&chooser, "51") && !own(&chooser, "0"));
    }
    chooser.choose_operations(&without_the_busiest);
    assert!(!own(&chooser, "69") && own(&chooser, "51") && own(&chooser, "0") && !own(&chooser, "1"));
}

#[test]
fn operations_without_room_are_not_chosen() {
    let mut chooser = Chooser::new(Profile::Full, 58);
    chooser.choose_operations(&[1, 2]);
    assert_eq!((chooser.series.operations.len(), chooser.series.left_out()), (0, 1));
}

#[test]
fn a_minute_that_began_under_other_settings_publishes_nothing_that_is_off_now() {
    let mut chooser = Chooser::new(Profile::Fleet, 1000);
    chooser.limits.cron_script = true;
    (chooser.limits.access_points, chooser.limits.mount_points) = (Some(5), Some(5));
    let seen = [("host", 9), ("1", 9), ("1 a", 9), ("1 /x", 9)];
    chooser.choose(&seen);
    assert_eq!(chooser.used(), 4 + 2 + 11 + 2 * 6 + 6);
    chooser.limits = SeriesLimits::new(Profile::Fleet, 1000);
    chooser.choose(&seen);
    assert_eq!((chooser.used(), chooser.series.left_out(), chooser.dropped()), (4 + 11, 0, vec![]));
}
