//! Templates of one's own are read, and what they make is written.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

use super::write_json;

/// Templates of one's own lie below this folder, if it is there: `dashboards/*.json`, `dashboards/alarms/*.json`.
const TEMPLATES: &str = "/etc/efsmon/dashboards";

/// See [`super::OwnFlags::templates`]; `given`: the folder that was asked for.
pub(super) fn templates(given: Option<&Path>, folder: &str) -> anyhow::Result<Vec<(String, String)>> {
    let root = given.unwrap_or(Path::new(TEMPLATES));
    let place = root.join(folder);
    let entries = match std::fs::read_dir(&place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match given.is_some() && folder.is_empty() {
            true => bail!("--templates {}: there is no such folder", place.display()),
            false => return Ok(Vec::new()),
        },
        entries => entries.with_context(|| format!("reading {}", place.display()))?,
    };
    let mut texts = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("reading {}", place.display()))?.path();
        let (Some(name), Some("json")) = (path.file_stem().and_then(|name| name.to_str()), extension(&path))
        else {
            continue;
        };
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        texts.push((name.to_owned(), text));
    }
    texts.sort();
    Ok(texts)
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// Writes each to a file of its name below `folder`, which is made, and the files' paths to `out`.
///
/// # Errors
///
/// A folder that cannot be made, a file that cannot be written.
pub fn write_each(
    folder: &Path,
    bodies: &BTreeMap<String, Value>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for (name, body) in bodies {
        let path = folder.join(format!("{name}.json"));
        let mut text = Vec::new();
        write_json(body, &mut text)?;
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(out.flush()?)
}
