"""In the virtual machine: runs one scenario, and keeps what it checked in results/checks.json.

A scenario is a module `scenario_NAME` with a function `run(checks)`.
"""

import importlib
import json
import sys
import traceback

from lab import RESULTS, SITE

sys.path.append(str(SITE))


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
    try:
        importlib.import_module(f"scenario_{sys.argv[1]}").run(checks)
    except Exception as error:
        traceback.print_exc()
        checks.check("the scenario comes to its end", False, f"{type(error).__name__}: {error}")
    sys.exit(0 if all(check["held"] for check in checks.done) else 1)
