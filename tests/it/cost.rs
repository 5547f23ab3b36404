//! `efsmon cost`: bills worked out by hand from the price list (aws.amazon.com/cloudwatch/pricing, us-east-1, as of
//! 2026-09-22: metrics $0.30 up to 10,000, $0.10 up to 250,000, $0.05 up to 1,000,000, then $0.02; $0.01 for 1,000
//! requests after a million).

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const FS_A: &str = "fs-0123456789abcdef0";
const FS_B: &str = "fs-0fedcba9876543210";

/// Hosts of the same kind, 2 of 200 file systems on each.
const FLEET: &[&str] = &["--hosts", "3000", "--file-systems", "200", "--per-host", "2"];

/// A machine whose configuration is `toml`, with a mount for each device.
fn machine(toml: &str, devices: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir_all(path.join("proc/self")).unwrap();
    let (mut mountinfo, mut mountstats) = (String::new(), String::new());
    for (device, number) in devices.iter().zip(40..) {
        let mount_point = format!("/mnt/{number}");
        mountinfo +=
            &format!("{number} 31 0:{number} / {mount_point} rw shared:3 - nfs4 {device} rw,addr=10.0.0.1\n");
        mountstats += &format!("device {device} mounted on {mount_point} with fstype nfs4 statvers=1.1\n");
        mountstats += "\topts:\trw,vers=4.1,proto=tcp\n\tage:\t60\n\tcaps:\tx\n\tsec:\tx\n";
        mountstats += &format!("\tevents:\t{}\n\tbytes:\t{}\n", "0 ".repeat(27), "0 ".repeat(8));
        mountstats += "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\tper-op statistics\n";
        mountstats += "\t        READ: 1 1 0 0 0 0 0 0 0\n\n";
    }
    mountinfo += "31 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
    mountstats += "device /dev/sda1 mounted on / with fstype ext4\n";
    fs::write(path.join("proc/self/mountinfo"), mountinfo).unwrap();
    fs::write(path.join("proc/self/mountstats"), mountstats).unwrap();
    fs::write(path.join("efsmon.toml"), toml).unwrap();
    directory
}

fn efsmon(machine: &Path, command: &str, arguments: &[&str]) -> Output {
    let mut efsmon = Command::new(env!("CARGO_BIN_EXE_efsmon"));
    efsmon.current_dir(machine).env_clear();
    efsmon.args([command, "--config", "efsmon.toml"]).args(arguments);
    for (flag, place) in [("--procfs", "proc"), ("--efs-state", "efs"), ("--state-dir", "state")] {
        efsmon.arg(flag).arg(machine.join(place));
    }
    efsmon.output().unwrap()
}

#[track_caller]
fn text(machine: &TempDir, arguments: &[&str]) -> String {
    let output = efsmon(machine.path(), "cost", arguments);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn report(machine: &TempDir, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(machine, &[arguments, &["--json"]].concat())).unwrap()
}

