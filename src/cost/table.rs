//! The report for people, in 80 columns.

use std::io::{self, Write};

use super::prices::{self, AS_OF, FREE_METRICS, HOURS_A_MONTH, PAGE, REGION, Usd, thousands};
use super::warnings::new_hosts;
use super::{Estimate, Group, Report, Whose, counted};
use crate::catalog::Profile;

const WIDTH: usize = 80;

/// Writes the report.
pub fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    write_heading(report, out)?;
    let estimate = report.chosen();
    writeln!(out)?;
    write_bill(&estimate, report, out)?;
    writeln!(out)?;
    write_profiles(report, out)?;
    for warning in &report.warnings {
        writeln!(out)?;
        write_wrapped("! ", &warning.text, out)?;
    }
    writeln!(out)?;
    notes(report, &estimate).iter().try_for_each(|note| write_wrapped("- ", note, out))
}

fn write_heading(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let setup = &report.setup;
    let mut subject = match (&report.whose, setup.file_systems) {
        (Whose::ThisHost { .. }, 0) => "this host, no EFS file system mounted".to_owned(),
        (Whose::ThisHost { .. }, number) => {
            format!("this host, {} mounted", counted(number, "EFS file system"))
        }
        (Whose::Fleet, number) => format!(
            "{}, {}, {} mounted on each host",
            counted(setup.hosts, "host"),
            counted(number, "file system"),
            thousands(setup.per_host)
        ),
    };
    if setup.churn > 0 {
        subject += &format!(", {} replaced a day", counted(setup.churn, "host"));
    }
    write_wrapped("", &subject, out)?;
    let (profile, seconds) = (report.profile.name(), setup.publish_minutes * 60);
    write_wrapped("", &format!("profile {profile} ({}), sent every {seconds} s", report.origin), out)?;
    writeln!(out, "USD a month, list prices of {REGION} on {AS_OF}; other Regions differ")
}

/// A line of the bill: what, how that is reckoned, how many, how much.
fn write_line(
    out: &mut impl Write,
    (name, working): (&str, &str),
    number: &str,
    usd: Option<Usd>,
) -> io::Result<()> {
    let what = format!("{name:<15}{working}");
    let usd = usd.map(|usd| usd.to_string()).unwrap_or_default();
    let line = format!("{what:<51} {number:>13} {usd:>14}");
    writeln!(out, "{}", line.trim_end())
}

fn write_bill(estimate: &Estimate, report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:>65}{:>15}", "NUMBER", "USD A MONTH")?;
    let whose = match report.whose {
        Whose::ThisHost { .. } => "this host's own",
        Whose::Fleet => "each host's own",
    };
    for (shared, title) in [(true, "shared: billed once, however many hosts publish them"), (false, whose)] {
        let groups = || estimate.groups.iter().filter(|group| group.shared == shared && group.series() > 0);
        if groups().next().is_some() {
            writeln!(out, "{title}")?;
        }
        for group in groups() {
            let name = format!("  {}", group.name);
            write_line(out, (&name, &working(group, report)), &thousands(group.series()), None)?;
        }
    }
    let own = estimate.own();
    if own > 0 && report.setup.churn > 0 {
        let working = format!("{} x {} a day x 1 of 24 hours", thousands(own), thousands(report.setup.churn));
        write_line(out, ("  replaced", &working), &estimate.churn.to_string(), None)?;
    }
    for (portion, name) in estimate.metrics.iter().zip(["series", "", "", ""]) {
        let tier = match portion.tier.up_to {
            Some(end) => format!("up to {}", thousands(end)),
            None => "beyond".to_owned(),
        };
        let working = format!("{} each, {tier}", portion.tier.price);
        write_line(out, (name, &working), &portion.used.to_string(), Some(portion.usd))?;
    }
    let (price, free) = (prices::THOUSAND_REQUESTS, thousands(prices::FREE_REQUESTS));
    let working = format!("{price} per 1,000, {free} free");
    write_line(out, ("requests", &working), &thousands(estimate.requests), Some(estimate.request_cost))?;
    let limited = Estimate::limited(estimate.profile, &report.setup);
    if limited.on_a_host() == estimate.on_a_host() {
        return write_line(out, ("total", ""), "", Some(estimate.total()));
    }
    write_line(out, ("total, if all of it were published", ""), "", Some(estimate.total()))?;
    let limited_by = format!("billed under limits.max_series = {}", report.setup.max_series);
    write_line(out, (&limited_by, ""), "", Some(limited.total()))
}

/// `10 x 200 file systems`.
fn working(group: &Group, report: &Report) -> String {
    let alone = report.whose != Whose::Fleet;
    let factors = group.factors.iter().filter(|(_, of)| !(alone && *of == "host"));
    let factors = factors.map(|(number, of)| match *of {
        "" => thousands(*number),
        of => counted(*number, of),
    });
    factors.collect::<Vec<_>>().join(" x ")
}

