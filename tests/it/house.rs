//! The rules of the house that the compiler and clippy cannot check: who may use whom, what stays fenced in,
//! how long a file may be, and what no module is called. Each rule has a planted violation that it must find.

mod paths;

use std::fs;
use std::path::Path;

/// A path that only some top-level modules may name, test code aside.
struct Fence {
    /// `async` stands for the keyword; a path that ends with `_` for every crate that begins so.
    path: &'static str,
    allowed: &'static [&'static str],
    why: &'static str,
}

const FENCES: &[Fence] = &[
    Fence { path: "aws_", allowed: &["aws"], why: "the rest knows AWS by the Sink trait only" },
    Fence { path: "clap", allowed: &["cli", "main", "efsmond"], why: "the rest takes checked values" },
    Fence { path: "toml", allowed: &["config", "cli"], why: "the rest takes checked values" },
    Fence { path: "ratatui", allowed: &["live"], why: "the rest prints to a writer" },
    Fence { path: "crossterm", allowed: &["live"], why: "the rest prints to a writer" },
    Fence { path: "async", allowed: ASYNC, why: "what is computed waits for nothing" },
    Fence { path: "tokio", allowed: ASYNC, why: "what is computed waits for nothing" },
    Fence { path: "std::fs", allowed: FILES, why: "what is computed takes bytes" },
    Fence { path: "rustix::fs", allowed: FILES, why: "what is computed takes bytes" },
    Fence { path: "std::net", allowed: FILES, why: "what is computed takes bytes" },
    Fence { path: "std::os::unix::net", allowed: FILES, why: "what is computed takes bytes" },
    Fence { path: "std::env", allowed: EDGE, why: "what is computed takes settings" },
    Fence { path: "std::time::Instant", allowed: CLOCK, why: "take a Moment or a Clock" },
    Fence { path: "std::time::SystemTime", allowed: CLOCK, why: "take a Moment or a Clock" },
];

const ASYNC: &[&str] = &["publish", "aws", "live", "daemon", "cli", "main"];
const FILES: &[&str] = &["source", "recording", "spool", "aws", "config", "daemon", "cli", "main"];
const EDGE: &[&str] = &["aws", "config", "daemon", "cli", "main"];
const CLOCK: &[&str] = &["clock"];

/// Words that say nothing of what a module is for.
const EMPTY_NAMES: &[&str] =
    &["common", "helper", "helpers", "manager", "managers", "misc", "shared", "util", "utils"];

const LONGEST_FILE: usize = 500;

/// What is wrong in a tree of `(path from the package's root, text)`; `src/lib.rs` gives the order of the modules.
fn violations(files: &[(&str, &str)]) -> Vec<String> {
    let lib = files.iter().find(|(path, _)| *path == "src/lib.rs").map_or("", |(_, text)| text);
    let order = modules(lib);
    let tests: Vec<String> = files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let mut found = Vec::new();
    for (path, text) in files {
        found.extend(empty_names(path));
        let Some(place) = Place::of(path) else { continue };
        if tests
            .iter()
            .any(|module| path.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with(['.', '/'])))
        {
            continue;
        }
        let production = paths::production(text);
        if production.lines > LONGEST_FILE {
            found.push(format!(
                "{path} has {} lines besides its tests: split it, {LONGEST_FILE} are allowed",
                production.lines
            ));
        }
        for named in paths::named(&production.code) {
            let line = named.line;
            let whole = named.parts.join("::");
            if let Some(lower) = place.uses(&named.parts)
                && stands_below(&order, lower, place.module)
            {
                found.push(format!(
                    "{path}:{line} {} uses {lower}, which stands below it in src/lib.rs",
                    place.module
                ));
            }
            if whole == "crate::*" {
                found.push(format!("{path}:{line} {whole} hides which modules are used: name them"));
            }
            for fence in FENCES {
                if fence.holds(&named.parts) && !fence.allowed.contains(&place.module) {
                    found.push(format!(
                        "{path}:{line} {whole} may be named in {} only: {}",
                        fence.allowed.join(", "),
                        fence.why
                    ));
                }
            }
        }
    }
    found.dedup();
    found
}

