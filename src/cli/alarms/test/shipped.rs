//! The test files that efsmon brings along: at least one for each of its alarms.

macro_rules! files {
    ($($name:literal)+) => {
        &[$((
            concat!("dashboards/alarms/tests/", $name, ".toml"),
            include_str!(concat!("../../../../dashboards/alarms/tests/", $name, ".toml")),
        )),+]
    };
}

/// Name and text of each.
pub const FILES: &[(&str, &str)] = files! {
    "client-latency-gaps"
    "client-latency-late"
    "client-latency"
    "credits-any-hover"
    "credits-any-late"
    "credits-any-none"
    "credits-any"
    "credits-depletion-page-batch"
    "credits-depletion-page-floor"
    "credits-depletion-page-gaps"
    "credits-depletion-page-late"
    "credits-depletion-page-provisioned"
    "credits-depletion-page-slow"
    "credits-depletion-page"
    "credits-depletion-ticket-batch"
    "credits-depletion-ticket-elastic"
    "credits-depletion-ticket-floor"
    "credits-depletion-ticket-late"
    "credits-depletion-ticket-provisioned"
    "credits-depletion-ticket-slow"
    "credits-depletion-ticket"
    "credits-low-batch"
    "credits-low-gaps"
    "credits-low-hover"
    "credits-low-large"
    "credits-low-late"
    "credits-low-provisioned"
    "credits-low"
    "mount-stalled-gaps"
    "mount-stalled-late"
    "mount-stalled"
    "percent-io-limit-late"
    "percent-io-limit-max-io"
    "percent-io-limit"
    "publisher-silent-no-clients"
    "publisher-silent-one-of-many"
    "publisher-silent-restart"
    "publisher-silent"
    "throughput-utilisation-late"
    "throughput-utilisation-provisioned"
    "throughput-utilisation"
};

/// The one that explains the format.
pub const EXAMPLE: &str = include_str!("../../../../dashboards/alarms/tests/credits-low.toml");
