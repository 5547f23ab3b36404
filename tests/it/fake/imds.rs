//! The instance metadata service, version 2 only, as EC2 serves it at 169.254.169.254 (EC2 User Guide, "Use the
//! Instance Metadata Service"), with the ways in which it fails people.

use std::net::{Ipv4Addr, SocketAddr};
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
    /// Which instance it is.
    id: String,
    /// What `tags/instance` lists; none where tags in metadata are not allowed.
    tags: Vec<(String, String)>,
    requests: Vec<String>,
}

pub const INSTANCE: &str = "i-0123456789abcdef0";

const TOKEN: &str = "AQAEAExample==";

impl Imds {
    pub fn start(mode: Mode) -> Imds {
        Imds::start_at((Ipv4Addr::LOCALHOST, 0).into(), mode)
    }

    /// At an address that this host has.
    pub fn start_at(address: SocketAddr, mode: Mode) -> Imds {
        let (tags, requests) = (Vec::new(), Vec::new());
        let state = State { mode, id: INSTANCE.to_owned(), tags, requests };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        Imds { server: Server::start_at(address, None, move |request| answer(&shared, &request)), state }
    }

    /// From now on another instance.
    pub fn set_instance(&self, id: &str) {
        self.state.lock().unwrap().id = id.to_owned();
    }

    pub fn set_tags(&self, tags: impl IntoIterator<Item = (String, String)>) {
        self.state.lock().unwrap().tags = tags.into_iter().collect();
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
    let key = request.path.strip_prefix("/latest/meta-data/tags/instance/");
    match request.path.as_str() {
        "/latest/dynamic/instance-identity/document" if state.mode != Mode::NoDocument => text(
            200,
            &r#"{"accountId":"123456789012","architecture":"x86_64","availabilityZone":"eu-west-1b","imageId":"ami-0abc",
                "instanceId":"ID","instanceType":"m7g.large","pendingTime":"2026-11-30T10:00:00Z",
                "privateIp":"10.0.1.5","region":"eu-west-1","version":"2017-09-30","billingProducts":null}"#
                .replace("ID", &state.id),
        ),
        "/latest/meta-data/instance-id" => text(200, &state.id),
        "/latest/meta-data/placement/region" => text(200, "eu-west-1"),
        "/latest/meta-data/placement/availability-zone" => text(200, "eu-west-1b"),
        "/latest/meta-data/placement/availability-zone-id" => text(200, "euw1-az2"),
        "/latest/meta-data/tags/instance" if !state.tags.is_empty() => {
            text(200, &state.tags.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join("\n"))
        }
        "/latest/meta-data/iam/security-credentials/" => text(200, "web"),
        "/latest/meta-data/iam/security-credentials/web" => text(
            200,
            r#"{"Code":"Success","LastUpdated":"2026-11-30T10:00:00Z","Type":"AWS-HMAC","AccessKeyId":"ASIAINSTANCE",
                "SecretAccessKey":"secret","Token":"token","Expiration":"2099-01-01T00:00:00Z"}"#,
        ),
        _ => match state.tags.iter().find(|(name, _)| Some(name.as_str()) == key) {
            Some((_, value)) => text(200, value),
            None => text(404, ""),
        },
    }
}

fn text(status: u16, body: &str) -> Reply {
    Reply::Answer(Answer {
        status,
        headers: vec![("content-type", "text/plain".to_owned())],
        body: body.into(),
    })
}
