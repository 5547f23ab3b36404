//! A strict CloudWatch over rpc-v2-cbor, which is all that the Rust SDK speaks. It refuses what AWS refuses, keeps
//! every datum and request, and fails when told to.

pub mod alarms;
pub mod dashboards;
pub mod metric_data;

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciborium::Value;
use flate2::read::GzDecoder;

use super::limits::{self, Recorded, Refusal};
use super::server::{Answer, Opener, Reply, Request, Server};
use super::tls::Certificate;

/// What goes wrong with a request. Only the last two let its data in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// 400, code Throttling: how CloudWatch's query protocol says it.
    Throttling,
    /// 429, ThrottlingException.
    TooManyRequests,
    /// 503 with a body that is not CBOR, as a load balancer gives it.
    ServiceUnavailable,
    /// 500, InternalServiceError.
    InternalError,
    /// 413 with a body that is not CBOR.
    TooLarge,
    AccessDenied,
    ExpiredToken,
    /// Of a key that AWS does not know, with status 400.
    UnknownKey,
    /// The error of a bad datum, without the header `x-amzn-query-error`.
    InvalidWithoutHeader,
    /// 200 from something that is not CloudWatch.
    Portal,
    /// 200 from something that says nothing.
    Nothing,
    /// A TCP reset after the request was read.
    Reset,
    /// The request is read and never answered.
    Mute,
    /// The data are taken, and the connection is closed before the answer.
    CloseAfterAccepting,
    /// The data are taken, and the answer comes this much later.
    Slow(Duration),
}

/// A request for anything but PutMetricData, whatever became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `PutDashboard`.
    pub operation: String,
    /// Its parameters.
    pub body: Value,
}

/// A PutMetricData request, whatever became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Put {
    /// Since 1970, by the machine's clock.
    pub at: Duration,
    /// Of the body, on the wire.
    pub bytes: usize,
    pub gzip: bool,
    /// Whether it carried an AWS Signature Version 4 for the service `monitoring`.
    pub signed: bool,
    /// The access key that signed it.
    pub key: String,
    /// How many data it put.
    pub accepted: usize,
}

