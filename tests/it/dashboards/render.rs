//! What is rendered for any number of file systems.

use std::collections::BTreeSet;
use std::path::Path;

use efsmon::catalog::{METRICS, Profile, vended};
use efsmon::config::Config;
use efsmon::credits::{FileSystem, ThroughputMode};
use efsmon::metricmath;
use efsmon::provision::Target;
use efsmon::provision::dashboards::{mark_of, render, templates};
use serde_json::{Value, json};

pub const OVERVIEW: &str = "efsmon-eu-west-1-overview";
pub const FILE_SYSTEM: &str = "efsmon-eu-west-1-file-system";
/// What the dashboard of one file system has in the place of its id until it is chosen.
pub const ANY: &str = "fs-00000000000000000";

/// One of so many file systems: fs-00000000000000001, with a name; every second has none.
pub fn file_system(number: usize) -> FileSystem {
    FileSystem {
        id: format!("fs-{number:017x}").parse().unwrap(),
        name: (number % 2 == 1).then(|| format!("home {number}")),
        mode: ThroughputMode::Bursting,
        general_purpose: true,
        standard_bytes: 100 << 30,
        infrequent_bytes: 0,
        archive_bytes: 0,
        zone: None,
    }
}

pub fn target(file_systems: usize, profile: Profile) -> Target {
    Target {
        owner: "efsmon".parse().unwrap(),
        region: "eu-west-1".to_owned(),
        namespace: "EFSMon".to_owned(),
        profile,
        file_systems: (1..=file_systems).map(file_system).collect(),
        chosen: false,
        thresholds: Config::default().alarms,
    }
}

/// The dashboards of efsmon's own templates.
fn rendered(target: &Target) -> (Value, Value) {
    let mut bodies = render(target, &templates(&[]).unwrap()).unwrap();
    assert_eq!(bodies.keys().collect::<Vec<_>>(), [FILE_SYSTEM, OVERVIEW]);
    (bodies.remove(OVERVIEW).unwrap(), bodies.remove(FILE_SYSTEM).unwrap())
}

pub fn widgets(body: &Value) -> &Vec<Value> {
    body["widgets"].as_array().unwrap()
}

