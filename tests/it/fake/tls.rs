//! TLS for the doubles: a certificate authority of our own, and a front that adds TLS to a plain port.
//!
//! Clients take the authority from SSL_CERT_FILE, read once per process, or from AWS_CA_BUNDLE: tests that need it run
//! in a child process.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::NamedTempFile;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::server::Loopback;

/// A certificate for 127.0.0.1, localhost and CloudWatch in eu-west-1, and the file that makes clients trust it.
pub struct Certificate {
    pub acceptor: TlsAcceptor,
    authority: NamedTempFile,
}

impl Certificate {
    pub fn new() -> Certificate {
        let authority_key = KeyPair::generate().unwrap();
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
        let issuer = Issuer::new(authority, authority_key);

        let key = KeyPair::generate().unwrap();
        let names = ["localhost", "127.0.0.1", "monitoring.eu-west-1.amazonaws.com"].map(str::to_owned);
        let certificate = CertificateParams::new(names.to_vec()).unwrap().signed_by(&key, &issuer).unwrap();

        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];

        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), authority_pem).unwrap();
        Certificate { acceptor: TlsAcceptor::from(Arc::new(config)), authority: file }
    }

    /// The value for SSL_CERT_FILE.
    pub fn authority(&self) -> &Path {
        self.authority.path()
    }
}

/// Adds TLS in front of a plain loopback port.
pub struct Front {
    loopback: Loopback,
}

impl Front {
    pub fn start(acceptor: TlsAcceptor, upstream: SocketAddr) -> Front {
        Front { loopback: Loopback::start(move |listener| forward(listener, acceptor, upstream)) }
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.loopback.address)
    }
}

async fn forward(listener: TcpListener, acceptor: TlsAcceptor, upstream: SocketAddr) {
    loop {
        let Ok((tcp, _)) = listener.accept().await else { continue };
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(mut outer) = acceptor.accept(tcp).await else { return };
            let Ok(mut inner) = TcpStream::connect(upstream).await else { return };
            let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
        });
    }
}
