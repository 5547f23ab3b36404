"""A boot with nothing there yet: no network, no metadata service, no credentials, no mount.

The machine is booted a second time in the middle. What is to be remembered is kept on its disk.
"""

import json
import pathlib
import shutil
import time

import service
from cloudwatch import RECORD, Cloudwatch
from lab import Server, dns_name, install, mount, sh, wait_for
from counters import METRICS
from ledger import Ledger, Work
from service import show

KEPT = pathlib.Path("/var/lib/vm-kept")
FILE_SYSTEM = "fs-0123456789abcdef0"


def run(checks):
    if KEPT.exists():
        after(checks, json.loads((KEPT / "memory.json").read_text()))
    else:
        before(checks)


def before(checks):
    mounts = mounted()
    cloudwatch = Cloudwatch()
    cloudwatch.tell()
    install()
    ledger, work = Ledger(cloudwatch, mounts), Work(mounts)
    work.once()
    service.restart()
    ledger.check(checks, "before the boot: every byte and call once, no more")
    cloudwatch.stop()
    work.once()
    service.restart()
    work.once()
    KEPT.mkdir()
    shutil.copy(RECORD, KEPT)
    memory = {"checks": checks.done, "counted": ledger.counted(), "requests": list(service.requests())}
    (KEPT / "memory.json").write_text(json.dumps(memory))
    sh("systemctl reboot")
    time.sleep(600)
    raise RuntimeError("it did not boot again")


def after(checks, memory):
    checks.done = memory["checks"]
    checks.equal("booted without network, metadata, credentials, mounts: it runs, started once",
                 (show("ActiveState"), show("NRestarts"), service.starts()), ("active", "0", 1))
    kept = service.requests()
    checks.check("what waited is kept, with what was read last before the boot",
                 len(kept) > len(memory["requests"]) > 0 and set(memory["requests"]) <= set(kept),
                 f"{len(memory['requests'])} requests, then {len(kept)}")
    mounts = mounted()
    shutil.copy(KEPT / RECORD.name, RECORD)
    cloudwatch = Cloudwatch()
    service.wait_for_a_sample()
    Work(mounts).once()
    service.send_all()
    now = Ledger(cloudwatch, mounts)
    now.begun = ""
    counted = {metric: memory["counted"][FILE_SYSTEM][metric] + now.counted()[FILE_SYSTEM][metric] for metric in METRICS}
    try:
        wait_for("all of both boots", lambda: now.arrived()[FILE_SYSTEM] == counted, seconds=150, every=1)
    except TimeoutError:
        pass
    checks.equal("both boots: every byte and call once, no more", now.arrived()[FILE_SYSTEM], counted)


def mounted():
    return {FILE_SYSTEM: mount(f"{dns_name(Server(1), FILE_SYSTEM)}:/", "/mnt/efs")}
