//! Alarms: PutMetricAlarm, DescribeAlarms, DeleteAlarms, SetAlarmState (CloudWatch API Reference).

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::config::Builder;
use aws_sdk_cloudwatch::operation::describe_alarms::builders::DescribeAlarmsFluentBuilder;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{
    ComparisonOperator, Dimension, EvaluationState, Metric, MetricAlarm, MetricDataQuery, MetricStat,
    StateValue, Statistic,
};
use serde_json::Value;

use super::Session;
use super::call::{CallError, call_error, of_aws};
use super::tags::{tagging_error, tags};
use crate::alarm::{Alarm, Comparison, MissingData};
use crate::iam::Place;
use crate::metricmath;
use crate::provision::Mark;

mod described;

const DESCRIBE: &str = "cloudwatch:DescribeAlarms";
const PUT: &str = "cloudwatch:PutMetricAlarm";
const DELETE: &str = "cloudwatch:DeleteAlarms";
const SET_STATE: &str = "cloudwatch:SetAlarmState";

/// Alarms of a page of DescribeAlarms, and alarms that one DeleteAlarms takes, at most.
pub const PAGE: usize = 100;
/// Pages of a list that has an end: far above the quotas of alarms in a Region.
const MAX_PAGES: usize = 1000;
/// Between two pages: CloudWatch takes 9 DescribeAlarms a second (CloudWatch User Guide, "CloudWatch service quotas").
const BETWEEN_PAGES: Duration = Duration::from_millis(120);

/// The alarms of an account in a Region.
#[derive(Clone, Debug)]
pub struct Alarms {
    client: Client,
    /// The same without retries of its own: an account's writes are counted, attempts too, and the caller paces them.
    once: Client,
    place: Place,
}

/// An alarm that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub name: String,
    /// As PutMetricAlarm would take it, in the form of [`crate::provision::comparable`]: with everything that
    /// CloudWatch says that the alarm does, whether [`Alarm`] has it or not.
    pub body: Value,
    /// `OK`, `ALARM` or `INSUFFICIENT_DATA`.
    pub state: String,
    /// CloudWatch's words for it.
    pub reason: String,
    /// When it came into this state, in seconds since 1970.
    pub since: Option<i64>,
    /// When it was last written, in seconds since 1970.
    pub configured: Option<i64>,
    /// Whether CloudWatch says that it cannot evaluate it.
    pub broken: bool,
}

impl Found {
    /// Whether CloudWatch does something when its state changes.
    pub fn actions_enabled(&self) -> bool {
        self.body.get("ActionsEnabled") == Some(&Value::Bool(true))
    }

    /// Its actions of that kind: `AlarmActions`, `OKActions`.
    pub fn actions(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.body.get(kind).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whose it is. None: nothing in its description says so.
    pub fn mark(&self) -> Option<Mark> {
        Mark::find(self.body.get("AlarmDescription")?.as_str()?)
    }
}

/// A state that an alarm is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ok,
    Alarm,
}

impl Alarms {
    pub fn of(session: &Session) -> Alarms {
        let once = Builder::from(&session.config).retry_config(RetryConfig::disabled()).build();
        Alarms { client: Client::new(&session.config), once: Client::from_conf(once), place: session.place() }
    }

