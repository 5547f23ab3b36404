"""In the virtual machine: what happens to an installed package, stage by stage.

Each stage ends with the same question: is what arrived exactly what the kernel counted? A restart sends what is there
at once, so that no stage waits for the end of a minute.
"""

import service
from ledger import Ledger, Work
from service import CONFIG, show


class Stages:
    """One after another; `ledger` goes on through all of them."""

    def __init__(self, checks, cloudwatch, mounts):
        self.checks, self.cloudwatch, self.mounts = checks, cloudwatch, mounts
        self.work, self.ledger = Work(mounts), Ledger(cloudwatch, mounts)

    def exact(self, stage):
        service.send_all()
        self.ledger.check(self.checks, f"{stage}: every byte and call once, no more")

    def leave_something_to_send(self):
        """CloudWatch is away; what it should have had waits on disk."""
        self.cloudwatch.stop()
        self.work.once()
        service.restart()
        return service.requests()

    def upgrade(self, install, installed, version, check_configuration):
        """`install` does it, under load, with a changed configuration and requests that wait."""
        CONFIG.write_text('profile = "standard"\n' + CONFIG.read_text())
        waiting, before = self.leave_something_to_send(), service.starts()
        with self.work:
            print(install())
        checks = self.checks
        checks.equal(f"upgraded to {version} (the same programs): restarted once, by itself never",
                     (installed(), service.starts() - before, show("NRestarts")), (version, 1, "0"))
        checks.check("what runs is the program that was installed", *service.runs_the_installed_program())
        check_configuration()
        kept = service.requests()
        checks.check("what waited is kept", waiting and waiting.items() <= kept.items(),
                     f"{len(waiting)} requests, then {len(kept)}")
        self.cloudwatch.start()
        self.exact("upgraded under load")
