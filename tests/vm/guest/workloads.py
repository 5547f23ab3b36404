"""In the virtual machine: work on mounts, that ends in time.

Minutes can be compared exactly when nothing happens around their ends: which of the daemon's readings belongs to which
minute then does not hang on how busy this machine is. Work begins at WORK of a minute and is over before REST.
"""

import pathlib
import subprocess
import time

import counters
from lab import wait_for

# Seconds of a minute.
WORK, REST, BEGUN = 12, 52, 8


class Minute:
    """A minute in which work is done: `with Minute() as minute` waits for its time, and for its end.

    `began` is when the minute did, in seconds since 1970; `before`, `done` and `after` are the kernel's texts: before
    the work, after it, and when the next minute has begun.
    """

    def __enter__(self):
        if not BEGUN <= time.time() % 60 < WORK:
            counters.wait_for_second(BEGUN)
        self.began = int(time.time() // 60 * 60)
        self.before = counters.read()
        counters.wait_for_second(WORK)
        return self

    def __exit__(self, failure, *_):
        if failure:
            return
        if time.time() < self.began + REST:
            counters.wait_for_second(REST)
        self.done = counters.read()
        counters.wait_for_second(BEGUN)
        self.after = counters.read()

    def grew(self, mount_point):
        return counters.growth(self.before, self.after, mount_point)

    def unrest(self, mount_points):
        """What happened when nothing should; by mount point, where anything did."""
        grown = {path: counters.totals(counters.growth(self.done, self.after, path)) for path in mount_points}
        return {path: totals for path, totals in grown.items() if any(totals.values())}


def fio(jobs, **options):
    """Starts fio, with a job for each directory: `jobs` maps them to options of their own."""
    settings = {"ioengine": "libaio", "direct": 1, "iodepth": 4, "thread": None, "rw": "randrw", "size": "4m",
                "fallocate": "none", "randrepeat": 0, **options}
    lines = ["[global]", *map(option, settings.items())]
    for number, (directory, own) in enumerate(jobs.items()):
        lines += [f"[{number}]", f"directory={directory}", "filename=fio.data", *map(option, own.items())]
    file = pathlib.Path(f"/tmp/{time.monotonic_ns()}.fio")
    file.write_text("\n".join(lines) + "\n")
    # The daemon is to be kept from its work no more than by any other busy program.
    return subprocess.Popen(["nice", "fio", "--output-format=terse", f"--output={file}.out", file])


def option(setting):
    name, value = setting
    return name if value is None else f"{name}={value}"


def finish(process, seconds=60):
    """Until it is done."""
    wait_for(f"end of {process.args}", lambda: process.poll() is not None, seconds)
    if process.returncode:
        raise RuntimeError(f"{process.args}: exit status {process.returncode}")


def create_files(directory, count):
    """Files that stay empty: metadata alone, as touch in a loop."""
    for number in range(count):
        pathlib.Path(directory, f"{time.monotonic_ns()}-{number}").touch()
