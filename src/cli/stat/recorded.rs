//! `efsmon stat --procfs RECORDING`: the reports of another time.

use std::io::{self, Write};
use std::time::Duration;

use super::{Printer, Report};
use crate::cli::replay::nothing_to_see;
use crate::efs::helper_mounts;
use crate::model::Moment;
use crate::mountstats;
use crate::names::printable;
use crate::nfsiostat::activity::Earlier;
use crate::recording::{Damage, Recording, Tick};
use crate::sampler::join::join_texts;
use crate::source::{Reading, StateFile};

/// A tick may be as late as this, and the next be on time.
const LATE: Duration = Duration::from_secs(1);

/// The last tick without an interval; else the first, and from there as far apart as asked for. The last report is of
/// the last tick, even when that comes sooner.
pub(super) fn report(
    printer: &mut Printer<'_, impl Write>,
    recording: &Recording,
    interval: Option<Duration>,
    count: Option<u64>,
) -> anyhow::Result<()> {
    let Some(interval) = interval else {
        let (reading, efs_state) = recording.last().ok_or_else(nothing_to_see)?;
        return print(printer, &reading, &efs_state, None, None);
    };
    let enough = interval.saturating_sub(LATE.min(recording.header().interval() / 2));
    let mut ticks = recording.ticks().filter_map(shown).peekable();
    let mut before: Option<Seen> = None;
    let mut reports = 0;
    while let Some(seen) = ticks.next() {
        // Counters begin anew with a boot.
        before =
            before.filter(|before| before.boot_id == seen.boot_id && before.monotonic() < seen.monotonic());
        let elapsed = before.as_ref().map(|before| seen.monotonic().saturating_sub(before.monotonic()));
        let is_last = ticks.peek().is_none();
        if elapsed.is_some_and(|elapsed| elapsed < enough) && !is_last {
            continue;
        }
        let nominal = if elapsed.is_some_and(|elapsed| elapsed < enough) { elapsed } else { Some(interval) };
        print(
            printer,
            &seen.reading,
            &seen.efs_state,
            before.as_ref().map(|before| &before.reading),
            nominal,
        )?;
        reports += 1;
        if count.is_some_and(|count| reports >= count) {
            return Ok(());
        }
        before = Some(seen);
    }
    match reports {
        0 => Err(nothing_to_see()),
        _ => Ok(()),
    }
}

/// A tick that has a reading.
struct Seen {
    boot_id: Option<String>,
    reading: Reading,
    efs_state: Result<Vec<StateFile>, String>,
}

impl Seen {
    fn monotonic(&self) -> Duration {
        self.reading.moment.monotonic
    }
}

/// The readings of a recording; what there is no reading of is told.
fn shown(tick: Result<Tick, Damage>) -> Option<Seen> {
    let told = match tick {
        Ok(Tick { boot_id, reading: Ok(reading), efs_state, .. }) => {
            return Some(Seen { boot_id, reading, efs_state });
        }
        Ok(Tick { reading: Err(reason), number, .. }) => {
            format!("tick {number:06} is void: {}", printable(reason.as_bytes()))
        }
        Err(damage) => damage.to_string(),
    };
    let _ = writeln!(io::stderr(), "efsmon: {told}");
    None
}

fn print(
    printer: &mut Printer<'_, impl Write>,
    reading: &Reading,
    efs_state: &Result<Vec<StateFile>, String>,
    before: Option<&Reading>,
    nominal: Option<Duration>,
) -> anyhow::Result<()> {
    let Moment { wall, monotonic } = reading.moment;
    let old = before.map(|before| {
        (mountstats::parse(&before.mountstats), monotonic.saturating_sub(before.moment.monotonic))
    });
    let new = mountstats::parse(&reading.mountstats);
    printer.print(&Report {
        new: &new,
        earlier: old
            .as_ref()
            .map(|(parsed, elapsed)| Earlier { parsed, elapsed_seconds: Some(elapsed.as_secs_f64()) }),
        nominal_seconds: nominal.map(|nominal| nominal.as_secs_f64()),
        wall: Some(wall),
        seen: join_texts(&reading.mountinfo_before, &new, &reading.mountinfo_after).0,
        helper: &efs_state.as_ref().map(|files| helper_mounts(files)).unwrap_or_default(),
    })
}
