use proptest::prelude::*;
use serde_json::json;

use super::*;

fn mark(owner: &str, region: &str) -> Mark {
    Mark { owner: owner.parse().unwrap(), region: region.to_owned() }
}

fn existing(name: &str, body: Value, mark: Option<Mark>) -> BTreeMap<String, Existing> {
    BTreeMap::from([(name.to_owned(), Existing { body, mark })])
}

#[track_caller]
fn check(existing: &BTreeMap<String, Existing>, adopt: bool, expected: &str) {
    let desired = BTreeMap::from([("a".to_owned(), json!({ "x": 60, "y": [1] }))]);
    let plan = Plan::new(desired, existing, &mark("efsmon", "eu-west-1"), adopt);
    let [step] = plan.steps.as_slice() else { panic!("{plan:?}") };
    let found = match &step.change {
        Change::Create => "create".to_owned(),
        Change::Update { .. } => "update".to_owned(),
        Change::Keep => "keep".to_owned(),
        Change::Refuse { reason, .. } => reason.clone(),
    };
    assert!(found.starts_with(expected), "{found}");
    assert_eq!(plan.is_empty(), expected == "keep");
}

#[test]
fn what_is_missing_is_created_and_what_differs_is_updated() {
    let ours = Some(mark("efsmon", "eu-west-1"));
    check(&BTreeMap::new(), false, "create");
    check(&existing("a", json!({ "y": [1.0], "x": 60.0 }), ours.clone()), false, "keep");
    check(&existing("a", json!({ "y": [1], "x": 61 }), ours.clone()), false, "update");
    check(&existing("a", json!({ "y": [1], "x": 60, "z": null }), ours), false, "update");
}

#[test]
fn what_is_somebody_elses_is_taken_over_only_when_that_is_asked_for() {
    let body = json!({ "x": 60, "y": [1] });
    for other in [mark("team", "eu-west-1"), mark("efsmon", "us-east-1")] {
        let theirs = existing("a", body.clone(), Some(other.clone()));
        check(&theirs, false, &format!("is of owner {}, region {};", other.owner, other.region));
        check(&theirs, true, "keep");
    }
    check(&existing("a", body, None), false, "was not made by efsmon");
    check(&existing("a", json!({}), None), true, "update");
}

#[test]
fn only_our_own_is_left_over() {
    let ours = mark("efsmon", "eu-west-1");
    let mut found = existing("b", json!({}), Some(ours.clone()));
    found.extend(existing("c", json!({}), None));
    found.extend(existing("d", json!({}), Some(mark("team", "eu-west-1"))));
    let plan = Plan::new(BTreeMap::new(), &found, &ours, true);
    assert_eq!(plan, Plan { steps: Vec::new(), leftover: vec!["b".to_owned()] });
}

fn body() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(|number| json!(number)),
        (-1e9..1e9).prop_map(|number: f64| json!(number)),
        "[a-z \u{e4}\u{25b6}\"]{0,4}".prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec(("[a-c]", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn found() -> impl Strategy<Value = Existing> {
    let marks = [
        None,
        Some(mark("efsmon", "eu-west-1")),
        Some(mark("team", "eu-west-1")),
        Some(mark("efsmon", "us-east-1")),
    ];
    (body(), proptest::sample::select(marks.to_vec())).prop_map(|(body, mark)| Existing { body, mark })
}

fn by_name<T: std::fmt::Debug>(what: impl Strategy<Value = T>) -> impl Strategy<Value = BTreeMap<String, T>> {
    proptest::collection::btree_map("[a-e]", what, 0..5)
}

/// What is there after the plan was followed; `prune` as the flag.
fn followed(
    plan: &Plan,
    mut there: BTreeMap<String, Existing>,
    ours: &Mark,
    prune: bool,
) -> BTreeMap<String, Existing> {
    let written = plan
        .writes()
        .map(|step| (step.name.clone(), Existing { body: step.body.clone(), mark: Some(ours.clone()) }));
    there.extend(written);
    there.retain(|name, _| !(prune && plan.leftover.contains(name)));
    there
}

proptest! {
    #[test]
    fn after_a_plan_was_followed_there_is_nothing_more_to_do(
        desired in by_name(body()), there in by_name(found()), adopt: bool, prune: bool,
    ) {
        let ours = mark("efsmon", "eu-west-1");
        let plan = Plan::new(desired.clone(), &there, &ours, adopt);
        let after = followed(&plan, there.clone(), &ours, prune);
        let again = Plan::new(desired.clone(), &after, &ours, adopt);
        prop_assert_eq!(again.writes().count(), 0);
        prop_assert_eq!(again.refused().count(), plan.refused().count());
        prop_assert!(!adopt || again.is_empty());
        prop_assert!(!prune || again.leftover.is_empty());
        // All that should be there is there, or is somebody else's.
        for (name, body) in &desired {
            let is_theirs = after[name].mark.as_ref() != Some(&ours);
            prop_assert!(is_theirs || same(body, &after[name].body));
        }
    }

    #[test]
    fn what_is_not_ours_is_as_it_was(
        desired in by_name(body()), there in by_name(found()), prune: bool,
    ) {
        let ours = mark("efsmon", "eu-west-1");
        let plan = Plan::new(desired, &there, &ours, false);
        let after = followed(&plan, there.clone(), &ours, prune);
        for (name, found) in there.iter().filter(|(_, found)| found.mark.as_ref() != Some(&ours)) {
            prop_assert_eq!(after.get(name), Some(found));
        }
    }

    #[test]
    fn delete_takes_away_just_what_is_ours(there in by_name(found())) {
        let ours = mark("efsmon", "eu-west-1");
        let plan = Plan::new(BTreeMap::new(), &there, &ours, false);
        let after = followed(&plan, there.clone(), &ours, true);
        let expected: BTreeMap<_, _> =
            there.into_iter().filter(|(_, found)| found.mark.as_ref() != Some(&ours)).collect();
        prop_assert_eq!(after, expected);
    }

    #[test]
    fn a_body_is_the_same_as_itself_read_back(one in body(), other in body()) {
        let text = format!("{one:#}");
        prop_assert!(same(&one, &serde_json::from_str(&text).unwrap()));
        prop_assert_eq!(same(&one, &other), same(&other, &one));
    }
}
