use core::net::IpAddr;

use super::*;
use crate::efs::{Target, Whose};

const A: &str = "fs-0123456789abcdef0";
const B: &str = "fs-0fedcba9876543210";
/// When the clock of the tests stands at 0 s: seconds since 1970.
const START: u64 = 1_790_000_000;

fn at(seconds: u64) -> Moment {
    Moment { wall: Duration::from_secs(START + seconds), monotonic: Duration::from_secs(5_000 + seconds) }
}

fn id(text: &str) -> FileSystemId {
    text.parse().unwrap()
}

/// An account and somebody who asks it, question by question.
struct Asked {
    look_up: LookUp,
    targets: Targets,
    region: &'static str,
    /// Mount targets: file system and address.
    account: Vec<(&'static str, &'static str)>,
    failures: Vec<Failure>,
}

impl Asked {
    fn new(account: &[(&'static str, &'static str)]) -> Asked {
        Asked {
            look_up: LookUp::new(at(0), &Targets::default(), fastrand::Rng::with_seed(7)),
            targets: Targets::default(),
            region: "us-east-1",
            account: account.to_vec(),
            failures: Vec::new(),
        }
    }

    fn next(&mut self, seconds: u64, wanted: &[(&str, u64)]) -> Step {
        let wanted: Vec<Wanted> = wanted
            .iter()
            .map(|(address, made)| Wanted { address: address.parse().unwrap(), made: at(*made).wall })
            .collect();
        self.look_up.next(at(seconds), &wanted, &self.targets)
    }

    fn answer(&self, question: &Question) -> Reply {
        let said = match question {
            Question::FileSystems => {
                let mut list: Vec<FileSystemId> = self.account.iter().map(|(of, _)| id(of)).collect();
                list.dedup();
                Said::FileSystems(list)
            }
            Question::MountTargets(of) => {
                let with = self.account.iter().filter(|(id, _)| *id == of.as_str());
                Said::MountTargets(with.map(|(id, address)| target(id, address)).collect())
            }
        };
        Reply { region: self.region.to_owned(), said }
    }

    /// Asks all that is to be asked at that moment, one question a second. Gives the questions, `+` after one whose answer
    /// was worth keeping, and how it ends.
    fn ask(&mut self, mut seconds: u64, wanted: &[(&str, u64)]) -> String {
        let mut shown = String::new();
        loop {
            let question = match self.next(seconds, wanted) {
                Step::Ask(question) => question,
                Step::WaitUntil(until) => return format!("{shown}wait {}", until.as_secs() - 5_000),
                Step::Idle => return format!("{shown}idle"),
            };
            shown += match &question {
                Question::FileSystems => "all",
                Question::MountTargets(of) if of.as_str() == A => "A",
                Question::MountTargets(_) => "B",
            };
            let answer = match self.failures.is_empty() {
                true => Ok(self.answer(&question)),
                false => Err(self.failures.remove(0)),
            };
            let asked = at(seconds).wall.as_secs();
            let keep = self.look_up.answered(at(seconds + 1), (&question, asked), answer, &mut self.targets);
            shown += if keep { "+ " } else { " " };
            seconds += 1;
        }
    }

    fn whose(&self, address: &str, made: u64) -> String {
        match self.targets.whose(address.parse().unwrap(), at(made).wall) {
            Whose::Target(target) => target.file_system.to_string(),
            other => format!("{other:?}"),
        }
    }
}

fn target(file_system: &str, address: &str) -> Target {
    let address: IpAddr = address.parse().unwrap();
    Target {
        mount_target: "fsmt-0123456789abcdef0".to_owned(),
        file_system: id(file_system),
        ipv4: if let IpAddr::V4(address) = address { Some(address) } else { None },
        ipv6: if let IpAddr::V6(address) = address { Some(address) } else { None },
        zone: None,
        zone_id: None,
        vpc: None,
        owner: None,
        asked: 0,
    }
}

fn denied(action: &'static str) -> Failure {
    Failure::Denied { action, message: "AccessDeniedException: no".to_owned() }
}

#[test]
fn nothing_is_asked_while_no_mount_waits() {
    assert_eq!(Asked::new(&[(A, "10.0.1.5")]).ask(0, &[]), "idle");
}

