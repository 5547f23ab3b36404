use super::*;

const A: &str = "fs-0123456789abcdef0";
const B: &str = "fs-0fedcba9876543210";
const HOST: &str = "4c0f0f1d/i-0123456789abcdef0";

fn target(file_system: &str, address: &str, asked: u64) -> Target {
    let address: IpAddr = address.parse().unwrap();
    Target {
        mount_target: "fsmt-0123456789abcdef0".to_owned(),
        file_system: file_system.parse().unwrap(),
        ipv4: if let IpAddr::V4(address) = address { Some(address) } else { None },
        ipv6: if let IpAddr::V6(address) = address { Some(address) } else { None },
        zone: Some("us-east-1a".to_owned()),
        zone_id: Some("use1-az1".to_owned()),
        vpc: None,
        owner: Some("123456789012".to_owned()),
        asked,
    }
}

/// A round that began at 1000 and found these.
fn swept(found: &[(&str, &str)]) -> Targets {
    let mut targets = Targets::default();
    targets.answered_in("us-east-1");
    for id in [A, B] {
        let of_id = found.iter().filter(|(file_system, _)| *file_system == id);
        targets.replace(&id.parse().unwrap(), of_id.map(|(id, address)| target(id, address, 1000)).collect());
    }
    targets.swept(1000, true);
    targets
}

/// The answer in a word: whose the address of a mount made at `made` is.
fn whose(targets: &Targets, address: &str, made: u64) -> String {
    match targets.whose(address.parse().unwrap(), Duration::from_secs(made)) {
        Whose::Target(target) => target.file_system.to_string(),
        Whose::Several => "several".to_owned(),
        Whose::Nobodys => "nobody's".to_owned(),
        Whose::Unknown => "unknown".to_owned(),
    }
}

#[test]
fn an_address_is_the_file_system_s_whose_mount_target_has_it() {
    let targets = swept(&[(A, "10.0.1.5"), (A, "10.0.2.5"), (B, "fd00::5")]);
    assert_eq!(whose(&targets, "10.0.1.5", 900), A);
    assert_eq!(whose(&targets, "10.0.2.5", 900), A);
    assert_eq!(whose(&targets, "fd00:0:0::5", 900), B);
    assert_eq!(whose(&targets, "10.0.1.6", 900), "nobody's");
    let zone = |id: &str, address: &str| targets.zone(&id.parse().unwrap(), address.parse().unwrap());
    assert_eq!(zone(A, "10.0.2.5"), Some("us-east-1a"));
    assert_eq!(zone(B, "10.0.2.5"), None, "another file system's");
}

#[test]
fn nothing_is_known_of_a_mount_that_came_after_the_question() {
    let targets = swept(&[(A, "10.0.1.5")]);
    let at = Duration::from_secs(1002);
    // The kernel tells an age in whole seconds.
    assert_eq!(
        (whose(&targets, "10.0.1.5", 1001), whose(&targets, "10.0.1.5", 1002)),
        (A.into(), "unknown".into())
    );
    assert_eq!(
        (whose(&targets, "10.9.9.9", 1001), whose(&targets, "10.9.9.9", 1002)),
        ("nobody's".into(), "unknown".into())
    );
    assert_eq!(targets.outdated("10.0.1.5".parse().unwrap(), at).map(FileSystemId::as_str), Some(A));
    assert_eq!(targets.outdated("10.9.9.9".parse().unwrap(), at), None);
    assert_eq!(targets.outdated("10.0.1.5".parse().unwrap(), Duration::from_secs(1001)), None);
}

#[test]
fn an_address_that_went_to_another_file_system_is_that_one_s_for_later_mounts() {
    let mut targets = swept(&[(A, "10.0.1.5")]);
    targets.replace(&A.parse().unwrap(), Vec::new());
    assert_eq!(whose(&targets, "10.0.1.5", 1500), "unknown");
    targets.replace(&B.parse().unwrap(), vec![target(B, "10.0.1.5", 1600)]);
    assert_eq!(whose(&targets, "10.0.1.5", 1500), B);
}

#[test]
fn two_file_systems_with_one_address_are_none() {
    let targets = swept(&[(A, "172.31.0.5"), (B, "172.31.0.5")]);
    assert_eq!(whose(&targets, "172.31.0.5", 900), "several");
    // Nor is the one that has been asked since, while the other has not.
    let mut targets = targets;
    targets.replace(&A.parse().unwrap(), vec![target(A, "172.31.0.5", 2000)]);
    assert_eq!(whose(&targets, "172.31.0.5", 1500), "unknown");
}

