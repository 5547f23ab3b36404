//! An HTTP/1.1 server whose answers include the ones that servers should not give: none, half-way, a reset.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

pub use hyper::HeaderMap;

/// A request, read to its end.
pub struct Request {
    pub method: String,
    pub path: String,
    /// What comes after `?`; empty without.
    pub query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// What the server does with it.
pub enum Reply {
    Answer(Answer),
    /// As above, later.
    Late(Duration, Answer),
    /// A TCP reset instead of an answer.
    Reset,
    /// The connection is closed in good order, without an answer.
    Close,
    /// Nothing, for ever.
    Mute,
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// A task on a thread and runtime of its own, with a listener on a free loopback port. Stops when dropped.
pub struct Loopback {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    pub fn start<F: Future<Output = ()>>(task: impl FnOnce(TcpListener) -> F + Send + 'static) -> Loopback {
        Loopback::start_at((Ipv4Addr::LOCALHOST, 0).into(), task)
    }

    /// At an address that this host has.
    pub fn start_at<F: Future<Output = ()>>(
        address: SocketAddr,
        task: impl FnOnce(TcpListener) -> F + Send + 'static,
    ) -> Loopback {
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        Loopback::run(address, async || TcpListener::from_std(listener).unwrap(), task)
    }

    /// Connections are refused before [`Opener::open`]. The port is taken from the start.
    pub fn start_shut<F: Future<Output = ()>>(
        task: impl FnOnce(TcpListener) -> F + Send + 'static,
    ) -> (Loopback, Opener) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = socket.local_addr().unwrap();
        let (open, opened) = oneshot::channel();
        let listener = async || {
            let _ = opened.await;
            socket.listen(1024).unwrap()
        };
        (Loopback::run(address, listener, task), Opener(open))
    }

    fn run<F: Future<Output = ()>>(
        address: SocketAddr,
        listener: impl AsyncFnOnce() -> TcpListener + Send + 'static,
        task: impl FnOnce(TcpListener) -> F + Send + 'static,
    ) -> Loopback {
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = async { task(listener().await).await } => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Loopback { address, stop: Some(stop), thread: Some(thread) }
    }
}

/// Lets the connections in.
pub struct Opener(oneshot::Sender<()>);

impl Opener {
    pub fn open(self) {
        let _ = self.0.send(());
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A loopback address where nobody listens.
pub fn free_address() -> SocketAddr {
    std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

/// Stops when dropped.
pub struct Server {
    loopback: Loopback,
    scheme: &'static str,
    connections: Arc<AtomicUsize>,
}

impl Server {
    pub fn start(
        tls: Option<TlsAcceptor>,
        handler: impl Fn(Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        Server::start_at((Ipv4Addr::LOCALHOST, 0).into(), tls, handler)
    }

    /// As [`Loopback::start_at`].
    pub fn start_at(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        handler: impl Fn(Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let loopback =
            Loopback::start_at(address, move |listener| accept(listener, tls, count, Arc::new(handler)));
        Server { loopback, scheme, connections }
    }

    /// As [`Loopback::start_shut`].
    pub fn start_shut(handler: impl Fn(Request) -> Reply + Send + Sync + 'static) -> (Server, Opener) {
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let (loopback, opener) =
            Loopback::start_shut(move |listener| accept(listener, None, count, Arc::new(handler)));
        (Server { loopback, scheme: "http", connections }, opener)
    }

    /// How many were accepted so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// What AWS_ENDPOINT_URL takes.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.loopback.address)
    }
}

type Handler = dyn Fn(Request) -> Reply + Send + Sync;

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    connections: Arc<AtomicUsize>,
    handler: Arc<Handler>,
) {
    loop {
        let Ok((tcp, _)) = listener.accept().await else { continue };
        connections.fetch_add(1, Ordering::Relaxed);
        let reset = Arc::new(AtomicBool::new(false));
        let socket = Socket { tcp, reset: reset.clone() };
        let handler = handler.clone();
        let tls = tls.clone();
        tokio::spawn(async move {
            match tls {
                None => serve(socket, reset, handler).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(socket).await {
                        serve(stream, reset, handler).await;
                    }
                }
            }
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, reset: Arc<AtomicBool>, handler: Arc<Handler>) {
    let service = service_fn(|request| respond(request, &reset, &handler));
    // An error is what some of the replies are for.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(
    request: hyper::Request<Incoming>,
    reset: &AtomicBool,
    handler: &Arc<Handler>,
) -> Result<hyper::Response<Full<Bytes>>, io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let path = head.uri.path().to_owned();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let request = Request { method: head.method.to_string(), path, query, headers: head.headers, body };
    let answer = match handler(request) {
        Reply::Answer(answer) => answer,
        Reply::Late(pause, answer) => {
            tokio::time::sleep(pause).await;
            answer
        }
        Reply::Mute => {
            let never: Infallible = std::future::pending().await;
            match never {}
        }
        Reply::Reset => {
            reset.store(true, Ordering::Relaxed);
            return Err(io::Error::other("reset, as the test asked for"));
        }
        Reply::Close => return Err(io::Error::other("closed, as the test asked for")),
    };
    let mut response = hyper::Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(Full::new(Bytes::from(answer.body))).map_err(io::Error::other)
}

/// A socket that can be made to end in a reset.
struct Socket {
    tcp: TcpStream,
    reset: Arc<AtomicBool>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Relaxed) {
            let _ = self.tcp.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.reset.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(())); // A FIN would come before the reset.
        }
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
