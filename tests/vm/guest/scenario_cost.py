"""What efsmon costs a host with six mounts, and in the same minutes the script from cron that it replaces.

Both are measured by the kernel, each in a control group of its own: every process that belongs to it, to the microsecond.
"""

import pathlib
import subprocess
import time

import counters
from cloudwatch import REGION, URL, Cloudwatch
from lab import OPTIONS, Server, dns_name, install, mount, sh, wait_for
from ledger import Work
from service import show

MINUTES = 3
SCRIPT = pathlib.Path("/job/cron_script")
SCRIPT_GROUP = pathlib.Path("/sys/fs/cgroup/cron-script")
UNIT_GROUP = pathlib.Path("/sys/fs/cgroup/system.slice/efsmon.service")
ENVIRONMENT = {"AWS_DEFAULT_REGION": REGION, "AWS_ENDPOINT_URL": URL}
AWS = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items()) + " aws"
# Emulation makes dear what runs for a moment and then not for seconds: what was translated for it has to be found anew,
# page by page. Without it, see benches/cost.py.
TIMES = {True: 100, False: 20}
# Of the resident memory, without and for each mount.
KIB, KIB_A_MOUNT = 10 * 1024, 20


def run(checks):
    cloudwatch = Cloudwatch()
    cloudwatch.tell()
    mounts = six_mounts()
    install()
    prepare_script()
    # What only the first time of each costs does not count: compiled modules of Python, a first connection.
    print(in_group(SCRIPT_GROUP).communicate()[0])
    wait_for("first publication", cloudwatch.data, seconds=300)
    counters.wait_for_second(1)
    windows = [measure(Work(mounts)) for _ in range(MINUTES)]
    efsmon, script = map(average, zip(*windows))
    times = TIMES[sh("systemd-detect-virt", check=False).strip() == "kvm"]
    for kind in ("total", "user"):
        checks.check(f"CPU time a minute, {kind}: efsmon takes {times} times less than the script",
                     script[kind] >= times * efsmon[kind],
                     f"{efsmon[kind] * 1000:.1f} ms, script {script[kind] * 1000:,.0f} ms: "
                     f"{script[kind] / efsmon[kind]:.0f} times")
    end = int(time.time() // 60 * 60)
    wait_for("last minute", lambda: end - 60 in published(cloudwatch), seconds=120)
    measured = {end - 60 * number for number in range(1, MINUTES + 1)}
    checks.equal("meanwhile every minute is published", measured & published(cloudwatch), measured)
    names = sh(f"{AWS} cloudwatch list-metrics --namespace CustomEC2 --query 'Metrics[].MetricName' --output text")
    checks.check("and the script publishes too", "ec2-efs-read" in names and "ec2-efs-write" in names, names.strip())
    memory(checks, len(mounts))


def published(cloudwatch):
    """The minutes' begins."""
    return {datum.minute for datum in cloudwatch.data() if datum.metric == "Hosts"}


def six_mounts():
    """Of two servers, under the names of six file systems."""
    servers = [Server(1), Server(2)]
    names = [f"fs-0123456789abcde{number:02}" for number in range(6)]
    return {name: mount(f"{dns_name(servers[number % 2], name)}:/", f"/mnt/efs{number}", f"{OPTIONS},nosharecache")
            for number, name in enumerate(names)}


def prepare_script():
    aws = pathlib.Path("/usr/local/bin/aws")
    aws.write_text('#!/bin/sh\nPYTHONPATH=/job/awscli exec python3 -m awscli "$@"\n')
    aws.chmod(0o755)
    SCRIPT_GROUP.mkdir()


def in_group(group):
    """The script, begun in a control group; its environment is what cron's would be, and where CloudWatch is."""
    return subprocess.Popen(
        ["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec {SCRIPT}"], stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **ENVIRONMENT})


def measure(work):
    """A minute, from its first second to the next one's: seconds of CPU time of the unit and of the script."""
    groups = UNIT_GROUP, SCRIPT_GROUP
    before = [used(group) for group in groups]
    begun, script = time.time(), in_group(SCRIPT_GROUP)
    while time.time() < begun + 50:
        work.once()
        time.sleep(4)
    said = script.communicate()[0]
    if script.returncode or said:
        print(f"the script: exit status {script.returncode}: {said}")
    counters.wait_for_second(1)
    spent = [{kind: after - was[kind] for kind, after in used(group).items()} for group, was in zip(groups, before)]
    print(f"{time.time() - begun:.1f} s: efsmon {spent[0]}, script {spent[1]}", flush=True)
    return spent


def used(group):
    lines = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return {"total": int(lines["usage_usec"]) / 1e6, "user": int(lines["user_usec"]) / 1e6}


def average(windows):
    return {kind: sum(window[kind] for window in windows) / len(windows) for kind in ("total", "user")}


def memory(checks, mounts):
    lines = pathlib.Path(f"/proc/{show('MainPID')}/status").read_text().splitlines()
    resident = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    group = {name: int((UNIT_GROUP / f"memory.{name}").read_text()) // 1024 for name in ("current", "peak")}
    limit = KIB + KIB_A_MOUNT * mounts
    checks.check(f"resident memory at its highest: at most {limit} KiB", resident["VmHWM"] <= limit,
                 f"{resident['VmHWM']} KiB, now {resident['VmRSS']}; with the kernel's for it: now {group['current']}, "
                 f"at its highest {group['peak']}")
    checks.equal("threads at rest", show("TasksCurrent"), "1")
