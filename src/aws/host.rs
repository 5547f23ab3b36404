//! Which EC2 instance this is, from the instance metadata service (IMDSv2).
//!
//! Every failed question costs its whole time-out: ask rarely, and remember that there was no answer.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use aws_config::imds::Client;
use aws_config::imds::client::Builder;
use aws_config::imds::client::error::{BuildError, ImdsError, TokenError};
use aws_config::imds::region::ImdsRegionProvider;
use aws_config::provider_config::ProviderConfig;
use aws_sdk_cloudwatch::error::SdkError;
use serde::Deserialize;

/// The service is on the same machine: what takes longer will not come.
const CONNECT: Duration = Duration::from_millis(300);
const READ: Duration = Duration::from_millis(500);
const REQUEST: Duration = Duration::from_secs(1);
/// For all that is good to know beside the id, which does not wait longer for it.
const DETAILS: Duration = Duration::from_secs(2);

/// The service's address on a host that has no IPv4 (EC2 user guide, "Access instance metadata for an EC2 instance").
const OVER_IPV6: &str = "http://[fd00:ec2::254]";

/// An instance has 50 tags at most (EC2 user guide, "Tag restrictions").
const MOST_TAGS: usize = 50;

/// What the metadata service said, or did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This is that instance.
    Found(Box<Instance>),
    /// There is no such service here: not EC2, or switched off.
    Absent { reason: String },
    /// A connection, and then nothing. That is how a container one network hop away sees a hop limit of 1: the answer
    /// to the token request dies on the way.
    Silent,
    /// It answered, and said no.
    Denied { status: u16 },
}

/// An EC2 instance, as its identity document names it, and what else its metadata tell.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    #[serde(rename = "instanceId")]
    pub id: String,
    pub region: String,
    pub availability_zone: String,
    pub account_id: Option<String>,
    pub instance_type: Option<String>,
    /// The same name for the same place in every account: `euw1-az2`.
    #[serde(skip)]
    pub availability_zone_id: Option<String>,
    /// Empty where tags in metadata are not allowed (`InstanceMetadataTags`). At most 50, `Name` among them if there is
    /// one.
    #[serde(skip)]
    pub tags: BTreeMap<String, String>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Found(instance) => write!(f, "{} in {}", instance.id, instance.availability_zone),
            Answer::Absent { reason } => write!(f, "no instance metadata service: {reason}"),
            Answer::Silent => f.write_str("the instance metadata service does not answer the token request"),
            Answer::Denied { status } => write!(f, "the instance metadata service answers {status}"),
        }
    }
}

/// Asks once, for at most a few seconds. `endpoint` None: AWS_EC2_METADATA_SERVICE_ENDPOINT, the profile's, or
/// `http://169.254.169.254`, and where that cannot be reached at all, its twin for IPv6. AWS_EC2_METADATA_DISABLED=true
/// and AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE are honoured, as in the SDK.
pub async fn instance(endpoint: Option<&str>) -> Answer {
    let disabled = std::env::var("AWS_EC2_METADATA_DISABLED");
    if disabled.is_ok_and(|value| value.eq_ignore_ascii_case("true")) {
        return Answer::Absent { reason: "AWS_EC2_METADATA_DISABLED is true".to_owned() };
    }
    let first = ask_at(endpoint).await;
    let named = ["AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"];
    let is_named = endpoint.is_some() || named.iter().any(|name| std::env::var_os(name).is_some());
    match first {
        Answer::Absent { .. } if !is_named => match ask_at(Some(OVER_IPV6)).await {
            // Most hosts have no IPv6 there: the first reason says more.
            Answer::Absent { .. } => first,
            second => second,
        },
        first => first,
    }
}

async fn ask_at(endpoint: Option<&str>) -> Answer {
    let client = match endpoint.map(|endpoint| settings().endpoint(endpoint)) {
        None => client(),
        Some(Ok(settings)) => settings.build(),
        Some(Err(error)) => return Answer::Absent { reason: super::one_line(error.as_ref()) },
    };
    match ask(&client).await {
        Ok(mut instance) => {
            let _ = tokio::time::timeout(DETAILS, add_details(&client, &mut instance)).await;
            Answer::Found(Box::new(instance))
        }
        Err(answer) => answer,
    }
}

/// The region of this instance, for the chain that looks for one.
pub(super) fn region() -> ImdsRegionProvider {
    ImdsRegionProvider::builder().imds_client(client()).build()
}

fn client() -> Client {
    settings().build()
}

fn settings() -> Builder {
    Client::builder()
        .configure(&ProviderConfig::without_region().with_http_client(super::connections::direct()))
        .max_attempts(1)
        .connect_timeout(CONNECT)
        .read_timeout(READ)
        .operation_attempt_timeout(REQUEST)
        .operation_timeout(REQUEST)
}

/// The identity document has it all; emulators and other clouds may have only the single keys.
async fn ask(client: &Client) -> Result<Instance, Answer> {
    match get(client, "/latest/dynamic/instance-identity/document").await {
        Ok(document) => serde_json::from_str(&document).map_err(|error| Answer::Absent {
            reason: format!("its identity document is not EC2's: {error}"),
        }),
        Err(Answer::Denied { status: 404 }) => Ok(Instance {
            id: get(client, "/latest/meta-data/instance-id").await?,
            region: get(client, "/latest/meta-data/placement/region").await?,
            availability_zone: get(client, "/latest/meta-data/placement/availability-zone").await?,
            account_id: None,
            instance_type: None,
            availability_zone_id: None,
            tags: BTreeMap::new(),
        }),
        Err(answer) => Err(answer),
    }
}

/// What people like to know beside the id: missing, it is not missed.
async fn add_details(client: &Client, instance: &mut Instance) {
    instance.availability_zone_id =
        get(client, "/latest/meta-data/placement/availability-zone-id").await.ok();
    let Ok(keys) = get(client, "/latest/meta-data/tags/instance").await else { return };
    let mut keys: Vec<&str> = keys.lines().collect();
    // The one that people know an instance by must not be the one that is left out.
    keys.sort_by_key(|key| *key != "Name");
    for key in keys.into_iter().take(MOST_TAGS) {
        if let Ok(value) = get(client, &format!("/latest/meta-data/tags/instance/{key}")).await {
            instance.tags.insert(key.to_owned(), value);
        }
    }
}

async fn get(client: &Client, path: &str) -> Result<String, Answer> {
    client.get(path).await.map(String::from).map_err(|error| match status(&error) {
        Some(status) if (200..300).contains(&status) => Answer::Absent {
            reason: format!("what answers there is not IMDSv2: {}", super::one_line(&error)),
        },
        Some(status) => Answer::Denied { status },
        None if super::before_connected(&error) || super::in_chain::<BuildError>(&error).is_some() => {
            Answer::Absent { reason: super::one_line(&error) }
        }
        None => Answer::Silent,
    })
}

fn status(error: &ImdsError) -> Option<u16> {
    if let ImdsError::ErrorResponse(answer) = error {
        return Some(answer.response().status().as_u16());
    }
    let token = super::in_chain::<SdkError<TokenError>>(error)?;
    token.raw_response().map(|response| response.status().as_u16())
}
