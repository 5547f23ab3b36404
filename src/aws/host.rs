//! Which EC2 instance this is, from the instance metadata service (IMDSv2).
//!
//! Every failed question costs its whole time-out: ask rarely, and remember that there was no answer.

use std::fmt;
use std::time::Duration;

use aws_config::imds::Client;
use aws_config::imds::client::error::{BuildError, ImdsError, TokenError};
use aws_config::imds::region::ImdsRegionProvider;
use aws_config::provider_config::ProviderConfig;
use aws_sdk_cloudwatch::error::SdkError;
use serde::Deserialize;

/// The service is on the same machine: what takes longer will not come.
const CONNECT: Duration = Duration::from_millis(300);
const READ: Duration = Duration::from_millis(500);
const REQUEST: Duration = Duration::from_secs(1);

/// What the metadata service said, or did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This is that instance.
    Found(Instance),
    /// There is no such service here: not EC2, or switched off.
    Absent { reason: String },
    /// A connection, and then nothing. That is how a container one network hop away sees a hop limit of 1: the answer
    /// to the token request dies on the way.
    Silent,
    /// It answered, and said no.
    Denied { status: u16 },
}

/// An EC2 instance, as its identity document names it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    #[serde(rename = "instanceId")]
    pub id: String,
    pub region: String,
    pub availability_zone: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Found(instance) => write!(f, "{} in {}", instance.id, instance.availability_zone),
            Answer::Absent { reason } => write!(f, "no instance metadata service: {reason}"),
            Answer::Silent => f.write_str(
                "the instance metadata service does not answer the token request; for a container set the instance's \
                 HttpPutResponseHopLimit to 2 or use the host's network, or set host.id",
            ),
            Answer::Denied { status } => write!(
                f,
                "the instance metadata service answers {status}; enable it (HttpEndpoint), or set host.id"
            ),
        }
    }
}

/// Asks once, for at most a few seconds. `endpoint` None: AWS_EC2_METADATA_SERVICE_ENDPOINT, the profile's, or
/// `http://169.254.169.254`. AWS_EC2_METADATA_DISABLED=true is honoured, as in the SDK.
pub async fn instance(endpoint: Option<&str>) -> Answer {
    let disabled = std::env::var("AWS_EC2_METADATA_DISABLED");
    if disabled.is_ok_and(|value| value.eq_ignore_ascii_case("true")) {
        return Answer::Absent { reason: "AWS_EC2_METADATA_DISABLED is true".to_owned() };
    }
    let client = match endpoint.map(|endpoint| settings().endpoint(endpoint)) {
        None => client(),
        Some(Ok(settings)) => settings.build(),
        Some(Err(error)) => return Answer::Absent { reason: super::one_line(error.as_ref()) },
    };
    match ask(&client).await {
        Ok(instance) => Answer::Found(instance),
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

fn settings() -> aws_config::imds::client::Builder {
    Client::builder()
        .configure(&ProviderConfig::without_region().with_http_client(super::direct_connections()))
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
        }),
        Err(answer) => Err(answer),
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
