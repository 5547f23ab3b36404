//! What efsmon runs in, by the marks that containers bear.

use std::fs::File;

/// What efsmon runs in. A container's name is nobody's: the next one has another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// No container.
    Host,
    Container,
    /// Of Kubernetes.
    Pod,
    /// Of ECS: the agent's endpoint, and whether the environment says that the task has no instance of its own.
    Task {
        endpoint: String,
        on_fargate: bool,
    },
}

impl Surroundings {
    /// By the variables that ECS, Kubernetes and systemd-nspawn set, and the marks of Docker and Podman.
    pub fn of_this_process() -> Surroundings {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        if let Ok(endpoint) = std::env::var("ECS_CONTAINER_METADATA_URI_V4") {
            let on_fargate = std::env::var("AWS_EXECUTION_ENV").is_ok_and(|name| name == "AWS_ECS_FARGATE");
            return Surroundings::Task { endpoint, on_fargate };
        }
        if is_set("KUBERNETES_SERVICE_HOST") {
            return Surroundings::Pod;
        }
        let marks = ["/.dockerenv", "/run/.containerenv"];
        match is_set("container") || marks.iter().any(|mark| File::open(mark).is_ok()) {
            true => Surroundings::Container,
            false => Surroundings::Host,
        }
    }
}
