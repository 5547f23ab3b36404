//! Why a request to AWS failed, in words that say what to do.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_cloudwatch::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_cloudwatch::operation::RequestId;

use super::{NotReady, OPERATION};
use crate::iam::Statement;
use crate::names::printable;

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The role may not.
    #[error(
        "{action} on {resource} is refused ({message}); {}",
        remedy(message, &Statement::allow(action, resource))
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
    /// The account has as many as it may have.
    #[error("{action}: {message}; ask for more in Service Quotas, or let there be fewer")]
    Full { action: &'static str, message: String },
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

    /// Of a list whose pages lead to ever more pages.
    pub(super) fn endless(action: &'static str) -> CallError {
        CallError::Other { action, message: format!("the list does not end: {CHECK}") }
    }

    /// Of an answer that is not AWS's, though it says that all is well: a portal's.
    pub(super) fn stranger(action: &'static str) -> CallError {
        CallError::Other { action, message: format!("the answer is not AWS's: {CHECK}") }
    }
}

impl From<NotReady> for CallError {
    fn from(not_ready: NotReady) -> CallError {
        CallError::NotReady(not_ready.to_string())
    }
}

/// An answer that holds nothing, if it is AWS's. Each of those names its request (`x-amzn-requestid`); a web server's 200
/// does not, and the SDK would take it for a yes.
pub(super) fn of_aws<T: RequestId>(action: &'static str, answer: T) -> Result<T, CallError> {
    match answer.request_id() {
        Some(_) => Ok(answer),
        None => Err(CallError::stranger(action)),
    }
}

/// Where to look when what answers is not AWS.
const CHECK: &str = "check AWS_ENDPOINT_URL and the proxy";

/// Policies that limit what the role's own allow, as messages name them (IAM User Guide, "Troubleshoot access denied
/// error messages").
const LIMITS: [&str; 5] = [
    "service control policy",
    "resource control policy",
    "permissions boundary",
    "session policy",
    "VPC endpoint policy",
];

/// What lets a request through that was refused with this message.
fn remedy(message: &str, allow: &Statement) -> String {
    if message.contains("explicit deny") {
        return "a policy denies it, and nothing that is added allows it: change that policy".to_owned();
    }
    let limit = LIMITS.iter().find(|limit| message.contains(&format!("no {limit} allows")));
    format!("add to the {}: {allow}", limit.unwrap_or(&"policy of this role"))
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
    if let Some(error) = super::in_chain::<CredentialsError>(error) {
        return NotReady::Credentials { reason: super::one_line(error) }.into();
    }
    let resource = resource.to_owned();
    let status = error.raw_response().map(|response| response.status().as_u16());
    let Some(code) = error.code().filter(|code| !code.is_empty()) else {
        let cause = super::one_line(error.source().unwrap_or(error));
        let message = match (status, error) {
            (Some(status), _) => format!("the answer is {status} without a reason: {CHECK}"),
            (None, SdkError::ConstructionFailure(_)) => format!(
                "no request can be made: check the Region (--region, publish.region, AWS_REGION) and \
                 AWS_ENDPOINT_URL: {cause}"
            ),
            (None, SdkError::TimeoutError(_)) => {
                format!(
                    "no answer within {} s: check the network, AWS_ENDPOINT_URL and the proxy",
                    OPERATION.as_secs()
                )
            }
            (None, _) => format!("no answer: {cause}; check the network, AWS_ENDPOINT_URL and the proxy"),
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
        (code, _) if code.starts_with("LimitExceeded") => CallError::Full { action, message },
        (_, Some(400..=499)) => CallError::Invalid { action, resource, message },
        _ => CallError::Other { action, message },
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_cloudwatch::config::http::HttpResponse;
    use aws_sdk_cloudwatch::error::ErrorMetadata;
    use aws_sdk_cloudwatch::operation::list_dashboards::ListDashboardsError;

    use super::*;

    type SdkFailure = SdkError<ListDashboardsError>;

    fn answered(status: u16, code: &str, message: &str) -> SdkFailure {
        let error =
            ListDashboardsError::generic(ErrorMetadata::builder().code(code).message(message).build());
        SdkError::service_error(error, HttpResponse::new(status.try_into().unwrap(), "".into()))
    }

    #[track_caller]
    fn check(error: &SdkFailure, expected: &str) {
        assert_eq!(call_error("cloudwatch:ListDashboards", "*", error).to_string(), expected);
    }

    const ALLOW: &str = r#"{"Action":"cloudwatch:ListDashboards","Effect":"Allow","Resource":"*"}"#;

    /// The messages are those of the IAM User Guide, "Troubleshoot access denied error messages".
    #[test]
    fn what_is_refused_is_allowed_where_it_is_not() {
        let refused = |because: &str| answered(403, "AccessDeniedException", because);
        for (because, to) in [
            ("User: u is not authorized to perform: a on resource: *", "policy of this role"),
            ("because no identity-based policy allows the a action", "policy of this role"),
            ("because no VPC endpoint policy allows the a action", "VPC endpoint policy"),
            ("because no permissions boundary allows the a action", "permissions boundary"),
            ("because no service control policy allows the a action", "service control policy"),
        ] {
            check(
                &refused(because),
                &format!(
                    "cloudwatch:ListDashboards on * is refused (AccessDeniedException: {because}); add to the {to}: \
                     {ALLOW}"
                ),
            );
        }
        check(
            &refused("with an explicit deny in a service control policy"),
            "cloudwatch:ListDashboards on * is refused (AccessDeniedException: with an explicit deny in a service \
             control policy); a policy denies it, and nothing that is added allows it: change that policy",
        );
    }

    #[test]
    fn odd_bytes_of_a_message_stay_on_their_line() {
        check(
            &answered(403, "AccessDenied", "no\nway\r\u{1b}[2J \u{202e}\u{9b}1m"),
            &format!(
                "cloudwatch:ListDashboards on * is refused (AccessDenied: no way\\x0d\\x1b[2J \
                 \\xe2\\x80\\xae\\xc2\\x9b1m); add to the policy of this role: {ALLOW}"
            ),
        );
    }

    #[test]
    fn a_throttle_is_one_by_its_code_or_its_status() {
        for (status, code) in [(400, "Throttling"), (400, "ThrottlingException"), (429, "SlowDown")] {
            check(
                &answered(status, code, "Rate exceeded"),
                &format!(
                    "cloudwatch:ListDashboards was throttled in every attempt ({code}: Rate exceeded); try again in a \
                     minute"
                ),
            );
        }
    }

    #[test]
    fn without_an_answer_it_is_said_what_to_check() {
        check(
            &SdkError::timeout_error("late"),
            "cloudwatch:ListDashboards: no answer within 12 s: check the network, AWS_ENDPOINT_URL and the proxy",
        );
        check(
            &SdkError::construction_failure("bad host label"),
            "cloudwatch:ListDashboards: no request can be made: check the Region (--region, publish.region, \
             AWS_REGION) and AWS_ENDPOINT_URL: bad host label",
        );
        let portal = HttpResponse::new(200.try_into().unwrap(), "<html>".into());
        check(
            &SdkError::response_error("not CBOR", portal),
            "cloudwatch:ListDashboards: the answer is 200 without a reason: check AWS_ENDPOINT_URL and the proxy",
        );
        let gone = CredentialsError::provider_error("expired");
        let told = call_error("cloudwatch:ListDashboards", "*", &SdkFailure::construction_failure(gone));
        assert!(matches!(&told, CallError::NotReady(why) if why.contains("AWS_ACCESS_KEY_ID")), "{told}");
    }
}
