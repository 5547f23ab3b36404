//! The README says what the catalog says.

use std::fs;
use std::path::Path;

const START: &str = "<!-- metrics -->\n";
const END: &str = "<!-- /metrics -->";

/// `UPDATE_EXPECT=1 cargo test readme` writes the table anew.
#[test]
fn the_metrics_table_is_the_catalogs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(START).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let expected = efsmon::catalog::markdown();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{before}{START}{expected}{END}{after}")).unwrap();
    } else {
        assert_eq!(table, expected, "refresh with UPDATE_EXPECT=1 cargo test readme");
    }
}
