//! Publishing as another role: AssumeRole against a double of STS, and against another's.

use std::time::Duration;

use efsmon::aws::metrics::CloudWatch;
use efsmon::aws::role::Role;
use efsmon::publish::{Failure, Sink};

use crate::child::{in_a_child, is_child};
use crate::fake::cloudwatch;
use crate::fake::proxy::Proxy;
use crate::fake::server::free_address;
use crate::fake::sts::{Call, Sts, session_key};
use crate::ministack::Ministack;
use crate::proxies::batch;

const ROLE: &str = "arn:aws:iam::123456789012:role/efsmon";

/// That many data one after the other, as the role that the environment names.
fn put(times: usize) -> Vec<Result<(), Failure>> {
    let external_id = std::env::var("EXTERNAL_ID").ok();
    let role = Role::new(ROLE.to_owned(), external_id, Some("i-0123456789abcdef0"));
    let sink = CloudWatch::new(Some("eu-west-1".to_owned())).with_role(Some(role));
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let mut outcomes = Vec::new();
        for _ in 0..times {
            outcomes.push(sink.put(&batch()).await);
        }
        outcomes
    })
}

/// A host with credentials of its own.
fn own<'a>(cloudwatch: &'a str, sts: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_ENDPOINT_URL_CLOUDWATCH", cloudwatch),
        ("AWS_ENDPOINT_URL_STS", sts),
    ]
}

#[test]
fn data_are_put_as_the_role_and_the_session_is_kept_and_renewed() {
    let test = "role::data_are_put_as_the_role_and_the_session_is_kept_and_renewed";
    if is_child() {
        assert_eq!(put(3), vec![Ok(()); 3]);
        return;
    }
    let keys = |lifetime: u64| {
        let (cloudwatch, sts) = (cloudwatch::CloudWatch::start(), Sts::start());
        sts.ask_for("shared/secret-1");
        sts.set_lifetime(Duration::from_secs(lifetime));
        let (cloudwatch_url, sts_url) = (cloudwatch.url(), sts.url());
        let id = ("EXTERNAL_ID", "shared/secret-1");
        in_a_child(test, &[own(&cloudwatch_url, &sts_url), vec![id]].concat());
        let expected = Call {
            role_arn: ROLE.to_owned(),
            session: "efsmon-i-0123456789abcdef0".to_owned(),
            external_id: Some("shared/secret-1".to_owned()),
            key: "AKIDEXAMPLE".to_owned(),
            region: "eu-west-1".to_owned(),
        };
        assert!(sts.calls().iter().all(|call| *call == expected), "{:?}", sts.calls());
        cloudwatch.puts().into_iter().map(|put| put.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(3600), vec![session_key(1); 3]);
    // A session that is about to end is not used again.
    assert_eq!(keys(1), [session_key(1), session_key(2), session_key(3)]);
}

#[test]
fn a_session_that_cloudwatch_refuses_is_replaced() {
    let test = "role::a_session_that_cloudwatch_refuses_is_replaced";
    if is_child() {
        let outcomes = put(2);
        assert_eq!(outcomes[0].as_ref().unwrap_err().code.as_deref(), Some("ExpiredToken"));
        assert_eq!(outcomes[1], Ok(()));
        return;
    }
    let (cloudwatch, sts) = (cloudwatch::CloudWatch::start(), Sts::start());
    cloudwatch.expire("ASIASESSION1");
    in_a_child(test, &own(&cloudwatch.url(), &sts.url()));
    assert_eq!(sts.calls().len(), 2);
}

#[test]
fn a_role_that_is_not_given_names_itself_the_permission_and_the_trust_policy() {
    let test = "role::a_role_that_is_not_given_names_itself_the_permission_and_the_trust_policy";
    if is_child() {
        let failure = put(1).remove(0).unwrap_err();
        assert_eq!((failure.status, failure.code.as_deref(), failure.may_have_left), (None, None, false));
        let expected = std::env::var("EXPECTED").unwrap();
        assert!(failure.message.starts_with(&expected), "{failure}");
        assert!(failure.message.len() < 700 && !failure.message.contains('\n'), "{failure}");
        return;
    }
    let (cloudwatch, sts) = (cloudwatch::CloudWatch::start(), Sts::start());
    sts.ask_for("shared/secret-1");
    let refused = format!(
        "publish.role_arn: STS does not let this host assume {ROLE} (AccessDenied: User: AKIDEXAMPLE is not \
         authorized to perform: sts:AssumeRole on resource: {ROLE}); allow sts:AssumeRole on it to this host's own \
         role or user, and name that in the role's trust policy, with publish.external_id where it asks for one"
    );
    let run = |sts: &str, more: &[(&str, &str)]| {
        in_a_child(test, &[&own(&cloudwatch.url(), sts)[..], more].concat());
    };
    run(&sts.url(), &[("EXPECTED", &refused)]);
    run(&sts.url(), &[("EXTERNAL_ID", "another"), ("EXPECTED", &refused)]);
    let nobody = format!("http://{}", free_address());
    run(&nobody, &[("EXPECTED", "publish.role_arn: STS does not answer (")]);
    run(&sts.url(), &[("AWS_ACCESS_KEY_ID", ""), ("EXPECTED", "no AWS credentials: give the instance")]);
    assert_eq!(cloudwatch.puts(), []);
}

#[test]
fn sts_is_asked_in_the_region_that_metrics_go_to() {
    let test = "role::sts_is_asked_in_the_region_that_metrics_go_to";
    if is_child() {
        put(1).remove(0).unwrap_err();
        return;
    }
    let asked = |variables: &[(&str, &str)]| {
        let proxy = Proxy::start();
        let url = proxy.url();
        let own = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "s"), ("HTTPS_PROXY", &url)];
        in_a_child(test, &[&own, variables].concat());
        let mut requests = proxy.requests();
        requests.dedup();
        requests
    };
    assert_eq!(asked(&[("AWS_REGION", "us-east-2")]), ["CONNECT sts.eu-west-1.amazonaws.com:443"]);
    assert_eq!(asked(&[("AWS_USE_FIPS_ENDPOINT", "true")]), ["CONNECT sts-fips.eu-west-1.amazonaws.com:443"]);
}

#[test]
fn an_emulator_of_sts_gives_the_role() {
    let test = "role::an_emulator_of_sts_gives_the_role";
    if is_child() {
        assert_eq!(put(1), [Ok(())]);
        return;
    }
    let (cloudwatch, ministack) = (cloudwatch::CloudWatch::start(), Ministack::start());
    in_a_child(test, &[own(&cloudwatch.url(), &ministack.url()), vec![("EXTERNAL_ID", "x1")]].concat());
    let puts = cloudwatch.puts();
    assert_eq!((puts.len(), puts[0].signed, puts[0].accepted), (1, true, 1));
    assert!(puts[0].key.starts_with("ASIA"), "{puts:?}");
}
