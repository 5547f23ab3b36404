//! Texts of a real kernel (Linux 6.1, Debian 12) with a server on the same machine.

use std::path::Path;

use efsmon::mountstats::{Parsed, Record, parse, unescape};

fn capture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/captures").join(name)).unwrap()
}

fn nfs<'p, 'a>(parsed: &'p Parsed<'a>) -> Vec<&'p Record<'a>> {
    assert_eq!((parsed.problems.as_slice(), parsed.unknown_lines, parsed.unknown_numbers), (&[][..], 0, 0));
    parsed.records.iter().filter(|record| record.statistics.is_some()).collect()
}

#[test]
fn odd_names_are_read_as_printed_and_unescape_to_what_was_mounted() {
    let text = capture("odd-names/end.mountstats");
    let parsed = parse(&text);
    assert_eq!(parsed.records.len(), 41);
    let nfs = nfs(&parsed);
    let found: Vec<_> = nfs
        .iter()
        .map(|record| {
            (
                record.line,
                unescape(record.device.unwrap()).into_owned(),
                unescape(record.mount_point).into_owned(),
            )
        })
        .collect();
    let server = "fs-0123456789abcdef0.efs.us-east-1.amazonaws.com:";
    let expected = [
        (33, "/", "/mnt/efs"),
        (117, "/dir", "/mnt/tab\tnl\nhash#back\\slash"),
        (199, "/sub dir", "/mnt/subdir"),
        (281, "/with fstype nfs4", "/mnt/on with fstype nfs4"),
        (363, "/", "/mnt/over"),
        (445, "/fs2", "/mnt/over"),
        (527, "/dir", "/mnt/ünï"),
    ]
    .map(|(line, path, mount_point)| {
        (line, format!("{server}{path}").into_bytes(), mount_point.as_bytes().to_vec())
    });
    assert_eq!(found, expected);
    let tmpfs: Vec<_> =
        parsed.records.iter().filter(|r| r.device == Some(b"nfs") || r.device == Some(b"a\\040b")).collect();
    assert_eq!(
        tmpfs.iter().map(|record| (record.mount_point, record.fs_type)).collect::<Vec<_>>(),
        [(&b"/mnt/t"[..], &b"tmpfs"[..]), (b"/mnt/with", b"tmpfs"),]
    );
    let statistics = nfs[0].statistics.as_ref().unwrap();
    assert_eq!(statistics.age_seconds, 121);
    assert_eq!(statistics.bytes.as_slice(), [0, 0, 404_881_408, 714_211_328, 404_881_408, 714_211_328, 0, 0]);
    assert_eq!(statistics.transports[0].sends(), Some(10_988));
    assert_eq!(statistics.operations.len(), 69);
    let write = statistics.operations.iter().find(|operation| operation.name == b"WRITE").unwrap().counters;
    assert_eq!((write.requests, write.bytes_sent, write.bytes_received), (3_218, 714_803_440, 360_416));
    assert_eq!(
        (write.queue_ms, write.rtt_ms, write.execute_ms, write.errors),
        (2_402, 35_323, 39_022, Some(0))
    );
}

#[test]
fn four_mounts_of_one_superblock_print_the_same_statistics() {
    for (file, read) in [("aliases/begin.mountstats", None), ("aliases/end.mountstats", Some(3_176))] {
        let text = capture(file);
        let parsed = parse(&text);
        let nfs = nfs(&parsed);
        let mount_points: Vec<_> = nfs.iter().map(|record| record.mount_point).collect();
        assert_eq!(mount_points, [&b"/mnt/efs"[..], b"/mnt/efs\\040again", b"/mnt/efs-dir", b"/mnt/bind"]);
        let first = nfs[0].statistics.as_ref().unwrap();
        for record in &nfs {
            let statistics = record.statistics.as_ref().unwrap();
            assert_eq!((&statistics.events, &statistics.bytes), (&first.events, &first.bytes));
            assert_eq!(statistics.operations, first.operations);
        }
        if let Some(read) = read {
            assert_eq!(
                first.operations.iter().rfind(|op| op.name == b"READ").unwrap().counters.requests,
                read
            );
        }
    }
}
