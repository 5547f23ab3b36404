//! The report for people, in 80 columns. What is to be copied is never broken.

use std::io::{self, Write};
use std::path::Path;

use super::look::{Found, What};
use super::{Bill, Removal, Report, bill, goes_on, instead, metrics, shown};
use crate::catalog::{CRON_SCRIPT_NAMESPACE, Profile, Scope};
use crate::cli::mounts::fit::wrapped;
use crate::config::DEFAULT_FILE;
use crate::cost::prices::{AS_OF, FREE_REQUESTS, REGION, thousands};
use crate::cronscript::Put;
use crate::names::printable;

const WIDTH: usize = 80;
const NEVER: &str = "never published";

pub(super) fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let found = &report.search.found;
    let crontabs = counted(report.search.crontabs, "crontab", "crontabs");
    if found.is_empty() {
        paragraph("", &format!("No cron entry runs what efsmon replaces; {crontabs} read."), out)?;
        return write_compat_alone(report, out);
    }
    let entries = counted(found.len(), "cron entry runs", "cron entries run");
    paragraph("", &format!("{entries} what efsmon replaces; {crontabs} read."), out)?;
    let mut told: Vec<&Path> = Vec::new();
    for found in found {
        writeln!(out)?;
        let file = found.what.file();
        write_found(found, file.is_some_and(|file| told.contains(&file)), out)?;
        told.extend(file);
    }
    writeln!(out)?;
    write_instead(report, out)?;
    writeln!(out)?;
    write_dashboards(report, out)?;
    writeln!(out)?;
    write_steps(report, out)?;
    writeln!(out)?;
    paragraph(
        "",
        &format!(
            "Nothing was changed. Prices are those of {REGION} on {AS_OF}, for one host; requests cost that much once \
             the account's first {}, which are free, are used up.",
            thousands(FREE_REQUESTS)
        ),
        out,
    )
}

/// `told`: the same script is described above.
fn write_found(found: &Found, told: bool, out: &mut impl Write) -> io::Result<()> {
    let Found { crontab, entry, what, .. } = found;
    writeln!(
        out,
        "{}, line {}: {}, as {}",
        shown(&crontab.path),
        entry.line,
        printable(entry.when().as_bytes()),
        printable(entry.user.as_bytes())
    )?;
    writeln!(out, "    {}", printable(entry.text.trim().as_bytes()))?;
    let (runs, published) = match what {
        What::Inline(_) => ("It publishes, without a script:".to_owned(), ""),
        What::Runs { file, .. } => (format!("It runs {}, which publishes:", shown(file)), ""),
        What::Misspelt { named, file, .. } => (
            format!(
                "It does not run: there is no {}. The script is {}, so spelt; it would publish:",
                shown(named),
                shown(file)
            ),
            "not published",
        ),
        What::Missing { named } => {
            let text = format!(
                "It runs nothing: there is no {}. By its name it was a script that efsmon replaces.",
                shown(named)
            );
            return paragraph("  ", &text, out);
        }
    };
    paragraph("  ", &runs, out)?;
    let Some(script) = what.script() else { return Ok(()) };
    if script.puts.is_empty() {
        paragraph("    ", "what cannot be read from its text: look into it", out)?;
    }
    for put in &script.puts {
        let never = if put.dash.is_some() { NEVER } else { published };
        writeln!(out, "    {}", format!("{:<58} {never}", series(put)).trim_end())?;
    }
    if told {
        return paragraph("  ", "What is wrong with that script is said above.", out);
    }
    for defect in &script.defects {
        paragraph("  ! ", &printable(defect.text().as_bytes()), out)?;
    }
    match bill(found) {
        _ if !what.runs() => Ok(()),
        Some(bill) => paragraph("  ", &format!("A month: {}.", cost(bill)), out),
        None => paragraph("  ", "What it costs cannot be told from its text.", out),
    }
}

fn series(put: &Put) -> String {
    let known =
        |name: &Option<String>| name.as_deref().map_or("?".to_owned(), |name| printable(name.as_bytes()));
    let by = match put.dimensions.is_empty() {
        true => String::new(),
        false => format!(" by {}", printable(put.dimensions.join(", ").as_bytes())),
    };
    format!("{} {}{by}", known(&put.namespace), known(&put.metric))
}

fn cost(bill: Bill) -> String {
    format!(
        "{} {}, {} requests {}",
        counted(bill.series as usize, "series", "series"),
        bill.series_cost(),
        thousands(bill.requests),
        bill.request_cost()
    )
}

fn write_instead(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let profile = report.config.profile;
    writeln!(out, "efsmon publishes instead (profile {})", profile.name())?;
    for (metric, scope) in instead(profile) {
        let dimensions = scope.dimensions().join(", ");
        let namespace = printable(report.config.namespace.as_bytes());
        writeln!(out, "    {namespace} {} by {dimensions}", metric.name)?;
    }
    let what = match profile {
        Profile::Fleet => "and more: every byte of every mount, in each minute, of all hosts together.",
        _ => "and more: every byte of every mount, in each minute, of each file system.",
    };
    paragraph("  ", what, out)
}

