//! Which file system gets which alarm: by the metrics that the alarm asks for, so that it holds for added templates
//! too.

use super::asked::asked;
use crate::alarm::Alarm;
use crate::catalog::vended::NAMESPACE;
use crate::credits::{FileSystem, MIB, ThroughputMode, baseline};

/// Why the file system does not get this alarm. None: it gets it.
pub fn skipped(alarm: &Alarm, file_system: &FileSystem) -> Option<String> {
    let asked = asked(alarm);
    let asks = |name: &str| asked.iter().any(|asked| asked.namespace == NAMESPACE && asked.name == name);
    if asks("BurstCreditBalance") && !file_system.has_credits() {
        return Some(no_credits(file_system));
    }
    if asks("PercentIOLimit") && !file_system.general_purpose {
        return Some("Max I/O performance has no such limit".to_owned());
    }
    if asks("PermittedThroughput") && asks("MeteredIOBytes") {
        return not_comparable(&file_system.mode);
    }
    None
}

fn no_credits(file_system: &FileSystem) -> String {
    match &file_system.mode {
        ThroughputMode::Elastic => "elastic throughput has no burst credits".to_owned(),
        ThroughputMode::Provisioned { mibps } => format!(
            "{mibps} MiB/s are provisioned, and its storage earns {:.1}: it has no burst credits",
            baseline(file_system.standard_bytes) / MIB
        ),
        mode => unknown(mode),
    }
}

/// With elastic throughput, the permitted throughput is that of writes alone (EFS User Guide, "Amazon CloudWatch
/// metrics for Amazon EFS"), and reads may be many times as fast: what is metered may be beyond it without anything
/// being wrong.
fn not_comparable(mode: &ThroughputMode) -> Option<String> {
    match mode {
        ThroughputMode::Bursting | ThroughputMode::Provisioned { .. } => None,
        ThroughputMode::Elastic => Some(
            "elastic throughput follows the demand; what EFS calls permitted is for writes alone".to_owned(),
        ),
        ThroughputMode::Other(_) => Some(unknown(mode)),
    }
}

fn unknown(mode: &ThroughputMode) -> String {
    format!("nothing is known here of the throughput mode {}", mode.name())
}
