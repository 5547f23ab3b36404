//! AssumeRole of AWS STS, as its API reference has it: the query protocol, XML, and sessions that end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::query;
use super::server::{Reply, Request, Server};

const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// One call, whatever became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub role_arn: String,
    pub session: String,
    pub external_id: Option<String>,
    /// The key that signed it, and the Region that it is signed for.
    pub key: String,
    pub region: String,
}

pub struct Sts {
    server: Server,
    state: Arc<Mutex<State>>,
}

struct State {
    /// What the role's trust policy asks for.
    external_id: Option<String>,
    /// How long a session lasts.
    lifetime: Duration,
    calls: Vec<Call>,
}

impl Sts {
    pub fn start() -> Sts {
        let (external_id, calls) = (None, Vec::new());
        let state = State { external_id, lifetime: Duration::from_secs(3600), calls };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        Sts { server: Server::start(None, move |request| answer(&shared, &request)), state }
    }

    /// What AWS_ENDPOINT_URL_STS takes.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Who does not give this id is refused.
    pub fn ask_for(&self, external_id: &str) {
        self.state.lock().unwrap().external_id = Some(external_id.to_owned());
    }

    pub fn set_lifetime(&self, lifetime: Duration) {
        self.state.lock().unwrap().lifetime = lifetime;
    }

    /// Every call so far.
    pub fn calls(&self) -> Vec<Call> {
        self.state.lock().unwrap().calls.clone()
    }
}

/// The access key of the session that the call at this place got, from 1.
pub fn session_key(place: usize) -> String {
    format!("ASIASESSION{place}")
}

fn answer(state: &Mutex<State>, request: &Request) -> Reply {
    let mut state = state.lock().unwrap();
    let error = |status, code, message: &str| query::error(NAMESPACE, status, code, message);
    let scope = request.header("authorization").and_then(|value| value.split_once("Credential="));
    let scope: Vec<&str> = scope.map(|(_, scope)| scope.split('/').collect()).unwrap_or_default();
    let [key, _, region, "sts", ..] = scope.as_slice() else {
        return error(403, "MissingAuthenticationToken", "Request is missing Authentication Token");
    };
    if (request.method.as_str(), query::parameter(request, "Action").as_deref())
        != ("POST", Some("AssumeRole"))
    {
        return error(400, "InvalidAction", "Could not find operation");
    }
    let (role_arn, session) = (
        query::parameter(request, "RoleArn").unwrap(),
        query::parameter(request, "RoleSessionName").unwrap(),
    );
    let external_id = query::parameter(request, "ExternalId");
    let allowed = state.external_id.is_none() || state.external_id == external_id;
    let (key, region) = ((*key).to_owned(), (*region).to_owned());
    let refusal = format!("User: {key} is not authorized to perform: sts:AssumeRole on resource: {role_arn}");
    let call = Call { role_arn: role_arn.clone(), session: session.clone(), external_id, key, region };
    state.calls.push(call);
    if !allowed {
        return error(403, "AccessDenied", &refusal);
    }
    let end = jiff::Timestamp::now() + jiff::SignedDuration::try_from(state.lifetime).unwrap();
    let key = session_key(state.calls.len());
    query::xml(
        200,
        &format!(
            "<AssumeRoleResponse xmlns=\"{NAMESPACE}\"><AssumeRoleResult>\
             <AssumedRoleUser><AssumedRoleId>AROAEXAMPLE:{session}</AssumedRoleId>\
             <Arn>arn:aws:sts::123456789012:assumed-role/efsmon/{session}</Arn></AssumedRoleUser>\
             <Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>\
             <SessionToken>token</SessionToken><Expiration>{end:.0}</Expiration></Credentials></AssumeRoleResult>\
             <ResponseMetadata><RequestId>01234567-89ab-cdef-0123-456789abcdef</RequestId></ResponseMetadata>\
             </AssumeRoleResponse>"
        ),
    )
}
