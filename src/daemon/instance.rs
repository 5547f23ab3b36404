//! Whether the state on disk is this instance's own. The spool knows other machines by machine-id and asset tag; on an
//! instance whose board has no tag (Xen), a copy of an image that efsmon ran on is told by the instance metadata alone.

use serde::{Deserialize, Serialize};
use tracing::{error, info, warn};

use super::Daemon;
use super::calls::Call;
use super::host::{HostFinder, Identity, Metadata};
use crate::clock::Clock;
use crate::model::Host;
use crate::source::Source;
use crate::spool::Disk;

/// The EC2 instance that the daemon ran on, and the boot in which that was found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastInstance {
    id: String,
    boot_id: Option<String>,
}

impl LastInstance {
    /// Whether it may not be this one. No two boots share an id, and an instance is no other without one.
    pub(super) fn may_be_another(&self, source: &Source, boot_id: Option<&str>) -> bool {
        let same_boot = boot_id.is_some() && self.boot_id.as_deref() == boot_id;
        // With an asset tag, the state of another instance is another owner's.
        !same_boot && source.board_asset_tag().is_none()
    }
}

impl<'a, C: Clock, D: Disk> Daemon<'a, C, D> {
    /// Takes what is known of this host, and looks for what there is still to be found: that comes, or does not.
    pub(super) fn find<'f, M: Metadata>(
        &mut self,
        finder: &'f HostFinder<M>,
        known: Option<Identity>,
    ) -> Call<'f, Identity>
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

    /// Takes what is known of this host. The id itself is taken once.
    pub(super) fn identified(&mut self, identity: &Identity) {
        let Identity { host, source, .. } = match self.identity.host {
            Host::Pending => {
                if let (Host::Known(id), Some(source)) = (&identity.host, identity.source) {
                    info!(host = id, source = source.name(), "this host's id");
                }
                identity.clone()
            }
            Host::Known(_) | Host::Unknown => self.identity.clone(),
        };
        self.identity = Identity { host, source, ..identity.clone() };
        match &identity.instance {
            Some(id) => self.is_instance(id),
            None if identity.settled && self.is_doubtful() => {
                info!("which instance this is cannot be found out; going on with the state that is there");
                self.is_the_last();
            }
            None => {}
        }
    }

    /// Whether what was there at the start may be another instance's.
    pub(super) fn is_doubtful(&self) -> bool {
        self.doubt.is_some()
    }

    /// Keeps all apart that an earlier boot left, until it is known whose it is: the requests, the minutes that were
    /// open, which become requests, and what was still to be said. No sample waits for that.
    pub(super) fn keep_apart(&mut self) {
        if !self.goes_on {
            let data = self.monitor.close_early(&self.own_figures());
            if !data.is_empty() {
                self.commit(data);
            }
            // Whether that is on disk or lost: counting starts with the first reading.
            self.committed = false;
            self.start = Vec::new();
        }
        self.spool.hold();
        self.doubt = Some(std::mem::take(&mut self.own));
    }

    fn is_instance(&mut self, id: &str) {
        if self.is_doubtful() {
            match self.last_instance.take_if(|last| last.id != id) {
                None => self.is_the_last(),
                Some(last) => {
                    warn!(
                        instance = id,
                        before = last.id,
                        "the state directory is another instance's, as in a copy of its image; starting anew"
                    );
                    self.monitor.disown();
                    match self.spool.set_held_aside(&last.id) {
                        Ok(()) => self.doubt = None,
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
        self.own += self.doubt.take().unwrap_or_default();
        self.spool.release();
        if let Some(last) = &mut self.last_instance {
            last.boot_id = self.boot_id.clone();
        }
    }
}
