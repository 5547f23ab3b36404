//! What a start makes of the files that it finds.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

use super::format::{self, Content, Counters};
use super::{
    Aside, COUNTERS, COUNTERS_ASIDE, COUNTERS_NEXT, Disk, Doomed, FileId, Limits, Losses, Opened, Spool,
    SpoolError, Standing,
};
use super::{blocks, request_name, temporary};

impl<D: Disk> Spool<D> {
    /// Opens the spool of the machine `owner`, completing or undoing a commit that was cut short.
    /// Data and counters of another owner are set aside.
    pub fn open(disk: D, owner: &str, limits: Limits) -> Result<Opened<D>, SpoolError> {
        set_other_version_aside(&disk)?;
        resolve(&disk)?;
        let counters = read_counters(&disk, COUNTERS)?;
        let mut spool = Spool {
            disk,
            owner: one_word(owner),
            limits,
            number: counters.as_ref().map_or(0, |counters| counters.number),
            index: BTreeMap::new(),
            aside: VecDeque::new(),
            held: None,
            doomed: Vec::new(),
            unfinished: None,
            unsynced: false,
            counters_bytes: 0,
            namespaces: BTreeSet::new(),
            losses: Losses::default(),
            deleting: false,
        };
        let mut files = spool.disk.list()?;
        files.sort();
        for (name, bytes) in files {
            match name.as_str() {
                COUNTERS => {
                    spool.counters_bytes = blocks(bytes);
                    if counters.is_none() {
                        spool.damaged(1);
                    }
                }
                COUNTERS_ASIDE => spool.aside.push_back(Aside::of(name, blocks(bytes))),
                _ if name.ends_with(".tmp") => spool.doomed.push(Doomed { name, bytes: blocks(bytes) }),
                _ => {
                    if let Some(numbers) = numbers(&name) {
                        spool.find(name, bytes, numbers, counters.as_ref());
                    }
                }
            }
        }
        // Not removing them now costs nothing but their space.
        let _ = spool.sweep();
        let Standing { aside_files, losses, .. } = spool.standing();
        if aside_files > 0 {
            tracing::warn!(
                files = aside_files,
                "the state directory holds data of another machine or version; they are kept aside and never sent"
            );
        }
        if losses.damaged_files > 0 {
            tracing::error!(
                files = losses.damaged_files,
                data = losses.damaged_data,
                "the state directory holds damaged or unreadable files; what was in them is lost"
            );
        }
        let counters =
            counters.filter(|counters| counters.owner == spool.owner).map(|counters| counters.blob);
        Ok(Opened { spool, counters })
    }

    fn find(&mut self, name: String, bytes: u64, (number, part): (u64, u32), counters: Option<&Counters>) {
        if counters.is_some_and(|counters| number > counters.number) {
            self.doomed.push(Doomed { name, bytes: blocks(bytes) });
            return;
        }
        self.number = self.number.max(number);
        let bytes_on_disk = blocks(bytes);
        let Ok(file) = self.disk.read(&name) else {
            self.damaged(1);
            self.aside.push_back(Aside { unreadable: true, ..Aside::of(name, bytes_on_disk) });
            return;
        };
        match format::request_head(&file) {
            Content::Intact(head) if head.owner == self.owner => {
                self.insert(FileId { newest: head.newest, number, part }, head, bytes);
            }
            Content::Intact(head) => {
                let newest = Some(head.newest);
                self.aside.push_back(Aside { newest, ..Aside::of(name, bytes_on_disk) });
            }
            Content::OtherVersion => self.aside.push_back(Aside::of(name, bytes_on_disk)),
            Content::Damaged => {
                self.damaged(format::damaged_data(&file));
                self.doomed.push(Doomed { name, bytes: bytes_on_disk });
            }
        }
    }
}

/// Keeps the counters of another version for it; those that were kept before give way.
fn set_other_version_aside(disk: &impl Disk) -> io::Result<()> {
    match disk.read(COUNTERS) {
        Ok(file) if format::decode_counters(&file) == Content::OtherVersion => {
            disk.rename(COUNTERS, COUNTERS_ASIDE)?;
            disk.sync()
        }
        // What else is wrong with them is found out when they are needed.
        _ => Ok(()),
    }
}

/// Completes or undoes the commit that was under way.
fn resolve(disk: &impl Disk) -> io::Result<()> {
    let files = disk.list()?;
    if !files.iter().any(|(name, _)| name == COUNTERS_NEXT) {
        return Ok(());
    }
    // Counters that are torn were never followed by a part.
    let Some(next) = read_counters(disk, COUNTERS_NEXT)? else { return undo(disk, &[]) };
    let whole = |part| {
        let file = disk.read(&request_name(next.number, part));
        file.is_ok_and(|file| matches!(format::request_head(&file), Content::Intact(_)))
    };
    if (0..next.parts).all(whole) {
        disk.rename(COUNTERS_NEXT, COUNTERS)?;
        return disk.sync();
    }
    let parts = files.into_iter().map(|(name, _)| name);
    let parts: Vec<String> =
        parts.filter(|name| numbers(name).is_some_and(|(number, _)| number == next.number)).collect();
    undo(disk, &parts)
}

/// Takes back a commit that was not decided. Its counters go last and only after its parts: without them, a part
/// that comes back after a power cut would pass for a committed one.
pub(super) fn undo(disk: &impl Disk, parts: &[String]) -> io::Result<()> {
    for name in parts {
        disk.remove(&temporary(name))?;
        disk.remove(name)?;
    }
    disk.sync()?;
    disk.remove(COUNTERS_NEXT)?;
    disk.sync()
}

/// `None` when they are missing or damaged.
pub(super) fn read_counters(disk: &impl Disk, name: &str) -> io::Result<Option<Counters>> {
    match disk.read(name) {
        Ok(file) => match format::decode_counters(&file) {
            Content::Intact(counters) => Ok(Some(counters)),
            Content::OtherVersion | Content::Damaged => Ok(None),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The commit and the part that a request file's name tells.
pub(super) fn numbers(name: &str) -> Option<(u64, u32)> {
    let (number, part) = name.strip_suffix(".request")?.split_once('-')?;
    let (number, part) = (number.parse().ok()?, part.parse().ok()?);
    // Far beyond what one a minute reaches, and far from the end of u64.
    (number < 1 << 40 && request_name(number, part) == name).then_some((number, part))
}

/// The owner as a field of a line.
pub(super) fn one_word(owner: &str) -> String {
    let word: String = owner.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect();
    if word.is_empty() { "-".to_owned() } else { word }
}
