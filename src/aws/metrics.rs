//! CloudWatch as a [`Sink`]: one batch, one PutMetricData request, one attempt.

use std::cell::RefCell;
use std::error::Error;
use std::sync::{Arc, Mutex};

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_cloudwatch::config::{Builder, ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_cloudwatch::error::{BoxError, ProvideErrorMetadata, SdkError};
use aws_sdk_cloudwatch::operation::RequestId;
use aws_sdk_cloudwatch::operation::put_metric_data::PutMetricDataError;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{Dimension, MetricDatum, StandardUnit};

use super::NotReady;
use super::connections::{self, BundleError};
use super::role::{self, Role, RoleError};
use crate::model::{Batch, Datum};
use crate::publish::{Failure, Refusal, Sink, Verdict, verdict};

/// CloudWatch in one region.
pub struct CloudWatch {
    /// How to look for region and credentials; None when they were given.
    search: Option<Search>,
    client: RefCell<Option<Client>>,
}

struct Search {
    region: Option<String>,
    role: Option<Role>,
}

impl CloudWatch {
    /// Looks for region and credentials when the first request is sent, and again after every one that failed for want
    /// of them: they may come later, and the SDK reads a profile only once. Until then, putting fails and says why.
    pub fn new(region: Option<String>) -> CloudWatch {
        CloudWatch { search: Some(Search { region, role: None }), client: RefCell::default() }
    }

    /// The same, but publishing as that role, where there is one.
    pub fn with_role(self, role: Option<Role>) -> CloudWatch {
        CloudWatch { search: self.search.map(|search| Search { role, ..search }), ..self }
    }

    /// With a configuration that is there already, but for its HTTP client.
    ///
    /// # Errors
    ///
    /// The certificates that the environment names are of no use.
    pub fn with(config: SdkConfig) -> Result<CloudWatch, BundleError> {
        let http = connections::as_the_environment_says()?;
        let config = config.into_builder().http_client(http).build();
        Ok(CloudWatch { search: None, client: RefCell::new(Some(client(&config))) })
    }

    async fn client(&self) -> Result<Client, Failure> {
        if let Some(client) = self.client.borrow().clone() {
            return Ok(client);
        }
        let region = self.search.as_ref().and_then(|search| search.region.as_deref());
        let config = super::load(region).await.map_err(|not_ready| unsent(not_ready.to_string()))?;
        let config = match self.search.as_ref().and_then(|search| search.role.as_ref()) {
            Some(role) => role::assume(role, config).await,
            None => config,
        };
        Ok(self.client.borrow_mut().insert(client(&config)).clone())
    }

    fn look_again(&self) {
        if self.search.is_some() {
            self.client.take();
        }
    }
}

/// The SDK does not retry here: PutMetricData cannot be told that a request is a repetition, so an attempt whose
/// answer got lost would be counted twice unseen. The spool repeats what failed clearly.
fn client(config: &SdkConfig) -> Client {
    let config =
        Builder::from(config).retry_config(RetryConfig::disabled()).timeout_config(super::timeouts()).build();
    Client::from_conf(config)
}

impl Sink for CloudWatch {
    async fn put(&self, batch: &Batch) -> Result<(), Failure> {
        let data = batch.data.iter().map(metric_datum).collect::<Result<Vec<_>, _>>()?;
        let transmission = Transmission::default();
        let answer = self
            .client()
            .await?
            .put_metric_data()
            .namespace(&batch.namespace)
            .set_metric_data(Some(data))
            .customize()
            .interceptor(transmission.clone())
            .send()
            .await;
        match answer {
            Ok(output) if output.request_id().is_some() => Ok(()),
            Ok(_) => Err(stranger()),
            // The head of the answer is the yes; PutMetricData's body would add nothing to it.
            Err(error) if accepted(&error) => Ok(()),
            Err(error) => {
                let failure = failure(&error, transmission.server());
                let forbidden = failure.status == Some(403);
                let answer = Err(failure);
                // Some errors of credentials come with 400.
                let of_no_use = forbidden || verdict(&answer) == Verdict::Refused(Refusal::Credentials);
                if of_no_use || super::in_chain::<CredentialsError>(&error).is_some() {
                    self.look_again();
                }
                answer
            }
        }
    }
}

fn unsent(message: String) -> Failure {
    Failure { status: None, code: None, message, may_have_left: false }
}

/// CloudWatch takes a missing `Counts` for ones and a missing StorageResolution for 60 s (MetricDatum).
fn metric_datum(datum: &Datum) -> Result<MetricDatum, Failure> {
    let mut metric = MetricDatum::builder()
        .metric_name(datum.metric.as_ref())
        .timestamp(DateTime::from_secs(datum.timestamp.seconds()))
        .unit(StandardUnit::from(datum.unit.name()))
        .set_values(Some(datum.values.clone()))
        .set_counts(Some(datum.counts.clone()));
    for dimension in &datum.dimensions {
        // Without the value it would be another metric, and one that is never taken back.
        let Some(value) = &dimension.value else {
            return Err(unsent(format!("{} still waits for its {}; not sent", datum.metric, dimension.name)));
        };
        metric = metric.dimensions(Dimension::builder().name(dimension.name.as_ref()).value(value).build());
    }
    Ok(metric.build())
}

/// The server that the signed request was meant for, once the SDK came as far as handing it to the HTTP client. What
/// fails before that (credentials, endpoint, signing), even by a time-out, cannot have left.
#[derive(Clone, Debug, Default)]
struct Transmission(Arc<Mutex<Option<String>>>);

impl Transmission {
    fn server(&self) -> Option<String> {
        self.0.lock().ok()?.clone()
    }
}

impl Intercept for Transmission {
    fn name(&self) -> &'static str {
        "Transmission"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let uri = context.request().uri();
        let server = uri.split_once("://").map_or(uri, |(_, rest)| rest).split('/').next();
        if let Ok(mut begun) = self.0.lock() {
            *begun = Some(server.unwrap_or("CloudWatch").to_owned());
        }
        Ok(())
    }
}

