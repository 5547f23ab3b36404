//! A closed minute as data.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::account::{Account, Share, Window};
use super::{Closed, Series, Subject};
use crate::catalog::{Formula, METRICS, Metric, OwnFigures, Profile, Scope};
use crate::model::{Datum, Dimension, Minute};
use crate::traffic::{Times, Traffic};

const MIB: f64 = 1_048_576.0;

/// What is published.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    pub profile: Profile,
    pub series: &'a Series,
}

impl Chosen<'_> {
    /// The data of a minute; `own` is what the host says of itself, once for all minutes that close together.
    pub fn of_minute(self, closed: &Closed, own: Option<&OwnFigures>) -> Vec<Datum> {
        let mut data = Vec::new();
        for metric in METRICS {
            for scope in metric.published(self.profile) {
                if scope == Scope::Fleet {
                    data.extend(of_fleet(metric, closed, own));
                    continue;
                }
                for (subject, account) in &closed.open.accounts {
                    if let Some(owner) = self.owner(closed.minute, scope, subject) {
                        data.extend(owner.of_account(metric, account, closed));
                    }
                }
            }
        }
        data
    }

    /// The data of late pieces: what can be added up, and only where there is something to add.
    pub fn of_late_pieces(self, late: &BTreeMap<Minute, BTreeMap<Subject, Traffic>>) -> Vec<Datum> {
        let mut data = Vec::new();
        for (minute, pieces) in late {
            for (subject, traffic) in pieces {
                for metric in METRICS {
                    let owners = metric.published(self.profile);
                    let owners = owners.filter_map(|scope| self.owner(*minute, scope, subject));
                    data.extend(owners.flat_map(|owner| owner.of_late_piece(metric, traffic)));
                }
            }
        }
        data
    }

    fn owner<'a>(&'a self, minute: Minute, scope: Scope, subject: &'a Subject) -> Option<Owner<'a>> {
        let published = subject.is_in(scope) && self.series.keeps(scope, subject);
        published.then_some(Owner { minute, scope, subject, series: self.series })
    }
}

fn of_fleet(metric: &Metric, closed: &Closed, own: Option<&OwnFigures>) -> Option<Datum> {
    let value = match metric.formula {
        Formula::Alive => closed.announce.then_some(1),
        Formula::OwnNow(figure) => own.map(figure).filter(|_| closed.announce),
        Formula::Own(figure) => own.map(figure).filter(|figure| closed.announce || *figure > 0),
        _ => None,
    }?;
    Some(datum(metric, Vec::new(), closed.minute, vec![(value as f64, 1.0)]))
}

/// Whose figures, and of when.
struct Owner<'a> {
    minute: Minute,
    scope: Scope,
    subject: &'a Subject,
    series: &'a Series,
}

impl Owner<'_> {
    fn of_account(&self, metric: &Metric, account: &Account, closed: &Closed) -> Vec<Datum> {
        let windows = || {
            let window = |(place, traffic): (&usize, _)| Some((closed.open.windows.get(*place)?, traffic));
            account.windows.iter().filter_map(window)
        };
        // The last window of a process may be of milliseconds: a rate over so little is a peak of nothing.
        let rate = |window: &Window, amount: f64| {
            let seconds = window.span.length().as_secs_f64().round();
            (seconds > 0.0).then(|| (amount / window.seconds, seconds))
        };
        let values: Vec<(f64, f64)> = match metric.formula {
            // A gap's minutes hold what was spread over them, and no zeros: nobody was there to count.
            Formula::Total(_) if !account.mounted() => return self.of_late_piece(metric, &account.total),
            Formula::ByOperation => return self.by_operation(metric, &account.total),
            Formula::Total(total) => vec![(total(&account.total) as f64, 1.0)],
            Formula::MibPerSecond(bytes) => windows()
                .filter_map(|(window, share)| rate(window, bytes(&share.traffic) as f64 / MIB))
                .collect(),
            Formula::Mean(times) => {
                let mean = |(_, share): (&Window, &Share)| {
                    let times: Times = times(&share.traffic);
                    Some((times.mean()?, times.requests as f64))
                };
                windows().filter_map(mean).collect()
            }
            Formula::Stalled => {
                windows().filter_map(|(_, share)| Some((share.stalled? as f64, 1.0))).collect()
            }
            Formula::ProxyCpu => {
                // Milliseconds a second are tenths of a percent.
                let percent =
                    |(window, share): (&Window, &Share)| rate(window, share.proxies?.cpu_ms as f64 / 10.0);
                windows().filter_map(percent).collect()
            }
            Formula::ProxyMemory => {
                windows().filter_map(|(_, share)| Some((share.proxies?.memory as f64, 1.0))).collect()
            }
            Formula::Mounted if closed.clients.contains(self.subject) => vec![(1.0, 1.0)],
            Formula::Mounted | Formula::Alive | Formula::Own(_) | Formula::OwnNow(_) => Vec::new(),
        };
        self.one(metric, values)
    }

    fn of_late_piece(&self, metric: &Metric, traffic: &Traffic) -> Vec<Datum> {
        match metric.formula {
            Formula::Total(total) if total(traffic) > 0 => {
                self.one(metric, vec![(total(traffic) as f64, 1.0)])
            }
            Formula::ByOperation => self.by_operation(metric, traffic),
            _ => Vec::new(),
        }
    }

    fn by_operation(&self, metric: &Metric, traffic: &Traffic) -> Vec<Datum> {
        let mut requests: BTreeMap<&str, u64> = BTreeMap::new();
        for (operation, more) in &traffic.by_operation {
            let sum = requests.entry(self.series.operation(self.subject, operation)).or_default();
            *sum = sum.saturating_add(*more);
        }
        let data = requests.into_iter().map(|(operation, requests)| {
            datum(metric, self.dimensions(Some(operation)), self.minute, vec![(requests as f64, 1.0)])
        });
        data.collect()
    }

    fn one(&self, metric: &Metric, values: Vec<(f64, f64)>) -> Vec<Datum> {
        match values.is_empty() {
            true => Vec::new(),
            false => vec![datum(metric, self.dimensions(None), self.minute, values)],
        }
    }

    fn dimensions(&self, operation: Option<&str>) -> Vec<Dimension> {
        let value = |name: &&'static str| match *name {
            "Operation" => operation.map(str::to_owned),
            // What the subject cannot say is this host's id, which comes later.
            _ => self.subject.dimension(name),
        };
        let dimension = |name| Dimension { value: value(name), name: Cow::Borrowed(*name) };
        self.scope.dimensions().iter().map(dimension).collect()
    }
}

/// A datum with each value once.
fn datum(metric: &Metric, dimensions: Vec<Dimension>, timestamp: Minute, values: Vec<(f64, f64)>) -> Datum {
    let mut datum = Datum {
        metric: Cow::Borrowed(metric.name),
        dimensions,
        timestamp,
        unit: metric.unit,
        values: Vec::with_capacity(values.len()),
        counts: Vec::with_capacity(values.len()),
    };
    for (value, count) in values {
        match datum.values.iter().position(|known| *known == value).and_then(|at| datum.counts.get_mut(at)) {
            Some(known) => *known += count,
            None => {
                datum.values.push(value);
                datum.counts.push(count);
            }
        }
    }
    datum
}
