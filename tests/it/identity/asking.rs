//! The questions to EFS on the wire.

use std::time::{Duration, Instant};

use aws_credential_types::Credentials;
use efsmon::aws::efs::{Efs, Failure, Question, Said};
use efsmon::efs::Target;
use efsmon::model::FileSystemId;

use crate::child::{in_a_child, is_child};
use crate::fake::efs::{self, Fault, MountTarget};
use crate::ministack::Ministack;

const A: &str = "fs-0123456789abcdef0";
const B: &str = "fs-0fedcba9876543210";
const C: &str = "fs-01234567";

/// Runs `check` in a child, whose SDK finds this double by its environment.
fn asking(check: impl AsyncFnOnce(&Efs)) -> Option<efs::Efs> {
    if is_child() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(&Efs::new(None)));
        return None;
    }
    Some(efs::Efs::start())
}

fn run(test: &str, url: &str) {
    in_a_child(
        &format!("identity::asking::{test}"),
        &[
            ("AWS_ENDPOINT_URL_EFS", url),
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ],
    );
}

fn mount_targets(id: &str) -> Question {
    Question::MountTargets(id.parse().unwrap())
}

#[test]
fn every_page_is_read_two_a_second() {
    let double = asking(async |efs| {
        let began = Instant::now();
        let reply = efs.ask(&Question::FileSystems).await.unwrap();
        let all = [A, B, C].map(|id| id.parse().unwrap());
        assert_eq!((reply.region.as_str(), reply.said), ("eu-west-1", Said::FileSystems(all.to_vec())));
        let Said::MountTargets(found) = efs.ask(&mount_targets(B)).await.unwrap().said else { panic!() };
        let addresses: Vec<String> = found
            .iter()
            .map(|target| {
                let Target { ipv4, ipv6, .. } = target;
                format!("{ipv4:?} {ipv6:?}")
            })
            .collect();
        assert_eq!(
            addresses,
            [
                "Some(10.0.1.1) None",
                "Some(10.0.1.2) None",
                "None Some(fd00::3)",
                "Some(10.0.1.4) Some(fd00::4)"
            ]
        );
        let expected = Target {
            mount_target: "fsmt-00000000000000001".to_owned(),
            file_system: B.parse().unwrap(),
            ipv4: Some([10, 0, 1, 1].into()),
            ipv6: None,
            zone: Some("eu-west-1a".to_owned()),
            zone_id: Some("euw1-az1".to_owned()),
            vpc: Some("vpc-0123456789abcdef0".to_owned()),
            owner: Some("123456789012".to_owned()),
            asked: 0,
        };
        assert_eq!(found[0], expected);
        // One that was deleted meanwhile has none.
        assert_eq!(
            efs.ask(&mount_targets("fs-89abcdef")).await.unwrap().said,
            Said::MountTargets(Vec::new())
        );
        // How far apart requests arrive is the machine's affair; the sixth leaves five pauses after the first.
        assert!(began.elapsed() >= Duration::from_millis(2500), "{:?}", began.elapsed());
    });
    let Some(double) = double else { return };
    double.create(A, &["10.0.1.9"]);
    double.create(B, &["10.0.1.1", "10.0.1.2", "fd00:0:0::3"]);
    double.create(C, &[]);
    let more = |ipv4, ipv6, state| double.add(MountTarget { file_system: B, ipv4: Some(ipv4), ipv6, state });
    more("10.0.1.4", Some("fd00::4"), "updating");
    more("10.0.1.5", None, "deleting");
    run("every_page_is_read_two_a_second", &double.url());
    assert_eq!(
        double.requests(),
        [
            "/2015-02-01/file-systems?MaxItems=100",
            "/2015-02-01/file-systems?MaxItems=100&Marker=page%2F2",
            "/2015-02-01/mount-targets?MaxItems=100&FileSystemId=fs-0fedcba9876543210",
            "/2015-02-01/mount-targets?MaxItems=100&Marker=page%2F2&FileSystemId=fs-0fedcba9876543210",
            "/2015-02-01/mount-targets?MaxItems=100&Marker=page%2F4&FileSystemId=fs-0fedcba9876543210",
            "/2015-02-01/mount-targets?MaxItems=100&FileSystemId=fs-89abcdef",
        ]
    );
}

