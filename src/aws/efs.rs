//! What EFS says of mount targets: DescribeFileSystems and DescribeMountTargets (EFS API reference), at most two
//! requests a second.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::time::Duration;

use aws_sdk_efs::Client;
use aws_sdk_efs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_efs::types::{LifeCycleState, MountTargetDescription};
use tokio::time::Instant;

use crate::efs::Target;
use crate::model::FileSystemId;

/// From one request to the next.
const PAUSE: Duration = Duration::from_millis(500);
/// Of one list, all of it; a list that does not end is none.
pub(super) const MAX_PAGES: usize = 200;
pub(super) const PAGE: i32 = 100;

/// What EFS is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Every file system of the account in the Region.
    FileSystems,
    /// The mount targets of one.
    MountTargets(FileSystemId),
}

/// What it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub region: String,
    pub said: Said,
}

/// What it says to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    FileSystems(Vec<FileSystemId>),
    /// None at all for a file system that is no more. When they were [asked](Target::asked) for is left to the asker.
    MountTargets(Vec<Target>),
}

/// Why it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// This host's role may not ask.
    #[error("{message}; allow {action} to this host's role")]
    Denied { action: &'static str, message: String },
    #[error("{0}")]
    Other(String),
}

/// EFS in one Region.
pub struct Efs {
    region: Option<String>,
    client: RefCell<Option<(Client, String)>>,
    last: Cell<Option<Instant>>,
}

impl Efs {
    /// Looks for region and credentials with the first question, and again after one that failed for another reason
    /// than a missing permission.
    pub fn new(region: Option<String>) -> Efs {
        Efs { region, client: RefCell::default(), last: Cell::default() }
    }

    /// Asks, page after page; waits before each so that there are no more than two a second.
    pub async fn ask(&self, question: &Question) -> Result<Reply, Failure> {
        let (client, region) = self.client().await?;
        let said = match question {
            Question::FileSystems => self.file_systems(&client).await,
            Question::MountTargets(id) => self.mount_targets(&client, id).await,
        };
        if let Err(Failure::Other(_)) = said {
            self.client.take();
        }
        Ok(Reply { region, said: said? })
    }

    async fn client(&self) -> Result<(Client, String), Failure> {
        if let Some(client) = self.client.borrow().clone() {
            return Ok(client);
        }
        let config = super::load(self.region.as_deref()).await;
        let config = config.map_err(|not_ready| Failure::Other(not_ready.to_string()))?;
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        Ok(self.client.borrow_mut().insert((Client::new(&config), region)).clone())
    }

    async fn file_systems(&self, client: &Client) -> Result<Said, Failure> {
        let mut all = Vec::new();
        let mut marker = None;
        for _ in 0..MAX_PAGES {
            self.pause().await;
            let page = client.describe_file_systems().max_items(PAGE).set_marker(marker.clone()).send().await;
            let page = page.map_err(|error| failure("elasticfilesystem:DescribeFileSystems", &error))?;
            all.extend(page.file_systems().iter().filter_map(|found| found.file_system_id().parse().ok()));
            let Some(next) = next(page.next_marker(), &marker)? else { return Ok(Said::FileSystems(all)) };
            marker = Some(next);
        }
        Err(endless())
    }

    async fn mount_targets(&self, client: &Client, id: &FileSystemId) -> Result<Said, Failure> {
        let mut all = Vec::new();
        let mut marker = None;
        for _ in 0..MAX_PAGES {
            self.pause().await;
            let ask = client.describe_mount_targets().file_system_id(id.as_str()).max_items(PAGE);
            let page = match ask.set_marker(marker.clone()).send().await {
                Err(error)
                    if error.as_service_error().is_some_and(|error| error.is_file_system_not_found()) =>
                {
                    return Ok(Said::MountTargets(Vec::new()));
                }
                page => page.map_err(|error| failure("elasticfilesystem:DescribeMountTargets", &error))?,
            };
            all.extend(page.mount_targets().iter().filter_map(|found| target(id, found)));
            let Some(next) = next(page.next_marker(), &marker)? else { return Ok(Said::MountTargets(all)) };
            marker = Some(next);
        }
        Err(endless())
    }

    async fn pause(&self) {
        if let Some(last) = self.last.get() {
            tokio::time::sleep_until(last + PAUSE).await;
        }
        self.last.set(Some(Instant::now()));
    }
}

/// One that has gone has no address any more.
fn target(file_system: &FileSystemId, found: &MountTargetDescription) -> Option<Target> {
    let gone = [LifeCycleState::Deleting, LifeCycleState::Deleted].contains(found.life_cycle_state());
    let is_of = found.file_system_id() == file_system.as_str();
    (is_of && !gone).then(|| Target {
        mount_target: found.mount_target_id().to_owned(),
        file_system: file_system.clone(),
        ipv4: found.ip_address().and_then(|address| address.parse().ok()),
        ipv6: found.ipv6_address().and_then(|address| address.parse().ok()),
        zone: found.availability_zone_name().map(str::to_owned),
        zone_id: found.availability_zone_id().map(str::to_owned),
        vpc: found.vpc_id().map(str::to_owned),
        owner: found.owner_id().map(str::to_owned),
        asked: 0,
    })
}

fn failure<E>(action: &'static str, error: &SdkError<E>) -> Failure
where
    E: Error + ProvideErrorMetadata + 'static,
{
    match error.code() {
        Some(code) => {
            let message = format!("{code}: {}", error.message().unwrap_or("no message"));
            match code.starts_with("AccessDenied") {
                true => Failure::Denied { action, message },
                false => Failure::Other(message),
            }
        }
        None => Failure::Other(super::one_line(error)),
    }
}

/// The marker of the next page, if there is one. The same again would lead nowhere.
fn next(found: Option<&str>, last: &Option<String>) -> Result<Option<String>, Failure> {
    match found {
        Some(marker) if last.as_deref() == Some(marker) => Err(endless()),
        marker => Ok(marker.map(str::to_owned)),
    }
}

fn endless() -> Failure {
    Failure::Other("a list of EFS does not end: check AWS_ENDPOINT_URL and the proxy".to_owned())
}
