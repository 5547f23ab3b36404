//! ministack, an emulator of AWS that others wrote: what our strict double takes it must take, and give back.
//!
//! `make test` installs it; EFSMON_MINISTACK names another one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aws_credential_types::Credentials;
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{Datapoint, Statistic};
use efsmon::aws::metrics::CloudWatch;
use efsmon::model::{Batch, Datum, Dimension, Minute, Unit};
use efsmon::publish::Sink;

use crate::aws;
use crate::child::{in_a_child, is_child};
use crate::fake;
use crate::fake::server::free_address;
use crate::fake::tls::{Certificate, Front};

/// A running ministack. Ends when dropped.
pub struct Ministack {
    pub address: SocketAddr,
    process: Child,
    /// Its home: nothing of it outlives the test.
    _directory: tempfile::TempDir,
}

impl Ministack {
    pub fn start() -> Ministack {
        let program = program();
        assert!(program.exists(), "{} is missing: `make test` installs it", program.display());
        // Another process may take the free port first: then ministack ends, and the next port is tried.
        (0..3).find_map(|_| Ministack::at(free_address(), &program)).expect("ministack ended three times")
    }

    fn at(address: SocketAddr, program: &Path) -> Option<Ministack> {
        let directory = tempfile::tempdir().unwrap();
        let process = Command::new(program)
            .env("BIND_HOST", "127.0.0.1")
            .env("MINISTACK_HOST", "127.0.0.1")
            .env("GATEWAY_PORT", address.port().to_string())
            .env("MINISTACK_ACCOUNT_ID", "123456789012")
            .env("MINISTACK_REGION", "eu-west-1")
            .env("HOME", directory.path())
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ministack = Ministack { address, process, _directory: directory };
        ministack.becomes_healthy().then_some(ministack)
    }