#[test]
fn one_round_answers_for_every_mount_that_was_there() {
    let mut asked = Asked::new(&[(A, "10.0.1.5"), (A, "10.0.2.5"), (B, "fd00::5")]);
    assert_eq!(asked.ask(100, &[("10.0.2.5", 50), ("10.9.9.9", 60)]), "all B A+ idle");
    assert_eq!(asked.whose("10.0.2.5", 50), A);
    assert_eq!(asked.whose("fd00::5", 50), B);
    assert_eq!(asked.whose("10.9.9.9", 60), "Nobodys");
    // One that came later waits for the next round, ten minutes after the end of the last.
    assert_eq!(asked.ask(210, &[("10.9.9.9", 200)]), "wait 703");
    assert_eq!(asked.ask(703, &[("10.9.9.9", 200)]), "all B A+ idle");
    assert_eq!(asked.whose("10.9.9.9", 200), "Nobodys");
}

#[test]
fn an_account_without_file_systems_is_an_answer() {
    let mut asked = Asked::new(&[]);
    assert_eq!(asked.ask(100, &[("10.9.9.9", 60)]), "all+ idle");
    assert_eq!(asked.whose("10.9.9.9", 60), "Nobodys");
}

#[test]
fn a_later_mount_of_a_known_address_takes_one_question() {
    let mut asked = Asked::new(&[(A, "10.0.1.5"), (B, "10.0.1.6")]);
    asked.ask(100, &[("10.0.1.5", 50)]);
    assert_eq!(asked.whose("10.0.1.5", 200), "Unknown");
    assert_eq!(asked.ask(210, &[("10.0.1.5", 200)]), "A+ idle");
    assert_eq!(asked.whose("10.0.1.5", 200), A);
}

#[test]
fn an_address_that_changed_hands_is_looked_for_everywhere() {
    let mut asked = Asked::new(&[(A, "10.0.1.5"), (B, "10.0.1.6")]);
    asked.ask(100, &[("10.0.1.5", 50)]);
    asked.account = vec![(B, "10.0.1.5")];
    assert_eq!(asked.ask(210, &[("10.0.1.5", 200)]), "A+ wait 703");
    assert_eq!(asked.whose("10.0.1.5", 200), "Unknown");
    assert_eq!(asked.ask(703, &[("10.0.1.5", 200)]), "all B+ idle");
    assert_eq!(asked.whose("10.0.1.5", 200), B);
    assert_eq!(asked.whose("10.0.1.6", 200), "Nobodys");
}

#[test]
fn a_failure_is_waited_out_longer_and_longer_and_the_round_goes_on_where_it_was() {
    let mut asked = Asked::new(&[(A, "10.0.1.5"), (B, "10.0.1.6")]);
    let wanted = [("10.0.1.5", 50)];
    let throttled = || Failure::Other("ThrottlingException: Rate exceeded".to_owned());
    let mut seconds = 100;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        asked.failures.push(throttled());
        let shown = asked.ask(seconds, &wanted);
        let until: u64 = shown.strip_prefix("all wait ").unwrap().parse().unwrap();
        pauses.push(until - seconds - 1);
        seconds = until + 1;
    }
    // Half of 15 s, 30 s, 60 s .. 1800 s at least, and the whole at most.
    for (n, pause) in pauses.iter().enumerate() {
        let longest = (15 << n).min(1800);
        assert!((longest / 2..=longest).contains(pause), "{pauses:?}");
    }
    assert!(pauses.iter().skip(7).any(|pause| *pause != pauses[11]), "at random: {pauses:?}");
    // The list, one of two, and then again a failure: the list is not asked for again.
    asked.failures = Vec::new();
    let Step::Ask(list) = asked.next(seconds, &wanted) else { panic!("nothing asked") };
    let answer = asked.answer(&list);
    asked.look_up.answered(at(seconds), (&list, 0), Ok(answer), &mut asked.targets);
    asked.failures.push(throttled());
    let shown = asked.ask(seconds, &wanted);
    let until: u64 = shown.strip_prefix("B wait ").unwrap().parse().unwrap();
    assert!(until - seconds <= 16, "the pauses begin anew: {shown}");
    assert!(asked.ask(until + 1, &wanted).starts_with("B A+ idle"));
    assert_eq!(asked.whose("10.0.1.5", 50), A);
}

