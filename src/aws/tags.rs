//! Tags on what CloudWatch is asked to make: PutDashboard, PutMetricAlarm (CloudWatch API Reference).

use aws_sdk_cloudwatch::types::Tag;

use super::call::CallError;

/// What tags need besides the action that makes the resource.
const ACTION: &str = "cloudwatch:TagResource";

/// As a request takes them: none at all rather than an empty list, which CloudWatch does not take.
pub(super) fn tags(tags: &[(String, String)]) -> Option<Vec<Tag>> {
    let tag = |(key, value): &(String, String)| Tag::builder().key(key).value(value).build();
    (!tags.is_empty()).then(|| tags.iter().map(tag).collect())
}

/// The error of a request with tags: what is refused may be the tags alone.
pub(super) fn tagging_error(error: CallError) -> CallError {
    match error {
        CallError::Denied { resource, message, .. } if message.contains(ACTION) => {
            CallError::Denied { action: ACTION, resource, message }
        }
        other => other,
    }
}
