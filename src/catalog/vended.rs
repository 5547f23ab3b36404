//! The metrics that EFS itself publishes, in the namespace `AWS/EFS` (EFS User Guide, "Amazon CloudWatch metrics for
//! Amazon EFS"): what a template or an alarm may ask for, and how.

/// Their namespace.
pub const NAMESPACE: &str = "AWS/EFS";

/// One of EFS's own metrics.
#[derive(Debug, PartialEq, Eq)]
pub struct Vended {
    pub name: &'static str,
    pub unit: &'static str,
    /// The names of its dimensions; it exists with exactly these.
    pub dimensions: &'static [&'static str],
    /// The statistics that mean something.
    pub statistics: &'static [&'static str],
    /// How often it gets a value, in seconds: a shorter period has holes.
    pub period: u32,
}

/// The storage classes of `StorageBytes`.
pub const STORAGE_CLASSES: [&str; 6] =
    ["Total", "Standard", "IA", "IASizeOverhead", "Archive", "ArchiveSizeOverhead"];

const FILE_SYSTEM: &[&str] = &["FileSystemId"];
const LEVEL: &[&str] = &["Minimum", "Maximum", "Average"];
const FLOW: &[&str] = &["Sum", "Minimum", "Maximum", "Average", "SampleCount"];

macro_rules! vended {
    ($name:literal, $unit:literal, $dimensions:expr, $statistics:expr, $period:literal) => {
        Vended { name: $name, unit: $unit, dimensions: $dimensions, statistics: $statistics, period: $period }
    };
}

/// All that are known.
#[rustfmt::skip]
pub const VENDED: &[Vended] = &[
    vended!("BurstCreditBalance", "Bytes", FILE_SYSTEM, LEVEL, 60),
    vended!("PermittedThroughput", "Bytes/Second", FILE_SYSTEM, LEVEL, 60),
    vended!("MeteredIOBytes", "Bytes", FILE_SYSTEM, FLOW, 60),
    vended!("TotalIOBytes", "Bytes", FILE_SYSTEM, FLOW, 60),
    vended!("DataReadIOBytes", "Bytes", FILE_SYSTEM, FLOW, 60),
    vended!("DataWriteIOBytes", "Bytes", FILE_SYSTEM, FLOW, 60),
    vended!("MetadataIOBytes", "Bytes", FILE_SYSTEM, FLOW, 60),
    vended!("MetadataReadIOBytes", "Bytes", FILE_SYSTEM, FLOW, 60),
    vended!("MetadataWriteIOBytes", "Bytes", FILE_SYSTEM, FLOW, 60),
    vended!("PercentIOLimit", "Percent", FILE_SYSTEM, LEVEL, 60),
    vended!("ClientConnections", "Count", FILE_SYSTEM, &["Sum"], 60),
    vended!("StorageBytes", "Bytes", &["StorageClass", "FileSystemId"], LEVEL, 900),
    vended!("TimeSinceLastSync", "Seconds", &["FileSystemId", "DestinationFileSystemId"], LEVEL, 60),
];

/// The metric of that name.
pub fn vended(name: &str) -> Option<&'static Vended> {
    VENDED.iter().find(|metric| metric.name == name)
}
