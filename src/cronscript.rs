//! Scripts that cron runs, and that publish nfsiostat's figures by `aws cloudwatch put-metric-data`: what efsmon
//! replaces. Texts of crontabs and of scripts go in; what they run, what they publish and what is wrong with them come
//! out. Pure; nothing here fails.

pub mod crontab;
mod defects;
mod published;
pub mod words;

pub use defects::Defect;
pub use published::{Put, Script};

/// The program whose figures are published, and what publishes them: a script that has both is meant, whatever its
/// name is.
const READS: &str = "nfsiostat";
const PUBLISHES: &str = "put-metric-data";

/// The same file name with `metrics` for `metrcis`, or the other way round. The published copy has a slip of the pen:
/// its file is called otherwise than its cron entry.
pub fn other_spelling(path: &str) -> Option<String> {
    let (directory, name) = path.rsplit_once('/').map_or(("", path), |(directory, name)| (directory, name));
    let respelt = match (name.contains("metrics"), name.contains("metrcis")) {
        (true, _) => name.replace("metrics", "metrcis"),
        (_, true) => name.replace("metrcis", "metrics"),
        _ => return None,
    };
    Some(match path.contains('/') {
        true => format!("{directory}/{respelt}"),
        false => respelt,
    })
}

/// Whether a file that is not there would be such a script, by its name alone.
pub fn is_named_so(path: &str) -> bool {
    let name = words::base_name(path).to_lowercase();
    ["efs", "nfs"].iter().any(|what| name.contains(what))
        && ["metrics", "metrcis", "throughput", "cloudwatch"].iter().any(|what| name.contains(what))
}

#[cfg(test)]
mod tests;
