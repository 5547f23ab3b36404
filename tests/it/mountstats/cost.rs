//! What parsing allocates, counted for this thread alone.

use efsmon::mountstats::parse;

const BLOCK: &str = include_str!("../../fixtures/mountstats/50_scale_1.txt");

/// NFS mounts with as many lines in their table as told.
fn text(mounts: usize, operations: usize) -> String {
    let (_, block) = BLOCK.split_at(BLOCK.find("device fs-").unwrap());
    let (head, table) = block.split_once("\tper-op statistics\n").unwrap();
    let table: String =
        table.lines().filter(|line| !line.is_empty()).take(operations).map(|l| format!("{l}\n")).collect();
    format!("{head}\tper-op statistics\n{table}\n").repeat(mounts)
}

fn allocations(text: &str, mounts: usize) -> u64 {
    let counted = allocation_counter::measure(|| {
        let parsed = parse(text.as_bytes());
        assert_eq!((parsed.records.len(), parsed.problems.len()), (mounts, 0));
        assert_eq!(parsed.records[mounts - 1].statistics.as_ref().unwrap().operations.iter().count() % 69, 0);
    });
    counted.count_total
}

#[test]
fn a_record_takes_two_allocations_at_most_and_its_lines_none() {
    let of_thousand = allocations(&text(1_000, 69), 1_000);
    assert!(of_thousand <= 2 * 1_000 + 20, "{of_thousand} for 1,000 mounts");
    assert_eq!(allocations(&text(1_000, 0), 1_000), of_thousand, "without operations");
}
