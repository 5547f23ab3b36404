//! What went over the wire in a stretch of time: counters by kind of operation, that add up and can be
//! split over shorter stretches without losing one. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kinds of operation that efsmon tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// READ.
    Read,
    /// WRITE.
    Write,
    /// COMMIT: neither data nor metadata, but an operation.
    Commit,
    /// Everything else that a mount asks for, an operation that this version does not know too.
    Metadata,
    /// Upkeep of the session, shared by every mount of a server, and shown in each: nobody's traffic.
    Session,
}

impl Kind {
    /// The kind of an operation by the kernel's name for it (`fs/nfs/nfs4xdr.c`, nfs4_procedures;
    /// `fs/nfs/nfs3xdr.c`, nfs3_procedures).
    pub fn of(operation: &[u8]) -> Kind {
        match operation {
            b"READ" => Kind::Read,
            b"WRITE" => Kind::Write,
            b"COMMIT" => Kind::Commit,
            b"NULL"
            | b"SETCLIENTID"
            | b"SETCLIENTID_CONFIRM"
            | b"RENEW"
            | b"EXCHANGE_ID"
            | b"CREATE_SESSION"
            | b"DESTROY_SESSION"
            | b"SEQUENCE"
            | b"GET_LEASE_TIME"
            | b"RECLAIM_COMPLETE"
            | b"BIND_CONN_TO_SESSION"
            | b"DESTROY_CLIENTID" => Kind::Session,
            _ => Kind::Metadata,
        }
    }
}

/// A sum of times and the number of requests that it is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Milliseconds.
    pub ms: u64,
    /// Requests; fewer than the calls where the kernel's time went backwards and cannot be used.
    pub requests: u64,
}

impl Times {
    /// Milliseconds per request; `None` without requests.
    pub fn mean(self) -> Option<f64> {
        (self.requests > 0).then(|| self.ms as f64 / self.requests as f64)
    }
}

/// The calls of one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    pub requests: u64,
    /// Transmissions beyond the first of each request.
    pub retransmissions: u64,
    /// Major timeouts.
    pub timeouts: u64,
    /// Requests that ended with an error; 0 before Linux 5.3, which does not tell.
    pub errors: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// From a request's start to its last transmission.
    pub queue: Times,
    /// From the last transmission to the reply.
    pub rtt: Times,
    /// From a request's start to its end.
    pub execute: Times,
}

impl Calls {
    /// RPC bytes both ways, headers included: what nfsiostat's kB are made of.
    pub fn bytes(&self) -> u64 {
        self.bytes_sent.saturating_add(self.bytes_received)
    }

    /// Adds `other` to these.
    pub fn add(&mut self, other: &Calls) {
        for (mine, theirs) in self.numbers().into_iter().zip(other.clone().numbers()) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    fn numbers(&mut self) -> [&mut u64; 12] {
        [
            &mut self.requests,
            &mut self.retransmissions,
            &mut self.timeouts,
            &mut self.errors,
            &mut self.bytes_sent,
            &mut self.bytes_received,
            &mut self.queue.ms,
            &mut self.queue.requests,
            &mut self.rtt.ms,
            &mut self.rtt.requests,
            &mut self.execute.ms,
            &mut self.execute.requests,
        ]
    }
}

/// Everything that a mount, or all mounts of a file system, did in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    pub read: Calls,
    pub write: Calls,
    pub commit: Calls,
    pub metadata: Calls,
    /// Bytes of file data that READs brought, without headers.
    pub payload_read: u64,
    /// Bytes of file data that WRITEs took, without headers.
    pub payload_written: u64,
    /// Requests by the kernel's name of the operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_operation: BTreeMap<String, u64>,
}

impl Traffic {
    /// The calls of one kind; `None` for the session's, which are nobody's.
    pub fn calls_mut(&mut self, kind: Kind) -> Option<&mut Calls> {
        match kind {
            Kind::Read => Some(&mut self.read),
            Kind::Write => Some(&mut self.write),
            Kind::Commit => Some(&mut self.commit),
            Kind::Metadata => Some(&mut self.metadata),
            Kind::Session => None,
        }
    }

    /// The calls of every kind.
    pub fn all(&self) -> [&Calls; 4] {
        [&self.read, &self.write, &self.commit, &self.metadata]
    }

