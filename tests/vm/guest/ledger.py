"""In the virtual machine: what the kernel counted, held against what arrived."""

import collections
import pathlib
import subprocess
import time

import counters
from counters import METRICS
from lab import sh, wait_for


class Ledger:
    """Mounts, each of a file system of its own, since efsmon first read their counters."""

    def __init__(self, cloudwatch, mounts):
        self.cloudwatch, self.mounts = cloudwatch, mounts
        self.begun, self.arrived_before = quiet(mounts), self.arrived()

    def counted(self):
        """What the kernel counted since then."""
        now = quiet(self.mounts)
        return {file_system: counters.totals(counters.growth(self.begun, now, path))
                for file_system, path in self.mounts.items()}

    def arrived(self):
        """What CloudWatch would add up, of all time."""
        return {file_system: {metric: sum(self.cloudwatch.sums(metric, FileSystemId=file_system).values())
                              for metric in METRICS} for file_system in self.mounts}

    def published(self):
        """What arrived since then."""
        return {file_system: {metric: total - self.arrived_before[file_system][metric]
                              for metric, total in totals.items()} for file_system, totals in self.arrived().items()}

    def check(self, checks, name, seconds=30):
        """That all that was counted arrives, and no more, now that nothing is going on."""
        counted = self.counted()
        try:
            wait_for("equal figures", lambda: self.published() == counted, seconds, every=1)
            # A second copy of a request would come now.
            time.sleep(2)
        except TimeoutError:
            pass
        published = self.published()
        checks.check(name, published == counted and any_of(counted), in_short(counted, published))


def any_of(figures):
    return any(value for totals in figures.values() for value in totals.values())


def in_short(counted, published):
    """The sums over all file systems, and beside them what differs."""
    sums, differences = collections.Counter(), []
    for file_system, totals in counted.items():
        sums.update(totals)
        differences += [f"{file_system} {metric}: {published[file_system][metric]:.0f}, not {value}"
                        for metric, value in totals.items() if published[file_system][metric] != value]
    operations = sum(sums[metric] for metric in METRICS if metric.endswith("Operations"))
    return "; ".join(differences) or f"{sums['ReadBytes'] + sums['WriteBytes']:,} bytes in {operations:,} operations"


def quiet(mounts):
    """The counters' text when they no longer move."""
    def still():
        before = counters.read()
        time.sleep(0.5)
        now = counters.read()
        figures = [[counters.operations(text, path) for path in mounts.values()] for text in (before, now)]
        return now if counted_of(figures[0]) == counted_of(figures[1]) else None

    return wait_for("quiet mounts", still, seconds=60)


def counted_of(figures):
    return [counters.totals(operations) for operations in figures]


class Work:
    """Reads, writes and makes files on every mount, once or for as long as it lasts."""

    STOP = pathlib.Path("/tmp/work.stop")

    def __init__(self, mounts):
        paths = " ".join(f"'{path}'" for path in mounts.values())
        self.round = f"""for path in {paths}; do
            dd if=/dev/zero of="$path/data" bs=64k count=8 oflag=direct status=none && touch "$path/new" &&
            dd if="$path/data" of=/dev/null bs=64k iflag=direct status=none && rm "$path/new"
        done"""

    def once(self):
        sh(self.round)

    def __enter__(self):
        self.STOP.unlink(missing_ok=True)
        self.process = subprocess.Popen(["bash", "-c", f"until [ -e {self.STOP} ]; do {self.round}; done"],
                                        stdin=subprocess.DEVNULL)
        time.sleep(2)

    def __exit__(self, *_):
        self.STOP.touch()
        self.process.wait(60)
