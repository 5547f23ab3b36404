"""In the virtual machine: runs one scenario, and keeps what it checked in results/checks.json.

A scenario is a module `scenario_NAME` with a function `run(checks)`.
"""

import importlib
import json
import pathlib
import sys

RESULTS = pathlib.Path("/job/results")


class Checks:
    """What was checked: the name says what should hold, `found` what was seen."""

    def __init__(self):
        self.done = []

    def check(self, name, held, found=""):
        self.done.append({"name": name, "held": bool(held), "found": str(found)})
        (RESULTS / "checks.json").write_text(json.dumps(self.done, indent=1))
        print("ok    " if held else "FAILED", name, found, flush=True)
        return held

    def equal(self, name, found, expected):
        return self.check(name, found == expected, found if found == expected else f"{found}, not {expected}")


if __name__ == "__main__":
    checks = Checks()
    importlib.import_module(f"scenario_{sys.argv[1]}").run(checks)
    sys.exit(0 if all(check["held"] for check in checks.done) else 1)