/// The codes of the warnings.
fn warned(report: &Value) -> Vec<&str> {
    let warnings = report["warnings"].as_array().unwrap();
    warnings.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[test]
fn three_thousand_hosts_with_two_of_two_hundred_file_systems_each() {
    let report = report(&machine("", &[]), FLEET);
    // A host sends a request a minute: 730 x 60 = 43,800 a month; 3,000 hosts 131,400,000. The first 1,000,000 are
    // free; 130,400 thousands at $0.01 are $1,304.00.
    for (profile, series, metrics, total) in [
        // The fleet's 4, and 11 for each of 200 file systems. 2,204 x 0.30.
        ("fleet", 2_204, 661.20, 1_965.20),
        // And 2 x 2 x 3,000 = 12,000. 10,000 x 0.30 + 4,204 x 0.10.
        ("minimal", 14_204, 3_420.40, 4_724.40),
        // And (2 + 10) x 2 x 3,000 = 72,000 in place of those. 3,000 + 64,204 x 0.10.
        ("standard", 74_204, 9_420.40, 10_724.40),
        // And 12 x 2 x 3,000 = 72,000 more, and 20 operations x 2 x 3,000 = 120,000. 3,000 + 240,000 x 0.10 +
        // 16,204 x 0.05.
        ("full", 266_204, 27_810.20, 29_114.20),
    ] {
        let found = &report["profiles"][profile];
        assert_eq!(found["series"], series, "{profile}");
        assert_eq!(found["requests"], 131_400_000, "{profile}");
        assert_eq!(found["requests_usd"], 1_304.0, "{profile}");
        assert_eq!(found["metrics_usd"], metrics, "{profile}");
        assert_eq!(found["total_usd"], total, "{profile}");
    }
    // A host of minimal has 4 + 2 x 11 + 2 x 2 series, of full 4 + 2 x 11 + 2 x 24 + 2 x 20.
    assert_eq!(report["profiles"]["minimal"]["series_per_host"], 30);
    assert_eq!(report["profiles"]["full"]["series_per_host"], 114);
    // Under the default limit of 50, full keeps 4 + 2 x 11 + 1 x 24 of them: 2,204 + 24 x 3,000 = 74,204 in all, for
    // 3,000 + 64,204 x 0.10 + 1,304.
    assert_eq!(
        report["profiles"]["full"]["limited"],
        json!({"series": 74_204, "series_per_host": 50, "total_usd": 10_724.40})
    );
    // The most that 3,000 hosts x 50 series could cost: 3,000 + 140,000 x 0.10.
    assert_eq!(report["max_series_usd"], 17_000.0);
    assert_eq!(warned(&report), [""; 0]);
}

#[test]
fn the_report_for_people_shows_the_reckoning_the_price_its_region_and_its_date() {
    // 120 replacements a day are 120 x 365 / 12 = 3,650 a month; each adds an hour of 4 series, 14,600 hours in all:
    // 20 metric-months, for $2.00.
    let shown = text(&machine("", &[]), &[FLEET, &["--churn", "120"]].concat());
    let bill = "\
3,000 hosts, 200 file systems, 2 mounted on each host, 120 hosts replaced a day
profile minimal (default), sent every 60 s
USD a month, list prices of us-east-1 on 2026-09-22; other Regions differ

                                                           NUMBER    USD A MONTH
shared: billed once, however many hosts publish them
  fleet        4                                                4
  file system  11 x 200 file systems                        2,200
each host's own
  client       2 x 2 file systems x 3,000 hosts            12,000
  replaced     4 x 120 a day x 1 of 24 hours                   20
series         $0.30 each, up to 10,000                    10,000      $3,000.00
               $0.10 each, up to 250,000                    4,224        $422.40
requests       $0.01 per 1,000, 1,000,000 free        131,400,000      $1,304.00
total                                                                  $4,726.40

";
    assert_eq!(&shown[..bill.len().min(shown.len())], bill);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "PROFILE SERIES FOR SERIES FOR REQUESTS TOTAL A HOST fleet 2,204 $661.20 $1,304.00 $1,965.20 $0.66",
        "> minimal 14,204 $3,422.40 $1,304.00 $4,726.40 $1.58",
        "* needs more than limits.max_series = 50. Under that limit: full",
        "the hour in which one host follows another, the series of both are. 120 a day are 3,650 a month.",
        "Prices: aws.amazon.com/cloudwatch/pricing, us-east-1, as of 2026-09-22, without discounts and tax; other",
        "The account's 10 free metrics ($3.00) are not deducted.",
    ] {
        assert!(words.contains(said), "{said}\n{shown}");
    }
    let widest = |shown: &str| shown.lines().map(|line| line.chars().count()).max();
    assert_eq!(widest(&shown), Some(80), "{shown}");
    let larger = [
        "--hosts",
        "30000",
        "--file-systems",
        "2000",
        "--per-host",
        "20",
        "--churn",
        "12000",
        "--profile",
        "full",
    ];
    let shown = text(&machine("", &[]), &larger);
    assert_eq!(widest(&shown), Some(80), "{shown}");
}

