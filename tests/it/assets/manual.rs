//! The manual pages, as a terminal shows them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use clap::CommandFactory;
use efsmon::cli::{Cli, Efsmond};
use efsmon::config::{self, Inputs, MOUNT_SETTINGS, SETTINGS, Setting, Value};

/// What mandoc makes of a page.
fn mandoc(flags: &[&str], page: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page");
    fs::write(&path, page).unwrap();
    let output = Command::new("mandoc").args(flags).arg(&path).output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

/// A page as 80 columns show it, without bold print.
fn shown(name: &str) -> String {
    let page = mandoc(&["-Tutf8", "-O", "width=80"], &super::text(name));
    let mut shown = String::new();
    for letter in page.chars() {
        // Bold print is the letter, a step back, and the letter again.
        match letter {
            '\u{8}' => drop(shown.pop()),
            letter => shown.push(letter),
        }
    }
    shown
}

/// The text of a page, with one blank between two words.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A section of a page: its lines as they are shown.
#[track_caller]
fn section(page: &str, title: &str) -> String {
    let mut lines = page.lines().skip_while(|line| *line != title);
    assert!(lines.next().is_some(), "there is no {title}:\n{page}");
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The programs and their commands as people find them: `efsmon`, `efsmon alarms`, `efsmon alarms apply`, ..; and what
/// `--help` says of each.
fn commands() -> Vec<(String, String)> {
    let mut commands = Vec::new();
    let mut left = vec![vec!["efsmon".to_owned()], vec!["efsmond".to_owned()]];
    while let Some(words) = left.pop() {
        let program = match words[0].as_str() {
            "efsmon" => env!("CARGO_BIN_EXE_efsmon"),
            _ => env!("CARGO_BIN_EXE_efsmond"),
        };
        let output = Command::new(program).args(&words[1..]).arg("--help").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in listed.take_while(|line| !line.is_empty()) {
            // Longer descriptions go on below, further to the right.
            let name = line.strip_prefix("  ").and_then(|line| line.split(' ').next()).unwrap();
            if !["", "help"].contains(&name) {
                left.push([&words[..], &[name.to_owned()]].concat());
            }
        }
        commands.push((words.join(" "), help));
    }
    commands
}

fn page_of(command: &str) -> String {
    format!("man/{}.1", command.replace(' ', "-"))
}

#[test]
fn every_command_has_a_page_and_every_page_a_command() {
    let mut pages: Vec<String> = commands().iter().map(|(command, _)| page_of(command)).collect();
    assert!(pages.contains(&"man/efsmon-alarms-apply.1".to_owned()), "{pages:?}");
    pages.push("man/efsmon.toml.5".to_owned());
    pages.sort();
    assert_eq!(super::names("man/"), pages);
}

#[test]
fn every_flag_has_an_entry_that_says_what_the_help_says() {
    for (command, help) in commands() {
        let page = shown(&page_of(&command));
        let entries = flowing(&section(&page, "OPTIONS"));
        let options = help.lines().skip_while(|line| *line != "Options:").skip(1);
        // What stands below the options, as the exit statuses do, is not indented.
        let options: Vec<&str> =
            options.take_while(|line| line.is_empty() || line.starts_with(' ')).collect();
        let mut told = flowing(&options.join("\n")).replace(" (see a summary with '-h')", "");
        for (in_help, in_page) in [
            (
                " Possible values: - daemon: The hosts - provision: Whoever applies dashboards and alarms - read: \
                 Whoever looks at credits",
                ": daemon (the hosts), provision (whoever applies dashboards and alarms), read (whoever looks at \
                 credits)",
            ),
            (" [possible values: fleet, minimal, standard, full]", ": fleet, minimal, standard, full"),
        ] {
            told = told.replace(in_help, in_page);
        }
        assert_eq!(page.contains("\nARGUMENTS\n"), help.contains("\nArguments:\n"), "{command}");
        assert_eq!(entries, told, "{command}");
        assert!(told.contains("-h, --help Print help"), "{command}: {told}");
    }
}

#[test]
fn pages_say_each_thing_once() {
    for (command, help) in commands() {
        let page = flowing(&shown(&page_of(&command))).to_lowercase();
        let sentence = help.lines().next().unwrap().to_lowercase();
        assert!(
            page.contains(&format!("name {} - {sentence} synopsis {command}", command.replace(' ', "-"))),
            "{page}"
        );
        assert_eq!(page.matches(&sentence).count(), 1, "{command}: {sentence}");
        assert_eq!(
            page.matches("[default: ").count(),
            flowing(&help).matches("[default: ").count(),
            "{page}"
        );
        for empty in ["description options", "description commands", "possible values", "see a summary"] {
            assert!(!page.contains(empty), "{command} has {empty:?}");
        }
    }
}

#[test]
fn mandoc_has_nothing_to_complain_of() {
    let lint = |page: &str| mandoc(&["-Tlint", "-Wwarning"], page);
    for name in super::names("man/") {
        assert_eq!(lint(&super::text(&name)), "", "{name}");
    }
    let wrong = super::text("man/efsmon.1").replace(".SH NAME", ".SH NAME\n.nosuchmacro");
    assert!(lint(&wrong).contains("skipping unknown macro"), "{}", lint(&wrong));
}

#[test]
fn what_a_page_names_is_there() {
    let pages: BTreeSet<String> = super::names("man/").into_iter().collect();
    let mut references = 0;
    for name in &pages {
        let page = flowing(&shown(name));
        for word in page.split([' ', ',']).filter(|word| word.starts_with("efsmon") && word.contains('(')) {
            let Some((page, section)) = word.split_once('(') else { continue };
            let section = section.trim_end_matches(['.', ')']);
            assert!(pages.contains(&format!("man/{page}.{section}")), "{name} leads to {word}");
            references += 1;
        }
    }
    assert!(references > 100, "{references}");
}

#[test]
fn the_head_and_foot_tell_program_version_and_day() {
    let page = shown("man/efsmon-alarms-apply.1");
    let head = flowing(page.lines().next().unwrap());
    assert_eq!(head, "EFSMON-ALARMS-APPLY(1) efsmon Manual EFSMON-ALARMS-APPLY(1)");
    let foot = flowing(page.lines().last().unwrap());
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(foot, format!("efsmon {version} 2026-12-01 EFSMON-ALARMS-APPLY(1)"));
}

#[test]
fn the_page_of_the_daemon_tells_what_a_service_needs() {
    for (name, usage) in
        [("man/efsmond.1", "efsmond [OPTIONS]"), ("man/efsmon-run.1", "efsmon run [OPTIONS]")]
    {
        let page = shown(name);
        assert_eq!(section(&page, "SYNOPSIS").trim(), usage);
        let description = flowing(&section(&page, "DESCRIPTION"));
        assert!(
            description.contains("SIGTERM or SIGINT ends it") && description.contains("two weeks"),
            "{description}"
        );
        let status = flowing(&section(&page, "EXIT STATUS"));
        assert!(status.contains("78 The configuration is bad") && !status.contains("3 "), "{status}");
        let files = section(&page, "FILES");
        for path in ["/etc/efsmon/efsmon.toml", "/var/lib/efsmon/", "/run/efsmon/", "/var/run/efs/"] {
            assert!(files.contains(path), "{path}: {files}");
        }
        let environment = section(&page, "ENVIRONMENT");
        for variable in ["AWS_REGION", "AWS_CA_BUNDLE", "NO_PROXY"] {
            assert!(environment.contains(variable), "{variable}: {environment}");
        }
        assert!(section(&page, "SEE ALSO").contains("efsmon.toml(5)"));
    }
}

#[test]
fn the_page_of_alarms_apply_tells_whom_it_asks_and_where_templates_are() {
    let page = shown("man/efsmon-alarms-apply.1");
    assert_eq!(section(&page, "SYNOPSIS").trim(), "efsmon alarms apply [OPTIONS] [NAME]...");
    assert!(flowing(&section(&page, "DESCRIPTION")).contains("then asks. Never deletes without --prune"));
    let owner = "--owner <NAME> Who applies them: those of another owner are left alone [default: efsmon]";
    assert!(flowing(&section(&page, "OPTIONS")).contains(owner), "{page}");
    assert!(section(&page, "ARGUMENTS").contains("[NAME] Only these: a kind (credits-low)"), "{page}");
    let files = section(&page, "FILES");
    assert!(
        files.contains("/usr/share/efsmon/dashboards/")
            && files.contains("/etc/efsmon/dashboards/alarms/*.json")
    );
    assert!(section(&page, "SEE ALSO").contains("efsmon-alarms(1), efsmon-alarms-delete(1)"), "{page}");
    for (name, expected) in [("diff", true), ("verify", true), ("apply", false)] {
        let status = section(&shown(&format!("man/efsmon-alarms-{name}.1")), "EXIT STATUS");
        assert_eq!(status.contains("       3      "), expected, "{name}: {status}");
    }
}

/// What a page tells to type, a line each; what goes on in the next line is one.
fn examples(page: &str) -> Vec<String> {
    let lines = section(page, "EXAMPLES").replace("\\\n", " ");
    lines.lines().filter_map(|line| line.strip_prefix("           ")).map(flowing).collect()
}

#[test]
fn every_example_is_a_command_that_efsmon_takes() {
    let mut tried = 0;
    for name in super::names("man/").iter().filter(|name| name.ends_with(".1")) {
        let page = shown(name);
        for line in page.contains("\nEXAMPLES\n").then(|| examples(&page)).into_iter().flatten() {
            let words: Vec<&str> = line.split(' ').take_while(|word| *word != ">").collect();
            let taken = match words[0] {
                "efsmon" => Cli::command().try_get_matches_from(&words),
                "efsmond" => Efsmond::command().try_get_matches_from(&words),
                _ => continue,
            };
            assert!(taken.is_ok(), "{name}: {line}: {}", taken.unwrap_err());
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
    assert!(Cli::command().try_get_matches_from(["efsmon", "alarms", "aply"]).is_err());
}

/// Each setting as the page of the configuration tells it.
fn entries<T: Default>(settings: &[Setting<T>]) -> Vec<String> {
    let entry = |setting: &Setting<T>| {
        let (_, name) = setting.section_and_name();
        let about = setting.about.replace('`', "");
        let default = match setting.default() {
            Some(value) => format!("Default: {value}"),
            None if setting.key.starts_with("mounts.") => format!("Example: {name} = \""),
            None => format!("Not set by default. Example: {name} = \""),
        };
        format!("{name} {about} Allowed: {} {default}", setting.allowed)
    };
    settings.iter().map(entry).collect()
}

#[test]
fn every_setting_is_told_in_its_table_with_its_default() {
    let page = shown("man/efsmon.toml.5");
    let mut settings = flowing(&section(&page, "SETTINGS"));
    let expected = [entries(SETTINGS), entries(MOUNT_SETTINGS)].concat();
    let keys =
        SETTINGS.iter().map(|setting| setting.key).chain(MOUNT_SETTINGS.iter().map(|setting| setting.key));
    let mut table = "";
    for (entry, key) in expected.iter().zip(keys) {
        let here = key.split_once('.').map_or("", |(table, _)| table);
        if here != table {
            let heading = if here == "mounts" { "[[mounts]] ".to_owned() } else { format!("[{here}] ") };
            let at =
                settings.find(&heading).unwrap_or_else(|| panic!("{heading} is missing, or out of order"));
            settings = settings.split_off(at);
            table = here;
        }
        let at = settings.find(entry.as_str()).unwrap_or_else(|| panic!("{key} is not told: {entry}"));
        settings = settings.split_off(at + entry.len());
    }
    assert!(expected.len() > 30, "{expected:?}");
}

#[test]
fn the_page_of_the_configuration_tells_where_it_is_and_what_wins() {
    let page = shown("man/efsmon.toml.5");
    assert_eq!(flowing(&section(&page, "SYNOPSIS")), "/etc/efsmon/efsmon.toml /etc/efsmon/conf.d/*.toml");
    let description = flowing(&section(&page, "DESCRIPTION"));
    for told in [
        "efsmon config check tells every mistake",
        "the later one wins",
        "EFSMON_SPOOL__MAX_MIB for max_mib in [spool]",
    ] {
        assert!(description.contains(told), "{told}: {description}");
    }
    let profile = "Default: \"minimal\" fleet what all hosts add up to: for each file system, and for the fleet minimal also";
    assert!(flowing(&page).contains(profile), "{page}");
    assert!(section(&page, "FILES").contains("Upgrades leave it as it is"), "{page}");
}

#[test]
fn the_examples_of_the_configuration_load() {
    let lines = examples(&shown("man/efsmon.toml.5")).join("\n");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("efsmon.toml");
    fs::write(&file, &lines).unwrap();
    let inputs = Inputs { file, file_may_be_missing: false, environment: Vec::new(), flags: Vec::new() };
    let config = config::load(&inputs).unwrap().config;
    assert_eq!((config.namespace.as_str(), config.mounts.len()), ("Storage/EFS", 1));
    assert_eq!(config.publish.region.as_deref(), Some("eu-west-1"));
    assert!(matches!(SETTINGS[0].default(), Some(Value::Text(text)) if text == "10s"));
}
