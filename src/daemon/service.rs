//! What the service manager is told: a datagram to the socket that it names (sd_notify(3)).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Notice<'a> {
    /// The first sample was tried.
    Ready,
    /// So was another one.
    Watchdog,
    /// One line for people.
    Status(&'a str),
    Stopping,
}

/// Without a service manager there is nobody to tell. One that does not listen is waited for at the start only, which
/// it waits for itself: later on it may hang, with the server of a mount, and sampling must not hang with it.
pub(super) fn tell(notice: Notice<'_>) {
    let _ = send(notice);
}

fn send(notice: Notice<'_>) -> io::Result<()> {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(&name)?,
    };
    let message = match notice {
        Notice::Ready => "READY=1".to_owned(),
        Notice::Watchdog => "WATCHDOG=1".to_owned(),
        Notice::Status(line) => format!("STATUS={line}"),
        Notice::Stopping => "STOPPING=1".to_owned(),
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(!matches!(notice, Notice::Ready))?;
    socket.send_to_addr(message.as_bytes(), &address)?;
    Ok(())
}