    /// What AWS_ENDPOINT_URL takes.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// False when it ended instead.
    fn becomes_healthy(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.is_healthy() {
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(Instant::now() < deadline, "ministack does not answer on {}", self.address);
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    }

    fn is_healthy(&self) -> bool {
        use std::io::{Read, Write};
        let Ok(mut stream) = std::net::TcpStream::connect(self.address) else { return false };
        let request = "GET /_ministack/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let mut answer = String::new();
        let exchanged =
            stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
        exchanged.is_ok() && answer.starts_with("HTTP/1.1 200")
    }
}

impl Drop for Ministack {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> PathBuf {
    match std::env::var_os("EFSMON_MINISTACK") {
        Some(path) => path.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/tools/ministack/bin/ministack"),
    }
}

fn block_on<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
}

const MINUTE: u64 = 60;

/// An hour ago: a closed minute, whatever the time.
fn minute() -> Minute {
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Minute::of(wall - Duration::from_secs(60 * MINUTE))
}

fn datum(
    metric: &'static str,
    host: &str,
    minute: Minute,
    unit: Unit,
    values: &[f64],
    counts: &[f64],
) -> Datum {
    let dimension =
        |name: &'static str, value: &str| Dimension { name: name.into(), value: Some(value.to_owned()) };
    Datum {
        metric: metric.into(),
        dimensions: vec![dimension("FileSystemId", "fs-0123456789abcdef0"), dimension("InstanceId", host)],
        timestamp: minute,
        unit,
        values: values.to_vec(),
        counts: counts.to_vec(),
    }
}

/// What a host sends of a minute, in small: a rate, a delta, and many hosts' deltas in one series.
fn batch(minute: Minute) -> Batch {
    let mut data = vec![
        datum("ReadThroughput", "i-1", minute, Unit::None, &[0.25, 12.5], &[50.0, 10.0]),
        datum("ReadLatency", "i-1", minute, Unit::Milliseconds, &[1.5, 2.0, 8.0], &[600.0, 300.0, 100.0]),
        datum("ReadBytes", "i-1", minute, Unit::Bytes, &[6_442_450_944.0], &[1.0]),
        datum("ReadBytes", "i-1", minute, Unit::Bytes, &[0.0], &[1.0]),
    ];
    data.extend(
        (0..996).map(|i| {
            datum("WriteBytes", &format!("i-many-{i}"), minute, Unit::Bytes, &[f64::from(i)], &[1.0])
        }),
    );
    Batch { namespace: "EFSMon".to_owned(), data }
}

async fn read_back(client: &Client, metric: &str, host: &str, minute: Minute) -> Vec<Datapoint> {
    let dimension = |name: &str, value: &str| {
        aws_sdk_cloudwatch::types::Dimension::builder().name(name).value(value).build()
    };
    let start = minute.seconds() - 600;
    let answer = client
        .get_metric_statistics()
        .namespace("EFSMon")
        .metric_name(metric)
        .dimensions(dimension("FileSystemId", "fs-0123456789abcdef0"))
        .dimensions(dimension("InstanceId", host))
        .start_time(DateTime::from_secs(start))
        .end_time(DateTime::from_secs(start + 1800))
        .period(60)
        .statistics(Statistic::Sum)
        .statistics(Statistic::Average)
        .statistics(Statistic::Maximum)
        .statistics(Statistic::SampleCount)
        .send()
        .await
        .unwrap();
    answer.datapoints().to_vec()
}

/// Sum, average, maximum and sample count of the one datapoint that there is.
fn figures(points: &[Datapoint], minute: Minute) -> (f64, f64, f64, f64) {
    assert_eq!(points.len(), 1, "{points:?}");
    let point = &points[0];
    assert_eq!(point.timestamp().unwrap().secs(), minute.seconds());
    (point.sum().unwrap(), point.average().unwrap(), point.maximum().unwrap(), point.sample_count().unwrap())
}

fn check(url: &str) {
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    let config = aws::config(url, credentials);
    // Once: the next one may begin meanwhile.
    let minute = minute();
    block_on(async {
        assert_eq!(CloudWatch::with(config.clone()).unwrap().put(&batch(minute)).await, Ok(()));
        let client = Client::new(&config);
        // 0.25 x 50 + 12.5 x 10 = 137.5; over 60 seconds 2.291666..
        let throughput = figures(&read_back(&client, "ReadThroughput", "i-1", minute).await, minute);
        assert_eq!(throughput, (137.5, 137.5 / 60.0, 12.5, 60.0));
        // 1.5 x 600 + 2 x 300 + 8 x 100 = 2300
        assert_eq!(
            figures(&read_back(&client, "ReadLatency", "i-1", minute).await, minute),
            (2300.0, 2.3, 8.0, 1000.0)
        );
        // Two data of one minute add up.
        let bytes = figures(&read_back(&client, "ReadBytes", "i-1", minute).await, minute);
        assert_eq!(bytes, (6_442_450_944.0, 3_221_225_472.0, 6_442_450_944.0, 2.0));
        assert_eq!(
            figures(&read_back(&client, "WriteBytes", "i-many-995", minute).await, minute),
            (995.0, 995.0, 995.0, 1.0)
        );
    });
}

#[test]
fn what_our_double_takes_ministack_takes_and_gives_back() {
    let strict = fake::cloudwatch::CloudWatch::start();
    assert_eq!(block_on(aws::sink(&strict.url()).put(&batch(minute()))), Ok(()));
    assert_eq!(strict.data().len(), 1000);
    check(&Ministack::start().url());
}

#[test]
fn the_same_over_tls() {
    if is_child() {
        check(&std::env::var("ENDPOINT").unwrap());
        return;
    }
    let ministack = Ministack::start();
    let certificate = Certificate::new();
    let front = Front::start(certificate.acceptor.clone(), ministack.address);
    let authority = certificate.authority().to_str().unwrap();
    in_a_child("ministack::the_same_over_tls", &[("ENDPOINT", &front.url()), ("SSL_CERT_FILE", authority)]);
}
