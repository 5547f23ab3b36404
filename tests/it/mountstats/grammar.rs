//! Points of the grammar that no fixture holds, in texts as small as they can be.

use efsmon::mountstats::{Parsed, parse, unescape};

const EVENTS: &str = "\tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 ";
const IMPL_ID: &str = "\timpl_id:\tname='',domain='',date='0,0'";

fn device(mount_point: &str) -> String {
    format!("device h:/ mounted on {mount_point} with fstype nfs4 statvers=1.1\n")
}

fn head(impl_id: &str) -> String {
    format!(
        "\topts:\trw,vers=4.1\n\tage:\t60\n{impl_id}\n\tcaps:\tcaps=0x3ffdf\n\tsec:\tflavor=1\n{EVENTS}\n\tbytes:\t1 2 3 4 5 6 7 8 \n"
    )
}

fn rpc(operations: &str) -> String {
    format!(
        "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\txprt:\ttcp 0 0 1 0 13 5 4 0 8 3 32 1 1\n\tper-op statistics\n{operations}"
    )
}

/// A whole mount with these lines of operations.
fn mount(mount_point: &str, operations: &str) -> String {
    format!("{}{}{}\n", device(mount_point), head(IMPL_ID), rpc(operations))
}

fn mount_points(parsed: &Parsed) -> Vec<String> {
    parsed.records.iter().map(|record| String::from_utf8(record.mount_point.to_vec()).unwrap()).collect()
}

fn problems(parsed: &Parsed) -> Vec<(usize, String, String)> {
    let mount_point = |problem: &efsmon::mountstats::Problem| {
        problem.mount_point.unwrap_or(b"-").escape_ascii().to_string()
    };
    parsed
        .problems
        .iter()
        .map(|problem| (problem.line, mount_point(problem), problem.reason.clone()))
        .collect()
}

const READ: &str = "\t        READ: 7 7 0 900 7340032 1 21 22 0\n";

#[test]
fn eight_nine_and_ten_numbers_are_read_and_the_tenth_is_counted() {
    let texts =
        ["7 7 0 900 7340032 1 21 22", "7 7 0 900 7340032 1 21 22 0", "7 7 0 900 7340032 1 21 22 0 44"];
    let text: String = texts.map(|numbers| mount("/m", &format!("\t        READ: {numbers}\n"))).concat();
    let parsed = parse(text.as_bytes());
    assert_eq!((parsed.problems.len(), parsed.unknown_numbers, parsed.unknown_lines), (0, 1, 0));
    let read = parsed.records.iter().map(|record| {
        let statistics = record.statistics.as_ref().unwrap();
        statistics.operations.iter().next().unwrap().counters
    });
    for (counters, errors) in read.zip([None, Some(0), Some(0)]) {
        assert_eq!((counters.requests, counters.bytes_received, counters.rtt_ms), (7, 7_340_032, 21));
        assert_eq!((counters.execute_ms, counters.errors), (22, errors));
    }
}

#[test]
fn what_a_later_kernel_adds_is_counted() {
    let fixture = super::text("27_future_extra_fields");
    let parsed = parse(&fixture);
    // 30 events, 9 byte counters, a tenth number on 69 lines; `sunrpc-id:` and `newthing:`.
    assert_eq!((parsed.unknown_numbers, parsed.unknown_lines), (3 + 1 + 69, 2));
    let after = mount("/m", &format!("{READ}\tnewer section: a=1\n\tnewest:\t1 2 3\n{READ}"));
    let parsed = parse(after.as_bytes());
    assert_eq!((parsed.problems.len(), parsed.unknown_lines), (0, 2));
    assert_eq!(
        parsed.records[0]
            .statistics
            .as_ref()
            .unwrap()
            .operations
            .iter()
            .map(|op| op.name)
            .collect::<Vec<_>>(),
        [b"READ", b"READ"]
    );
}

