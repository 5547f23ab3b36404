//! The bytes of the spool's files; the format is described in [`crate::spool`].

use std::time::Duration;

use crate::batch::MAX_DATA;
use crate::model::{Batch, Datum, Minute};

const REQUEST: &str = "efsmon-request/1";
const COUNTERS: &str = "efsmon-counters/1";

/// What a file turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Content<T> {
    Intact(T),
    /// Written by an efsmon with another format; it can still be read by that one.
    OtherVersion,
    /// Torn or altered: its checksum is wrong.
    Damaged,
}

/// The first line of a request file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub owner: String,
    pub oldest: Minute,
    pub newest: Minute,
    pub data: u32,
    pub needs_host: bool,
    pub namespace: String,
}

/// The file of counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    pub owner: String,
    /// The commit that these counters belong to.
    pub number: u64,
    /// How many request files were committed with them.
    pub parts: u32,
    /// The daemon's own.
    pub blob: Vec<u8>,
}

/// A request file for a batch that has data.
pub fn encode_request(owner: &str, batch: &Batch) -> serde_json::Result<(Head, Vec<u8>)> {
    let minutes = || batch.data.iter().map(|datum| datum.timestamp);
    let head = Head {
        owner: owner.to_owned(),
        oldest: minutes().min().unwrap_or(Minute::of(Duration::ZERO)),
        newest: minutes().max().unwrap_or(Minute::of(Duration::ZERO)),
        data: u32::try_from(batch.data.len()).unwrap_or(u32::MAX),
        needs_host: batch.data.iter().any(Datum::needs_host),
        namespace: batch.namespace.clone(),
    };
    let host = if head.needs_host { "host" } else { "-" };
    let (oldest, newest) = (head.oldest.seconds(), head.newest.seconds());
    let line = format!("{owner} {oldest} {newest} {} {host} {}\n", head.data, head.namespace);
    let body = serde_json::to_vec(batch)?;
    Ok((head, seal(REQUEST, line, &body)))
}

/// The head of a request file whose checksum is right.
pub fn request_head(file: &[u8]) -> Content<Head> {
    unseal(REQUEST, file, |line, _| {
        let mut fields = line.splitn(6, ' ');
        Some(Head {
            owner: fields.next()?.to_owned(),
            oldest: minute(fields.next()?)?,
            newest: minute(fields.next()?)?,
            data: fields.next()?.parse().ok()?,
            needs_host: fields.next()? == "host",
            namespace: fields.next()?.to_owned(),
        })
    })
}

/// How many data were in a damaged request file: what its head says, if it can be read and is not beyond what a request
/// can hold, else one.
pub fn damaged_data(file: &[u8]) -> u32 {
    let line = file.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
    // The kind, the checksum, the owner and two minutes come before.
    let data =
        line.filter(|line| line.starts_with(REQUEST)).and_then(|line| line.split(' ').nth(5)?.parse().ok());
    data.filter(|data| (1..=MAX_DATA as u32).contains(data)).unwrap_or(1)
}

/// The batch in a request file.
pub fn request_batch(file: &[u8]) -> Content<Batch> {
    unseal(REQUEST, file, |_, body| serde_json::from_slice(body).ok())
}

/// The file of [`Counters`]; `blob` may be large and is copied once.
pub fn encode_counters(owner: &str, number: u64, parts: u32, blob: &[u8]) -> Vec<u8> {
    seal(COUNTERS, format!("{owner} {number} {parts}\n"), blob)
}

/// Reads what [`encode_counters`] wrote.
pub fn decode_counters(file: &[u8]) -> Content<Counters> {
    unseal(COUNTERS, file, |line, body| {
        let mut fields = line.splitn(3, ' ');
        Some(Counters {
            owner: fields.next()?.to_owned(),
            number: fields.next()?.parse().ok()?,
            parts: fields.next()?.parse().ok()?,
            blob: body.to_owned(),
        })
    })
}

fn seal(kind: &str, line: String, body: &[u8]) -> Vec<u8> {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(line.as_bytes());
    checksum.update(body);
    let head = format!("{kind} {:08x} {line}", checksum.finalize());
    [head.as_bytes(), body].concat()
}

fn unseal<T>(kind: &str, file: &[u8], parse: impl FnOnce(&str, &[u8]) -> Option<T>) -> Content<T> {
    let Some(sealed) = file.strip_prefix(kind.as_bytes()).and_then(|rest| rest.strip_prefix(b" ")) else {
        let family = kind.trim_end_matches(|c: char| c.is_ascii_digit());
        let version = file.strip_prefix(family.as_bytes()).unwrap_or_default();
        let digits = version.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Without the space after it the version may be torn as well.
        let complete = digits > 0 && version.get(digits) == Some(&b' ');
        return if complete { Content::OtherVersion } else { Content::Damaged };
    };
    let open = || {
        let (checksum, rest) = sealed.split_at_checked(9)?;
        let checksum = std::str::from_utf8(checksum.strip_suffix(b" ")?).ok()?;
        if u32::from_str_radix(checksum, 16).ok()? != crc32fast::hash(rest) {
            return None;
        }
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, body) = rest.split_at_checked(end)?;
        parse(std::str::from_utf8(line).ok()?, body.get(1..)?)
    };
    open().map_or(Content::Damaged, Content::Intact)
}

fn minute(text: &str) -> Option<Minute> {
    let seconds = text.parse().ok().filter(|seconds| seconds % 60 == 0)?;
    Some(Minute::of(Duration::from_secs(seconds)))
}
