//! What CloudWatch bills in a month for what a host, or a fleet of hosts, publishes: series, requests, dollars. Pure.
//!
//! A series is one of CloudWatch's custom metrics: a name with its dimensions. Those without `InstanceId` are shared:
//! every host publishes into the same ones, and they are billed once. The others are each host's own.

pub mod json;
pub mod prices;
pub mod table;
pub mod warnings;

use crate::batch::MAX_DATA;
use crate::catalog::{Profile, Scope, series};
use prices::{HOURS_A_MONTH, MetricMonths, Portion, Usd};

/// An allowance for the operations that a host uses on a file system; Linux has some 70, programs use few of them.
pub const OPERATIONS: u64 = 20;

/// `ec2-efs-read-throughput` and `ec2-efs-write-throughput` of a host, with `compat.cron_script`.
const CRON_SCRIPT_SERIES: u64 = 2;

/// What publishes, all month long. No number may be so large that a product of four of them overflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// That run at the same time, on average.
    pub hosts: u64,
    /// Of all hosts together.
    pub file_systems: u64,
    /// That each host mounts.
    pub per_host: u64,
    /// NFS operations that a host uses on a file system.
    pub operations: u64,
    /// Hosts a day that end, with another one in their place.
    pub churn: u64,
    /// `compat.cron_script`.
    pub cron_script: bool,
    /// `publish_interval`, in minutes.
    pub publish_minutes: u64,
    /// `limits.max_series`.
    pub max_series: u64,
}

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
    /// How many of them one host publishes.
    pub on_a_host: u64,
}

impl Group {
    pub fn series(&self) -> u64 {
        self.factors.iter().map(|(number, _)| number).product()
    }
}

/// A month's bill for one profile.
#[derive(Debug, PartialEq, Eq)]
pub struct Estimate {
    pub profile: Profile,
    /// Those that have no series too.
    pub groups: Vec<Group>,
    /// What replaced hosts add.
    pub churn: MetricMonths,
    /// By price.
    pub metrics: Vec<Portion>,
    /// PutMetricData, of all hosts.
    pub requests: u64,
    pub request_cost: Usd,
}

/// How many of a host's file systems have figures in each scope.
#[derive(Clone, Copy)]
struct Kept {
    file_systems: u64,
    clients: u64,
    operations: u64,
}

impl Estimate {
    /// All that the profile has, whatever `limits.max_series` says.
    pub fn whole(profile: Profile, setup: &Setup) -> Estimate {
        let all = setup.per_host;
        estimate(profile, setup, Kept { file_systems: all, clients: all, operations: all })
    }

    /// What `limits.max_series` leaves of it.
    pub fn limited(profile: Profile, setup: &Setup) -> Estimate {
        estimate(profile, setup, kept(profile, setup))
    }

    /// Series of all hosts together, each once.
    pub fn series(&self) -> u64 {
        self.groups.iter().map(Group::series).sum()
    }

    /// Series that all hosts publish into.
    pub fn shared(&self) -> u64 {
        self.groups.iter().filter(|group| group.shared).map(Group::series).sum()
    }

    /// Series that one host alone publishes into.
    pub fn own(&self) -> u64 {
        self.groups.iter().filter(|group| !group.shared).map(|group| group.on_a_host).sum()
    }

    /// Series that one host publishes, shared ones too: what `limits.max_series` limits.
    pub fn on_a_host(&self) -> u64 {
        self.groups.iter().map(|group| group.on_a_host).sum()
    }

    /// The least `limits.max_series` that leaves nothing out: operations are counted by their allowance there.
    pub fn needed(&self, setup: &Setup) -> u64 {
        let of = |group: &Group| match group.key {
            "operation" if group.on_a_host > 0 => OPERATIONS * setup.per_host,
            _ => group.on_a_host,
        };
        self.groups.iter().map(of).sum()
    }

    pub fn metric_cost(&self) -> Usd {
        self.metrics.iter().map(|portion| portion.usd).sum()
    }

    pub fn total(&self) -> Usd {
        self.metric_cost() + self.request_cost
    }
}

fn estimate(profile: Profile, setup: &Setup, kept: Kept) -> Estimate {
    let groups = groups(profile, setup, kept);
    let all: u64 = groups.iter().map(Group::series).sum();
    let own: u64 = groups.iter().filter(|group| !group.shared).map(|group| group.on_a_host).sum();
    // A series is billed for every hour in which it gets data. In the hour in which one host follows another,
    // both get some: one hour more for each of a host's own series.
    let churn = MetricMonths::an_hour_a_day(own * setup.churn);
    let requests = requests(setup, &groups);
    Estimate {
        profile,
        churn,
        metrics: prices::metrics(MetricMonths::whole(all) + churn),
        requests,
        request_cost: prices::requests(requests),
        groups,
    }
}

