//! Findings of many mounts, told once each.

use std::collections::HashMap;

use super::row::Row;
use crate::health::{Finding, KINDS, Severity};

/// One finding, and every mount that it is of.
pub struct Group<'r> {
    pub finding: &'r Finding,
    /// Indices of rows.
    pub mounts: Vec<usize>,
}

/// The findings that `is_told`, the gravest first.
pub fn groups<'r>(rows: &'r [Row<'_>], is_told: impl Fn(&Finding) -> bool) -> Vec<Group<'r>> {
    let mut groups: Vec<Group<'r>> = Vec::new();
    let mut place: HashMap<(&str, &str), usize> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        for finding in row.findings.iter().filter(|finding| is_told(finding)) {
            // Three hundred proxies of a zone that is down have waited for as many times: the first's stands for all.
            let text = if finding.code == "stalled" { "" } else { &*finding.text };
            let at = *place.entry((finding.code, text)).or_insert_with(|| {
                groups.push(Group { finding, mounts: Vec::new() });
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(at) {
                group.mounts.push(index);
            }
        }
    }
    // The kinds stand in the order of their severity.
    groups.sort_by_key(|group| KINDS.iter().position(|kind| kind.code == group.finding.code));
    groups
}

/// Whether it is told without being asked for: what is to be changed, and why a mount is not published.
pub fn is_told(finding: &Finding) -> bool {
    finding.severity > Severity::Info || matches!(finding.code, "not_efs" | "s3_files")
}
