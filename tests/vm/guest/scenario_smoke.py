"""The least: the package installs and runs, sees three mounts, sends one exact minute, and goes. For CI."""

import pathlib
import re

import counters
from cloudwatch import Cloudwatch, stop_when_sent
from efs_utils import EfsUtils
from lab import Server, dns_name, install, mount, sh, wait_for
from workloads import Minute, create_files, finish, fio

NAME, HELPER, HOME = "/mnt/name", "/mnt/helper", "/home/user/efs"
FILE_SYSTEMS = {NAME: "fs-0123456789abcde01", HELPER: "fs-0123456789abcde02", HOME: "fs-0123456789abcde03"}


def run(checks):
    servers = {path: Server(number + 1, 64) for number, path in enumerate(FILE_SYSTEMS)}
    cloudwatch = Cloudwatch()
    cloudwatch.tell()
    mount(f"{dns_name(servers[NAME], FILE_SYSTEMS[NAME])}:/", NAME)
    EfsUtils().mount(servers[HELPER], FILE_SYSTEMS[HELPER], HELPER, 20127)
    print(install())
    checks.equal("the unit is enabled", sh("systemctl is-enabled efsmon").strip(), "enabled")

    with Minute() as minute:
        mount(f"{dns_name(servers[HOME], FILE_SYSTEMS[HOME])}:/", HOME)
        process = fio({NAME: {"bs": "4k"}, HELPER: {"bs": "64k"}, HOME: {"bs": "1m"}}, size="2m")
        create_files(NAME, 20)
        finish(process)
    checks.equal("the work is over before its minute", minute.unrest(FILE_SYSTEMS), {})
    check_status(checks)
    stop_when_sent()
    print(sh("journalctl --no-pager --unit efsmon"))
    for path, file_system in FILE_SYSTEMS.items():
        expected = counters.totals(minute.grew(path))
        found = {metric: cloudwatch.sums(metric, FileSystemId=file_system).get(minute.began) for metric in expected}
        checks.equal(f"{path}: published as counted", found, expected)
    check_purge(checks)


def check_status(checks):
    def status():
        said = sh("systemctl status --no-pager efsmon", check=False)
        found = re.search(r'Status: "(.*)"', said)
        return found and "3 mounts" in found[1] and found[1]

    try:
        checks.check("systemctl status tells of the three mounts", True, wait_for("status line", status, seconds=60))
    except TimeoutError:
        checks.check("systemctl status tells of the three mounts", False,
                     sh("systemctl status --no-pager efsmon", check=False))
    shown = sh("efsmon mounts")
    checks.equal("efsmon mounts: nothing is wrong", shown.strip().splitlines()[-2:-1],
                 ["3 mounts, 3 EFS file systems: nothing wrong"])


def check_purge(checks):
    print(sh("dpkg --purge efsmon", timeout=300))
    left = [path for path in ("/usr/bin/efsmon", "/usr/bin/efsmond", "/var/lib/efsmon", "/run/efsmon",
                              "/lib/systemd/system/efsmon.service", "/etc/efsmon/efsmon.toml")
            if pathlib.Path(path).exists()]
    checks.equal("purged, nothing is left", left, [])
    checks.equal("the mounts are as they were", counters.mount_points(counters.read()), list(FILE_SYSTEMS))
