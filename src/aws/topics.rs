//! Whether a notification's topic is there: GetTopicAttributes (SNS API Reference).

use aws_sdk_sns::Client;

use super::Session;
use super::call::{CallError, call_error};

/// Whether there is such a topic, as far as this role may know.
///
/// # Errors
///
/// What SNS refuses to tell: [`CallError::Denied`] says nothing of the topic.
pub async fn exists(session: &Session, arn: &str) -> Result<bool, CallError> {
    let answer = Client::new(&session.config).get_topic_attributes().topic_arn(arn).send().await;
    match answer.map_err(|error| call_error("sns:GetTopicAttributes", arn, &error)) {
        Ok(_) => Ok(true),
        Err(CallError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
