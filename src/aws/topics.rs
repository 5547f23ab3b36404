//! Whether a notification's topic is there: GetTopicAttributes (SNS API Reference).

use aws_sdk_sns::Client;

use super::Session;
use super::call::{CallError, call_error};

/// A topic that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    /// `SubscriptionsConfirmed`: how many are told, if SNS says so.
    pub subscriptions: Option<u64>,
}

/// The topic, if there is one.
///
/// # Errors
///
/// What SNS refuses to tell: [`CallError::Denied`] says nothing of the topic.
pub async fn topic(session: &Session, arn: &str) -> Result<Option<Topic>, CallError> {
    let answer = Client::new(&session.config).get_topic_attributes().topic_arn(arn).send().await;
    match answer.map_err(|error| call_error("sns:GetTopicAttributes", arn, &error)) {
        Ok(answer) => {
            let confirmed = answer.attributes().and_then(|all| all.get("SubscriptionsConfirmed"));
            Ok(Some(Topic { subscriptions: confirmed.and_then(|number| number.parse().ok()) }))
        }
        Err(CallError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
