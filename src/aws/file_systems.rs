//! File systems with their mode and size: DescribeFileSystems (EFS API reference).

use std::collections::BTreeSet;

use aws_sdk_efs::Client;
use aws_sdk_efs::types::{FileSystemDescription, LifeCycleState, PerformanceMode};

use super::Session;
use super::call::{CallError, call_error};
use super::efs::{MAX_PAGES, PAGE};
use crate::credits::{FileSystem, ThroughputMode};
use crate::model::FileSystemId;

const ACTION: &str = "elasticfilesystem:DescribeFileSystems";

/// Those that are asked for, in that order and each once, or every one of the account in the Region, in EFS's order.
///
/// # Errors
///
/// The first request that fails; one of those asked for that is not there.
pub async fn file_systems(session: &Session, only: &[FileSystemId]) -> Result<Vec<FileSystem>, CallError> {
    let client = Client::new(&session.config);
    let mut found = Vec::new();
    if only.is_empty() {
        let mut marker: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = client.describe_file_systems().max_items(PAGE).set_marker(marker.take()).send().await;
            let page = page.map_err(|error| call_error(ACTION, "*", &error))?;
            if page.file_systems.is_none() {
                // EFS says an empty list. Taken for one, all alarms would be of file systems that are gone.
                return Err(CallError::stranger(ACTION));
            }
            found.extend(page.file_systems().iter().filter_map(file_system));
            match page.next_marker() {
                Some(next) => marker = Some(next.to_owned()),
                None => return Ok(found),
            }
        }
        return Err(CallError::endless(ACTION));
    }
    let mut seen = BTreeSet::new();
    for id in only.iter().filter(|id| seen.insert(*id)) {
        let answer = client.describe_file_systems().file_system_id(id.as_str()).send().await;
        let resource = session.place().file_system(id.as_str());
        let answer = answer.map_err(|error| call_error(ACTION, &resource, &error))?;
        let described = answer.file_systems().iter().filter_map(file_system);
        let Some(described) = described.into_iter().find(|described| described.id == *id) else {
            let message = "EFS does not know it".to_owned();
            return Err(CallError::NotFound { action: ACTION, resource, message });
        };
        found.push(described);
    }
    Ok(found)
}

/// None of one that is going.
fn file_system(found: &FileSystemDescription) -> Option<FileSystem> {
    if [LifeCycleState::Deleting, LifeCycleState::Deleted].contains(found.life_cycle_state()) {
        return None;
    }
    let bytes = |bytes: Option<i64>| bytes.and_then(|bytes| u64::try_from(bytes).ok());
    let size = found.size_in_bytes();
    let (infrequent, archive) = (size.and_then(|s| s.value_in_ia()), size.and_then(|s| s.value_in_archive()));
    let (infrequent_bytes, archive_bytes) = (bytes(infrequent).unwrap_or(0), bytes(archive).unwrap_or(0));
    let total = bytes(size.map(|size| size.value())).unwrap_or(0);
    let rest = total.saturating_sub(infrequent_bytes).saturating_sub(archive_bytes);
    let standard_bytes = bytes(size.and_then(|size| size.value_in_standard())).unwrap_or(rest);
    Some(FileSystem {
        id: found.file_system_id().parse().ok()?,
        name: found.name().filter(|name| !name.is_empty()).map(str::to_owned),
        mode: mode(found),
        general_purpose: *found.performance_mode() == PerformanceMode::GeneralPurpose,
        standard_bytes,
        infrequent_bytes,
        archive_bytes,
        zone: found.availability_zone_name().map(str::to_owned),
    })
}

/// EFS takes a missing one for bursting (CreateFileSystem).
fn mode(found: &FileSystemDescription) -> ThroughputMode {
    match found.throughput_mode().map(aws_sdk_efs::types::ThroughputMode::as_str) {
        None | Some("bursting") => ThroughputMode::Bursting,
        Some("elastic") => ThroughputMode::Elastic,
        Some("provisioned") => {
            ThroughputMode::Provisioned { mibps: found.provisioned_throughput_in_mibps().unwrap_or(0.0) }
        }
        Some(other) => ThroughputMode::Other(other.to_owned()),
    }
}
