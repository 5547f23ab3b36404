//! The completions, in the shells that they are for.

use std::fs;
use std::process::Command;

use crate::completions::completed_by;

fn file(directory: &tempfile::TempDir, name: &str) -> std::path::PathBuf {
    let path = directory.path().join(name.rsplit('/').next().unwrap());
    fs::write(&path, super::text(name)).unwrap();
    path
}

fn lines(command: &mut Command) -> Vec<String> {
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stderr.is_empty(), "{stdout}{stderr}");
    stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_the_flags_of_both_programs() {
    let daemon = super::text("completions/bash/efsmond");
    assert_eq!(completed_by(&daemon, &["efsmond", "--dr"]), ["--dry-run"]);
    assert_eq!(completed_by(&daemon, &["efsmond", "--s"]), ["--state-dir", "--sysfs"]);
    let efsmon = super::text("completions/bash/efsmon");
    assert_eq!(completed_by(&efsmon, &["efsmon", "alarms", "ver"]), ["verify"]);
}

#[test]
fn fish_completes_the_flags_of_both_programs() {
    let directory = tempfile::tempdir().unwrap();
    let complete = |script: &str, line: &str| {
        let script = file(&directory, script);
        let mut fish = Command::new("fish");
        fish.arg("--no-config").args(["-c", "source $argv[1]; complete -C $argv[2]"]).arg(script).arg(line);
        let found = lines(fish.env("HOME", directory.path()));
        found.iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(complete("completions/fish/efsmond.fish", "efsmond --dr"), ["--dry-run"]);
    assert_eq!(complete("completions/fish/efsmon.fish", "efsmon alarms ver"), ["verify"]);
}

#[test]
fn zsh_takes_the_scripts_of_both_programs() {
    let directory = tempfile::tempdir().unwrap();
    for program in ["efsmon", "efsmond"] {
        let script = file(&directory, &format!("completions/zsh/_{program}"));
        assert_eq!(lines(Command::new("zsh").args(["-f", "-n"]).arg(&script)), Vec::<String>::new());
        // compinit finds it by its name and its first line, and knows then what completes the program.
        let ask = "fpath=($1 $fpath); autoload -Uz compinit; compinit -D -u; print -- $_comps[$2]";
        let mut zsh = Command::new("zsh");
        let known = lines(zsh.args(["-f", "-c", ask, "zsh"]).arg(directory.path()).arg(program));
        assert_eq!(known, [format!("_{program}")]);
    }
}
