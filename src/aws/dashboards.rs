//! Dashboards: PutDashboard, GetDashboard, ListDashboards, DeleteDashboards (CloudWatch API Reference).
//!
//! Those of an account are the same in every Region.

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::error::SdkError;
use aws_sdk_cloudwatch::operation::put_dashboard::PutDashboardError;
use aws_sdk_cloudwatch::types::DashboardValidationMessage;

use super::Session;
use super::call::{CallError, call_error, of_aws};
use super::efs::MAX_PAGES;
use super::tags::{tagging_error, tags};
use crate::iam::Place;

const LIST: &str = "cloudwatch:ListDashboards";
const GET: &str = "cloudwatch:GetDashboard";
const PUT: &str = "cloudwatch:PutDashboard";
const DELETE: &str = "cloudwatch:DeleteDashboards";

/// What CloudWatch says about a body: an error, or a warning about one that it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// A JSON pointer: `/widgets/3/properties/metrics/0`. Empty: the whole.
    pub path: String,
    pub message: String,
}

/// Why a dashboard was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PutError {
    #[error(transparent)]
    Call(#[from] CallError),
    /// CloudWatch does not take the body.
    #[error("CloudWatch does not take its body: {} errors", .0.len())]
    Body(Vec<Remark>),
}

/// What ListDashboards tells of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    /// Since 1970, in seconds.
    pub modified: Option<i64>,
    /// Of its body, in bytes.
    pub bytes: Option<i64>,
}

/// The dashboards of an account.
#[derive(Clone, Debug)]
pub struct Dashboards {
    client: Client,
    place: Place,
}

impl Dashboards {
    pub fn new(session: &Session) -> Dashboards {
        Dashboards { client: Client::new(&session.config), place: session.place() }
    }

