//! The IAM policies that efsmon needs, least privilege, for what is configured. Pure.
//!
//! Which actions take which resources: Service Authorization Reference, "Actions, resources, and condition keys for
//! Amazon CloudWatch", ".. for Amazon Elastic File System", ".. for Amazon SNS", ".. for AWS Security Token Service".

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::provision::dashboards::name_of;

/// An identity-based policy (IAM User Guide, "IAM JSON policy reference"). Without a statement it is none: IAM does not
/// take it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Policy {
    version: &'static str,
    pub statement: Vec<Statement>,
}

/// One permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Statement {
    /// What it is for, in letters and digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    sid: Option<&'static str>,
    effect: &'static str,
    #[serde(serialize_with = "one_or_many")]
    action: Vec<&'static str>,
    #[serde(serialize_with = "one_or_many")]
    resource: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<Value>,
}

/// Where resources are, as far as it is known: what their ARNs have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub partition: String,
    /// A Region's name; `*` for any.
    pub region: String,
    /// An account's 12 digits; `*` for any.
    pub account: String,
}

/// What the daemon is configured to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Daemon<'a> {
    /// Those that it publishes in; none: it publishes nothing.
    pub namespaces: &'a [&'a str],
    /// The role that it publishes as; None: the host's own.
    pub role: Option<&'a str>,
    /// Whether it asks EFS whose mount target an address is.
    pub lookup: bool,
}

/// Everything: for actions that know no resource, and for lists.
const ANY: &str = "*";
const DESCRIBE_FILE_SYSTEMS: &str = "elasticfilesystem:DescribeFileSystems";

/// The policy of the hosts.
pub fn daemon(daemon: &Daemon, place: &Place) -> Policy {
    let mut statement = Vec::new();
    match daemon.role {
        _ if daemon.namespaces.is_empty() => {}
        None => statement.push(publish(daemon.namespaces)),
        Some(role) => {
            statement.push(Statement::of("AssumePublishingRole", &["sts:AssumeRole"], role.to_owned()))
        }
    }
    if daemon.lookup {
        let mount_targets = &["elasticfilesystem:DescribeMountTargets"];
        statement.push(list_file_systems());
        statement.push(Statement::of("ListMountTargets", mount_targets, place.file_system(ANY)));
    }
    Policy::of(statement)
}

/// The policy of the role that the hosts publish as, if they do so as another.
pub fn publisher(namespaces: &[&str]) -> Policy {
    Policy::of(vec![publish(namespaces)])
}

/// The policy of whoever applies, checks and deletes dashboards and alarms.
pub fn provision(place: &Place) -> Policy {
    let change_dashboards = &[
        "cloudwatch:GetDashboard",
        "cloudwatch:PutDashboard",
        "cloudwatch:DeleteDashboards",
        "cloudwatch:TagResource",
    ];
    let change_alarms = &[
        "cloudwatch:PutMetricAlarm",
        "cloudwatch:DeleteAlarms",
        "cloudwatch:SetAlarmState",
        "cloudwatch:TagResource",
    ];
    Policy::of(vec![
        Statement::of("ChangeDashboards", change_dashboards, place.dashboard(&name_of(&place.region, ANY))),
        Statement::of("ListDashboards", &["cloudwatch:ListDashboards"], ANY.to_owned()),
        Statement::of("ChangeAlarms", change_alarms, place.alarm("efsmon-*")),
        // By any beginning of a name, CloudWatch asks whether all alarms may be listed.
        Statement::of("ListAlarms", &["cloudwatch:DescribeAlarms"], place.alarm(ANY)),
        Statement::of("CheckTopics", &["sns:GetTopicAttributes"], place.topic(ANY)),
        list_file_systems(),
    ])
}

/// The policy of whoever only asks how a file system is doing.
pub fn read() -> Policy {
    let metrics = Statement::of("ReadMetrics", &["cloudwatch:GetMetricData"], ANY.to_owned());
    Policy::of(vec![metrics, list_file_systems()])
}

fn publish(namespaces: &[&str]) -> Statement {
    let namespaces = match namespaces {
        [one] => json!(one),
        several => json!(several),
    };
    Statement {
        condition: Some(json!({ "StringEquals": { "cloudwatch:namespace": namespaces } })),
        ..Statement::of("PublishMetrics", &["cloudwatch:PutMetricData"], ANY.to_owned())
    }
}

/// Without an id DescribeFileSystems is about all of them.
fn list_file_systems() -> Statement {
    Statement::of("ListFileSystems", &[DESCRIBE_FILE_SYSTEMS], ANY.to_owned())
}

impl Policy {
    fn of(statement: Vec<Statement>) -> Policy {
        Policy { version: "2012-10-17", statement }
    }
}

impl Statement {
    /// What allows one action on one resource.
    pub fn allow(action: &'static str, resource: &str) -> Statement {
        let (action, resource) = (vec![action], vec![resource.to_owned()]);
        Statement { sid: None, effect: "Allow", action, resource, condition: None }
    }

    fn of(sid: &'static str, action: &[&'static str], resource: String) -> Statement {
        let (sid, action, resource) = (Some(sid), action.to_vec(), vec![resource]);
        Statement { sid, effect: "Allow", action, resource, condition: None }
    }
}

/// As JSON, on one line.
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", serde_json::to_value(self).map_err(|_| fmt::Error)?)
    }
}

/// IAM takes a text in place of a list of one, which is easier to read.
fn one_or_many<T: Serialize, S: Serializer>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    match list {
        [one] => one.serialize(serializer),
        several => several.serialize(serializer),
    }
}

impl Place {
    /// A Region of an account that is not known.
    pub fn region(region: &str) -> Place {
        let partition = partition(region).to_owned();
        Place { partition, region: region.to_owned(), account: ANY.to_owned() }
    }

