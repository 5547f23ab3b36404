//! What would be sent, as JSON lines: no state, no lock, no AWS.

use std::io::Write;

use serde_json::{Map, Value, json};
use tracing::{info, warn};

use super::kept::say_what_is_left_out;
use super::reading::Reader;
use super::{Settings, missed, until_multiple};
use crate::batch;
use crate::catalog::OwnFigures;
use crate::clock::Clock;
use crate::efs::Targets;
use crate::model::{Batch, Datum, Host, Moment};
use crate::monitor::{self, Monitor, State};
use crate::recording::{Damage, Recording, Tick};
use crate::source::Source;

/// How to sample, and how to write it.
#[derive(Debug)]
pub struct DryRun<'a> {
    pub settings: &'a Settings,
    /// What stands for this host's id.
    pub host: &'a Host,
    /// What EFS said of addresses to a daemon; `None` where it may not be asked.
    pub targets: Option<&'a Targets>,
    /// End after a second sample.
    pub once: bool,
}

impl DryRun<'_> {
    /// Samples and writes a line for each request, until nobody reads them.
    ///
    /// # Errors
    ///
    /// The mounts cannot be read, when there is no further sample to wait for; the lines cannot be written.
    pub fn run(&self, source: &Source, clock: &impl Clock, out: &mut impl Write) -> anyhow::Result<()> {
        let settings = &self.settings.monitor;
        let mut monitor = self.monitor(settings, State::default());
        let mut reader = Reader::new(&monitor);
        let mut own = OwnFigures::default();
        let interval = settings.sample_interval.as_secs();
        match self.once {
            true => info!("taking two samples, {interval} s apart; then come the requests"),
            false => {
                info!("taking a sample every {interval} s; a minute's requests come when it has ended")
            }
        }
        let mut first = true;
        loop {
            let sighting = reader.read(source, clock, &mut monitor);
            match &sighting {
                Ok(sighting) => own.unidentified_mounts = sighting.unidentified,
                Err(_) => own.samples_lost += 1,
            }
            let last = self.once && !std::mem::take(&mut first);
            self.close(&mut monitor, &mut own, last, out)?;
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

    /// Writes a line for each request that the daemon would have made of what a recording holds, had it been started
    /// with the first tick and ended with the last. The recording's interval is the sample interval.
    ///
    /// # Errors
    ///
    /// The lines cannot be written. Damaged ticks are told, and lost.
    pub fn replay(&self, recording: &Recording, out: &mut impl Write) -> anyhow::Result<()> {
        let mut settings = self.settings.monitor.clone();
        settings.sample_interval = recording.header().interval();
        let mut monitor = self.monitor(&settings, State::default());
        let mut reader = Reader::new(&monitor);
        let mut own = OwnFigures::default();
        info!(ticks = recording.len(), "replaying a recording");
        let limit = if self.once { 2 } else { usize::MAX };
        let mut ticks = recording.ticks().filter_map(readable).take(limit).peekable();
        let mut earlier: Option<(Option<String>, Moment)> = None;
        while let Some(Tick { moment, boot_id, reading, efs_state, .. }) = ticks.next() {
            match &earlier {
                Some((boot, then)) if *boot == boot_id => {
                    own.samples_lost += missed(moment.monotonic.saturating_sub(then.monotonic), &settings);
                }
                Some(_) => {
                    let state = monitor.state().clone().of_another_boot();
                    monitor = self.monitor(&settings, state);
                }
                None => {}
            }
            earlier = Some((boot_id, moment));
            match reader.take(moment, reading, || efs_state.clone(), &mut monitor) {
                Ok(sighting) => own.unidentified_mounts = sighting.unidentified,
                Err(_) => own.samples_lost += 1,
            }
            self.close(&mut monitor, &mut own, ticks.peek().is_none(), out)?;
        }
        Ok(())
    }

    fn monitor(&self, settings: &monitor::Settings, state: State) -> Monitor {
        let mut monitor = Monitor::new(settings.clone(), state);
        if let Some(targets) = self.targets {
            monitor.look_up(targets.clone());
        }
        monitor
    }

    /// Writes the minutes that have ended, and at the very end the one that has not.
    fn close(
        &self,
        monitor: &mut Monitor,
        own: &mut OwnFigures,
        is_end: bool,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let data = if is_end { monitor.close_early(own) } else { monitor.close(own) };
        if data.iter().any(|datum| datum.dimensions.is_empty()) {
            own.samples_lost = 0;
        }
        say_what_is_left_out(&monitor.newly_dropped());
        for batch in batch::split(&self.settings.namespace, data).batches {
            writeln!(out, "{}", as_json(&batch, self.host))?;
        }
        Ok(out.flush()?)
    }
}

/// The tick, when there is one; what is damaged is told.
fn readable(tick: Result<Tick, Damage>) -> Option<Tick> {
    tick.inspect_err(|damage| warn!(%damage, "the recording is damaged; the next tick covers its time")).ok()
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
