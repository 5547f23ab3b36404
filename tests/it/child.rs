//! Tests that need an environment of their own.

use std::process::Command;

/// Runs one test again, in a process of its own with these variables and no AWS ones: the environment
/// and the certificates are read once per process.
pub fn in_a_child(test: &str, variables: &[(&str, &str)]) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().to_lowercase();
        if text.starts_with("aws_") || text.ends_with("_proxy") || text == "home" || text == "ssl_cert_file" {
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
