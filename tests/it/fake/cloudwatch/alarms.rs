//! Alarms: PutMetricAlarm, DescribeAlarms, DeleteAlarms, SetAlarmState, TagResource. Every metric alarm that
//! CloudWatch takes is taken here, in the form of DescribeAlarms, and no other.

pub mod limits;

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ciborium::Value;

use super::{Refused, member, object, text};

#[derive(Default)]
pub struct Alarms {
    /// As DescribeAlarms tells them, by name.
    described: BTreeMap<String, Value>,
    tags: BTreeMap<String, Vec<(String, String)>>,
    states: Vec<(String, String, String)>,
    /// Whether more than 3 writes of a kind in a second are throttled.
    limited: bool,
    /// Whether the role may not tag.
    tags_denied: bool,
    /// How many more alarms may be written, and how many states set.
    writes_left: Option<usize>,
    states_left: Option<usize>,
    quota: Option<usize>,
    lately: BTreeMap<&'static str, VecDeque<Instant>>,
}

/// CloudWatch User Guide, "CloudWatch service quotas".
const A_SECOND: usize = 3;
const WRITES: [&str; 3] = ["PutMetricAlarm", "DeleteAlarms", "SetAlarmState"];

impl Alarms {
    /// None: the operation is not one of these.
    pub fn answer(&mut self, operation: &str, body: &Value) -> Option<Result<Value, Refused>> {
        if let Some(write) = WRITES.into_iter().find(|write| *write == operation)
            && self.is_too_often(write)
        {
            return Some(Err(Refused::new(400, "Throttling", "Rate exceeded")));
        }
        Some(match operation {
            "PutMetricAlarm" => self.put(body),
            "DescribeAlarms" => self.describe(body),
            "DeleteAlarms" => self.delete(body),
            "SetAlarmState" => self.set_alarm_state(body),
            "TagResource" => self.tag_resource(body),
            _ => return None,
        })
    }

    /// Throttles as CloudWatch does: 3 of each write a second.
    pub fn limit(&mut self) {
        self.limited = true;
    }

    /// The role may not tag alarms.
    pub fn deny_tags(&mut self) {
        self.tags_denied = true;
    }

    /// From now on the role may write so many alarms and no more; None: as many as it likes.
    pub fn allow_writes(&mut self, alarms: impl Into<Option<usize>>) {
        self.writes_left = alarms.into();
    }

    /// How many alarms there may be.
    pub fn set_quota(&mut self, alarms: usize) {
        self.quota = Some(alarms);
    }

    /// From now on the role may set so many states and no more.
    pub fn allow_states(&mut self, states: usize) {
        self.states_left = Some(states);
    }

    /// Makes another one like it, by another hand.
    pub fn copy(&mut self, name: &str, other: &str) {
        self.described.insert(other.to_owned(), self.described[name].clone());
        self.edit(other, "AlarmName", other.into());
    }

    pub fn names(&self) -> Vec<String> {
        self.described.keys().cloned().collect()
    }