    /// Adds what `other` did.
    pub fn add(&mut self, other: &Traffic) {
        let Traffic { read, write, commit, metadata, payload_read, payload_written, by_operation } = other;
        self.read.add(read);
        self.write.add(write);
        self.commit.add(commit);
        self.metadata.add(metadata);
        self.payload_read = self.payload_read.saturating_add(*payload_read);
        self.payload_written = self.payload_written.saturating_add(*payload_written);
        for (name, requests) in by_operation {
            let sum = self.by_operation.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*requests);
        }
    }

    /// Splits every counter in proportion to `weights`; the parts add up to the whole exactly.
    pub fn split(&self, weights: &[u128]) -> Vec<Traffic> {
        let mut parts = vec![Traffic::default(); weights.len()];
        let mut whole = self.clone();
        for (index, number) in whole.numbers().into_iter().enumerate() {
            for (part, share) in parts.iter_mut().zip(shares(*number, weights)) {
                if let Some(number) = part.numbers().into_iter().nth(index) {
                    *number = share;
                }
            }
        }
        for (name, requests) in &self.by_operation {
            for (part, share) in parts.iter_mut().zip(shares(*requests, weights)) {
                if share > 0 {
                    part.by_operation.insert(name.clone(), share);
                }
            }
        }
        parts
    }

    fn numbers(&mut self) -> impl IntoIterator<Item = &mut u64> {
        let calls = [&mut self.read, &mut self.write, &mut self.commit, &mut self.metadata];
        let payload = [&mut self.payload_read, &mut self.payload_written];
        calls.into_iter().flat_map(Calls::numbers).chain(payload)
    }
}

/// `whole` cut in proportion to `weights` by largest remainder; of equal remainders the earlier part wins.
/// The shares add up to `whole`; without any weight they are all zero.
pub fn shares(whole: u64, weights: &[u128]) -> Vec<u64> {
    let total: u128 = weights.iter().sum();
    if total == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: u128| u128::from(whole) * weight;
    let mut shares: Vec<u64> = weights.iter().map(|weight| (exact(*weight) / total) as u64).collect();
    let missing = whole - shares.iter().sum::<u64>();
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder
        .sort_by_key(|part| std::cmp::Reverse(weights.get(*part).map(|weight| exact(*weight) % total)));
    for part in by_remainder.into_iter().take(missing as usize) {
        if let Some(share) = shares.get_mut(part) {
            *share += 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_the_largest_remainders_get_what_is_left() {
        assert_eq!(shares(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(shares(1, &[1, 1]), [1, 0]);
        assert_eq!(shares(100, &[7_000, 3_000]), [70, 30]);
        assert_eq!(shares(7, &[0, 5]), [0, 7]);
        assert_eq!(shares(5, &[2, 3, 5]), [1, 2, 2], "1.0, 1.5 and 2.5: of equal remainders the earlier");
        assert_eq!(shares(u64::MAX, &[1, 2]).iter().sum::<u64>(), u64::MAX);
        assert_eq!(shares(9, &[]), Vec::<u64>::new());
    }

    #[test]
    fn a_split_loses_nothing() {
        let mut whole = Traffic { payload_read: 11, ..Default::default() };
        whole.read = Calls { requests: 7, bytes_sent: 1001, ..Default::default() };
        whole.read.execute = Times { ms: 13, requests: 7 };
        whole.by_operation.insert("READ".into(), 7);
        let parts = whole.split(&[1, 2, 4]);
        assert_eq!(parts.iter().map(|part| part.read.requests).collect::<Vec<_>>(), [1, 2, 4]);
        let mut sum = Traffic::default();
        parts.iter().for_each(|part| sum.add(part));
        assert_eq!(sum, whole);
    }

    #[test]
    fn session_upkeep_is_nobodys_and_an_unknown_operation_is_the_mounts() {
        assert_eq!(Kind::of(b"SEQUENCE"), Kind::Session);
        assert_eq!(Kind::of(b"LOOKUP"), Kind::Metadata);
        assert_eq!(Kind::of(b"FROM_THE_FUTURE"), Kind::Metadata);
        assert_eq!(Kind::of(b"COMMIT"), Kind::Commit);
    }
}
