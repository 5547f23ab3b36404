"""The unit's sandbox: efsmon sees every mount in it, holds none back, sends from it, and gets no further than it must.

What it finds is written down in packaging/README.md.
"""

import json
import pathlib
import re
import time

import counters
from cloudwatch import Cloudwatch
from efs_utils import STATE, EfsUtils
from front import put_in_front
from lab import OPTIONS, Server, dns_name, install, mount, sh, wait_for
from service import show

DROP_INS = pathlib.Path("/etc/systemd/system/efsmon.service.d")
# Under systemd 252. What is left, and why, is in packaging/README.md.
MOST_EXPOSURE = 1.7
SETTINGS = 'profile = "full"\n[limits]\nmax_series = 1000\n'
# Mount points and file systems, all there before the unit starts.
BEFORE = {"/mnt/before": "fs-00000000000000001", "/home/alice/efs": "fs-00000000000000002",
          "/tmp/efs": "fs-00000000000000003", "/mnt/quiet": "fs-00000000000000004"}
# And made after its start: on the disk, below /home, and in a /tmp that efsmon has one of its own of.
AFTER = {"/mnt/after": "fs-00000000000000005", "/home/alice/after": "fs-00000000000000006",
         "/tmp/after": "fs-00000000000000007"}


def run(checks):
    servers = [Server(number) for number in range(1, 6)]
    cloud = Cloudwatch()
    put_in_front()
    helper = EfsUtils()
    mount_before(servers, helper)
    install(SETTINGS)
    check_unit(checks)
    check_view(checks, cloud)
    check_mounts_come_and_go(checks, servers)
    check_host_view(checks)
    check_strict_filter(checks, cloud)
    check_hung_server(checks, servers[1])
    check_clone(checks, cloud)


def mount_before(servers, helper):
    mount(f"{dns_name(servers[0], BEFORE['/mnt/before'])}:/", "/mnt/before")
    # Attributes are asked for anew after a second: what touches the mount while its server hangs, hangs.
    mount(f"{dns_name(servers[1], BEFORE['/home/alice/efs'])}:/", "/home/alice/efs", f"{OPTIONS},actimeo=1")
    helper.mount(servers[2], BEFORE["/tmp/efs"], "/tmp/efs", 20101)
    helper.mount(servers[3], BEFORE["/mnt/quiet"], "/mnt/quiet", 20102)
    # One whose state is for root alone; the watchdog would write it anew.
    with helper.lock:
        name, _ = helper.proxies[pathlib.Path("/mnt/quiet")]
        del helper.states[name]
    (STATE / name).chmod(0o600)


def check_unit(checks):
    said = sh("systemd-analyze verify --man=no /usr/lib/systemd/system/efsmon.service", check=False)
    checks.equal("systemd-analyze verify has nothing to say", said.strip(), "")
    security = sh("systemd-analyze security --no-pager efsmon.service")
    print(security)
    exposure = float(re.search(r"Overall exposure level for efsmon.service: ([\d.]+)", security)[1])
    checks.check("exposure by systemd-analyze security", exposure <= MOST_EXPOSURE, exposure)
    watchdog = show("WatchdogTimestampMonotonic")
    print(sh("systemctl status --no-pager efsmon"))
    wait_for("ping of the watchdog", lambda: show("WatchdogTimestampMonotonic") != watchdog, seconds=60)
    checks.check("the watchdog is told", True)
    status = wait_for("status line", lambda: show("StatusText"))
    checks.check("systemctl status has a line of efsmon's", "4 mounts of 4 file systems" in status, status)
    modes = sh("stat -c '%U:%G %a' /var/lib/efsmon /run/efsmon /run/efsmon/status.json | paste -sd' '").strip()
    checks.equal("owners and modes of its directories and status", modes,
                 "efsmon:efsmon 750 efsmon:efsmon 755 efsmon:efsmon 644")
    rights = sh(f"grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/{show('MainPID')}/status")
    no_rights = all(int(bits, 16) == 0 for bits in re.findall(r"Cap\w+:\s*(\w+)", rights))
    checks.check("no capability, no new privileges, a filter",
                 no_rights and "NoNewPrivs:\t1" in rights and "Seccomp:\t2" in rights)


