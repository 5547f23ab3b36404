//! Whether a notification's topic is there: GetTopicAttributes (SNS API Reference).
