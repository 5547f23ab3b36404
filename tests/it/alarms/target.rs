//! What the tests' alarms are rendered for.

use efsmon::catalog::Profile;
use efsmon::config::Config;
use efsmon::credits::{FileSystem, ThroughputMode};
use efsmon::provision::Target;
use efsmon::provision::alarms::{Actions, Alarms, render, templates};

pub const GIB: u64 = 1 << 30;
pub const TIB: u64 = 1 << 40;
pub const PAGE: &str = "arn:aws:sns:eu-west-1:111122223333:page";
pub const TICKET: &str = "arn:aws:sns:eu-west-1:111122223333:ticket";
pub const OK: &str = "arn:aws:sns:eu-west-1:111122223333:ok";
pub const FS: &str = "fs-0123456789abcdef0";

pub fn file_system(id: &str, mode: ThroughputMode, standard_bytes: u64) -> FileSystem {
    FileSystem {
        id: id.parse().unwrap(),
        name: None,
        mode,
        general_purpose: true,
        standard_bytes,
        infrequent_bytes: 0,
        archive_bytes: 0,
        zone: None,
    }
}

pub fn bursting(standard_bytes: u64) -> FileSystem {
    file_system(FS, ThroughputMode::Bursting, standard_bytes)
}

pub fn target(file_systems: Vec<FileSystem>) -> Target {
    Target {
        chosen: false,
        thresholds: Config::default().alarms,
        owner: "efsmon".parse().unwrap(),
        region: "eu-west-1".to_owned(),
        namespace: "EFSMon".to_owned(),
        profile: Profile::Minimal,
        file_systems,
    }
}

pub fn actions() -> Actions {
    let one = |arn: &str| vec![arn.to_owned()];
    Actions { page: one(PAGE), ticket: one(TICKET), ok: one(OK) }
}

pub fn rendered(target: &Target) -> Alarms {
    render(target, &actions(), &templates(&[]).unwrap()).unwrap()
}
