//! `/proc/self/mountinfo` texts, made and captured.

use std::fs;
use std::path::Path;

use efsmon::mountinfo::{DeviceNumber, Mount, parse};

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn superblock(minor: u32) -> DeviceNumber {
    DeviceNumber { major: 0, minor }
}

#[test]
fn any_number_of_optional_fields_is_read() {
    for optional in ["", "shared:3 ", "shared:3 master:2 ", "shared:1 master:2 propagate_from:3 "] {
        let text = format!(
            "60 31 0:52 /export /mnt/efs rw,relatime {optional}- nfs4 127.0.0.1:/ rw,port=20049,addr=127.0.0.1\n"
        );
        let (mounts, problems) = parse(text.as_bytes());
        let expected = Mount {
            line: 1,
            device_number: superblock(52),
            mount_point: b"/mnt/efs",
            fs_type: b"nfs4",
            device: b"127.0.0.1:/",
            super_options: b"rw,port=20049,addr=127.0.0.1",
        };
        assert_eq!((mounts, problems), (vec![expected], vec![]));
    }
}

#[test]
fn an_empty_device_and_bytes_that_are_not_utf8_are_read() {
    let (mounts, problems) =
        parse(b"60 31 0:52 / /mnt/\xff\xa0x\\040y rw - tmpfs  rw\n61 31 259:1 / / rw - ext4 - rw");
    assert_eq!(problems, []);
    assert_eq!((mounts[0].mount_point, mounts[0].device), (&b"/mnt/\xff\xa0x\\040y"[..], &b""[..]));
    assert_eq!((mounts[1].device, mounts[1].super_options), (&b"-"[..], &b"rw"[..]));
    assert_eq!(mounts[1].device_number, DeviceNumber { major: 259, minor: 1 });
}

#[test]
fn a_bad_line_is_a_problem_and_hides_no_other() {
    let text = b"60 31 0:52 / /mnt/a rw - nfs4 h:/ rw\n\
        61 31 0:x / /mnt/b rw - nfs4 h:/ rw\n\
        62 31 0:53 / /mnt/c rw shared:1\n\
        garbage\n\n\
        63 31 0:4294967296 / /mnt/d rw - nfs4 h:/ rw\n\
        64 31 0:54 / /mnt/e rw - nfs4\n\
        65 31 0:55 / /mnt/f rw - nfs4 h:/ rw\n";
    let (mounts, problems) = parse(text);
    assert_eq!(
        mounts.iter().map(|mount| (mount.line, mount.mount_point)).collect::<Vec<_>>(),
        [(1, &b"/mnt/a"[..]), (8, b"/mnt/f")]
    );
    assert_eq!(
        problems.iter().map(|problem| (problem.line, problem.mount_point)).collect::<Vec<_>>(),
        [(2, None), (3, Some(&b"/mnt/c"[..])), (4, None), (6, None), (7, Some(b"/mnt/e")),]
    );
}

#[test]
fn fixtures_and_captures_read_as_their_mountstats() {
    for (name, nfs) in [
        ("mountstats/06_efs_tls_two_proxies", &[("/mnt/efs-tls", 52), ("/mnt/efs-tls-2", 53)][..]),
        (
            "mountstats/15_bind_and_second_mount_one_superblock",
            &[("/mnt/efs", 52), ("/srv/bind", 52), ("/mnt/again", 52)],
        ),
        ("mountstats/16_two_superblocks_one_transport", &[("/mnt/p", 52), ("/mnt/q", 53)]),
        ("mountstats/49_impl_id_hostile_full", &[("/mnt/real", 52), ("/mnt/after", 53)]),
        (
            "captures/aliases/end",
            &[("/mnt/efs", 44), ("/mnt/efs\\040again", 44), ("/mnt/efs-dir", 44), ("/mnt/bind", 44)],
        ),
        (
            "captures/odd-names/end",
            &[
                ("/mnt/efs", 44),
                ("/mnt/tab\\011nl\\012hash#back\\134slash", 44),
                ("/mnt/subdir", 44),
                ("/mnt/on\\040with\\040fstype\\040nfs4", 44),
                ("/mnt/over", 44),
                ("/mnt/over", 47),
                ("/mnt/ünï", 48),
            ],
        ),
    ] {
        let (made, captured) = (format!("{name}.mountinfo.txt"), format!("{name}.mountinfo"));
        let text = fixture(if name.starts_with("mountstats/") { &made } else { &captured });
        let (mounts, problems) = parse(&text);
        assert_eq!(problems, [], "{name}");
        let found: Vec<_> = mounts
            .iter()
            .filter(|m| m.fs_type == b"nfs4")
            .map(|m| (m.mount_point, m.device_number))
            .collect();
        let expected: Vec<_> =
            nfs.iter().map(|(path, minor)| (path.as_bytes(), superblock(*minor))).collect();
        assert_eq!(found, expected, "{name}");
    }
}
