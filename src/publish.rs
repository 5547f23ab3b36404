//! What takes a request, and what may be said of one that it did not take.

use crate::model::Batch;

/// Takes requests: CloudWatch, or a test's double of it.
#[expect(async_fn_in_trait, reason = "one thread: no caller needs the future to be Send")]
pub trait Sink {
    /// Sends one request; `Ok` only when CloudWatch said that it has the data.
    async fn put(&self, batch: &Batch) -> Result<(), Failure>;
}

/// Why a request was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// CloudWatch's name for the error (PutMetricData, Errors), when the answer had one.
    pub code: Option<String>,
    /// One line for a person.
    pub message: String,
    /// The request may have reached CloudWatch, and nothing that it answered was understood.
    pub may_have_left: bool,
}
