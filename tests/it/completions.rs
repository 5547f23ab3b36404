//! `efsmon completions`: scripts that the shells take.

use std::fs;
use std::process::{Command, Output};

fn completions(shell: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_efsmon")).args(["completions", shell]).output().unwrap()
}

/// What bash completes a line to, with the script that efsmon prints.
fn completed(words: &[&str]) -> Vec<String> {
    completed_by(&String::from_utf8(completions("bash").stdout).unwrap(), words)
}

/// What bash, with that script, completes a line to: its last word is the one under the cursor.
pub fn completed_by(text: &str, words: &[&str]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    fs::write(&script, text).unwrap();
    let check = Command::new("bash").arg("-n").arg(&script).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    // As readline does: the function that `complete -F` names gets the command, the word and the one before it.
    let ask = r#"
        set -eu
        . "$0"
        function=$(complete -p "$1" | sed 's/.* -F \([^ ]*\) .*/\1/')
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", ask]).arg(&script).args(words);
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    assert_eq!(completed(&["efsmon", "sta"]), ["stat", "status", "state"]);
    assert_eq!(completed(&["efsmon", "config", "sh"]), ["show"]);
    assert_eq!(completed(&["efsmon", "cost", "--file"]), ["--file-systems"]);
    assert_eq!(completed(&["efsmon", "iam"]), ["iam-policy"]);
    assert_eq!(completed(&["efsmon", "iam-policy", "--for", ""]), ["daemon", "provision", "read"]);
    assert_eq!(completed(&["efsmon", "cost", "--profile", ""]), ["fleet", "minimal", "standard", "full"]);
}

#[test]
fn every_shell_gets_a_script_and_an_unknown_one_the_names_of_those() {
    for (shell, first) in [
        ("bash", "_efsmon() {"),
        ("elvish", "\nuse builtin;"),
        ("fish", "# Print an optspec"),
        ("powershell", "\nusing namespace System.Management.Automation"),
        ("zsh", "#compdef efsmon"),
    ] {
        let output = completions(shell);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && script.starts_with(first), "{shell}: {script}");
        assert!(script.contains("completions") && script.contains("cost"), "{shell}");
    }
    let refused = completions("tcsh");
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{message}");
    assert_eq!((refused.status.code(), refused.stdout.as_slice()), (Some(2), &b""[..]));
}
