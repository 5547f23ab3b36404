"""Runs scenarios in the virtual machine, and shows what they checked.

Usage: run.py IMAGE PACKAGES [SCENARIO..]    all but `smoke`, each in a machine of its own, when none is named;
                                             PACKAGES: the directory with the .deb

What a scenario is: tests/vm/README.md. Its results are left in target/vm/results/SCENARIO. Exit status 1 when a check
failed, or a scenario did not come to its end.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "target"
SCENARIOS = ["mounts", "sandbox", "faults", "lifecycle", "reboot", "suspend", "rpm", "cost"]
# What a scenario gets besides, and which boot their machine again in the middle.
ALSO = {"cost": "awscli", "rpm": "rpm"}
REBOOTING = ["reboot"]
# Of a scenario that failed: so many of its last lines are shown.
LOG_SHOWN = 40
# Of the Python packages: what the emulator does without, half of their size.
NOT_NEEDED = ["bin", "examples-1.json", "endpoint-rule-set-1.json.gz", "waiters-2.json", "paginators-1.json"]


def main():
    image, packages, *scenarios = sys.argv[1:]
    with tempfile.TemporaryDirectory() as kit:
        pack(pathlib.Path(kit), pathlib.Path(packages))
        failed = [name for name in scenarios or SCENARIOS if not passes(pathlib.Path(image), kit, name)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; see {TARGET / 'vm/results'}")


def passes(image, kit, scenario):
    """Whether every check of the scenario held, and it came to its end."""
    results = TARGET / "vm/results" / scenario
    shutil.rmtree(results, ignore_errors=True)
    print(f"== {scenario}", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as job:
        fill(pathlib.Path(job), kit, scenario)
        environment = os.environ | ({"VM_REBOOTS": "yes"} if scenario in REBOOTING else {})
        booted = subprocess.run([HERE / "boot.sh", image, job, results], stdout=subprocess.DEVNULL, env=environment)
    checks = results / "checks.json"
    held = [show(check) for check in json.loads(checks.read_text())] if checks.exists() else []
    print(f"   {sum(held)} of {len(held)} checks held, {time.monotonic() - begun:.0f} s", flush=True)
    if booted.returncode == 0 and all(held) and held != []:
        return True
    log = results / "log.txt"
    said = log.read_text(errors="replace").splitlines() if log.exists() else ["no log came back: see console.log"]
    for line in [line for line in said if not line.startswith(("ok ", "FAILED "))][-LOG_SHOWN:]:
        print(f"   | {line}")
    return False


def show(check):
    print(f"   {'ok    ' if check['held'] else 'FAILED'} {check['name']:<58} {check['found']}")
    return check["held"]


def pack(kit, packages):
    """What every machine gets: taken once, so that all run the same though somebody works on it meanwhile."""
    shutil.copytree(HERE / "guest", kit, dirs_exist_ok=True)
    shutil.copy(HERE.parents[1] / "packaging/host-view.conf", kit)
    for package in packages.glob("*_amd64.deb"):
        shutil.copy(package, kit)


def fill(job, kit, scenario):
    """The disk that the machine gets."""
    shutil.copytree(kit, job, dirs_exist_ok=True)
    (job / "run").write_text(f"#!/bin/sh\nexec python3 scenario.py {scenario}\n")
    (job / "run").chmod(0o755)
    shutil.copytree(TARGET / "vm/site", job / "site", ignore=shutil.ignore_patterns(*NOT_NEEDED))
    if scenario in ALSO:
        shutil.copytree(TARGET / "vm" / ALSO[scenario], job / ALSO[scenario])

if __name__ == "__main__":
    main()
