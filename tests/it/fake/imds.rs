//! The instance metadata service, version 2 only, as EC2 serves it at 169.254.169.254 (EC2 User Guide, "Use the
//! Instance Metadata Service"), with the ways in which it fails people.

use std::sync::{Arc, Mutex};

use super::server::{Answer, Reply, Request, Server};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    Ok,
    /// No identity document, as on some emulators.
    NoDocument,
    /// The answer to the token request never arrives: the hop limit is used up.
    TokenSilent,
    /// Every token is refused with 401 when it is used.
    TokenRefused,
    /// Every request is answered with this status.
    Status(u16),
}

pub struct Imds {
    server: Server,
    state: Arc<Mutex<State>>,
}

struct State {
    mode: Mode,
    requests: Vec<String>,
}

const TOKEN: &str = "AQAEAExample==";

impl Imds {
    pub fn start(mode: Mode) -> Imds {
        let state = Arc::new(Mutex::new(State { mode, requests: Vec::new() }));
        let shared = state.clone();
        Imds { server: Server::start(None, move |request| answer(&shared, &request)), state }
    }

    /// What AWS_EC2_METADATA_SERVICE_ENDPOINT takes.
    pub fn url(&self) -> String {
        self.server.url()
    }

    pub fn set_mode(&self, mode: Mode) {
        self.state.lock().unwrap().mode = mode;
    }

    /// Method and path of every request so far.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }
}

fn answer(state: &Mutex<State>, request: &Request) -> Reply {
    let mut state = state.lock().unwrap();
    state.requests.push(format!("{} {}", request.method, request.path));
    if let Mode::Status(status) = state.mode {
        return text(status, "");
    }
    if request.path == "/latest/api/token" {
        let Some(ttl) = request.header("x-aws-ec2-metadata-token-ttl-seconds") else { return text(400, "") };
        return match (request.method.as_str(), state.mode, request.header("x-forwarded-for")) {
            ("PUT", Mode::TokenSilent, _) => Reply::Mute,
            ("PUT", _, None) => Reply::Answer(Answer {
                status: 200,
                headers: vec![("x-aws-ec2-metadata-token-ttl-seconds", ttl.to_owned())],
                body: TOKEN.into(),
            }),
            ("PUT", _, Some(_)) => text(403, ""),
            _ => text(405, ""),
        };
    }
    if state.mode == Mode::TokenRefused || request.header("x-aws-ec2-metadata-token") != Some(TOKEN) {
        return text(401, "");
    }
    match request.path.as_str() {
        "/latest/dynamic/instance-identity/document" if state.mode != Mode::NoDocument => text(
            200,
            r#"{"accountId":"123456789012","architecture":"x86_64","availabilityZone":"eu-west-1b","imageId":"ami-0abc",
                "instanceId":"i-0123456789abcdef0","instanceType":"m7g.large","pendingTime":"2026-11-30T10:00:00Z",
                "privateIp":"10.0.1.5","region":"eu-west-1","version":"2017-09-30","billingProducts":null}"#,
        ),
        "/latest/meta-data/instance-id" => text(200, "i-0123456789abcdef0"),
        "/latest/meta-data/placement/region" => text(200, "eu-west-1"),
        "/latest/meta-data/placement/availability-zone" => text(200, "eu-west-1b"),
        _ => text(404, ""),
    }
}

fn text(status: u16, body: &str) -> Reply {
    Reply::Answer(Answer {
        status,
        headers: vec![("content-type", "text/plain".to_owned())],
        body: body.into(),
    })
}
