//! CloudWatch through the real SDK, against our doubles.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use efsmon::aws::metrics::CloudWatch;
use efsmon::aws::{self, NotReady};
use efsmon::model::{Batch, Datum, Dimension, Minute, Unit};
use efsmon::publish::{Failure, Sink};

use crate::child::{in_a_child, is_child};
use crate::fake::cloudwatch::{self, Fault};
use crate::fake::imds::{Imds, Mode};
use crate::fake::limits::Recorded;
use crate::fake::server::free_address;
use crate::fake::tls::Certificate;

fn block_on<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
}

/// CloudWatch at `url`, with credentials that any double takes.
pub fn sink(url: &str) -> CloudWatch {
    sink_with(url, Credentials::new("AKIDEXAMPLE", "secret", None, None, "test"))
}

fn sink_with(url: &str, credentials: impl ProvideCredentials + 'static) -> CloudWatch {
    CloudWatch::with(config(url, credentials)).unwrap()
}

pub fn config(url: &str, credentials: impl ProvideCredentials + 'static) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("eu-west-1"))
        .endpoint_url(url)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build()
}

/// The minute that is running, so that the doubles take its timestamp.
fn this_minute() -> Minute {
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Minute::of(wall)
}

fn dimension(name: &'static str, value: Option<&str>) -> Dimension {
    Dimension { name: name.into(), value: value.map(str::to_owned) }
}

fn datum() -> Datum {
    Datum {
        metric: "ReadThroughput".into(),
        dimensions: vec![
            dimension("FileSystemId", Some("fs-0123456789abcdef0")),
            dimension("InstanceId", Some("i-0123456789abcdef0")),
        ],
        timestamp: this_minute(),
        unit: Unit::None,
        values: vec![0.25, 12.5],
        counts: vec![50.0, 10.0],
    }
}

fn batch(data: Vec<Datum>) -> Batch {
    Batch { namespace: "EFSMon".to_owned(), data }
}

fn put_one(sink: &CloudWatch) -> Result<(), Failure> {
    block_on(sink.put(&batch(vec![datum()])))
}

#[test]
fn a_datum_reaches_cloudwatch_as_it_is() {
    let fake = cloudwatch::CloudWatch::start();
    let sent = datum();
    assert_eq!(block_on(sink(&fake.url()).put(&batch(vec![sent.clone()]))), Ok(()));
    let expected = Recorded {
        namespace: "EFSMon".to_owned(),
        metric: "ReadThroughput".to_owned(),
        dimensions: vec![
            ("FileSystemId".to_owned(), "fs-0123456789abcdef0".to_owned()),
            ("InstanceId".to_owned(), "i-0123456789abcdef0".to_owned()),
        ],
        timestamp: Some(sent.timestamp.seconds()),
        unit: "None".to_owned(),
        values: vec![0.25, 12.5],
        counts: vec![50.0, 10.0],
    };
    assert_eq!(fake.data(), [expected]);
    let puts = fake.puts();
    assert_eq!((puts.len(), puts[0].signed, puts[0].gzip, puts[0].accepted), (1, true, false, 1));
}

#[test]
fn a_thousand_data_go_compressed_in_one_request() {
    let fake = cloudwatch::CloudWatch::start();
    assert_eq!(block_on(sink(&fake.url()).put(&batch(vec![datum(); 1000]))), Ok(()));
    let puts = fake.puts();
    assert_eq!((puts.len(), puts[0].signed, puts[0].gzip, puts[0].accepted), (1, true, true, 1000));
    assert!(puts[0].bytes < 20_000, "{puts:?}");
}

#[test]
fn a_refused_datum_names_itself() {
    let fake = cloudwatch::CloudWatch::start();
    let bad = Datum { values: vec![f64::NAN], counts: vec![1.0], ..datum() };
    let failure = block_on(sink(&fake.url()).put(&batch(vec![datum(), bad]))).unwrap_err();
    assert_eq!((failure.status, failure.code.as_deref()), (Some(400), Some("InvalidParameterValue")));
    assert!(failure.message.contains("MetricData.member.2"), "{failure}");
    assert_eq!(fake.data(), []);
}

