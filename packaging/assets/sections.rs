//! What a manual has besides the help of a command: exit status, environment, files, examples, related pages.

use clap::Command;
use clap_mangen::roff::{Inline, bold, roman};

use super::page::Page;

/// Examples: whose page, what for, and the lines that are typed.
const EXAMPLES: &[(&str, &str, &[&str])] = &[
    (
        "efsmon",
        "A first look, without a configuration and without an AWS account:",
        &["efsmon mounts", "efsmon stat 5", "efsmon run --dry-run"],
    ),
    ("efsmon", "What the service does:", &["efsmon status", "journalctl --unit efsmon"]),
    (
        "efsmon-run",
        "What would be published, without AWS and without keeping anything:",
        &["efsmon run --dry-run"],
    ),
    ("efsmon-run", "All that a recording leads to, at once:", &["efsmon run --dry-run --procfs recording"]),
    ("efsmon-stat", "The busiest five mounts, every 10 seconds:", &["efsmon stat --sort --list 5 10"]),
    ("efsmon-stat", "One mount, six times, for a program:", &["efsmon stat --json 10 6 /mnt/home"]),
    (
        "efsmon-stat",
        "Between two copies, from this host or another:",
        &[
            "cat /proc/self/mountstats > old",
            "cat /proc/self/mountstats > new",
            "efsmon stat --file new --since old",
        ],
    ),
    ("efsmon-mounts", "Every finding, also those that are only good to know:", &["efsmon mounts --verbose"]),
    (
        "efsmon-record",
        "Ten minutes, and what they were:",
        &["efsmon record recording 10 60", "efsmon stat --procfs recording 60"],
    ),
    (
        "efsmon-record",
        "With other names, to show it to somebody else:",
        &["efsmon record --redact --from recording shown"],
    ),
    ("efsmon-cost", "This host:", &["efsmon cost"]),
    (
        "efsmon-cost",
        "3,000 hosts that mount 2 of 200 file systems each, 100 of which are replaced every day:",
        &["efsmon cost --hosts 3000 --file-systems 200 --per-host 2 --churn 100"],
    ),
    (
        "efsmon-dashboards-render",
        "Every dashboard as a file, without asking AWS:",
        &["efsmon dashboards render --region eu-west-1 --file-system fs-0123456789abcdef0 --out ."],
    ),
    (
        "efsmon-dashboards-apply",
        "To see what it would do, then to do it:",
        &["efsmon dashboards apply --dry-run", "efsmon dashboards apply"],
    ),
    (
        "efsmon-dashboards-apply",
        "With an overview of your own:",
        &[
            "mkdir -p /etc/efsmon/dashboards",
            "cp /usr/share/efsmon/dashboards/overview.json /etc/efsmon/dashboards/",
            "vi /etc/efsmon/dashboards/overview.json",
            "efsmon dashboards apply",
        ],
    ),
    (
        "efsmon-alarms-render",
        "One alarm, as it would be written:",
        &["efsmon alarms render credits-low --file-system fs-0123456789abcdef0"],
    ),
    (
        "efsmon-alarms-apply",
        "One topic for all:",
        &["efsmon alarms apply --sns arn:aws:sns:eu-west-1:123456789012:ops"],
    ),
    (
        "efsmon-alarms-apply",
        "One that wakes somebody up, and one that waits for the morning; from a job, which nobody answers:",
        &[
            "efsmon alarms apply --yes \\",
            "    --page-sns arn:aws:sns:eu-west-1:123456789012:pages \\",
            "    --ticket-sns arn:aws:sns:eu-west-1:123456789012:tickets",
        ],
    ),
    ("efsmon-alarms-verify", "From cron, or after every change:", &["efsmon alarms verify"]),
    (
        "efsmon-alarms-verify",
        "To see a page arrive:",
        &["efsmon alarms verify --fire efsmon-fs-0123456789abcdef0-mount-stalled"],
    ),
    ("efsmon-alarms-test", "Those that efsmon brings along:", &["efsmon alarms test"]),
    (
        "efsmon-alarms-test",
        "One of your own:",
        &["efsmon alarms test --example > mine.toml", "efsmon alarms test mine.toml"],
    ),
    (
        "efsmon-credits",
        "One file system, with the last two days:",
        &["efsmon credits --hours 48 fs-0123456789abcdef0"],
    ),
    (
        "efsmon-iam-policy",
        "Whoever applies dashboards and alarms, in one account and Region:",
        &["efsmon iam-policy --for provision --account 123456789012 --region eu-west-1"],
    ),
    (
        "efsmon-config",
        "After a change:",
        &["efsmon config check", "efsmon config show", "systemctl restart efsmon"],
    ),
];

