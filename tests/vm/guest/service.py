"""In the virtual machine: efsmon's unit, its state on disk, and packages of it."""

import hashlib
import json
import pathlib

from lab import sh, wait_for

STATE = pathlib.Path("/var/lib/efsmon")
CONFIG = pathlib.Path("/etc/efsmon/efsmon.toml")
SETTINGS = pathlib.Path("/etc/efsmon/conf.d")


def show(name):
    """A property of the unit."""
    return sh(f"systemctl show --property {name} --value efsmon").strip()


def is_active():
    return show("ActiveState") == "active"


def restart():
    """Everything that was read so far is sent, or kept, when this returns. The unit's limit of starts begins anew."""
    sh("systemctl reset-failed efsmon; systemctl restart efsmon")


def send_all():
    """Everything that was read so far, and all that waits, is sent when this returns, if CloudWatch takes it.

    A start waits for its place in the minute, a stop for nothing; and one that just saw CloudWatch away tries once.
    """
    restart()
    wait_for_a_sample()
    restart()


def journal():
    return sh("journalctl --boot --unit efsmon --output cat --no-pager")


def starts():
    """How often the daemon has begun in this boot."""
    return journal().count("starting version=")


def runs_the_installed_program():
    """A program that was replaced under a running process is shown as deleted."""
    program = sh(f"readlink /proc/{show('MainPID')}/exe").strip()
    return program == "/usr/bin/efsmond", program


def status():
    """What the daemon last told of itself."""
    return json.loads(sh("efsmon status --json"))


def requests():
    """The names of the requests on disk, with what is in them."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(STATE.glob("*.request"))}


def wait_for_a_sample():
    before = status()["samples"]["taken"]
    wait_for("another sample", lambda: status()["samples"]["taken"] > before)


def set_format_version(version, names):
    """Marks files as ones of this version of the format: the digit at the end of their first word."""
    for name in names:
        kind, rest = (STATE / name).read_bytes().split(b" ", 1)
        (STATE / name).write_bytes(kind[:kind.rindex(b"/") + 1] + str(version).encode() + b" " + rest)


def deb_as(package, version):
    """The same programs as a package of another version, whose configuration file has another comment."""
    made = f"/tmp/{version}.deb"
    sh(f"""rm -rf /tmp/package && dpkg-deb --raw-extract {package} /tmp/package && cd /tmp/package
        sed -i 's/^Version: .*/Version: {version}/' DEBIAN/control
        echo '# A comment of version {version}.' >> etc/efsmon/efsmon.toml
        cd .. && dpkg-deb -Zgzip -z1 --build package {made} && rm -rf package""", timeout=300)
    return made


def installed():
    """The version of the package."""
    return sh("dpkg-query --show --showformat '${Version}' efsmon")
