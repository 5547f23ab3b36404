"""Faults, one after another, under the packaged daemon: none costs a figure, and none holds up what is well.

Two file systems: FAULTY is unmounted, remounted and loses its server; STEADY gets some work in every minute, and each
of its minutes must arrive exactly, whatever happens beside it. Minutes: 0 remounts, 1 and 2 a server that hangs and a
restart meanwhile, 3 a kill, 3 to 5 an outage of CloudWatch, then the watchdog. What the kernel counted is read here
(counters.py), between two pieces of work, so that each belongs to one minute alone.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

import counters
from cloudwatch import Cloudwatch, data, stop_when_sent
from counters import clock
from lab import Server, dns_name, install, mount, sh, wait_for
from service import is_active, show, status

FAULTY, STEADY = "fs-0123456789abcdef1", "fs-0123456789abcdef2"
AT = {FAULTY: "/mnt/faulty", STEADY: "/mnt/steady"}
METRICS = ("ReadBytes", "WriteBytes", "ReadOperations", "WriteOperations")
# Seconds in which a command answers; a machine without KVM takes most of one to start a program.
SOON = 15


def run(checks):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        servers = [pool.submit(Server, number, 64) for number in (1, 2)]
        cloudwatch = pool.submit(Cloudwatch).result()
        faulty, steady = (server.result() for server in servers)
    sources = {FAULTY: f"{dns_name(faulty, FAULTY)}:/", STEADY: f"{dns_name(steady, STEADY)}:/"}
    for file_system, source in sources.items():
        mount(source, AT[file_system])
    cloudwatch.tell()
    print(install())
    published = Published(cloudwatch)
    work = Work()
    work.start()

    remounted = remounts(checks, sources[FAULTY])
    hung = hang(checks, faulty)
    kill(checks)
    outage(checks, published)
    work.stop()
    check_steady(checks, published, work)
    check_remounts(checks, published, *remounted)
    check_hang(checks, published, *hung)
    watchdog(checks, published)
    check_all(checks, published)
    print(sh("journalctl --no-pager -u efsmon"))


def write_and_read(path, blocks):
    """Some work that is over soon, past the page cache."""
    file = f"{path}/data"
    sh(f"dd if=/dev/zero of={file} bs=256k count={blocks} oflag=direct conv=notrunc status=none; "
       f"dd if={file} of=/dev/null bs=256k count={blocks} iflag=direct status=none")


def bytes_and_operations(grown):
    """What READ and WRITE are to be published with."""
    totals = counters.totals(grown)
    return {metric: totals[metric] for metric in METRICS}


class Work(threading.Thread):
    """In each minute some more work on STEADY than in the one before, done by half past; and what was counted."""

    def __init__(self):
        super().__init__(daemon=True)
        # Seconds since 1970 of the minute's begin: the text that was read before its work.
        self.texts, self.done, self.late = {}, threading.Event(), []

    def run(self):
        blocks = 3
        while True:
            minute = counters.wait_for_second(4)
            self.texts[minute] = counters.read()
            if self.done.is_set():
                return
            counters.wait_for_second(12)
            write_and_read(AT[STEADY], blocks)
            blocks += 1
            if time.time() > minute + 52:
                self.late.append(minute)

    def stop(self):
        """After the minute that it is."""
        self.done.set()
        self.join()

    def minutes(self):
        """What each minute's work was counted with."""
        texts = sorted(self.texts.items())
        return {minute: bytes_and_operations(counters.growth(before, after, AT[STEADY]))
                for (minute, before), (_, after) in zip(texts, texts[1:])}


class Published:
    """What arrived in CloudWatch; a request that arrived twice is counted once, and told."""

    def __init__(self, cloudwatch):
        self.cloudwatch = cloudwatch

    def requests(self):
        taken = [request for request in self.cloudwatch.requests() if request["status"] == 200]
        different = {json.dumps(request["MetricData"]): request for request in reversed(taken)}
        return sorted(different.values(), key=lambda request: request["arrived"]), len(taken) - len(different)

    def data(self, file_system):
        """Of all hosts together, as of one host in another series."""
        return [datum for request in self.requests()[0] for datum in data(request)
                if datum.dimensions == {"FileSystemId": file_system}]

    def sums(self, file_system, begin=0, end=float("inf")):
        """Of the minutes from `begin` to `end`."""
        sums = collections.Counter({metric: 0 for metric in METRICS})
        for datum in self.data(file_system):
            if datum.metric in METRICS and begin <= datum.minute < end:
                sums[datum.metric] += round(datum.total())
        return dict(sums)

    def arrivals(self, file_system):
        """When the last of each minute arrived."""
        return {datum.minute: datum.arrived for datum in self.data(file_system)}

    def stalled(self, file_system):
        """The Maximum of MountStalled by minute."""
        stalled = {}
        for datum in self.data(file_system):
            if datum.metric == "MountStalled":
                stalled[datum.minute] = int(max([stalled.get(datum.minute, 0), *datum.values]))
        return stalled

    def wait_for_minute(self, minute, seconds=150):
        wait_for(f"data of {clock(minute)}", lambda: minute in self.arrivals(STEADY), seconds, every=1)


