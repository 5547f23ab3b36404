//! A host, the code and the rules side by side, from reading to reading.

use std::collections::BTreeMap;
use std::time::Duration;

use efsmon::catalog::{OwnFigures, Profile};
use efsmon::efs::helper_mounts;
use efsmon::minutes::SeriesLimits;
use efsmon::model::Datum;
use efsmon::monitor::{Monitor, Settings, State};

use super::host::{Host, Owner, SECOND};
use super::rules::{Own, Rules};
use super::table::Table;
use super::text::{Sight, reading, sight, state_files};

/// 2026-11-30T11:58:00Z.
const START: i128 = 1_796_039_880 * SECOND;

pub struct Run {
    pub host: Host,
    monitor: Monitor,
    rules: Rules,
    pub found: Table,
    pub expected: Table,
    settings: Settings,
    /// What the last commit put on disk, with the rules as they stood then.
    committed: (String, Rules),
    /// Commits fail.
    pub disk_is_full: bool,
    own: u64,
    /// What each superblock had when it was last seen, and when that was.
    seen: BTreeMap<usize, (i128, u64)>,
    pub stretches: Vec<Stretch>,
}

/// The READ bytes of one superblock from one sight of it, or its birth, to the next.
pub struct Stretch {
    pub file_system: &'static str,
    pub from: i128,
    pub to: i128,
    pub bytes: u64,
}

impl Run {
    pub fn new(seed: u64, profile: Profile) -> Run {
        Run::every(seed, profile, 10)
    }

    /// With readings every so many seconds.
    pub fn every(seed: u64, profile: Profile, interval: u64) -> Run {
        let settings = Settings {
            sample_interval: Duration::from_secs(interval),
            series: SeriesLimits {
                access_points: Some(1000),
                mount_points: Some(1000),
                cron_script: true,
                ..SeriesLimits::new(profile, 100_000)
            },
            mounts: Vec::new(),
            stall_after: Duration::from_secs(30),
        };
        let rules = Rules::new(i128::from(interval) * SECOND);
        let monitor = Monitor::new(settings.clone(), State::default());
        let committed = (serde_json::to_string(monitor.state()).unwrap(), rules.clone());
        Run {
            host: Host::new(seed, START),
            monitor,
            rules,
            found: Table::new(profile == Profile::Full),
            expected: Table::new(profile == Profile::Full),
            settings,
            committed,
            disk_is_full: false,
            own: 0,
            seen: BTreeMap::new(),
            stretches: Vec::new(),
        }
    }

    fn grid(&self) -> i128 {
        i128::try_from(self.settings.sample_interval.as_nanos()).unwrap()
    }

    /// How long it is until the next multiple of the interval and `late` more, which may be less than 0.
    pub fn until_tick(&self, late: i128) -> i128 {
        let wait = self.grid() - self.host.wall.rem_euclid(self.grid()) + late;
        if wait > 0 { wait } else { wait + self.grid() }
    }

    /// Waits for the next multiple, fires 3 to 900 ms late, and reads.
    pub fn tick(&mut self) {
        let late = i128::from(self.host.rng.u32(3_000_000..=900_000_000));
        self.host.pass(self.until_tick(late));
        self.read();
    }

    /// The next tick gives nothing.
    pub fn void(&mut self) {
        let late = i128::from(self.host.rng.u32(3_000_000..=900_000_000));
        self.host.pass(self.until_tick(late));
    }

    fn own(&mut self) -> (Own, OwnFigures) {
        self.own += 1;
        let own = [self.own % 3, self.own % 5, self.own % 7];
        let figures =
            OwnFigures { unidentified_mounts: own[0], samples_lost: own[1], unknown_outcomes: own[2] };
        (own, figures)
    }

    /// A reading, here and now; what closes is published, and the state is committed with it.
    pub fn read(&mut self) {
        self.observe();
        let (own, figures) = self.own();
        let data = self.monitor.close(&figures);
        let mut expected = Table::new(self.settings.series.profile == Profile::Full);
        self.rules.close(own, &mut expected);
        match self.disk_is_full {
            true if !data.is_empty() => {
                self.monitor.go_back(serde_json::from_str(&self.committed.0).unwrap());
                self.rules = self.committed.1.clone();
            }
            _ => self.publish(&data, expected),
        }
    }

    fn publish(&mut self, data: &[Datum], expected: Table) {
        self.found.published(data);
        self.expected.add(expected);
        if !data.is_empty() {
            self.commit();
        }
    }

    fn observe(&mut self) {
        let host = &self.host;
        self.monitor.observe(&reading(host), || helper_mounts(&state_files(host)));
        let sight = sight(host);
        self.rules.observe(&sight);
        self.remember(&sight);
        self.host.reading_done();
    }

    fn remember(&mut self, sight: &Sight) {
        let very_first = self.seen.is_empty();
        for shown in &sight.superblocks {
            let bytes = shown.counters.bytes("READ");
            let before = self.seen.insert(shown.truth, (sight.wall, bytes));
            let birth = (!very_first).then_some((sight.wall - shown.age * SECOND, 0));
            if let (Some((from, earlier)), Owner::FileSystem(file_system)) = (before.or(birth), shown.owner) {
                let bytes = bytes - earlier;
                self.stretches.push(Stretch { file_system, from, to: sight.wall, bytes });
            }
        }
    }

    fn commit(&mut self) {
        self.committed = (serde_json::to_string(self.monitor.state()).unwrap(), self.rules.clone());
    }

    /// The process stops in good order: a last reading, and the open minute closes before its end.
    pub fn stop(&mut self) {
        self.read();
        let (own, figures) = self.own();
        let data = self.monitor.close_early(&figures);
        let mut expected = Table::new(self.settings.series.profile == Profile::Full);
        self.rules.close_early(own, &mut expected);
        self.publish(&data, expected);
    }

    /// A new process goes on from the last commit, whether the one before stopped or was killed; it reads at once.
    pub fn start(&mut self) {
        let (state, rules) = &self.committed;
        self.monitor = Monitor::new(self.settings.clone(), serde_json::from_str(state).unwrap());
        self.rules = rules.clone();
        self.read();
    }

    /// Ends the run and compares everything both ways.
    #[track_caller]
    pub fn assert_exact(&mut self, name: &str) {
        self.host.pass(1_700_000_000);
        self.stop();
        let differences = self.expected.differences(&self.found);
        let first: Vec<&str> = differences.iter().take(12).map(String::as_str).collect();
        assert!(
            differences.is_empty(),
            "{name}: {} of {} figures differ; the first:\n  {}",
            differences.len(),
            self.expected.figures.len(),
            first.join("\n  ")
        );
    }
}
