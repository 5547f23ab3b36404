//! The only place that names AWS's SDK: how it is configured, and what efsmon asks of it.
//!
//! Credentials, endpoints and proxies come from the SDK's usual places. Certificates of one's own (an inspecting proxy,
//! a private endpoint) are named by `AWS_CA_BUNDLE`, as for the AWS CLI, or by `SSL_CERT_FILE`.

pub mod alarms;
pub mod call;
mod connections;
pub mod dashboards;
pub mod ecs;
pub mod efs;
pub mod file_systems;
pub mod host;
pub mod metric_data;
pub mod metrics;
pub mod role;
mod tags;
pub mod topics;

use std::error::Error;
use std::time::Duration;

use aws_config::environment::region::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::region::ProfileFileRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_credential_types::provider::ProvideCredentials;

use crate::iam::Place;

/// For DNS, TCP and TLS together.
const CONNECT: Duration = Duration::from_secs(2);
/// From the start of a request to the head of its answer.
const READ: Duration = Duration::from_secs(4);
const ATTEMPT: Duration = Duration::from_secs(5);
const OPERATION: Duration = Duration::from_secs(12);

/// Why no request can be signed yet. Never a reason to stop: both may come later.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error(
        "no AWS region: set publish.region or AWS_REGION, or `region` in ~/.aws/config, or let this host reach its \
         instance metadata service"
    )]
    Region,
    #[error(
        "no AWS credentials: give the instance, task or service account a role, or set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials ({reason})"
    )]
    Credentials { reason: String },
    #[error(
        "no AWS credentials within {} s: whatever gives them out here (instance metadata, container agent, STS) does \
         not answer",
        OPERATION.as_secs()
    )]
    Slow,
    #[error(transparent)]
    Certificates(#[from] connections::BundleError),
}

/// The region that [`load`] would find, without credentials. Takes at most 12 s.
pub async fn region(region: Option<&str>) -> Result<String, NotReady> {
    let found = regions(region);
    let found = tokio::time::timeout(OPERATION, found.region()).await.ok().flatten();
    found.map(|region| region.to_string()).ok_or(NotReady::Region)
}

/// `region`, `AWS_REGION`, the profile, instance metadata: the first that there is.
fn regions(region: Option<&str>) -> RegionProviderChain {
    RegionProviderChain::first_try(region.map(|name| Region::new(name.to_owned())))
        .or_else(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::new())
        .or_else(host::region())
}

/// Finds the region (`region`, `AWS_REGION`, the profile, instance metadata: the first that there is) and credentials.
/// Takes at most 12 s.
pub async fn load(region: Option<&str>) -> Result<SdkConfig, NotReady> {
    let http = connections::as_the_environment_says()?;
    let found = async {
        let config = loader().http_client(http).region(regions(region)).load().await;
        if config.region().is_none() {
            return Err(NotReady::Region);
        }
        let credentials = match config.credentials_provider() {
            Some(provider) => provider.provide_credentials().await.map_err(|error| one_line(&error)),
            None => Err("no source of credentials is configured".to_owned()),
        };
        match credentials {
            Ok(_) => Ok(config),
            Err(reason) => Err(NotReady::Credentials { reason }),
        }
    };
    tokio::time::timeout(OPERATION, found).await.unwrap_or(Err(NotReady::Slow))
}

/// AWS in one Region, with credentials: what every call but the daemon's own goes through.
#[derive(Clone, Debug)]
pub struct Session {
    config: SdkConfig,
    region: String,
}

impl Session {
    /// Finds Region and credentials as [`load`] does.
    ///
    /// # Errors
    ///
    /// There are none.
    pub async fn open(region: Option<&str>) -> Result<Session, NotReady> {
        let config = load(region).await?;
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        Ok(Session { config, region })
    }

    /// Its name, such as `eu-west-1`.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// Where its resources are, for errors that name one; the account is not known.
    fn place(&self) -> Place {
        Place::region(&self.region)
    }
}

/// The SDK with efsmon's settings, before region and credentials are looked for.
///
/// The behaviour version is named, so that an update of the SDK changes neither retries nor timeouts.
fn loader() -> ConfigLoader {
    aws_config::defaults(BehaviorVersion::v2026_01_12())
        .timeout_config(timeouts())
        .retry_config(RetryConfig::standard().with_max_attempts(3))
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .read_timeout(READ)
        .operation_attempt_timeout(ATTEMPT)
        .operation_timeout(OPERATION)
        .build()
}

/// Whether `error` arose before there was a connection: DNS, refusal, connect time-out, proxy, TLS.
fn before_connected(error: &(dyn Error + 'static)) -> bool {
    in_chain::<hyper_util::client::legacy::Error>(error).is_some_and(|error| error.is_connect())
}

fn in_chain<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).find_map(|cause| cause.downcast_ref())
}

/// An error and its causes, each said once, and shortened: the SDK prints whole requests.
fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    let shortened = |text: String| {
        let words = text.split(" to request `Request {").next().unwrap_or_default();
        words.chars().take(200).collect::<String>()
    };
    for text in chain(error).map(|cause| shortened(cause.to_string())) {
        if line.is_empty() {
            line = text;
        } else if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
    }
    line.replace('\n', " ")
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
