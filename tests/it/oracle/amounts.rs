//! Amounts by name, their differences, and their parts.

use std::collections::BTreeMap;

use super::host::{Counters, Numbers};

/// Whose (a kind of operation, `payload`, or `requests of`) and what; none of them is 0.
pub type Amounts = BTreeMap<(&'static str, &'static str), u64>;

const SESSION: &str = " NULL SETCLIENTID SETCLIENTID_CONFIRM RENEW EXCHANGE_ID CREATE_SESSION DESTROY_SESSION \
                       SEQUENCE GET_LEASE_TIME RECLAIM_COMPLETE BIND_CONN_TO_SESSION DESTROY_CLIENTID ";

fn kind(operation: &str) -> Option<&'static str> {
    match operation {
        "READ" => Some("read"),
        "WRITE" => Some("write"),
        "COMMIT" => Some("commit"),
        _ if SESSION.contains(&format!(" {operation} ")) => None,
        _ => Some("metadata"),
    }
}

fn put(amounts: &mut Amounts, key: (&'static str, &'static str), amount: u64) {
    if amount > 0 {
        *amounts.entry(key).or_default() += amount;
    }
}

pub fn add(amounts: &mut Amounts, more: &Amounts) {
    for (key, amount) in more {
        put(amounts, *key, *amount);
    }
}

pub fn get(amounts: &Amounts, whose: &'static str, what: &'static str) -> u64 {
    amounts.get(&(whose, what)).copied().unwrap_or(0)
}

/// What was counted meanwhile; `None` when a counter of the mount's own fell.
pub fn difference(now: &Counters, before: &Counters, counts_errors: bool) -> Option<Amounts> {
    let mut amounts = Amounts::new();
    let unused = Numbers::default();
    for (operation, n) in &now.operations {
        let Some(kind) = kind(operation) else { continue };
        let b = before.of(operation).unwrap_or(&unused);
        let requests = n.requests.checked_sub(b.requests)?;
        let transmissions = n.transmissions.checked_sub(b.transmissions)?;
        put(&mut amounts, (kind, "requests"), requests);
        put(&mut amounts, ("requests of", operation), requests);
        put(&mut amounts, (kind, "again"), transmissions.saturating_sub(requests));
        put(&mut amounts, (kind, "timeouts"), n.timeouts.checked_sub(b.timeouts)?);
        put(&mut amounts, (kind, "sent"), n.sent.checked_sub(b.sent)?);
        put(&mut amounts, (kind, "received"), n.received.checked_sub(b.received)?);
        let errors = n.errors.checked_sub(b.errors)?;
        put(&mut amounts, (kind, "errors"), if counts_errors { errors } else { 0 });
        let times = [
            ("queue", "queue requests", n.queue - b.queue),
            ("rtt", "rtt requests", n.rtt - b.rtt),
            ("execute", "execute requests", n.execute - b.execute),
        ];
        for (name, of, ms) in times {
            if let Ok(ms) = u64::try_from(ms) {
                put(&mut amounts, (kind, name), ms);
                put(&mut amounts, (kind, of), requests);
            }
        }
    }
    put(&mut amounts, ("payload", "read"), now.payload_read.checked_sub(before.payload_read)?);
    put(&mut amounts, ("payload", "written"), now.payload_written.checked_sub(before.payload_written)?);
    Some(amounts)
}

/// A whole number in proportion: each part its whole share, and one more for the largest remainders.
pub fn shares(whole: u64, weights: &[i128]) -> Vec<u64> {
    let all: i128 = weights.iter().sum();
    if all == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: &i128| i128::from(whole) * weight;
    let mut parts: Vec<i128> = weights.iter().map(|weight| exact(weight) / all).collect();
    let left = i128::from(whole) - parts.iter().sum::<i128>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|place| (-(exact(&weights[*place]) % all), *place));
    for place in order.into_iter().take(usize::try_from(left).unwrap()) {
        parts[place] += 1;
    }
    parts.into_iter().map(|part| u64::try_from(part).unwrap()).collect()
}

pub fn split(amounts: &Amounts, weights: &[i128]) -> Vec<Amounts> {
    let mut parts = vec![Amounts::new(); weights.len()];
    for (key, amount) in amounts {
        for (part, share) in parts.iter_mut().zip(shares(*amount, weights)) {
            put(part, *key, share);
        }
    }
    parts
}
