//! How AWS is reached: through the proxy that the environment names, by the endpoint that it asks for, trusting the
//! certificates that it names. What only this host has is asked for directly.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_credential_types::provider::ProvideCredentials;
use efsmon::aws::host::{self, Answer};
use efsmon::aws::metrics::CloudWatch;
use efsmon::aws::{self, ecs};
use efsmon::model::{Batch, Datum, Minute, Unit};
use efsmon::publish::{Failure, Sink};

use crate::child::{in_a_child, in_a_network_of, is_child};
use crate::fake::cloudwatch;
use crate::fake::ecs::{Agent, TASK};
use crate::fake::imds::{self, Imds, Mode};
use crate::fake::proxy::Proxy;
use crate::fake::server::free_address;
use crate::fake::tls::Certificate;

fn block_on<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
}

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", "secret")];

/// One datum to CloudWatch, as the environment says.
pub fn put(region: &str) -> Result<(), Failure> {
    block_on(CloudWatch::new(Some(region.to_owned())).put(&batch()))
}

pub fn batch() -> Batch {
    let datum = Datum {
        metric: "ReadThroughput".into(),
        dimensions: Vec::new(),
        timestamp: Minute::of(SystemTime::now().duration_since(UNIX_EPOCH).unwrap()),
        unit: Unit::None,
        values: vec![0.25],
        counts: vec![60.0],
    };
    Batch { namespace: "EFSMon".to_owned(), data: vec![datum] }
}

#[test]
fn cloudwatch_is_asked_through_the_proxy_at_the_endpoint_of_the_environment() {
    let test = "proxies::cloudwatch_is_asked_through_the_proxy_at_the_endpoint_of_the_environment";
    if is_child() {
        let failure = put(&std::env::var("REGION").unwrap()).unwrap_err();
        assert!(!failure.may_have_left, "{failure}");
        return;
    }
    let fips = ("AWS_USE_FIPS_ENDPOINT", "true");
    let dual_stack = ("AWS_USE_DUALSTACK_ENDPOINT", "true");
    let asked = |region: &str, variables: &[(&str, &str)]| {
        let proxy = Proxy::start();
        let url = proxy.url();
        let shared = [KEYS[0], KEYS[1], ("HTTPS_PROXY", url.as_str()), ("REGION", region)];
        in_a_child(test, &[&shared, variables].concat());
        let mut requests = proxy.requests();
        requests.dedup();
        requests
    };
    let us = "us-east-1";
    assert_eq!(asked(us, &[]), ["CONNECT monitoring.us-east-1.amazonaws.com:443"]);
    assert_eq!(asked(us, &[fips]), ["CONNECT monitoring-fips.us-east-1.amazonaws.com:443"]);
    assert_eq!(asked(us, &[dual_stack]), ["CONNECT monitoring.us-east-1.api.aws:443"]);
    assert_eq!(asked(us, &[fips, dual_stack]), ["CONNECT monitoring-fips.us-east-1.api.aws:443"]);
    assert_eq!(asked("cn-north-1", &[]), ["CONNECT monitoring.cn-north-1.amazonaws.com.cn:443"]);
    // No such name: it fails without a proxy as well.
    let nowhere = ("AWS_ENDPOINT_URL", "https://monitoring.invalid");
    assert_eq!(asked(us, &[nowhere]), ["CONNECT monitoring.invalid:443"]);
    assert_eq!(asked(us, &[nowhere, ("NO_PROXY", "example.com,.invalid")]), [""; 0]);
}

#[test]
fn data_go_through_a_tunnel_and_trust_the_bundle_of_the_environment() {
    let test = "proxies::data_go_through_a_tunnel_and_trust_the_bundle_of_the_environment";
    if is_child() {
        let outcome = put("eu-west-1").map_err(|failure| failure.message);
        match std::env::var("EXPECTED") {
            Err(_) => assert_eq!(outcome, Ok(())),
            Ok(text) => assert!(outcome.clone().unwrap_err().contains(&text), "{outcome:?}"),
        }
        return;
    }
    let certificate = Certificate::new();
    let other = Certificate::new();
    let cloudwatch = cloudwatch::CloudWatch::start_tls(&certificate);
    let proxy = Proxy::start_to(cloudwatch.url().trim_start_matches("https://").parse().unwrap());
    let url = proxy.url();
    let shared = [KEYS[0], KEYS[1], ("HTTPS_PROXY", url.as_str())];
    let (authority, stranger) =
        (certificate.authority().to_str().unwrap(), other.authority().to_str().unwrap());
    let run = |variables: &[(&str, &str)]| in_a_child(test, &[&shared, variables].concat());
    run(&[("SSL_CERT_FILE", authority)]);
    run(&[("AWS_CA_BUNDLE", authority)]);
    // It takes the place of the others, as for the AWS CLI.
    run(&[("AWS_CA_BUNDLE", authority), ("SSL_CERT_FILE", stranger)]);
    assert_eq!((cloudwatch.data().len(), cloudwatch.puts().len()), (3, 3));
    run(&[("SSL_CERT_FILE", authority), ("AWS_CA_BUNDLE", stranger), ("EXPECTED", "certificate")]);
    let missing = "AWS_CA_BUNDLE names /nonexistent/ca.pem, which cannot be read: No such file or directory";
    run(&[("AWS_CA_BUNDLE", "/nonexistent/ca.pem"), ("EXPECTED", missing)]);
    run(&[
        ("AWS_CA_BUNDLE", "/dev/null"),
        ("EXPECTED", "/dev/null, which holds no certificate in PEM; name a"),
    ]);
    assert_eq!(cloudwatch.puts().len(), 3);
    assert_eq!(proxy.requests(), vec!["CONNECT monitoring.eu-west-1.amazonaws.com:443"; 4]);
}

