//! An AWS account on loopback, and the program as somebody runs it who has its credentials.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::fake::cloudwatch::CloudWatch;
use crate::fake::efs::Efs;
use crate::fake::sns::Sns;

pub struct Account {
    pub cloudwatch: CloudWatch,
    pub efs: Efs,
    pub sns: Sns,
    /// Where the program runs; relative paths in arguments lie below it.
    directory: TempDir,
}

impl Account {
    /// With no file system, no dashboard and no alarm.
    pub fn start() -> Account {
        let account = Account {
            cloudwatch: CloudWatch::start(),
            efs: Efs::start(),
            sns: Sns::start(),
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::write(account.path().join("efsmon.toml"), "").unwrap();
        account
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// `efsmon ARGUMENTS`, in eu-west-1; with the configuration of `efsmon.toml` below [`Account::path`], which is empty
    /// until it is written, where the command takes `--config efsmon.toml`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_efsmon"));
        command
            .args(arguments)
            .env_clear()
            .envs([
                ("AWS_ACCESS_KEY_ID", "test"),
                ("AWS_SECRET_ACCESS_KEY", "test"),
                ("AWS_REGION", "eu-west-1"),
                ("AWS_EC2_METADATA_DISABLED", "true"),
                ("HOME", "/nonexistent"),
            ])
            .env("AWS_ENDPOINT_URL_CLOUDWATCH", self.cloudwatch.url())
            .env("AWS_ENDPOINT_URL_EFS", self.efs.url())
            .env("AWS_ENDPOINT_URL_SNS", self.sns.url())
            .current_dir(self.path());
        command
    }

    /// Runs [`Account::command`] to its end; nobody is at its standard input.
    pub fn efsmon(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(std::process::Stdio::null()).output().unwrap()
    }
}