fn groups(profile: Profile, setup: &Setup, kept: Kept) -> Vec<Group> {
    let each = |scope| series(profile, scope) as u64;
    let hosts = (setup.hosts, "host");
    let file_systems = if kept.file_systems == 0 { 0 } else { setup.file_systems };
    let cron_script = if setup.cron_script { CRON_SCRIPT_SERIES } else { 0 };
    let shared = |name, key, each: u64, of: Option<(u64, &'static str)>, here: u64| Group {
        name,
        key,
        shared: true,
        factors: [(each, "")].into_iter().chain(of).collect(),
        on_a_host: each * here,
    };
    let own = |name, key, of_a_host: Vec<(u64, &'static str)>| Group {
        name,
        key,
        shared: false,
        on_a_host: of_a_host.iter().map(|(number, _)| number).product(),
        factors: of_a_host.into_iter().chain([hosts]).collect(),
    };
    let (clients, operations) = ((kept.clients, "file system"), (kept.operations, "file system"));
    let of_file_systems = Some((file_systems, "file system"));
    vec![
        shared("fleet", "fleet", each(Scope::Fleet), None, 1),
        shared("file system", "file_system", each(Scope::FileSystem), of_file_systems, kept.file_systems),
        own("client", "client", vec![(each(Scope::Client), ""), clients]),
        own("operation", "operation", vec![(each(Scope::Operation) * setup.operations, ""), operations]),
        own("cron script", "cron_script", vec![(cron_script, "")]),
    ]
}

/// What is published under `limits.max_series`, in the daemon's order: the fleet's whatever the limit, then one scope
/// after the other, of each file system all of it or nothing.
fn kept(profile: Profile, setup: &Setup) -> Kept {
    let each = |scope| series(profile, scope) as u64;
    let mut left = setup.max_series.saturating_sub(each(Scope::Fleet));
    let mut keep = |cost: u64| {
        let kept = left.checked_div(cost).map_or(setup.per_host, |fit| fit.min(setup.per_host));
        left -= kept * cost;
        kept
    };
    Kept {
        file_systems: keep(each(Scope::FileSystem)),
        clients: keep(each(Scope::Client)),
        operations: keep(each(Scope::Operation) * OPERATIONS),
    }
}

/// PutMetricData requests of all hosts in a month: in each interval the newest minute by itself, then the others,
/// as many whole minutes together as one request holds. What is sent again after an outage is not foreseen.
fn requests(setup: &Setup, groups: &[Group]) -> u64 {
    let intervals = HOURS_A_MONTH * 60 / setup.publish_minutes.max(1);
    // The cron script's namespace is another one, and a request is for one namespace.
    let (apart, main): (Vec<&Group>, Vec<&Group>) =
        groups.iter().partition(|group| group.key == "cron_script");
    let in_an_interval = |groups: &[&Group]| {
        let data: u64 = groups.iter().map(|group| group.on_a_host).sum();
        if data == 0 {
            return 0;
        }
        let a_minute = data.div_ceil(MAX_DATA as u64);
        let others = setup.publish_minutes.saturating_sub(1);
        a_minute + (others * a_minute).div_ceil((MAX_DATA as u64 / data).max(1))
    };
    setup.hosts * intervals * (in_an_interval(&main) + in_an_interval(&apart))
}

impl Setup {
    /// What the series cost if every host published as many as `limits.max_series` allows, and none were shared.
    pub fn ceiling(&self) -> Usd {
        let most = MetricMonths::whole(self.max_series * self.hosts);
        let churn = MetricMonths::an_hour_a_day(self.max_series * self.churn);
        prices::metrics(most + churn).into_iter().map(|portion| portion.usd).sum()
    }
}

/// What an estimate is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    ThisHost {
        /// NFS superblocks that are not published, or not yet.
        not_counted: u64,
    },
    Fleet,
}

/// An estimate for each profile, and what is to be said of the chosen one.
#[derive(Debug)]
pub struct Report {
    pub subject: Subject,
    pub setup: Setup,
    pub profile: Profile,
    /// Where the choice is from.
    pub origin: String,
    /// Where metrics are published, when that is configured.
    pub region: Option<String>,
    /// Of [`Profile::ALL`], whole.
    pub estimates: Vec<Estimate>,
    pub warnings: Vec<warnings::Warning>,
}

impl Report {
    pub fn new(
        subject: Subject,
        setup: Setup,
        profile: Profile,
        origin: String,
        region: Option<String>,
    ) -> Report {
        Report {
            estimates: Profile::ALL.into_iter().map(|profile| Estimate::whole(profile, &setup)).collect(),
            warnings: warnings::warnings(profile, &setup),
            subject,
            setup,
            profile,
            origin,
            region,
        }
    }

    /// The bill of the chosen profile, whole.
    pub fn chosen(&self) -> Estimate {
        Estimate::whole(self.profile, &self.setup)
    }
}

/// `1 host`, `3,000 hosts`; `series` is both.
fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 || noun.starts_with("series") { "" } else { "s" };
    format!("{} {noun}{plural}", prices::thousands(number))
}
