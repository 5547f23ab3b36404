//! What CloudWatch bills in a month for what a host, or a fleet of hosts, publishes: series, requests, dollars. Pure.
//!
//! A series is one of CloudWatch's custom metrics: a name with its dimensions. Those without `InstanceId` are shared:
//! every host publishes into the same ones, and they are billed once. The others are each host's own.

mod groups;
pub mod json;
pub mod prices;
pub mod table;
pub mod warnings;

use crate::batch::MAX_DATA;
use crate::catalog::Profile;
use groups::groups;
use prices::{HOURS_A_MONTH, MetricMonths, Portion, Usd};

pub use groups::Group;

/// What publishes, all month long. No number may be so large that a product of four of them overflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// That run at the same time, on average.
    pub hosts: u64,
    /// Of all hosts together.
    pub file_systems: u64,
    /// That each host mounts.
    pub per_host: u64,
    /// With `publish.access_points`, of all hosts together.
    pub access_points: u64,
    /// File systems that are mounted through one of them.
    pub with_access_points: u64,
    /// `limits.max_access_points`.
    pub max_access_points: u64,
    /// That have figures of their own, on each host.
    pub mount_points: u64,
    /// NFS operations that a host uses on a file system; those beyond [`OPERATIONS`] have no series.
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

impl Estimate {
    /// All that the profile has, whatever `limits.max_series` says.
    pub fn whole(profile: Profile, setup: &Setup) -> Estimate {
        estimate(profile, setup, u64::MAX)
    }

    /// What `limits.max_series` leaves of it.
    pub fn limited(profile: Profile, setup: &Setup) -> Estimate {
        estimate(profile, setup, setup.max_series)
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

    /// The least `limits.max_series` that leaves nothing out: operations are counted by the most that they may have there.
    pub fn needed(&self) -> u64 {
        self.groups.iter().map(|group| group.reckoned).sum()
    }

    pub fn metric_cost(&self) -> Usd {
        self.metrics.iter().map(|portion| portion.usd).sum()
    }

    pub fn total(&self) -> Usd {
        self.metric_cost() + self.request_cost
    }
}

fn estimate(profile: Profile, setup: &Setup, max_series: u64) -> Estimate {
    let groups = groups(profile, setup, max_series);
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
pub enum Whose {
    ThisHost {
        /// NFS superblocks that are not published, or not yet.
        not_counted: u64,
    },
    Fleet,
}

/// An estimate for each profile, and what is to be said of the chosen one.
#[derive(Debug)]
pub struct Report {
    pub whose: Whose,
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
        whose: Whose,
        setup: Setup,
        profile: Profile,
        origin: String,
        region: Option<String>,
    ) -> Report {
        Report {
            estimates: Profile::ALL.into_iter().map(|profile| Estimate::whole(profile, &setup)).collect(),
            warnings: warnings::warnings(profile, &setup),
            whose,
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

#[cfg(test)]
mod tests;
