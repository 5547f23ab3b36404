//! Tests that need an environment of their own.

use std::process::Command;

/// Runs one test again, in a process of its own with these variables and no AWS ones: the environment
/// and the certificates are read once per process.
pub fn in_a_child(test: &str, variables: &[(&str, &str)]) {
    run(Command::new(std::env::current_exe().unwrap()), test, variables);
}

/// The same in a network that has nothing but a loopback and these addresses, all of them the child's own.
pub fn in_a_network_of(addresses: &[&str], test: &str, variables: &[(&str, &str)]) {
    let add = |address: &&str| {
        let length = if address.contains(':') { "128 nodad" } else { "32" };
        format!("ip address add dev lo {address}/{length} && ")
    };
    let script: String = addresses.iter().map(add).collect();
    let mut child = Command::new("unshare");
    child.args(["--user", "--map-root-user", "--net", "sh", "-c"]);
    child.arg(format!("ip link set lo up && {script} exec \"$0\" \"$@\""));
    child.arg(std::env::current_exe().unwrap());
    run(child, test, variables);
}

fn run(mut child: Command, test: &str, variables: &[(&str, &str)]) {
    child.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().to_lowercase();
        if text.starts_with("aws_")
            || text.ends_with("_proxy")
            || text == "home"
            || text == "ssl_cert_file"
            || text.starts_with("ecs_")
        {
            child.env_remove(&name);
        }
    }
    let output = child.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{variables:?}\n{text}\n{errors}");
}

const CHILD: &str = "EFSMON_TEST_CHILD";

pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}
