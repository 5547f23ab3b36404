//! Finds this host's id: once, within 10 minutes of the start, and then it stays.

mod identity;
mod surroundings;

use std::future::pending;
use std::time::Duration;

use tracing::{info, warn};

use crate::aws;
use crate::aws::ecs::{Task, TaskError};
use crate::aws::host::Answer;
use crate::clock::Clock;
use crate::model::Host;
use crate::source::Source;

pub use identity::{HostSource, Identity, Place};
pub use surroundings::Surroundings;

/// How long an id is looked for; data that carry it wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(600);
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What tells about this host over the network: AWS, or a test that stays silent for minutes.
#[expect(async_fn_in_trait, reason = "one thread: no caller needs the future to be Send")]
pub trait Metadata {
    /// Asks the instance metadata service once.
    async fn instance(&self) -> Answer;
    /// Asks ECS's agent once, at the value of `ECS_CONTAINER_METADATA_URI_V4`.
    async fn task(&self, endpoint: &str) -> Result<Task, TaskError>;
}

/// The services of the machine that efsmon runs on.
#[derive(Clone, Copy, Debug)]
pub struct Network;

impl Metadata for Network {
    async fn instance(&self) -> Answer {
        aws::host::instance(None).await
    }

    async fn task(&self, endpoint: &str) -> Result<Task, TaskError> {
        aws::ecs::task(endpoint).await
    }
}

/// Where to look, in this order: the configuration, ECS's agent where a task has no instance of its own, the instance
/// metadata service, the asset tag of the board, and off EC2 and outside of containers the host name.
#[derive(Clone, Debug)]
pub struct HostFinder<M = Network> {
    configured: Option<String>,
    asset_tag: Option<String>,
    host_name: Option<String>,
    /// The host name is nobody's own: this is an instance whose id is still to be had.
    is_ec2: bool,
    surroundings: Surroundings,
    metadata: M,
}

/// What was asked in one round, for people.
#[derive(Default)]
struct Round {
    tried: Vec<String>,
    /// The metadata service is there, and shut.
    denied: bool,
    /// A task on an instance that does not answer.
    task: Option<Task>,
}

impl HostFinder {
    /// Asks the machine for all that it says without the network.
    pub fn new(configured: Option<String>, source: &Source, surroundings: Surroundings) -> HostFinder {
        HostFinder {
            configured,
            asset_tag: source.board_asset_tag(),
            host_name: source.host_name(),
            is_ec2: source.is_ec2(),
            surroundings,
            metadata: Network,
        }
    }
}

impl<M> HostFinder<M> {
    /// The same, asking another network.
    pub fn with_metadata<N>(self, metadata: N) -> HostFinder<N> {
        let HostFinder { configured, asset_tag, host_name, is_ec2, surroundings, .. } = self;
        HostFinder { configured, asset_tag, host_name, is_ec2, surroundings, metadata }
    }

    /// The id that the configuration gives: there is nothing to look for.
    pub fn configured(&self) -> Option<Identity> {
        self.configured.as_ref().map(|id| Identity {
            settled: !self.may_be_an_instance(),
            ..Identity::of(id, HostSource::Config)
        })
    }

    /// The id as far as it is known without the network.
    pub fn without_network(&self) -> Host {
        let known = self.configured().or_else(|| self.by_the_board()).or_else(|| self.by_name());
        known.map_or(Host::Pending, |identity| identity.host)
    }

    /// On Fargate the board is that of a machine of AWS's own, under any number of tasks.
    fn by_the_board(&self) -> Option<Identity> {
        let tag = self.asset_tag.as_ref().filter(|_| !self.on_fargate())?;
        Some(Identity { instance: Some(tag.clone()), ..Identity::of(tag, HostSource::AssetTag) })
    }

    fn by_name(&self) -> Option<Identity> {
        let own = !self.is_ec2 && self.surroundings == Surroundings::Host;
        let name = self.host_name.as_ref().filter(|_| own)?;
        Some(Identity { settled: true, ..Identity::of(name, HostSource::HostName) })
    }

    fn on_fargate(&self) -> bool {
        matches!(self.surroundings, Surroundings::Task { on_fargate: true, .. })
    }

    /// Whether it is worth asking where a host is whose id is known.
    fn may_be_an_instance(&self) -> bool {
        self.is_ec2 || self.surroundings != Surroundings::Host
    }

