"""In the virtual machine: `efsmon stat` beside the nfsiostat of nfs-common.

On the same two texts they must agree to the last digit. On a busy machine no two programs read at the same moment, so
there each figure has a lower and an upper bound: a sampler keeps the counters several times a second, and between the
last text before a program can have read and the first text after it must have, they only grow.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import threading
import time

import counters
from lab import wait_for

# nfsiostat's columns, by the names that they have here.
NFSIOSTAT = {"ops/s": "ops/s", "kB/s": "KiB/s", "kB/op": "KiB/op", "avg RTT (ms)": "rtt ms", "avg exe (ms)": "exe ms",
             "avg queue (ms)": "queue ms", "retrans": "retrans", "errors": "errors"}
DIRECTIONS = {"read": "READ", "write": "WRITE"}


def on_texts(earlier, later, interval=5):
    """What both print of what happened between two texts: nfsiostat's report, and that of `efsmon stat --nfsiostat`."""
    old, new, text = (pathlib.Path(f"/tmp/{name}.mountstats") for name in ("old", "new", "now"))
    for path, content in ((old, earlier), (new, later), (text, earlier)):
        path.write_text(content)
    # exec keeps the process id, and with it what is mounted over its mountstats.
    script = f'mount --bind {text} /proc/$$/mountstats && exec "$0" "$@"'
    with nfsiostat(interval, earlier, "unshare", "--mount", "bash", "-c", script) as run:
        run.wait_for_report(1)
        # In place: it is this file that is mounted.
        text.write_text(later)
        theirs = run.wait_for_report(2)
    command = ["efsmon", "stat", "--nfsiostat", "--file", new, "--since", old, "--interval", str(interval)]
    return theirs, subprocess.run(command, check=True, capture_output=True, text=True).stdout


def under_load(interval=10):
    """Both started at the same moment; the outcome of each, and what was sampled meanwhile."""
    with Sampler() as sampler:
        time.sleep(0.5)
        with nfsiostat(interval, counters.read()) as theirs, Program(
                ["efsmon", "stat", str(interval), "2"], "MiB/s") as ours:
            theirs.wait_for_report(2)
            ours.wait_for_report(2)
        time.sleep(0.5)
    return theirs, ours, sampler


class Sampler:
    """Texts of the counters with the moments between which each was read, in a thread of its own."""

    def __enter__(self):
        self.texts, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def sample(self):
        while not self.over.wait(0.2):
            begun = time.monotonic()
            text = counters.read()
            self.texts.append((begun, time.monotonic(), text))

    def before(self, moment):
        return [text for _, ended, text in self.texts if ended <= moment][-1]

    def after(self, moment):
        return next(text for begun, _, text in self.texts if begun >= moment)


class Program(contextlib.AbstractContextManager):
    """A program that prints reports, each of which begins with a line that holds `mark`, and when they were there."""

    def __init__(self, command, mark):
        self.mark, self.lines = mark, []
        self.started = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"PYTHONUNBUFFERED": "1"})
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def __exit__(self, *_):
        # nfsiostat sleeps once more after its last report.
        self.process.kill()
        self.process.wait()
        self.thread.join()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line))

    def report(self, number):
        """The lines of a report."""
        count, found = 0, []
        for moment, line in list(self.lines):
            count += self.mark in line
            if count == number:
                found.append((moment, line))
        return found

    def wait_for_report(self, number):
        """The report's text, once it has not grown for a moment."""

        def whole():
            return self.report(number) and time.monotonic() - self.lines[-1][0] > 0.5

        wait_for(f"report {number} of {self.process.args}", whole)
        return "".join(line for _, line in self.report(number))

    def moments(self, interval):
        """Earliest and latest moment of its first reading, and of its second: it sleeps in between."""
        first, second = (self.report(number)[0][0] for number in (1, 2))
        return self.started, first, self.started + interval, second


def nfsiostat(interval, text, *before):
    """nfsiostat, of the mounts in this text; `before` is what runs it."""
    first = counters.mount_points(text)[0]
    return Program([*before, "nfsiostat", str(interval), "2"], f" mounted on {first}:")


def mount_point_of(line):
    """Of the line that begins a mount's figures, in either report."""
    if " mounted on " in line:
        return counters.unescaped(line.rsplit(" mounted on ", 1)[1].rstrip(":\n"))
    return line.rstrip("\n").split("  ")[0] if line.startswith("/") else None


def figures(report):
    """By mount point, direction and column: the number and half of what its last digit is worth."""
    found, mount_point, columns = {}, None, []
    for line in report.splitlines():
        words = re.split(r"\s{2,}", line.strip())
        if (name := mount_point_of(line)) is not None:
            mount_point = name
        elif words[0] == "ops/s" and len(words) > 2:
            columns = words
        elif words[0] in ("read:", "write:"):
            direction, columns = words[0].rstrip(":"), [NFSIOSTAT[word] for word in words[1:]]
        elif words[0] in DIRECTIONS and columns:
            found[mount_point, words[0]] = dict(zip(columns, map(number, words[1:])))
        elif line.startswith(" ") and columns and mount_point and len(words) == len(columns):
            found[mount_point, direction] = dict(zip(columns, map(number, words)))
    return found


def number(word):
    """`8.3`, or the 6 of `6 (0.5%)`; a dash is no number."""
    digits = word.split(" ")[0]
    if digits == "-":
        return None
    return float(digits), 0.5 * 10 ** -len(digits.partition(".")[2]) if "." in digits else 0.0


def bounds(run, sampler, interval, nominal, mount_point, operation):
    """The least and the most that each column can be, by what was sampled around the program's readings."""
    first_from, first_to, second_from, second_to = run.moments(interval)

    def grew(earlier, later):
        grown = counters.growth(earlier, later, mount_point)[operation]
        return {**grown, "bytes": grown["sent"] + grown["received"],
                "retrans": grown["transmissions"] - grown["requests"]}

    least = grew(sampler.after(first_to), sampler.before(second_from))
    most = grew(sampler.before(first_from), sampler.after(second_to))
    # nfsiostat divides by the interval that it was asked for, efsmon by the true one.
    shortest, longest = interval, interval if nominal else second_to - first_from

    def mean(column):
        return (least[column] / most["requests"] if most["requests"] else 0.0,
                most[column] / least["requests"] if least["requests"] else float("inf"))

    return {
        "ops/s": (least["requests"] / longest, most["requests"] / shortest),
        "KiB/s": (least["bytes"] / 1024 / longest, most["bytes"] / 1024 / shortest),
        "MiB/s": (least["bytes"] / 1048576 / longest, most["bytes"] / 1048576 / shortest),
        "KiB/op": tuple(value / 1024 for value in mean("bytes")),
        "rtt ms": mean("rtt_ms"), "exe ms": mean("execute_ms"), "queue ms": mean("queue_ms"),
        "retrans": (least["retrans"], most["retrans"]), "errors": (least["errors"], most["errors"]),
    }