const PROXY: &str = "127.0.0.1:3128";

/// Every proxy variable names a proxy that asks for nothing.
fn through_a_proxy() -> Vec<(&'static str, &'static str)> {
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .map(|name| (name, "http://127.0.0.1:3128"))
        .to_vec()
}

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

/// The access key that the SDK's chain of credentials finds, and the region.
fn found() -> (String, String) {
    block_on(async {
        let config = aws::load(None).await.unwrap();
        let credentials = config.credentials_provider().unwrap().provide_credentials().await.unwrap();
        (credentials.access_key_id().to_owned(), config.region().unwrap().to_string())
    })
}

#[test]
fn the_instance_is_asked_directly_over_ipv4_or_ipv6() {
    let test = "proxies::the_instance_is_asked_directly_over_ipv4_or_ipv6";
    if is_child() {
        let proxy = Proxy::start_at(at(PROXY), None);
        let address = std::env::var("ADDRESS").unwrap();
        let imds = Imds::start_at(at(&address), Mode::Ok);
        match block_on(host::instance(None)) {
            Answer::Found(instance) => assert_eq!(instance.id, imds::INSTANCE),
            answer => panic!("{answer}"),
        }
        // The SDK's own client knows one address.
        if address.starts_with("169") || std::env::var_os("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").is_some()
        {
            assert_eq!(found(), ("ASIAINSTANCE".to_owned(), "eu-west-1".to_owned()));
        }
        assert!(imds.requests().len() > 3);
        assert_eq!(proxy.requests(), [""; 0]);
        return;
    }
    let run = |addresses: &[&str], variables: &[(&str, &str)]| {
        in_a_network_of(addresses, test, &[&through_a_proxy(), variables].concat());
    };
    run(&["169.254.169.254"], &[("ADDRESS", "169.254.169.254:80")]);
    run(&["fd00:ec2::254"], &[("ADDRESS", "[fd00:ec2::254]:80")]);
    let mode = ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6");
    // The address of IPv4 is there, and nobody is asked at it.
    run(&["169.254.169.254", "fd00:ec2::254"], &[mode, ("ADDRESS", "[fd00:ec2::254]:80")]);
}

#[test]
fn the_agents_of_ecs_and_eks_are_asked_directly() {
    let test = "proxies::the_agents_of_ecs_and_eks_are_asked_directly";
    if is_child() {
        let proxy = Proxy::start_at(at(PROXY), None);
        let agent = Agent::start_at(at(&std::env::var("ADDRESS").unwrap()), "FARGATE");
        assert_eq!(found(), ("ASIATASK".to_owned(), "eu-north-1".to_owned()));
        let task = block_on(ecs::task(&agent.url())).unwrap();
        assert_eq!((task.id.as_str(), task.on_instance), (TASK, false));
        assert!(agent.requests().len() >= 2);
        assert_eq!(proxy.requests(), [""; 0]);
        return;
    }
    let run = |address: &str, port: &str, variable: (&str, &str)| {
        let proxies = through_a_proxy();
        let address_and_port = format!("{port}:80");
        let own = [variable, ("ADDRESS", address_and_port.as_str()), ("AWS_REGION", "eu-north-1")];
        in_a_network_of(&[address], test, &[&proxies[..], &own].concat());
    };
    let relative = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials");
    run("169.254.170.2", "169.254.170.2", relative);
    let full = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    run("169.254.170.23", "169.254.170.23", (full, "http://169.254.170.23/v1/credentials"));
    run("fd00:ec2::23", "[fd00:ec2::23]", (full, "http://[fd00:ec2::23]/v1/credentials"));
}

#[test]
fn an_agent_that_is_not_there_or_is_another_s_is_no_task() {
    let ask = |url: String| block_on(ecs::task(&url)).unwrap_err().to_string();
    let agent = Agent::start("EC2");
    assert_eq!(ask(format!("{}/more", agent.url())), "the ECS task metadata endpoint answers 404");
    let nobody = ask(format!("http://{}/v4/x", free_address()));
    assert!(nobody.starts_with("the ECS task metadata endpoint does not answer: "), "{nobody}");
    assert!(nobody.contains("refused"), "{nobody}");
    assert!(ask("not a url".to_owned()).contains("does not answer"));
}