    /// What DescribeAlarms tells of it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.described.get(name)
    }

    /// Deletes it by another hand.
    pub fn remove(&mut self, name: &str) {
        self.described.remove(name).unwrap();
    }

    /// Changes a member of it by another hand; `Value::Null` takes it away.
    pub fn edit(&mut self, name: &str, member: &str, value: Value) {
        let members = self.described.get_mut(name).unwrap().as_map_mut().unwrap();
        members.retain(|(key, _)| key.as_text() != Some(member));
        if !value.is_null() {
            members.push((member.into(), value));
        }
    }

    /// Puts it in a state, so long ago.
    pub fn set_state(&mut self, name: &str, state: &str, ago: Duration) {
        let at = timestamp(now() - ago);
        for (member, value) in [
            ("StateValue", state.into()),
            ("StateUpdatedTimestamp", at.clone()),
            ("StateTransitionedTimestamp", at),
        ] {
            self.edit(name, member, value);
        }
    }

    /// Makes it look as if it was last written so long ago.
    pub fn age(&mut self, name: &str, ago: Duration) {
        self.edit(name, "AlarmConfigurationUpdatedTimestamp", timestamp(now() - ago));
    }

    pub fn tags(&self, name: &str) -> Vec<(String, String)> {
        self.tags.get(name).cloned().unwrap_or_default()
    }

    /// Name, state and reason of every SetAlarmState that was taken.
    pub fn states(&self) -> Vec<(String, String, String)> {
        self.states.clone()
    }

    fn is_too_often(&mut self, write: &'static str) -> bool {
        let lately = self.lately.entry(write).or_default();
        lately.retain(|at| at.elapsed() < Duration::from_secs(1));
        lately.push_back(Instant::now());
        self.limited && lately.len() > A_SECOND
    }

    /// An update keeps the state, and takes no tags.
    fn put(&mut self, body: &Value) -> Result<Value, Refused> {
        limits::check(body)?;
        let name = text(body, "AlarmName").unwrap().to_owned();
        let tags = pairs(body, "Tags");
        if !tags.is_empty() && self.tags_denied {
            return Err(denied("cloudwatch:TagResource", &name));
        }
        let before = self.described.get(&name);
        let kept = |member: &str, default: Value| {
            let found = before.and_then(|before| super::member(before, member)).cloned();
            (Value::from(member), found.unwrap_or(default))
        };
        let mut described = vec![
            ("AlarmArn".into(), arn(&name).into()),
            ("AlarmConfigurationUpdatedTimestamp".into(), timestamp(now())),
            kept("StateValue", "INSUFFICIENT_DATA".into()),
            kept("StateReason", "Unchecked: Initial alarm creation".into()),
            kept("StateUpdatedTimestamp", timestamp(now())),
            kept("StateTransitionedTimestamp", timestamp(now())),
        ];
        let given = body.as_map().unwrap().iter().filter(|(key, _)| key.as_text() != Some("Tags"));
        described.extend(given.cloned());
        let lists = ["OKActions", "AlarmActions", "InsufficientDataActions", "Dimensions"];
        for absent in lists.into_iter().filter(|list| member(body, list).is_none()) {
            described.push((absent.into(), Value::Array(Vec::new())));
        }
        if member(body, "ActionsEnabled").is_none() {
            described.push(("ActionsEnabled".into(), true.into()));
        }
        if before.is_none() && self.quota.is_some_and(|quota| self.described.len() >= quota) {
            let message = "The quota for this customer has already been reached.";
            return Err(Refused::new(400, "LimitExceeded", message));
        }
        if !allowed(&mut self.writes_left) {
            return Err(denied("cloudwatch:PutMetricAlarm", &name));
        }
        if before.is_none() {
            self.tags.insert(name.clone(), tags);
        }
        self.described.insert(name, Value::Map(described));
        Ok(object(Vec::new()))
    }

    fn describe(&self, body: &Value) -> Result<Value, Refused> {
        let names = texts(body, "AlarmNames");
        let prefix = text(body, "AlarmNamePrefix");
        if !names.is_empty() && prefix.is_some() {
            return limits::invalid("AlarmNames and AlarmNamePrefix exclude each other");
        }
        if names.len() > 100 {
            return limits::invalid("AlarmNames holds more than 100");
        }
        let most = limits::integer(body, "MaxRecords").unwrap_or(50);
        if !(1..=100).contains(&most) {
            return limits::invalid("MaxRecords must be from 1 to 100");
        }
        let wanted = |name: &String| {
            (names.is_empty() || names.contains(&name.as_str()))
                && prefix.is_none_or(|prefix| name.starts_with(prefix))
        };
        let after = text(body, "NextToken").map(|token| token.strip_prefix("after ").unwrap());
        let listed = self.described.iter().filter(|(name, _)| wanted(name));
        let mut left = listed.filter(|(name, _)| after.is_none_or(|after| name.as_str() > after));
        let page: Vec<(&String, &Value)> = left.by_ref().take(most as usize).collect();
        let alarms = page.iter().map(|(_, alarm)| (*alarm).clone()).collect();
        let mut members =
            vec![("MetricAlarms", Value::Array(alarms)), ("CompositeAlarms", Value::Array(Vec::new()))];
        if let (Some(_), Some((last, _))) = (left.next(), page.last()) {
            members.push(("NextToken", format!("after {last}").into()));
        }
        Ok(object(members))
    }

    /// One that is not there keeps none of the others.
    fn delete(&mut self, body: &Value) -> Result<Value, Refused> {
        let names = texts(body, "AlarmNames");
        if !(1..=100).contains(&names.len()) {
            return limits::invalid("AlarmNames must hold 1 to 100");
        }
        let mut missing = None;
        for name in names {
            if self.described.remove(name).is_none() {
                missing = Some(name);
            }
            self.tags.remove(name);
        }
        match missing {
            Some(name) => Err(Refused::new(404, "ResourceNotFound", format!("Alarm {name} does not exist"))),
            None => Ok(object(Vec::new())),
        }
    }

    fn set_alarm_state(&mut self, body: &Value) -> Result<Value, Refused> {
        let asked = ["AlarmName", "StateValue", "StateReason"].map(|name| text(body, name));
        let [Some(name), Some(state), Some(reason)] = asked else {
            return limits::invalid("AlarmName, StateValue and StateReason are required");
        };
        if !["OK", "ALARM", "INSUFFICIENT_DATA"].contains(&state) || reason.len() > 1023 {
            return limits::invalid(
                "a state is OK, ALARM or INSUFFICIENT_DATA, its reason at most 1023 long",
            );
        }
        if !self.described.contains_key(name) {
            return Err(Refused::new(404, "ResourceNotFound", format!("Alarm {name} does not exist")));
        }
        if !allowed(&mut self.states_left) {
            return Err(denied("cloudwatch:SetAlarmState", name));
        }
        self.set_state(name, state, Duration::ZERO);
        self.edit(name, "StateReason", reason.into());
        self.states.push((name.to_owned(), state.to_owned(), reason.to_owned()));
        Ok(object(Vec::new()))
    }

    fn tag_resource(&mut self, body: &Value) -> Result<Value, Refused> {
        let resource = text(body, "ResourceARN").unwrap_or_default();
        let name = resource.split(":alarm:").nth(1).unwrap_or_default().to_owned();
        if self.tags_denied {
            return Err(denied("cloudwatch:TagResource", &name));
        }
        if !self.described.contains_key(&name) {
            return Err(Refused::new(404, "ResourceNotFoundException", "no such resource"));
        }
        self.tags.entry(name).or_default().extend(pairs(body, "Tags"));
        Ok(object(Vec::new()))
    }
}

/// Takes one off what is left.
fn allowed(left: &mut Option<usize>) -> bool {
    match left {
        Some(0) => return false,
        Some(left) => *left -= 1,
        None => {}
    }
    true
}

fn denied(action: &str, name: &str) -> Refused {
    let who = "User: arn:aws:sts::123456789012:assumed-role/ops/i-1";
    let message = format!("{who} is not authorized to perform: {action} on resource: {}", arn(name));
    Refused::new(403, "AccessDenied", message)
}

fn arn(name: &str) -> String {
    format!("arn:aws:cloudwatch:eu-west-1:123456789012:alarm:{name}")
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn timestamp(at: Duration) -> Value {
    Value::Tag(1, Box::new(at.as_secs_f64().into()))
}

fn texts<'a>(body: &'a Value, name: &str) -> Vec<&'a str> {
    let list = member(body, name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_text).collect()
}

fn pairs(body: &Value, name: &str) -> Vec<(String, String)> {
    let list = member(body, name).and_then(Value::as_array);
    let pair = |tag: &Value| Some((text(tag, "Key")?.to_owned(), text(tag, "Value")?.to_owned()));
    list.into_iter().flatten().filter_map(pair).collect()
}