pub struct CloudWatch {
    server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    now: Option<Duration>,
    faults: VecDeque<Fault>,
    puts: Vec<Put>,
    data: Vec<Recorded>,
    refused_key: Option<(&'static str, Fault)>,
    accepting: Option<Box<dyn FnMut(usize) + Send>>,
    calls: Vec<Call>,
    call_faults: Vec<(&'static str, usize, Fault)>,
    dashboards: dashboards::Dashboards,
    alarms: alarms::Alarms,
    metric_data: metric_data::MetricData,
}

impl CloudWatch {
    pub fn start() -> CloudWatch {
        CloudWatch::serve(None)
    }

    /// Over TLS: clients need SSL_CERT_FILE=[`Certificate::authority`].
    pub fn start_tls(certificate: &Certificate) -> CloudWatch {
        CloudWatch::serve(Some(certificate.acceptor.clone()))
    }

    /// Connections are refused until it is opened.
    pub fn start_shut() -> (CloudWatch, Opener) {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let (server, opener) = Server::start_shut(move |request| answer_to(&shared, &request));
        (CloudWatch { server, state }, opener)
    }

    fn serve(tls: Option<tokio_rustls::TlsAcceptor>) -> CloudWatch {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        CloudWatch { server: Server::start(tls, move |request| answer_to(&shared, &request)), state }
    }

    /// What AWS_ENDPOINT_URL takes.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The time (since 1970) that timestamps are held against, in place of the machine's.
    pub fn set_now(&self, now: Duration) {
        self.state.lock().unwrap().now = Some(now);
    }

    /// The next `requests` requests meet this fault, after those that are lined up already.
    pub fn fail_next(&self, requests: usize, fault: Fault) {
        self.state.lock().unwrap().faults.extend(std::iter::repeat_n(fault, requests));
    }

    /// Requests signed with this access key meet [`Fault::ExpiredToken`].
    pub fn expire(&self, access_key: &'static str) {
        self.refuse_key(access_key, Fault::ExpiredToken);
    }

    /// Requests signed with this access key meet this fault.
    pub fn refuse_key(&self, access_key: &'static str, fault: Fault) {
        self.state.lock().unwrap().refused_key = Some((access_key, fault));
    }

    /// No more faults.
    pub fn recover(&self) {
        self.state.lock().unwrap().faults.clear();
    }

    /// Called with the number of accepted requests whenever one's data are in and its answer is not yet sent: the
    /// moment to kill the sender.
    pub fn on_accepting(&self, hook: impl FnMut(usize) + Send + 'static) {
        self.state.lock().unwrap().accepting = Some(Box::new(hook));
    }

    /// The next `requests` requests for `operation`, other than PutMetricData, meet this fault.
    pub fn fail_calls(&self, operation: &'static str, requests: usize, fault: Fault) {
        self.state.lock().unwrap().call_faults.push((operation, requests, fault));
    }

    /// Every request but PutMetricData so far, in order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.state.lock().unwrap().calls.clone()
    }

    /// How many requests for `operation` there were.
    pub fn called(&self, operation: &str) -> usize {
        self.calls().iter().filter(|call| call.operation == operation).count()
    }

    /// The dashboards, to look at and to change by another hand.
    pub fn dashboards<T>(&self, look: impl FnOnce(&mut dashboards::Dashboards) -> T) -> T {
        look(&mut self.state.lock().unwrap().dashboards)
    }

    /// The alarms, to look at and to change by another hand.
    pub fn alarms<T>(&self, look: impl FnOnce(&mut alarms::Alarms) -> T) -> T {
        look(&mut self.state.lock().unwrap().alarms)
    }

    /// What GetMetricData answers from.
    pub fn metric_data<T>(&self, look: impl FnOnce(&mut metric_data::MetricData) -> T) -> T {
        look(&mut self.state.lock().unwrap().metric_data)
    }

    /// How many connections were made so far.
    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    /// Every request so far, in order of arrival.
    pub fn puts(&self) -> Vec<Put> {
        self.state.lock().unwrap().puts.clone()
    }

    /// Every datum so far, in order of arrival.
    pub fn data(&self) -> Vec<Recorded> {
        self.state.lock().unwrap().data.clone()
    }
}

const PATH: &str = "/service/GraniteServiceVersion20100801/operation/";

fn answer_to(state: &Mutex<State>, request: &Request) -> Reply {
    match request.path.strip_prefix(PATH) {
        Some(operation) if operation != "PutMetricData" => call(state, operation, request),
        _ => put(state, request),
    }
}

/// Every operation but PutMetricData.
fn call(state: &Mutex<State>, operation: &str, request: &Request) -> Reply {
    let mut state = state.lock().unwrap();
    let body = match plain_body(request) {
        Ok(body) => body,
        Err(refusal) => return refused(&refusal),
    };
    let body: Value = ciborium::from_reader(body.as_slice()).unwrap_or(Value::Null);
    state.calls.push(Call { operation: operation.to_owned(), body: body.clone() });
    state.alarms.count(operation);
    let lined_up = state.call_faults.iter_mut().find(|(of, left, _)| *of == operation && *left > 0);
    if let Some((_, left, fault)) = lined_up {
        *left -= 1;
        let fault = *fault;
        if fault == Fault::AccessDenied {
            return denied(operation);
        }
        if let Some(reply) = instead(fault) {
            return reply;
        }
    }
    let State { dashboards, alarms, metric_data, .. } = &mut *state;
    let answered = dashboards
        .answer(operation, &body)
        .or_else(|| alarms.answer(operation, &body))
        .or_else(|| metric_data.answer(operation, &body));
    match answered {
        Some(Ok(answered)) => {
            let mut body = Vec::new();
            ciborium::into_writer(&answered, &mut body).unwrap();
            Reply::Answer(answer(200, Vec::new(), body))
        }
        Some(Err(Refused { status, code, members })) => {
            let headers = vec![("x-amzn-query-error", format!("{code};Sender"))];
            let kind = (Value::from("__type"), Value::from(format!("com.amazonaws.cloudwatch#{code}")));
            let mut body = Vec::new();
            ciborium::into_writer(&Value::Map([vec![kind], members].concat()), &mut body).unwrap();
            Reply::Answer(answer(status, headers, body))
        }
        None => error(404, "UnknownOperationException", "UnknownOperationException", operation),
    }
}

/// Why an operation is refused: `message` is one of the members.
pub struct Refused {
    pub status: u16,
    /// The name of the shape: `ResourceNotFound`.
    pub code: &'static str,
    pub members: Vec<(Value, Value)>,
}

impl Refused {
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Refused {
        Refused { status, code, members: vec![(Value::from("message"), Value::from(message.into()))] }
    }
}

/// A member of a CBOR map.
pub fn member<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
}