def check_view(checks, cloud):
    seen = wait_for("sample with names", lambda: sighting() if len(sighting()["file_systems"]) == 4 else None)
    checks.equal("each mount is seen once, and named", seen["file_systems"], {name: 1 for name in BEFORE.values()})
    checks.equal("superblocks that it sees", seen["superblocks"], 4)
    checks.equal("its own mountinfo has what the host's has", nfs_mounts(show("MainPID")), nfs_mounts("self"))
    checks.equal("whose view it has", seen["view"], "own")
    # The very first reading is where counting starts.
    before = counters.read()
    sh("dd if=/dev/zero of=/home/alice/efs/file bs=1M count=20 oflag=direct status=none")
    grown = counters.totals(counters.growth(before, counters.read(), "/home/alice/efs"))
    sh("systemctl restart efsmon", timeout=120)
    checks.check("a restart goes on, so it could read this boot's id",
                 "goes_on=true" in sh("journalctl -u efsmon -o cat"))
    written = wait_for("WRITE in CloudWatch", lambda: sum(
        cloud.sums("WriteBytes", FileSystemId=BEFORE["/home/alice/efs"]).values()), seconds=180)
    checks.equal("what was written below /home is sent once, by name and TLS", written, grown["WriteBytes"])
    proxies = {datum.metric for datum in cloud.data()} & {"ProxyCpu", "ProxyMemory"}
    checks.equal("it finds the mount helper's proxies", sorted(proxies), ["ProxyCpu", "ProxyMemory"])


def check_mounts_come_and_go(checks, servers):
    for path, name in AFTER.items():
        mount(f"{dns_name(servers[4], name)}:/", path, f"{OPTIONS},nosharecache")
    expected = {name: 1 for name in (BEFORE | AFTER).values()}
    found = wait_for("mounts made later", lambda: sighting() if len(sighting()["file_systems"]) == 7 else None)
    checks.equal("mounts made after its start are seen, once each", found["file_systems"], expected)
    gone = [*AFTER, "/mnt/before"]
    volumes = len(nfs_volumes())
    begun = time.monotonic()
    for path in gone:
        sh(f"umount {path}", timeout=60)
    seconds = time.monotonic() - begun
    checks.check("umount of four does not wait for it", seconds < 20, f"{seconds:.1f} s")
    checks.equal("the kernel lets go of what was unmounted", volumes - len(nfs_volumes()), 4)
    checks.equal("nor are they in its own mountinfo", nfs_mounts(show("MainPID")), nfs_mounts("self"))
    wait_for("mounts gone", lambda: len(sighting()["file_systems"]) == 3)
    checks.check("and it no longer counts them", True)


def check_host_view(checks):
    """The drop-in, as it is documented."""
    sh(f"install -D -m 644 /job/host-view.conf {DROP_INS}/host-view.conf && systemctl daemon-reload")
    sh("systemctl restart efsmon", timeout=120)
    found = wait_for("sample", lambda: sighting() if sighting()["view"] else None)
    checks.equal("with host-view.conf: whose view", found["view"], "init")
    rights = sh(f"grep CapEff /proc/{show('MainPID')}/status").split()[1]
    checks.equal("with host-view.conf: CAP_DAC_READ_SEARCH alone", int(rights, 16), 1 << 2)
    print(sh("systemd-analyze security --no-pager efsmon.service | tail -1"))
    checks.equal("with host-view.conf: file systems", len(found["file_systems"]), 3)
    sh(f"rm {DROP_INS}/host-view.conf && systemctl daemon-reload && systemctl restart efsmon", timeout=120)