#[test]
fn this_host_is_what_it_mounts_now_and_one_file_system_costs_once() {
    let efs = |id: &str, region: &str| format!("{id}.efs.{region}.amazonaws.com:/");
    let (a, b) = (efs(FS_A, "eu-west-1"), efs(FS_B, "eu-west-1"));
    let machine = machine("[publish]\nregion = \"eu-west-1\"\n", &[&a, &a, &b, "files.example:/home"]);
    let report = report(&machine, &[]);
    assert_eq!((&report["subject"], &report["hosts"]), (&json!("host"), &json!(1)));
    assert_eq!((&report["file_systems"], &report["mounts_not_counted"]), (&json!(2), &json!(1)));
    // 4 + 2 x 11 shared ones, 2 x 2 of its own; 30 x 0.30. 43,800 requests are within the free million.
    let minimal = &report["profiles"]["minimal"];
    assert_eq!((&minimal["series_shared"], &minimal["series_own_per_host"]), (&json!(26), &json!(4)));
    assert_eq!((&minimal["total_usd"], &minimal["requests"]), (&json!(9.0), &json!(43_800)));
    let shown = text(&machine, &[]);
    assert!(shown.starts_with("this host, 2 EFS file systems mounted\n"), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "1 NFS mount is not counted: it is not EFS, or not known yet; efsmon mounts says why.",
        "adds 4 series of its own ($1.20) and 43,800 requests ($0.44 once the free ones are used up)",
        "other Regions differ, and this host publishes to eu-west-1.",
    ] {
        assert!(words.contains(said), "{said}\n{shown}");
    }
    // The same file systems as `efsmon mounts` shows.
    let mounts = efsmon(machine.path(), "mounts", &["--json"]);
    let mounts: Value = serde_json::from_slice(&mounts.stdout).unwrap();
    let ids: Vec<_> = mounts["mounts"].as_array().unwrap().iter().map(|m| &m["file_system_id"]).collect();
    assert_eq!(ids, [&json!(FS_A), &json!(FS_A), &json!(FS_B), &Value::Null]);
}

