//! ECS's agent: the task metadata endpoint, version 4, and the credentials that it gives out (ECS developer guide).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use super::server::{Answer, Reply, Request, Server};

pub const TASK: &str = "158d1c8083dd49d6b527399fd6414f5c";

pub struct Agent {
    server: Server,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Agent {
    /// Of a task of this launch type.
    pub fn start(launch_type: &'static str) -> Agent {
        Agent::start_at((Ipv4Addr::LOCALHOST, 0).into(), launch_type)
    }

    /// At an address that this host has.
    pub fn start_at(address: SocketAddr, launch_type: &'static str) -> Agent {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let shared = requests.clone();
        let handler = move |request: Request| {
            shared.lock().unwrap().push(request.path.clone());
            answer(launch_type, &request.path)
        };
        Agent { server: Server::start_at(address, None, handler), requests }
    }

    /// The value of ECS_CONTAINER_METADATA_URI_V4.
    pub fn url(&self) -> String {
        format!("{}/v4/{TASK}-3081178370", self.server.url())
    }

    /// The path of every request so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(launch_type: &str, path: &str) -> Reply {
    let (status, body) = match path {
        "/v2/credentials" | "/v1/credentials" => (
            200,
            r#"{"AccessKeyId":"ASIATASK","SecretAccessKey":"secret","Token":"token",
                "Expiration":"2099-01-01T00:00:00Z"}"#
                .to_owned(),
        ),
        path if path == format!("/v4/{TASK}-3081178370/task") => (
            200,
            r#"{"Cluster":"arn:aws:ecs:eu-west-1:123456789012:cluster/web","ServiceName":"shop",
                "TaskARN":"arn:aws:ecs:eu-west-1:123456789012:task/web/TASK","Family":"shop","Revision":"7",
                "DesiredStatus":"RUNNING","KnownStatus":"RUNNING","AvailabilityZone":"eu-west-1a","LaunchType":"TYPE",
                "Containers":[{"DockerId":"TASK-3081178370","Name":"efsmon","Type":"NORMAL"}]}"#
                .replace("TASK", TASK)
                .replace("TYPE", launch_type),
        ),
        _ => (404, String::new()),
    };
    Reply::Answer(Answer {
        status,
        headers: vec![("content-type", "application/json".to_owned())],
        body: body.into(),
    })
}