/// A member that is a text.
pub fn text<'a>(map: &'a Value, name: &str) -> Option<&'a str> {
    member(map, name)?.as_text()
}

/// A CBOR map.
pub fn object(members: Vec<(&str, Value)>) -> Value {
    Value::Map(members.into_iter().map(|(name, value)| (Value::from(name), value)).collect())
}

fn put(state: &Mutex<State>, request: &Request) -> Reply {
    let mut state = state.lock().unwrap();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (gzip, signed) = (is_gzip(request), is_signed(request));
    let bytes = request.body.len();
    let key = request.header("authorization").and_then(|value| value.split(['=', '/']).nth(1));
    let put = Put { at: wall, bytes, gzip, signed, key: key.unwrap_or_default().to_owned(), accepted: 0 };
    state.puts.push(put);
    let refused_key = state.refused_key.filter(|(refused, _)| key == Some(refused));
    let fault = refused_key.map(|(_, fault)| fault).or_else(|| state.faults.pop_front());
    if let Some(reply) = fault.and_then(instead) {
        return reply;
    }
    let data = match accepted(request, state.now.unwrap_or(wall)) {
        Ok(data) => data,
        Err(refusal) => return refused(&refusal),
    };
    if let Some(put) = state.puts.last_mut() {
        put.accepted = data.len();
    }
    state.data.extend(data);
    let count = state.puts.iter().filter(|put| put.accepted > 0).count();
    if let Some(hook) = &mut state.accepting {
        hook(count);
    }
    match fault {
        Some(Fault::CloseAfterAccepting) => Reply::Close,
        Some(Fault::Slow(pause)) => Reply::Late(pause, answer(200, Vec::new(), map(&[]))),
        _ => Reply::Answer(answer(200, Vec::new(), map(&[]))),
    }
}