def check_strict_filter(checks, cloud):
    """A whole life under a filter that kills where the unit's refuses."""
    DROP_INS.mkdir(exist_ok=True)
    refuses = show("SystemCallErrorNumber")
    (DROP_INS / "kill.conf").write_text("[Service]\nSystemCallErrorNumber=\n")
    sh("systemctl daemon-reload && systemctl restart efsmon", timeout=120)
    kills = show("SystemCallErrorNumber")
    checks.check("a filter that kills, not one that refuses", refuses != kills, f"{refuses}, then {kills or 'none'}")
    process, sent = show("MainPID"), len(cloud.requests())
    wait_for("request under the strict filter", lambda: len(cloud.requests()) > sent, seconds=180)
    checks.equal("no system call is in the way of sampling and sending", show("MainPID"), process)
    sh("systemctl stop efsmon", timeout=60)
    checks.equal("nor of stopping", show("Result"), "success")
    # SIGSYS
    checks.equal("nothing was killed for a system call", sh("dmesg | grep -ci 'sig=31' || true").strip(), "0")
    (DROP_INS / "kill.conf").unlink()
    sh("systemctl daemon-reload && systemctl start efsmon", timeout=120)


def check_hung_server(checks, server):
    server.drop()
    time.sleep(5)
    begun = time.monotonic()
    sh("systemctl stop efsmon", timeout=120)
    stopped = time.monotonic()
    sh("systemctl start efsmon", timeout=120)
    started = time.monotonic()
    checks.check("it stops while a server hangs", stopped - begun < 20, f"{stopped - begun:.1f} s")
    checks.check("and starts", started - stopped < 20, f"{started - stopped:.1f} s")
    hung = BEFORE["/home/alice/efs"]
    checks.equal("and sees the mount of that server", sighting()["file_systems"].get(hung), 1)
    server.restore()


def check_clone(checks, cloud):
    """The disk of this host in another: the same state, another machine-id."""
    cloud.stop()
    sh("systemctl restart efsmon && sleep 12 && systemctl stop efsmon", timeout=180)
    left = sorted(path.name for path in pathlib.Path("/var/lib/efsmon").glob("*.request"))
    sent = len(cloud.requests())
    checks.check("what cannot be sent is kept", left, f"{len(left)} requests")
    machine = pathlib.Path("/etc/machine-id")
    own = machine.read_text()
    machine.write_text("0123456789abcdef0123456789abcdef\n")
    cloud.start()
    begun = time.time()
    sh("systemctl start efsmon && sleep 12 && systemctl restart efsmon", timeout=180)
    wait_for("request of the copy's own", lambda: len(cloud.requests()) > sent, seconds=180)
    checks.equal("on a copy it is set aside", status()["spool"]["aside_files"], len(left))
    minutes = [datum["Timestamp"] for request in cloud.requests()[sent:] for datum in request["MetricData"]]
    checks.check("and never sent", minutes and min(minutes) >= begun // 60 * 60, f"{len(minutes)} data of its own")
    refused = sh("efsmon state reset --yes; echo status $?", check=False)
    checks.check("efsmon state reset refuses while it runs", refused.endswith("status 1\n"), refused.splitlines()[0])
    sh("systemctl stop efsmon", timeout=60)
    print(sh("efsmon state reset --yes"))
    left = sh("ls -A /var/lib/efsmon; stat -c '%U:%G %a' /var/lib/efsmon | paste -sd' '").split()
    checks.equal("and else leaves only the lock", left, ["lock", "efsmon:efsmon", "750"])
    sh("systemctl start efsmon", timeout=120)
    spool = status()["spool"]
    checks.equal("and efsmon starts as on its first day", (spool["files"], spool["aside_files"]), (0, 0))
    machine.write_text(own)


def status():
    """As everybody may ask for it."""
    return json.loads(sh("runuser -u nobody -- efsmon status --json"))


def sighting():
    return status()["sighting"]


def nfs_mounts(process):
    """Superblocks and mount points, each once."""
    lines = pathlib.Path(f"/proc/{process}/mountinfo").read_text().splitlines()
    return sorted({(line.split()[2], line.split()[4]) for line in lines if " - nfs4 " in line})


def nfs_volumes():
    return pathlib.Path("/proc/fs/nfsfs/volumes").read_text().splitlines()[1:]
