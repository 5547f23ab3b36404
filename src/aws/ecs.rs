//! Which task this is, from the agent's task metadata endpoint (ECS developer guide, "Amazon ECS task metadata endpoint
//! version 4"): Fargate from platform version 1.4.0, agents from 1.39.

use std::time::Duration;

use serde::Deserialize;

use super::one_line;

/// The agent is on the same machine: what takes longer will not come.
const CONNECT: Duration = Duration::from_millis(300);
const REQUEST: Duration = Duration::from_secs(1);

/// A task's document has a few KiB for each of its ten containers at most.
const LONGEST: usize = 1 << 20;

/// A task, as the agent describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The last part of its ARN.
    pub id: String,
    pub region: Option<String>,
    pub account_id: Option<String>,
    pub availability_zone: Option<String>,
    pub availability_zone_id: Option<String>,
    /// It runs on an instance of the account's own, whose name is better than the task's: it lasts longer.
    pub on_instance: bool,
}

/// Why there is no [`Task`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    #[error("the ECS task metadata endpoint does not answer: {0}")]
    Unreached(String),
    #[error("the ECS task metadata endpoint answers {0}")]
    Refused(u16),
    #[error("what the ECS task metadata endpoint answers is not a task's: {0}")]
    NotATask(String),
}

/// The part of the document that is of use here.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    #[serde(rename = "TaskARN")]
    task_arn: String,
    launch_type: Option<String>,
    availability_zone: Option<String>,
    #[serde(rename = "AvailabilityZoneID")]
    availability_zone_id: Option<String>,
}

/// Asks once, for a second at most, and never through a proxy. `endpoint` is the value of
/// `ECS_CONTAINER_METADATA_URI_V4`.
///
/// # Errors
///
/// No answer, or not that of a task.
pub async fn task(endpoint: &str) -> Result<Task, TaskError> {
    let unreached = |error: reqwest::Error| TaskError::Unreached(one_line(&error));
    let client = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT).timeout(REQUEST);
    let client = client.redirect(reqwest::redirect::Policy::none()).build().map_err(unreached)?;
    let mut answer = client.get(format!("{endpoint}/task")).send().await.map_err(unreached)?;
    if !answer.status().is_success() {
        return Err(TaskError::Refused(answer.status().as_u16()));
    }
    let mut text = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(unreached)? {
        text.extend_from_slice(&part);
        if text.len() > LONGEST {
            return Err(TaskError::NotATask(format!("it is longer than {LONGEST} bytes")));
        }
    }
    read(&text)
}

fn read(text: &[u8]) -> Result<Task, TaskError> {
    let document: Document =
        serde_json::from_slice(text).map_err(|error| TaskError::NotATask(error.to_string()))?;
    let arn: Vec<&str> = document.task_arn.splitn(6, ':').collect();
    let ["arn", _, "ecs", region, account, resource] = arn.as_slice() else {
        return Err(TaskError::NotATask(format!("its TaskARN is {:?}", document.task_arn)));
    };
    // task/ID in the old form, task/CLUSTER/ID in the new one.
    let id = resource.strip_prefix("task/").and_then(|path| path.rsplit('/').next());
    let Some(id) = id.filter(|id| !id.is_empty()) else {
        return Err(TaskError::NotATask(format!("its TaskARN is {:?}", document.task_arn)));
    };
    let own = |part: &str| (!part.is_empty()).then(|| part.to_owned());
    Ok(Task {
        id: id.to_owned(),
        region: own(region),
        account_id: own(account),
        availability_zone: document.availability_zone,
        availability_zone_id: document.availability_zone_id,
        // EXTERNAL is a machine outside of AWS; a type that is not known yet may have an instance to be asked for.
        on_instance: !matches!(document.launch_type.as_deref(), Some("FARGATE" | "EXTERNAL")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_the_last_part_of_its_arn() {
        let old =
            br#"{"TaskARN": "arn:aws:ecs:us-west-2:111122223333:task/1dc5c17a-422b-4dc4-b493-371970c6c4d6"}"#;
        let task = read(old).unwrap();
        assert_eq!(task.id, "1dc5c17a-422b-4dc4-b493-371970c6c4d6");
        assert_eq!((task.availability_zone, task.on_instance), (None, true));
        let external =
            br#"{"TaskARN": "arn:aws-cn:ecs:cn-north-1:111122223333:task/web/0f", "LaunchType": "EXTERNAL"}"#;
        let task = read(external).unwrap();
        assert_eq!((task.id.as_str(), task.region.as_deref()), ("0f", Some("cn-north-1")));
        assert!(!task.on_instance);
    }

    #[test]
    fn what_is_not_a_task_is_none() {
        for text in [
            "",
            "<html>",
            "{}",
            r#"{"TaskARN": ""}"#,
            r#"{"TaskARN": "arn:aws:ecs:us-west-2:111122223333:task/"}"#,
            r#"{"TaskARN": "arn:aws:ecs:us-west-2:111122223333:cluster/web"}"#,
        ] {
            assert!(matches!(read(text.as_bytes()), Err(TaskError::NotATask(_))), "{text}");
        }
    }
}