    fn remedy(&self, denied: bool) -> &'static str {
        match self.surroundings {
            Surroundings::Task { on_fargate: true, .. } => {
                "let efsmon reach the address in ECS_CONTAINER_METADATA_URI_V4, or set host.id"
            }
            _ if denied => "enable the instance metadata service (HttpEndpoint), or set host.id",
            Surroundings::Pod => {
                "give the pod hostNetwork: true, or set the node's HttpPutResponseHopLimit to 2, or set \
                 EFSMON_HOST__ID from spec.nodeName (downward API); host.id is the setting"
            }
            Surroundings::Task { .. } => {
                "set the instance's HttpPutResponseHopLimit to 2, or use network mode host, or set host.id"
            }
            Surroundings::Container => {
                "set the instance's HttpPutResponseHopLimit to 2 or use the host's network, or set host.id"
            }
            Surroundings::Host if self.is_ec2 => {
                "let efsmon reach the instance metadata service (HttpEndpoint, HttpPutResponseHopLimit, firewall), or \
                 set host.id"
            }
            Surroundings::Host => "set host.id",
        }
    }
}

impl<M: Metadata> HostFinder<M> {
    /// Looks until there is an id, for 10 minutes at most. Never [`Host::Pending`].
    pub async fn find(&self, clock: &impl Clock) -> Identity {
        if let Some(identity) = self.configured() {
            return identity;
        }
        let deadline = clock.now().monotonic + PATIENCE;
        let mut pause = FIRST_PAUSE;
        let mut said = false;
        loop {
            let mut round = Round::default();
            if let Some(identity) = self.ask(&mut round).await {
                return identity;
            }
            let (tried, remedy) = (round.tried.join("; "), self.remedy(round.denied));
            if clock.now().monotonic + pause > deadline {
                return self.give_up(round.task, &tried, remedy);
            }
            if !std::mem::replace(&mut said, true) {
                warn!(tried, remedy, "this host's id is not known yet; figures of single hosts wait for it");
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Goes on asking where a host is whose id is known, for 10 minutes at most; the id stays. Where there is no more
    /// to come, for ever.
    pub async fn locate(&self, clock: &impl Clock, known: Identity) -> Identity {
        if known.settled {
            return pending().await;
        }
        let deadline = clock.now().monotonic + PATIENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            let mut round = Round::default();
            match self.ask_the_network(&mut round).await {
                Some(Identity { instance, place, .. }) => {
                    return Identity { instance: instance.or(known.instance), place, settled: true, ..known };
                }
                None if clock.now().monotonic + pause > deadline => {
                    let place = round.task.map(Identity::of_task).map_or(known.place, |task| task.place);
                    return Identity { place, settled: true, ..known };
                }
                None => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn ask(&self, round: &mut Round) -> Option<Identity> {
        if let Some(identity) = self.ask_the_network(round).await {
            return Some(identity);
        }
        let identity = self.by_the_board().or_else(|| self.by_name());
        match &identity {
            Some(Identity { host: Host::Known(id), .. }) => {
                info!(answer = round.tried.join("; "), id, "taking this host's id from the machine itself");
            }
            _ if self.surroundings == Surroundings::Host => {
                round.tried.push("no asset tag i-.. on the board".to_owned());
            }
            _ => round
                .tried
                .push("no asset tag i-.. on the board, and a container's name is nobody's".to_owned()),
        }
        identity
    }

    async fn ask_the_network(&self, round: &mut Round) -> Option<Identity> {
        if let Surroundings::Task { endpoint, .. } = &self.surroundings {
            match self.metadata.task(endpoint).await {
                Ok(task) if !task.on_instance => return Some(Identity::of_task(task)),
                Ok(task) => round.task = Some(task),
                Err(error) => round.tried.push(error.to_string()),
            }
        }
        if self.on_fargate() {
            return None;
        }
        match self.metadata.instance().await {
            Answer::Found(instance) => Some(Identity::of(&instance.id, HostSource::Imds).with(*instance)),
            answer => {
                round.denied = matches!(answer, Answer::Denied { .. });
                round.tried.push(answer.to_string());
                None
            }
        }
    }

    fn give_up(&self, task: Option<Task>, tried: &str, remedy: &str) -> Identity {
        if let Some(task) = task {
            warn!(
                tried,
                remedy,
                id = task.id,
                "the instance does not name itself; taking the task's id, which the next task has not"
            );
            return Identity::of_task(task);
        }
        warn!(
            tried,
            remedy,
            "this host has no id; figures of single hosts are not published before efsmon is started again and finds one"
        );
        Identity { host: Host::Unknown, source: None, instance: None, place: Place::default(), settled: true }
    }
}