/// Every answer of CloudWatch names its request (`x-amzn-requestid`); a portal's or a web server's 200 does not, and
/// the SDK would take it for a yes.
fn stranger() -> Failure {
    Failure {
        status: Some(200),
        code: None,
        message: "the answer is not CloudWatch's: check AWS_ENDPOINT_URL and the proxy".to_owned(),
        may_have_left: false,
    }
}

fn accepted(error: &SdkError<PutMetricDataError>) -> bool {
    error.raw_response().is_some_and(|response| response.status().is_success())
        && error.request_id().is_some()
}

/// `server` is the one that the request was handed over for, if it came that far.
fn failure(error: &SdkError<PutMetricDataError>, server: Option<String>) -> Failure {
    let status = error.raw_response().map(|response| response.status().as_u16());
    let code = error.code().filter(|code| !code.is_empty()).map(|code| query_name(code).to_owned());
    let no_connection = super::before_connected(error);
    let may_have_left = server.is_some() && status.is_none() && !no_connection;
    let credentials = super::in_chain::<CredentialsError>(error);
    let cause = || super::one_line(error.source().unwrap_or(error));
    if let Some(error) = super::in_chain::<RoleError>(error) {
        return Failure { status, code, message: error.to_string(), may_have_left };
    }
    let message = match (&code, credentials, status, server) {
        (Some(code), ..) => format!("{code}: {}", error.message().unwrap_or("no message")),
        (None, Some(error), ..) => NotReady::Credentials { reason: super::one_line(error) }.to_string(),
        (None, None, Some(status), Some(server)) => format!("{server} answered {status} without a reason"),
        (None, None, None, Some(server)) if no_connection => {
            format!("no connection to {server}: {}", cause())
        }
        (None, None, None, Some(server)) => format!("no answer from {server}: {}", cause()),
        (None, None, _, None) => format!(
            "no request can be made: check the region (publish.region, AWS_REGION) and AWS_ENDPOINT_URL: {}",
            cause()
        ),
    };
    Failure { status, code, message, may_have_left }
}

/// CloudWatch has two names for some errors: that of the query protocol, which its API reference lists and which comes
/// in `x-amzn-query-error`, and that of the model, which is all there is when a proxy drops that header.
fn query_name(code: &str) -> &str {
    match code {
        "InvalidParameterValueException" => "InvalidParameterValue",
        "InvalidParameterCombinationException" => "InvalidParameterCombination",
        "MissingRequiredParameterException" => "MissingParameter",
        "InternalServiceFault" => "InternalServiceError",
        other => other,
    }
}
