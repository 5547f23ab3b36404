//! The systemd unit: what must be in it, and what would blind efsmon or keep it from starting.

use std::collections::BTreeMap;
use std::fs;

/// Values by section and name, in their order.
type Unit = BTreeMap<(String, String), Vec<String>>;

fn read(path: &str) -> Unit {
    let text = fs::read_to_string(format!("{}/packaging/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (mut unit, mut section) = (Unit::new(), String::new());
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => name.clone_into(&mut section),
            None => {
                let (name, value) = line.split_once('=').unwrap();
                // systemd takes the rest of the line for the value.
                assert!(!value.contains(" #") && !value.ends_with('\\'), "{line}");
                unit.entry((section.clone(), name.to_owned())).or_default().push(value.to_owned());
            }
        }
    }
    unit
}

fn get<'a>(unit: &'a Unit, section: &str, name: &str) -> &'a [String] {
    unit.get(&(section.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
}

#[test]
fn the_unit_says_what_the_daemon_relies_on() {
    let unit = read("efsmon.service");
    for (section, name, value) in [
        ("Service", "Type", "notify"),
        ("Service", "ExecStart", "/usr/bin/efsmond"),
        ("Service", "EnvironmentFile", "-/etc/efsmon/environment"),
        ("Service", "User", "efsmon"),
        ("Service", "Group", "efsmon"),
        // The mount helper's state is root's, 0750.
        ("Service", "SupplementaryGroups", "root"),
        ("Service", "StateDirectory", "efsmon"),
        ("Service", "StateDirectoryMode", "0750"),
        ("Service", "RuntimeDirectory", "efsmon"),
        ("Service", "RuntimeDirectoryMode", "0755"),
        ("Service", "Restart", "on-failure"),
        ("Service", "RestartPreventExitStatus", "78"),
        ("Service", "CapabilityBoundingSet", ""),
        ("Service", "NoNewPrivileges", "yes"),
        ("Service", "RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"),
        ("Install", "WantedBy", "multi-user.target"),
    ] {
        assert_eq!(get(&unit, section, name), [value], "[{section}] {name}");
    }
    for name in ["MemoryMax", "TasksMax", "TimeoutStopSec", "WatchdogSec", "RestartSec"] {
        assert_eq!(get(&unit, "Service", name).len(), 1, "{name}");
    }
}

/// The longest the daemon is silent is a sample interval of 20 s; the longest end takes 17 s.
#[test]
fn the_unit_s_times_are_above_the_daemon_s() {
    let unit = read("efsmon.service");
    let seconds = |name: &str| {
        let [value] = get(&unit, "Service", name) else { panic!("{name} is not there once") };
        value.strip_suffix('s').and_then(|value| value.parse::<u64>().ok()).unwrap()
    };
    assert!(seconds("WatchdogSec") >= 3 * 20);
    assert!(seconds("TimeoutStopSec") > 17 && seconds("TimeoutStopSec") < 90);
}

#[test]
fn the_limit_of_starts_holds_for_old_versions_of_systemd_too() {
    let unit = read("efsmon.service");
    assert_eq!(get(&unit, "Unit", "StartLimitIntervalSec"), get(&unit, "Service", "StartLimitInterval"));
    assert_eq!(get(&unit, "Unit", "StartLimitBurst"), get(&unit, "Service", "StartLimitBurst"));
    assert_eq!(get(&unit, "Unit", "StartLimitBurst").len(), 1);
}

#[test]
fn nothing_in_the_unit_hides_a_mount_or_waits_for_one() {
    let unit = read("efsmon.service");
    let names: Vec<&str> = unit.keys().map(|(_, name)| name.as_str()).collect();
    for hides in [
        // Mounts below /home; or all of /proc but the processes; or other processes, of which the proxies are.
        "ProtectHome",
        "ProcSubset",
        "ProtectProc",
        "PrivatePIDs",
        // Parts of the tree.
        "InaccessiblePaths",
        "InaccessibleDirectories",
        "TemporaryFileSystem",
        "RootDirectory",
        "RootImage",
        "MountFlags",
        // Read-only and writable paths are gone through mount by mount.
        "ReadOnlyPaths",
        "ReadWritePaths",
        "NoExecPaths",
        "ExecPaths",
        // No process is started whose exit status RestartPreventExitStatus does not cover, and no rights are given.
        "ExecStartPre",
        "AmbientCapabilities",
        "DynamicUser",
        // The host name is looked up when it is needed, which may be after it was set.
        "ProtectHostname",
        // Where user namespaces are switched off, it would not start.
        "PrivateUsers",
        "PrivateNetwork",
        "IPAddressDeny",
    ] {
        assert!(!names.contains(&hides), "{hides}");
    }
    // strict goes over every mount, and before systemd 243 waits for a server that hangs.
    assert_eq!(get(&unit, "Service", "ProtectSystem"), ["full"]);
    for name in ["Wants", "Requires", "Requisite", "BindsTo", "After", "RequiresMountsFor"] {
        let values = get(&unit, "Unit", name).join(" ");
        for waits in ["remote-fs", "network-online", "nfs", ".mount", "time-sync"] {
            assert!(!values.contains(waits), "{name}={values}");
        }
    }
}

/// An old systemd skips groups that it does not know: of a list of what is allowed, nothing would be left.
#[test]
fn system_calls_are_denied_by_name_never_allowed_by_name() {
    let unit = read("efsmon.service");
    let filters = get(&unit, "Service", "SystemCallFilter");
    assert_eq!(filters.len(), 1);
    let denied = filters[0].strip_prefix('~').unwrap();
    // One ~ is for the whole line; in front of another group it would be part of its name.
    assert!(denied.split(' ').all(|group| group.starts_with('@')), "{denied}");
    // Refused, so that a library can do without; not killed.
    assert_eq!(get(&unit, "Service", "SystemCallErrorNumber"), ["EPERM"]);
}

#[test]
fn the_drop_in_for_the_host_s_view_gives_one_capability_and_nothing_else() {
    let capability = vec!["CAP_DAC_READ_SEARCH".to_owned()];
    let expected: Unit = ["AmbientCapabilities", "CapabilityBoundingSet"]
        .map(|name| (("Service".to_owned(), name.to_owned()), capability.clone()))
        .into();
    assert_eq!(read("host-view.conf"), expected);
}
