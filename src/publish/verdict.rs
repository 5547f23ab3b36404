//! What an answer means for the data of a request.

use super::Failure;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// CloudWatch has the data.
    Accepted,
    /// CloudWatch has none of the data, because of at least one of them.
    Invalid,
    /// CloudWatch has none of the data, because they were too many for one request.
    TooLarge,
    /// CloudWatch certainly has none of the data, for a reason that passes or that a person can remove.
    Refused(Refusal),
    /// CloudWatch may have the data.
    Unknown,
}

/// Why nothing is taken at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Too many requests of this account and region.
    Throttled,
    /// The credentials do not allow it.
    Denied,
    /// The credentials or the signature made with them do not hold.
    Credentials,
    /// Not reached, out of order, or an answer that efsmon does not know.
    Unavailable,
}

impl Verdict {
    /// What a person can do about it; see [`Refusal::remedy`].
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            Verdict::Refused(refusal) => refusal.remedy(),
            Verdict::Accepted | Verdict::Invalid | Verdict::TooLarge | Verdict::Unknown => None,
        }
    }
}

impl Refusal {
    /// What a person can do about it. The only place that says it: the log and the status add it to the answer's own
    /// words.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            Refusal::Throttled | Refusal::Unavailable => None,
            Refusal::Denied => Some("allow cloudwatch:PutMetricData to this host's role or user (IAM)"),
            Refusal::Credentials => {
                Some("renew this host's credentials (role, environment or profile) and check its clock")
            }
        }
    }
}

/// Judges an answer by the names and statuses of PutMetricData's errors, of the common errors of AWS and of the
/// throttling errors that AWS's own clients retry. An error that is not known keeps its data, whatever its status: who
/// answered either is CloudWatch and did not take them, or stood before it. Only silence leaves the outcome open.
pub fn verdict(answer: &Result<(), Failure>) -> Verdict {
    let Err(failure) = answer else { return Verdict::Accepted };
    let code = failure.code.as_deref().map(|code| code.strip_suffix("Exception").unwrap_or(code));
    match (failure.status, code) {
        (Some(413), _) => Verdict::TooLarge,
        (_, Some("InvalidParameterValue" | "InvalidParameterCombination" | "MissingParameter")) => {
            Verdict::Invalid
        }
        (Some(429), _)
        | (
            _,
            Some(
                "Throttling"
                | "Throttled"
                | "RequestThrottled"
                | "TooManyRequests"
                | "RequestLimitExceeded"
                | "LimitExceeded"
                | "SlowDown"
                | "PriorRequestNotComplete"
                | "BandwidthLimitExceeded",
            ),
        ) => Verdict::Refused(Refusal::Throttled),
        (_, Some("AccessDenied" | "NotAuthorized" | "UnauthorizedOperation")) => {
            Verdict::Refused(Refusal::Denied)
        }
        (
            _,
            Some(
                "ExpiredToken"
                | "InvalidClientTokenId"
                | "UnrecognizedClient"
                | "MissingAuthenticationToken"
                | "SignatureDoesNotMatch"
                | "InvalidSignature"
                | "IncompleteSignature"
                | "RequestExpired"
                | "RequestTimeTooSkewed",
            ),
        ) => Verdict::Refused(Refusal::Credentials),
        (None, None) if failure.may_have_left => Verdict::Unknown,
        _ => Verdict::Refused(Refusal::Unavailable),
    }
}
