//! What each NFS mount did, as a report. Pure.
//!
//! [`peer`] is nfsiostat's report (nfs-utils) to the last digit: the same texts give the same bytes.
//! [`activity`] is that report made right: over the true time, over every connection, never negative;
//! [`selection`] picks and orders, [`table`], [`json`] and [`csv`] write it down.

pub mod activity;
pub mod csv;
pub mod json;
pub mod peer;
pub mod selection;
pub mod table;

/// What to show of each mount; the choices are nfsiostat's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// READ and WRITE.
    #[default]
    Files,
    /// The attribute cache (`-a`).
    Attributes,
    /// Directory operations (`-d`).
    Directories,
    /// READ and WRITE, and the page cache (`-p`).
    Pages,
}

/// Indices into [`crate::mountstats::Statistics::events`] (`include/linux/nfs_iostat.h`,
/// nfs_stat_eventcounters) of the events that a [`View`] shows.
mod event {
    pub const INODE_REVALIDATE: usize = 0;
    pub const DENTRY_REVALIDATE: usize = 1;
    pub const DATA_INVALIDATE: usize = 2;
    pub const ATTRIBUTE_INVALIDATE: usize = 3;
    pub const OPEN: usize = 4;
    pub const LOOKUP: usize = 5;
    pub const UPDATE_PAGE: usize = 7;
    pub const READ_PAGE: usize = 8;
    pub const READ_PAGES: usize = 9;
    pub const WRITE_PAGE: usize = 10;
    pub const WRITE_PAGES: usize = 11;
    pub const GET_DENTS: usize = 12;
    pub const CONGESTION_WAIT: usize = 18;
}

/// Indices into [`crate::mountstats::Statistics::bytes`] (nfs_stat_bytecounters); both count pages.
mod pages {
    pub const READ: usize = 6;
    pub const WRITTEN: usize = 7;
}

/// A path as [`std::path::Path::canonicalize`] would clean it, but by its text alone: nothing is looked up,
/// for a path on a mount whose server is gone would not come back.
pub fn cleaned(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    [b"/".as_slice(), &parts.join(&b'/')].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_cleaned_by_its_text() {
        for (path, clean) in [
            ("/mnt/efs/", "/mnt/efs"),
            ("/mnt//efs/.", "/mnt/efs"),
            ("/mnt/a/../efs", "/mnt/efs"),
            ("/", "/"),
        ] {
            assert_eq!(cleaned(path.as_bytes()), clean.as_bytes(), "{path}");
        }
    }
}