fn write_dashboards(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Old dashboards and alarms")?;
    let origin = report.config.origin("compat.cron_script");
    let (setting, then) = match report.config.compat.cron_script {
        true => ("true", "efsmon publishes these too, in MiB/s of the whole host:"),
        false => ("false", "with true, efsmon publishes these too, in MiB/s of the whole host:"),
    };
    paragraph("  ", &format!("compat.cron_script is {setting} ({origin}); {then}"), out)?;
    for metric in metrics(Scope::CronScript, Profile::Full) {
        let dimensions = Scope::CronScript.dimensions().join(", ");
        writeln!(out, "    {CRON_SCRIPT_NAMESPACE} {} by {dimensions}", metric.name)?;
    }
    paragraph("  ", &format!("A month: {}.", cost(report.compat)), out)?;
    let scripts = report.search.found.iter().filter_map(|found| found.what.script());
    let lost: Vec<&Put> =
        scripts.flat_map(|script| &script.puts).filter(|put| put.dash.is_none() && !goes_on(put)).collect();
    for put in lost {
        let text = format!(
            "It does not go on with {}: what shows that must be changed to efsmon's metrics.",
            series(put)
        );
        paragraph("  ! ", &text, out)?;
    }
    if report.config.compat.cron_script {
        let text =
            "While a script runs too, both publish: an Average is of efsmon's figures and of the script's.";
        paragraph("  ! ", text, out)?;
    }
    paragraph("  ", "What still looks at them, only CloudWatch knows. Alarms are listed by", out)?;
    let namespaces: Vec<&str> = namespaces(report);
    for namespace in namespaces {
        let query = format!("MetricAlarms[?Namespace=='{namespace}'].AlarmName");
        writeln!(out, "    aws cloudwatch describe-alarms --query \"{query}\"")?;
    }
    paragraph(
        "  ",
        "and dashboards by aws cloudwatch list-dashboards: look for the namespace in the body that get-dashboard \
         gives of each.",
        out,
    )
}

/// Those that the scripts publish in.
fn namespaces<'r>(report: &'r Report<'_>) -> Vec<&'r str> {
    let scripts = report.search.found.iter().filter_map(|found| found.what.script());
    let mut namespaces: Vec<&str> =
        scripts.flat_map(|script| &script.puts).filter_map(|put| put.namespace.as_deref()).collect();
    // A name of CloudWatch's; another cannot be asked for.
    namespaces.retain(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/#:".contains(c)));
    namespaces.push(CRON_SCRIPT_NAMESPACE);
    namespaces.sort_unstable();
    namespaces.dedup();
    namespaces
}

fn write_steps(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "To do")?;
    let mut step = 0;
    let mut next = |text: &str, out: &mut dyn Write| {
        step += 1;
        paragraph(&format!("  {step}. "), text, out)
    };
    if !report.config.compat.cron_script {
        next(&format!("Only where old dashboards or alarms are to go on: in {DEFAULT_FILE}"), out)?;
        writeln!(out, "         [compat]")?;
        writeln!(out, "         cron_script = true")?;
        let text = "then sudo systemctl restart efsmon. The role must be allowed that namespace too: efsmon \
                    iam-policy --for daemon.";
        paragraph("     ", text, out)?;
    }
    next("Delete these lines:", out)?;
    for Found { crontab, entry, .. } in &report.search.found {
        writeln!(out, "         {}, line {}:", shown(&crontab.path), entry.line)?;
        writeln!(out, "         {}", printable(entry.text.trim().as_bytes()))?;
    }
    paragraph("     ", "with", out)?;
    let removal = Removal::of(report.search);
    removal.entries.iter().try_for_each(|command| writeln!(out, "         {command}"))?;
    if !removal.scripts.is_empty() {
        next("If nothing else runs it:", out)?;
        removal.scripts.iter().try_for_each(|command| writeln!(out, "         {command}"))?;
    }
    next("See that nothing is left: sudo efsmon migrate; echo $?", out)
}

/// After the script is gone.
fn write_compat_alone(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    if !report.config.compat.cron_script {
        return Ok(());
    }
    let origin = report.config.origin("compat.cron_script");
    let text = format!(
        "compat.cron_script is true ({origin}): {}, {} a month on this host. Set it to false once nothing looks at \
         the namespace {CRON_SCRIPT_NAMESPACE} any more.",
        counted(report.compat.series as usize, "series", "series"),
        report.compat.series_cost()
    );
    paragraph("", &text, out)
}

fn counted(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

/// A text behind a mark, on as many lines as it takes.
fn paragraph(mark: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let margin = " ".repeat(mark.len());
    for (index, line) in wrapped(text, WIDTH - mark.len()).iter().enumerate() {
        writeln!(out, "{}{line}", if index == 0 { mark } else { &margin })?;
    }
    Ok(())
}
