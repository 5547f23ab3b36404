"""Installs, upgrades and removes the built packages in trees of other systems, and shows what was checked.

Usage: run.py DEB RPM [SUITE..]    as root; Debian suites that the .deb is tried in, bookworm when none is named

The trees are made by mmdebstrap from Debian's packages; nothing is booted, and a systemctl that only writes down its calls
stands for systemd. The .rpm goes into a tree of its own, by `rpm --root`. Transcripts are left in target/packages-test.
Exit status 1 when a check failed.
"""

import pathlib
import sys

import deb
import rpm
from tree import Checks

TARGET = pathlib.Path(__file__).resolve().parents[2] / "target/packages-test"


def main():
    deb_file, rpm_file, *suites = sys.argv[1:]
    TARGET.mkdir(parents=True, exist_ok=True)
    checks = Checks()
    for suite in suites or ["bookworm"]:
        deb.check(checks, TARGET, pathlib.Path(deb_file), suite)
    rpm.check(checks, TARGET, pathlib.Path(rpm_file))
    print(f"{checks.held} of {checks.held + checks.failed} checks held; transcripts are in {TARGET}")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
