"""The machine sleeps for minutes and wakes: nothing is lost, and nothing is made up for the time asleep.

The kernel's counters and CLOCK_MONOTONIC stand still meanwhile, and the time of day goes on.
"""

import time

import service
from cloudwatch import Cloudwatch
from lab import Server, dns_name, install, mount, sh, wait_for
from ledger import Ledger, Work
from service import show

FILE_SYSTEM = "fs-0123456789abcdef0"
# Two minutes are slept through at the least, besides the last one, which the interval at the end may reach back into.
ASLEEP = 250


def run(checks):
    mounts = {FILE_SYSTEM: mount(f"{dns_name(Server(1), FILE_SYSTEM)}:/", "/mnt/efs")}
    cloudwatch = Cloudwatch()
    cloudwatch.tell()
    install()
    service.send_all()
    ledger, work = Ledger(cloudwatch, mounts), Work(mounts)
    work.once()
    service.wait_for_a_sample()
    awake, counted_awake = ledger.counted()[FILE_SYSTEM], time.time()
    process = show("MainPID")

    asleep_from, monotonic = time.time(), time.monotonic()
    print(sh(f"rtcwake --mode mem --seconds {ASLEEP}", timeout=900))
    slept, stood = time.time() - asleep_from, time.monotonic() - monotonic
    checks.check("it sleeps, and its monotonic clock stands still", slept >= ASLEEP > stood * 4,
                 f"{slept:.0f} s, {stood:.0f} s of them awake")

    # Until its first sample the status is as old as the sleep was long, and says so.
    wait_for("sample after waking", lambda: sh("efsmon status >/dev/null && echo yes", check=False).endswith("yes\n"))
    work.once()
    service.wait_for_a_sample()
    checks.equal("it is the same process, and never was started again", (show("MainPID"), show("NRestarts")),
                 (process, "0"))
    samples = service.status()["samples"]
    checks.equal("no reading is void", samples["void"], 0)
    service.send_all()
    ledger.check(checks, "before and after: every byte and call once, no more")

    minutes = {datum.minute for datum in cloudwatch.data()}
    slept_through = set(range(int(asleep_from // 60 + 1) * 60, int((asleep_from + slept) // 60 - 1) * 60, 60))
    checks.check("nothing is published of the minutes slept through", slept_through and not minutes & slept_through,
                 f"{len(slept_through)} minutes of {ASLEEP} s")
    early = {metric: sum(total for minute, total in cloudwatch.sums(metric, FileSystemId=FILE_SYSTEM).items()
                         if minute <= counted_awake) - ledger.arrived_before[FILE_SYSTEM][metric] for metric in awake}
    checks.equal("what was done before stands under its own time", early, awake)
