//! Damaged texts: nothing panics, and a damaged record takes no other with it.

use std::sync::LazyLock;

use efsmon::mountstats::{Record, parse};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::text;

/// Bytes and words that mean something to a parser.
const WORDS: [&[u8]; 28] = [
    b"\n",
    b"\n\n",
    b"\t",
    b" ",
    b":",
    b"0",
    b"9",
    b"-",
    b"'",
    b"\0",
    b"\r",
    b"\xff",
    b"\xc2\xa0",
    b"\\040",
    b"18446744073709551615",
    b"99999999999999999999",
    b"\tcaps:\t",
    b"\n\tcaps:\t",
    b"\timpl_id:\t",
    b"\tage:\t1",
    b"\topts:\trw",
    b"\tevents:\t",
    b"\tbytes:\t1 2",
    b"\txprt:\ttcp 0",
    b"\tper-op statistics\n",
    b": 1 2 3",
    b"',domain='",
    b"',date='0,0'",
];

/// A change of a record's bytes, wherever they are.
#[derive(Clone, Debug)]
enum Change {
    Put(Index, &'static [u8]),
    Replace(Index, u8),
    Remove(Index, usize),
    Repeat(Index, usize, Index),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), select(&WORDS[..])).prop_map(|(at, word)| Change::Put(at, word)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        // At most three in one record: what is left is too long to pass for the server's text.
        (any::<Index>(), 1..300_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<Index>(), 1..200_usize, any::<Index>())
            .prop_map(|(at, length, to)| Change::Repeat(at, length, to)),
    ]
}

fn apply(change: &Change, bytes: &mut Vec<u8>) {
    let part = |at: usize, length: usize| at..bytes.len().min(at + length);
    match change {
        Change::Put(at, word) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, word.iter().copied());
        }
        Change::Replace(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Change::Remove(at, length) => {
            bytes.drain(part(at.index(bytes.len()), *length));
        }
        Change::Repeat(at, length, to) => {
            let copy = bytes[part(at.index(bytes.len()), *length)].to_vec();
            let to = to.index(bytes.len());
            bytes.splice(to..to, copy);
        }
    }
}

/// Where in [`RECORDS`] the one stands whose server forges records: damage to it may set them free.
const HOSTILE: usize = 2;

/// NFS mounts of several kinds, one after another: each with its device line and the closing empty line.
static RECORDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(records);

fn records() -> Vec<Vec<u8>> {
    let names = [
        "01_nfs41_basic_k6x",
        "05_nconnect4_four_xprts",
        "49_impl_id_hostile_full",
        "02_nfs41_k72_71ops",
        "20_impl_id_multiline",
        "03_nfs41_k414_8numbers",
        "18_fscache_line",
    ];
    let mut records = Vec::new();
    for name in names {
        let text = text(name);
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let parsed = parse(&text);
        assert_eq!(parsed.problems, [], "{name}");
        for (index, record) in
            parsed.records.iter().enumerate().filter(|(_, record)| record.statistics.is_some())
        {
            let end = parsed.records.get(index + 1).map_or(lines.len(), |next| next.line - 1);
            records.push(lines[record.line - 1..end].concat());
        }
    }
    assert_eq!(records.len(), 9);
    records
}

/// A record without its place.
fn content<'a>(record: &Record<'a>) -> Record<'a> {
    Record { line: 0, ..record.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_record_takes_no_other_with_it(
        which in (0..9_usize).prop_filter("hostile", |which| *which != HOSTILE),
        changes in vec(change(), 1..=3),
    ) {
        let whole = RECORDS.concat();
        let mut damaged = RECORDS.clone();
        // The device line and the empty line at the end stay.
        let device_line = damaged[which].iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let mut block = damaged[which].split_off(device_line);
        let closing = block.split_off(block.len() - 2);
        changes.iter().for_each(|change| apply(change, &mut block));
        damaged[which].extend_from_slice(&block);
        damaged[which].extend_from_slice(&closing);
        let damaged = damaged.concat();

        let before = parse(&whole);
        let after = parse(&damaged);
        prop_assert!(after.records.len() + after.problems.len() >= 9, "{:?}", after.problems);
        let mut others: Vec<_> = before.records.iter().map(content).collect();
        let original = others.remove(which);
        let mut found: Vec<_> = after.records.iter().map(content).collect();
        // The damaged one may have lost its problem-free state, or may read as something else; it is found by its name.
        if found.len() == 9 {
            let damaged = found.remove(which);
            prop_assert_eq!(damaged.mount_point, original.mount_point);
        }
        prop_assert_eq!(found, others);
    }

    #[test]
    fn a_text_cut_anywhere_keeps_what_came_before(at in any::<Index>()) {
        let whole = RECORDS.concat();
        let cut = &whole[..at.index(whole.len())];
        let before = parse(&whole);
        let after = parse(cut);
        // A cut in a number can not be told from its end, but only the text's last number is cut.
        let sound = after.records.len() - usize::from(!cut.ends_with(b"\n") && !after.records.is_empty());
        for (before, after) in before.records.iter().zip(&after.records).take(sound.saturating_sub(1)) {
            prop_assert_eq!(before, after);
        }
        let starts = cut.windows(8).filter(|window| window == b"\ndevice ").count();
        prop_assert!(after.records.len() + after.problems.len() + 1 >= starts, "{:?}", after.problems);
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..2_000)) {
        exercise(&bytes);
    }

    #[test]
    fn random_words_never_panic(words in vec(select(&WORDS[..]), 0..60), start in any::<bool>()) {
        let mut text = Vec::new();
        if start {
            text.extend_from_slice(b"device h:/ mounted on /m with fstype nfs4 statvers=1.1\n");
        }
        words.iter().for_each(|word| text.extend_from_slice(word));
        exercise(&text);
    }
}

/// Runs everything that reads bytes.
fn exercise(text: &[u8]) {
    let parsed = parse(text);
    for record in &parsed.records {
        let _ = efsmon::mountstats::unescape(record.mount_point);
        let Some(statistics) = &record.statistics else { continue };
        assert_eq!(statistics.operations.iter().count(), statistics.operations.len());
        assert!(statistics.operations.iter().rev().count() == statistics.operations.len());
        statistics.transports.iter().for_each(|transport| {
            let _ = (transport.sends(), transport.receives(), transport.backlog());
        });
    }
    let _ = efsmon::mountinfo::parse(text);
    let _ = efsmon::mountstats::unescape(text);
}
