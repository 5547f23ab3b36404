//! Which series a profile has, scope by scope, and which of them find room under `limits.max_series`: the same ones as
//! the daemon chooses (`minutes/series.rs`).

use super::Setup;
use crate::catalog::{Profile, Scope, series};
use crate::minutes::reckoned;

/// Series of one kind: how many, as a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// For people.
    pub name: &'static str,
    /// For programs.
    pub key: &'static str,
    /// Whether all hosts publish into the same ones.
    pub shared: bool,
    /// What is multiplied, each number with what there is so many of, in the singular; the first is of series.
    pub factors: Vec<(u64, &'static str)>,
    /// How many of them one host publishes, and how many of `limits.max_series` they take.
    pub on_a_host: u64,
    pub(super) reckoned: u64,
}

impl Group {
    pub fn series(&self) -> u64 {
        self.factors.iter().map(|(number, _)| number).product()
    }
}

/// What has series of its own in one scope.
struct Row {
    name: &'static str,
    key: &'static str,
    /// Series of one, and what `limits.max_series` reckons for them.
    series: u64,
    reckoned: u64,
    /// One what; nothing where there is one only.
    of: &'static str,
    on_a_host: u64,
    /// How many all hosts together have, where they share them.
    shared: Option<u64>,
    /// The most on a host that may have series of their own, and who publishes for the others.
    most: u64,
    rest: Rest,
}

/// What has series for those that have none of their own. Its room is kept whether there are such or not.
#[derive(Clone, Copy, Default)]
struct Rest {
    on_a_host: u64,
    /// Of all hosts together.
    all: u64,
}

/// All scopes, in the order in which the daemon uses `limits.max_series` up.
fn rows(profile: Profile, setup: &Setup) -> [Row; 7] {
    let row = |name, key, scope, (of, on_a_host), shared| Row {
        name,
        key,
        series: series(profile, scope) as u64,
        reckoned: reckoned(profile, scope) as u64,
        of,
        on_a_host,
        shared,
        most: u64::MAX,
        rest: Rest::default(),
    };
    let file_systems = ("file system", setup.per_host);
    // As if every host had as many.
    let on_a_host = |all: u64| (all * setup.per_host).div_ceil(setup.file_systems.max(1));
    let access_points = ("access point", on_a_host(setup.access_points));
    let mount_points = ("mount point", setup.mount_points);
    let operations = row("operation", "operation", Scope::Operation, file_systems, None);
    [
        row("fleet", "fleet", Scope::Fleet, ("", 1), Some(1)),
        row("cron script", "cron_script", Scope::CronScript, ("", u64::from(setup.cron_script)), None),
        row("file system", "file_system", Scope::FileSystem, file_systems, Some(setup.file_systems)),
        row("client", "client", Scope::Client, file_systems, None),
        Row { series: operations.reckoned.min(operations.series * setup.operations), ..operations },
        Row {
            most: setup.max_access_points,
            rest: Rest { on_a_host: on_a_host(setup.with_access_points), all: setup.with_access_points },
            ..row(
                "access point",
                "access_point",
                Scope::AccessPoint,
                access_points,
                Some(setup.access_points),
            )
        },
        row("mount point", "mount_point", Scope::MountPoint, mount_points, None),
    ]
}

/// The series of each scope that find room, of each file system (access point ..) all of them or none. The fleet's
/// always do.
pub(super) fn groups(profile: Profile, setup: &Setup, max_series: u64) -> Vec<Group> {
    let mut left = max_series.max(series(profile, Scope::Fleet) as u64);
    let mut find_room = |row: &Row, wanted: u64| {
        let found = wanted.min(left.checked_div(row.reckoned).unwrap_or(u64::MAX));
        left -= found * row.reckoned;
        found
    };
    let group = |row: Row| {
        let rest = find_room(&row, row.rest.on_a_host);
        let own = find_room(&row, row.on_a_host.min(row.most));
        // At the most: several without their own may be of one file system.
        let for_others = rest.min(row.on_a_host - own);
        let kept = own + for_others;
        // Which ones find room differs from host to host.
        let together = |all: u64| all.min(own * setup.hosts) + row.rest.all.min(for_others * setup.hosts);
        let factors = match (row.shared, row.of) {
            (Some(_), "") => vec![(row.series * kept, "")],
            (Some(all), of) => vec![(row.series, ""), (together(all), of)],
            (None, "") => vec![(row.series * kept, ""), (setup.hosts, "host")],
            (None, of) => vec![(row.series, ""), (kept, of), (setup.hosts, "host")],
        };
        Group {
            name: row.name,
            key: row.key,
            shared: row.shared.is_some(),
            factors,
            on_a_host: row.series * kept,
            reckoned: row.reckoned * (own + rest),
        }
    };
    rows(profile, setup).into_iter().map(group).collect()
}
