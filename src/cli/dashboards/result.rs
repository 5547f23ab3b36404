//! What became of each dashboard that was to be applied.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::comparison::Comparison;
use crate::aws::dashboards::Remark;
use crate::cost::prices::{AS_OF, FREE_DASHBOARD_METRICS, FREE_DASHBOARDS, PAGE, REGION, Usd};
use crate::names::printable;
use crate::provision::Target;
use crate::provision::found::place_of;
use crate::provision::plan::Change;

/// What CloudWatch said about a place in a body.
pub struct Placed {
    /// Which widget, as `widget 4 (Throughput), properties/metrics/0: `; empty: the whole.
    pub place: String,
    pub message: String,
}

/// What became of a change.
pub struct Outcome {
    /// Why it was not made.
    pub error: Option<String>,
    /// Errors with an error, warnings without.
    pub remarks: Vec<Placed>,
}

impl Outcome {
    /// It was made; with warnings about the body, maybe.
    pub fn done(body: &Value, remarks: &[Remark]) -> Outcome {
        Outcome { error: None, remarks: placed(body, remarks) }
    }

    /// CloudWatch does not take the body.
    pub fn refused(body: &Value, remarks: &[Remark]) -> Outcome {
        let error = Some("CloudWatch does not take this body; what is wrong in its template:".to_owned());
        Outcome { error, remarks: placed(body, remarks) }
    }

    /// The request failed.
    pub fn failed(error: String) -> Outcome {
        Outcome { error: Some(error), remarks: Vec::new() }
    }
}

fn placed(body: &Value, remarks: &[Remark]) -> Vec<Placed> {
    let placed = |remark: &Remark| Placed {
        place: place_of(body, &remark.path),
        message: printable(remark.message.replace('\n', " ").as_bytes()),
    };
    remarks.iter().map(placed).collect()
}

/// What is to be done with a dashboard, and what became of it.
struct Row {
    /// `create`, `update`, `keep`, `refuse`, `delete`, `unknown`.
    change: &'static str,
    /// None: nothing was done yet, or nothing is to be done.
    outcome: Option<Outcome>,
}

/// All of them, by name.
pub struct Results {
    rows: BTreeMap<String, Row>,
    dry_run: bool,
}

impl Results {
    /// Before anything is done.
    pub fn new(comparison: &Comparison, prune: bool, dry_run: bool) -> Results {
        let Comparison { plan, unread, .. } = comparison;
        let mut rows = BTreeMap::new();
        for step in &plan.steps {
            let outcome = match &step.change {
                Change::Refuse { reason, .. } => Some(Outcome::failed(reason.clone())),
                _ => None,
            };
            rows.insert(step.name.clone(), Row { change: step.change.name(), outcome });
        }
        for name in plan.leftover.iter().filter(|_| prune) {
            rows.insert(name.clone(), Row { change: "delete", outcome: None });
        }
        for (name, error) in unread {
            let outcome = Some(Outcome::failed(error.to_string()));
            rows.insert(name.clone(), Row { change: "unknown", outcome });
        }
        Results { rows, dry_run }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many changes are still to be made.
    pub fn open(&self) -> usize {
        self.rows.values().filter(|row| row.change != "keep" && row.outcome.is_none()).count()
    }

    /// How many are not as they should be and cannot be made so.
    pub fn failed(&self) -> usize {
        let has_failed = |row: &&Row| row.outcome.as_ref().is_some_and(|outcome| outcome.error.is_some());
        self.rows.values().filter(has_failed).count()
    }

    pub fn set(&mut self, name: &str, outcome: Outcome) {
        if let Some(row) = self.rows.get_mut(name) {
            row.outcome = Some(outcome);
        }
    }

    /// The report for programs; keys may be added, none changes or goes. `usd`: what the new ones cost in a month.
    pub fn json(&self, target: &Target, usd: Usd) -> Value {
        let remark = |placed: &Placed| json!({ "place": placed.place, "message": placed.message });
        let row = |(name, row): (&String, &Row)| {
            let outcome = row.outcome.as_ref();
            json!({
                "name": name,
                "change": row.change,
                "done": outcome.is_some_and(|outcome| outcome.error.is_none()),
                "error": outcome.and_then(|outcome| outcome.error.as_deref()),
                "remarks": outcome.map(|o| o.remarks.iter().map(remark).collect()).unwrap_or(Vec::new()),
            })
        };
        json!({
            "region": target.region,
            "owner": target.owner.to_string(),
            "dry_run": self.dry_run,
            "dashboards": self.rows.iter().map(row).collect::<Vec<_>>(),
            "new_usd_per_month": usd.dollars(),
            "prices": {
                "currency": "USD",
                "page": PAGE,
                "as_of": AS_OF,
                "region": REGION,
                "free_dashboards_not_deducted": FREE_DASHBOARDS,
                "free_dashboard_metrics": FREE_DASHBOARD_METRICS,
            },
        })
    }
}
