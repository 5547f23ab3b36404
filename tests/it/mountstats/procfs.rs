//! A second opinion: the `procfs` crate reads the same numbers in the texts that it reads right.

use efsmon::mountstats::parse;
use procfs::FromRead;
use procfs::process::{MountNFSStatistics, MountStats};

use super::{names, numbers_of, text};

/// What the crate refuses or misreads: 25 events, octal escapes, `no device`, empty lines in an impl_id, damaged
/// records (all or nothing), lines that are left out, forged records, and texts that are no mountstats.
const NOT_READ_RIGHT: [&str; 14] = [
    "04_nfs3_statvers10_25events",
    "10_octal_escapes",
    "11_device_line_oddities",
    "21_impl_id_blank_line",
    "30_bad_number_in_bytes",
    "31_short_op_line",
    "32_number_over_u64",
    "33_truncated_in_ops",
    "34_truncated_before_bytes",
    "38_missing_sec_line",
    "39_crlf_file",
    "40_garbage_bytes",
    "44_long_path_3600",
    "49_impl_id_hostile_full",
];
/// Read by both, but what it means is left open: an operation that comes twice.
const OPEN: &str = "46_duplicate_op_line";

#[test]
fn the_procfs_crate_reads_the_same() {
    let names = names();
    assert!(NOT_READ_RIGHT.iter().all(|name| names.contains(*name)));
    let mut compared = 0;
    for name in names.iter().filter(|name| !NOT_READ_RIGHT.contains(&name.as_str()) && *name != OPEN) {
        let text = text(name);
        let ours = parse(&text);
        let theirs = MountStats::from_read(text.as_slice()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ours.records.len(), theirs.0.len(), "{name}");
        for (ours, theirs) in ours.records.iter().zip(&theirs.0) {
            assert_eq!(ours.device, theirs.device.as_deref().map(str::as_bytes), "{name}");
            assert_eq!(ours.mount_point, theirs.mount_point.as_os_str().as_encoded_bytes(), "{name}");
            assert_eq!(ours.fs_type, theirs.fs.as_bytes(), "{name}");
            assert_eq!(ours.statistics.is_some(), theirs.statistics.is_some(), "{name}");
            if let (Some(ours), Some(theirs)) = (&ours.statistics, &theirs.statistics) {
                assert_same(name, ours, theirs);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 42, "NFS mounts that the expectations of these texts have");
}

fn assert_same(name: &str, ours: &efsmon::mountstats::Statistics, theirs: &MountNFSStatistics) {
    assert_eq!(ours.version, theirs.version.as_bytes(), "{name}");
    assert_eq!(ours.options, theirs.opts.join(",").as_bytes(), "{name}");
    assert_eq!(ours.age_seconds, theirs.age.as_secs(), "{name}");
    assert_eq!(ours.caps.unwrap(), theirs.caps.join(",").as_bytes(), "{name}");
    assert_eq!(ours.sec.unwrap(), theirs.sec.join(",").as_bytes(), "{name}");
    let (b, e) = (&theirs.bytes, &theirs.events);
    let bytes = [b.normal_read, b.normal_write, b.direct_read, b.direct_write, b.server_read, b.server_write];
    assert_eq!(ours.bytes[..6], bytes, "{name}");
    assert_eq!(ours.bytes[6..], [b.pages_read, b.pages_write], "{name}");
    let events = [e.inode_revalidate, e.dentry_revalidate, e.data_invalidate, e.attr_invalidate, e.vfs_open];
    assert_eq!(ours.events[..5], events, "{name}");
    assert_eq!(ours.events[24..], [e.delay, e.pnfs_read, e.pnfs_write], "{name}");
    assert_eq!(ours.operations.len(), theirs.per_op_stats.len(), "{name}");
    for operation in &ours.operations {
        let operation_name = str::from_utf8(operation.name).unwrap();
        let theirs = &theirs.per_op_stats[operation_name];
        let [queue, rtt, execute] = [theirs.cum_queue_time, theirs.cum_resp_time, theirs.cum_total_req_time]
            .map(|time| u64::try_from(time.as_millis()).unwrap());
        let counts = [theirs.operations, theirs.transmissions, theirs.major_timeouts];
        let bytes = [theirs.bytes_sent, theirs.bytes_recv];
        let theirs: Vec<u64> = counts.into_iter().chain(bytes).chain([queue, rtt, execute]).collect();
        assert_eq!(numbers_of(&operation)[..8], theirs, "{name}: {operation_name}");
    }
}
