"""The package over its life on one machine: installed, restarted, upgraded, downgraded, misconfigured, removed, purged."""

import pathlib
import time

import service
from cloudwatch import DROP_IN, Cloudwatch
from lab import Server, dns_name, mount, sh
from ledger import Ledger
from service import CONFIG, SETTINGS, STATE, show
from stages import Stages

PACKAGE = "/job/efsmon_*_amd64.deb"
NEWER = "9.0.0-1"
FILE_SYSTEMS = ("fs-0123456789abcdef0", "fs-0fedcba9876543210")


def run(checks):
    mounts = {name: mount(f"{dns_name(Server(number), name)}:/", f"/mnt/efs{number}")
              for number, name in enumerate(FILE_SYSTEMS, 1)}
    install(checks)
    cloudwatch = Cloudwatch()
    cloudwatch.tell()
    service.restart()
    stages = Life(checks, cloudwatch, mounts)
    stages.restart()
    stages.upgrade_to_newer()
    stages.downgrade()
    stages.newer_again()
    stages.bad_configuration()
    stages.remove_and_install()
    stages.clone()
    purge(checks)


def install(checks):
    """On a machine that reaches no network, no metadata service and no credentials, as early in a boot."""
    print(sh(f"dpkg --install {PACKAGE}", timeout=300))
    checks.equal("installed: the unit runs when dpkg returns", (show("ActiveState"), show("UnitFileState")),
                 ("active", "enabled"))
    waits = {name: show(name) for name in ("After", "Wants", "Requires")}
    checks.check("it waits for no network that is up, and for no remote file system",
                 not any(target in units for units in waits.values() for target in ("network-online", "remote-fs")),
                 f"After={waits['After']}")
    checks.equal("its user has no shell and no password",
                 sh("getent passwd efsmon | cut -d: -f7; getent shadow efsmon | cut -d: -f2 | cut -c1").split(),
                 ["/usr/sbin/nologin", "!"])
    for path, mode in MODES.items():
        checks.equal(f"{path}: owner and mode", sh(f"stat --format '%U:%G %a' {path}").strip(), mode)
    line = [line for line in sh("systemctl status --no-pager efsmon").splitlines() if "Status: " in line]
    checks.check("systemctl status says how it goes", "2 mounts of 2 file systems" in "".join(line), "".join(line))
    for user in ("root", "nobody"):
        said = sh(f"runuser --user {user} -- efsmon status")
        checks.check(f"efsmon status answers {user}", "2 taken" in said or "taken, 0 void" in said, said.split("\n")[0])


MODES = {"/etc/efsmon": "root:root 755", "/etc/efsmon/efsmon.toml": "root:root 644",
         "/var/lib/efsmon": "efsmon:efsmon 750", "/run/efsmon": "efsmon:efsmon 755", "/usr/bin/efsmond": "root:root 755"}