fn write_profiles(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let a_host = |text: String| if report.whose == Whose::Fleet { text } else { String::new() };
    let row = |name: &str, series: &str, [metrics, requests, total, a_host]: [&str; 4]| {
        let line = format!("{name:<13} {series:>12} {metrics:>15} {requests:>13} {total:>13} {a_host:>9}");
        line.trim_end().to_owned()
    };
    let costs = ["FOR SERIES", "FOR REQUESTS", "TOTAL", &a_host("A HOST".to_owned())];
    writeln!(out, "{}", row("PROFILE", "SERIES", costs))?;
    let mut limited = Vec::new();
    for estimate in &report.estimates {
        let (profile, total) = (estimate.profile.name(), estimate.total());
        let under_limit = Estimate::limited(estimate.profile, &report.setup);
        let is_limited = under_limit.on_a_host() < estimate.on_a_host();
        if is_limited {
            limited.push(format!("{profile} {}", under_limit.total()));
        }
        let chosen = if estimate.profile == report.profile { ">" } else { " " };
        let name = format!("{chosen} {profile}{}", if is_limited { " *" } else { "" });
        let costs = [
            estimate.metric_cost().to_string(),
            estimate.request_cost.to_string(),
            total.to_string(),
            a_host(total.shared_by(report.setup.hosts).to_string()),
        ];
        writeln!(out, "{}", row(&name, &thousands(estimate.series()), costs.each_ref().map(String::as_str)))?;
    }
    match limited.is_empty() {
        true => Ok(()),
        false => {
            let text = format!(
                "needs more than limits.max_series = {}. Under that limit: {}.",
                report.setup.max_series,
                limited.join(", ")
            );
            write_wrapped("* ", &text, out)
        }
    }
}

/// What one has to know to read the figures.
fn notes(report: &Report, estimate: &Estimate) -> Vec<String> {
    let setup = &report.setup;
    let mut notes = Vec::new();
    match report.whose {
        Whose::ThisHost { not_counted: 0 } | Whose::Fleet => {}
        Whose::ThisHost { not_counted: 1 } => notes.push(
            "1 NFS mount is not counted: it is not EFS, or not known yet; efsmon mounts says why.".to_owned(),
        ),
        Whose::ThisHost { not_counted } => notes.push(format!(
            "{not_counted} NFS mounts are not counted: they are not EFS, or not known yet; efsmon mounts says why."
        )),
    }
    if report.whose != Whose::Fleet {
        let own = match estimate.own() {
            0 => "no series".to_owned(),
            own => {
                let cost = prices::METRICS[0].price.times_whole(own);
                format!("{} of its own ({cost})", counted(own, "series"))
            }
        };
        notes.push(format!(
            "Another host with the same mounts adds {own} and {} ({} once the free ones are used up): the shared \
             series stay as they are. For a fleet: --hosts and --file-systems.",
            counted(estimate.requests, "request"),
            prices::requests(prices::FREE_REQUESTS + estimate.requests),
        ));
    }
    if setup.churn > 0 && estimate.own() > 0 {
        notes.push(format!(
            "A new host has a new InstanceId, and so new series. A series is billed for every hour in which it gets \
             data: in the hour in which one host follows another, the series of both are. {} a day are {} a month.",
            thousands(setup.churn),
            thousands(new_hosts(setup)),
        ));
    }
    if estimate.profile == Profile::Full {
        notes.push(format!(
            "{} on each file system are taken to be in use (--operations); one that is not used has no series.",
            counted(setup.operations, "operation")
        ));
    }
    notes.push(format!(
        "limits.max_series = {} is what a host publishes at most. If {} did, the series would cost {}.",
        setup.max_series,
        if setup.hosts == 1 { "it".to_owned() } else { format!("all {}", counted(setup.hosts, "host")) },
        setup.ceiling(),
    ));
    let elsewhere = match &report.region {
        Some(region) if region != REGION => format!(", and this host publishes to {region}"),
        _ => String::new(),
    };
    notes.push(format!(
        "Prices: {PAGE}, {REGION}, as of {AS_OF}, without discounts and tax; other Regions differ{elsewhere}."
    ));
    notes.push(format!(
        "The tiers and the free requests are an account's, and taken to be all for efsmon: other custom metrics make \
         these cheaper, others' requests cost up to {} more. The account's {FREE_METRICS} free metrics ({}) are not \
         deducted.",
        prices::requests(2 * prices::FREE_REQUESTS),
        prices::METRICS[0].price.times_whole(FREE_METRICS),
    ));
    notes.push(format!(
        "A month is {HOURS_A_MONTH} hours, and every host is there for all of it; an hour in which a series gets no \
         data is not billed. Not in it: dashboards, alarms, what reading metrics costs."
    ));
    notes
}

/// A paragraph with a mark before it.
fn write_wrapped(mark: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
    let mut line = mark.to_owned();
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{}", line.trim_end())?;
            line = " ".repeat(mark.len());
        }
        line.push_str(word);
        line.push(' ');
    }
    writeln!(out, "{}", line.trim_end())
}
