"""What `efsmon stat` costs beside nfsiostat: CPU time of both on the same text of 1,000 mounts, in one run.

Usage: stat.py EFSMON NFSIOSTAT. Fails when they do not print the same, or when efsmon takes more than a fifth.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 7
TIMES_CHEAPER = 5
# nfsiostat reads /proc/self/mountstats, whatever it is told: it is given another file under that name.
ON_A_FILE = """
import builtins, runpy, sys
script, text = sys.argv[1:]
open_file = builtins.open
builtins.open = lambda path, *rest, **named: open_file(text if path == "/proc/self/mountstats" else path, *rest, **named)
sys.argv = [script]
runpy.run_path(script, run_name="__main__")
"""


def text(mounts):
    fixture = pathlib.Path(__file__).parent.parent / "tests/fixtures/mountstats/50_scale_1.txt"
    record = fixture.read_text()
    record = record[record.index("device fs-"):]
    return "".join(record.replace("/mnt/efs00000", f"/mnt/efs{mount:05}") for mount in range(mounts))


def run(command):
    """What the command prints, and the CPU seconds that it takes."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, f"{command} ended with {status}"
    return printed, used.ru_utime + used.ru_stime


def main():
    efsmon, nfsiostat = sys.argv[1:]
    with tempfile.NamedTemporaryFile("w", suffix=".mountstats") as file:
        file.write(text(1000))
        file.flush()
        ours = [efsmon, "stat", "--nfsiostat", "--file", file.name]
        theirs = [sys.executable, "-c", ON_A_FILE, nfsiostat, file.name]
        rounds = [(run(ours), run(theirs)) for _ in range(ROUNDS)]
    if any(printed != expected for (printed, _), (expected, _) in rounds):
        sys.exit("efsmon stat --nfsiostat and nfsiostat print different reports")
    ours, theirs = (statistics.median(seconds) for seconds in zip(*[(a[1], b[1]) for a, b in rounds]))
    ratio = statistics.median(b[1] / a[1] for a, b in rounds)
    print(f"one report of 1,000 mounts, CPU ms: efsmon stat {ours * 1e3:.1f}, nfsiostat {theirs * 1e3:.1f}")
    kept = "kept" if ratio >= TIMES_CHEAPER else "MISSED"
    print(f"{'times less CPU than nfsiostat':<40}{ratio:>12.2f}{f'>= {TIMES_CHEAPER}.00':>16}  {kept}")
    sys.exit(ratio < TIMES_CHEAPER)


main()