    /// The ARN of a file system.
    pub fn file_system(&self, id: &str) -> String {
        self.arn("elasticfilesystem", &format!("file-system/{id}"))
    }

    /// The ARN of a dashboard: it belongs to no Region.
    pub fn dashboard(&self, name: &str) -> String {
        format!("arn:{}:cloudwatch::{}:dashboard/{name}", self.partition, self.account)
    }

    /// The ARN of an alarm.
    pub fn alarm(&self, name: &str) -> String {
        self.arn("cloudwatch", &format!("alarm:{name}"))
    }

    fn topic(&self, name: &str) -> String {
        self.arn("sns", name)
    }

    fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:{}:{service}:{}:{}:{resource}", self.partition, self.region, self.account)
    }
}

/// The partition that a Region is of (AWS General Reference, "Amazon Resource Names"); `aws` for any Region.
pub fn partition(region: &str) -> &'static str {
    let partitions = [
        ("cn-", "aws-cn"),
        ("us-gov-", "aws-us-gov"),
        ("us-iso-", "aws-iso"),
        ("us-isob-", "aws-iso-b"),
        ("eu-isoe-", "aws-iso-e"),
        ("us-isof-", "aws-iso-f"),
        ("eusc-", "aws-eusc"),
    ];
    partitions.iter().find(|(start, _)| region.starts_with(start)).map_or("aws", |(_, partition)| partition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ireland() -> Place {
        Place { account: "111122223333".to_owned(), ..Place::region("eu-west-1") }
    }

    fn statements(policy: &Policy) -> Value {
        let mut policy = serde_json::to_value(policy).unwrap();
        assert_eq!(policy["Version"], "2012-10-17");
        policy["Statement"].take()
    }

    #[test]
    fn a_daemon_may_publish_in_its_namespace_and_nothing_else() {
        let daemon = Daemon { namespaces: &["EFSMon"], role: None, lookup: false };
        let expected = json!([{
            "Sid": "PublishMetrics",
            "Effect": "Allow",
            "Action": "cloudwatch:PutMetricData",
            "Resource": "*",
            "Condition": { "StringEquals": { "cloudwatch:namespace": "EFSMon" } }
        }]);
        assert_eq!(statements(&super::daemon(&daemon, &ireland())), expected);
        assert_eq!(statements(&publisher(&["EFSMon"])), expected);
    }

    #[test]
    fn with_the_cron_scripts_metrics_it_may_publish_in_both_namespaces() {
        let policy = statements(&publisher(&["Team/EFS", "CustomEC2"]));
        let condition = json!({ "StringEquals": { "cloudwatch:namespace": ["Team/EFS", "CustomEC2"] } });
        assert_eq!(policy[0]["Condition"], condition);
    }

    #[test]
    fn a_daemon_that_publishes_as_a_role_may_only_become_it() {
        let role = "arn:aws:iam::444455556666:role/efsmon";
        let daemon = Daemon { namespaces: &["EFSMon"], role: Some(role), lookup: false };
        let expected = json!([{
            "Sid": "AssumePublishingRole", "Effect": "Allow", "Action": "sts:AssumeRole", "Resource": role
        }]);
        assert_eq!(statements(&super::daemon(&daemon, &ireland())), expected);
        let silent = Daemon { namespaces: &[], ..daemon };
        assert_eq!(statements(&super::daemon(&silent, &ireland())), json!([]));
    }

    #[test]
    fn look_ups_may_list_all_file_systems_and_the_mount_targets_of_each() {
        let daemon = Daemon { namespaces: &[], role: None, lookup: true };
        let expected = json!([{
            "Sid": "ListFileSystems",
            "Effect": "Allow",
            "Action": "elasticfilesystem:DescribeFileSystems",
            "Resource": "*"
        }, {
            "Sid": "ListMountTargets",
            "Effect": "Allow",
            "Action": "elasticfilesystem:DescribeMountTargets",
            "Resource": "arn:aws:elasticfilesystem:eu-west-1:111122223333:file-system/*"
        }]);
        assert_eq!(statements(&super::daemon(&daemon, &ireland())), expected);
    }

    #[test]
    fn a_provisioner_changes_what_bears_our_name_and_only_looks_at_the_rest() {
        let policy = statements(&provision(&ireland()));
        let resource = |sid: &str| {
            let statement = policy.as_array().unwrap().iter().find(|statement| statement["Sid"] == sid);
            statement.unwrap()["Resource"].clone()
        };
        assert_eq!(
            resource("ChangeDashboards"),
            "arn:aws:cloudwatch::111122223333:dashboard/efsmon-eu-west-1-*"
        );
        assert_eq!(resource("ChangeAlarms"), "arn:aws:cloudwatch:eu-west-1:111122223333:alarm:efsmon-*");
        assert_eq!(resource("ListAlarms"), "arn:aws:cloudwatch:eu-west-1:111122223333:alarm:*");
        assert_eq!(resource("CheckTopics"), "arn:aws:sns:eu-west-1:111122223333:*");
        let anywhere = statements(&provision(&Place::region("*")));
        assert_eq!(anywhere[0]["Resource"], "arn:aws:cloudwatch::*:dashboard/efsmon-*-*");
    }

    #[test]
    fn a_statement_for_an_error_is_one_line() {
        let arn = Place::region("cn-north-1").dashboard("efsmon-cn-north-1-overview");
        assert_eq!(
            Statement::allow("cloudwatch:PutDashboard", &arn).to_string(),
            r#"{"Action":"cloudwatch:PutDashboard","Effect":"Allow","Resource":"arn:aws-cn:cloudwatch::*:dashboard/efsmon-cn-north-1-overview"}"#
        );
    }
}