impl Fence {
    fn holds(&self, parts: &[&str]) -> bool {
        match self.path.strip_suffix('_') {
            Some(_) => parts.first().is_some_and(|name| name.starts_with(self.path)),
            None => self.path.split("::").eq(parts.iter().copied().take(self.path.split("::").count())),
        }
    }
}

/// Where a file stands: its top-level module, and how many `super` lead from there to the crate.
struct Place<'a> {
    module: &'a str,
    depth: usize,
}

impl<'a> Place<'a> {
    /// `None` for what is not below `src`.
    fn of(path: &'a str) -> Option<Self> {
        let parts: Vec<&str> = path.strip_prefix("src/")?.strip_suffix(".rs")?.split('/').collect();
        let parts = parts.strip_suffix(&["mod"]).unwrap_or(&parts);
        Some(Place { module: parts.first()?, depth: parts.len() })
    }

    /// The top-level module that a path leads to, if any.
    fn uses<'p>(&self, parts: &[&'p str]) -> Option<&'p str> {
        let supers = parts.iter().take_while(|part| **part == "super").count();
        match parts.first() {
            Some(&"crate") => parts.get(1).copied(),
            Some(&"super") if supers == self.depth => parts.get(supers).copied(),
            _ => None,
        }
    }
}

/// The modules that a file declares for tests only, as paths without `.rs`.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let folder = path.trim_end_matches(".rs").trim_end_matches("/mod");
    paths::test_modules(text).into_iter().map(|name| format!("{folder}/{name}")).collect()
}

/// Both are modules of `order`, and `lower` comes after `user`.
fn stands_below(order: &[&str], lower: &str, user: &str) -> bool {
    let index = |name| order.iter().position(|module| *module == name);
    matches!((index(lower), index(user)), (Some(lower), Some(user)) if lower > user)
}

/// The modules that a text declares, in its order.
fn modules(lib: &str) -> Vec<&str> {
    lib.lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect()
}

fn empty_names(path: &str) -> Option<String> {
    let parts = path.trim_end_matches(".rs").split('/');
    let empty = parts.flat_map(|part| part.split('_')).find(|word| EMPTY_NAMES.contains(word))?;
    Some(format!("{path} is named {empty}, which says nothing: name it after what it holds"))
}

/// `(name, version)` of every package in a `Cargo.lock`.
fn locked(lock: &str) -> Vec<(&str, &str)> {
    let values =
        |key: &'static str| lock.lines().filter_map(move |line| line.strip_prefix(key)?.strip_suffix('"'));
    values("name = \"").zip(values("version = \"")).collect()
}

/// The path and text of every Rust file of the package.
fn tree() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut folders = vec![root.join("src"), root.join("tests/it"), root.join("benches")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn the_house_is_in_order() {
    let tree = tree();
    let files: Vec<(&str, &str)> = tree.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert!(files.iter().any(|(path, _)| *path == "src/model.rs"), "{files:?}");
    assert_eq!(violations(&files), Vec::<String>::new());
}

#[test]
fn rustfmt_leaves_the_order_of_modules_alone() {
    assert!(read(".rustfmt.toml").lines().any(|line| line == "reorder_modules = false"));
}

#[test]
fn the_architecture_lists_every_module_in_order() {
    let page = read("ARCHITECTURE.md");
    let mut listed =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name);
    for module in modules(&read("src/lib.rs")) {
        assert!(
            listed.any(|name| name == module),
            "{module} is missing from ARCHITECTURE.md, or out of order"
        );
    }
}

#[test]
fn the_old_tls_stack_is_not_locked() {
    let lock = read("Cargo.lock");
    let old: Vec<_> = locked(&lock).into_iter().filter(is_old_rustls).collect();
    assert_eq!(old, [], "an aws-* crate stands in Cargo.toml without default-features = false");
}

fn is_old_rustls((name, version): &(&str, &str)) -> bool {
    *name == "rustls" && version.starts_with("0.21.")
}