#[test]
fn what_may_not_be_asked_is_left_out_and_rules_nothing_out() {
    let mut asked = Asked::new(&[(A, "10.0.1.5"), (B, "10.0.1.6")]);
    let wanted = [("10.0.1.5", 50), ("10.9.9.9", 50)];
    let may_not = |asked: &mut Asked, seconds| {
        let Step::Ask(list) = asked.next(seconds, &wanted) else { panic!("nothing asked") };
        let answer = asked.answer(&list);
        let asked_at = at(seconds).wall.as_secs();
        asked.look_up.answered(at(seconds), (&list, asked_at), Ok(answer), &mut asked.targets);
        asked.failures.push(denied("elasticfilesystem:DescribeMountTargets"));
        asked.ask(seconds + 1, &wanted)
    };
    // The next round is after twenty minutes, then after forty, and never later than an hour.
    assert_eq!(may_not(&mut asked, 100), "B A+ wait 1303");
    assert_eq!((asked.whose("10.0.1.5", 50), asked.whose("10.9.9.9", 50)), (A.into(), "Unknown".into()));
    assert_eq!(may_not(&mut asked, 1303), "B A+ wait 3706");
    assert_eq!(may_not(&mut asked, 3706), "B A+ wait 7309");
    assert_eq!(may_not(&mut asked, 7309), "B A+ wait 10912");
    assert_eq!(asked.ask(10_912, &wanted), "all B A+ idle");
    assert_eq!(asked.whose("10.9.9.9", 50), "Nobodys");
}

#[test]
fn the_list_that_may_not_be_had_is_asked_for_again_later() {
    let mut asked = Asked::new(&[(A, "10.0.1.5")]);
    asked.failures.push(denied("elasticfilesystem:DescribeFileSystems"));
    let shown = asked.ask(100, &[("10.0.1.5", 50)]);
    let until: u64 = shown.strip_prefix("all wait ").unwrap().parse().unwrap();
    assert!((107..=117).contains(&until), "{shown}");
    assert_eq!(asked.ask(until + 1, &[("10.0.1.5", 50)]), "all A+ idle");
}

#[test]
fn another_region_s_answers_begin_a_round_of_their_own() {
    let mut asked = Asked::new(&[(A, "10.0.1.5"), (B, "10.0.1.6")]);
    asked.ask(100, &[("10.0.1.5", 50)]);
    asked.region = "eu-west-1";
    asked.account = vec![(B, "10.0.1.7")];
    // Asked about a later mount, the account turns out to be seen in another Region.
    assert_eq!(asked.ask(210, &[("10.0.1.5", 200)]), "A+ wait 703");
    assert_eq!(
        (asked.whose("10.0.1.5", 50), asked.whose("10.0.1.6", 50)),
        ("Unknown".into(), "Unknown".into())
    );
    assert_eq!(asked.ask(703, &[("10.0.1.5", 200)]), "all B+ idle");
    assert_eq!(asked.whose("10.0.1.5", 200), "Nobodys");
}

#[test]
fn a_restart_does_not_go_round_again_at_once() {
    let mut asked = Asked::new(&[(A, "10.0.1.5")]);
    asked.ask(100, &[("10.0.1.5", 50)]);
    asked.look_up = LookUp::new(at(150), &asked.targets, fastrand::Rng::with_seed(7));
    assert_eq!(asked.ask(160, &[("10.9.9.9", 155)]), "wait 700");
    // What is known of an address may be asked again.
    assert_eq!(asked.ask(160, &[("10.0.1.5", 155)]), "A+ idle");
    // The clock was set back by an hour: ten minutes at most.
    asked.targets.swept(at(3600).wall.as_secs(), true);
    asked.look_up = LookUp::new(at(200), &asked.targets, fastrand::Rng::with_seed(7));
    assert_eq!(asked.next(200, &[("10.9.9.9", 4000)]), Step::WaitUntil(at(800).monotonic));
}
