"""Everything that can be mounted, seen by the packaged daemon, and every figure of every minute exact.

Each file system has a server of its own. What the kernel counted is read here, by a program of its own (counters.py);
what arrived in CloudWatch, in the emulator's record.
"""

import collections
import concurrent.futures
import dataclasses
import json
import pathlib
import time

import beside
import counters
import service
from cloudwatch import NAMESPACE, Cloudwatch, stop_when_sent
from efs_utils import EfsUtils
from lab import RESULTS, Server, dns_name, install, mount, sh
from workloads import Minute, create_files, finish, fio


@dataclasses.dataclass(frozen=True)
class Mounted:
    """A file system, where it is mounted first, and where else the same superblock is."""

    what: str
    file_system: str
    path: str
    again: tuple = ()


HELPER_2 = Mounted("efs-utils 2.x", "fs-0123456789abcde01", "/mnt/helper-2")
HELPER_3 = Mounted("efs-utils 3.x", "fs-0123456789abcde02", "/mnt/helper-3")
NAME = Mounted("DNS name, bind mount", "fs-0123456789abcde03", "/mnt/name", ("/mnt/bound",))
ADDRESS = Mounted("address, mounted twice", "fs-0123456789abcde04", "/mnt/address", ("/mnt/address-again",))
SPACE = Mounted("a path with a space", "fs-0123456789abcde05", "/mnt/my data")
HOME = Mounted("below /home", "fs-0123456789abcde06", "/home/user/efs")
LATE = Mounted("mounted after the start", "fs-0123456789abcde07", "/mnt/late")
ALL = [HELPER_2, HELPER_3, NAME, ADDRESS, SPACE, HOME, LATE]

CONFIG = f"""
profile = "full"
[publish]
mount_points = true
[limits]
max_series = 1000
[[mounts]]
mount_point = "{ADDRESS.path}"
file_system_id = "{ADDRESS.file_system}"
"""


def run(checks):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        servers = {mounted: pool.submit(Server, number + 1, 64) for number, mounted in enumerate(ALL)}
        cloudwatch = pool.submit(Cloudwatch).result()
        servers = {mounted: server.result() for mounted, server in servers.items()}
    mount_all(servers)
    cloudwatch.tell()
    print(install(CONFIG))
    began = time.time()
    at_start = counters.read()

    with Minute() as first:
        mount(f"{dns_name(servers[LATE], LATE.file_system)}:/", LATE.path)
        work_of_first_minute()
    with Minute() as second:
        theirs, ours, sampler = work_of_second_minute()
    check_mounts(checks)
    lost = check_daemon(checks, cloudwatch)
    print(sh("efsmon status; efsmon mounts"))
    stop_when_sent()
    ended = time.time()
    print(sh("journalctl --no-pager --unit efsmon"))

    for minute in (first, second):
        paths = [mounted.path for mounted in ALL]
        checks.equal(f"{clock(minute)}: work is over before the rest", minute.unrest(paths), {})
    data = cloudwatch.data()
    check_requests(checks, cloudwatch, data, began, ended)
    checks.equal("SamplesLost is what the status said", sum(cloudwatch.sums("SamplesLost").values()), lost)
    check_series(checks, data, cloudwatch.instance_id())
    for minute in (first, second):
        check_minute(checks, Published(data), minute, cloudwatch.instance_id())
    check_whole(checks, data, at_start, second.after)
    check_statistics(checks, cloudwatch, (first, second))
    check_same_texts(checks, second)
    check_beside(checks, theirs, ours, sampler)


def mount_all(servers):
    helper = EfsUtils()
    helper.mount(servers[HELPER_2], HELPER_2.file_system, HELPER_2.path, 20127)
    helper.mount(servers[HELPER_3], HELPER_3.file_system, HELPER_3.path, 20128, version=3)
    for mounted in (NAME, SPACE, HOME):
        mount(f"{dns_name(servers[mounted], mounted.file_system)}:/", mounted.path)
    bound = pathlib.Path(NAME.again[0])
    bound.mkdir()
    sh(f"mount --bind {NAME.path} {bound}")
    for path in (ADDRESS.path, *ADDRESS.again):
        mount(f"{servers[ADDRESS].address}:/", path)


def work_of_first_minute():
    """Blocks of one size each, another for each mount; HOME is idle."""
    sizes = {HELPER_2: "4k", HELPER_3: "16k", NAME: "64k", ADDRESS: "128k", SPACE: "256k", LATE: "1m"}
    small = {"io_size": "512k"}
    process = fio({mounted.path: {"bs": size, **(small if size == "4k" else {"io_size": "5m"})}
                   for mounted, size in sizes.items()})
    for number, mounted in enumerate(sizes):
        create_files(mounted.path, 10 + number)
    finish(process)