/// Plants `text` at `path` in a small tree and expects one violation that contains `expected`, or none.
#[track_caller]
fn check(path: &str, text: &str, expected: Option<&str>) {
    let lib = "pub mod model;\npub mod sampler;\npub mod publish;\npub mod aws;\npub mod cli;\n";
    let found = violations(&[("src/lib.rs", lib), (path, text)]);
    match expected {
        Some(expected) => assert!(found.len() == 1 && found[0].contains(expected), "{found:#?}"),
        None => assert_eq!(found, Vec::<String>::new()),
    }
}

#[test]
fn using_a_module_above_is_allowed() {
    check("src/publish.rs", "use crate::model::Datum;\nuse crate::publish::Sink;", None);
    check("src/aws/metrics.rs", "use super::super::publish::Sink;\nuse super::client;", None);
}

#[test]
fn using_a_module_below_is_found() {
    let below = Some(":1 sampler uses publish, which stands below it");
    check("src/sampler.rs", "fn f(sink: &dyn crate::publish::Sink) {}", below);
    check("src/sampler.rs", "use crate :: publish;", below);
    check(
        "src/sampler.rs",
        "use crate::{model::{Datum, Moment}, publish::{self, Sink}};",
        Some(":1 sampler"),
    );
    check("src/sampler/births.rs", "use crate::{model as nouns, publish};", below);
    check("src/sampler.rs", "use super::publish::Sink;", below);
    check("src/sampler/births.rs", "use super::{super::publish, interval};", below);
    check("src/sampler/mod.rs", "macro_rules! m { () => { $crate::publish::drain() } }", below);
    check("src/sampler.rs", "use crate::*;", Some("hides which modules are used"));
}

#[test]
fn aws_outside_its_fence_is_found() {
    check(
        "src/publish.rs",
        "use aws_sdk_cloudwatch::Client;",
        Some("aws_sdk_cloudwatch::Client may be named in aws"),
    );
    check(
        "src/cli/run.rs",
        "let c = aws_config::load().await;",
        Some("aws_config::load may be named in aws only"),
    );
    check("src/cli/run.rs", "let aws_region = aws_region.len();", None);
    check("src/aws/metrics.rs", "use aws_sdk_cloudwatch::Client;", None);
}

#[test]
fn clap_outside_its_fence_is_found() {
    check(
        "src/publish.rs",
        "#[derive(clap::Parser)] struct Args;",
        Some("clap::Parser may be named in cli, main, efsmond only"),
    );
    check("src/main.rs", "use clap::Parser;", None);
}

#[test]
fn toml_outside_its_fence_is_found() {
    check("src/publish.rs", "use toml;", Some("toml may be named in config, cli only"));
    check("src/config/file.rs", "let toml = toml::from_str(text)?;", None);
    check("src/cli/alarms/test/reader.rs", "use toml::Spanned;", None);
}

#[test]
fn a_terminal_outside_its_fence_is_found() {
    check("src/cli/top.rs", "use ratatui::Frame;", Some("ratatui::Frame may be named in live only"));
    check("src/cli/top.rs", "use crossterm::event;", Some("crossterm::event may be named in live only"));
}

#[test]
fn waiting_where_things_are_computed_is_found() {
    check("src/sampler.rs", "async fn f() {}", Some("async may be named in publish"));
    check("src/sampler.rs", "use tokio::time;", Some("tokio::time may be named in publish"));
    check("src/publish.rs", "async fn f() { tokio::time::sleep(wait).await }", None);
}

#[test]
fn the_machine_where_things_are_computed_is_found() {
    check("src/sampler.rs", "use std::{fs::File, io};", Some("std::fs::File may be named in source"));
    check(
        "src/sampler.rs",
        "let file = ::std::fs::File::open(path);",
        Some("std::fs::File::open may be named in"),
    );
    check("src/sampler.rs", "use rustix::fs::flock;", Some("rustix::fs::flock may be named in source"));
    check("src/sampler.rs", "use std::net::TcpStream;", Some("std::net::TcpStream may be named in source"));
    check("src/sampler.rs", "use std::os::unix::net::UnixStream;", Some("may be named in source"));
    check(
        "src/sampler.rs",
        "let home = std::env::var(\"HOME\");",
        Some("std::env::var may be named in aws, config"),
    );
    check("src/sampler.rs", "use std::{fmt, io, time::Duration};", None);
}

