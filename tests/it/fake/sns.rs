//! GetTopicAttributes of Amazon SNS, as its API reference has it: the query protocol and XML.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::query;
use super::server::{Reply, Request, Server};

const NAMESPACE: &str = "http://sns.amazonaws.com/doc/2010-03-31/";

pub struct Sns {
    server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Each with how many subscriptions are confirmed.
    topics: BTreeMap<&'static str, usize>,
    denied: bool,
    asked: Vec<String>,
}

impl Sns {
    /// Without a topic.
    pub fn start() -> Sns {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        Sns { server: Server::start(None, move |request| answer(&shared, &request)), state }
    }

    /// What AWS_ENDPOINT_URL_SNS takes.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// With one subscription.
    pub fn create(&self, topic: &'static str) {
        self.subscribe(topic, 1);
    }

    pub fn subscribe(&self, topic: &'static str, confirmed: usize) {
        self.state.lock().unwrap().topics.insert(topic, confirmed);
    }

    pub fn delete(&self, topic: &str) {
        assert!(self.state.lock().unwrap().topics.remove(topic).is_some());
    }

    /// The role may not ask.
    pub fn deny(&self) {
        self.state.lock().unwrap().denied = true;
    }

    /// The topic of every call so far.
    pub fn asked(&self) -> Vec<String> {
        self.state.lock().unwrap().asked.clone()
    }
}

fn answer(state: &Mutex<State>, request: &Request) -> Reply {
    let mut state = state.lock().unwrap();
    let error = |status, code, message: &str| query::error(NAMESPACE, status, code, message);
    if !request.header("authorization").is_some_and(|value| value.contains("/sns/aws4_request")) {
        return error(403, "MissingAuthenticationToken", "Request is missing Authentication Token");
    }
    if (request.method.as_str(), query::parameter(request, "Action").as_deref())
        != ("POST", Some("GetTopicAttributes"))
    {
        return error(400, "InvalidAction", "Could not find operation");
    }
    let topic = query::parameter(request, "TopicArn").unwrap();
    state.asked.push(topic.clone());
    if state.denied {
        let who = "User: arn:aws:sts::123456789012:assumed-role/ops/i-1";
        let message =
            format!("{who} is not authorized to perform: SNS:GetTopicAttributes on resource: {topic}");
        return error(403, "AuthorizationError", &message);
    }
    let Some(confirmed) = state.topics.get(topic.as_str()) else {
        return error(404, "NotFound", "Topic does not exist");
    };
    query::xml(
        200,
        &format!(
            "<GetTopicAttributesResponse xmlns=\"{NAMESPACE}\"><GetTopicAttributesResult>\
             <Attributes><entry><key>TopicArn</key><value>{topic}</value></entry>\
             <entry><key>SubscriptionsConfirmed</key><value>{confirmed}</value></entry></Attributes>\
             </GetTopicAttributesResult><ResponseMetadata><RequestId>01234567-89ab-cdef-0123-456789abcdef</RequestId>\
             </ResponseMetadata></GetTopicAttributesResponse>"
        ),
    )
}