#[test]
fn operations_are_known_by_any_name() {
    let table = "\t        NULL: 0 0 0 0 0 0 0 0 0\n\t          71: 1 1 0 2 3 4 5 6 7\n\tA_NAME_LONGER_THAN_TWELVE: 1 2 3 4 5 6 7 8 9\nX: 1\n\tREAD: 1 1 1 1 1 1 1 1\n";
    let text = mount("/m", table);
    let parsed = parse(text.as_bytes());
    let names: Vec<_> =
        parsed.records[0].statistics.as_ref().unwrap().operations.iter().map(|op| op.name).collect();
    assert_eq!(names, [&b"NULL"[..], b"71", b"A_NAME_LONGER_THAN_TWELVE", b"READ"]);
    let backwards: Vec<_> =
        parsed.records[0].statistics.as_ref().unwrap().operations.iter().rev().map(|op| op.name).collect();
    assert_eq!(backwards, [&b"READ"[..], b"A_NAME_LONGER_THAN_TWELVE", b"71", b"NULL"]);
    assert_eq!(parsed.unknown_lines, 1);
}

#[test]
fn times_below_zero_and_transports_of_every_kind_are_read() {
    let xprts = [
        ("tcp 0 0 9 0 -7 10 11 3 20 12 2 1 8", Some((10, 11, 12)), Some((9, 3)), Some(8)),
        ("tcp 0 0 9 0 7 10 11 3 20 12", Some((10, 11, 12)), Some((9, 3)), None),
        ("udp 1009 1 10 11 3 20 12", Some((10, 11, 12)), Some((0, 3)), None),
        ("udp 1009 1 10 11 3 20 12 2 1 8", Some((10, 11, 12)), Some((0, 3)), Some(8)),
        ("local 0 9 0 13 10 11 3 20 12 2 1 8", Some((10, 11, 12)), Some((9, 3)), Some(8)),
        ("rdma 0 0 9 0 13 10 11 3 20 12 1 2 3 4 5 6 7 8 9 10", Some((10, 11, 12)), Some((9, 3)), None),
        ("quic id=4 5", None, None, None),
    ];
    for (xprt, expected, connects_unmatched, pending) in xprts {
        let text = mount("/m", "\t        READ: 1000 996 0 1 1 18446743900000000001 1 1 0\n")
            .replace("tcp 0 0 1 0 13 5 4 0 8 3 32 1 1", xprt);
        let parsed = parse(text.as_bytes());
        assert_eq!(parsed.problems, [], "{xprt}");
        let statistics = parsed.records[0].statistics.as_ref().unwrap();
        let transport = &statistics.transports[0];
        let found = (transport.sends(), transport.receives(), transport.backlog());
        assert_eq!(found, (expected.map(|e| e.0), expected.map(|e| e.1), expected.map(|e| e.2)), "{xprt}");
        assert_eq!(transport.connects().zip(transport.unmatched()), connects_unmatched, "{xprt}");
        assert_eq!(transport.pending(), pending, "{xprt}");
        // 2^64 - 18446743900000000001
        assert_eq!(statistics.operations.iter().next().unwrap().counters.queue_ms, -173_709_551_615);
    }
}

