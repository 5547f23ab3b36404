//! Names that every host has, every Kubernetes node or every client of EFS: they tell nobody's secrets, and stay.

/// Parts of paths that say what kind of host it is, and nothing else. A part ends at `/` and at `.`, as the mount
/// helper's file names have a `.` for each `/`.
pub(super) const PATH_PARTS: &[&str] = &[
    // Linux
    "bin",
    "boot",
    "cgroup",
    "deleted",
    "dev",
    "etc",
    "fs",
    "home",
    "hugepages",
    "kernel",
    "lib",
    "lock",
    "log",
    "media",
    "mnt",
    "mount",
    "mounts",
    "mqueue",
    "net",
    "opt",
    "proc",
    "pts",
    "root",
    "run",
    "sbin",
    "security",
    "shm",
    "snap",
    "srv",
    "sys",
    "tmp",
    "user",
    "usr",
    "var",
    // Kubernetes and containers
    "aws",
    "com",
    "containerd",
    "containers",
    "crio",
    "csi",
    "docker",
    "ecs",
    "globalmount",
    "host",
    "io",
    "io~csi",
    "io~nfs",
    "k3s",
    "k8s",
    "kubelet",
    "kubernetes",
    "plugins",
    "pods",
    "pv",
    "rootfs",
    "volume-subpaths",
    "volumes",
    // amazon-efs-utils
    "amazon",
    "certificate",
    "efs",
    "efs-proxy",
    "efs-utils",
    "pem",
    "pid",
    "privateKey",
    "stunnel",
    "stunnel-config",
    "stunnel5",
];

/// Parts of host names that are everybody's: EFS names and the domains of AWS's partitions.
pub(super) const LABELS: &[&str] = &[
    "adc-e",
    "amazonaws",
    "c2s",
    "cloud",
    "cn",
    "com",
    "csp",
    "efs",
    "eu",
    "gov",
    "hci",
    "ic",
    "internal",
    "local",
    "localhost",
    "sc2s",
    "sgov",
    "uk",
];

/// The first two words of a region's name, `us-gov-east-1`.
const AREAS: &[&str] = &["af", "ap", "ca", "cn", "eu", "eusc", "il", "me", "mx", "sa", "us"];
const DIRECTIONS: &[&str] = &[
    "central",
    "de",
    "east",
    "gov",
    "iso",
    "isob",
    "isoe",
    "isof",
    "north",
    "northeast",
    "northwest",
    "south",
    "southeast",
    "southwest",
    "west",
];
/// The same in the ids of zones.
const SHORT_DIRECTIONS: &[&str] = &["c", "e", "ge", "gw", "n", "ne", "nw", "s", "se", "sw", "w"];

/// Five groups of hex digits (RFC 9562).
pub(super) fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(|group| {
        let is_hex = group.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex { group.len() } else { 0 }
    });
    groups.eq([8, 4, 4, 4, 12])
}

/// `us-east-1`, `us-gov-west-1`; a zone of one by name, `us-east-1a`, or by id, `use1-az2`.
pub(super) fn is_region_or_zone(text: &str) -> bool {
    let is_number =
        |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((area, number)) = text.split_once("-az") {
        let area = area.strip_suffix(|last: char| last.is_ascii_digit()).unwrap_or_default();
        let is_area = AREAS
            .iter()
            .any(|known| area.strip_prefix(known).is_some_and(|rest| SHORT_DIRECTIONS.contains(&rest)));
        return is_area && is_number(number);
    }
    let mut words = text.split('-');
    let last = words.next_back().unwrap_or_default();
    let number = last.strip_suffix(|zone: char| zone.is_ascii_lowercase()).unwrap_or(last);
    let mut directions = 0;
    let is_area = words.next().is_some_and(|area| AREAS.contains(&area));
    is_area
        && is_number(number)
        && words.all(|word| {
            directions += 1;
            DIRECTIONS.contains(&word)
        })
        && (1..=2).contains(&directions)
}
