//! What CloudWatch knows of metrics: GetMetricData (CloudWatch API Reference).

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::operation::get_metric_data::GetMetricDataOutput;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{
    Dimension, MessageData, Metric, MetricDataQuery, MetricDataResult, MetricStat, ScanBy, StatusCode,
};

use super::Session;
use super::call::{CallError, call_error};
use super::efs::MAX_PAGES;
use crate::metricmath::{Points, Query, Window};

const ACTION: &str = "cloudwatch:GetMetricData";
/// Most queries of a request.
const MAX_QUERIES: usize = 500;
/// Most points of an answer; further ones are on a next page, and that is another request.
const MAX_POINTS: i64 = 100_800;
/// What the series of a page that broke off may need to be there.
const PAUSE: Duration = Duration::from_millis(500);

/// What CloudWatch has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// By the ids of the queries; of every query that returns data, also when there are none.
    pub points: BTreeMap<String, Points>,
    /// Metrics that were asked for, in all requests: what is billed. What a SEARCH or a Metrics Insights query reads is not
    /// in it.
    pub metrics: u64,
    pub requests: u64,
    /// What CloudWatch has to say, and which data it did not give whole.
    pub messages: Vec<String>,
}

/// Asks for all of that time, whose period takes the place of the metrics' own. Start and end should be multiples of it.
/// Nobody has to know how many queries fit into a request; expressions, and what they name, must be in one.
///
/// # Errors
///
/// The first request that fails; more than 500 queries with an expression among them.
pub async fn metric_data(session: &Session, queries: &[Query], window: Window) -> Result<Found, CallError> {
    let client = Client::new(&session.config);
    let mut found = Found::default();
    let returning = queries.iter().filter(|query| query.return_data != Some(false));
    found.points.extend(returning.map(|query| (query.id.clone(), Points::new())));
    for queries in queries.chunks(in_a_request(queries, window)?) {
        ask(&client, queries, window, &mut found).await?;
    }
    Ok(found)
}

/// How many queries a request may have, so that its answer is one page.
fn in_a_request(queries: &[Query], window: Window) -> Result<usize, CallError> {
    if queries.iter().any(|query| query.expression.is_some()) {
        return match queries.len() > MAX_QUERIES {
            false => Ok(MAX_QUERIES),
            true => {
                let message = format!(
                    "found {} queries with expressions; allowed: {MAX_QUERIES}, for they cannot be told apart",
                    queries.len()
                );
                Err(CallError::Invalid { action: ACTION, resource: "*".to_owned(), message })
            }
        };
    }
    let points = (window.to - window.from) / i64::from(window.period.max(1));
    Ok(usize::try_from(MAX_POINTS / points.max(1)).unwrap_or(1).clamp(1, MAX_QUERIES))
}

/// One request, and those for its further pages.
async fn ask(client: &Client, queries: &[Query], window: Window, found: &mut Found) -> Result<(), CallError> {
    let asked: Vec<MetricDataQuery> = queries.iter().map(|query| sdk_query(query, window.period)).collect();
    let mut token: Option<String> = None;
    // What is not whole, by the last page that has it.
    let mut broken: BTreeMap<String, String> = BTreeMap::new();
    for _ in 0..MAX_PAGES {
        let page = client
            .get_metric_data()
            .set_metric_data_queries(Some(asked.clone()))
            .start_time(DateTime::from_secs(window.from))
            .end_time(DateTime::from_secs(window.to))
            .scan_by(ScanBy::TimestampAscending)
            .set_next_token(token.take())
            .send()
            .await
            .map_err(|error| call_error(ACTION, "*", &error))?;
        found.requests += 1;
        found.metrics += queries.iter().filter(|query| query.metric_stat.is_some()).count() as u64;
        take(&page, found, &mut broken);
        match page.next_token() {
            Some(next) => token = Some(next.to_owned()),
            None => {
                found.messages.extend(broken.into_values());
                return Ok(());
            }
        }
        if page.metric_data_results().iter().any(is_error) {
            tokio::time::sleep(PAUSE).await;
        }
    }
    Err(CallError::endless(ACTION))
}

fn take(page: &GetMetricDataOutput, found: &mut Found, broken: &mut BTreeMap<String, String>) {
    let mut say = |message: String| {
        if !found.messages.contains(&message) {
            found.messages.push(message);
        }
    };
    page.messages().iter().for_each(|message| say(text(message)));
    for result in page.metric_data_results() {
        let Some(id) = result.id() else { continue };
        let name = result.label().filter(|label| !label.is_empty()).unwrap_or(id);
        result.messages().iter().for_each(|message| say(format!("{name}: {}", text(message))));
        let points = found.points.entry(id.to_owned()).or_default();
        points.extend(result.timestamps().iter().map(DateTime::secs).zip(result.values().iter().copied()));
        match result.status_code() {
            Some(StatusCode::Complete) | None => drop(broken.remove(id)),
            Some(status) => {
                let text = format!("{name}: {}: some of its data are missing", status.as_str());
                broken.insert(id.to_owned(), text);
            }
        }
    }
}

fn is_error(result: &MetricDataResult) -> bool {
    result.status_code() == Some(&StatusCode::InternalError)
}

fn text(message: &MessageData) -> String {
    let parts: Vec<&str> = [message.code(), message.value()].into_iter().flatten().collect();
    parts.join(": ")
}

fn sdk_query(query: &Query, period: u32) -> MetricDataQuery {
    let period = i32::try_from(period).unwrap_or(i32::MAX);
    let statistic = query.metric_stat.as_ref().map(|wanted| {
        let dimensions = wanted
            .metric
            .dimensions
            .iter()
            .map(|dimension| Dimension::builder().name(&dimension.name).value(&dimension.value).build());
        let metric = Metric::builder()
            .namespace(&wanted.metric.namespace)
            .metric_name(&wanted.metric.metric_name)
            .set_dimensions(Some(dimensions.collect()))
            .build();
        MetricStat::builder().metric(metric).period(period).stat(&wanted.stat).build()
    });
    MetricDataQuery::builder()
        .id(&query.id)
        .set_metric_stat(statistic)
        .set_expression(query.expression.clone())
        .set_label(query.label.clone())
        .set_period(query.expression.as_ref().map(|_| period))
        .set_return_data(query.return_data)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(number: usize, expression: Option<&str>) -> Vec<Query> {
        let query = |index| Query {
            id: format!("q{index}"),
            metric_stat: None,
            expression: expression.map(str::to_owned),
            label: None,
            period: None,
            return_data: None,
        };
        (0..number).map(query).collect()
    }

    #[test]
    fn a_request_has_so_many_queries_that_its_answer_is_a_page() {
        let metrics = queries(600, None);
        let of =
            |points: i64| in_a_request(&metrics, Window { from: 0, to: points * 60, period: 60 }).unwrap();
        // 100,800 points: 500 x 201.6, 280 x 360, 4 x 21,600.
        assert_eq!([1, 201, 202, 360, 21_600, 200_000].map(of), [500, 500, 499, 280, 4, 1]);
    }

    #[test]
    fn expressions_go_in_one_request_or_not_at_all() {
        let window = Window { from: 0, to: 360 * 60, period: 60 };
        assert_eq!(in_a_request(&queries(500, Some("m1 * 2")), window), Ok(500));
        let refused = in_a_request(&queries(501, Some("m1 * 2")), window).unwrap_err().to_string();
        assert!(refused.starts_with("cloudwatch:GetMetricData on *: found 501 queries"), "{refused}");
    }
}