#[test]
fn no_address_is_anybody_s_before_all_file_systems_were_asked() {
    let mut targets = Targets::default();
    assert_eq!(whose(&targets, "10.0.1.5", 900), "unknown");
    targets.answered_in("us-east-1");
    targets.replace(&A.parse().unwrap(), vec![target(A, "10.0.1.5", 1000)]);
    assert_eq!(whose(&targets, "10.0.1.5", 900), "unknown");
    // A round that had to leave some out finds, but rules nothing out.
    targets.swept(1000, false);
    assert_eq!(
        (whose(&targets, "10.0.1.5", 900), whose(&targets, "10.0.1.6", 900)),
        (A.into(), "unknown".into())
    );
}

#[test]
fn what_a_round_did_not_find_again_is_forgotten() {
    let mut targets = swept(&[(A, "10.0.1.5"), (B, "10.0.1.6")]);
    targets.replace(&A.parse().unwrap(), vec![target(A, "10.0.1.5", 2000)]);
    targets.swept(2000, true);
    assert_eq!(
        (whose(&targets, "10.0.1.5", 1900), whose(&targets, "10.0.1.6", 1900)),
        (A.into(), "nobody's".into())
    );
}

#[test]
fn another_region_s_answers_are_no_longer_counted() {
    let mut targets = swept(&[(A, "10.0.1.5")]);
    targets.answered_in("us-east-1");
    assert_eq!(whose(&targets, "10.0.1.5", 900), A);
    targets.answered_in("eu-west-1");
    assert_eq!(whose(&targets, "10.0.1.5", 900), "unknown");
    assert_eq!(targets.region(), "eu-west-1");
}

#[test]
fn more_than_8000_are_not_kept_and_rule_nothing_out() {
    let mut targets = Targets::default();
    targets.answered_in("us-east-1");
    let many = (0..9000).map(|n| target(A, &format!("10.0.{}.{}", n / 250, n % 250), 1000)).collect();
    targets.replace(&A.parse().unwrap(), many);
    targets.replace(&B.parse().unwrap(), vec![target(B, "10.1.0.1", 1000)]);
    targets.swept(1000, true);
    assert_eq!(targets.len(), 8000);
    assert_eq!(
        (whose(&targets, "10.0.0.1", 900), whose(&targets, "10.1.0.1", 900)),
        (A.into(), "unknown".into())
    );
}

#[test]
fn what_is_kept_is_what_was_known() {
    let targets = swept(&[(A, "10.0.1.5"), (B, "fd00::5")]);
    let text = targets.to_json(HOST).unwrap();
    assert_eq!(Targets::from_json(&text, Some(HOST)), Some(targets.clone()));
    assert_eq!(Targets::from_json(&text, None), Some(targets));
    let written = r#"{"version":1,"host":"x","region":"eu-west-1","swept":7,"complete":true,"targets":[
        {"mount_target":"fsmt-1","file_system":"fs-0123456789abcdef0","ipv4":"10.0.1.5","ipv6":null,"zone":null,
         "zone_id":"euw1-az1","vpc":null,"owner":null,"asked":7}]}"#;
    let targets = Targets::from_json(written.as_bytes(), Some("x")).unwrap();
    assert_eq!(whose(&targets, "10.0.1.5", 5), A);
    assert_eq!(targets.zone(&A.parse().unwrap(), "10.0.1.5".parse().unwrap()), Some("euw1-az1"));
}

#[test]
fn a_text_that_is_not_whole_or_another_s_says_nothing() {
    let text = swept(&[(A, "10.0.1.5"), (B, "fd00::5")]).to_json(HOST).unwrap();
    for length in 0..text.len() {
        assert_eq!(Targets::from_json(&text[..length], Some(HOST)), None, "{length}");
    }
    assert_eq!(Targets::from_json(&text, Some("another")), None);
    let text = String::from_utf8(text).unwrap();
    for (was, is) in [
        ("\"version\":1", "\"version\":2"),
        ("\"region\":\"us-east-1\"", "\"region\":\"\""),
        ("\"swept\":", "\"sweptt\":"),
        ("\"asked\":", "\"askde\":"),
        (A, "fs-0123"),
        ("10.0.1.5", "10.0.1.5.6"),
        ("]}", "]} "),
        ("]}", "]}}"),
    ] {
        let changed = text.replacen(was, is, 1);
        assert_ne!(changed, text);
        let whole = is == "]} ";
        assert_eq!(Targets::from_json(changed.as_bytes(), Some(HOST)).is_some(), whole, "{is}");
    }
}