#[test]
fn a_datum_that_waits_for_the_host_is_not_sent() {
    let fake = cloudwatch::CloudWatch::start();
    let waiting = Datum { dimensions: vec![dimension("InstanceId", None)], ..datum() };
    let failure = block_on(sink(&fake.url()).put(&batch(vec![datum(), waiting]))).unwrap_err();
    assert_eq!((failure.status, failure.code.clone(), failure.may_have_left), (None, None, false));
    assert_eq!(failure.message, "ReadThroughput still waits for its InstanceId; not sent");
    assert_eq!(fake.puts(), []);
}

/// One request meets `fault`: status, code, whether it may have left. Never more than one request.
fn check(fault: Fault, expected: (Option<u16>, Option<&str>, bool)) -> Failure {
    let fake = cloudwatch::CloudWatch::start();
    fake.fail_next(1, fault);
    let failure = put_one(&sink(&fake.url())).unwrap_err();
    assert_eq!(
        (failure.status, failure.code.as_deref(), failure.may_have_left),
        expected,
        "{fault:?}: {failure}"
    );
    assert_eq!(fake.puts().len(), 1, "{fault:?}");
    failure
}

#[test]
fn an_answer_is_a_clear_failure_and_is_not_retried() {
    check(Fault::Throttling, (Some(400), Some("Throttling"), false));
    check(Fault::TooManyRequests, (Some(429), Some("ThrottlingException"), false));
    check(Fault::InternalError, (Some(500), Some("InternalServiceError"), false));
    check(Fault::InvalidWithoutHeader, (Some(400), Some("InvalidParameterValue"), false));
    let denied = check(Fault::AccessDenied, (Some(403), Some("AccessDenied"), false));
    assert!(denied.message.starts_with("AccessDenied: User: arn:aws:sts::"), "{denied}");
    let expired = check(Fault::ExpiredToken, (Some(403), Some("ExpiredToken"), false));
    assert_eq!(expired.message, "ExpiredToken: The security token included in the request is expired");
}

#[test]
fn an_answer_that_is_not_cloudwatchs_is_a_clear_failure() {
    check(Fault::ServiceUnavailable, (Some(503), None, false));
    check(Fault::TooLarge, (Some(413), None, false));
    let portal = check(Fault::Portal, (Some(200), None, false));
    assert!(portal.message.contains("AWS_ENDPOINT_URL"), "{portal}");
}

#[test]
fn a_request_that_is_cut_off_may_have_left() {
    check(Fault::Reset, (None, None, true));
    check(Fault::Mute, (None, None, true));
}

#[test]
fn a_request_that_was_taken_without_an_answer_may_have_left() {
    let fake = cloudwatch::CloudWatch::start();
    fake.fail_next(1, Fault::CloseAfterAccepting);
    let failure = put_one(&sink(&fake.url())).unwrap_err();
    assert_eq!((failure.status, failure.code, failure.may_have_left), (None, None, true));
    assert_eq!(fake.data().len(), 1);
}

#[test]
fn a_yes_whose_body_is_cut_off_is_a_yes() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        // The body ends with the break of the outer map.
        while !request.windows(4).any(|end| end == b"\r\n\r\n") || request.last() != Some(&0xff) {
            let mut part = [0; 4096];
            let n = stream.read(&mut part).unwrap();
            request.extend_from_slice(&part[..n]);
        }
        let answer = "HTTP/1.1 200 OK\r\nsmithy-protocol: rpc-v2-cbor\r\nx-amzn-requestid: 1\r\ncontent-length: 9\r\n\r\n";
        stream.write_all(answer.as_bytes()).unwrap();
    });
    assert_eq!(put_one(&sink(&url)), Ok(()));
    server.join().unwrap();
}

#[test]
fn a_slow_answer_is_waited_for() {
    let fake = cloudwatch::CloudWatch::start();
    fake.fail_next(1, Fault::Slow(Duration::from_secs(1)));
    assert_eq!(put_one(&sink(&fake.url())), Ok(()));
}

