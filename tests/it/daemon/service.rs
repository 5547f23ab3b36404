//! The daemon as a service: what it tells the service manager, and whom it lets read its status.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::thread::JoinHandle;
use std::time::Duration;

use super::machine::{DEVICE_A, Machine};
use super::process::Efsmon;

/// sd_notify(3): a datagram each, until the last of the process. Who is told must listen: few wait for it.
fn listen(socket: UnixDatagram) -> JoinHandle<Vec<String>> {
    // Far more than the process takes for anything.
    socket.set_read_timeout(Some(Duration::from_secs(180))).unwrap();
    std::thread::spawn(move || {
        let mut datagram = [0; 4096];
        let mut messages: Vec<String> = Vec::new();
        while messages.last().is_none_or(|last| last != END) {
            let bytes = socket.recv(&mut datagram).unwrap();
            messages.push(String::from_utf8(datagram[..bytes].to_vec()).unwrap());
        }
        messages
    })
}

/// Sent by the test, after the end of the process.
const END: &str = "END";

#[test]
fn the_service_manager_hears_of_the_start_of_each_sample_and_of_the_end() {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let path = machine.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let listening = listen(socket);
    let running = Efsmon::on(&machine).set("NOTIFY_SOCKET", path.to_str().unwrap()).start();
    running.wait_for_a_sample();
    running.wait_for_a_sample();
    running.terminate();
    UnixDatagram::unbound().unwrap().send_to(END.as_bytes(), &path).unwrap();
    let messages = listening.join().unwrap();
    let status = "STATUS=1 mount of 1 file system; nothing sent yet; 0 requests on disk\n";
    let is = |expected: &'static str| move |message: &String| message.trim_end() == expected.trim_end();
    assert_eq!(messages.iter().filter(|message| is("READY=1")(message)).count(), 1, "{messages:?}");
    assert!(messages.iter().filter(|message| is("WATCHDOG=1")(message)).count() >= 2, "{messages:?}");
    let ready = messages.iter().position(is("READY=1")).unwrap();
    assert!(messages[..ready].iter().any(is(status)), "before anybody can ask: {messages:?}");
    let stopping = messages.iter().position(is("STOPPING=1")).unwrap();
    assert!(!messages[stopping..].iter().any(is("WATCHDOG=1")), "{messages:?}");
}

/// As when the manager hangs with the very server whose mounts are watched. What it has to hear once is told again when
/// it listens.
#[test]
fn a_service_manager_that_does_not_listen_holds_up_nothing_and_hears_of_the_start_later() {
    let machine = Machine::new();
    machine.mount(DEVICE_A, "/mnt/a");
    let path = machine.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to(b"X=1", &path).is_ok() {}
    let running = Efsmon::on(&machine).set("NOTIFY_SOCKET", path.to_str().unwrap()).start();
    for _ in 0..3 {
        running.wait_for_a_sample();
    }
    let listening = listen(socket);
    for _ in 0..3 {
        running.wait_for_a_sample();
    }
    running.terminate();
    filler.set_nonblocking(false).unwrap();
    filler.send_to(END.as_bytes(), &path).unwrap();
    let messages = listening.join().unwrap();
    assert_eq!(messages.iter().filter(|message| *message == "READY=1").count(), 1, "{messages:?}");
}

#[test]
fn everybody_may_read_the_status_and_nobody_else_the_counters_whatever_the_umask() {
    for umask in ["077", "000"] {
        let machine = Machine::new();
        machine.mount(DEVICE_A, "/mnt/a");
        let mut efsmon = Efsmon::on(&machine);
        let script = format!("umask {umask} && exec \"$0\" \"$@\"");
        efsmon.program.splice(0..0, ["sh", "-c", &script].map(str::to_owned));
        let running = efsmon.start();
        running.wait_for_a_sample();
        running.terminate();
        let mode =
            |name: &str| fs::metadata(machine.path().join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("run/status.json"), mode("run/lock")), (0o644, 0o600), "{umask}");
        assert_eq!((mode("state/counters"), mode("state/lock")), (0o600, 0o600), "{umask}");
    }
}