def work_of_second_minute():
    """Small and large blocks, mixed, for 20 seconds, with nfsiostat and `efsmon stat` beside it; SPACE is idle."""
    paths = [HELPER_2.path, HELPER_3.path, NAME.again[0], ADDRESS.again[0], HOME.path, LATE.path]
    process = fio({path: {"rwmixread": 30 + 8 * number} for number, path in enumerate(paths)},
                  bssplit="4k/60:64k/40", rate_iops=20, time_based=None, runtime=22)
    outcome = beside.under_load()
    create_files(HOME.path, 25)
    finish(process)
    return outcome


def check_mounts(checks):
    rows = json.loads(sh("efsmon mounts --json 2>/dev/null"))["mounts"]
    found = {row["mount_point"]: (row["file_system_id"], row["same_as"]) for row in rows}
    for mounted in ALL:
        checks.equal(f"efsmon mounts: {mounted.what}", found.pop(mounted.path, None), (mounted.file_system, None))
        for path in mounted.again:
            checks.equal(f"efsmon mounts: {path}", found.pop(path, None), (mounted.file_system, mounted.path))
    checks.equal("efsmon mounts: no others", found, {})


def check_daemon(checks, cloudwatch):
    status = service.status()
    checks.equal("the daemon sees each file system once", status["sighting"]["file_systems"],
                 {mounted.file_system: 1 for mounted in ALL})
    checks.equal("the host is the instance of the metadata service", status["host_id"], cloudwatch.instance_id())
    checks.equal("that is where the id comes from", status["host_source"], "imds")
    checks.equal("every sample gave a whole text", status["samples"]["void"], 0)
    # On a machine that is too busy it may miss one, and says so.
    return status["samples"]["missed"]


class Published:
    """What arrived, by series and minute."""

    def __init__(self, data):
        self.found = {(datum.metric, frozenset(datum.dimensions.items()), datum.minute): datum for datum in data}

    def totals(self, metrics, minute, **dimensions):
        """Of the metrics that have such a datum."""
        key = frozenset(dimensions.items()), minute.began
        return {metric: self.found[metric, *key].total() for metric in metrics if (metric, *key) in self.found}

    def operations(self, minute, own):
        """The requests of each operation that has any."""
        return {operation: datum.total() for (metric, key, began), datum in self.found.items()
                if metric == "OperationRequests" and began == minute.began and own.items() <= (of := dict(key)).items()
                and (operation := of["Operation"])}


def check_minute(checks, published, minute, host):
    """Every file system's figures of the minute: for all hosts, for this host, by operation, by mount point."""
    for mounted in ALL:
        name = f"{clock(minute)} {mounted.what}"
        grown = minute.grew(mounted.path)
        totals = counters.totals(grown)
        shared = {"FileSystemId": mounted.file_system}
        own = {**shared, "InstanceId": host}
        checks.equal(f"{name}: bytes and operations", plain(published.totals(totals, minute, **shared)), plain(totals))
        checks.equal(f"{name}: the same of this host", plain(published.totals(totals, minute, **own)), plain(totals))
        requests = {operation: numbers["requests"] for operation, numbers in grown.items()
                    if numbers["requests"] and operation not in counters.SESSION}
        checks.equal(f"{name}: each operation", plain(published.operations(minute, own)), plain(requests))
        rates = published.totals(["ReadThroughput", "WriteThroughput"], minute, MountPoint=mounted.path, **own)
        check_rates(checks, f"{name}: the mount point's rates", rates, totals)


def check_rates(checks, name, rates, totals):
    """Rates are over the true time between two readings, and count for whole seconds: a late reading shows in the sum.

    By a tenth at most: when it is a second late it is not taken for the reading of its 10 seconds any more.
    """
    found = {metric: round(rates[f"{metric}Throughput"] * 1048576) for metric in ("Read", "Write")}
    off = {metric: abs(found[metric] / bytes - 1) if (bytes := totals[f"{metric}Bytes"]) else float(found[metric])
           for metric in found}
    checks.check(name, max(off.values()) < 0.1, ", ".join(
        f"{metric} {found[metric]} bytes, {off[metric]:.2%} off" for metric in found))


