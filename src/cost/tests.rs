use super::*;

/// A host with one file system.
fn one() -> Setup {
    Setup {
        hosts: 1,
        file_systems: 1,
        per_host: 1,
        access_points: 0,
        with_access_points: 0,
        max_access_points: 50,
        mount_points: 0,
        operations: 20,
        churn: 0,
        cron_script: false,
        publish_minutes: 1,
        max_series: 50,
    }
}

#[test]
fn a_host_sends_the_newest_minute_by_itself_and_the_others_together() {
    let requests = |publish_minutes, per_host| {
        let setup = Setup { publish_minutes, file_systems: per_host, per_host, ..one() };
        Estimate::whole(Profile::Fleet, &setup).requests
    };
    // 43,800 minutes in a month.
    assert_eq!(requests(1, 1), 43_800);
    assert_eq!(requests(2, 1), 21_900 * 2);
    assert_eq!(requests(5, 1), 8_760 * 2);
    assert_eq!(requests(60, 1), 730 * 2);
    // 4 + 40 x 11 data a minute: 2 whole minutes in a request of 1,000. 1 and 4 / 2; 1 and 59 / 2.
    assert_eq!(requests(5, 40), 8_760 * 3);
    assert_eq!(requests(60, 40), 730 * 31);
    // 4 + 90 x 11 data fit in a request, 4 + 91 x 11 take 2 a minute.
    assert_eq!(requests(1, 90), 43_800);
    assert_eq!(requests(1, 91), 43_800 * 2);
    assert_eq!(requests(5, 91), 8_760 * 10);
}

#[test]
fn the_limit_is_used_up_as_the_daemon_does() {
    let limited = |profile, max_series, setup: Setup| {
        let estimate = Estimate::limited(profile, &Setup { max_series, ..setup });
        estimate.groups.iter().map(|group| group.on_a_host).collect::<Vec<_>>()
    };
    let three = Setup { file_systems: 3, per_host: 3, ..one() };
    // fleet, cron script, file system, client, operation, access point, mount point
    assert_eq!(limited(Profile::Fleet, 1, one()), [4, 0, 0, 0, 0, 0, 0]);
    assert_eq!(limited(Profile::Fleet, 14, one()), [4, 0, 0, 0, 0, 0, 0]);
    assert_eq!(limited(Profile::Fleet, 15, one()), [4, 0, 11, 0, 0, 0, 0]);
    assert_eq!(limited(Profile::Minimal, 40, three), [4, 0, 33, 2, 0, 0, 0]);
    assert_eq!(limited(Profile::Full, 58, one()), [4, 0, 11, 24, 0, 0, 0]);
    assert_eq!(limited(Profile::Full, 59, one()), [4, 0, 11, 24, 20, 0, 0]);
    // Beyond the most that they may have, operations share a series.
    assert_eq!(limited(Profile::Full, 59, Setup { operations: 30, ..one() }), [4, 0, 11, 24, 20, 0, 0]);
    let others = Setup { cron_script: true, access_points: 2, mount_points: 3, ..one() };
    assert_eq!(limited(Profile::Minimal, 37, others.clone()), [4, 2, 11, 2, 0, 12, 6]);
    assert_eq!(limited(Profile::Minimal, 36, others), [4, 2, 11, 2, 0, 12, 0]);
}

#[test]
fn the_limit_that_is_proposed_leaves_nothing_out_and_one_less_does() {
    let many = Setup {
        file_systems: 3,
        per_host: 3,
        access_points: 2,
        with_access_points: 2,
        mount_points: 3,
        operations: 9,
        ..one()
    };
    for profile in Profile::ALL {
        let whole = Estimate::whole(profile, &many);
        let needed = whole.needed();
        let with = |max_series| Estimate::limited(profile, &Setup { max_series, ..many.clone() });
        assert_eq!(with(needed), whole, "{}", profile.name());
        assert!(with(needed - 1).series() < whole.series(), "{}", profile.name());
    }
}

#[test]
fn a_fleet_that_the_limit_lets_publish_nothing_of_a_file_system_has_no_series_of_it() {
    let fleet = Setup { hosts: 9, file_systems: 5, per_host: 2, max_series: 14, ..one() };
    assert_eq!(Estimate::limited(Profile::Full, &fleet).series(), 4);
    // Of the two of a host, one finds room; which one differs from host to host.
    let fleet = Setup { max_series: 15, ..fleet };
    assert_eq!(Estimate::limited(Profile::Full, &fleet).series(), 59);
}

/// As the daemon chooses (`minutes/series.rs`): room for what is together comes before an access point's own.
#[test]
fn room_for_the_other_access_points_is_kept_though_all_have_their_own() {
    let with = |max_series| Setup { access_points: 1, with_access_points: 1, max_series, ..one() };
    let whole = Estimate::whole(Profile::Minimal, &with(50));
    // 4 + 11 + 2, 6 of the access point; and room for 6 of the others.
    assert_eq!((whole.series(), whole.needed()), (23, 29));
    let access_points = |setup: &Setup| {
        let limited = Estimate::limited(Profile::Minimal, setup);
        let group = limited.groups.iter().find(|group| group.key == "access_point").unwrap();
        (group.series(), group.reckoned)
    };
    let warned = |setup: &Setup| warnings::warnings(Profile::Minimal, setup).pop().map(|w| (w.code, w.text));
    let (code, text) = warned(&with(28)).unwrap();
    assert!(code == "together" && text.ends_with("set it to 29 or more."), "{text}");
    assert_eq!(warned(&with(29)), None);
    assert_eq!([29, 28, 22].map(|most| access_points(&with(most))), [(6, 12), (6, 6), (0, 0)]);
    // 3 access points, two of them of one file system: what has no own is with the others.
    let setup = Setup { file_systems: 2, per_host: 2, access_points: 3, with_access_points: 2, ..one() };
    let most =
        |max_access_points| access_points(&Setup { max_access_points, max_series: 999, ..setup.clone() });
    assert_eq!([3, 2, 1].map(most), [(3 * 6, 5 * 6), ((2 + 1) * 6, 4 * 6), ((1 + 2) * 6, 3 * 6)]);
    // On 9 hosts each one may be the busiest somewhere.
    let fleet = Setup { hosts: 9, max_access_points: 1, max_series: 999, ..setup };
    assert_eq!(access_points(&fleet), ((3 + 2) * 6, 3 * 6));
}

#[test]
fn one_host_has_no_more_series_than_its_limit() {
    let host = Setup { file_systems: 5, per_host: 5, max_series: 30, ..one() };
    let limited = Estimate::limited(Profile::Minimal, &host);
    // 4, 11 for each of 2 file systems, and 2 for each of 2 clients.
    assert_eq!((limited.series(), limited.on_a_host()), (30, 30));
}

#[test]
fn a_fleet_costs_less_than_its_hosts_one_by_one() {
    let alone = Estimate::whole(Profile::Minimal, &one());
    let ten = Estimate::whole(Profile::Minimal, &Setup { hosts: 10, ..one() });
    // 15 shared and 2 of each.
    assert_eq!((alone.series(), ten.series()), (17, 35));
    assert_eq!((ten.shared(), ten.own(), ten.on_a_host()), (15, 2, 17));
}
