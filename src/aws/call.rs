//! Why a request to AWS failed, in words that say what to do.

use std::error::Error;

use aws_sdk_cloudwatch::error::{ProvideErrorMetadata, SdkError};

use super::NotReady;
use crate::iam::Statement;
use crate::names::printable;

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The role may not.
    #[error(
        "{action} on {resource} is refused ({message}); add to the policy of this role: {}",
        Statement::allow(action, resource)
    )]
    Denied {
        /// As IAM names it: `cloudwatch:PutDashboard`.
        action: &'static str,
        /// An ARN, or `*`.
        resource: String,
        message: String,
    },
    /// After all attempts.
    #[error("{action} was throttled in every attempt ({message}); try again in a minute")]
    Throttled { action: &'static str, message: String },
    /// There is no such thing.
    #[error("{action} on {resource}: {message}")]
    NotFound { action: &'static str, resource: String, message: String },
    /// AWS does not take what was sent.
    #[error("{action} on {resource}: {message}")]
    Invalid { action: &'static str, resource: String, message: String },
    /// No answer, or one that tells nothing.
    #[error("{action}: {message}")]
    Other { action: &'static str, message: String },
    /// There is no region, or there are no credentials.
    #[error("{0}")]
    NotReady(String),
}

impl CallError {
    /// Whether the same request may be taken a moment later.
    pub fn may_pass(&self) -> bool {
        matches!(self, CallError::Throttled { .. } | CallError::Other { .. })
    }
}

impl From<NotReady> for CallError {
    fn from(not_ready: NotReady) -> CallError {
        CallError::NotReady(not_ready.to_string())
    }
}

/// Codes of requests that came too often (AWS SDKs and Tools Reference Guide, "Retry behavior").
const THROTTLED: [&str; 6] = [
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestLimitExceeded",
    "TooManyRequestsException",
    "TooManyRequests",
];

/// What `error` of `action` on `resource` means.
pub(super) fn call_error<E>(action: &'static str, resource: &str, error: &SdkError<E>) -> CallError
where
    E: Error + ProvideErrorMetadata + 'static,
{
    let resource = resource.to_owned();
    let status = error.raw_response().map(|response| response.status().as_u16());
    let Some(code) = error.code().filter(|code| !code.is_empty()) else {
        let message = match status {
            Some(status) => {
                format!("the answer is {status} without a reason: check AWS_ENDPOINT_URL and the proxy")
            }
            None => format!("no answer: {}", super::one_line(error.source().unwrap_or(error))),
        };
        return CallError::Other { action, message };
    };
    let message = error.message().unwrap_or("no message").replace('\n', " ");
    let message = format!("{code}: {}", printable(message.as_bytes()));
    match (code, status) {
        (code, _) if code.starts_with("AccessDenied") || code == "AuthorizationError" => {
            CallError::Denied { action, resource, message }
        }
        (code, status) if THROTTLED.contains(&code) || status == Some(429) => {
            CallError::Throttled { action, message }
        }
        (code, status)
            if status == Some(404) || code.contains("NotFound") || code.contains("DoesNotExist") =>
        {
            CallError::NotFound { action, resource, message }
        }
        (_, Some(400..=499)) => CallError::Invalid { action, resource, message },
        _ => CallError::Other { action, message },
    }
}