/// What an exit status means where it means more than everywhere.
const EXIT_STATUS: &[(&str, &str, &str)] = &[
    ("efsmon-run", "0", "A signal ended it. With `--once`: all was kept, and nothing is left to be sent."),
    ("efsmon-run", "1", "It could not begin: another daemon runs, or a directory cannot be used."),
    ("efsmon-run", "78", BAD_FOR_GOOD),
    ("efsmond", "0", "A signal ended it. With `--once`: all was kept, and nothing is left to be sent."),
    ("efsmond", "1", "It could not begin: another daemon runs, or a directory cannot be used."),
    ("efsmond", "78", BAD_FOR_GOOD),
    ("efsmon-status", "0", "The daemon runs."),
    ("efsmon-status", "1", "No daemon runs here, or it does not sample any more."),
    ("efsmon", "3", "There is what `diff`, `verify` or `migrate` looks for."),
    ("efsmon-dashboards-diff", "0", "Nothing differs."),
    ("efsmon-dashboards-diff", "3", "Something differs."),
    ("efsmon-alarms-diff", "0", "Nothing differs."),
    ("efsmon-alarms-diff", "3", "Something differs."),
    ("efsmon-alarms-verify", "0", "Every alarm is there and would be heard."),
    ("efsmon-alarms-verify", "3", "One would not."),
    ("efsmon-alarms-test", "0", "Every test passed."),
    ("efsmon-alarms-test", "1", "One failed, or cannot be read."),
    ("efsmon-migrate", "0", "There is nothing to remove."),
    ("efsmon-migrate", "1", "Not everything could be looked at, and what could shows nothing."),
    ("efsmon-migrate", "3", "There is a script or a line of cron to remove."),
    ("efsmon-config-check", "0", "There is no mistake."),
];

const BAD_FOR_GOOD: &str =
    "The configuration is bad: nothing was begun. The service is not started again then.";

/// Pages that are near, but neither above nor below nor beside.
const RELATED: &[(&str, &[&str])] = &[
    ("efsmon", &["efsmond(1)"]),
    ("efsmond", &["efsmon-run(1)", "efsmon-status(1)", "systemctl(1)", "journalctl(1)"]),
    ("efsmon-run", &["efsmond(1)", "efsmon-status(1)", "efsmon-record(1)"]),
    ("efsmon-stat", &["efsmon-mounts(1)", "efsmon-record(1)", "nfsiostat(8)"]),
    ("efsmon-mounts", &["efsmon-stat(1)", "efsmon-status(1)", "nfs(5)"]),
    ("efsmon-status", &["efsmond(1)", "efsmon-mounts(1)"]),
    ("efsmon-record", &["efsmon-mounts(1)", "efsmon-run(1)", "efsmon-stat(1)"]),
    ("efsmon-credits", &["efsmon-alarms(1)", "efsmon-dashboards(1)"]),
    ("efsmon-dashboards", &["efsmon-alarms(1)", "efsmon-iam-policy(1)"]),
    ("efsmon-alarms", &["efsmon-dashboards(1)", "efsmon-iam-policy(1)"]),
];

/// Adds what there is to say of a command.
pub fn add(command: &Command, name: &str, page: &mut Page) {
    page.section("EXIT STATUS");
    for code in ["0", "1", "2", "3", "78"] {
        if let Some(meaning) = exit_status(command, name, code) {
            page.entry([bold(code)], meaning);
        }
    }
    let is_daemon = ["efsmon", "efsmon-run", "efsmond"].contains(&name);
    if is_daemon {
        page.section("ENVIRONMENT");
        environment(page);
    }
    let files = files(command, is_daemon, name == "efsmon");
    if !files.is_empty() {
        page.section("FILES");
        for (path, about) in files {
            page.entry([bold(path)], about);
        }
    }
    let examples = EXAMPLES.iter().filter(|(of, ..)| *of == name);
    for (at, (_, about, lines)) in examples.enumerate() {
        match at {
            0 => {
                page.section("EXAMPLES");
                page.words(about);
            }
            _ => page.paragraph(about),
        }
        page.literal(lines.iter().copied());
    }
}

