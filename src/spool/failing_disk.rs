//! A disk in memory that runs out of space, turns read-only, or loses power at any step: then a random subset of the
//! renames and removals since the last sync is lost, and any part of the contents not yet synced.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use super::Disk;

type Inode = usize;

#[derive(Clone, Debug)]
enum Change {
    Link(String, Inode),
    Unlink(String),
    Rename { from: String, to: String, inode: Inode },
}

#[derive(Clone, Debug, Default)]
struct File {
    content: Vec<u8>,
    /// This many bytes survive a power cut.
    durable: usize,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<File>,
    live: BTreeMap<String, Inode>,
    durable: BTreeMap<String, Inode>,
    /// Since the last sync.
    changes: Vec<Change>,
    /// Steps until the power goes; `None`: never.
    power: Option<usize>,
    steps: usize,
    /// This step fails, and only this one.
    failing_step: Option<usize>,
    capacity: Option<usize>,
    read_only: bool,
    unreadable: Option<String>,
}

/// Clones are the same disk: the test keeps one.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailingDisk(Rc<RefCell<State>>);

impl FailingDisk {
    /// The power goes before the step after `steps` more.
    pub(crate) fn cut_power_after(&self, steps: usize) {
        self.0.borrow_mut().power = Some(steps);
    }

    /// The step after `steps` more fails; those after it do not.
    pub(crate) fn fail_once_after(&self, steps: usize) {
        let mut state = self.0.borrow_mut();
        state.failing_step = Some(state.steps + steps + 1);
    }

    /// Bytes that all contents together may have.
    pub(crate) fn set_capacity(&self, bytes: Option<usize>) {
        self.0.borrow_mut().capacity = bytes;
    }

    pub(crate) fn set_read_only(&self, read_only: bool) {
        self.0.borrow_mut().read_only = read_only;
    }

    /// Reading this file fails.
    pub(crate) fn set_unreadable(&self, name: Option<&str>) {
        self.0.borrow_mut().unreadable = name.map(str::to_owned);
    }

    /// Flips one bit of the last byte.
    pub(crate) fn damage(&self, name: &str) {
        let mut state = self.0.borrow_mut();
        let inode = state.live[name];
        *state.files[inode].content.last_mut().expect("a byte") ^= 1;
    }

    /// Writes a file past all failures.
    pub(crate) fn plant(&self, name: &str, content: &[u8]) {
        let mut state = self.0.borrow_mut();
        let inode = state.files.len();
        state.files.push(File { content: content.to_owned(), durable: content.len() });
        state.live.insert(name.to_owned(), inode);
        state.durable.insert(name.to_owned(), inode);
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.borrow().live.keys().cloned().collect()
    }

    /// The disk as the next start finds it after a power cut.
    pub(crate) fn after_power_cut(&self, rng: &mut fastrand::Rng) -> FailingDisk {
        let state = self.0.borrow();
        let mut survivors = state.durable.clone();
        for change in &state.changes {
            if rng.bool() {
                apply(&mut survivors, change);
            }
        }
        let disk = FailingDisk::default();
        for (name, inode) in survivors {
            let File { content, durable } = &state.files[inode];
            disk.plant(&name, &content[..rng.usize(*durable..=content.len())]);
        }
        disk
    }

    /// The disk as the next start finds it after the process was killed: everything that it did is there.
    pub(crate) fn after_kill(&self) -> FailingDisk {
        let state = self.0.borrow();
        let disk = FailingDisk::default();
        for (name, inode) in &state.live {
            disk.plant(name, &state.files[*inode].content);
        }
        disk
    }

    fn step(&self) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        match &mut state.power {
            Some(0) => return Err(io::Error::other("power cut")),
            Some(steps) => *steps -= 1,
            None => {}
        }
        state.steps += 1;
        if state.failing_step == Some(state.steps) {
            return Err(io::Error::other("input/output error"));
        }
        match state.read_only {
            true => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            false => Ok(()),
        }
    }
}

fn apply(names: &mut BTreeMap<String, Inode>, change: &Change) {
    match change {
        Change::Link(name, inode) => drop(names.insert(name.clone(), *inode)),
        Change::Unlink(name) => drop(names.remove(name)),
        Change::Rename { from, to, inode } => {
            names.remove(from);
            names.insert(to.clone(), *inode);
        }
    }
}

impl State {
    fn change(&mut self, change: Change) {
        apply(&mut self.live, &change);
        self.changes.push(change);
    }
}

impl Disk for FailingDisk {
    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        let state = self.0.borrow();
        Ok(state
            .live
            .iter()
            .map(|(name, inode)| (name.clone(), state.files[*inode].content.len() as u64))
            .collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let state = self.0.borrow();
        if state.unreadable.as_deref() == Some(name) {
            return Err(io::Error::other("input/output error"));
        }
        let inode = state.live.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(state.files[*inode].content.clone())
    }

    fn write_durable(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.step()?;
        let inode = {
            let mut state = self.0.borrow_mut();
            match state.live.get(name).copied() {
                Some(inode) => {
                    state.files[inode] = File::default();
                    inode
                }
                None => {
                    let inode = state.files.len();
                    state.files.push(File::default());
                    state.change(Change::Link(name.to_owned(), inode));
                    inode
                }
            }
        };
        self.step()?;
        let full = {
            let mut state = self.0.borrow_mut();
            let used: usize = state.live.values().map(|inode| state.files[*inode].content.len()).sum();
            let free = state.capacity.map_or(usize::MAX, |capacity| capacity.saturating_sub(used));
            state.files[inode].content = content[..content.len().min(free)].to_owned();
            free < content.len()
        };
        if full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.step()?;
        self.0.borrow_mut().files[inode].durable = content.len();
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.step()?;
        let mut state = self.0.borrow_mut();
        let inode = *state.live.get(from).ok_or(io::ErrorKind::NotFound)?;
        state.change(Change::Rename { from: from.to_owned(), to: to.to_owned(), inode });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.step()?;
        let mut state = self.0.borrow_mut();
        if state.live.contains_key(name) {
            state.change(Change::Unlink(name.to_owned()));
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.step()?;
        let mut state = self.0.borrow_mut();
        state.durable = state.live.clone();
        state.changes.clear();
        Ok(())
    }
}