#[test]
fn nobody_is_asked_and_nothing_is_left_behind() {
    let machine = machine("", &[&format!("{FS_A}.efs.eu-west-1.amazonaws.com:/")]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let before = fs::read_dir(machine.path()).unwrap().count();
    let mut efsmon = Command::new(env!("CARGO_BIN_EXE_efsmon"));
    efsmon.current_dir(machine.path()).env_clear().args(["cost", "--config", "efsmon.toml"]);
    for variable in ["AWS_ENDPOINT_URL", "AWS_EC2_METADATA_SERVICE_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY"] {
        efsmon.env(variable, &endpoint);
    }
    efsmon.arg("--procfs").arg(machine.path().join("proc")).arg("--state-dir").arg(machine.path().join("s"));
    let output = efsmon.env("AWS_REGION", "eu-west-1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(fs::read_dir(machine.path()).unwrap().count(), before);
}

#[test]
fn the_configuration_decides_the_profile_the_requests_and_the_cron_scripts_names() {
    let toml = "publish_interval = \"300s\"\nprofile = \"standard\"\n[compat]\ncron_script = true\n";
    let machine = machine(toml, &[]);
    let report = report(&machine, FLEET);
    let standard = &report["profiles"]["standard"];
    // 2 of each host's own in another namespace: 74,204 + 6,000.
    assert_eq!((&report["profile"], &standard["series"]), (&json!("standard"), &json!(80_204)));
    assert_eq!(standard["series_by_scope"]["cron_script"], 6_000);
    // In 5 minutes one request for the newest minute and one for the four before it, in each of two namespaces:
    // 8,760 x 4 x 3,000. After the free million 104,120 thousands.
    assert_eq!((&standard["requests"], &standard["requests_usd"]), (&json!(105_120_000), &json!(1_041.2)));
    let shown = text(&machine, FLEET);
    assert!(shown.contains("\nprofile standard (efsmon.toml:2), sent every 300 s\n"), "{shown}");
    assert!(
        text(&machine, &[FLEET, &["--profile", "fleet"]].concat()).contains("profile fleet (flag --profile)")
    );
}

#[test]
fn what_costs_more_than_one_may_expect_is_named_with_its_price() {
    let (plain, wide) = (machine("", &[]), machine("[limits]\nmax_series = 1000\n", &[]));
    let with = |machine: &TempDir, arguments: &[&str]| {
        let report = report(machine, &[FLEET, arguments].concat());
        let warnings = report["warnings"].as_array().unwrap().clone();
        let said = |warning: &Value, key: &str| warning[key].as_str().unwrap().to_owned();
        warnings.iter().map(|w| format!("{}: {}", said(w, "code"), said(w, "text"))).collect::<Vec<_>>()
    };
    assert_eq!(with(&plain, &["--profile", "standard"]), [""; 0]);
    let bill = text(&plain, &[FLEET, &["--profile", "full"]].concat());
    let bill = bill.split_whitespace().collect::<Vec<_>>().join(" ");
    let totals =
        "total, if all of it were published $29,114.20 billed under limits.max_series = 50 $10,724.40";
    assert!(bill.contains(totals), "{bill}");
    // Without operations 146,204 series would cost 3,000 + 136,204 x 0.10. 114 - 50 series are left out.
    let full = with(&plain, &["--profile", "full"]);
    assert!(full[0].starts_with("operations: 120,000 of the 266,204 series"), "{full:?}");
    assert!(full[0].contains("$11,189.80 a month. Publish with the profile standard"), "{full:?}");
    assert_eq!(
        full[1],
        "left_out: limits.max_series = 50 is less than the 114 series that a host has here, so 64 of them are left out, \
         and $10,724.40 a month are billed in place of $29,114.20. To publish all of them, set it to 114 or more."
    );
    assert_eq!(full.len(), 2);
    // 3,000,000 series: 64,500 + 2,000,000 x 0.02.
    let far = with(&wide, &[]);
    assert!(far[0].starts_with("max_series: limits.max_series = 1000 is far above the 30 series"), "{far:?}");
    assert!(far[0].contains("up to $104,500.00 a month") && far.len() == 1, "{far:?}");
    // 72,000 hosts a day in place of 3,000 live an hour each. 72,000 x 4 / 24 = 12,000 metric-months at $0.10.
    let churn = with(&plain, &["--churn", "72000"]);
    assert!(churn[0].starts_with("churn: A host lives 1 hour on average"), "{churn:?}");
    assert!(churn[0].contains("$1,200.00 a month more") && churn.len() == 1, "{churn:?}");
    // Requests are most of the bill of the profile fleet: in 5 minutes 2, not 5: 51,560 thousands are charged.
    let fleet = with(&plain, &["--profile", "fleet"]);
    assert!(
        fleet[0].contains("cost $1,304.00; with publish_interval = \"300s\" they cost $515.60"),
        "{fleet:?}"
    );
}

#[test]
fn mount_points_are_each_hosts_own_and_access_points_shared() {
    let machine = machine("", &[]);
    let report = report(&machine, &[FLEET, &["--access-points", "400", "--mount-points", "3"]].concat());
    let minimal = &report["profiles"]["minimal"];
    // 6 each: for 400 access points once, for 3 mount points of each of 3,000 hosts.
    assert_eq!(minimal["series_by_scope"]["access_point"], 2_400);
    assert_eq!(minimal["series_by_scope"]["mount_point"], 54_000);
    // 14,204 + 2,400 + 54,000 = 70,604: 3,000 + 60,604 x 0.10.
    assert_eq!((&minimal["series"], &minimal["metrics_usd"]), (&json!(70_604), &json!(9_060.4)));
    // A host has 30, and 2 of 200 file systems with 2 of them each make 4 x 6, and 3 x 6: 72.
    assert_eq!(minimal["series_per_host"], 72);
    assert_eq!(warned(&report), ["mount_points", "left_out"]);
    let said = report["warnings"][0]["text"].as_str().unwrap();
    assert!(said.starts_with("54,000 of the 70,604 series are of mount points"), "{said}");
    assert!(said.contains(": $5,400.00 a month."), "{said}");
    // 50 - 30 are enough for the others of both file systems and one access point, and 2 more for no mount point.
    assert_eq!(minimal["limited"]["series_per_host"], 30 + 18);
}

#[test]
fn access_points_and_mount_points_of_this_host_count_when_they_are_published() {
    let toml = format!(
        "[publish]\naccess_points = true\nmount_points = true\n[limits]\nmax_mount_points = 2\n\
         [[mounts]]\nmount_point = \"/mnt/40\"\nfile_system_id = \"{FS_A}\"\naccess_point_id = \"fsap-01234567\"\n\
         [[mounts]]\nmount_point = \"/mnt/41\"\nfile_system_id = \"{FS_A}\"\naccess_point_id = \"fsap-89abcdef\"\n\
         [[mounts]]\nmount_point = \"/mnt/42\"\nfile_system_id = \"{FS_A}\"\naccess_point_id = \"fsap-89abcdef\"\n"
    );
    let counted = |toml: &str| {
        let report = report(&machine(toml, &["10.0.0.1:/"; 4]), &[]);
        let numbers = ["file_systems", "access_points", "mount_points_per_host", "mounts_not_counted"]
            .map(|key| report[key].as_u64().unwrap());
        (numbers, report["profiles"]["minimal"]["series_by_scope"]["access_point"].as_u64().unwrap())
    };
    // 3 mount points, but for the limit.
    assert_eq!(counted(&toml), ([1, 2, 2, 1], 2 * 6));
    let toml = toml.replacen("fsap-89abcdef", "fsap-00000000", 1);
    assert_eq!(counted(&toml), ([1, 3, 2, 1], 3 * 6));
    // One of them by itself, and the others together.
    let toml = toml.replace("max_mount_points = 2", "max_access_points = 1");
    assert_eq!(counted(&toml), ([1, 3, 3, 1], 2 * 6));
}

#[test]
fn without_per_host_every_host_mounts_every_file_system() {
    let report = report(&machine("", &[]), &["--hosts", "20", "--file-systems", "3", "--operations", "7"]);
    assert_eq!(report["file_systems_per_host"], 3);
    // 4 + 3 x 11 + 2 x 3 x 20; full 4 + 33 + 24 x 3 x 20 + 7 x 3 x 20.
    assert_eq!(report["profiles"]["minimal"]["series"], 157);
    assert_eq!(report["profiles"]["full"]["series"], 1_897);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_is_allowed() {
    let machine = machine("", &[]);
    for (arguments, said) in [
        (&["--hosts", "0", "--file-systems", "1"][..], "0 is not in 1..=1000000"),
        (&["--hosts", "1000001", "--file-systems", "1"], "1000001 is not in 1..=1000000"),
        (&["--hosts", "1", "--file-systems", "10001"], "10001 is not in 1..=10000"),
        (&["--hosts", "1", "--file-systems", "1", "--churn", "-1"], "unexpected argument '-1'"),
        (&["--hosts", "1", "--file-systems", "1", "--operations", "101"], "101 is not in 1..=100"),
        (&["--hosts", "9"], "--file-systems <N>"),
        (&["--churn", "9"], "--hosts <N>"),
        (&["--profile", "huge"], "[possible values: fleet, minimal, standard, full]"),
        (
            &["--hosts", "9", "--file-systems", "2", "--per-host", "3"],
            "efsmon: found --per-host 3; allowed: 1 to 2, the number of --file-systems; try --help\n",
        ),
    ] {
        let output = efsmon(machine.path(), "cost", arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{arguments:?}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

/// Keys may be added; none goes or changes.
#[test]
fn programs_find_these_keys() {
    let report = report(&machine("", &[]), FLEET);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys(&report),
        "access_points file_systems file_systems_per_host hosts hosts_replaced_per_day max_series max_series_usd \
         mount_points_per_host mounts_not_counted operations prices profile profiles publish_interval_seconds subject \
         warnings"
    );
    assert_eq!(
        keys(&report["prices"]),
        "as_of currency free_metrics_not_deducted free_requests_deducted hours_per_month page region"
    );
    let profile = &report["profiles"]["fleet"];
    assert_eq!(
        keys(profile),
        "limited metrics_usd replaced_metric_months requests requests_usd series series_by_scope \
         series_own_per_host series_per_host series_shared tiers total_usd"
    );
    assert_eq!(keys(&profile["limited"]), "series series_per_host total_usd");
    assert_eq!(keys(&profile["tiers"][0]), "metric_months price up_to usd");
    assert_eq!(
        keys(&profile["series_by_scope"]),
        "access_point client cron_script file_system fleet mount_point operation"
    );
}