def remounts(checks, source):
    """The counters of an unmounted file system are gone, and those of a new mount begin at 0."""
    path = AT[FAULTY]
    minute = counters.wait_for_second(4)
    before = counters.read()
    counters.wait_for_second(12)
    write_and_read(path, 12)
    # What happens between the last reading and the unmount is lost, and documented so: it is quiet meanwhile.
    counters.wait_for_second(32)
    old = counters.read()
    sh(f"umount {path}")
    mount(source, path)
    write_and_read(path, 3)
    new = counters.read()
    sh(f"mount -o remount,rsize=65536 {path} || mount -o remount {path}")
    remounted = counters.read()
    write_and_read(path, 2)
    last = counters.read()
    checks.check("remounts: done before the minute ends", time.time() < minute + 58,
                 f"{time.time() - minute:.0f} s of it")
    parts = [bytes_and_operations(counters.growth(before, old, path)),
             bytes_and_operations(counters.operations(last, path))]
    expected = {metric: sum(part[metric] for part in parts) for metric in METRICS}
    kept = bytes_and_operations(counters.growth(new, remounted, path))
    checks.equal("mount -o remount: the kernel counts on", kept, dict.fromkeys(METRICS, 0))
    return minute, expected


def check_remounts(checks, published, minute, expected):
    found = published.sums(FAULTY, minute, minute + 60)
    checks.equal("remounts: published is what both mounts counted", found, expected)


