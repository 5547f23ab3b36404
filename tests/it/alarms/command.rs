//! `efsmon alarms` in an account with two file systems and a topic.

use serde_json::json;

use crate::account::Account;

/// In bursting mode.
pub const FS_A: &str = "fs-0123456789abcdef0";
/// In elastic mode.
pub const FS_B: &str = "fs-0fedcba9876543210";
pub const PAGES: &str = "arn:aws:sns:eu-west-1:123456789012:pages";
pub const TICKETS: &str = "arn:aws:sns:eu-west-1:123456789012:tickets";

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// With two file systems, two topics and no alarm.
pub fn account() -> Account {
    let account = Account::start();
    account.efs.create(FS_A, &[]);
    account.efs.create(FS_B, &[]);
    account.efs.describe(FS_B, json!({ "ThroughputMode": "elastic" }));
    account.sns.create(PAGES);
    account.sns.create(TICKETS);
    account
}

/// The same with three alarms: credits-low of the first, mount-stalled of both.
pub fn account_with_three() -> Account {
    let account = account();
    let ended = apply(&account, &THREE);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
    account
}

/// The arguments with which the three of [`account_with_three`] are as they should be.
pub const THREE: [&str; 4] = ["credits-low", "mount-stalled", "--sns", PAGES];

pub fn name(file_system: &str, kind: &str) -> String {
    format!("efsmon-{file_system}-{kind}")
}

pub fn alarms(account: &Account, command: &str, arguments: &[&str]) -> Ended {
    let all = [&["alarms", command, "--config", "efsmon.toml"], arguments].concat();
    let output = account.efsmon(&all);
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `efsmon alarms apply --yes`.
pub fn apply(account: &Account, arguments: &[&str]) -> Ended {
    alarms(account, "apply", &[&["--yes"], arguments].concat())
}

pub fn puts(account: &Account) -> usize {
    account.cloudwatch.called("PutMetricAlarm")
}

pub fn names(account: &Account) -> Vec<String> {
    account.cloudwatch.alarms(|alarms| alarms.names())
}
