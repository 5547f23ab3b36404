"""Writes the licences of everything that is compiled into the programs: their authors' terms ask for it.

Usage: notices.py TARGET    such as x86_64-unknown-linux-gnu; to standard output

What is compiled in says `cargo tree`; the texts are those in each crate's own folder.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

LICENCE = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# The C library inside a crate, which has its own terms.
INSIDE = {"aws-lc-sys": ["aws-lc", "aws-lc/third_party/fiat"]}
HEAD = """\
efsmon is under the Apache License 2.0. Its programs contain the crates below and the Rust standard library
(MIT or Apache-2.0; Copyright (c) The Rust Project Contributors), each under its own licence. The texts follow the list.
"""


def main():
    [target] = sys.argv[1:]
    crates = compiled_in(target)
    users = collections.defaultdict(list)
    for crate in crates:
        for text in texts(crate):
            users[text].append(crate["name"])
    print(HEAD)
    for crate in crates:
        print(f"{crate['name']} {crate['version']}: {crate['license']}{by(crate)}")
    for text, names in sorted(users.items(), key=lambda item: item[1]):
        print(f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n\n{text}")


def compiled_in(target):
    """The crates in the programs, but for efsmon itself, by name."""
    tree = cargo("tree", "--edges", "normal,no-proc-macro", "--target", target, "--prefix", "none", "--format", "{p}")
    inside = {tuple(line.split()[:2]) for line in tree.splitlines()}
    packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    found = [crate for crate in packages if (crate["name"], "v" + crate["version"]) in inside and crate["source"]]
    if len(found) != len(inside) - 1:
        sys.exit(f"{len(inside) - 1} crates are compiled in, {len(found)} of them are known to cargo metadata")
    return sorted(found, key=lambda crate: (crate["name"], crate["version"]))


def texts(crate):
    home = pathlib.Path(crate["manifest_path"]).parent
    folders = [home, *(home / inside for inside in INSIDE.get(crate["name"], []))]
    files = (file for folder in folders for file in sorted(folder.iterdir()))
    return [file.read_text().strip() for file in files if file.is_file() and LICENCE.match(file.name)]


def by(crate):
    """Whose it is, where no text says so."""
    return "" if texts(crate) else f" (without a text; {', '.join(crate['authors']) or crate['repository']})"


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments, "--locked"], check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
