//! What is logged, as a test sees it.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing::level_filters::LevelFilter;

/// What is logged meanwhile, by this thread.
pub(crate) fn logged(act: impl FnOnce()) -> String {
    // A line that another thread logs for the first time while nobody listens is switched off; if that is the moment at
    // which this one begins to listen, it stays off (tracing keeps what is wanted of each line). So somebody always
    // listens.
    let everything = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(io::sink);
    let _ = tracing::subscriber::set_global_default(everything.finish());
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(move || writer.clone());
    tracing::subscriber::with_default(lines.finish(), act);
    let bytes = log.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