    /// All metric alarms whose name begins so, in CloudWatch's order.
    ///
    /// # Errors
    ///
    /// The first request that fails.
    pub async fn beginning_with(&self, prefix: &str) -> Result<Vec<Found>, CallError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let request = self.client.describe_alarms().alarm_name_prefix(prefix).max_records(PAGE as i32);
            let resource = self.place.alarm("*");
            let (page, next) = self.page(request.set_next_token(token.take()), &resource).await?;
            found.extend(page);
            match next {
                Some(next) => token = Some(next),
                None => return Ok(found),
            }
            tokio::time::sleep(BETWEEN_PAGES).await;
        }
        Err(CallError::endless("cloudwatch:DescribeAlarms"))
    }

    /// The metric alarm of that name, if there is one.
    ///
    /// # Errors
    ///
    /// A request that fails.
    pub async fn named(&self, name: &str) -> Result<Option<Found>, CallError> {
        let request = self.client.describe_alarms().alarm_names(name);
        let (page, _) = self.page(request, &self.place.alarm(name)).await?;
        Ok(page.into_iter().find(|found| found.name == name))
    }

    async fn page(
        &self,
        request: DescribeAlarmsFluentBuilder,
        resource: &str,
    ) -> Result<(Vec<Found>, Option<String>), CallError> {
        let answer = request.send().await;
        let answer = answer.map_err(|error| call_error(DESCRIBE, resource, &error))?;
        let found = answer.metric_alarms().iter().map(found).collect();
        Ok((found, answer.next_token().map(str::to_owned)))
    }

    /// Makes the alarm, or overwrites the one of its name, whose state stays. Tags only count when it is made. One attempt.
    ///
    /// # Errors
    ///
    /// What CloudWatch refuses. With tags it may be `cloudwatch:TagResource` that is refused.
    pub async fn put(&self, alarm: &Alarm, with: &[(String, String)]) -> Result<(), CallError> {
        let put = self
            .once
            .put_metric_alarm()
            .alarm_name(&alarm.alarm_name)
            .alarm_description(&alarm.alarm_description)
            .actions_enabled(alarm.actions_enabled)
            .set_ok_actions(Some(alarm.ok_actions.clone()))
            .set_alarm_actions(Some(alarm.alarm_actions.clone()))
            .set_insufficient_data_actions(Some(alarm.insufficient_data_actions.clone()))
            .set_namespace(alarm.namespace.clone())
            .set_metric_name(alarm.metric_name.clone())
            .set_dimensions(dimensions(&alarm.dimensions))
            .set_statistic(alarm.statistic.as_deref().map(Statistic::from))
            .set_period(alarm.period.map(signed))
            .set_metrics(list(alarm.metrics.iter().map(query).collect()))
            .comparison_operator(comparison(alarm.comparison_operator))
            .threshold(alarm.threshold)
            .evaluation_periods(signed(alarm.evaluation_periods))
            .datapoints_to_alarm(signed(alarm.datapoints_to_alarm))
            .treat_missing_data(missing(alarm.treat_missing_data))
            .set_tags(tags(with));
        let resource = self.place.alarm(&alarm.alarm_name);
        let answer = put.send().await;
        let answer = answer.map_err(|error| tagging_error(call_error(PUT, &resource, &error)))?;
        of_aws(PUT, answer).map(drop)
    }

    /// Deletes at most [`PAGE`] alarms. Where one is not there, the others are deleted all the same. One attempt.
    ///
    /// # Errors
    ///
    /// What CloudWatch refuses; one of the alarms is not there.
    pub async fn delete(&self, names: &[String]) -> Result<(), CallError> {
        let resource = match names {
            [name] => self.place.alarm(name),
            _ => self.place.alarm("efsmon-*"),
        };
        let answer = self.once.delete_alarms().set_alarm_names(Some(names.to_vec())).send().await;
        let answer = answer.map_err(|error| call_error(DELETE, &resource, &error))?;
        of_aws(DELETE, answer).map(drop)
    }

    /// Sets its state until CloudWatch's next evaluation, and sets off the actions of a state that it was not in.
    ///
    /// # Errors
    ///
    /// What CloudWatch refuses; the alarm is not there.
    pub async fn set_state(&self, name: &str, state: State, reason: &str) -> Result<(), CallError> {
        let state = match state {
            State::Ok => StateValue::Ok,
            State::Alarm => StateValue::Alarm,
        };
        let set = self.client.set_alarm_state().alarm_name(name).state_value(state).state_reason(reason);
        let answer = set.send().await;
        let answer = answer.map_err(|error| call_error(SET_STATE, &self.place.alarm(name), &error))?;
        of_aws(SET_STATE, answer).map(drop)
    }
}

fn found(alarm: &MetricAlarm) -> Found {
    let seconds = |time: Option<&DateTime>| time.map(DateTime::secs);
    let states = [EvaluationState::EvaluationError, EvaluationState::EvaluationFailure];
    Found {
        name: alarm.alarm_name().unwrap_or_default().to_owned(),
        body: described::body(alarm),
        state: alarm.state_value().map(StateValue::as_str).unwrap_or_default().to_owned(),
        reason: alarm.state_reason().unwrap_or_default().to_owned(),
        since: seconds(alarm.state_transitioned_timestamp().or(alarm.state_updated_timestamp())),
        configured: seconds(alarm.alarm_configuration_updated_timestamp()),
        broken: alarm.evaluation_state().is_some_and(|state| states.contains(state)),
    }
}

/// CloudWatch takes no empty list for these.
fn list<T>(items: Vec<T>) -> Option<Vec<T>> {
    if items.is_empty() { None } else { Some(items) }
}

/// Counts and seconds of a checked alarm are far below the end.
fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn dimensions(dimensions: &[metricmath::Dimension]) -> Option<Vec<Dimension>> {
    let one = |dimension: &metricmath::Dimension| {
        Dimension::builder().name(&dimension.name).value(&dimension.value).build()
    };
    list(dimensions.iter().map(one).collect())
}

fn query(query: &metricmath::Query) -> MetricDataQuery {
    let stat = query.metric_stat.as_ref().map(|stat| {
        let metric = Metric::builder()
            .namespace(&stat.metric.namespace)
            .metric_name(&stat.metric.metric_name)
            .set_dimensions(dimensions(&stat.metric.dimensions));
        MetricStat::builder().metric(metric.build()).period(signed(stat.period)).stat(&stat.stat).build()
    });
    MetricDataQuery::builder()
        .id(&query.id)
        .set_metric_stat(stat)
        .set_expression(query.expression.clone())
        .set_label(query.label.clone())
        .set_period(query.period.map(signed))
        .set_return_data(query.return_data)
        .build()
}

fn comparison(comparison: Comparison) -> ComparisonOperator {
    match comparison {
        Comparison::GreaterThanOrEqualToThreshold => ComparisonOperator::GreaterThanOrEqualToThreshold,
        Comparison::GreaterThanThreshold => ComparisonOperator::GreaterThanThreshold,
        Comparison::LessThanThreshold => ComparisonOperator::LessThanThreshold,
        Comparison::LessThanOrEqualToThreshold => ComparisonOperator::LessThanOrEqualToThreshold,
    }
}

fn missing(missing: MissingData) -> &'static str {
    match missing {
        MissingData::Missing => "missing",
        MissingData::NotBreaching => "notBreaching",
        MissingData::Breaching => "breaching",
        MissingData::Ignore => "ignore",
    }
}
