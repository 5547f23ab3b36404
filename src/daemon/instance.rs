//! Whether the state on disk is this instance's own. The spool knows other machines by machine-id and asset tag; on an
//! instance whose board has no tag (Xen), a copy of an image that efsmon ran on is told by the instance metadata alone.

use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::{error, info, warn};

use super::Daemon;
use super::host::{HostFinder, Identity, Metadata};
use crate::clock::Clock;
use crate::model::Host;
use crate::monitor::State;
use crate::source::Source;
use crate::spool::Disk;

/// How long the first sample waits for the metadata service, when what is on disk may be another's.
const PATIENCE: Duration = Duration::from_secs(3);

/// The EC2 instance that the daemon ran on, and the boot in which that was found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastInstance {
    id: String,
    boot_id: Option<String>,
}

impl LastInstance {
    /// Whether this may be another instance by now. No two boots share an id, and an instance is no other without one.
    pub(super) fn is_doubtful(&self, source: &Source, boot_id: Option<&str>) -> bool {
        let same_boot = boot_id.is_some() && self.boot_id.as_deref() == boot_id;
        // With an asset tag, the state of another instance is another owner's.
        !same_boot && source.board_asset_tag().is_none()
    }
}

/// Something more about this host, that comes or does not.
pub(super) type Finding<'a> = Pin<Box<dyn Future<Output = Identity> + 'a>>;

impl<'a, C: Clock, D: Disk> Daemon<'a, C, D> {
    /// Takes what is known of this host, and what there is still to be found.
    pub(super) fn find<'f, M: Metadata>(
        &mut self,
        finder: &'f HostFinder<M>,
        known: Option<Identity>,
    ) -> Finding<'f>
    where
        'a: 'f,
    {
        if let Some(identity) = &known {
            self.identified(identity);
        }
        let clock = self.clock;
        Box::pin(async move {
            match known {
                None => finder.find(clock).await,
                Some(known) => finder.locate(clock, known).await,
            }
        })
    }

    /// Begins to look. Where what is on disk may be another instance's, the metadata service has a moment to say so;
    /// without an answer its requests stay held, and minutes that were open when an earlier boot ended are given up.
    pub(super) async fn begin_to_find<'f, M: Metadata>(&mut self, finder: &'f HostFinder<M>) -> Finding<'f>
    where
        'a: 'f,
    {
        let mut finding = self.find(finder, finder.configured());
        let mut deadline = Box::pin(tokio::time::sleep(PATIENCE));
        while self.doubtful {
            tokio::select! {
                biased;
                identity = &mut finding => finding = self.find(finder, Some(identity)),
                () = &mut deadline => {
                    self.start_anew();
                    break;
                }
            }
        }
        finding
    }

    /// Takes what is known of this host. The id itself is taken once.
    pub(super) fn identified(&mut self, identity: &Identity) {
        if self.host == Host::Pending {
            if let (Host::Known(id), Some(source)) = (&identity.host, identity.source) {
                info!(host = id, source = source.name(), "this host's id");
            }
            self.host = identity.host.clone();
            self.host_source = identity.source;
        }
        self.place = identity.place.clone();
        match &identity.instance {
            Some(id) => self.is_instance(id),
            None if identity.settled && self.doubtful => {
                info!("which instance this is cannot be found out; going on with the state that is there");
                self.is_the_last();
            }
            None => {}
        }
    }

    fn is_instance(&mut self, id: &str) {
        if self.doubtful {
            match self.last_instance.take_if(|last| last.id != id) {
                None => self.is_the_last(),
                Some(last) => {
                    warn!(
                        instance = id,
                        before = last.id,
                        "the state directory is another instance's, as in a copy of its image; starting anew"
                    );
                    self.start_anew();
                    match self.spool.set_held_aside(&last.id) {
                        Ok(()) => self.doubtful = false,
                        Err(error) => {
                            error!(%error, "its requests cannot be set aside; they are held back, and the next start tries again");
                            self.last_instance = Some(last);
                            return;
                        }
                    }
                }
            }
        }
        self.last_instance = Some(LastInstance { id: id.to_owned(), boot_id: self.boot_id.clone() });
    }

    fn is_the_last(&mut self) {
        self.doubtful = false;
        self.spool.release();
        if let Some(last) = &mut self.last_instance {
            last.boot_id = self.boot_id.clone();
        }
    }

    /// Forgets what an earlier boot left to go on from; once counting began there is nothing of it any more.
    fn start_anew(&mut self) {
        if self.last_tick.is_none() {
            self.monitor.go_back(State::default());
            self.own = Default::default();
        }
    }
}
