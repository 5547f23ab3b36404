//! A closed minute as data.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Account, Closed, SeriesLimit, Window};
use crate::catalog::{Formula, METRICS, Metric, OwnFigures, Scope};
use crate::model::{Datum, Dimension, FileSystemId, Minute};
use crate::traffic::{Times, Traffic};

const MIB: f64 = 1_048_576.0;

/// The data of a minute; `own` is what the host says of itself, once for all minutes that close together.
pub(super) fn of_minute(closed: &Closed, own: Option<&OwnFigures>, limit: &SeriesLimit) -> Vec<Datum> {
    let mut data = Vec::new();
    for metric in METRICS {
        for scope in metric.published(limit.profile) {
            if scope == Scope::Fleet {
                data.extend(of_fleet(metric, closed, own));
                continue;
            }
            let kept = closed.open.file_systems.iter().filter(|(id, _)| limit.keeps(scope, id));
            for (file_system, account) in kept {
                let owner = Owner { minute: closed.minute, scope, file_system };
                data.extend(owner.of_account(metric, account, closed));
            }
        }
    }
    data
}

/// The data of late pieces: what can be added up, and only where there is something to add.
pub(super) fn of_late_pieces(
    late: &BTreeMap<Minute, BTreeMap<FileSystemId, Traffic>>,
    limit: &SeriesLimit,
) -> Vec<Datum> {
    let mut data = Vec::new();
    for (minute, file_systems) in late {
        for (file_system, traffic) in file_systems {
            for metric in METRICS {
                for scope in metric.published(limit.profile).filter(|scope| limit.keeps(*scope, file_system))
                {
                    let owner = Owner { minute: *minute, scope, file_system };
                    data.extend(owner.of_late_piece(metric, traffic));
                }
            }
        }
    }
    data
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
    file_system: &'a FileSystemId,
}

impl Owner<'_> {
    fn of_account(&self, metric: &Metric, account: &Account, closed: &Closed) -> Vec<Datum> {
        let windows = || {
            let window = |(place, traffic): (&usize, _)| Some((closed.open.windows.get(*place)?, traffic));
            account.windows.iter().filter_map(window)
        };
        match metric.formula {
            // A gap's minutes hold what was spread over them, and no zeros: nobody was there to count.
            Formula::Total(_) if !account.mounted() => self.of_late_piece(metric, &account.total),
            Formula::Total(total) => self.one(metric, vec![(total(&account.total) as f64, 1.0)]),
            Formula::MibPerSecond(bytes) => {
                // The last window of a process may be of milliseconds: a rate over so little is a peak of nothing.
                let rate = |(window, traffic): (&Window, &Traffic)| {
                    let seconds = window.span.length().as_secs_f64().round();
                    (seconds > 0.0).then(|| (bytes(traffic) as f64 / MIB / window.seconds, seconds))
                };
                self.one(metric, windows().filter_map(rate).collect())
            }
            Formula::Mean(times) => {
                let mean = |(_, traffic): (&Window, &Traffic)| {
                    let times: Times = times(traffic);
                    Some((times.mean()?, times.requests as f64))
                };
                self.one(metric, windows().filter_map(mean).collect())
            }
            Formula::Mounted if closed.clients.contains(self.file_system) => {
                self.one(metric, vec![(1.0, 1.0)])
            }
            Formula::ByOperation => self.by_operation(metric, &account.total),
            Formula::Mounted | Formula::Alive | Formula::Own(_) | Formula::OwnNow(_) | Formula::Later => {
                Vec::new()
            }
        }
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
        let data = traffic.by_operation.iter().map(|(operation, requests)| {
            let dimensions = self.dimensions(Some(operation));
            datum(metric, dimensions, self.minute, vec![(*requests as f64, 1.0)])
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
            "FileSystemId" => Some(self.file_system.to_string()),
            "Operation" => operation.map(str::to_owned),
            _ => None,
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