    /// Those whose names begin so, in CloudWatch's order.
    ///
    /// # Errors
    ///
    /// The first request that fails.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Entry>, CallError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = self.client.list_dashboards().dashboard_name_prefix(prefix);
            let page = page.set_next_token(token.take()).send().await;
            let page = page.map_err(|error| call_error(LIST, "*", &error))?;
            found.extend(page.dashboard_entries().iter().filter_map(|entry| {
                Some(Entry {
                    name: entry.dashboard_name()?.to_owned(),
                    modified: entry.last_modified().map(|modified| modified.secs()),
                    bytes: entry.size(),
                })
            }));
            match page.next_token().filter(|token| !token.is_empty()) {
                Some(next) => token = Some(next.to_owned()),
                None => return Ok(found),
            }
        }
        Err(CallError::endless(LIST))
    }

    /// The body of one. None: there is no such dashboard.
    ///
    /// # Errors
    ///
    /// A request that fails.
    pub async fn get(&self, name: &str) -> Result<Option<String>, CallError> {
        match self.client.get_dashboard().dashboard_name(name).send().await {
            Ok(found) => Ok(Some(found.dashboard_body().unwrap_or_default().to_owned())),
            Err(error) => match call_error(GET, &self.place.dashboard(name), &error) {
                CallError::NotFound { .. } => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Makes or replaces one. Tags only count when it is made.
    ///
    /// # Errors
    ///
    /// A request that fails, a body that CloudWatch does not take. What it says about one that it took is no error.
    pub async fn put(
        &self,
        name: &str,
        body: &str,
        with: &[(String, String)],
    ) -> Result<Vec<Remark>, PutError> {
        let put = self.client.put_dashboard().dashboard_name(name).dashboard_body(body);
        let put = put.set_tags(tags(with));
        match put.send().await {
            Ok(taken) => Ok(taken.dashboard_validation_messages().iter().map(remark).collect()),
            Err(error) => Err(put_error(&self.place.dashboard(name), &error)),
        }
    }

    /// Deletes one. One that is not there is no error.
    ///
    /// # Errors
    ///
    /// A request that fails.
    pub async fn delete(&self, name: &str) -> Result<(), CallError> {
        match self.client.delete_dashboards().dashboard_names(name).send().await {
            Ok(done) => of_aws(DELETE, done).map(drop),
            Err(error) => match call_error(DELETE, &self.place.dashboard(name), &error) {
                CallError::NotFound { .. } => Ok(()),
                error => Err(error),
            },
        }
    }
}

fn put_error(resource: &str, error: &SdkError<PutDashboardError>) -> PutError {
    if let Some(PutDashboardError::DashboardInvalidInputError(invalid)) = error.as_service_error() {
        let mut remarks: Vec<Remark> = invalid.dashboard_validation_messages().iter().map(remark).collect();
        if remarks.is_empty() {
            remarks = remarks_in(invalid.message().unwrap_or_default());
        }
        if !remarks.is_empty() {
            return PutError::Body(remarks);
        }
    }
    let mut error = tagging_error(call_error(PUT, resource, error));
    if let CallError::Invalid { message, .. } = &mut error
        && message.starts_with("ConflictException")
    {
        message.push_str("; somebody else changes it at this moment: run this again");
    }
    error.into()
}

fn remark(message: &DashboardValidationMessage) -> Remark {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    Remark { path: text(message.data_path()), message: text(message.message()) }
}

/// CloudWatch's message holds the same list as JSON, and may be all that there is.
fn remarks_in(message: &str) -> Vec<Remark> {
    #[derive(serde::Deserialize)]
    struct Listed {
        #[serde(alias = "DataPath", rename = "dataPath", default)]
        path: String,
        #[serde(alias = "Message", default)]
        message: String,
    }
    let list = message.find('[').and_then(|start| message.get(start..)).unwrap_or_default();
    let listed: Vec<Listed> = serde_json::from_str(list).unwrap_or_default();
    listed.into_iter().map(|Listed { path, message }| Remark { path, message }).collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_cloudwatch::config::http::HttpResponse;
    use aws_sdk_cloudwatch::error::ErrorMetadata;

    use super::*;

    fn told(status: u16, code: &str, message: &str) -> String {
        let error = PutDashboardError::generic(ErrorMetadata::builder().code(code).message(message).build());
        let response = HttpResponse::new(status.try_into().unwrap(), "".into());
        put_error("arn:aws:cloudwatch::*:dashboard/efsmon-a", &SdkError::service_error(error, response))
            .to_string()
    }

    #[test]
    fn who_may_not_tag_is_told_to_allow_just_that() {
        let message = "not authorized to perform: cloudwatch:TagResource on resource: x";
        assert_eq!(
            told(403, "AccessDenied", message),
            "cloudwatch:TagResource on arn:aws:cloudwatch::*:dashboard/efsmon-a is refused (AccessDenied: not \
             authorized to perform: cloudwatch:TagResource on resource: x); add to the policy of this role: \
             {\"Action\":\"cloudwatch:TagResource\",\"Effect\":\"Allow\",\"Resource\":\
             \"arn:aws:cloudwatch::*:dashboard/efsmon-a\"}"
        );
    }

    #[test]
    fn what_two_do_at_once_is_done_again() {
        assert_eq!(
            told(409, "ConflictException", "busy"),
            "cloudwatch:PutDashboard on arn:aws:cloudwatch::*:dashboard/efsmon-a: ConflictException: busy; somebody \
             else changes it at this moment: run this again"
        );
    }

    #[test]
    fn the_list_in_a_message_is_read() {
        let message = "The dashboard body is invalid, there are 1 validation errors:\n[\n  {\n    \"dataPath\": \
                       \"/widgets/0/properties/metrics/1\",\n    \"message\": \"Should be array\"\n  }\n]";
        let path = "/widgets/0/properties/metrics/1".to_owned();
        assert_eq!(remarks_in(message), [Remark { path, message: "Should be array".to_owned() }]);
        assert_eq!(remarks_in("The dashboard body [is] invalid"), []);
        assert_eq!(remarks_in(""), []);
    }
}
