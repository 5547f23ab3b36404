//! State files cut at any byte, alone or together: never a wrong name, at worst the last known or none.

use std::collections::HashMap;
use std::fmt::Debug;
use std::time::Duration;

use efsmon::efs::{Answer, Attribution, HelperMount, Identity, helper_mounts};
use efsmon::model::Moment;
use efsmon::mountinfo::DeviceNumber;
use efsmon::sampler::join::Seen;
use efsmon::source::StateFile;

use super::{Machine, NOW};

/// Superblocks whose state file's name says more than its text: one contradicts it, one is empty. Where the text may
/// not be read, the name is believed.
const BY_NAME: [(DeviceNumber, &str); 2] = [
    (DeviceNumber { major: 0, minor: 138 }, "fs-0123456789abcde38"),
    (DeviceNumber { major: 0, minor: 140 }, "fs-0123456789abcde40"),
];

/// The machine's mounts, and what each is with all files whole; that this is right is another test's.
struct Torn<'a> {
    machine: &'a Machine,
    seen: &'a Seen<'a>,
    whole: HashMap<DeviceNumber, Answer>,
    all_whole: Vec<HelperMount>,
    /// What the files told that were checked last.
    checked: Vec<HelperMount>,
    /// Has seen all files whole.
    knowing: Attribution,
    seconds: u64,
}

impl<'a> Torn<'a> {
    fn new(machine: &'a Machine, seen: &'a Seen<'a>) -> Torn<'a> {
        let all_whole = helper_mounts(&machine.files);
        let knowing = Attribution::with_targets(Some(machine.targets.clone()));
        let mut torn = Torn {
            machine,
            seen,
            whole: HashMap::new(),
            all_whole,
            checked: Vec::new(),
            knowing,
            seconds: 0,
        };
        torn.check_known(&torn.all_whole.clone(), &"the first time");
        torn.whole = torn.answers(&torn.knowing);
        assert_eq!(torn.whole.values().filter(|answer| matches!(answer, Answer::Efs(_))).count(), 36);
        torn
    }

    fn read(&self, attribution: &mut Attribution, helper: &[HelperMount]) {
        let later = Duration::from_secs(self.seconds);
        let moment = Moment { monotonic: NOW.monotonic + later, ..NOW };
        attribution.update(moment, self.seen, &self.machine.configured, || helper.to_owned());
    }

    fn answers(&self, attribution: &Attribution) -> HashMap<DeviceNumber, Answer> {
        let numbers = self.seen.superblocks.iter().map(|superblock| superblock.number);
        numbers.map(|number| (number, attribution.answer(number).unwrap().clone())).collect()
    }

    /// With these files what was known stays; what is seen for the first time is right as far as it goes, and complete
    /// when the files are whole again.
    fn check(&mut self, files: &[StateFile], what: &dyn Debug) {
        let helper = helper_mounts(files);
        // Nothing else of the files goes into an answer.
        if std::mem::replace(&mut self.checked, helper.clone()) == helper {
            return;
        }
        self.check_known(&helper, what);
        let mut fresh = Attribution::with_targets(Some(self.machine.targets.clone()));
        self.read(&mut fresh, &helper);
        for (number, answer) in self.answers(&fresh) {
            let right = match (&answer, &self.whole[&number]) {
                (answer, whole) if answer == whole => true,
                (Answer::Efs(found), Answer::Efs(whole)) => is_part(found, whole),
                (Answer::Efs(found), _) => BY_NAME.contains(&(number, found.file_system.as_str())),
                (Answer::Pending(_), whole) => !matches!(whole, Answer::NotEfs(_)),
                _ => false,
            };
            assert!(right, "{number} {what:?}: {answer:?}, not {:?}", self.whole[&number]);
        }
        self.seconds += 1;
        self.read(&mut fresh, &self.all_whole);
        for (number, answer) in self.answers(&fresh) {
            let whole = &self.whole[&number];
            let complete = match (&answer, whole) {
                (Answer::Efs(found), Answer::Efs(whole)) => {
                    (&found.file_system, &found.access_point, &found.region)
                        == (&whole.file_system, &whole.access_point, &whole.region)
                        && is_part(found, whole)
                }
                (Answer::Efs(found), _) => BY_NAME.contains(&(number, found.file_system.as_str())),
                _ => answer == *whole,
            };
            assert!(complete, "{number} after {what:?}: {answer:?}, not {whole:?}");
        }
    }

    fn check_known(&mut self, helper: &[HelperMount], what: &dyn Debug) {
        let mut knowing = std::mem::take(&mut self.knowing);
        self.read(&mut knowing, helper);
        for (number, answer) in self.answers(&knowing) {
            let known = self.whole.get(&number).filter(|whole| !matches!(whole, Answer::Pending(_)));
            assert!(known.is_none_or(|known| *known == answer), "{number} was known, {what:?}: {answer:?}");
        }
        self.knowing = knowing;
    }
}

/// Whether one says nothing that the other does not say.
fn is_part(found: &Identity, whole: &Identity) -> bool {
    let part = |found: &Option<String>, whole: &Option<String>| found.is_none() || found == whole;
    found.file_system == whole.file_system
        && (found.access_point.is_none() || found.access_point == whole.access_point)
        && part(&found.region, &whole.region)
        && part(&found.mount_target, &whole.mount_target)
        && part(&found.zone, &whole.zone)
}

fn length(file: &StateFile) -> usize {
    file.text.as_ref().map_or(0, Vec::len)
}

fn cut(file: &mut StateFile, length: usize) {
    file.text.as_mut().unwrap().truncate(length);
}

#[test]
fn a_file_cut_at_any_byte_gives_no_wrong_name() {
    let machine = Machine::read();
    let parsed = machine.parsed();
    let seen = machine.seen(&parsed);
    let parts = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for part in 0..parts {
            let (machine, seen) = (&machine, &seen);
            scope.spawn(move || {
                let mut torn = Torn::new(machine, seen);
                let mut files = machine.files.clone();
                for place in (0..files.len()).filter(|place| place % parts == part) {
                    let whole = files[place].clone();
                    for length in (0..length(&whole)).rev() {
                        cut(&mut files[place], length);
                        torn.check(&files, &(&whole.name, length));
                    }
                    files[place].text = None;
                    torn.check(&files, &(&whole.name, "may not be read"));
                    files.remove(place);
                    torn.check(&files, &(&whole.name, "is gone"));
                    files.insert(place, whole);
                }
            });
        }
    });
}

#[test]
fn files_cut_together_give_no_wrong_name() {
    let machine = Machine::read();
    let parsed = machine.parsed();
    let seen = machine.seen(&parsed);
    let mut torn = Torn::new(&machine, &seen);
    for seed in 0..1000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut files = machine.files.clone();
        let damaged = random.f64();
        let gone = random.bool();
        files.retain_mut(|file| {
            match random.f64() < damaged {
                true if random.u8(..) < 64 && gone => return false,
                true if random.u8(..) < 64 && !gone => file.text = None,
                true => cut(file, random.usize(..=length(file))),
                false => {}
            }
            true
        });
        torn.check(&files, &seed);
    }
    // Nothing but the names, and nothing at all.
    let mut files = machine.files.clone();
    files.iter_mut().for_each(|file| file.text = None);
    torn.check(&files, &"no text");
    torn.check(&[], &"no files");
}