def check_requests(checks, cloudwatch, data, began, ended):
    requests = cloudwatch.requests()
    sizes = [len(request["MetricData"]) for request in requests]
    checks.check("every request was taken", {request["status"] for request in requests} == {200},
                 f"{len(requests)} requests of {', '.join(map(str, sizes))} data")
    counts = collections.Counter((datum.metric, *sorted(datum.dimensions.items()), datum.minute) for datum in data)
    checks.equal("nothing arrived twice", [key for key, count in counts.items() if count > 1], [])
    expected = list(range(int(began // 60 * 60), int(ended), 60))
    checks.equal("minutes: from start to stop, none missing, no other",
                 [counters.clock(minute) for minute in sorted({datum.minute for datum in data})],
                 [counters.clock(minute) for minute in expected])
    hosts = cloudwatch.sums("Hosts")
    checks.equal("this host reported once a minute", list(hosts.values()), [1.0] * len(expected))
    for metric in ("UnidentifiedMounts", "UnknownOutcomes"):
        checks.equal(metric, sum(cloudwatch.sums(metric).values()), 0)


def check_series(checks, data, host):
    """No series of anything that was not there."""
    values = collections.defaultdict(set)
    for datum in data:
        for name, value in datum.dimensions.items():
            values[name].add(value)
    values.pop("Operation")
    expected = {"FileSystemId": {mounted.file_system for mounted in ALL}, "InstanceId": {host},
                "MountPoint": {mounted.path for mounted in ALL}}
    for name, wanted in expected.items():
        found = ", ".join(sorted(values.pop(name)))
        checks.equal(f"no {name} but those that are there", found, ", ".join(sorted(wanted)))
    checks.equal("no other dimension", dict(values), {})
    checks.equal("all in one namespace", {datum.namespace for datum in data}, {NAMESPACE})
    series = {datum.series() for datum in data}
    checks.check("series", 0 < len(series) <= 1000, len(series))


def check_whole(checks, data, earlier, later):
    """Over all minutes: what was published is what was counted since the unit's start."""
    for metric in counters.METRICS:
        published = sum(datum.total() for datum in data
                        if datum.metric == metric and set(datum.dimensions) == {"FileSystemId"})
        counted = sum(counters.totals(counters.growth(earlier, later, mounted.path))[metric] for mounted in ALL)
        checks.equal(f"{metric} of all file systems and minutes", int(published), counted)


def check_statistics(checks, cloudwatch, minutes):
    """What CloudWatch itself gives back, asked by AWS's own client."""
    for minute in minutes:
        found = cloudwatch.statistics(counters.METRICS, [mounted.file_system for mounted in ALL], minute.began)
        expected = {(metric, mounted.file_system): total for mounted in ALL
                    for metric, total in counters.totals(minute.grew(mounted.path)).items()}
        different = {key: (found.get(key), total) for key, total in expected.items() if found.get(key) != total}
        checks.check(f"{clock(minute)}: GetMetricData gives the same", not different,
                     different or f"{len(found)} sums")


def check_same_texts(checks, minute):
    theirs, ours = beside.on_texts(minute.before, minute.done)
    for name, text in (("nfsiostat", theirs), ("efsmon-stat", ours)):
        (RESULTS / f"{name}.same-texts").write_text(text)
    theirs, ours = theirs.strip().splitlines(), ours.strip().splitlines()
    different = [f"{line!r}, not {wanted!r}" for line, wanted in zip(ours, theirs) if line != wanted]
    checks.check("stat --nfsiostat and nfsiostat print the same of the same texts", theirs == ours,
                 "; ".join(different) or f"{len(theirs)} and {len(ours)} lines")


def check_beside(checks, theirs, ours, sampler, interval=10):
    """Each figure within what the counters allow, by when the program can have read them."""
    both = {}
    for name, run in (("nfsiostat", theirs), ("efsmon stat", ours)):
        text = run.wait_for_report(2)
        (RESULTS / f"{name.replace(' ', '-')}.under-load").write_text(text)
        both[name] = beside.figures(text)
        outside, compared, width = [], 0, []
        for (mount_point, direction), columns in both[name].items():
            limits = beside.bounds(run, sampler, interval, name == "nfsiostat", mount_point,
                                   beside.DIRECTIONS[direction])
            for column, value in columns.items():
                if value is None:
                    continue
                least, most = limits[column]
                compared += 1
                if not least - value[1] * 1.001 <= value[0] <= most + value[1] * 1.001:
                    outside.append(f"{mount_point} {direction} {column}: {value[0]}, not {least:.3f} to {most:.3f}")
                if column == "ops/s" and most:
                    width.append(f"{value[0]:.1f} of {least:.1f}-{most:.1f}")
        checks.check(f"{name} {interval} 2 under load: each figure as counted", not outside and compared > 60,
                     "; ".join(outside) or f"{compared} figures; ops/s {', '.join(width[:4])}")
    # What has several names nfsiostat shows under each, and efsmon once; what is idle, without figures.
    again = {path for mounted in ALL for path in mounted.again}
    busy = {path for (path, _), columns in both["nfsiostat"].items() if columns["ops/s"][0] > 0 and path not in again}
    checks.equal("both saw the same mounts at work", sorted({path for path, _ in both["efsmon stat"]}), sorted(busy))


def clock(minute):
    return counters.clock(minute.began)


def plain(numbers):
    """On one line, in order: `READ 12, WRITE 3`."""
    return ", ".join(f"{name} {number:.0f}" for name, number in sorted(numbers.items()))
