//! The report for people: a few lines for each busy mount, one for each idle one.

use std::io::{self, Write};

use super::activity::{Activity, Since};
use super::{View, event, pages};
use crate::mountstats::{OpCounters, unescape};
use crate::names::printable;
use crate::traffic::Kind;

/// Writes one report. `heading` says when it was taken and over what time, if all mounts have that in common.
pub fn write(
    out: &mut impl Write,
    activities: &[Activity<'_>],
    view: View,
    heading: Option<&str>,
) -> io::Result<()> {
    if let Some(heading) = heading {
        writeln!(out, "{heading}")?;
    }
    if activities.is_empty() {
        return writeln!(out, "no NFS mounts");
    }
    write!(out, "{:<12}{:>9}{:>9}{:>9}", "", "ops/s", "MiB/s", "KiB/op")?;
    writeln!(out, "{:>9}{:>9}{:>10}{:>13}{:>13}", "rtt ms", "exe ms", "queue ms", "retrans", "errors")?;
    activities.iter().try_for_each(|activity| write_mount(out, activity, view, heading.is_some()))
}

fn write_mount(
    out: &mut impl Write,
    activity: &Activity<'_>,
    view: View,
    time_in_heading: bool,
) -> io::Result<()> {
    let mut head = vec![printable(&unescape(activity.mount.mount_point))];
    head.extend(activity.file_system_id.iter().map(ToString::to_string));
    if let Some(same_as) = activity.same_as {
        return writeln!(out, "{}  same as {}", head.join("  "), printable(&unescape(same_as)));
    }
    match activity.since {
        Since::Reading if time_in_heading => {}
        Since::Reading => head.push(format!("{:.3} s", activity.seconds)),
        Since::Birth => head.push(format!("new, {} old", duration(activity.seconds))),
        Since::Mount => head.push(format!("since mount, {}", duration(activity.seconds))),
    }
    if activity.requests() == 0 && view == View::Files {
        head.push("idle".to_owned());
        head.extend(unanswered(activity));
        return writeln!(out, "{}", head.join("  "));
    }
    writeln!(out, "{}", head.join("  "))?;
    for (label, counters) in rows(activity, view) {
        write_row(out, &label, &counters, activity.seconds)?;
    }
    if let Some(sum) = activity.connections.since.filter(|sum| sum.sends > 0) {
        let sends = sum.sends as f64 / activity.seconds;
        let backlog = sum.backlog as f64 / sum.sends as f64;
        let plural = if activity.connections.count == 1 { "" } else { "s" };
        write!(out, "{:<12}{sends:>9.1}", "  server")?;
        write!(out, "  over {} connection{plural}, {backlog:.3} waiting", activity.connections.count)?;
        writeln!(out, "{}", unanswered(activity).map(|note| ", ".to_owned() + &note).unwrap_or_default())?;
    }
    match view {
        View::Files => Ok(()),
        View::Attributes => write_attribute_cache(out, activity),
        View::Directories => write_directories(out, activity),
        View::Pages => write_pages(out, activity),
    }
}

/// A server that does not answer looks idle: requests are counted when they end.
fn unanswered(activity: &Activity<'_>) -> Option<String> {
    let sum = activity.connections.since.filter(|sum| sum.sends > 0 && sum.receives == 0)?;
    Some(format!("no reply from the server to {} sends", sum.sends))
}

fn rows(activity: &Activity<'_>, view: View) -> Vec<(String, OpCounters)> {
    let named = |names: &[&str]| {
        let row = |name: &&str| Some((name.to_lowercase(), activity.operation(name.as_bytes())?));
        names.iter().filter_map(row).collect()
    };
    match view {
        View::Attributes => named(&["GETATTR", "ACCESS"]),
        View::Directories => named(&["LOOKUP", "READDIR", "READDIRPLUS"]),
        View::Files | View::Pages => {
            let row = |label: &str, kind| (label.to_owned(), activity.total(kind));
            let mut rows = vec![row("read", Kind::Read), row("write", Kind::Write)];
            rows.extend(Some(row("commit", Kind::Commit)).filter(|(_, commit)| commit.requests > 0));
            rows.push(row("metadata", Kind::Metadata));
            rows
        }
    }
}

fn write_row(out: &mut impl Write, label: &str, counters: &OpCounters, seconds: f64) -> io::Result<()> {
    let requests = counters.requests;
    let kib = (u128::from(counters.bytes_sent) + u128::from(counters.bytes_received)) as f64 / 1024.0;
    let mean = |total: f64| (requests > 0 && total >= 0.0).then(|| total / requests as f64);
    let cell = |value: Option<f64>, digits| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    let mean_ms = |sum_ms: i64| cell(mean(sum_ms as f64), 2);
    let with_share = |count: u64| match (count, mean(count as f64 * 100.0)) {
        (0, _) => "0".to_owned(),
        (count, Some(percent)) => format!("{count} ({percent:.1}%)"),
        (count, None) => count.to_string(),
    };
    let label = format!("  {label}");
    let (rate, throughput) = (requests as f64 / seconds, kib / 1024.0 / seconds);
    write!(out, "{label:<12} {rate:>8.1} {throughput:>8.2} {:>8}", cell(mean(kib), 1))?;
    write!(out, " {:>8} {:>8}", mean_ms(counters.rtt_ms), mean_ms(counters.execute_ms))?;
    // Before Linux 4.19 a request that was never sent is missing from the transmissions.
    let retransmissions = with_share(counters.transmissions.saturating_sub(requests));
    let errors = counters.errors.map_or("-".to_owned(), with_share);
    writeln!(out, " {:>9} {retransmissions:>12} {errors:>12}", mean_ms(counters.queue_ms))
}

fn write_attribute_cache(out: &mut impl Write, activity: &Activity<'_>) -> io::Result<()> {
    let event = |index| number(&activity.events, index);
    write!(out, "  {} opens, {} forced revalidations, ", event(event::OPEN), event(event::INODE_REVALIDATE))?;
    write!(out, "{} page cache and ", event(event::DATA_INVALIDATE))?;
    writeln!(out, "{} attribute cache invalidations", event(event::ATTRIBUTE_INVALIDATE))
}

fn write_directories(out: &mut impl Write, activity: &Activity<'_>) -> io::Result<()> {
    let event = |index| number(&activity.events, index);
    write!(out, "  {} opens, {} entry revalidations, ", event(event::OPEN), event(event::DENTRY_REVALIDATE))?;
    writeln!(out, "{} lookups, {} directory reads asked for", event(event::LOOKUP), event(event::GET_DENTS))
}

fn write_pages(out: &mut impl Write, activity: &Activity<'_>) -> io::Result<()> {
    let event = |index| number(&activity.events, index);
    let reads = event(event::READ_PAGE) + event(event::READ_PAGES);
    let writes = event(event::WRITE_PAGE) + event(event::WRITE_PAGES);
    write!(out, "  {} pages read in {reads} calls, ", number(&activity.bytes, pages::READ))?;
    write!(out, "{} written in {writes}, ", number(&activity.bytes, pages::WRITTEN))?;
    writeln!(out, "{} updated", event(event::UPDATE_PAGE))
}

fn number(numbers: &[u64], index: usize) -> u64 {
    numbers.get(index).copied().unwrap_or(0)
}

/// Two figures of a time in whole seconds.
fn duration(seconds: f64) -> String {
    let seconds = seconds as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {} s", seconds % 60),
        3600..86400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}