#[test]
fn a_missing_permission_is_told_from_other_failures() {
    let double = asking(async |efs| {
        let denied = |action| {
            let message = "AccessDeniedException: User: arn:aws:sts::123456789012:assumed-role/web/i-0 is not authorized";
            Err(Failure::Denied { action, message: message.to_owned() })
        };
        assert_eq!(efs.ask(&Question::FileSystems).await, denied("elasticfilesystem:DescribeFileSystems"));
        assert_eq!(efs.ask(&mount_targets(A)).await, denied("elasticfilesystem:DescribeMountTargets"));
    });
    let Some(double) = double else { return };
    double.create(A, &["10.0.1.9"]);
    double.fail_next(2, Fault::Denied(""));
    run("a_missing_permission_is_told_from_other_failures", &double.url());
    assert_eq!(double.requests().len(), 2, "it would not help to ask again at once");
}

#[test]
fn a_throttled_question_is_asked_again_and_then_given_up() {
    let double = asking(async |efs| {
        let throttled = Failure::Other("ThrottlingException: Rate exceeded".to_owned());
        assert_eq!(efs.ask(&mount_targets(A)).await, Err(throttled));
        assert!(efs.ask(&mount_targets(A)).await.is_ok());
    });
    let Some(double) = double else { return };
    double.create(A, &["10.0.1.9"]);
    // The SDK tries three times.
    double.fail_next(4, Fault::Throttled);
    run("a_throttled_question_is_asked_again_and_then_given_up", &double.url());
    assert_eq!(double.requests().len(), 5);
}

#[test]
fn a_list_without_an_end_is_no_list() {
    let double = asking(async |efs| {
        let failure = efs.ask(&Question::FileSystems).await.unwrap_err().to_string();
        assert_eq!(failure, "a list of EFS does not end: check AWS_ENDPOINT_URL and the proxy");
    });
    let Some(double) = double else { return };
    double.create(A, &["10.0.1.9"]);
    double.fail_next(10, Fault::Endless);
    run("a_list_without_an_end_is_no_list", &double.url());
    assert_eq!(double.requests().len(), 2);
}

/// A file system with a mount target in each of two zones, made at `url`.
async fn create(url: &str, token: &str) -> (FileSystemId, Vec<aws_sdk_efs::types::MountTargetDescription>) {
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    let client = aws_sdk_efs::Client::new(&crate::aws::config(url, credentials));
    let created = client.create_file_system().creation_token(token).send().await.unwrap();
    let id = created.file_system_id();
    for subnet in ["subnet-00000001", "subnet-00000002"] {
        client.create_mount_target().file_system_id(id).subnet_id(subnet).send().await.unwrap();
    }
    let made = client.describe_mount_targets().file_system_id(id).send().await.unwrap();
    (id.parse().unwrap(), made.mount_targets.unwrap())
}

#[test]
fn an_emulator_that_others_wrote_is_understood() {
    if !is_child() {
        run("an_emulator_that_others_wrote_is_understood", &Ministack::start().url());
        return;
    }
    let url = std::env::var("AWS_ENDPOINT_URL_EFS").unwrap();
    asking(async |efs| {
        let (a, made) = create(&url, "a").await;
        let (b, _) = create(&url, "b").await;
        let Said::FileSystems(mut all) = efs.ask(&Question::FileSystems).await.unwrap().said else {
            panic!()
        };
        let mut both = [a.clone(), b];
        all.sort();
        both.sort();
        assert_eq!(all, both);
        let Said::MountTargets(found) = efs.ask(&Question::MountTargets(a)).await.unwrap().said else {
            panic!()
        };
        let found = found.iter().map(|target| {
            (
                target.mount_target.clone(),
                target.ipv4.unwrap().to_string(),
                target.zone.clone(),
                target.vpc.clone(),
            )
        });
        let made: Vec<_> = made
            .into_iter()
            .map(|target| {
                (
                    target.mount_target_id,
                    target.ip_address.unwrap(),
                    target.availability_zone_name,
                    target.vpc_id,
                )
            })
            .collect();
        assert_eq!(made.len(), 2);
        assert!(found.eq(made.iter().cloned()), "{made:?}");
        let gone = efs.ask(&mount_targets("fs-89abcdef")).await.unwrap().said;
        assert_eq!(gone, Said::MountTargets(Vec::new()));
    });
}
