//! `efsmon.toml(5)`, from the commented file that packages bring.

use super::page::Page;

pub fn page(date: &str) -> String {
    let mut page = Page::new("efsmon.toml", "5", date);
    page.section("NAME");
    page.words("efsmon.toml - configuration of efsmon");
    page.finish()
}
