//! Finds this host's id: once, within 10 minutes of the start, and then it stays.

use std::time::Duration;

use tracing::{info, warn};

use crate::aws;
use crate::aws::host::Answer;
use crate::batch::fit_text;
use crate::clock::Clock;
use crate::model::Host;
use crate::source::Source;

/// How long an id is looked for; data that carry it wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(600);
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Where to look, in this order: the configuration, the instance metadata service, the asset tag of the board,
/// and off EC2 the host name.
#[derive(Clone, Debug)]
pub struct HostFinder {
    configured: Option<String>,
    asset_tag: Option<String>,
    host_name: Option<String>,
    /// The host name is nobody's own: it is a container's, or this is an instance whose id is still to be had.
    is_ec2: bool,
    in_container: bool,
}

impl HostFinder {
    /// Asks the machine for all that it says without the network.
    pub fn new(configured: Option<String>, source: &Source, in_container: bool) -> HostFinder {
        HostFinder {
            configured,
            asset_tag: source.board_asset_tag(),
            host_name: source.host_name(),
            is_ec2: source.is_ec2(),
            in_container,
        }
    }

    /// The id that the configuration gives: there is nothing to look for.
    pub fn configured(&self) -> Option<Host> {
        self.configured.as_ref().map(|id| Host::Known(fit_text(id).into_owned()))
    }

    /// The id as far as it is known without the network.
    pub fn without_network(&self) -> Host {
        let known = self.configured.as_ref().or(self.asset_tag.as_ref()).or(self.own_name());
        known.map_or(Host::Pending, |id| Host::Known(fit_text(id).into_owned()))
    }

    /// Looks until there is an id, for 10 minutes at most. Never [`Host::Pending`].
    pub async fn find(&self, clock: &impl Clock) -> Host {
        if let Some(host) = self.configured() {
            return host;
        }
        let deadline = clock.now().monotonic + PATIENCE;
        let mut pause = FIRST_PAUSE;
        let mut said = false;
        loop {
            match aws::host::instance(None).await {
                Answer::Found(instance) => return Host::Known(fit_text(&instance.id).into_owned()),
                answer => {
                    if let Host::Known(id) = self.without_network() {
                        info!(%answer, id, "taking this host's id from the machine itself");
                        return Host::Known(id);
                    }
                    if clock.now().monotonic + pause > deadline {
                        return Host::Unknown;
                    }
                    if !std::mem::replace(&mut said, true) {
                        warn!(%answer, "this host's id is not known yet; figures of single hosts wait for it");
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn own_name(&self) -> Option<&String> {
        self.host_name.as_ref().filter(|_| !self.is_ec2 && !self.in_container)
    }
}
