"""The .rpm on a booted system with systemd: installed, upgraded, erased, installed again.

The system is Debian, with Debian's rpm and an empty database of its own: a package without files stands for what a
distribution's own packages provide.
"""

import pathlib

import service
from cloudwatch import Cloudwatch
from lab import Server, dns_name, mount, sh
from service import CONFIG, show
from stages import Stages

PACKAGES = pathlib.Path("/job/rpm")
FILE_SYSTEM = "fs-0123456789abcdef0"


def run(checks):
    base, older, newer = (str(next(PACKAGES.glob(pattern))) for pattern in ("base-*", "efsmon-*.x86_64.rpm", "efsmon-9*"))
    mounts = {FILE_SYSTEM: mount(f"{dns_name(Server(1), FILE_SYSTEM)}:/", "/mnt/efs")}
    cloudwatch = Cloudwatch()
    cloudwatch.tell()
    rpm("--install", base)
    print(rpm("--install", older))
    checks.equal("installed: the unit runs when rpm returns", (show("ActiveState"), show("UnitFileState")),
                 ("active", "enabled"))
    checks.equal("rpm --verify finds every file as it was packed", rpm("--verify", "efsmon"), "")
    checks.equal("the state directory is the service's alone", sh(f"stat --format '%U:%G %a' {service.STATE}").strip(),
                 "efsmon:efsmon 750")
    stages = Stages(checks, cloudwatch, mounts)

    def check_configuration():
        checks.equal("the changed configuration is kept, and used; the new one is beside it",
                     (service.status()["profile"], pathlib.Path(f"{CONFIG}.rpmnew").exists()), ("standard", True))

    stages.upgrade(lambda: rpm("--upgrade", newer), lambda: rpm("--query", "efsmon").split("-")[1], "9.0.0",
                   check_configuration)
    stages.leave_something_to_send()
    print(rpm("--erase", "efsmon"))
    checks.equal("erased: no unit, no process", (show("ActiveState"), sh("pidof efsmond", check=False)),
                 ("inactive", ""))
    checks.check("state and the changed configuration are kept",
                 service.requests() and pathlib.Path(f"{CONFIG}.rpmsave").exists(),
                 f"{len(service.requests())} requests, {CONFIG}.rpmsave")
    cloudwatch.start()
    print(rpm("--install", newer))
    checks.equal("installed again: it runs", (show("ActiveState"), show("UnitFileState")), ("active", "enabled"))
    stages.exact("and goes on where it was, with what waited")


def rpm(*arguments):
    return sh(f"rpm {' '.join(arguments)}", timeout=300)