#[test]
fn the_double_has_a_clock_a_hook_and_an_end_to_faults() {
    let fake = cloudwatch::CloudWatch::start();
    let sink = sink(&fake.url());
    let now = this_minute().start();
    fake.set_now(now + Duration::from_secs(14 * 86_400 + 60));
    assert_eq!(put_one(&sink).unwrap_err().code.as_deref(), Some("InvalidParameterValue"));
    fake.set_now(now);
    let (sender, accepted) = std::sync::mpsc::channel();
    fake.on_accepting(move |count| sender.send(count).unwrap());
    fake.fail_next(9, Fault::Throttling);
    fake.recover();
    assert_eq!((put_one(&sink), put_one(&sink)), (Ok(()), Ok(())));
    assert_eq!(accepted.try_iter().collect::<Vec<_>>(), [1, 2]);
    let puts = fake.puts();
    assert!(puts.is_sorted_by_key(|put| put.at), "{puts:?}");
}

#[test]
fn a_connection_is_used_again() {
    let fake = cloudwatch::CloudWatch::start();
    let sink = sink(&fake.url());
    let results = block_on(async {
        let mut results = Vec::new();
        for _ in 0..3 {
            results.push(sink.put(&batch(vec![datum()])).await);
        }
        results
    });
    assert_eq!(results, [Ok(()), Ok(()), Ok(())]);
    assert_eq!(fake.connections(), 1);
}

fn not_left(failure: &Failure) {
    assert_eq!(
        (failure.status, failure.code.as_deref(), failure.may_have_left),
        (None, None, false),
        "{failure}"
    );
}

#[test]
fn without_a_connection_nothing_has_left() {
    let refused = put_one(&sink(&format!("http://{}", free_address()))).unwrap_err();
    not_left(&refused);
    assert!(refused.message.starts_with("no connection to 127.0.0.1:"), "{refused}");
    assert!(refused.message.contains("refused"), "{refused}");

    not_left(&put_one(&sink("http://monitoring.invalid")).unwrap_err());

    let unusable = put_one(&sink("not a url")).unwrap_err();
    not_left(&unusable);
    assert!(unusable.message.starts_with("no request can be made: check the region"), "{unusable}");
    assert!(unusable.message.len() < 500, "{unusable}");
}

#[test]
fn a_failed_tls_handshake_lets_nothing_leave() {
    let fake = cloudwatch::CloudWatch::start_tls(&Certificate::new());
    let stranger = put_one(&sink(&fake.url())).unwrap_err();
    not_left(&stranger);
    assert!(stranger.message.contains("certificate"), "{stranger}");

    let plain = cloudwatch::CloudWatch::start();
    not_left(&put_one(&sink(&plain.url().replace("http:", "https:"))).unwrap_err());
    assert_eq!((fake.puts(), plain.puts()), (vec![], vec![]));
}

#[test]
fn a_connection_that_hangs_lets_nothing_leave() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Nobody accepts here, and the queue is full as soon as a connection attempt hangs.
    let listener = {
        let _guard = runtime.enter();
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        socket.listen(0).unwrap()
    };
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        queued.push(stream);
    }
    let failure =
        runtime.block_on(sink(&format!("http://{address}")).put(&batch(vec![datum()]))).unwrap_err();
    not_left(&failure);
    assert!(failure.message.contains("timeout"), "{failure}");
}

#[derive(Debug)]
enum Broken {
    Refusing,
    Hanging,
}

impl ProvideCredentials for Broken {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        match self {
            Broken::Refusing => future::ProvideCredentials::ready(Err(CredentialsError::not_loaded(
                "no role on this instance",
            ))),
            Broken::Hanging => future::ProvideCredentials::new(std::future::pending()),
        }
    }
}

#[test]
fn without_credentials_nothing_leaves() {
    let fake = cloudwatch::CloudWatch::start();
    let refusing = put_one(&sink_with(&fake.url(), Broken::Refusing)).unwrap_err();
    not_left(&refusing);
    assert!(refusing.message.starts_with("no AWS credentials: give the instance"), "{refusing}");
    assert!(refusing.message.contains("no role on this instance"), "{refusing}");
    not_left(&put_one(&sink_with(&fake.url(), Broken::Hanging)).unwrap_err());
    assert_eq!(fake.puts(), []);
}