fn exit_status(command: &Command, name: &str, code: &str) -> Option<&'static str> {
    let special = EXIT_STATUS.iter().find(|(of, which, _)| (*of, *which) == (name, code));
    special.map(|(.., meaning)| *meaning).or(match code {
        "0" => Some("Done."),
        "1" => Some("It failed. Standard error says why, and what to do."),
        "2" => Some("The command line is wrong. Standard error says what is allowed."),
        "78" if name == "efsmon" || takes(command, "config") => {
            Some("The configuration is bad. Standard error names every mistake.")
        }
        _ => None,
    })
}

fn environment(page: &mut Page) {
    let list = |names: &[&str]| {
        let mut line: Vec<Inline> = Vec::new();
        for name in names {
            line.extend((!line.is_empty()).then(|| roman(", ")));
            line.push(bold(*name));
        }
        line
    };
    page.entry(
        list(&["EFSMON_SAMPLE_INTERVAL", "EFSMON_SPOOL__MAX_MIB"]),
        "And so on: a setting, over what the files say. See efsmon.toml(5).",
    );
    page.entry(
        list(&["AWS_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"]),
        "And the other variables of the AWS SDKs for Region, credentials and endpoints. A profile's \
         `credential_process` is not used: efsmon runs no other program.",
    );
    page.entry(
        list(&["AWS_CA_BUNDLE", "SSL_CERT_FILE"]),
        "Certificate authorities in place of the system's.",
    );
    page.entry(
        list(&["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"]),
        "Proxies for AWS's services. Instance metadata, the credential agents of ECS and EKS, and the loopback are \
         always asked directly.",
    );
    page.entry(list(&["NO_COLOR"]), "Without colours on a terminal, if it is not empty.");
}

fn files(command: &Command, is_daemon: bool, is_first: bool) -> Vec<(&'static str, &'static str)> {
    let mut files = Vec::new();
    if is_first || takes(command, "config") {
        files.push((
            "/etc/efsmon/efsmon.toml, /etc/efsmon/conf.d/*.toml",
            "The configuration. See efsmon.toml(5).",
        ));
    }
    if is_first || takes(command, "templates") {
        files.push(("/etc/efsmon/dashboards/*.json", "Templates of your own, of dashboards."));
        files.push(("/etc/efsmon/dashboards/alarms/*.json", "Templates of your own, of alarms."));
        files.push((
            "/usr/share/efsmon/dashboards/",
            "efsmon's own templates, to begin yours with. efsmon has them built in.",
        ));
    }
    if is_first || command.get_name() == "iam-policy" {
        files.push(("/usr/share/efsmon/iam/*.json", "What `efsmon iam-policy` prints by default."));
    }
    if is_daemon {
        files.push(("/var/lib/efsmon/", "Counters, and metrics that are not sent yet."));
        files.push(("/run/efsmon/", "The lock against a second daemon, and what `efsmon status` shows."));
        files.push(("/var/run/efs/", "The state of amazon-efs-utils' mounts, which is only read."));
    }
    files
}

fn takes(command: &Command, argument: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == argument)
}

/// The pages that a page leads to: above, below and beside it, by section and name.
pub fn related(command: &Command, name: &str, parent: Option<&Command>) -> Vec<String> {
    let page = |command: &Command| format!("{}(1)", command.get_display_name().unwrap_or(command.get_name()));
    let mut pages: Vec<String> = command.get_subcommands().map(page).collect();
    if let Some(parent) = parent {
        pages.push(page(parent));
        // All that efsmon has would be too many.
        if parent.get_name() != "efsmon" {
            pages.extend(parent.get_subcommands().map(page).filter(|other| *other != page(command)));
        }
    }
    pages.extend(
        RELATED
            .iter()
            .filter(|(of, _)| *of == name)
            .flat_map(|(_, pages)| *pages)
            .map(|page| (*page).to_owned()),
    );
    pages.extend(exit_status(command, name, "78").map(|_| "efsmon.toml(5)".to_owned()));
    pages.sort_by_key(|page| (page.split_once('(').map(|(_, section)| section.to_owned()), page.clone()));
    pages.dedup();
    pages
}
