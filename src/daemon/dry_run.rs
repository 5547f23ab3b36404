//! What would be sent, as JSON lines: no state, no lock, no AWS.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::{Settings, until_multiple};
use crate::batch;
use crate::catalog::OwnFigures;
use crate::clock::Clock;
use crate::efs::helper_mounts;
use crate::model::{Batch, Datum, Host};
use crate::monitor::{Monitor, State};
use crate::source::Source;

/// Samples and writes a line for each request, until nobody reads them; with `once` after a second sample.
pub fn run(
    settings: &Settings,
    source: &Source,
    clock: &impl Clock,
    host: &Host,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut monitor = Monitor::new(settings.monitor.clone(), State::default());
    let interval = settings.monitor.sample_interval.as_secs();
    match settings.once {
        true => tracing::info!("taking two samples, {interval} s apart; then come the requests"),
        false => {
            tracing::info!("taking a sample every {interval} s; a minute's requests come when it has ended")
        }
    }
    let mut first = true;
    loop {
        let reading = source.read(clock);
        if let Ok(reading) = &reading {
            monitor.observe(reading, || helper_mounts(&source.efs_state().unwrap_or_default()));
        }
        let own = OwnFigures { samples_lost: u64::from(reading.is_err()), ..OwnFigures::default() };
        let last = settings.once && !std::mem::take(&mut first);
        let data = if last { monitor.close_early(&own) } else { monitor.close(&own) };
        for batch in batch::split(&settings.namespace, data).batches {
            writeln!(out, "{}", as_json(&batch, host))?;
        }
        out.flush()?;
        match reading {
            Err(error) if settings.once => return Err(error.into()),
            Err(error) => tracing::warn!(%error, "this sample is void"),
            Ok(_) if last => return Ok(()),
            Ok(_) => {}
        }
        let pause = match settings.once {
            true => settings.monitor.sample_interval,
            false => until_multiple(clock.now().wall, settings.monitor.sample_interval),
        };
        std::thread::sleep(pause);
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
