//! Which instance this is, as the real SDK hears it from our double of the metadata service.

use efsmon::aws::host::{self, Answer, Instance};

use crate::child::{in_a_child, is_child};
use crate::fake::imds::{Imds, Mode};
use crate::fake::server::free_address;

fn block_on<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
}

fn instance() -> Answer {
    Answer::Found(Instance {
        id: "i-0123456789abcdef0".to_owned(),
        region: "eu-west-1".to_owned(),
        availability_zone: "eu-west-1b".to_owned(),
    })
}

#[test]
fn the_instance_names_itself() {
    let imds = Imds::start(Mode::Ok);
    assert_eq!(block_on(host::instance(Some(&imds.url()))), instance());
    let expected = ["PUT /latest/api/token", "GET /latest/dynamic/instance-identity/document"];
    assert_eq!(imds.requests(), expected);

    imds.set_mode(Mode::NoDocument);
    assert_eq!(block_on(host::instance(Some(&imds.url()))), instance());
}

#[test]
fn a_token_request_without_an_answer_names_the_hop_limit() {
    let imds = Imds::start(Mode::TokenSilent);
    let answer = block_on(host::instance(Some(&imds.url())));
    assert_eq!(answer, Answer::Silent);
    assert!(answer.to_string().contains("HttpPutResponseHopLimit to 2"), "{answer}");
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
