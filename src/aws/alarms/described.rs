//! What DescribeAlarms tells of an alarm, as the body with which PutMetricAlarm would make it again.

use aws_sdk_cloudwatch::types::{
    ActionConfiguration, Dimension, EvaluationCriteria, EvaluationWindow, MetricAlarm, MetricDataQuery,
    MetricStat, WarmUpConfiguration,
};
use serde_json::{Map, Value, json};

use crate::provision::comparable::comparable;

/// Every member that PutMetricAlarm has, but tags, which DescribeAlarms does not tell.
pub(super) fn body(alarm: &MetricAlarm) -> Value {
    let body = object([
        ("AlarmName", text(alarm.alarm_name())),
        ("AlarmDescription", text(alarm.alarm_description())),
        ("ActionsEnabled", alarm.actions_enabled().map(Value::from)),
        ("OKActions", Some(json!(alarm.ok_actions()))),
        ("AlarmActions", Some(json!(alarm.alarm_actions()))),
        ("InsufficientDataActions", Some(json!(alarm.insufficient_data_actions()))),
        ("Namespace", text(alarm.namespace())),
        ("MetricName", text(alarm.metric_name())),
        ("Dimensions", Some(dimensions(alarm.dimensions()))),
        ("Statistic", text(alarm.statistic().map(|statistic| statistic.as_str()))),
        ("ExtendedStatistic", text(alarm.extended_statistic())),
        ("Period", alarm.period().map(Value::from)),
        ("Unit", text(alarm.unit().map(|unit| unit.as_str()))),
        ("Metrics", Some(alarm.metrics().iter().map(query).collect())),
        ("ComparisonOperator", text(alarm.comparison_operator().map(|operator| operator.as_str()))),
        ("Threshold", alarm.threshold().map(Value::from)),
        ("ThresholdMetricId", text(alarm.threshold_metric_id())),
        ("EvaluationPeriods", alarm.evaluation_periods().map(Value::from)),
        ("DatapointsToAlarm", alarm.datapoints_to_alarm().map(Value::from)),
        ("TreatMissingData", text(alarm.treat_missing_data())),
        ("EvaluateLowSampleCountPercentile", text(alarm.evaluate_low_sample_count_percentile())),
        ("EvaluationWindow", alarm.evaluation_window().and_then(window)),
        ("EvaluationCriteria", alarm.evaluation_criteria().map(criteria)),
        ("EvaluationInterval", alarm.evaluation_interval().map(Value::from)),
        ("WarmUpConfiguration", alarm.warm_up_configuration().map(warm_up)),
        ("ActionConfiguration", alarm.action_configuration().and_then(notifications)),
    ]);
    comparable(body)
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let there = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

/// None of an empty one.
fn text(text: Option<&str>) -> Option<Value> {
    text.filter(|text| !text.is_empty()).map(Value::from)
}

fn dimensions(dimensions: &[Dimension]) -> Value {
    let one = |dimension: &Dimension| json!({ "Name": dimension.name(), "Value": dimension.value() });
    dimensions.iter().map(one).collect()
}

fn query(query: &MetricDataQuery) -> Value {
    object([
        ("Id", text(query.id())),
        ("MetricStat", query.metric_stat().map(stat)),
        ("Expression", text(query.expression())),
        ("Label", text(query.label())),
        ("Period", query.period().map(Value::from)),
        ("ReturnData", query.return_data().map(Value::from)),
        ("AccountId", text(query.account_id())),
    ])
}

fn stat(stat: &MetricStat) -> Value {
    let metric = stat.metric().map(|metric| {
        object([
            ("Namespace", text(metric.namespace())),
            ("MetricName", text(metric.metric_name())),
            ("Dimensions", Some(dimensions(metric.dimensions()))),
        ])
    });
    object([
        ("Metric", metric),
        ("Period", stat.period().map(Value::from)),
        ("Stat", text(stat.stat())),
        ("Unit", text(stat.unit().map(|unit| unit.as_str()))),
    ])
}

/// None: the sliding one, which every alarm has that names none.
fn window(window: &EvaluationWindow) -> Option<Value> {
    match window {
        EvaluationWindow::SlidingWindow(_) => None,
        EvaluationWindow::WallClockWindow(clock) => {
            Some(json!({ "WallClockWindow": object([("Timezone", text(clock.timezone()))]) }))
        }
        _ => Some(json!("unknown to this version of efsmon")),
    }
}

fn criteria(criteria: &EvaluationCriteria) -> Value {
    match criteria {
        EvaluationCriteria::PromQlCriteria(criteria) => json!({ "PromQLCriteria": object([
            ("Query", text(criteria.query())),
            ("PendingPeriod", criteria.pending_period().map(Value::from)),
            ("RecoveryPeriod", criteria.recovery_period().map(Value::from)),
        ]) }),
        _ => json!("unknown to this version of efsmon"),
    }
}

fn warm_up(configuration: &WarmUpConfiguration) -> Value {
    let only_after = configuration.only_start_evaluating_after_warm_up_period_ends();
    let minutes = configuration.warm_up_period_duration_in_minutes();
    object([
        ("WarmUpPeriodDurationInMinutes", minutes.map(Value::from)),
        ("OnlyStartEvaluatingAfterWarmUpPeriodEnds", only_after.map(Value::from)),
    ])
}

/// None: nothing is added to notifications, as without it.
fn notifications(configuration: &ActionConfiguration) -> Option<Value> {
    let tags = configuration.alarm_tags_propagation().filter(|tags| tags.enabled() == Some(true))?;
    Some(json!({ "AlarmTagsPropagation": {
        "Enabled": true,
        "IncludedTagKeys": tags.included_tag_keys(),
        "ExcludedTagKeys": tags.excluded_tag_keys(),
    } }))
}
