//! What Cargo.toml says of the packages, and the places that name a version or a package of it.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn metadata(of: &str) -> toml::Table {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    manifest["package"]["metadata"][of].as_table().unwrap().clone()
}

/// `SOURCE -> DESTINATION, MODE`, each destination with the name of its file.
fn row(source: &str, destination: &str, mode: &str) -> String {
    let name = if destination.ends_with('/') { source.rsplit('/').next().unwrap() } else { "" };
    // Where distributions differ.
    let destination = destination.replace("vendor-completions", "site-functions");
    format!("{source} -> /{}{name}, {mode}", destination.trim_start_matches('/'))
}

fn deb() -> BTreeSet<String> {
    let assets = metadata("deb")["assets"].as_array().unwrap().clone();
    let text = |value: &toml::Value| value.as_str().unwrap().to_owned();
    let rows = assets.iter().map(|asset| row(&text(&asset[0]), &text(&asset[1]), &text(&asset[2])));
    rows.filter(|row| counts(row)).collect()
}

fn rpm() -> BTreeSet<String> {
    let assets = metadata("generate-rpm")["assets"].as_array().unwrap().clone();
    let text = |asset: &toml::Value, name: &str| asset[name].as_str().unwrap().to_owned();
    let rows =
        assets.iter().map(|asset| row(&text(asset, "source"), &text(asset, "dest"), &text(asset, "mode")));
    rows.filter(|row| counts(row)).collect()
}

/// cargo-deb adds the unit by itself, and how the user is made differs.
fn counts(row: &str) -> bool {
    !row.starts_with("packaging/efsmon.service ") && !row.starts_with("packaging/sysusers.conf ")
}

#[test]
fn both_packages_have_the_same_files_but_for_what_each_format_has_of_its_own() {
    let (deb, rpm) = (deb(), rpm());
    let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| -> Vec<String> {
        these.difference(those).map(|row| row.split(" -> ").nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(
        only(&deb, &rpm),
        [
            "/usr/share/doc/efsmon/copyright, 644",
            "/usr/share/lintian/overrides/efsmon, 644",
            "/usr/share/doc/efsmon/changelog.Debian.gz, 644",
            "/usr/share/doc/efsmon/changelog.gz, 644",
            "/usr/share/doc/efsmon/third-party-licences.gz, 644",
        ]
    );
    assert_eq!(
        only(&rpm, &deb),
        [
            "/usr/share/doc/efsmon/CHANGELOG.md, 644",
            "/usr/share/licenses/efsmon/LICENSE, 644",
            "/usr/lib/systemd/system-preset/50-efsmon.preset, 644",
            "/usr/share/licenses/efsmon/third-party-licences.gz, 644",
        ]
    );
}

#[test]
fn what_is_packed_is_in_the_repository_or_built() {
    for row in deb().iter().chain(&rpm()) {
        let (source, _) = row.split_once(" -> ").unwrap();
        let path = format!("{}/{source}", env!("CARGO_MANIFEST_DIR"));
        assert!(source.starts_with("target/release/") || fs::exists(path).unwrap(), "{source}");
    }
    // cargo-deb packs a file of this name by itself, and calls a program that not every system has.
    assert!(!fs::exists(format!("{}/packaging/efsmon.sysusers", env!("CARGO_MANIFEST_DIR"))).unwrap());
}

#[test]
fn scripts_of_the_packages_are_shell() {
    for folder in ["packaging/deb", "packaging/rpm"] {
        for entry in fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.ends_with(".sh") || name.starts_with("post") {
                assert!(Command::new("sh").arg("-n").arg(&path).status().unwrap().success(), "{name}");
            }
        }
    }
}

#[test]
fn every_place_that_names_a_version_names_this_one() {
    for (path, text) in [
        ("README.md", "efsmon_VERSION-1_amd64.deb"),
        ("README.md", "efsmon-VERSION-1.x86_64.rpm"),
        ("README.md", "/efsmon:VERSION "),
        ("packaging/Containerfile", "ARG VERSION=VERSION\n"),
        ("packaging/k8s/kustomization.yaml", "newTag: VERSION\n"),
        ("packaging/k8s/README.md", "newTag: VERSION}"),
        ("packaging/ecs/efsmon.json", "/efsmon:VERSION\""),
    ] {
        let (before, after) = text.rsplit_once("VERSION").unwrap();
        // What a version sorts after has a tilde in a package's name: 0.2.0~rc.1.
        let packaged = before.ends_with("efsmon_") || before.ends_with("efsmon-");
        let version = env!("CARGO_PKG_VERSION").replace('-', if packaged { "~" } else { "-" });
        let found = read(path);
        assert!(
            found.contains(&format!("{before}{version}{after}")),
            "{path}: no `{before}{version}{after}`"
        );
    }
}