/// The reply that takes the place of a real one.
fn instead(fault: Fault) -> Option<Reply> {
    Some(match fault {
        Fault::Throttling => error(400, "Throttling", "Throttling", "Rate exceeded"),
        Fault::TooManyRequests => error(429, "ThrottlingException", "ThrottlingException", "Rate exceeded"),
        Fault::InternalError => error(500, "InternalServiceError", "InternalServiceFault", "try again"),
        Fault::AccessDenied => denied("PutMetricData"),
        Fault::ExpiredToken => error(
            403,
            "ExpiredToken",
            "ExpiredTokenException",
            "The security token included in the request is expired",
        ),
        Fault::UnknownKey => error(
            400,
            "InvalidClientTokenId",
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        Fault::InvalidWithoutHeader => {
            let body = error_body("InvalidParameterValueException", "The value NaN is invalid");
            Reply::Answer(answer(400, Vec::new(), body))
        }
        Fault::ServiceUnavailable => html(503, "<html><body><h1>503 Service Unavailable</h1></body></html>"),
        Fault::TooLarge => html(413, "<html><body><h1>413 Request Entity Too Large</h1></body></html>"),
        Fault::Portal => html(200, "<html><body>Welcome! Please log in.</body></html>"),
        Fault::Nothing => Reply::Answer(Answer { status: 200, headers: Vec::new(), body: Vec::new() }),
        Fault::Reset => Reply::Reset,
        Fault::Mute => Reply::Mute,
        Fault::CloseAfterAccepting | Fault::Slow(_) => return None,
    })
}

fn denied(operation: &str) -> Reply {
    let message = format!(
        "User: arn:aws:sts::123456789012:assumed-role/web/i-1 is not authorized to perform: cloudwatch:{operation}"
    );
    error(403, "AccessDenied", "AccessDeniedException", &message)
}

fn accepted(request: &Request, now: Duration) -> Result<Vec<Recorded>, Refusal> {
    if request.method != "POST" || request.path.strip_prefix(PATH) != Some("PutMetricData") {
        return refusal("UnknownOperationException", "only CloudWatch's operations are known here");
    }
    limits::check(&plain_body(request)?, now)
}

fn refusal<T>(code: &'static str, message: &str) -> Result<T, Refusal> {
    Err(Refusal { code, message: message.to_owned() })
}

/// The body, unpacked, of a request that is what CloudWatch takes.
fn plain_body(request: &Request) -> Result<Vec<u8>, Refusal> {
    if request.header("smithy-protocol") != Some("rpc-v2-cbor")
        || request.header("content-type") != Some("application/cbor")
    {
        return refusal("UnknownOperationException", "only rpc-v2-cbor is spoken here");
    }
    if !is_signed(request) {
        return refusal("MissingAuthenticationToken", "the request is not signed for monitoring");
    }
    let mut body = Vec::new();
    if is_gzip(request) {
        // One byte more than the limit is enough to see that it is passed.
        let mut plain = GzDecoder::new(request.body.as_ref()).take(limits::BODY as u64 + 1);
        if plain.read_to_end(&mut body).is_err() {
            return refusal("SerializationException", "the body is not gzip");
        }
    } else {
        body.extend_from_slice(&request.body);
    }
    Ok(body)
}

fn is_gzip(request: &Request) -> bool {
    request.header("content-encoding") == Some("gzip")
}

fn is_signed(request: &Request) -> bool {
    request.header("authorization").is_some_and(|value| {
        value.starts_with("AWS4-HMAC-SHA256 ") && value.contains("/monitoring/aws4_request")
    })
}

fn refused(refusal: &Refusal) -> Reply {
    let status = match refusal.code {
        "RequestEntityTooLarge" => 413,
        "MissingAuthenticationToken" => 403,
        "UnknownOperationException" => 404,
        _ => 400,
    };
    let shape = match refusal.code {
        "InvalidParameterValue" => "InvalidParameterValueException",
        "InvalidParameterCombination" => "InvalidParameterCombinationException",
        "MissingParameter" => "MissingRequiredParameterException",
        other => other,
    };
    error(status, refusal.code, shape, &refusal.message)
}

/// CloudWatch's error: the shape's name in the body, the query protocol's code in a header (Smithy, awsQueryCompatible).
fn error(status: u16, code: &str, shape: &str, message: &str) -> Reply {
    let side = if status < 500 { "Sender" } else { "Receiver" };
    let headers = vec![("x-amzn-query-error", format!("{code};{side}"))];
    Reply::Answer(answer(status, headers, error_body(shape, message)))
}

fn error_body(shape: &str, message: &str) -> Vec<u8> {
    map(&[("__type", &format!("com.amazonaws.cloudwatch#{shape}")), ("message", message)])
}

fn answer(status: u16, mut headers: Vec<(&'static str, String)>, body: Vec<u8>) -> Answer {
    headers.push(("smithy-protocol", "rpc-v2-cbor".to_owned()));
    headers.push(("content-type", "application/cbor".to_owned()));
    headers.push(("x-amzn-requestid", "7a62c49f-347e-4fc4-9331-6e8eexample0".to_owned()));
    Answer { status, headers, body }
}

fn html(status: u16, body: &str) -> Reply {
    Reply::Answer(Answer {
        status,
        headers: vec![("content-type", "text/html".to_owned())],
        body: body.into(),
    })
}

fn map(entries: &[(&str, &str)]) -> Vec<u8> {
    let entries = entries.iter().map(|(name, value)| (Value::from(*name), Value::from(*value))).collect();
    let mut body = Vec::new();
    ciborium::into_writer(&Value::Map(entries), &mut body).unwrap();
    body
}
