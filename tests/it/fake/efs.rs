//! EFS, as far as it tells of file systems and mount targets (EFS API reference, version 2015-02-01): pages, errors by
//! name, and nothing to who is not signed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{Answer, Reply, Request, Server};

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// 429, ThrottlingException.
    Throttled,
    /// 403, AccessDeniedException, to every request for a path that ends so.
    Denied(&'static str),
    /// Every page names another one after it.
    Endless,
    /// 200 with nothing in it, as from a portal.
    Empty,
}

/// A mount target.
#[derive(Clone, Debug)]
pub struct MountTarget {
    pub file_system: &'static str,
    pub ipv4: Option<&'static str>,
    pub ipv6: Option<&'static str>,
    pub state: &'static str,
}

pub struct Efs {
    server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    file_systems: Vec<&'static str>,
    /// What DescribeFileSystems says besides what it says of all.
    descriptions: BTreeMap<&'static str, Value>,
    mount_targets: Vec<MountTarget>,
    page: usize,
    fault: Option<(Fault, usize)>,
    requests: Vec<String>,
}

impl Efs {
    /// An account with nothing, whose answers hold two entries a page.
    pub fn start() -> Efs {
        let state = Arc::new(Mutex::new(State { page: 2, ..State::default() }));
        let shared = state.clone();
        Efs { server: Server::start(None, move |request| answer(&shared, &request)), state }
    }

    /// What AWS_ENDPOINT_URL_EFS takes.
    pub fn url(&self) -> String {
        self.server.url()
    }

    pub fn create(&self, file_system: &'static str, addresses: &[&'static str]) {
        let mut state = self.state.lock().unwrap();
        state.file_systems.push(file_system);
        for address in addresses {
            let (ipv4, ipv6) =
                if address.contains(':') { (None, Some(*address)) } else { (Some(*address), None) };
            state.mount_targets.push(MountTarget { file_system, ipv4, ipv6, state: "available" });
        }
    }

    /// Members of its description, in place of those that all have.
    pub fn describe(&self, file_system: &'static str, members: Value) {
        self.state.lock().unwrap().descriptions.insert(file_system, members);
    }

    /// Entries of a page.
    pub fn set_page(&self, entries: usize) {
        self.state.lock().unwrap().page = entries;
    }

    pub fn add(&self, mount_target: MountTarget) {
        self.state.lock().unwrap().mount_targets.push(mount_target);
    }

    pub fn delete(&self, file_system: &str) {
        let mut state = self.state.lock().unwrap();
        state.file_systems.retain(|id| *id != file_system);
        state.mount_targets.retain(|target| target.file_system != file_system);
    }

    /// The next `requests` go wrong.
    pub fn fail_next(&self, requests: usize, fault: Fault) {
        self.state.lock().unwrap().fault = Some((fault, requests));
    }

    /// Path and query of every request so far.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }
}

fn answer(state: &Mutex<State>, request: &Request) -> Reply {
    let mut state = state.lock().unwrap();
    let asked = format!("{}?{}", request.path, request.query);
    state.requests.push(asked);
    let scope = "/elasticfilesystem/aws4_request";
    if !request.header("authorization").is_some_and(|signature| signature.contains(scope)) {
        return error(403, "MissingAuthenticationTokenException", "not signed");
    }
    let mut fault = None;
    if let Some((kind, left)) = &mut state.fault
        && *left > 0
        && !matches!(kind, Fault::Denied(path) if !request.path.ends_with(*path))
    {
        *left -= 1;
        fault = Some(*kind);
    }
    let parameter = |name: &str| {
        let mut pairs = request.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
    };
    let list: Vec<Value> = match (request.method.as_str(), request.path.as_str(), fault) {
        (_, _, Some(Fault::Empty)) => {
            return Reply::Answer(Answer { status: 200, headers: Vec::new(), body: Vec::new() });
        }
        (_, _, Some(Fault::Throttled)) => return error(429, "ThrottlingException", "Rate exceeded"),
        (_, _, Some(Fault::Denied(_))) => {
            return error(
                403,
                "AccessDeniedException",
                "User: arn:aws:sts::123456789012:assumed-role/web/i-0 is not authorized",
            );
        }
        ("GET", "/2015-02-01/file-systems", _) => {
            let wanted = parameter("FileSystemId");
            if wanted.is_some_and(|wanted| !state.file_systems.contains(&wanted)) {
                return error(404, "FileSystemNotFound", "File system does not exist");
            }
            let listed = state.file_systems.iter().filter(|id| wanted.is_none_or(|wanted| wanted == **id));
            listed.map(|id| file_system(id, state.descriptions.get(id))).collect()
        }
        ("GET", "/2015-02-01/mount-targets", _) => {
            let id = parameter("FileSystemId").unwrap();
            if !state.file_systems.contains(&id) {
                return error(404, "FileSystemNotFound", "File system does not exist");
            }
            let with = state.mount_targets.iter().enumerate().filter(|(_, target)| target.file_system == id);
            with.map(|(number, target)| mount_target(number, target)).collect()
        }
        _ => return error(404, "UnknownOperationException", ""),
    };
    let from: usize =
        parameter("Marker").map_or(0, |marker| marker.strip_prefix("page%2F").unwrap().parse().unwrap());
    let end = (from + state.page).min(list.len());
    let mut body = json!({});
    let key = if request.path.ends_with("file-systems") { "FileSystems" } else { "MountTargets" };
    body[key] = json!(list[from.min(end)..end]);
    if end < list.len() || fault == Some(Fault::Endless) {
        body["NextMarker"] = json!(format!("page/{end}"));
    }
    reply(200, None, &body)
}

fn file_system(id: &str, members: Option<&Value>) -> Value {
    let mut described = json!({
        "OwnerId": "123456789012", "CreationToken": id, "FileSystemId": id, "CreationTime": 1.79e9,
        "LifeCycleState": "available", "NumberOfMountTargets": 1, "SizeInBytes": {"Value": 6144},
        "PerformanceMode": "generalPurpose", "Tags": [],
    });
    for (name, value) in members.and_then(Value::as_object).into_iter().flatten() {
        described[name] = value.clone();
    }
    described
}

fn mount_target(number: usize, target: &MountTarget) -> Value {
    let mut value = json!({
        "OwnerId": "123456789012", "MountTargetId": format!("fsmt-{number:017x}"), "FileSystemId": target.file_system,
        "SubnetId": "subnet-0123456789abcdef0", "LifeCycleState": target.state, "VpcId": "vpc-0123456789abcdef0",
        "NetworkInterfaceId": "eni-0123456789abcdef0", "AvailabilityZoneId": "euw1-az1",
        "AvailabilityZoneName": "eu-west-1a",
    });
    for (key, address) in [("IpAddress", target.ipv4), ("Ipv6Address", target.ipv6)] {
        if let Some(address) = address {
            value[key] = json!(address);
        }
    }
    value
}

fn error(status: u16, code: &str, message: &str) -> Reply {
    reply(status, Some(code), &json!({ "ErrorCode": code, "Message": message, "message": message }))
}

fn reply(status: u16, error: Option<&str>, body: &Value) -> Reply {
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(error.map(|code| ("x-amzn-errortype", code.to_owned())));
    Reply::Answer(Answer { status, headers, body: body.to_string().into_bytes() })
}
