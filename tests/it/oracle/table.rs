//! Published figures by minute, metric and dimensions, expected or found, and how two such tables differ.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use efsmon::model::Datum;

use super::amounts::{Amounts, get};

/// Seconds since 1970 of its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minute(pub i128);

type Key = (Minute, String, String);

/// What CloudWatch makes of the data of one series and minute.
#[derive(Clone, Debug)]
pub struct Figures {
    pub unit: &'static str,
    pub sum: f64,
    pub samples: f64,
    pub largest: f64,
    pub smallest: f64,
}

/// Whose figures they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    Host,
    FileSystem(&'static str),
    AccessPoint(&'static str, &'static str),
    MountPoint(&'static str, String),
}

pub struct Table {
    full: bool,
    pub figures: BTreeMap<Key, Figures>,
}

type Times = &'static [(&'static str, &'static str, &'static str, &'static str)];

/// Metric, kind, sum of milliseconds, requests.
const LATENCIES: Times = &[
    ("ReadLatency", "read", "execute", "execute requests"),
    ("WriteLatency", "write", "execute", "execute requests"),
    ("MetadataLatency", "metadata", "execute", "execute requests"),
];
const DETAILED_LATENCIES: Times = &[
    ("ReadRoundTrip", "read", "rtt", "rtt requests"),
    ("WriteRoundTrip", "write", "rtt", "rtt requests"),
    ("ReadQueue", "read", "queue", "queue requests"),
    ("WriteQueue", "write", "queue", "queue requests"),
];

impl Table {
    /// `full`: of the profile of that name, else of `standard`.
    pub fn new(full: bool) -> Table {
        Table { full, figures: BTreeMap::new() }
    }

    fn put(
        &mut self,
        (minute, metric, dimensions): (Minute, &str, String),
        unit: &'static str,
        value: f64,
        count: f64,
    ) {
        let figures = self.figures.entry((minute, metric.to_owned(), dimensions)).or_insert(Figures {
            unit,
            sum: 0.0,
            samples: 0.0,
            largest: f64::NEG_INFINITY,
            smallest: f64::INFINITY,
        });
        assert_eq!(figures.unit, unit, "{metric}");
        figures.sum += value * count;
        figures.samples += count;
        figures.largest = figures.largest.max(value);
        figures.smallest = figures.smallest.min(value);
    }

    /// What is felt at a mount: of the file system, the client and the mount point.
    fn felt(
        &mut self,
        minute: Minute,
        metric: &str,
        whose: &Whose,
        unit: &'static str,
        (value, count): (f64, f64),
    ) {
        match whose {
            Whose::FileSystem(id) => {
                self.put((minute, metric, format!("FileSystemId={id}")), unit, value, count);
                self.put((minute, metric, client(id)), unit, value, count);
            }
            Whose::MountPoint(id, path) => {
                self.put((minute, metric, at_mount_point(id, path)), unit, value, count);
            }
            Whose::Host | Whose::AccessPoint(..) => {}
        }
    }

    /// So many of the mounts did not answer.
    pub fn stalled(&mut self, minute: Minute, whose: &Whose, mounts: u32) {
        self.felt(minute, "MountStalled", whose, "Count", (f64::from(mounts), 1.0));
    }

    pub fn fleet(&mut self, minute: Minute, metric: &str, value: u64) {
        self.put((minute, metric, String::new()), "Count", value as f64, 1.0);
    }

    pub fn client(&mut self, minute: Minute, file_system: &str) {
        self.put((minute, "Clients", format!("FileSystemId={file_system}")), "Count", 1.0, 1.0);
    }

    /// What is added up; `zeros` are published only for a minute that was seen.
    pub fn totals(&mut self, minute: Minute, whose: &Whose, amounts: &Amounts, zeros: bool) {
        let places = match whose {
            Whose::FileSystem(id) => vec![format!("FileSystemId={id}"), client(id)],
            Whose::AccessPoint(id, access_point) => {
                vec![format!("FileSystemId={id} AccessPointId={access_point}")]
            }
            Whose::Host | Whose::MountPoint(..) => return,
        };
        let of = |kind: &'static str, what: &'static str| get(amounts, kind, what);
        let every =
            |what: &'static str| ["read", "write", "commit", "metadata"].iter().map(|k| of(k, what)).sum();
        let small = |requests: u64| requests * 4096;
        let metered = u64::max(small(of("read", "requests")), of("payload", "read") / 3)
            + u64::max(small(of("write", "requests")), of("payload", "written"))
            + small(of("commit", "requests") + of("metadata", "requests"));
        let totals = [
            ("ReadBytes", "Bytes", of("read", "sent") + of("read", "received")),
            ("WriteBytes", "Bytes", of("write", "sent") + of("write", "received")),
            ("MeteredEstimate", "Bytes", metered),
            ("ReadOperations", "Count", of("read", "requests")),
            ("WriteOperations", "Count", of("write", "requests")),
            ("MetadataOperations", "Count", of("metadata", "requests")),
        ];
        for (metric, unit, value) in totals {
            for place in places.iter().filter(|_| zeros || value > 0) {
                self.put((minute, metric, place.clone()), unit, value as f64, 1.0);
            }
        }
        let Whose::FileSystem(file_system) = whose else { return };
        if !self.full {
            return;
        }
        let details: [(&str, &'static str, u64); 6] = [
            ("Operations", "Count", every("requests")),
            ("Retransmissions", "Count", every("again")),
            ("MajorTimeouts", "Count", every("timeouts")),
            ("OperationErrors", "Count", every("errors")),
            ("ReadPayloadBytes", "Bytes", of("payload", "read")),
            ("WritePayloadBytes", "Bytes", of("payload", "written")),
        ];
        for (metric, unit, value) in details {
            if zeros || value > 0 {
                self.put((minute, metric, client(file_system)), unit, value as f64, 1.0);
            }
        }
        for ((whose, operation), requests) in amounts {
            if *whose == "requests of" {
                let dimensions = format!("{} Operation={operation}", client(file_system));
                self.put((minute, "OperationRequests", dimensions), "Count", *requests as f64, 1.0);
            }
        }
    }

    /// What is one value a window, of `seconds` that are `whole` seconds of the minute.
    pub fn window(&mut self, minute: Minute, whose: &Whose, amounts: &Amounts, seconds: f64, whole: f64) {
        let (read, written, place) = match whose {
            Whose::Host => ("ec2-efs-read-throughput", "ec2-efs-write-throughput", "InstanceID=?".to_owned()),
            Whose::FileSystem(id) => ("ReadThroughput", "WriteThroughput", client(id)),
            Whose::MountPoint(id, path) => ("ReadThroughput", "WriteThroughput", at_mount_point(id, path)),
            Whose::AccessPoint(..) => return,
        };
        // No rate of less than half a second: it would be a peak of nothing.
        for (metric, kind) in [(read, "read"), (written, "write")].into_iter().filter(|_| whole > 0.0) {
            let bytes = get(amounts, kind, "sent") + get(amounts, kind, "received");
            let rate = bytes as f64 / seconds / 1_048_576.0;
            self.put((minute, metric, place.clone()), "None", rate, whole);
        }
        let mean = |kind, ms, of| {
            let requests = get(amounts, kind, of);
            (requests > 0).then(|| (get(amounts, kind, ms) as f64 / requests as f64, requests as f64))
        };
        for (metric, kind, ms, of) in LATENCIES {
            if let Some(value) = mean(kind, ms, of) {
                self.felt(minute, metric, whose, "Milliseconds", value);
            }
        }
        let Whose::FileSystem(file_system) = whose else { return };
        for (metric, kind, ms, of) in if self.full { DETAILED_LATENCIES } else { &[] } {
            if let Some((value, count)) = mean(kind, ms, of) {
                self.put((minute, metric, client(file_system)), "Milliseconds", value, count);
            }
        }
    }

    /// Takes in what was published.
    pub fn published(&mut self, data: &[Datum]) {
        for datum in data {
            assert_eq!(datum.values.len(), datum.counts.len(), "{datum:?}");
            assert!(!datum.values.is_empty(), "{datum:?}");
            let mut distinct = datum.values.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            assert_eq!(distinct.len(), datum.values.len(), "a value comes twice: {datum:?}");
            let dimensions: Vec<String> = datum
                .dimensions
                .iter()
                .map(|dimension| format!("{}={}", dimension.name, dimension.value.as_deref().unwrap_or("?")))
                .collect();
            let key = (Minute(datum.timestamp.seconds().into()), &*datum.metric, dimensions.join(" "));
            for (value, count) in datum.values.iter().zip(&datum.counts) {
                assert!(value.is_finite() && *value >= 0.0 && *count >= 1.0, "{datum:?}");
                self.put(key.clone(), datum.unit.name(), *value, *count);
            }
        }
    }

    /// Takes in what is expected of the same minutes and of others.
    pub fn add(&mut self, other: Table) {
        for (key, more) in other.figures {
            match self.figures.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(more);
                }
                Entry::Occupied(mut entry) => {
                    let figures = entry.get_mut();
                    figures.sum += more.sum;
                    figures.samples += more.samples;
                    figures.largest = figures.largest.max(more.largest);
                    figures.smallest = figures.smallest.min(more.smallest);
                }
            }
        }
    }

    /// The sum of a metric over all minutes and file systems.
    pub fn sum(&self, metric: &str, client: bool) -> f64 {
        let all = self.figures.iter();
        all.filter(|((_, name, dimensions), _)| name == metric && !dimensions.contains("AccessPoint"))
            .filter(|((_, _, dimensions), _)| dimensions.contains("Instance") == client)
            .map(|(_, figures)| figures.sum)
            .sum()
    }

    /// What is missing in `found`, is too much, or differs.
    pub fn differences(&self, found: &Table) -> Vec<String> {
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        let same = |a: &Figures, b: &Figures| {
            a.unit == b.unit
                && a.samples == b.samples
                && near(a.sum, b.sum)
                && near(a.largest, b.largest)
                && near(a.smallest, b.smallest)
        };
        let mut differences = Vec::new();
        for (key, figures) in &self.figures {
            match found.figures.get(key) {
                None => differences.push(format!("missing {key:?}: {figures:?}")),
                Some(other) if !same(figures, other) => {
                    differences
                        .push(format!("wrong {key:?}:\n     expected {figures:?}\n     found    {other:?}"));
                }
                Some(_) => {}
            }
        }
        for (key, figures) in found.figures.iter().filter(|(key, _)| !self.figures.contains_key(key)) {
            differences.push(format!("extra {key:?}: {figures:?}"));
        }
        differences.sort_by_key(|line| line.split_once('(').map(|(_, key)| key.to_owned()));
        differences
    }
}

fn client(file_system: &str) -> String {
    format!("FileSystemId={file_system} InstanceId=?")
}

fn at_mount_point(file_system: &str, path: &str) -> String {
    format!("{} MountPoint={path}", client(file_system))
}
