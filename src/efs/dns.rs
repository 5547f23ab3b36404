//! Names of mount targets, and what they tell.

use super::Identity;

/// Domains that EFS mount targets' names end with, one for each partition of AWS (botocore,
/// `endpoints.json`, `dnsSuffix`).
const SUFFIXES: [&str; 7] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "c2s.ic.gov",
    "sc2s.sgov.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
];

/// What a mount target's DNS name tells: `[ZONE.]fs-ID.efs.REGION.SUFFIX` (EFS user guide, "Mounting on EC2 with a
/// DNS name"). ZONE is a zone's name, or its id where the file system is another account's.
pub fn from_dns_name(host: &str) -> Option<Identity> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let (zone, name) = match host.split_once('.')? {
        (id, _) if id.starts_with("fs-") => (None, host.as_str()),
        (zone, name) if is_label(zone) => (Some(zone.to_owned()), name),
        _ => return None,
    };
    let (id, rest) = name.split_once('.')?;
    let (region, suffix) = rest.strip_prefix("efs.")?.split_once('.')?;
    if !is_label(region) || !SUFFIXES.contains(&suffix) {
        return None;
    }
    Some(Identity {
        file_system: id.parse().ok()?,
        access_point: None,
        region: Some(region.to_owned()),
        zone,
        mount_target: Some(host),
    })
}

/// Whether a text can stand between two dots of such a name.
pub(super) fn is_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// Whether a zone is named by its id (`use1-az1`), which means the same zone in every account (EC2 user guide,
/// "Availability Zone IDs").
pub fn is_zone_id(zone: &str) -> bool {
    let number = zone.rsplit_once('-').and_then(|(_, last)| last.strip_prefix("az"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
