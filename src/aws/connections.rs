//! The HTTP client of all of AWS's services: proxies as the environment names them, and certificates.
//!
//! What only this host has is never asked for through a proxy, which would answer for itself, or hand one host's
//! credentials to another: the instance metadata service, the agents of ECS and EKS that give out credentials, and the
//! loopback.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

use super::{CONNECT, READ};

/// Shorter than the pause between two publishes (60 s), so that none starts on a connection that a firewall or
/// CloudWatch has dropped meanwhile: such a request's outcome would be unknown.
const IDLE: Duration = Duration::from_secs(20);

/// Names a file of certificates that takes the place of the system's, as for the AWS CLI (AWS CLI user guide,
/// "Environment variables"); the Rust SDK does not read it. Without it, the system's, or those of `SSL_CERT_FILE`.
const BUNDLE: &str = "AWS_CA_BUNDLE";

/// Why the certificates of `AWS_CA_BUNDLE` are of no use.
#[derive(Debug, thiserror::Error)]
#[error(
    "AWS_CA_BUNDLE names {}, which {reason}; name a file of PEM certificates that efsmon's user may read, or unset it",
    path.display()
)]
pub struct BundleError {
    path: PathBuf,
    reason: String,
}

/// An HTTP client as the environment wants it: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, `AWS_CA_BUNDLE`.
///
/// # Errors
///
/// The file of `AWS_CA_BUNDLE` cannot be read, or holds no certificates.
pub(super) fn as_the_environment_says() -> Result<SharedHttpClient, BundleError> {
    let bundle = std::env::var_os(BUNDLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let tls = match bundle.as_deref() {
        None => TlsContext::default(),
        Some(path) => trusting(path).map_err(|reason| BundleError { path: path.to_owned(), reason })?,
    };
    let direct = Builder::new().pool_idle_timeout(IDLE).tls_provider(provider()).tls_context(tls.clone());
    Ok(SharedHttpClient::new(Routes { direct: direct.build_https(), tls, proxied: Arc::default() }))
}

/// An HTTP client that uses no proxy.
pub(super) fn direct() -> SharedHttpClient {
    Builder::new().tls_provider(provider()).build_https()
}

fn provider() -> Provider {
    Provider::rustls(CryptoMode::AwsLc)
}

/// The SDK panics at a certificate that it cannot take, so each is looked at before.
fn trusting(path: &Path) -> Result<TlsContext, String> {
    let bundle = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&bundle)
        .collect::<Result<_, pem::Error>>()
        .map_err(|error| format!("is not PEM: {error}"))?;
    if certificates.is_empty() {
        return Err("holds no certificate in PEM".to_owned());
    }
    let mut roots = RootCertStore::empty();
    for (certificate, number) in certificates.into_iter().zip(1..) {
        roots
            .add(certificate)
            .map_err(|error| format!("holds a bad certificate, number {number}: {error}"))?;
    }
    let store = TrustStore::empty().with_pem_certificate(bundle);
    TlsContext::builder().with_trust_store(store).build().map_err(|error| error.to_string())
}

/// Sends each request by its way. Either is made when it is first used: it holds all the authorities there are.
#[derive(Clone, Debug)]
struct Routes {
    direct: SharedHttpClient,
    tls: TlsContext,
    proxied: Arc<Mutex<Option<SharedHttpConnector>>>,
}

impl Routes {
    fn proxied(&self) -> SharedHttpConnector {
        let mut proxied = self.proxied.lock().unwrap_or_else(PoisonError::into_inner);
        proxied.get_or_insert_with(|| through_the_proxies(&self.tls)).clone()
    }
}

fn through_the_proxies(tls: &TlsContext) -> SharedHttpConnector {
    let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT).read_timeout(READ).build();
    let connector = Connector::builder()
        .connector_settings(settings)
        .pool_idle_timeout(IDLE)
        .proxy_config(ProxyConfig::from_env())
        .tls_provider(provider())
        .tls_context(tls.clone());
    SharedHttpConnector::new(connector.build())
}

impl HttpClient for Routes {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let (settings, components) = (settings.clone(), components.clone());
        SharedHttpConnector::new(Route { routes: self.clone(), settings, components })
    }
}

#[derive(Debug)]
struct Route {
    routes: Routes,
    settings: HttpConnectorSettings,
    components: RuntimeComponents,
}

impl HttpConnector for Route {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        match is_of_this_host(request.uri()) {
            true => self.routes.direct.http_connector(&self.settings, &self.components).call(request),
            false => self.routes.proxied().call(request),
        }
    }
}

/// Whether another machine would not find the same behind this URI: loopback, link-local addresses (of which
/// 169.254.169.254 is EC2's, 169.254.170.2 ECS's and 169.254.170.23 EKS's) and their twins in fd00:ec2::/32.
fn is_of_this_host(uri: &str) -> bool {
    let authority = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    let host = match server.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => server.split(':').next(),
    };
    let host = host.unwrap_or_default();
    match host.parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_link_local(),
        Ok(IpAddr::V6(address)) => {
            address.is_loopback()
                || address.is_unicast_link_local()
                || address.segments().starts_with(&[0xfd00, 0xec2])
        }
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_this_host_has_is_asked_for_directly() {
        for uri in [
            "http://169.254.169.254/latest/api/token",
            "http://169.254.170.2/v2/credentials/9a0b",
            "http://169.254.170.23/v1/credentials",
            "http://[fd00:ec2::254]/latest/api/token",
            "http://[fd00:ec2::23]:80/v1/credentials",
            "http://[fe80::1]/",
            "http://127.0.0.1:4566",
            "http://[::1]:4566/",
            "http://localhost:51679?a=http://example.com",
            "http://user@localhost/",
        ] {
            assert!(is_of_this_host(uri), "{uri}");
        }
        for uri in [
            "https://monitoring.eu-west-1.amazonaws.com/",
            "https://monitoring.eu-west-1.amazonaws.com/@127.0.0.1",
            "http://127.0.0.1@example.com/",
            "http://localhost.example.com/",
            "http://10.0.0.7:8080/",
            "http://[fd00:ec3::254]/",
            "http://168.254.169.254/",
            "",
        ] {
            assert!(!is_of_this_host(uri), "{uri}");
        }
    }

    fn refused(bundle: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bundle).unwrap();
        trusting(file.path()).unwrap_err()
    }

    #[test]
    fn a_bundle_that_is_none_is_refused_and_not_passed_on() {
        assert_eq!(refused(b""), "holds no certificate in PEM");
        assert_eq!(refused(b"not a certificate\n"), "holds no certificate in PEM");
        let cut = b"-----BEGIN CERTIFICATE-----\nAAAA\n";
        assert!(refused(cut).starts_with("is not PEM: "), "{}", refused(cut));
        let bad = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(refused(bad).starts_with("holds a bad certificate, number 1: "), "{}", refused(bad));
        let missing = trusting(Path::new("/nonexistent/bundle.pem")).unwrap_err();
        assert!(missing.starts_with("cannot be read: No such file"), "{missing}");
    }
}
