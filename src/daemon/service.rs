//! What the service manager is told: a datagram to the socket that it names (sd_notify(3)).

use std::ffi::OsStr;
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

/// Most characters of a status line: systemd passes over a datagram of more than 4,096 bytes, and a character has 4 at
/// most.
const LONGEST_STATUS: usize = 1_000;

/// Never waits. A manager that does not listen may hang with the server of a mount, and sampling must not hang with it.
/// The crate sd-notify gives its socket to nobody and waits at it for a manager to listen: hence this. `false`: it does
/// not listen at present. Without a manager there is nobody to tell, now or later.
pub(super) fn tell(notice: Notice<'_>) -> bool {
    !matches!(send(notice), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

fn send(notice: Notice<'_>) -> io::Result<()> {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    send_to(name.as_bytes(), &text(notice))
}

fn text(notice: Notice<'_>) -> String {
    match notice {
        Notice::Ready => "READY=1".to_owned(),
        Notice::Watchdog => "WATCHDOG=1".to_owned(),
        Notice::Status(line) => format!("STATUS={}", line.chars().take(LONGEST_STATUS).collect::<String>()),
        Notice::Stopping => "STOPPING=1".to_owned(),
    }
}

fn send_to(name: &[u8], message: &str) -> io::Result<()> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(OsStr::from_bytes(name))?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(message.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As some managers and containers name theirs: no file, and a name that begins with a zero byte.
    #[test]
    fn a_socket_without_a_file_is_told_too() {
        let name = format!("efsmon-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        manager.set_nonblocking(true).unwrap();
        send_to(format!("@{name}").as_bytes(), "READY=1").unwrap();
        let mut message = [0; 16];
        assert_eq!((manager.recv(&mut message).unwrap(), &message[..7]), (7, b"READY=1".as_slice()));
    }

    #[test]
    fn a_long_status_is_cut_and_not_passed_over() {
        let bytes = |line: &str| text(Notice::Status(line)).len();
        assert_eq!(bytes(&"x".repeat(5_000)), 1_007);
        assert_eq!(bytes(&"\u{1f4be}".repeat(5_000)), 4_007);
        assert_eq!(text(Notice::Status("1 mount")), "STATUS=1 mount");
    }
}
