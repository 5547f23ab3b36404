"""The .rpm on a booted system with systemd: installed, upgraded, erased, installed again.

The system is Debian, with Debian's rpm and an empty database of its own: a package without files stands for what a
distribution's own packages provide.
"""

import pathlib

import service
from cloudwatch import Cloudwatch
from lab import Server, dns_name, mount, sh
from ledger import Ledger, Work
from service import CONFIG, show

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
    ledger, work = Ledger(cloudwatch, mounts), Work(mounts)

    def exact(stage):
        service.send_all()
        ledger.check(checks, f"{stage}: every byte and call once, no more")

    def leave_something_to_send():
        cloudwatch.stop()
        work.once()
        service.restart()
        return service.requests()

    CONFIG.write_text('profile = "standard"\n' + CONFIG.read_text())
    waiting, before = leave_something_to_send(), service.starts()
    with work:
        print(rpm("--upgrade", newer))
    checks.equal("upgraded to 9.0.0 (the same programs): restarted once, by itself never",
                 (rpm("--query", "efsmon").split("-")[1], service.starts() - before, show("NRestarts")),
                 ("9.0.0", 1, "0"))
    checks.check("what runs is the program that was installed", *service.runs_the_installed_program())
    checks.equal("the changed configuration is kept, and used; the new one is beside it",
                 (service.status()["profile"], pathlib.Path(f"{CONFIG}.rpmnew").exists()), ("standard", True))
    kept = service.requests()
    checks.check("what waited is kept", waiting and waiting.items() <= kept.items(),
                 f"{len(waiting)} requests, then {len(kept)}")
    cloudwatch.start()
    exact("upgraded under load")

    leave_something_to_send()
    print(rpm("--erase", "efsmon"))
    checks.equal("erased: no unit, no process", (show("ActiveState"), sh("pidof efsmond", check=False)),
                 ("inactive", ""))
    checks.check("state and the changed configuration are kept",
                 service.requests() and pathlib.Path(f"{CONFIG}.rpmsave").exists(),
                 f"{len(service.requests())} requests, {CONFIG}.rpmsave")
    cloudwatch.start()
    print(rpm("--install", newer))
    checks.equal("installed again: it runs", (show("ActiveState"), show("UnitFileState")), ("active", "enabled"))
    exact("and goes on where it was, with what waited")


def rpm(*arguments):
    return sh(f"rpm {' '.join(arguments)}", timeout=300)
