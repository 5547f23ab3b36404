//! `stat --nfsiostat` against what nfsiostat itself printed for the same texts: byte for byte, every number.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use efsmon::mountstats;
use efsmon::nfsiostat::{View, peer};
use serde_json::Value;

/// Recorded runs of nfsiostat 2.6.2 on a real client.
const RUNS: usize = 35;
/// Numbers that they printed, and that are compared.
const NUMBERS_OF_RUNS: usize = 2_964;
/// Pairs of texts, with what three versions printed.
const PAIRS: usize = 7;
const NUMBERS_OF_PAIRS: usize = 440;
/// Numbers that 3.1.1 printed for single texts, and that are compared.
const NUMBERS_OF_TEXTS: usize = 10_120;
/// Texts that it died of, or that hold a mount whose figures are not whole, which it prints and we do not.
const NOT_COMPARED: [&str; 11] = [
    "09_local_xprt_12numbers.txt",
    "11_device_line_oddities.txt",
    "19_no_rpc_section.txt",
    "30_bad_number_in_bytes.txt",
    "31_short_op_line.txt",
    "32_number_over_u64.txt",
    "33_truncated_in_ops.txt",
    "34_truncated_before_bytes.txt",
    "39_crlf_file.txt",
    "40_garbage_bytes.txt",
    "49_impl_id_hostile_full.txt",
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// nfsiostat's arguments.
#[derive(Default)]
struct Run {
    interval: u64,
    count: usize,
    options: peer::Options,
    flags: Vec<&'static str>,
    mounts: Vec<Vec<u8>>,
}

impl Run {
    /// From a command line as it was recorded: without quotes, so what follows a `/` is one mount point.
    fn of(command: &str) -> Run {
        let (words, mount) = match command.split_once(" /") {
            Some((words, rest)) => (words, Some(format!("/{rest}").into_bytes())),
            None => (command, None),
        };
        let mut run = Run { mounts: mount.into_iter().collect(), ..Run::default() };
        let mut words = words.split(' ').skip(1);
        run.interval = words.next().unwrap().parse().unwrap();
        run.count = words.next().unwrap().parse().unwrap();
        while let Some(word) = words.next() {
            match word {
                "-a" => (run.options.view, run.flags) = (View::Attributes, vec!["-a"]),
                "-d" => (run.options.view, run.flags) = (View::Directories, vec!["-d"]),
                "-p" => (run.options.view, run.flags) = (View::Pages, vec!["-p"]),
                "-s" => (run.options.sort, run.flags) = (true, vec!["-s", "-l", "1"]),
                "-l" => run.options.limit = Some(words.next().unwrap().parse().unwrap()),
                _ => panic!("{command}"),
            }
        }
        run
    }

    /// What it prints for these samples.
    fn print(&self, samples: &[Vec<u8>]) -> String {
        let samples: Vec<_> = samples.iter().map(|text| mountstats::parse(text)).collect();
        let chosen = peer::chosen(&samples[0], &self.mounts);
        let mut printed = Vec::new();
        for (index, new) in samples.iter().enumerate() {
            let earlier = index.checked_sub(1).map(|before| (&samples[before], self.interval as f64));
            peer::write(&mut printed, new, earlier, &chosen, self.options).unwrap();
        }
        String::from_utf8(printed).unwrap()
    }
}

/// The folders of recorded runs that hold a file of that name.
fn recorded() -> Vec<PathBuf> {
    let mut runs = Vec::new();
    for scenario in folders(&fixtures().join("captures")) {
        runs.extend(folders(&scenario));
    }
    runs.sort();
    runs
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn samples(run: &Path, count: usize) -> Vec<Vec<u8>> {
    (0..count).map_while(|number| fs::read(run.join(format!("{number}.mountstats"))).ok()).collect()
}

/// How many numbers a report holds, those in words (`12 VFS opens`) and shares (`6 (0.5%)`) too.
fn numbers(report: &str) -> usize {
    let lines = report.lines().filter(|line| !line.contains(" mounted on "));
    let words = lines.flat_map(|line| line.split([' ', '(', ')', '%']));
    words.filter(|word| word.parse::<f64>().is_ok()).count()
}

#[test]
fn every_recorded_run_is_printed_to_the_last_byte() {
    let (mut runs, mut compared) = (0, 0);
    for folder in recorded() {
        let run = Run::of(text(&folder.join("cmd")).trim());
        let expected = text(&folder.join("stdout"));
        let mut printed = run.print(&samples(&folder, run.count));
        if folder.ends_with("appear/nfsiostat") {
            // The version of the recording died of the mount that appeared.
            printed = run.print(&samples(&folder, 2));
        }
        assert_eq!(printed, expected, "{}", folder.display());
        runs += 1;
        compared += numbers(&expected);
    }
    assert_eq!((runs, compared), (RUNS, NUMBERS_OF_RUNS));
}

#[test]
fn a_mount_that_appears_is_printed_as_later_versions_print_it() {
    let folder = fixtures().join("captures/appear/nfsiostat");
    let run = Run::of(text(&folder.join("cmd")).trim());
    let expected = text(&folder.join("stdout.3.1.1"));
    assert!(expected.contains("mounted on /mnt/fs2:"));
    assert_eq!(run.print(&samples(&folder, 3)), expected);
}

#[test]
fn every_pair_is_printed_to_the_last_byte() {
    let (mut pairs, mut compared) = (0, 0);
    let folder = fixtures().join("mountstats");
    for entry in fs::read_dir(&folder).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = file.strip_suffix(".pair.json") else { continue };
        let pair: Value = serde_json::from_str(&text(&folder.join(&file))).unwrap();
        let read = |which: &str| fs::read(folder.join(format!("{name}.{which}.txt"))).unwrap();
        let (old, new) = (read("t0"), read("t1"));
        let (old, new) = (mountstats::parse(&old), mountstats::parse(&new));
        let seconds = pair["interval_s"].as_f64().unwrap();
        let mut printed = Vec::new();
        peer::write(&mut printed, &new, Some((&old, seconds)), &[], peer::Options::default()).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        for version in ["2.6.2", "2.8.3", "3.1.1"] {
            let expected = pair["outputs"][version].as_str().unwrap();
            if (name, version) == ("68_pair_autofs_trigger", "2.6.2") {
                assert_eq!(expected, "", "2.6.2 leaves out what was mounted on an autofs trigger: we do not");
                continue;
            }
            assert_eq!(printed, expected, "{name} {version}");
            compared += numbers(expected);
        }
        pairs += 1;
    }
    assert_eq!((pairs, compared), (PAIRS, NUMBERS_OF_PAIRS));
}

#[test]
fn every_view_of_every_text_is_printed_to_the_last_byte() {
    let fixtures = fixtures();
    let printed_by_3_1_1: Value =
        serde_json::from_str(&text(&fixtures.join("nfsiostat-3.1.1.json"))).unwrap();
    let (mut not_compared, mut compared) = (Vec::new(), 0);
    for (name, views) in printed_by_3_1_1.as_object().unwrap() {
        let text = fs::read(fixtures.join("mountstats").join(name)).unwrap();
        let parsed = mountstats::parse(&text);
        for (flag, expected) in views.as_object().unwrap() {
            let view = match flag.as_str() {
                "-a" => View::Attributes,
                "-d" => View::Directories,
                "-p" => View::Pages,
                _ => View::Files,
            };
            let options = peer::Options {
                view,
                sort: flag == "-s",
                megabytes: flag == "-m",
                ..peer::Options::default()
            };
            let mut printed = Vec::new();
            peer::write(&mut printed, &parsed, None, &[], options).unwrap();
            match expected.as_str().filter(|_| parsed.problems.is_empty()) {
                Some(expected) => {
                    assert_eq!(String::from_utf8(printed).unwrap(), expected, "{name} {flag}");
                    compared += numbers(expected);
                }
                None => not_compared.push(name.clone()),
            }
        }
    }
    not_compared.dedup();
    assert_eq!((not_compared, compared), (NOT_COMPARED.map(str::to_owned).to_vec(), NUMBERS_OF_TEXTS));
}

#[test]
fn a_text_that_kills_nfsiostat_is_reported() {
    // 50 sends over AF_LOCAL in 3,600 s; a mount without RPC figures.
    for (name, sends) in [("09_local_xprt_12numbers", 0.014), ("19_no_rpc_section", 0.0)] {
        let text = fs::read(fixtures().join(format!("mountstats/{name}.txt"))).unwrap();
        let mut printed = Vec::new();
        peer::write(&mut printed, &mountstats::parse(&text), None, &[], peer::Options::default()).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.contains(&format!("\n{sends:>16.3}{:>16.3}\n", 0.0)), "{name}: {printed}");
    }
}