#[test]
fn a_private_authority_is_trusted_by_ssl_cert_file() {
    if is_child() {
        let url = std::env::var("FAKE_URL").unwrap();
        assert_eq!(put_one(&sink(&url)), Ok(()));
        return;
    }
    let certificate = Certificate::new();
    let fake = cloudwatch::CloudWatch::start_tls(&certificate);
    let authority = certificate.authority().to_str().unwrap();
    in_a_child(
        "aws::a_private_authority_is_trusted_by_ssl_cert_file",
        &[("FAKE_URL", &fake.url()), ("SSL_CERT_FILE", authority)],
    );
    assert_eq!(fake.data().len(), 1);
}

#[test]
fn refused_credentials_recover_without_a_restart() {
    let test = "aws::refused_credentials_recover_without_a_restart";
    if is_child() {
        let file = std::env::var_os("AWS_SHARED_CREDENTIALS_FILE").unwrap();
        let sink = CloudWatch::new(Some("eu-west-1".to_owned()));
        let put = async || sink.put(&batch(vec![datum()])).await;
        block_on(async {
            let absent = put().await.unwrap_err();
            assert!(absent.message.starts_with("no AWS credentials"), "{absent}");
            assert!(!absent.may_have_left);
            std::fs::write(&file, profile("AKIDOLD")).unwrap();
            for _ in 0..3 {
                assert_eq!(put().await.unwrap_err().code, std::env::var("REFUSAL").ok());
            }
            std::fs::write(&file, profile("AKIDNEW")).unwrap();
            assert_eq!(put().await, Ok(()));
        });
        return;
    }
    for (fault, refusal) in
        [(Fault::ExpiredToken, "ExpiredToken"), (Fault::UnknownKey, "InvalidClientTokenId")]
    {
        let fake = cloudwatch::CloudWatch::start();
        fake.refuse_key("AKIDOLD", fault);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("credentials");
        in_a_child(
            test,
            &[
                ("AWS_ENDPOINT_URL", &fake.url()),
                ("AWS_SHARED_CREDENTIALS_FILE", file.to_str().unwrap()),
                ("AWS_EC2_METADATA_DISABLED", "true"),
                ("REFUSAL", refusal),
            ],
        );
        assert_eq!(fake.puts().len(), 4);
    }
}

fn profile(key: &str) -> String {
    format!("[default]\naws_access_key_id = {key}\naws_secret_access_key = secret\n")
}

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", "secret")];

#[test]
fn the_region_comes_from_the_setting_then_the_environment_then_the_instance() {
    let test = "aws::the_region_comes_from_the_setting_then_the_environment_then_the_instance";
    if is_child() {
        let setting = std::env::var("SETTING").ok();
        let config = block_on(aws::load(setting.as_deref())).unwrap();
        assert_eq!(config.region().unwrap().as_ref(), std::env::var("EXPECTED").unwrap());
        return;
    }
    let imds = Imds::start(Mode::Ok);
    let url = imds.url();
    let run = |variables: &[(&str, &str)]| {
        let shared = [KEYS[0], KEYS[1], ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str())];
        in_a_child(test, &[&shared, variables].concat());
    };
    run(&[("SETTING", "eu-north-1"), ("AWS_REGION", "us-east-2"), ("EXPECTED", "eu-north-1")]);
    run(&[("AWS_REGION", "us-east-2"), ("EXPECTED", "us-east-2")]);
    assert_eq!(imds.requests(), [""; 0]);
    run(&[("EXPECTED", "eu-west-1")]);
}

#[test]
fn what_is_missing_is_said_with_the_ways_to_give_it() {
    let test = "aws::what_is_missing_is_said_with_the_ways_to_give_it";
    if is_child() {
        let error = block_on(aws::load(None)).unwrap_err();
        match std::env::var("AWS_REGION") {
            Ok(_) => {
                assert!(matches!(error, NotReady::Credentials { .. }), "{error}");
                assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
            }
            Err(_) => {
                assert!(matches!(error, NotReady::Region), "{error}");
                assert!(error.to_string().contains("publish.region"), "{error}");
            }
        }
        return;
    }
    let off = ("AWS_EC2_METADATA_DISABLED", "true");
    in_a_child(test, &[off]);
    in_a_child(test, &[off, ("AWS_REGION", "eu-west-1")]);
}
