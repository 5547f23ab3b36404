//! Data become requests that CloudWatch takes (CloudWatch API reference, PutMetricData and MetricDatum). Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::catalog::foreign_namespace;
use crate::model::{Batch, Datum, Dimension};

/// Data in one request: CloudWatch's limit.
pub const MAX_DATA: usize = 1000;
/// Bytes of one request before compression; CloudWatch's limit is 1 MB.
pub const MAX_BYTES: usize = 900_000;
const MAX_VALUES: usize = 150;
const MAX_DIMENSIONS: usize = 30;
const MAX_DIMENSION_VALUE: usize = 1024;
/// Values are refused outside of these: 2 to the power of -360 and of 360.
const SMALLEST: f64 = 4.257959840008151e-109;
const LARGEST: f64 = 2.3485425827738332e+108;

/// Requests, and what of the data cannot be said to CloudWatch.
#[derive(Debug, Default)]
pub struct Split {
    /// Each within CloudWatch's limits; one namespace each, data that wait for the host's id apart from those that do not.
    pub batches: Vec<Batch>,
    /// Values that are left out: no finite number, larger than CloudWatch takes, or of a datum that has a blank
    /// dimension value or more dimensions than CloudWatch takes. Without the dimension it would be another series.
    pub unfit_values: u64,
}

/// Splits data into requests. Metrics that have a namespace of their own (see [`foreign_namespace`]) go there.
pub fn split(namespace: &str, data: Vec<Datum>) -> Split {
    let mut split = Split::default();
    let mut open: BTreeMap<(&str, bool), (Batch, usize)> = BTreeMap::new();
    for datum in data.into_iter().flat_map(|datum| fit(datum, &mut split.unfit_values)) {
        let size = size(&datum);
        let namespace = foreign_namespace(&datum.metric).unwrap_or(namespace);
        let slot = open.entry((namespace, datum.needs_host()));
        let (batch, bytes) =
            slot.or_insert_with(|| (Batch { namespace: namespace.to_owned(), data: Vec::new() }, 0));
        if batch.data.len() >= MAX_DATA || *bytes + size > MAX_BYTES {
            let namespace = namespace.to_owned();
            split.batches.push(std::mem::replace(batch, Batch { namespace, data: Vec::new() }));
            *bytes = 0;
        }
        batch.data.push(datum);
        *bytes += size;
    }
    split.batches.extend(open.into_values().map(|(batch, _)| batch));
    split
}

/// The most bytes that a datum takes in a request, before compression: names, 9 bytes a number, and what
/// CBOR writes around them.
pub fn size(datum: &Datum) -> usize {
    // A host's id that is still to come may be as long as a value can be.
    let value = |value: &Option<String>| value.as_ref().map_or(MAX_DIMENSION_VALUE, String::len);
    let dimension = |d: &Dimension| d.name.len() + value(&d.value) + 24;
    let dimensions: usize = datum.dimensions.iter().map(dimension).sum();
    128 + datum.metric.len() + dimensions + 9 * (datum.values.len() + datum.counts.len())
}

/// The datum as CloudWatch takes it: in parts when it has many values, not at all when it has none left or is not fit.
fn fit(mut datum: Datum, unfit: &mut u64) -> Vec<Datum> {
    if datum.dimensions.len() > MAX_DIMENSIONS || !datum.dimensions.iter_mut().all(fit_dimension) {
        *unfit += datum.values.len() as u64;
        return Vec::new();
    }
    let pairs = datum.values.iter().copied().zip(datum.counts.iter().copied());
    let mut values = Vec::with_capacity(datum.values.len());
    for (value, count) in pairs {
        match fit_value(value) {
            Some(value) if count.is_finite() && count > 0.0 => values.push((value, count)),
            _ => *unfit += 1,
        }
    }
    let part = |values: &[(f64, f64)]| {
        let (values, counts) = values.iter().copied().unzip();
        Datum { values, counts, ..datum.clone() }
    };
    values.chunks(MAX_VALUES).map(part).collect()
}

fn fit_value(value: f64) -> Option<f64> {
    match value.abs() {
        size if size.is_nan() || size > LARGEST => None,
        size if size < SMALLEST => Some(0.0),
        _ => Some(value),
    }
}

/// Makes a dimension value one that CloudWatch takes: printable ASCII, at most 1024 characters. False when it is blank.
fn fit_dimension(dimension: &mut Dimension) -> bool {
    let Some(value) = &mut dimension.value else { return true };
    if let Cow::Owned(fit) = fit_text(value) {
        *value = fit;
    }
    !value.trim().is_empty()
}

/// A text as a dimension value: bytes that are not printable ASCII as `\xNN`; a longer one is cut and ends
/// with a checksum of the whole, so that two of them stay two.
pub fn fit_text(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| matches!(byte, b' '..=b'~');
    if text.len() <= MAX_DIMENSION_VALUE && text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut fit = String::with_capacity(text.len());
    for byte in text.bytes() {
        match plain(byte) {
            true => fit.push(char::from(byte)),
            false => fit.push_str(&format!("\\x{byte:02x}")),
        }
    }
    if fit.len() > MAX_DIMENSION_VALUE {
        let checksum = format!("~{:08x}", crc32fast::hash(text.as_bytes()));
        fit.truncate(MAX_DIMENSION_VALUE - checksum.len());
        fit.push_str(&checksum);
    }
    Cow::Owned(fit)
}

#[cfg(test)]
mod tests;