pub fn rows(widget: &Value) -> &[Value] {
    widget["properties"]["metrics"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// `UPDATE_EXPECT=1 cargo test dashboards` writes it anew.
fn golden(name: &str, body: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dashboards").join(name);
    let version = format!("efsmon {};", env!("CARGO_PKG_VERSION"));
    let text = format!("{body:#}\n").replace(&version, "efsmon VERSION;");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name}: refresh with UPDATE_EXPECT=1 cargo test dashboards");
}

#[test]
fn a_few_file_systems_have_rows_of_their_own_and_one_dashboard_in_depth() {
    for (file_systems, name) in
        [(0, "overview-of-none.json"), (1, "overview-of-1.json"), (2, "overview-of-2.json")]
    {
        let (overview, file_system) = rendered(&target(file_systems, Profile::Minimal));
        golden(name, &overview);
        golden("file-system.json", &file_system);
    }
}

#[test]
fn many_file_systems_are_ranked_and_their_number_changes_nothing() {
    let few = rendered(&target(20, Profile::Minimal)).0;
    let many = rendered(&target(0, Profile::Minimal)).0;
    assert!(few.to_string().contains("fs-00000000000000014"), "20 = 0x14");
    for file_systems in [21, 200, 1000] {
        assert_eq!(rendered(&target(file_systems, Profile::Minimal)).0, many, "{file_systems}");
    }
}

/// CloudWatch User Guide, "CloudWatch service quotas"; API reference, "Dashboard Body Structure and Syntax".
#[test]
fn every_limit_is_held_with_any_number_of_file_systems() {
    for file_systems in [0, 1, 2, 20, 21, 200, 1000] {
        for profile in Profile::ALL {
            let (overview, file_system) = rendered(&target(file_systems, profile));
            for body in [overview, file_system] {
                let widgets = widgets(&body);
                assert!(widgets.len() <= 500);
                assert!(widgets.iter().all(|widget| rows(widget).len() <= 500));
                assert!(widgets.iter().map(|widget| rows(widget).len()).sum::<usize>() <= 2500);
                let number =
                    |widget: &Value, name: &str| usize::try_from(widget[name].as_u64().unwrap()).unwrap();
                let mut cells = BTreeSet::new();
                for widget in widgets {
                    let (x, y) = (number(widget, "x"), number(widget, "y"));
                    for column in x..x + number(widget, "width") {
                        assert!(column < 24);
                        let height = y..y + number(widget, "height");
                        assert!(
                            height.clone().all(|row| cells.insert((column, row))),
                            "{}",
                            widget["properties"]["title"]
                        );
                    }
                    if widget["type"] == "metric" {
                        assert_eq!(widget["properties"]["region"], "eu-west-1");
                    }
                }
            }
        }
    }
}

#[test]
fn the_first_widget_says_who_made_it_and_whose_it_is() {
    let mut target = target(1, Profile::Minimal);
    target.owner = "team-a".parse().unwrap();
    let (overview, file_system) = rendered(&target);
    for body in [overview, file_system] {
        let text = widgets(&body)[0]["properties"]["markdown"].as_str().unwrap();
        let made = format!(
            "Generated by efsmon {}; efsmon owner team-a, region eu-west-1. Do not edit",
            env!("CARGO_PKG_VERSION")
        );
        assert!(text.contains(&made), "{text}");
        assert_eq!(mark_of(&body), Some(target.mark()));
    }
    assert_eq!(mark_of(&json!({ "widgets": [{ "type": "metric" }] })), None);
    assert_eq!(mark_of(&json!({})), None);
}

/// A `pattern` variable replaces a text wherever it stands in the body.
#[test]
fn the_file_system_is_chosen_everywhere_at_once() {
    let body = rendered(&target(2, Profile::Full)).1;
    let variable = &body["variables"][0];
    assert_eq!((&variable["type"], &variable["pattern"]), (&json!("pattern"), &json!(ANY)));
    assert_eq!(variable["search"], "{AWS/EFS,FileSystemId} MetricName=\"MeteredIOBytes\"");
    assert_eq!(
        (&variable["populateFrom"], &variable["defaultValue"]),
        (&json!("FileSystemId"), &json!("__FIRST"))
    );
    for widget in widgets(&body).iter().filter(|widget| widget["type"] == "metric") {
        for row in rows(widget) {
            let text = row.to_string();
            let is_of_one = text.contains(ANY);
            let is_derived = row[0]["expression"].as_str().is_some_and(|text| !text.starts_with("SELECT"));
            let is_the_period = text.contains("\"Hosts\"") && row.as_array().unwrap().len() == 3;
            assert!(is_of_one || is_derived || is_the_period, "{text}");
        }
    }
}

#[test]
fn file_systems_that_were_asked_for_are_offered_by_name() {
    let mut target = target(2, Profile::Minimal);
    target.chosen = true;
    let variable = rendered(&target).1["variables"][0].clone();
    let expected = json!([
        { "value": "fs-00000000000000001", "label": "home 1 (fs-00000000000000001)" },
        { "value": "fs-00000000000000002", "label": "fs-00000000000000002" },
    ]);
    assert_eq!(variable["values"], expected);
    assert_eq!(variable["defaultValue"], "fs-00000000000000001");
    assert!(variable.get("search").is_none() && variable.get("populateFrom").is_none());
    assert_eq!(variable["pattern"], ANY);

    target.file_systems = (1..=501).map(file_system).collect();
    assert!(rendered(&target).1["variables"][0].get("search").is_some(), "a variable has 500 values at most");
}

#[test]
fn a_name_cannot_reach_beyond_its_label() {
    let mut target = target(1, Profile::Minimal);
    target.file_systems[0].name = Some("a \"${Region}\" ${LAST}\u{1b}[31m".to_owned());
    let (overview, _) = rendered(&target);
    let label = &rows(&widgets(&overview)[1])[0][0]["label"];
    assert_eq!(label, "a \"$ {Region}\" $ {LAST}\\x1b[31m (fs-00000000000000001) [${LAST}]");
}

#[test]
fn a_panel_that_the_hosts_publish_nothing_for_says_how_to_turn_it_on() {
    let panel = |profile: Profile, title: &str| {
        let body = rendered(&target(1, profile)).1;
        let is_it = |widget: &&Value| {
            let text =
                ["title", "markdown"].map(|name| widget["properties"][name].as_str().unwrap_or_default());
            text.iter().any(|text| text.contains(title))
        };
        widgets(&body).iter().find(is_it).unwrap().clone()
    };
    let on = panel(Profile::Full, "Requests sent again, by host");
    let off = panel(Profile::Minimal, "Requests sent again, by host");
    assert_eq!((&on["type"], &off["type"]), (&json!("metric"), &json!("text")));
    for place in ["x", "y", "width", "height"] {
        assert_eq!(on[place], off[place]);
    }
    let text = off["properties"]["markdown"].as_str().unwrap();
    assert!(text.contains("the hosts have `profile = \"minimal\"`. With `profile = \"full\"` in"), "{text}");

    assert_eq!(panel(Profile::Minimal, "Hosts that read most")["type"], "metric");
    let text = panel(Profile::Fleet, "Hosts that read most")["properties"]["markdown"].to_string();
    assert!(text.contains("With `profile = \\\"minimal\\\"`"), "{text}");
}

/// Namespace, metric and names of its dimensions, sorted: of rows, queries and searches.
fn asked(body: &Value) -> BTreeSet<(String, String, Vec<String>)> {
    let mut asked = BTreeSet::new();
    for row in widgets(body).iter().flat_map(rows) {
        let cells: Vec<&str> = row.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        if let [namespace, metric, dimensions @ ..] = cells.as_slice() {
            let mut names: Vec<String> =
                dimensions.iter().step_by(2).map(|name| (*name).to_owned()).collect();
            names.sort();
            asked.insert(((*namespace).to_owned(), (*metric).to_owned(), names));
        } else {
            let text = row[0]["expression"].as_str().unwrap();
            let expression = metricmath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            for selection in expression.selections() {
                let mut names = selection.dimensions.clone().expect("a schema");
                names.sort();
                asked.insert((selection.namespace.clone(), selection.metric.clone(), names));
            }
        }
    }
    asked
}

fn all_asked(profile: Profile) -> BTreeSet<(String, String, Vec<String>)> {
    [0, 2]
        .into_iter()
        .flat_map(|file_systems| {
            let (overview, file_system) = rendered(&target(file_systems, profile));
            [asked(&overview), asked(&file_system)]
        })
        .flatten()
        .collect()
}

#[test]
fn every_metric_that_is_asked_for_exists_with_its_dimensions() {
    let all = all_asked(Profile::Full);
    assert!(all.len() > 20);
    for (namespace, metric, dimensions) in all {
        let same = |names: &[&str]| {
            names.iter().copied().collect::<BTreeSet<_>>() == dimensions.iter().map(String::as_str).collect()
        };
        let exists = match namespace.as_str() {
            vended::NAMESPACE => vended::vended(&metric).is_some_and(|found| same(found.dimensions)),
            "EFSMon" => METRICS.iter().any(|found| {
                found.name == metric
                    && found
                        .scopes
                        .iter()
                        .any(|(scope, _)| scope.setting().is_none() && same(scope.dimensions()))
            }),
            _ => false,
        };
        assert!(exists, "{namespace} {metric} {dimensions:?}");
    }
}

#[test]
fn every_default_metric_is_on_a_dashboard() {
    let all = all_asked(Profile::Minimal);
    for metric in METRICS {
        for scope in metric.published(Profile::Minimal).filter(|scope| scope.setting().is_none()) {
            let mut names: Vec<String> = scope.dimensions().iter().map(|name| (*name).to_owned()).collect();
            names.sort();
            assert!(
                all.contains(&("EFSMon".to_owned(), metric.name.to_owned(), names)),
                "{} {scope:?}",
                metric.name
            );
        }
    }
}

/// What is added up over a period means something only when it is divided by it; what CloudWatch replaces the period
/// with, all rows follow.
#[test]
fn no_row_has_a_period_of_its_own_and_no_sum_is_drawn_as_it_is() {
    for file_systems in [0, 2] {
        let (overview, file_system) = rendered(&target(file_systems, Profile::Full));
        for body in [overview, file_system] {
            assert_eq!(body["periodOverride"], "auto");
            for widget in widgets(&body).iter().filter(|widget| widget["type"] == "metric") {
                let properties = &widget["properties"];
                for row in rows(widget) {
                    let options = row.as_array().unwrap().last().unwrap();
                    assert!(options.get("period").is_none() && options["id"].is_string());
                    let stat = options.get("stat").unwrap_or(&properties["stat"]);
                    let is_drawn = options.get("visible") != Some(&json!(false));
                    let is_metric = options.get("expression").is_none();
                    let is_total = stat == "Sum" || stat == "SampleCount";
                    let query = options["expression"].as_str().unwrap_or_default();
                    assert!(!(is_drawn && is_metric && is_total), "{}", properties["title"]);
                    assert!(!(is_drawn && query.starts_with("SELECT SUM")), "{}", properties["title"]);
                }
            }
        }
    }
}
