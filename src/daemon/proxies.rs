//! What the mount helper's proxies (efs-proxy, stunnel) use: one process a mount, which the helper's state names.
//!
//! A number alone is not believed: the process must have a proxy's name, and later on have started when it did. Where
//! the mount helper runs in a pod, the number is the pod's: then the process is looked for that calls itself so.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use crate::catalog::ProxyUse;
use crate::efs::{HelperMount, state_of_proxy};
use crate::model::FileSystemId;
use crate::monitor::ProxiedMount;
use crate::mountinfo::DeviceNumber;
use crate::source::{Process, Source};

/// The programs that amazon-efs-utils starts (`mount_efs`), as distributions name them.
const PROXIES: [&str; 4] = ["efs-proxy", "stunnel", "stunnel5", "stunnel4"];
/// How long nothing is looked up anew for mounts whose proxy was not found.
const PAUSE: Duration = Duration::from_secs(60);

/// The process of each mount.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    known: HashMap<DeviceNumber, Proxy>,
    /// Mounts whose proxy was looked for in vain.
    missing: HashSet<DeviceNumber>,
    /// CLOCK_MONOTONIC of the last reading; of the last look at the helper's state, and at all processes.
    last: Option<Duration>,
    looked: Option<Duration>,
    searched: Option<Duration>,
}

#[derive(Debug)]
struct Proxy {
    port: u16,
    process: Process,
}

impl Proxies {
    /// What the proxies of each file system's mounts used since the reading before; not of a file system that has a
    /// mount whose proxy is not known. `helper_state` is asked only when there is such a mount.
    pub(super) fn observe(
        &mut self,
        source: &Source,
        now: Duration,
        mounts: &[ProxiedMount],
        helper_state: impl FnOnce() -> Vec<HelperMount>,
    ) -> BTreeMap<FileSystemId, ProxyUse> {
        let elapsed = self.last.replace(now).map(|last| now.saturating_sub(last));
        let mut before = std::mem::take(&mut self.known);
        let mut used: HashMap<DeviceNumber, ProxyUse> = HashMap::new();
        let mut lost = Vec::new();
        for mount in mounts {
            match before.remove(&mount.number).and_then(|proxy| proxy.still(mount, source)) {
                Some((proxy, more)) => {
                    used.insert(mount.number, more);
                    self.known.insert(mount.number, proxy);
                }
                None => lost.push(mount),
            }
        }
        for (mount, process) in self.find(source, now, &lost, helper_state) {
            // One that came with its mount has used for it all that it has; of another, that is not known yet.
            if elapsed.is_some_and(|elapsed| mount.age <= elapsed) {
                used.insert(mount.number, ProxyUse { cpu_ms: process.cpu_ms, memory: process.memory });
            }
            self.known.insert(mount.number, Proxy { port: mount.port, process });
        }
        let lost = lost.iter().map(|mount| mount.number);
        self.missing = lost.filter(|number| !self.known.contains_key(number)).collect();
        sums(mounts, &used)
    }

    /// The processes of these mounts, as far as they can be found.
    fn find<'m>(
        &mut self,
        source: &Source,
        now: Duration,
        lost: &[&'m ProxiedMount],
        helper_state: impl FnOnce() -> Vec<HelperMount>,
    ) -> Vec<(&'m ProxiedMount, Process)> {
        let is_due = |last: Option<Duration>| last.is_none_or(|last| now.saturating_sub(last) >= PAUSE);
        if lost.iter().all(|mount| self.missing.contains(&mount.number)) && !is_due(self.looked) {
            return Vec::new();
        }
        if lost.is_empty() {
            return Vec::new();
        }
        self.looked = Some(now);
        let helper = helper_state();
        let named = lost.iter().filter_map(|mount| Some((*mount, pid_of(mount, &helper)?)));
        let (mut found, mut elsewhere) = (Vec::new(), Vec::new());
        for (mount, pid) in named {
            match source.innermost_pid(pid) == Some(pid) && is_proxy(source.process(pid).as_ref()) {
                true => found.push((mount, pid)),
                false => elsewhere.push((mount, pid)),
            }
        }
        if !elsewhere.is_empty() && is_due(self.searched) {
            self.searched = Some(now);
            let mut by_own_number: HashMap<u32, Vec<u32>> = HashMap::new();
            for pid in source.processes_named(&PROXIES) {
                if let Some(own) = source.innermost_pid(pid) {
                    by_own_number.entry(own).or_default().push(pid);
                }
            }
            let only = |own: u32| match by_own_number.get(&own).map(Vec::as_slice) {
                Some([pid]) => Some(*pid),
                _ => None,
            };
            found.extend(elsewhere.into_iter().filter_map(|(mount, own)| Some((mount, only(own)?))));
        }
        // A proxy serves one mount: of several that claim it, none is believed.
        let mut claims: HashMap<u32, usize> =
            self.known.values().map(|proxy| (proxy.process.pid, 1)).collect();
        found.iter().for_each(|(_, pid)| *claims.entry(*pid).or_default() += 1);
        found.retain(|(_, pid)| claims.get(pid) == Some(&1));
        let process = |pid| source.process(pid).filter(|process| is_proxy(Some(process)));
        found.into_iter().filter_map(|(mount, pid)| Some((mount, process(pid)?))).collect()
    }
}

impl Proxy {
    /// The same process now, and what it used since, if it is still this mount's.
    fn still(self, mount: &ProxiedMount, source: &Source) -> Option<(Proxy, ProxyUse)> {
        let earlier = self.process;
        let process = source.process(earlier.pid)?;
        let same =
            self.port == mount.port && process.started == earlier.started && process.comm == earlier.comm;
        let cpu_ms = process.cpu_ms.checked_sub(earlier.cpu_ms).filter(|_| same)?;
        let used = ProxyUse { cpu_ms, memory: process.memory };
        Some((Proxy { port: self.port, process }, used))
    }
}

fn is_proxy(process: Option<&Process>) -> bool {
    process.is_some_and(|process| PROXIES.contains(&process.comm.as_str()))
}

fn pid_of(mount: &ProxiedMount, helper: &[HelperMount]) -> Option<u32> {
    let state = |point: &String| state_of_proxy(helper, point, mount.port, mount.port_is_shared);
    let mut states = mount.mount_points.iter().filter_map(state);
    states.find(|state| state.identity.file_system == mount.file_system)?.pid
}

/// The sum for each file system, of all whose every mount is known.
fn sums(mounts: &[ProxiedMount], used: &HashMap<DeviceNumber, ProxyUse>) -> BTreeMap<FileSystemId, ProxyUse> {
    let mut sums: BTreeMap<&FileSystemId, Option<ProxyUse>> = BTreeMap::new();
    for mount in mounts {
        let sum = sums.entry(&mount.file_system).or_insert(Some(ProxyUse::default()));
        let more = used.get(&mount.number);
        *sum = sum.zip(more).map(|(sum, more)| ProxyUse {
            cpu_ms: sum.cpu_ms.saturating_add(more.cpu_ms),
            memory: sum.memory.saturating_add(more.memory),
        });
    }
    sums.into_iter().filter_map(|(file_system, sum)| Some((file_system.clone(), sum?))).collect()
}

#[cfg(test)]
mod tests;
