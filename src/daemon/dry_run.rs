//! What would be sent, as JSON lines: no state, no lock, no AWS.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::kept::say_what_is_left_out;
use super::reading::Reader;
use super::{Settings, until_multiple};
use crate::batch;
use crate::catalog::OwnFigures;
use crate::clock::Clock;
use crate::model::{Batch, Datum, Host};
use crate::monitor::{Monitor, State};
use crate::source::Source;

/// What to sample, and how to write it.
#[derive(Debug)]
pub struct DryRun<'a> {
    pub settings: &'a Settings,
    pub source: &'a Source,
    /// What stands for this host's id.
    pub host: &'a Host,
    /// End after a second sample.
    pub once: bool,
}

impl DryRun<'_> {
    /// Samples and writes a line for each request, until nobody reads them.
    ///
    /// # Errors
    ///
    /// The mounts cannot be read, when there is no further sample to wait for; the lines cannot be written.
    pub fn run(&self, clock: &impl Clock, out: &mut impl Write) -> anyhow::Result<()> {
        let settings = &self.settings.monitor;
        let mut monitor = Monitor::new(settings.clone(), State::default());
        let mut reader = Reader::new(&monitor);
        let mut own = OwnFigures::default();
        let interval = settings.sample_interval.as_secs();
        match self.once {
            true => tracing::info!("taking two samples, {interval} s apart; then come the requests"),
            false => {
                tracing::info!(
                    "taking a sample every {interval} s; a minute's requests come when it has ended"
                )
            }
        }
        let mut first = true;
        loop {
            let sighting = reader.read(self.source, clock, &mut monitor);
            match &sighting {
                Ok(sighting) => own.unidentified_mounts = sighting.unidentified,
                Err(_) => own.samples_lost += 1,
            }
            let last = self.once && !std::mem::take(&mut first);
            let data = if last { monitor.close_early(&own) } else { monitor.close(&own) };
            if data.iter().any(|datum| datum.dimensions.is_empty()) {
                own.samples_lost = 0;
            }
            say_what_is_left_out(&monitor.newly_dropped());
            for batch in batch::split(&self.settings.namespace, data).batches {
                writeln!(out, "{}", as_json(&batch, self.host))?;
            }
            out.flush()?;
            match sighting {
                Err(error) if self.once => return Err(error.into()),
                Ok(_) if last => return Ok(()),
                Ok(_) | Err(_) => {}
            }
            let pause = match self.once {
                true => settings.sample_interval,
                false => until_multiple(clock.now().wall, settings.sample_interval),
            };
            std::thread::sleep(pause);
        }
    }
}

fn as_json(batch: &Batch, host: &Host) -> Value {
    json!({
        "namespace": batch.namespace,
        "data": batch.data.iter().map(|datum| datum_as_json(datum, host)).collect::<Vec<_>>(),
    })
}

fn datum_as_json(datum: &Datum, host: &Host) -> Value {
    let host = match host {
        Host::Known(id) => Some(id),
        Host::Pending | Host::Unknown => None,
    };
    let dimensions = datum.dimensions.iter();
    let dimensions: Map<String, Value> =
        dimensions.map(|d| (d.name.to_string(), json!(d.value.as_ref().or(host)))).collect();
    json!({
        "metric": datum.metric,
        "dimensions": dimensions,
        "timestamp": datum.timestamp.to_string(),
        "unit": datum.unit.name(),
        "values": datum.values,
        "counts": datum.counts,
    })
}