#[test]
fn device_lines_are_split_at_single_spaces_only() {
    let text = b"device  mounted on / with fstype tmpfs\n\
        no device mounted on /old with fstype rootfs\n\
        device mounted mounted on /mnt/with with fstype fuse.x\n\
        device a\xa0b mounted on /mnt/\xff\xe2\x80\x83\r\x0b with fstype tmpfs\n\
        device /etc/auto.efs mounted on /efs with fstype autofs\n";
    let parsed = parse(text);
    assert_eq!(parsed.problems, []);
    let found: Vec<_> = parsed.records.iter().map(|r| (r.line, r.device, r.mount_point, r.fs_type)).collect();
    let expected = [
        (1, Some(&b""[..]), &b"/"[..], &b"tmpfs"[..]),
        (2, None, b"/old", b"rootfs"),
        (3, Some(b"mounted"), b"/mnt/with", b"fuse.x"),
        (4, Some(b"a\xa0b"), b"/mnt/\xff\xe2\x80\x83\r\x0b", b"tmpfs"),
        (5, Some(b"/etc/auto.efs"), b"/efs", b"autofs"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_bad_device_line_costs_its_mount_only() {
    for bad in [
        "device h:/ mounted on /bad with fstype \n",
        "device h:/ mounted on /bad\n",
        "device h:/ mounted  on /bad with fstype tmpfs\n",
        "device h:/ mounted on bad with fstype tmpfs\n",
        "device h:/ with fstype nfs4 statvers=1.1\n",
        "device h :/ mounted on /bad with fstype nfs4 statvers=1.1\n",
        "device h:/ mounted on /bad with fstype nfs4\n",
        "device h:/ mounted on /bad with fstype nfs4 statvers\n",
        "device h:/ mounted on /bad with fstype nf\n", // the end of a text may leave no more
        "devic\n",
    ] {
        let block = format!("{}{}\n", head(IMPL_ID), rpc(READ));
        for block in [block.as_str(), ""] {
            let text = format!("{}{bad}{block}{}", mount("/a", READ), mount("/b", READ));
            let parsed = parse(text.as_bytes());
            assert_eq!(mount_points(&parsed), ["/a", "/b"], "{bad}");
            // The record before has 13 lines.
            assert_eq!(parsed.problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [14], "{bad}");
        }
    }
}

#[test]
fn a_problem_tells_its_line_its_mount_and_what_was_found() {
    let good = mount("/b", READ);
    for (from, to, line, reason) in [
        ("READ: 7", "READ: x7", 12, "`READ`: expected a number up to 18446744073709551615, found `x7`"),
        ("READ: 7 7 0", "READ: 7", 12, "`READ`: expected at least 8 numbers, found 7"),
        ("age:\t60", "age:\t", 3, "age: expected at least 1 numbers, found 0"),
        ("age:\t60", "age:\tx", 3, "age: expected a number up to 18446744073709551615, found `x`"),
        ("\tage:\t60\n", "", 1, "the statistics have no `age:` line"),
        ("\topts:\trw,vers=4.1\n", "", 1, "the statistics have no `opts:` line"),
        ("26 27", "26 27x", 7, "events: expected a number up to 18446744073709551615, found `27x`"),
        ("25 26 27", "", 7, "events: expected at least 25 numbers, found 24"),
        ("bytes:\t1 2 3", "bytes:\t", 8, "bytes: expected at least 6 numbers, found 5"),
        ("\tsec:", "\tage:\t61\n\tsec:", 6, "`age` comes twice in one mount's statistics"),
        ("tcp 0 0", "tcp 0 z", 10, "xprt: expected a number up to 18446744073709551615, found `z`"),
        ("\tper-op statistics\n", "", 1, "the statistics have no `per-op statistics` line"),
    ] {
        let text = format!("{}{good}", mount("/a", READ).replace(from, to));
        let parsed = parse(text.as_bytes());
        assert_eq!(mount_points(&parsed), ["/b"], "{to}");
        assert_eq!(problems(&parsed), [(line, "/a".to_owned(), reason.to_owned())], "{to}");
    }
}

#[test]
fn records_need_no_empty_line_between_and_no_line_end_at_the_end() {
    let text = [mount("/a", READ), mount("/b", READ), mount("/c", READ)]
        .map(|text| text.trim_end_matches('\n').to_owned());
    for text in [text.join("\n"), text.join("\n") + "\n"] {
        let parsed = parse(text.as_bytes());
        assert_eq!((mount_points(&parsed).len(), parsed.problems.as_slice()), (3, &[][..]));
    }
}

#[test]
fn the_rpc_section_may_be_missing_but_not_cut() {
    let without = format!("{}{}\n", device("/a"), head(IMPL_ID));
    let parsed = parse(without.as_bytes());
    assert_eq!((mount_points(&parsed), parsed.problems.len()), (vec!["/a".to_owned()], 0));
    let statistics = parsed.records[0].statistics.as_ref().unwrap();
    assert_eq!((statistics.rpc_version, statistics.operations.len()), (None, 0));
    let parsed = parse(without.trim_end_matches('\n').as_bytes());
    assert_eq!(
        problems(&parsed),
        [(8, "/a".to_owned(), "the text ends in the middle of this mount's statistics".to_owned())]
    );
}

#[test]
fn a_table_cut_between_two_lines_is_known_by_the_others() {
    let table = format!("{READ}{}", READ.replace("READ", "WRITE"));
    let text = format!("{}{}", mount("/a", &table), mount("/b", &table));
    for lost in ["\t        WRITE: 7 7 0 900 7340032 1 21 22 0\n\n", " 22 0\n\n", " 0\n\n"] {
        let cut = text.strip_suffix(lost).unwrap();
        let parsed = parse(cut.as_bytes());
        assert_eq!(mount_points(&parsed), ["/a"], "{lost:?}");
        assert_eq!(parsed.problems[0].mount_point, Some(&b"/b"[..]));
    }
}

#[test]
fn an_empty_line_inside_a_block_voids_its_record() {
    let text = format!("{}{}", mount("/a", &format!("{READ}\n{READ}")), mount("/b", READ));
    let parsed = parse(text.as_bytes());
    assert_eq!(mount_points(&parsed), ["/b"]);
    assert_eq!(
        problems(&parsed),
        [(14, "/a".to_owned(), "statistics go on after the empty line that ends them".to_owned())]
    );
}

#[test]
fn an_impl_id_may_hold_anything_and_swallows_nothing() {
    let forged = format!(
        "name='x\n\tcaps:\tcaps=0x1\n{EVENTS}\n\tbytes:\t8 8 8 8 8 8 8 8\n\n{}\topts:\trw\n\tage:\t1\n{IMPL_ID}\n\tcaps:\tcaps=0x2\nno device mounted on /fake with fstype tmpfs\n',domain='{}',date='-1,5'",
        device("/fake"),
        "d".repeat(1024)
    );
    // A kernel's table, longer than any server's text.
    let table: String = (0..69).map(|number| format!("\t{number:>12}: 0 0 0 0 0 0 0 0 0\n")).collect();
    for value in [
        "name='',domain='',date='0,0'",
        "name='a\nb\n\nc',domain='\n',date='1,2'",
        "name='x\ndevice evil:/ mounted on /fake with fstype nfs4 statvers=1.1\n\topts:\trw\n',domain='',date='0,0'",
        &forged,
    ] {
        let hostile = format!("{}{}{}\n", device("/a"), head(&format!("\timpl_id:\t{value}")), rpc(&table));
        let text = format!("{hostile}{}{hostile}", mount("/b", &table));
        let parsed = parse(text.as_bytes());
        assert_eq!(parsed.problems, [], "{value}");
        assert_eq!(mount_points(&parsed), ["/a", "/b", "/a"], "{value}");
        for record in &parsed.records {
            let statistics = record.statistics.as_ref().unwrap();
            assert_eq!((statistics.caps, statistics.bytes[0]), (Some(&b"caps=0x3ffdf"[..]), 1));
            assert_eq!((statistics.age_seconds, statistics.operations.len()), (60, 69));
        }
        assert_eq!(parsed.records[0].statistics.as_ref().unwrap().impl_id, Some(value.as_bytes()));
        // Line numbers count the lines inside it.
        let lines_before = hostile.matches('\n').count();
        assert_eq!(parsed.records[1].line, lines_before + 1);
    }
}

#[test]
fn short_records_one_after_another_stay_apart() {
    let text = format!(
        "{}{}{}{}{}\n",
        mount("/a", READ),
        mount("/b", ""),
        mount("/c", READ),
        device("/d"),
        head(IMPL_ID)
    );
    let parsed = parse(text.as_bytes());
    assert_eq!(
        (mount_points(&parsed).join(" "), parsed.problems.as_slice()),
        ("/a /b /c /d".to_owned(), &[][..])
    );
}

#[test]
fn escapes_are_decoded_once() {
    for (printed, expected) in [
        ("/mnt/a\\040b\\134c", &b"/mnt/a b\\c"[..]),
        ("\\134040", b"\\040"),
        ("\\011\\012\\043", b"\t\n#"),
        ("\\377", b"\xff"),
        ("\\400", b"\\400"),
        ("\\08", b"\\08"),
        ("\\", b"\\"),
        ("plain", b"plain"),
        ("\\\\040", b"\\ "),
    ] {
        assert_eq!(unescape(printed.as_bytes()), expected, "{printed}");
    }
}