#[test]
fn the_time_of_day_outside_its_clock_is_found() {
    check(
        "src/cli/stat.rs",
        "use std::time::{Duration, Instant};",
        Some("std::time::Instant may be named in clock"),
    );
    check(
        "src/cli/stat.rs",
        "use std::time::SystemTime;",
        Some("std::time::SystemTime may be named in clock only"),
    );
    check("src/clock.rs", "use std::time::{Duration, SystemTime, UNIX_EPOCH};", None);
}

#[test]
fn comments_texts_and_tests_may_name_anything() {
    check("src/sampler.rs", "//! See [`crate::publish`].\n/* /* std::fs */ std::fs::read */", None);
    check(
        "src/sampler.rs",
        r##"const A: &[&str] = &["crate::publish \" std::fs", r#"std::net " x"#];"##,
        None,
    );
    check(
        "src/sampler.rs",
        "const Q: &[char] = &['\"', '\\'', '{'];\nfn f<'a>(x: &'a str) {} // std::fs",
        None,
    );
    check(
        "src/sampler.rs",
        "#[cfg(test)]\nmod tests { use crate::publish::Sink; fn f() { '}'; std::fs::read(x) } }",
        None,
    );
}

#[test]
fn files_of_test_modules_may_name_anything() {
    let sampler = "pub mod births;\n#[cfg(test)]\nmod fake;\n#[cfg(test)]\npub(crate) mod tests;\n";
    let found = |path| violations(&[("src/sampler.rs", sampler), (path, "use std::fs;")]).len();
    assert_eq!(found("src/sampler/fake.rs"), 0);
    assert_eq!(found("src/sampler/tests/remounts.rs"), 0);
    assert_eq!(found("src/sampler/births.rs"), 1);
    assert_eq!(found("src/sampler/fakes.rs"), 1);
}

#[test]
fn what_follows_a_comment_a_text_or_a_test_is_seen() {
    let seen = Some(":2 std::fs::read may be named in source");
    check("src/sampler.rs", "/* a /* b */ c */ // d\nfn f() { std::fs::read(p); }", seen);
    check("src/sampler.rs", "const S: &str = \"a \\\" // b\";\nfn f() { std::fs::read(p); }", seen);
    check("src/sampler.rs", "const S: &str = r#\"a \" // b\"#;\nfn f() { std::fs::read(p); }", seen);
    check(
        "src/sampler.rs",
        "const C: [u8; 2] = [b'\"', b'\\''];\nfn f<'a>(p: &'a str) { std::fs::read(p); }",
        seen,
    );
    check("src/sampler.rs", "#[cfg(test)] mod tests;\nfn f() { std::fs::read(p); }", seen);
    check("src/sampler.rs", "#[cfg(test)] mod tests { fn t() {} }\nfn f() { std::fs::read(p); }", seen);
}

#[test]
fn a_file_that_is_too_long_is_found() {
    let fits = "fn f() {}\n".repeat(500);
    check("src/sampler.rs", &fits, None);
    check("src/sampler.rs", &format!("{fits}#[cfg(test)]\nmod tests {{\n{fits}}}\n"), None);
    check(
        "src/sampler.rs",
        &format!("// one more\n{fits}"),
        Some("src/sampler.rs has 501 lines besides its tests"),
    );
}

#[test]
fn a_name_that_says_nothing_is_found() {
    check("src/utils.rs", "", Some("src/utils.rs is named utils"));
    check("src/aws/common/mod.rs", "", Some("is named common"));
    check("src/spool_manager.rs", "", Some("is named manager"));
    check("tests/it/helpers.rs", "", Some("is named helpers"));
    check("src/commonplace.rs", "", None);
}

#[test]
fn an_old_tls_stack_in_the_lock_file_is_found() {
    let package = |name, version| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n");
    let lock = ["version = 4\n\n", &package("rustls", "0.21.12"), &package("rustls", "0.23.46")].concat();
    assert_eq!(locked(&lock).into_iter().filter(is_old_rustls).collect::<Vec<_>>(), [("rustls", "0.21.12")]);
}
