//! The configuration, from the files, variables and flags of a user to the messages that the user reads.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use efsmon::catalog::Profile;
use efsmon::config::{
    self, COMMENTED_FILE, Config, Flag, Inputs, Loaded, LogLevel, MOUNT_SETTINGS, MountText, Origin, SETTINGS,
};
use tempfile::TempDir;

/// A directory that holds the files given as path and text.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// `efsmon config ..` in `directory`, with no other environment than `variables`.
fn efsmon_config(directory: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_efsmon"));
    command.current_dir(directory).env_clear().envs(variables.iter().copied());
    command.arg("config").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// `config check` of a file with `toml` in it prints exactly the problems, and ends with 78.
#[track_caller]
fn refused(toml: &str, problems: &[&str]) {
    let directory = directory(&[("e.toml", toml)]);
    let output = efsmon_config(directory.path(), &[], &["check", "--config", "e.toml"]);
    let expected = format!("efsmon: bad configuration\n  {}\n", problems.join("\n  "));
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(text(&output.stdout), "");
    assert_eq!(output.status.code(), Some(78));
}

/// `config check` with one environment variable prints exactly the problem, and ends with 78.
#[track_caller]
fn refused_variable(name: &str, value: &str, problem: &str) {
    let directory = directory(&[("e.toml", "")]);
    let output = efsmon_config(directory.path(), &[(name, value)], &["check", "--config", "e.toml"]);
    assert_eq!(text(&output.stderr), format!("efsmon: bad configuration\n  {problem}\n"));
    assert_eq!(output.status.code(), Some(78));
}

fn inputs(
    directory: &TempDir,
    variables: &[(&str, &str)],
    flags: &[(&'static str, &'static str, &str)],
) -> Inputs {
    Inputs {
        file: directory.path().join("efsmon.toml"),
        file_may_be_missing: true,
        environment: variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        flags: flags.iter().map(|(name, key, value)| Flag { name, key, value: value.into() }).collect(),
    }
}

fn load(
    directory: &TempDir,
    variables: &[(&str, &str)],
    flags: &[(&'static str, &'static str, &str)],
) -> Loaded {
    config::load(&inputs(directory, variables, flags)).unwrap()
}

#[test]
fn an_unknown_key_names_the_one_that_was_meant() {
    refused(
        "\nsample_intervall = \"10s\"\n",
        &["e.toml:2: sample_intervall: unknown key; did you mean sample_interval?"],
    );
    refused(
        "max_series = 9\n",
        &["e.toml:1: max_series: unknown key; did you mean max_series in section [limits]?"],
    );
    refused(
        "[host]\nprofile = \"full\"\n",
        &["e.toml:2: host.profile: unknown key; did you mean profile before the first section?"],
    );
    refused("spool.colour = 1\n", &["e.toml:1: spool.colour: unknown key; allowed: max_mib, max_age_hours"]);
    refused(
        "\"a\\nb c\" = 1\n",
        &[
            "e.toml:1: \"a\\u000Ab c\": unknown key; allowed: sample_interval, publish_interval, namespace, profile, \
           state_dir, runtime_dir",
        ],
    );
}

#[test]
fn an_unknown_section_names_the_one_that_was_meant() {
    refused("\n[spol]\nmax_mib = 1\n", &["e.toml:2: [spol]: unknown section; did you mean [spool]?"]);
    refused("[mount]\n", &["e.toml:1: [mount]: unknown section; did you mean [[mounts]]?"]);
    refused(
        "[metrics]\n",
        &["e.toml:1: [metrics]: unknown section; allowed: [source], [identity], [host], [limits], [spool], \
           [publish], [health], [compat], [alarms], [log], [[mounts]]"],
    );
}

#[test]
fn a_value_of_the_wrong_type_shows_the_right_form() {
    refused(
        "sample_interval = 10\n",
        &["e.toml:1: sample_interval: found 10; allowed: 1s, 2s, 3s, 4s, 5s, 6s, 10s, 12s, 15s or 20s; \
           did you mean \"10s\"?"],
    );
    refused(
        "[spool]\nmax_mib = \"64\"\n",
        &["e.toml:2: spool.max_mib: found \"64\"; allowed: a whole number from 1 to 10240; did you mean 64?"],
    );
    refused(
        "[spool]\nmax_mib = 6.5\n",
        &["e.toml:2: spool.max_mib: found 6.5; allowed: a whole number from 1 to 10240"],
    );
    refused("state_dir = true\n", &["e.toml:1: state_dir: found true; allowed: an absolute path"]);
    refused("state_dir = [\"/a\"]\n", &["e.toml:1: state_dir: found an array; allowed: an absolute path"]);
    refused("[state_dir]\n", &["e.toml:1: state_dir: found a table; allowed: an absolute path"]);
    refused("log = \"info\"\n", &["e.toml:1: log: found \"info\"; allowed: one section [log]"]);
    refused("[[log]]\nlevel = \"info\"\n", &["e.toml:1: log: found an array; allowed: one section [log]"]);
}

#[test]
fn a_value_out_of_range_tells_the_range() {
    refused(
        "publish_interval = \"90s\"\n",
        &["e.toml:1: publish_interval: found \"90s\"; allowed: 60s or a multiple of it, at most 1h"],
    );
    refused(
        "[limits]\n\n# more than one host may cost\nmax_series = 1_001\n",
        &["e.toml:4: limits.max_series: found 1001; allowed: a whole number from 1 to 1000"],
    );
    refused(
        "[spool]\nmax_age_hours = 99999999999999999999\n",
        &["e.toml:2: spool.max_age_hours: found 99999999999999999999; allowed: a whole number from 1 to 336"],
    );
    refused(
        &format!("host.id = \"{}\"\n", "h".repeat(1025)),
        &[&format!(
            "e.toml:1: host.id: found \"{}\".. (1025 characters); allowed: 1 to 1024 printable ASCII characters, \
             not only spaces",
            "h".repeat(80)
        )],
    );
}

#[test]
fn a_choice_that_does_not_exist_tells_those_that_do() {
    refused(
        "profile = \"everything\"\n",
        &["e.toml:1: profile: found \"everything\"; allowed: fleet, minimal, standard or full"],
    );
    refused(
        "[log]\nlevel = \"WARN\"\n",
        &[
            "e.toml:2: log.level: found \"WARN\"; allowed: error, warn, info, debug or trace; did you mean \"warn\"?",
        ],
    );
    refused(
        "[source]\nnamespace = \"host\"\n",
        &["e.toml:2: source.namespace: found \"host\"; allowed: auto, self or init"],
    );
}

#[test]
fn an_external_id_without_a_role_is_refused() {
    let problem = "publish.external_id: found without publish.role_arn; allowed: with the role whose trust policy asks \
                   for it, or not at all";
    refused("[publish]\nexternal_id = \"x1\"\n", &[&format!("e.toml:2: {problem}")]);
    refused_variable(
        "EFSMON_PUBLISH__EXTERNAL_ID",
        "x1",
        &format!("environment variable EFSMON_PUBLISH__EXTERNAL_ID: {problem}"),
    );
    let both =
        [("e.toml", "[publish]\nrole_arn = \"arn:aws:iam::123456789012:role/r\"\nexternal_id = \"x1\"\n")];
    let directory = directory(&both);
    let output = efsmon_config(directory.path(), &[], &["check", "--config", "e.toml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_namespace_of_aws_is_refused() {
    refused(
        "namespace = \"AWS/EFS\"\n",
        &[
            "e.toml:1: namespace: found \"AWS/EFS\"; allowed: 1 to 255 of the characters A-Z a-z 0-9 . - _ / # : and \
           space, not only spaces, not starting with a colon or with AWS/",
        ],
    );
}

#[test]
fn a_syntax_error_shows_its_line() {
    refused(
        "# durations are text\nsample_interval = 10s\n",
        &[
            "e.toml:2: syntax error: sample_interval = 10s: string values must be quoted, expected literal string",
        ],
    );
    refused("[spool\nmax_mib = 1\n", &["e.toml:1: syntax error: [spool: unclosed table, expected `]`"]);
    refused("profile\n", &["e.toml:1: syntax error: profile: key with no value, expected `=`"]);
}

#[test]
fn a_duplicate_is_named() {
    refused(
        "[spool]\nmax_mib = 1\nmax_mib = 2\n",
        &["e.toml:3: duplicate key: max_mib = 2: it is in this file already; keep one of them"],
    );
    refused(
        "[spool]\nmax_mib = 1\n[log]\n[spool]\nmax_age_hours = 2\n",
        &["e.toml:4: duplicate key: [spool]: it is in this file already; keep one of them"],
    );
}

#[test]
fn text_that_is_not_utf_8_is_named() {
    let directory = directory(&[]);
    fs::write(directory.path().join("e.toml"), b"profile = \"full\"\nnamespace = \"caf\xe9\"\n").unwrap();
    let output = efsmon_config(directory.path(), &[], &["check", "--config", "e.toml"]);
    let expected = "efsmon: bad configuration\n  e.toml:2: not UTF-8 text, which TOML has to be\n";
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(output.status.code(), Some(78));
}

#[test]
fn every_mistake_is_told_at_once_in_the_order_of_the_lines() {
    refused(
        "state_dir = \"var\"\nprofil = \"full\"\nstate_dir = \"/b\"\n[log]\nformat = \"xml\"\nlevel = loud\nlevle = 1\n",
        &[
            "e.toml:1: state_dir: found \"var\"; allowed: an absolute path",
            "e.toml:2: profil: unknown key; did you mean profile?",
            "e.toml:3: duplicate key: state_dir = \"/b\": it is in this file already; keep one of them",
            "e.toml:5: log.format: found \"xml\"; allowed: auto, text or json",
            // What follows a syntax error may have been misread, so nothing is said of it.
            "e.toml:6: syntax error: level = loud: string values must be quoted, expected literal string",
        ],
    );
}

#[test]
fn mistakes_of_mounts_name_the_line_of_each() {
    refused(
        "[[mounts]]\nmount_point = \"/mnt/a/\"\nfs_id = \"fs-01234567\"\n\n\
         [[mounts]]\nmount_point = \"/mnt/b\"\nfile_system_id = \"fs-0123456\"\naccess_point_id = 5\n\n\
         [[mounts]]\nmount_point = \"/mnt/c\"\nfile_system_id = \"fs-01234567\"\n\n\
         [[mounts]]\nmount_point = \"/mnt/c\"\nfile_system_id = \"fs-89abcdef\"\n",
        &[
            "e.toml:1: mounts.file_system_id: missing; allowed: fs- followed by 8 or 17 lower-case hex digits",
            "e.toml:2: mounts.mount_point: found \"/mnt/a/\"; allowed: an absolute path without . or .. and without a \
             slash at its end; did you mean \"/mnt/a\"?",
            "e.toml:3: mounts.fs_id: unknown key; allowed: mount_point, file_system_id, access_point_id, region",
            "e.toml:7: mounts.file_system_id: found \"fs-0123456\"; allowed: fs- followed by 8 or 17 lower-case hex \
             digits",
            "e.toml:8: mounts.access_point_id: found 5; allowed: fsap- followed by 8 or 17 lower-case hex digits",
            "e.toml:14: mounts.mount_point: found \"/mnt/c\" twice; allowed: once, see line 10",
        ],
    );
    refused("[mounts]\n", &["e.toml:1: mounts: found a table; allowed: sections [[mounts]]"]);
    refused("mounts = [5]\n", &["e.toml:1: mounts: found 5; allowed: sections [[mounts]]"]);
    refused("mounts = 5\n", &["e.toml:1: mounts: found 5; allowed: sections [[mounts]]"]);
}

#[test]
fn a_variable_with_a_bad_value_is_named() {
    refused_variable(
        "EFSMON_SAMPLE_INTERVAL",
        "10",
        "environment variable EFSMON_SAMPLE_INTERVAL: sample_interval: found \"10\"; allowed: 1s, 2s, 3s, 4s, 5s, 6s, \
         10s, 12s, 15s or 20s; did you mean \"10s\"?",
    );
    refused_variable(
        "EFSMON_SPOOL__MAX_MIB",
        "lots",
        "environment variable EFSMON_SPOOL__MAX_MIB: spool.max_mib: found \"lots\"; allowed: a whole number from 1 to \
         10240",
    );
    refused_variable(
        "EFSMON_HOST__ID",
        "",
        "environment variable EFSMON_HOST__ID: host.id: found \"\"; allowed: 1 to 1024 printable ASCII characters, \
         not only spaces",
    );
    refused_variable(
        "STATE_DIRECTORY",
        "efsmon",
        "environment variable STATE_DIRECTORY: state_dir: found \"efsmon\"; allowed: an absolute path",
    );
}

#[test]
fn a_flag_with_a_bad_value_is_named() {
    let directory = directory(&[("e.toml", "")]);
    let output = efsmon_config(directory.path(), &[], &["check", "--config", "e.toml", "--procfs", ""]);
    let expected =
        "efsmon: bad configuration\n  flag --procfs: source.procfs: found \"\"; allowed: an absolute path\n";
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(output.status.code(), Some(78));
}

#[test]
fn a_path_in_a_flag_may_start_from_where_it_was_typed() {
    let directory = directory(&[("e.toml", "")]);
    let flags = ["show", "--json", "--config", "e.toml", "--procfs", "kept"];
    let output = efsmon_config(directory.path(), &[], &flags);
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let settings = shown["settings"].as_array().unwrap();
    let procfs = settings.iter().find(|setting| setting["key"] == "source.procfs").unwrap();
    assert_eq!(procfs["value"], directory.path().join("kept").to_str().unwrap());
}

#[test]
fn an_unknown_variable_is_only_a_warning() {
    let directory = directory(&[("e.toml", "")]);
    let variables =
        [("EFSMON_SERVICE_HOST", "10.0.0.1"), ("EFSMON_SPOOL_MAX_MIB", "5"), ("OTHER_SPOOL__MAX_MIB", "x")];
    let output = efsmon_config(directory.path(), &variables, &["check", "--config", "e.toml"]);
    assert_eq!(
        text(&output.stderr),
        "efsmon: warning: environment variable EFSMON_SERVICE_HOST is not a setting and is ignored\n\
         efsmon: warning: environment variable EFSMON_SPOOL_MAX_MIB is not a setting and is ignored; did you mean \
         EFSMON_SPOOL__MAX_MIB?\n"
    );
    assert_eq!(text(&output.stdout), "ok: e.toml\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_file_that_was_asked_for_has_to_exist() {
    let directory = directory(&[]);
    let output = efsmon_config(directory.path(), &[], &["check", "--config", "e.toml"]);
    assert_eq!(
        text(&output.stderr),
        "efsmon: bad configuration\n  e.toml: cannot be read: No such file or directory (os error 2); \
         `efsmon config init --path FILE` writes a new file\n"
    );
    assert_eq!(output.status.code(), Some(78));
}

#[test]
fn without_a_file_the_defaults_hold() {
    let loaded = load(&directory(&[]), &[], &[]);
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.files, Vec::<std::path::PathBuf>::new());
    assert_eq!(loaded.warnings, Vec::<String>::new());
}

#[test]
fn the_defaults_are_those_that_are_documented() {
    let defaults: Vec<_> = SETTINGS
        .iter()
        .map(|s| (s.key, s.default().map(|value| value.to_string()).unwrap_or_default()))
        .collect();
    let expected = [
        ("sample_interval", "\"10s\""),
        ("publish_interval", "\"60s\""),
        ("namespace", "\"EFSMon\""),
        ("profile", "\"minimal\""),
        ("state_dir", "\"/var/lib/efsmon\""),
        ("runtime_dir", "\"/run/efsmon\""),
        ("source.namespace", "\"auto\""),
        ("source.procfs", "\"/proc\""),
        ("source.sysfs", "\"/sys\""),
        ("source.efs_state", "\"/var/run/efs\""),
        ("identity.lookup", "false"),
        ("host.id", ""),
        ("limits.max_series", "50"),
        ("limits.max_access_points", "50"),
        ("limits.max_mount_points", "20"),
        ("spool.max_mib", "64"),
        ("spool.max_age_hours", "336"),
        ("publish.enabled", "true"),
        ("publish.region", ""),
        ("publish.role_arn", ""),
        ("publish.external_id", ""),
        ("publish.access_points", "false"),
        ("publish.mount_points", "false"),
        ("health.stall_after", "\"30s\""),
        ("compat.cron_script", "false"),
        ("alarms.credits_low_minutes", "120"),
        ("alarms.depletion_page_minutes", "60"),
        ("alarms.depletion_ticket_minutes", "180"),
        ("alarms.throughput_percent", "90"),
        ("alarms.io_limit_percent", "95"),
        ("alarms.client_latency_ms", "250"),
        ("alarms.runbook", ""),
        ("log.level", "\"info\""),
        ("log.format", "\"auto\""),
    ];
    assert_eq!(defaults, expected.map(|(key, value)| (key, value.to_owned())));
}

#[test]
fn drop_ins_are_read_by_name_after_the_file_and_the_later_one_wins() {
    let directory = directory(&[
        ("efsmon.toml", "profile = \"full\"\nspool.max_mib = 1\nlog.level = \"error\"\n"),
        ("conf.d/20-b.toml", "[log]\nlevel = \"trace\"\n"),
        ("conf.d/10-a.toml", "[log]\nlevel = \"debug\"\n[spool]\nmax_mib = 2\n"),
        ("conf.d/.30-hidden.toml", "not toml"),
        ("conf.d/40-other.toml.rpmsave", "not toml"),
    ]);
    let loaded = load(&directory, &[], &[]);
    let file = |name: &str, line| Origin::File { path: directory.path().join(name), line };
    assert_eq!(loaded.config.profile, Profile::Full);
    assert_eq!(loaded.config.spool.max_mib, 2);
    assert_eq!(loaded.config.log.level, LogLevel::Trace);
    assert_eq!(*loaded.config.origin("profile"), file("efsmon.toml", 1));
    assert_eq!(*loaded.config.origin("spool.max_mib"), file("conf.d/10-a.toml", 4));
    assert_eq!(*loaded.config.origin("log.level"), file("conf.d/20-b.toml", 2));
    assert_eq!(*loaded.config.origin("namespace"), Origin::Default);
    let files =
        ["efsmon.toml", "conf.d/10-a.toml", "conf.d/20-b.toml"].map(|name| directory.path().join(name));
    assert_eq!(loaded.files, files);
}

#[test]
fn mistakes_of_every_source_are_told_together() {
    let directory = directory(&[
        ("efsmon.toml", "profile = \"all\"\n"),
        ("conf.d/10.toml", "\nprofil = \"full\"\n"),
        ("conf.d/20.toml/is-a-directory", ""),
    ]);
    let error = config::load(&inputs(
        &directory,
        &[("EFSMON_LOG__LEVEL", "5")],
        &[("--procfs", "source.procfs", "")],
    ));
    let root = directory.path().display();
    assert_eq!(
        error.unwrap_err().problems(),
        [
            format!("{root}/efsmon.toml:1: profile: found \"all\"; allowed: fleet, minimal, standard or full"),
            format!("{root}/conf.d/10.toml:2: profil: unknown key; did you mean profile?"),
            format!("{root}/conf.d/20.toml: cannot be read: Is a directory (os error 21)"),
            "environment variable EFSMON_LOG__LEVEL: log.level: found \"5\"; allowed: error, warn, info, debug or trace"
                .to_owned(),
            "flag --procfs: source.procfs: found \"\"; allowed: an absolute path".to_owned(),
        ]
    );
}

#[test]
fn a_flag_wins_over_a_variable_over_a_file_over_the_directory_of_systemd() {
    let with_file = directory(&[("efsmon.toml", "state_dir = \"/file\"\n")]);
    let without = directory(&[]);
    let systemd = ("STATE_DIRECTORY", "/systemd:/second");
    let ours = ("EFSMON_STATE_DIR", "/variable");
    let flag = ("--state-dir", "state_dir", "/flag");
    let check = |loaded: Loaded, expected: &str, origin: &str| {
        assert_eq!(loaded.config.state_dir, Path::new(expected));
        assert_eq!(loaded.config.origin("state_dir").to_string(), origin);
    };
    check(load(&without, &[], &[]), "/var/lib/efsmon", "default");
    check(load(&without, &[systemd], &[]), "/systemd", "environment variable STATE_DIRECTORY");
    let file = format!("{}:1", with_file.path().join("efsmon.toml").display());
    check(load(&with_file, &[systemd], &[]), "/file", &file);
    check(load(&with_file, &[systemd, ours], &[]), "/variable", "environment variable EFSMON_STATE_DIR");
    check(load(&with_file, &[systemd, ours], &[flag]), "/flag", "flag --state-dir");

    let runtime = load(&without, &[("RUNTIME_DIRECTORY", "/run/other")], &[]).config;
    assert_eq!(runtime.runtime_dir, Path::new("/run/other"));
}

#[test]
fn every_setting_has_its_variable() {
    let variables = [
        ("EFSMON_SAMPLE_INTERVAL", "5s"),
        ("EFSMON_PUBLISH_INTERVAL", "5m"),
        ("EFSMON_NAMESPACE", "Team/EFS"),
        ("EFSMON_PROFILE", "fleet"),
        ("EFSMON_STATE_DIR", "/a"),
        ("EFSMON_RUNTIME_DIR", "/b"),
        ("EFSMON_SOURCE__NAMESPACE", "init"),
        ("EFSMON_SOURCE__PROCFS", "/c"),
        ("EFSMON_SOURCE__SYSFS", "/d"),
        ("EFSMON_SOURCE__EFS_STATE", "/e"),
        ("EFSMON_IDENTITY__LOOKUP", "true"),
        ("EFSMON_HOST__ID", "7"),
        ("EFSMON_LIMITS__MAX_SERIES", "7"),
        ("EFSMON_LIMITS__MAX_ACCESS_POINTS", "10"),
        ("EFSMON_LIMITS__MAX_MOUNT_POINTS", "11"),
        ("EFSMON_SPOOL__MAX_MIB", "8"),
        ("EFSMON_SPOOL__MAX_AGE_HOURS", "9"),
        ("EFSMON_PUBLISH__ENABLED", "false"),
        ("EFSMON_PUBLISH__REGION", "eu-west-1"),
        ("EFSMON_PUBLISH__ROLE_ARN", "arn:aws:iam::123456789012:role/efsmon"),
        ("EFSMON_PUBLISH__EXTERNAL_ID", "12"),
        ("EFSMON_PUBLISH__ACCESS_POINTS", "true"),
        ("EFSMON_PUBLISH__MOUNT_POINTS", "true"),
        ("EFSMON_HEALTH__STALL_AFTER", "1m"),
        ("EFSMON_COMPAT__CRON_SCRIPT", "true"),
        ("EFSMON_ALARMS__CREDITS_LOW_MINUTES", "21"),
        ("EFSMON_ALARMS__DEPLETION_PAGE_MINUTES", "22"),
        ("EFSMON_ALARMS__DEPLETION_TICKET_MINUTES", "23"),
        ("EFSMON_ALARMS__THROUGHPUT_PERCENT", "24"),
        ("EFSMON_ALARMS__IO_LIMIT_PERCENT", "25"),
        ("EFSMON_ALARMS__CLIENT_LATENCY_MS", "26"),
        ("EFSMON_ALARMS__RUNBOOK", "https://wiki.example.com/efs"),
        ("EFSMON_LOG__LEVEL", "warn"),
        ("EFSMON_LOG__FORMAT", "json"),
    ];
    let config = load(&directory(&[]), &variables, &[]).config;
    for (setting, (name, _)) in SETTINGS.iter().zip(variables) {
        assert_eq!(*config.origin(setting.key), Origin::Environment { name: name.to_owned() });
    }
    assert_eq!(SETTINGS.len(), variables.len());
    assert_eq!(config.sample_interval, Duration::from_secs(5));
    assert_eq!(config.publish_interval, Duration::from_secs(300));
    assert_eq!(config.host.id.as_deref(), Some("7"));
    assert_eq!(config.limits.max_series, 7);
    assert!(config.identity.lookup && !config.publish.enabled && config.compat.cron_script);
    assert!(config.publish.access_points && config.publish.mount_points);
    assert_eq!((config.limits.max_access_points, config.limits.max_mount_points), (10, 11));
    assert_eq!(config.publish.role_arn.as_deref(), Some("arn:aws:iam::123456789012:role/efsmon"));
    assert_eq!(config.publish.external_id.as_deref(), Some("12"));
    assert_eq!(config.health.stall_after, Duration::from_secs(60));
    assert_eq!(config.spool.max_age, Duration::from_secs(9 * 3600));
    let alarms = &config.alarms;
    assert_eq!((alarms.credits_low_minutes, alarms.client_latency_ms), (21, 26));
    assert_eq!((alarms.depletion_page_minutes, alarms.depletion_ticket_minutes), (22, 23));
    assert_eq!((alarms.throughput_percent, alarms.io_limit_percent), (24, 25));
    assert_eq!(alarms.runbook.as_deref(), Some("https://wiki.example.com/efs"));
}

#[test]
fn a_path_that_is_not_utf_8_is_refused_rather_than_changed() {
    use std::os::unix::ffi::OsStringExt;
    let directory = directory(&[]);
    let mut inputs = inputs(&directory, &[], &[]);
    let value = OsString::from_vec(b"/caf\xe9".to_vec());
    inputs.flags = vec![Flag { name: "--state-dir", key: "state_dir", value }];
    assert_eq!(
        config::load(&inputs).unwrap_err().problems(),
        ["flag --state-dir: state_dir: found \"/caf\u{fffd}\"; allowed: UTF-8 text"]
    );
}

#[test]
fn mounts_of_all_files_count_and_a_later_file_replaces_an_earlier_ones() {
    let rule = |mount_point: &str, id: &str| {
        format!("[[mounts]]\nmount_point = \"{mount_point}\"\nfile_system_id = \"{id}\"\n")
    };
    let first = rule("/mnt/a", "fs-01234567") + &rule("/mnt/b", "fs-01234567");
    let directory = directory(&[
        ("efsmon.toml", &first),
        (
            "conf.d/10.toml",
            &(rule("/mnt/a", "fs-89abcdef")
                + "access_point_id = \"fsap-01234567\"\nregion = \"eu-west-1\"\n"),
        ),
    ]);
    let mounts = load(&directory, &[], &[]).config.mounts;
    let shown: Vec<_> = mounts
        .iter()
        .map(|rule| {
            (rule.mount_point.to_str().unwrap(), rule.file_system_id.as_str(), rule.region.as_deref())
        })
        .collect();
    assert_eq!(shown, [("/mnt/b", "fs-01234567", None), ("/mnt/a", "fs-89abcdef", Some("eu-west-1"))]);
    assert_eq!(mounts[1].access_point_id.as_ref().unwrap().as_str(), "fsap-01234567");
    assert_eq!(mounts[1].origin, Origin::File { path: directory.path().join("conf.d/10.toml"), line: 1 });
}

#[test]
fn show_tells_every_value_and_its_source_and_is_itself_a_file() {
    let directory = directory(&[
        ("e.toml", "namespace = \"Team A/EFS\"\n"),
        (
            "conf.d/mounts.toml",
            "[[mounts]]\nmount_point = \"/mnt/a \\\"b\\\"\"\nfile_system_id = \"fs-01234567\"\n",
        ),
    ]);
    let arguments = ["show", "--config", "e.toml", "--state-dir", "/flag"];
    let output = efsmon_config(directory.path(), &[("EFSMON_SPOOL__MAX_MIB", "128")], &arguments);
    let expected = r#"sample_interval = "10s"                  # default
publish_interval = "60s"                 # default
namespace = "Team A/EFS"                 # e.toml:1
profile = "minimal"                      # default
state_dir = "/flag"                      # flag --state-dir
runtime_dir = "/run/efsmon"              # default

[source]
namespace = "auto"                       # default
procfs = "/proc"                         # default
sysfs = "/sys"                           # default
efs_state = "/var/run/efs"               # default

[identity]
lookup = false                           # default

[host]
# id is not set                          # default

[limits]
max_series = 50                          # default
max_access_points = 50                   # default
max_mount_points = 20                    # default

[spool]
max_mib = 128                            # environment variable EFSMON_SPOOL__MAX_MIB
max_age_hours = 336                      # default

[publish]
enabled = true                           # default
# region is not set                      # default
# role_arn is not set                    # default
# external_id is not set                 # default
access_points = false                    # default
mount_points = false                     # default

[health]
stall_after = "30s"                      # default

[compat]
cron_script = false                      # default

[alarms]
credits_low_minutes = 120                # default
depletion_page_minutes = 60              # default
depletion_ticket_minutes = 180           # default
throughput_percent = 90                  # default
io_limit_percent = 95                    # default
client_latency_ms = 250                  # default
# runbook is not set                     # default

[log]
level = "info"                           # default
format = "auto"                          # default

[[mounts]]                               # conf.d/mounts.toml:1
mount_point = "/mnt/a \"b\""
file_system_id = "fs-01234567"
"#;
    assert_eq!(text(&output.stderr), "");
    assert_eq!(text(&output.stdout), expected);

    fs::write(directory.path().join("shown.toml"), &output.stdout).unwrap();
    let output = efsmon_config(directory.path(), &[], &["check", "--config", "shown.toml"]);
    assert_eq!(text(&output.stdout), "ok: shown.toml, conf.d/mounts.toml\n");
}

#[test]
fn show_json_holds_typed_values_and_their_sources() {
    let directory = directory(&[(
        "e.toml",
        "[limits]\nmax_series = 9\n[[mounts]]\nmount_point = \"/a\"\nfile_system_id = \"fs-01234567\"\n",
    )]);
    let variables = [("EFSMON_LOG__LEVEL", "warn"), ("EFSMON_PORT", "tcp://10.0.0.1:80")];
    let arguments = ["show", "--json", "--config", "e.toml", "--sysfs", "/s"];
    let output = efsmon_config(directory.path(), &variables, &arguments);
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let setting = |key: &str| {
        let settings = shown["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["key"] == key).unwrap().clone()
    };
    use serde_json::json;
    assert_eq!(shown["settings"].as_array().unwrap().len(), SETTINGS.len());
    assert_eq!(
        setting("limits.max_series"),
        json!({"key": "limits.max_series", "value": 9, "source": {"kind": "file", "file": "e.toml", "line": 2}})
    );
    assert_eq!(
        setting("log.level"),
        json!({"key": "log.level", "value": "warn", "source": {"kind": "environment", "name": "EFSMON_LOG__LEVEL"}})
    );
    assert_eq!(
        setting("source.sysfs"),
        json!({"key": "source.sysfs", "value": "/s", "source": {"kind": "flag", "name": "--sysfs"}})
    );
    assert_eq!(setting("host.id"), json!({"key": "host.id", "value": null, "source": {"kind": "default"}}));
    assert_eq!(
        shown["mounts"],
        json!([{"mount_point": "/a", "file_system_id": "fs-01234567", "access_point_id": null, "region": null,
                "source": {"kind": "file", "file": "e.toml", "line": 3}}])
    );
    assert_eq!(shown["files"], json!(["e.toml"]));
    assert_eq!(
        shown["warnings"],
        json!(["environment variable EFSMON_PORT is not a setting and is ignored"])
    );
}

#[test]
fn init_writes_the_commented_file_and_overwrites_only_when_told() {
    let directory = directory(&[]);
    let path = "etc/efsmon.toml";
    let output = efsmon_config(directory.path(), &[], &["init", "--path", path]);
    assert_eq!(text(&output.stdout), "wrote etc/efsmon.toml\n");
    assert_eq!(fs::read_to_string(directory.path().join(path)).unwrap(), COMMENTED_FILE);

    fs::write(directory.path().join(path), "profile = \"full\"\n").unwrap();
    let output = efsmon_config(directory.path(), &[], &["init", "--path", path]);
    assert_eq!(text(&output.stderr), "efsmon: etc/efsmon.toml exists already; --force overwrites it\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(directory.path().join(path)).unwrap(), "profile = \"full\"\n");

    let output = efsmon_config(directory.path(), &[], &["init", "--path", path, "--force"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(fs::read_to_string(directory.path().join(path)).unwrap(), COMMENTED_FILE);

    let output = efsmon_config(directory.path(), &[], &["init", "--path", "-"]);
    assert_eq!(text(&output.stdout), COMMENTED_FILE);
}

/// The line of the commented file that is, after its `#`s and blanks, `line`; and the comment right above it.
fn explained(section: Option<&str>, line: &str) -> Option<(usize, String)> {
    let lines: Vec<&str> = COMMENTED_FILE.lines().collect();
    let bare = |line: &str| line.trim_start_matches(['#', ' ']).to_owned();
    let start = match section {
        Some(section) => lines.iter().position(|line| bare(line).trim_matches(['[', ']']) == section)?,
        None => 0,
    };
    let at = start + lines[start..].iter().position(|found| bare(found) == line)?;
    let next = lines[start + 1..].iter().position(|line| bare(line).starts_with('['));
    assert!(next.is_none_or(|next| at <= start + next), "{line} is not in its section");
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("# "));
    let mut comment: Vec<String> = above.map(|line| bare(line)).collect();
    comment.reverse();
    Some((at, comment.join(" ")))
}

#[test]
fn the_commented_file_explains_every_setting_at_its_default() {
    for setting in SETTINGS {
        let (section, name) = setting.section_and_name();
        let line = match setting.default() {
            Some(default) => format!("{name} = {default}"),
            None => COMMENTED_FILE
                .lines()
                .find_map(|line| {
                    line.strip_prefix("#   ").filter(|line| line.starts_with(&format!("{name} = ")))
                })
                .unwrap_or_else(|| panic!("no example of {}", setting.key))
                .to_owned(),
        };
        let (at, comment) =
            explained(section, &line).unwrap_or_else(|| panic!("{} is not there as {line}", setting.key));
        assert_eq!(COMMENTED_FILE.lines().nth(at).unwrap().starts_with("#   "), setting.default().is_none());
        let start = format!("{} Allowed: {}", setting.about, setting.allowed);
        assert!(comment.starts_with(&start), "{}: {comment:?} does not start with {start:?}", setting.key);
    }
    for setting in MOUNT_SETTINGS {
        let (_, name) = setting.section_and_name();
        let example = format!("{name} = ");
        let lines: Vec<&str> = COMMENTED_FILE.lines().skip_while(|line| *line != "#   [[mounts]]").collect();
        let line =
            lines.iter().find_map(|line| line.strip_prefix("#   ").filter(|line| line.starts_with(&example)));
        let (_, comment) = explained(Some("mounts"), line.unwrap()).unwrap();
        assert_eq!(comment, format!("{} Allowed: {}", setting.about, setting.allowed));
    }
}

/// The commented file with the `#` of each setting taken away, and with that of each example too if `examples`.
fn uncommented(examples: bool) -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => rest.to_owned(),
        Some(rest)
            if examples && rest.starts_with("   ") && (rest.contains(" = ") || rest.contains("[[")) =>
        {
            rest.to_owned()
        }
        _ => line.to_owned(),
    };
    COMMENTED_FILE.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn the_commented_file_sets_nothing_and_uncommented_it_sets_every_default() {
    let as_written = load(&directory(&[("efsmon.toml", COMMENTED_FILE)]), &[], &[]).config;
    assert_eq!(as_written, Config::default());

    let config = load(&directory(&[("efsmon.toml", &uncommented(false))]), &[], &[]).config;
    for setting in SETTINGS {
        assert_eq!(setting.value(&config), setting.default(), "{}", setting.key);
        let from_file = matches!(config.origin(setting.key), Origin::File { .. });
        assert_eq!(from_file, setting.default().is_some(), "{}", setting.key);
    }
    assert_eq!(config.mounts, []);
}

#[test]
fn the_examples_of_the_commented_file_are_right() {
    let config = load(&directory(&[("efsmon.toml", &uncommented(true))]), &[], &[]).config;
    assert!(SETTINGS.iter().all(|setting| setting.value(&config).is_some()));
    let mount = MountText::from(&config.mounts[0]);
    assert!(MOUNT_SETTINGS.iter().all(|setting| setting.value(&mount).is_some()));
}

#[test]
fn a_file_that_is_no_configuration_is_told_in_a_few_lines() {
    let many = (0..30).map(|number| format!("nothing_{number} = 1\n")).collect::<String>();
    let large = "# efsmon\n".repeat(30_000);
    let directory = directory(&[("many.toml", &many), ("large.toml", &large)]);
    let output = efsmon_config(directory.path(), &[], &["check", "--config", "many.toml"]);
    assert_eq!(output.status.code(), Some(78));
    let told = text(&output.stderr);
    assert_eq!(told.matches("unknown key").count(), 20, "{told}");
    assert!(told.ends_with("many.toml: and 10 more\n"), "{told}");
    let output = efsmon_config(directory.path(), &[], &["check", "--config", "large.toml"]);
    assert_eq!(output.status.code(), Some(78));
    let expected = "found 270000 bytes; a configuration has at most 262144: another file?";
    assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
}
