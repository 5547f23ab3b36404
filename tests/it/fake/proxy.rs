//! An HTTP proxy that writes down what it is asked for.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::server::Loopback;

/// Stops when dropped.
pub struct Proxy {
    loopback: Loopback,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Answers 502 to everything.
    pub fn start() -> Proxy {
        Proxy::start_at((Ipv4Addr::LOCALHOST, 0).into(), None)
    }

    /// Every tunnel leads to `server`, whatever it is asked for.
    pub fn start_to(server: SocketAddr) -> Proxy {
        Proxy::start_at((Ipv4Addr::LOCALHOST, 0).into(), Some(server))
    }

    /// At an address that this host has.
    pub fn start_at(address: SocketAddr, server: Option<SocketAddr>) -> Proxy {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let shared = requests.clone();
        let loopback = Loopback::start_at(address, move |listener| accept(listener, shared, server));
        Proxy { loopback, requests }
    }

    /// What HTTPS_PROXY takes.
    pub fn url(&self) -> String {
        format!("http://{}", self.loopback.address)
    }

    /// The first two words of each request: `CONNECT example.com:443`.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn accept(listener: TcpListener, requests: Arc<Mutex<Vec<String>>>, server: Option<SocketAddr>) {
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        let requests = requests.clone();
        tokio::spawn(async move { serve(client, &requests, server).await });
    }
}

async fn serve(mut client: TcpStream, requests: &Mutex<Vec<String>>, server: Option<SocketAddr>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = client.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let request = head.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let is_tunnel = request.starts_with("CONNECT ");
    requests.lock().unwrap().push(request);
    match server.filter(|_| is_tunnel) {
        Some(server) => {
            let mut server = TcpStream::connect(server).await.unwrap();
            let _ = client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        }
        None => {
            let _ = client.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").await;
        }
    }
}
