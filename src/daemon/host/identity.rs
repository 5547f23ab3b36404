//! Who and where a host is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aws::ecs::Task;
use crate::aws::host::Instance;
use crate::batch::fit_text;
use crate::model::Host;

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostSource {
    #[serde(rename = "config")]
    Config,
    #[serde(rename = "imds")]
    Imds,
    #[serde(rename = "asset tag")]
    AssetTag,
    #[serde(rename = "ecs")]
    Ecs,
    #[serde(rename = "host name")]
    HostName,
}

impl HostSource {
    /// As in `status.json`.
    pub fn name(self) -> &'static str {
        match self {
            HostSource::Config => "config",
            HostSource::Imds => "imds",
            HostSource::AssetTag => "asset tag",
            HostSource::Ecs => "ecs",
            HostSource::HostName => "host name",
        }
    }
}

/// Where this host is, as far as AWS tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub region: Option<String>,
    pub zone: Option<String>,
    pub zone_id: Option<String>,
    pub account_id: Option<String>,
    pub instance_type: Option<String>,
    pub tags: BTreeMap<String, String>,
}

/// Who and where this host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub host: Host,
    pub source: Option<HostSource>,
    /// The EC2 instance, whatever the host goes by.
    pub instance: Option<String>,
    pub place: Place,
    /// There is no more to come.
    pub settled: bool,
}

impl Identity {
    /// Nothing is known yet.
    pub(crate) fn pending() -> Identity {
        Identity {
            host: Host::Pending,
            source: None,
            instance: None,
            place: Place::default(),
            settled: false,
        }
    }

    pub(super) fn of(id: &str, source: HostSource) -> Identity {
        Identity { host: Host::Known(fit_text(id).into_owned()), source: Some(source), ..Identity::pending() }
    }

    pub(super) fn with(self, instance: Instance) -> Identity {
        Identity {
            instance: Some(instance.id),
            place: Place {
                region: Some(instance.region),
                zone: Some(instance.availability_zone),
                zone_id: instance.availability_zone_id,
                account_id: instance.account_id,
                instance_type: instance.instance_type,
                tags: instance.tags,
            },
            settled: true,
            ..self
        }
    }

    pub(super) fn of_task(task: Task) -> Identity {
        let place = Place {
            region: task.region,
            zone: task.availability_zone,
            zone_id: task.availability_zone_id,
            account_id: task.account_id,
            ..Place::default()
        };
        Identity { place, settled: true, ..Identity::of(&task.id, HostSource::Ecs) }
    }
}