class Life(Stages):
    """The stages of a .deb."""

    def __init__(self, checks, cloudwatch, mounts):
        super().__init__(checks, cloudwatch, mounts)
        self.package, self.newer = PACKAGE, service.deb_as(PACKAGE, NEWER)

    def restart(self):
        with self.work:
            service.restart()
        self.exact("restarted under load")

    def upgrade_to_newer(self):
        def check_configuration():
            self.checks.equal("the changed configuration is kept, and used",
                              (CONFIG.read_text().splitlines()[0], service.status()["profile"]),
                              ('profile = "standard"', "standard"))

        self.upgrade(lambda: sh(f"dpkg --force-confold --install {self.newer}", timeout=300), service.installed, NEWER,
                     check_configuration)

    def downgrade(self):
        """A later version would write another format: its files say so in their first word."""
        self.leave_something_to_send()
        sh("systemctl stop efsmon")
        self.foreign = list(service.requests())
        service.set_format_version(2, [*self.foreign, "counters"])
        self.kept, before = service.requests(), service.starts()
        said = sh(f"dpkg --force-confold --install {self.package}", timeout=300)
        print(said)
        service.wait_for_a_sample()
        checks = self.checks
        checks.equal("downgraded: it runs, started once", (show("ActiveState"), service.starts() - before,
                                                           show("NRestarts")), ("active", 1, "0"))
        told = service.journal().count("data of another machine or version")
        aside = len(self.foreign) + 1
        checks.check("the newer version's files are set aside, which the log says once, and the status",
                     told == 1 and f"{aside} files of another machine or version set aside" in sh("efsmon status"),
                     f"{aside} files, said {told} times")
        self.cloudwatch.start()
        since = Ledger(self.cloudwatch, self.mounts)
        self.work.once()
        service.send_all()
        since.check(checks, "downgraded: what is counted from then on arrives, what is set aside does not")

    def newer_again(self):
        sh(f"dpkg --force-confold --install {self.newer}", timeout=300)
        found = {name: digest for name, digest in service.requests().items() if name in self.foreign}
        counters = (STATE / "counters.aside").read_bytes().split(b" ")[0]
        self.checks.check("upgraded again: the newer version finds its files as they were",
                          (found, counters) == (self.kept, b"efsmon-counters/2"), f"{len(found)} requests, and counters")
        sh("systemctl stop efsmon")
        service.set_format_version(1, self.foreign)
        self.exact("and sends them when it can read them")

    def bad_configuration(self):
        bad = SETTINGS / "bad.toml"
        SETTINGS.mkdir(exist_ok=True)
        bad.write_text('publish_interval = "now and then"\n')
        sh("systemctl reset-failed efsmon; systemctl restart efsmon", check=False)
        self.work.once()
        time.sleep(8)
        checks = self.checks
        checks.equal("a bad configuration: exit status 78, and no loop",
                     [show(name) for name in ("ActiveState", "Result", "ExecMainStatus", "NRestarts")],
                     ["failed", "exit-code", "78", "0"])
        said = [line for line in service.journal().splitlines() if str(bad) in line]
        checks.check("the journal says where, what was found and what is allowed",
                     said and "now and then" in " ".join(said), " ".join(said))
        bad.unlink()
        sh("systemctl start efsmon", check=False)
        checks.equal("mended, it starts again without reset-failed", show("ActiveState"), "active")
        self.exact("and what was done meanwhile is not lost")

    def remove_and_install(self):
        self.leave_something_to_send()
        print(sh("dpkg --remove efsmon"))
        checks = self.checks
        checks.equal("removed: no unit, no process", (show("ActiveState"), sh("pidof efsmond", check=False)),
                     ("inactive", ""))
        checks.check("state and configuration are kept", service.requests() and CONFIG.exists(),
                     f"{len(service.requests())} requests, {CONFIG}")
        self.cloudwatch.start()
        print(sh(f"dpkg --install {self.newer}", timeout=300))
        checks.equal("installed again: it runs", (show("ActiveState"), show("UnitFileState")), ("active", "enabled"))
        self.exact("and goes on where it was, with what waited")

    def clone(self):
        """A machine that was made of this one's image, with its state."""
        self.leave_something_to_send()
        sh("systemctl stop efsmon")
        # And the counters that the newer version left.
        foreign = len(service.requests()) + 1
        identity = pathlib.Path("/etc/machine-id")
        own = identity.read_text()
        identity.write_text("0123456789abcdef0123456789abcdef\n")
        self.cloudwatch.start()
        sh("systemctl start efsmon")
        self.checks.equal("a clone sets its origin's files aside", service.status()["spool"]["aside_files"], foreign)
        since = Ledger(self.cloudwatch, self.mounts)
        self.work.once()
        service.send_all()
        since.check(self.checks, "a clone's own figures arrive, its origin's do not")
        identity.write_text(own)


def purge(checks):
    sh(f"rm -r {DROP_IN.parent}")
    print(sh("dpkg --purge efsmon"))
    left = sh("find / -xdev -name '*efsmon*' -not -path '/tmp/*' -not -path '/job/*' 2>/dev/null").split()
    checks.equal("purged: nothing is left", left, [])
    user = sh("getent passwd efsmon", check=False)
    checks.check("but the user, so that its number is nobody else's", user, user)