#[test]
fn the_command_prints_recorded_runs_to_the_last_byte() {
    let shown = [
        "remount/nfsiostat",
        "rand7030/nfsiostat-2-2-a",
        "rand7030/nfsiostat-2-2-d",
        "rand7030/nfsiostat-2-2-p",
        "rand7030/nfsiostat-2-2-s-l1",
        "odd-names/nfsiostat-1-2",
        "aliases/nfsiostat-1-2-SPACE-escaped",
        "no-nfs/nfsiostat-1-2",
    ];
    for name in shown {
        let folder = fixtures().join("captures").join(name);
        let run = Run::of(text(&folder.join("cmd")).trim());
        let mut printed = Vec::new();
        for number in 0..samples(&folder, run.count).len() {
            let mut command = Command::new(env!("CARGO_BIN_EXE_efsmon"));
            command.args(["stat", "--nfsiostat", "--file"]).arg(folder.join(format!("{number}.mountstats")));
            if let Some(before) = number.checked_sub(1) {
                command.arg("--since").arg(folder.join(format!("{before}.mountstats")));
                command.args(["--interval", &run.interval.to_string()]);
            }
            command.args(&run.flags);
            command.args(run.mounts.iter().map(|mount| str::from_utf8(mount).unwrap()));
            let output = command.output().unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            printed.extend(output.stdout);
        }
        assert_eq!(String::from_utf8(printed).unwrap(), text(&folder.join("stdout")), "{name}");
    }
}