def hang(checks, server):
    """The server of FAULTY hears nothing for 95 seconds, under load; STEADY and the commands do not wait for it."""
    path = AT[FAULTY]
    sh(f"for n in {{1..60}}; do : > {path}/old$n; done")
    first = counters.wait_for_second(2)
    before = counters.read()
    load = subprocess.Popen(["bash", "-c", f"""
        for n in {{1..60}}; do
            dd if=/dev/zero of={path}/old$n bs=64k count=4 oflag=direct conv=notrunc status=none &
            sleep 2
            [ ! -e /tmp/enough ] || break
        done
        wait"""], stdin=subprocess.DEVNULL)
    # The reading at :10, or at :20 on a slow machine, shows a request without an answer; the one at :50, that 30 s passed.
    counters.wait_for_second(4)
    server.drop()
    dropped = time.time()
    wait_until(first + 55)
    answers = {}
    for command in ("efsmon status --json", "efsmon mounts --json", "efsmon stat"):
        begun = time.monotonic()
        answers[command] = sh(f"{command} 2>/dev/null", timeout=120)
        seconds = time.monotonic() - begun
        checks.check(f"{command.split(' --')[0]} answers while the server hangs", seconds < SOON, f"{seconds:.1f} s")
    stalled = {row["mount_point"]: row["stalled"] for row in json.loads(answers["efsmon mounts --json"])["mounts"]}
    checks.equal("efsmon mounts: which are stalled", stalled, {AT[FAULTY]: True, AT[STEADY]: False})
    samples = json.loads(answers["efsmon status --json"])["samples"]
    checks.equal("no reading is void or missed meanwhile", (samples["void"], samples["missed"]), (0, 0))
    wait_until(first + 62)
    begun = time.monotonic()
    sh("systemctl restart efsmon", timeout=180)
    seconds = time.monotonic() - begun
    checks.check("systemctl restart while the server hangs", seconds < SOON, f"{seconds:.1f} s")
    wait_until(first + 103)
    server.restore()
    restored = time.time()
    pathlib.Path("/tmp/enough").touch()
    load.wait(150)
    print(f"dropped for {restored - dropped:.0f} s, all work done {time.time() - restored:.0f} s later")
    return first, before, counters.read(), int(time.time() // 60 * 60 + 60)


def check_hang(checks, published, first, before, after, calm):
    """`calm`: the first minute that began when all was well again."""
    stalled = published.stalled(FAULTY)
    found = {clock(minute): stalled.get(minute) for minute in (first - 60, first, calm)}
    checks.equal("MountStalled: 0 before, 1 while it hangs, 0 after", found,
                 {clock(first - 60): 0, clock(first): 1, clock(calm): 0})
    checks.equal("MountStalled of the other mount", set(published.stalled(STEADY).values()), {0})
    checks.equal("hang and restart: published is what was counted", published.sums(FAULTY, first, calm),
                 bytes_and_operations(counters.growth(before, after, AT[FAULTY])))
    arrivals = published.arrivals(STEADY)
    delays = [arrivals.get(minute, float("inf")) - minute - 60 for minute in (first - 60, first)]
    checks.check("hang: the other mount's minutes arrive within a minute", max(delays) < 60,
                 f"{', '.join(f'{delay:.0f}' for delay in delays)} s after their ends")


def kill(checks):
    """kill -9 between two readings; systemd starts it again."""
    counters.wait_for_second(42)
    killed = daemon()
    os.kill(killed, signal.SIGKILL)
    begun = time.monotonic()
    wait_for("another daemon", lambda: daemon() not in (0, killed) and is_active(), 120)
    print(f"kill -9: running again after {time.monotonic() - begun:.1f} s")
    checks.equal("kill -9: started again, once", show("NRestarts"), "1")


def outage(checks, published):
    """CloudWatch refuses connections for two minutes."""
    first = int(time.time() // 60 * 60)
    sh("nft -f - <<< 'table ip outage { chain out { type filter hook output priority 0; "
       "tcp dport 4566 reject with tcp reset; }; }'")
    # What had arrived by now is answered within the second.
    begun = time.time() + 1
    wait_until(first + 176)
    waits = status()["spool"]
    sh("nft delete table ip outage")
    ended = time.time()
    arrived = [request for request in published.requests()[0] if begun < request["arrived"] < ended]
    checks.check("outage: nothing gets out", not arrived,
                 f"{ended - begun:.0f} s; {waits['data']} data in {waits['files']} files wait")
    minutes = range(first, first + 120, 60)
    wait_for("backlog in CloudWatch", lambda: set(minutes) <= set(published.arrivals(STEADY)), 240, every=1)
    delays = [published.arrivals(STEADY)[minute] - ended for minute in minutes]
    checks.check("outage: the backlog arrives, each minute under its own time", max(delays) < 240,
                 f"{', '.join(f'{delay:.0f}' for delay in delays)} s after its end")


def check_steady(checks, published, work):
    """Every minute of it, through everything."""
    checks.equal("work was over long before its minute ended", [clock(minute) for minute in work.late], [])
    minutes = work.minutes()
    published.wait_for_minute(max(minutes), seconds=200)
    found = {clock(minute): published.sums(STEADY, minute, minute + 60) for minute in minutes}
    expected = {clock(minute): totals for minute, totals in minutes.items()}
    wrong = {minute: (found[minute], totals) for minute, totals in expected.items() if found[minute] != totals}
    wrote = [totals["WriteBytes"] for totals in expected.values()]
    checks.check("the other mount: each minute is exact, through all of it", not wrong and len(minutes) >= 6,
                 wrong or f"{len(minutes)} minutes, WriteBytes {', '.join(map(str, wrote))}")


def watchdog(checks, published):
    """A daemon that does nothing any more is ended by systemd, and started again. The packaged 90 s are cut to 20."""
    path = AT[FAULTY]
    sh("mkdir -p /run/systemd/system/efsmon.service.d && "
       "printf '[Service]\\nWatchdogSec=20s\\n' > /run/systemd/system/efsmon.service.d/watchdog.conf && "
       "systemctl daemon-reload && systemctl restart efsmon", timeout=180)
    begin, before = int(time.time() // 60 * 60), counters.read()
    already = published.sums(FAULTY, begin)
    stopped = daemon()
    os.kill(stopped, signal.SIGSTOP)
    begun = time.monotonic()
    write_and_read(path, 6)
    wait_for("another daemon", lambda: daemon() not in (0, stopped) and is_active(), 180)
    seconds = time.monotonic() - begun
    checks.check("watchdog: a daemon that stands still is replaced", show("NRestarts") == "1",
                 f"after {seconds:.0f} s, result {sh('journalctl -u efsmon -o cat').count('Watchdog timeout')} timeout")
    counters.wait_for_second(4)
    stop_when_sent()
    grown = bytes_and_operations(counters.growth(before, counters.read(), path))
    found = published.sums(FAULTY, begin)
    checks.equal("watchdog: what happened meanwhile is published",
                 {metric: found[metric] - already[metric] for metric in METRICS}, grown)


def check_all(checks, published):
    """Of all that arrived."""
    requests, repeated = published.requests()
    values = [value for request in requests for datum in data(request) for value in datum.values]
    checks.check("no negative number", min(values) >= 0, f"{len(values)} values in {len(requests)} requests")
    checks.check("a request arrives at most twice, after kill -9 alone", repeated <= 1, f"{repeated} repeated")
    text = counters.read()
    whole = bytes_and_operations(counters.operations(text, AT[STEADY]))
    checks.equal("the other mount: all together since it was mounted", published.sums(STEADY), whole)


def wait_until(moment):
    time.sleep(max(0, moment - time.time()))


def daemon():
    return int(show("MainPID"))
