//! The built program as a process: started on a machine of files, watched through its log and its status, ended.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::machine::Machine;

/// Far more than anything here takes; a test that needs it has failed.
const PATIENCE: Duration = Duration::from_secs(180);

pub const HOST: &str = "i-0a1b2c3d4e5f60718";

/// How efsmon is started on a machine.
pub struct Efsmon<'a> {
    machine: &'a Machine,
    pub program: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl<'a> Efsmon<'a> {
    /// One sample a second, this host's id configured, no AWS; see the other methods.
    pub fn on(machine: &'a Machine) -> Efsmon<'a> {
        let directory = |name: &str| machine.path().join(name).to_string_lossy().into_owned();
        Efsmon { machine, program: vec![env!("CARGO_BIN_EXE_efsmon").to_owned()], environment: Vec::new() }
            .set("AWS_EC2_METADATA_DISABLED", "true")
            .set("HOME", &directory("home"))
            .set("PATH", "/usr/bin:/bin")
            .set("EFSMON_SAMPLE_INTERVAL", "1s")
            .set("EFSMON_RUNTIME_DIR", &directory("run"))
            .set("EFSMON_HOST__ID", HOST)
    }

    /// With credentials, a region, and CloudWatch at `url`.
    pub fn with_aws(self, url: &str) -> Efsmon<'a> {
        self.set("AWS_ENDPOINT_URL", url)
            .set("AWS_REGION", "eu-west-1")
            .set("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            .set("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    }

    pub fn set(mut self, name: &str, value: &str) -> Efsmon<'a> {
        self = self.unset(name);
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn unset(mut self, name: &str) -> Efsmon<'a> {
        self.environment.retain(|(known, _)| known != name);
        self
    }

    /// Nothing of the tests' own environment gets through.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]).args(arguments);
        let config = self.machine.path().join("efsmon.toml");
        if config.exists() {
            command.arg("--config").arg(config);
        }
        for (flag, folder) in
            [("--procfs", "proc"), ("--sysfs", "sys"), ("--efs-state", "efs"), ("--state-dir", "state")]
        {
            command.arg(flag).arg(self.machine.path().join(folder));
        }
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `efsmon ARGUMENTS`, to its end.
    pub fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// `efsmon run`, returned when it has taken its first sample.
    pub fn start(&self) -> Running<'a> {
        self.start_with(self.command(&["run"]))
    }

    pub fn start_with(&self, mut command: Command) -> Running<'a> {
        let _ = std::fs::remove_file(self.machine.path().join("run/status.json"));
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = child.stderr.take().unwrap();
        let reader = std::thread::spawn({
            let log = log.clone();
            move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    *log.lock().unwrap() += &(line + "\n");
                }
            }
        });
        let running = Running { machine: self.machine, child, log, reader: Some(reader) };
        running.wait_for("a first sample", |status| !status.is_null());
        running
    }
}

pub struct Running<'a> {
    machine: &'a Machine,
    child: Child,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Running<'_> {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// `status.json`, null while there is none.
    pub fn status(&self) -> Value {
        let status = std::fs::read(self.machine.path().join("run/status.json")).unwrap_or_default();
        serde_json::from_slice(&status).unwrap_or_default()
    }

    /// Waits until `status.json` is as it should be.
    pub fn wait_for(&self, what: &str, mut condition: impl FnMut(&Value) -> bool) -> Value {
        let mut status = Value::Null;
        self.wait(what, || {
            status = self.status();
            condition(&status)
        });
        status
    }

    /// Waits until one more sample was begun and ended.
    pub fn wait_for_a_sample(&self) {
        let tried = |status: &Value| {
            ["taken", "void"].iter().map(|kind| status["samples"][*kind].as_u64().unwrap()).sum::<u64>()
        };
        let before = tried(&self.status());
        self.wait_for("two more samples", |status| tried(status) >= before + 2);
    }

    pub fn wait_for_log(&self, text: &str) {
        self.wait(text, || self.log().contains(text));
    }

    pub fn wait(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition() {
            assert!(Instant::now() < deadline, "never: {what}\n{}\n{}", self.status(), self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// SIGTERM, and what it said until its end, which must be a good one.
    pub fn terminate(mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let (status, log) = self.end();
        assert!(status.success(), "{status}\n{log}");
        log
    }

    /// SIGKILL.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.end().1
    }

    /// Waits for its end.
    pub fn end(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        (status, self.log())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process that ended said, as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}
