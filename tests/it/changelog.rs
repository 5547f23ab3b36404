//! What a release says of itself: `packaging/changelog.py`, which the release workflow runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const CHANGELOG: &str = "\
# Changelog

## [Unreleased]

### Added

- Not yet.

## [1.2.0] - 2026-12-24

### Added

- `efsmon stat`: one thing.

### Fixed

- Another, see [1.1.0].

## [1.1.0] - 2026-11-30

- The one before.

[1.1.0]: https://example.org/v1.1.0
";

fn changelog(arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/changelog.py");
    Command::new("python3").arg(script).args(arguments).output().unwrap()
}

/// For a project with this version and changelog.
fn of_project(tag: &str, version: &str, text: &str) -> Result<String, String> {
    let project = tempfile::tempdir().unwrap();
    let manifest = format!("[package]\nname = \"efsmon\"\nversion = \"{version}\"\n");
    fs::write(project.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(project.path().join("CHANGELOG.md"), text).unwrap();
    let directory = project.path().to_str().unwrap();
    let output = changelog(&[tag, directory]);
    let said = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(directory, "PROJECT");
    if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
}

#[test]
fn a_release_says_what_its_section_of_the_changelog_says() {
    let said = of_project("v1.2.0", "1.2.0", CHANGELOG).unwrap();
    assert_eq!(said, "### Added\n\n- `efsmon stat`: one thing.\n\n### Fixed\n\n- Another, see [1.1.0].\n");
    let last = of_project("v1.1.0", "1.1.0", CHANGELOG).unwrap();
    assert_eq!(last, "- The one before.\n\n[1.1.0]: https://example.org/v1.1.0\n");
}

#[test]
fn a_tag_that_is_not_the_version_is_no_release() {
    let expected = "the tag is v1.2.0, but PROJECT/Cargo.toml has version 1.3.0: tag v1.3.0, or change the version first\n";
    assert_eq!(of_project("v1.2.0", "1.3.0", CHANGELOG).unwrap_err(), expected);
    assert!(of_project("1.2.0", "1.2.0", CHANGELOG).is_err(), "without the v");
}

#[test]
fn a_version_without_a_dated_section_with_a_text_is_no_release() {
    for (text, expected) in [
        (
            CHANGELOG.replace("1.2.0", "1.2.0-rc.1"),
            "has no section of 1.2.0: write `## [1.2.0] - YYYY-MM-DD` below",
        ),
        (CHANGELOG.replace(" - 2026-12-24", ""), "has no date for 1.2.0"),
        ("## [1.2.0] - 2026-12-24\n\n## [1.1.0] - 2026-11-30\n- Old.\n".to_owned(), "says nothing of 1.2.0"),
        (CHANGELOG.replace("1.1.0", "1.2.0"), "has more than one section of 1.2.0"),
    ] {
        let said = of_project("v1.2.0", "1.2.0", &text).unwrap_err();
        assert!(said.starts_with(&format!("PROJECT/CHANGELOG.md {expected}")), "{said}");
    }
}

/// Until the first release, what there is to say is in `Unreleased`.
#[test]
fn this_project_s_changelog_has_a_section_for_its_version_or_is_not_released() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("CHANGELOG.md")).unwrap();
    let heading = format!("## [{}]", env!("CARGO_PKG_VERSION"));
    let output = changelog(&[concat!("v", env!("CARGO_PKG_VERSION"))]);
    assert_eq!(output.status.success(), text.contains(&heading), "{output:?}");

    let next = text.replacen("## [Unreleased]", "## [9.9.9] - 2026-12-24\n\n- The first line.", 1);
    let said = of_project("v9.9.9", "9.9.9", &next).unwrap();
    assert!(said.starts_with("- The first line.\n") && !said.contains("\n## ["), "{said}");
}
