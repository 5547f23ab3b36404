//! Which instance this is, as the real SDK hears it from our double of the metadata service.

use std::collections::BTreeMap;

use efsmon::aws::host::{self, Answer, Instance};

use crate::child::{in_a_child, is_child};
use crate::fake::imds::{Imds, Mode};
use crate::fake::server::free_address;

fn block_on<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
}

fn instance() -> Answer {
    Answer::Found(Box::new(Instance {
        id: "i-0123456789abcdef0".to_owned(),
        region: "eu-west-1".to_owned(),
        availability_zone: "eu-west-1b".to_owned(),
        account_id: Some("123456789012".to_owned()),
        instance_type: Some("m7g.large".to_owned()),
        availability_zone_id: Some("euw1-az2".to_owned()),
        tags: BTreeMap::new(),
    }))
}

#[test]
fn the_instance_names_itself() {
    let imds = Imds::start(Mode::Ok);
    assert_eq!(block_on(host::instance(Some(&imds.url()))), instance());
    let expected = [
        "PUT /latest/api/token",
        "GET /latest/dynamic/instance-identity/document",
        "GET /latest/meta-data/placement/availability-zone-id",
        "GET /latest/meta-data/tags/instance",
    ];
    assert_eq!(imds.requests(), expected);

    imds.set_mode(Mode::NoDocument);
    let Answer::Found(expected) = instance() else { unreachable!() };
    let expected = Instance { account_id: None, instance_type: None, ..*expected };
    assert_eq!(block_on(host::instance(Some(&imds.url()))), Answer::Found(Box::new(expected)));
}

fn tags(imds: &Imds) -> BTreeMap<String, String> {
    match block_on(host::instance(Some(&imds.url()))) {
        Answer::Found(instance) => instance.tags,
        answer => panic!("{answer}"),
    }
}

#[test]
fn an_instance_has_its_tags_where_metadata_give_them_out() {
    let imds = Imds::start(Mode::Ok);
    assert_eq!(tags(&imds), BTreeMap::new());
    let own = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let few = [own("aws:autoscaling:groupName", "web"), own("Name", "web 1"), own("Team", "")];
    imds.set_tags(few.clone());
    assert_eq!(tags(&imds), few.into());
    // More than EC2 allows, and the name last.
    let many = (0..60).map(|number| own(&format!("key-{number:02}"), "v"));
    imds.set_tags(many.chain([own("Name", "web 1")]));
    let tags = tags(&imds);
    assert_eq!((tags.len(), tags.get("Name").map(String::as_str)), (50, Some("web 1")));
    assert!(tags.contains_key("key-48") && !tags.contains_key("key-49"), "{tags:?}");
}

#[test]
fn a_token_request_without_an_answer_is_silence() {
    let imds = Imds::start(Mode::TokenSilent);
    let answer = block_on(host::instance(Some(&imds.url())));
    assert_eq!(answer, Answer::Silent);
    assert_eq!(imds.requests(), ["PUT /latest/api/token"]);
}

#[test]
fn a_metadata_service_that_says_no_is_denied_until_it_says_yes() {
    let imds = Imds::start(Mode::Status(403));
    let ask = || block_on(host::instance(Some(&imds.url())));
    assert_eq!(ask(), Answer::Denied { status: 403 });
    imds.set_mode(Mode::Status(404));
    assert_eq!(ask(), Answer::Denied { status: 404 });
    imds.set_mode(Mode::Status(401));
    assert_eq!(ask(), Answer::Denied { status: 401 });
    imds.set_mode(Mode::TokenRefused);
    assert_eq!(ask(), Answer::Denied { status: 401 });
    imds.set_mode(Mode::Ok);
    assert_eq!(ask(), instance());
}

#[test]
fn nobody_at_the_address_is_absent() {
    let answer = block_on(host::instance(Some(&format!("http://{}", free_address()))));
    assert!(matches!(answer, Answer::Absent { .. }), "{answer:?}");
    let imds = Imds::start(Mode::Status(200));
    let answer = block_on(host::instance(Some(&imds.url())));
    assert!(answer.to_string().contains("not IMDSv2"), "{answer}");
}

#[test]
fn instance_metadata_is_asked_without_a_proxy_and_not_when_disabled() {
    let test = "host::instance_metadata_is_asked_without_a_proxy_and_not_when_disabled";
    if is_child() {
        let answer = block_on(host::instance(None));
        match std::env::var_os("AWS_EC2_METADATA_DISABLED") {
            None => assert_eq!(answer, instance()),
            Some(_) => assert!(matches!(answer, Answer::Absent { .. }), "{answer:?}"),
        }
        return;
    }
    let imds = Imds::start(Mode::Ok);
    let url = imds.url();
    let proxy = format!("http://{}", free_address());
    let endpoint = ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str());
    in_a_child(test, &[endpoint, ("HTTP_PROXY", &proxy), ("http_proxy", &proxy)]);
    let asked = imds.requests();
    in_a_child(test, &[endpoint, ("AWS_EC2_METADATA_DISABLED", "true")]);
    assert_eq!(imds.requests(), asked);
}
