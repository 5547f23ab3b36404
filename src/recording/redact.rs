//! A recording that may be shown to others: every name, id and address is replaced, every number stays.
//!
//! Nothing is taken out of a text; a new one is made of what was understood and is known to be harmless. What is not
//! understood is left out. One input always becomes the same output, at every place where it stands, so that what
//! efsmon makes of the recording is the same but for the names. Outputs are numbered in the order in which their
//! inputs come, and the list of who is who is never written down: nothing leads back.
//!
//! What still can be told: how many mounts there are and what they do, when, with which options, on which kind of
//! system; regions and Availability Zones; and names that every Linux host, Kubernetes node or EFS client has.

use self::names::Names;
use super::{About, Tick};
use crate::source::Reading;

mod everybodys;
mod mountinfo;
mod mountstats;
mod names;
mod options;
mod state_files;

/// Stands for a reason whose text may name a path.
const VOID: &str = "the mounts could not be read";
const NO_STATE: &str = "the directory could not be read";

/// Replaces the names of one recording. Another one's come out differently.
#[derive(Debug, Default)]
pub struct Redaction {
    names: Names,
}

impl Redaction {
    /// The machine under other names.
    pub fn about(&mut self, about: &About) -> About {
        About {
            host_name: about.host_name.as_ref().map(|name| self.names.host(name.as_bytes())),
            board_asset_tag: about.board_asset_tag.as_ref().map(|tag| self.names.instance(tag)),
            is_ec2: about.is_ec2,
        }
    }

    /// The tick with every name replaced. Ticks come in their order.
    pub fn tick(&mut self, tick: &Tick) -> Tick {
        Tick {
            number: tick.number,
            moment: tick.moment,
            boot_id: tick.boot_id.as_ref().map(|id| self.names.uuid(id)),
            reading: match &tick.reading {
                Ok(reading) => Ok(self.reading(reading)),
                Err(_) => Err(VOID.to_owned()),
            },
            efs_state: match &tick.efs_state {
                Ok(files) => Ok(state_files::redacted(files, &mut self.names)),
                Err(_) => Err(NO_STATE.to_owned()),
            },
        }
    }

    fn reading(&mut self, reading: &Reading) -> Reading {
        let names = &mut self.names;
        Reading {
            moment: reading.moment,
            view: reading.view,
            mountinfo_before: mountinfo::redacted(&reading.mountinfo_before, names),
            mountstats: mountstats::redacted(&reading.mountstats, names),
            mountinfo_after: mountinfo::redacted(&reading.mountinfo_after, names),
        }
    }
}
