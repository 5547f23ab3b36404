#!/usr/bin/env python3
"""What a release says of itself: the section of its version in CHANGELOG.md.

Usage: changelog.py TAG [DIRECTORY]    of the project in DIRECTORY (default: where this file's project is)

Fails when the tag is not `v` and the version in Cargo.toml, or when there is no section of it with a date and a text.
"""

import pathlib
import re
import sys
import tomllib

HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}))?\s*$")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: changelog.py TAG [DIRECTORY]")
    tag, *directory = sys.argv[1:]
    project = pathlib.Path(*directory) if directory else pathlib.Path(__file__).resolve().parents[1]
    cargo, changelog = project / "Cargo.toml", project / "CHANGELOG.md"
    version = tomllib.loads(cargo.read_text())["package"]["version"]
    if tag != f"v{version}":
        sys.exit(f"the tag is {tag}, but {cargo} has version {version}: tag v{version}, or change the version first")
    print(section(changelog, version))


def section(changelog, version):
    """What stands below the version's heading, up to the next version's."""
    sections = []
    for line in changelog.read_text().splitlines():
        if heading := HEADING.match(line):
            sections.append((heading["version"], heading["date"], []))
        elif sections:
            sections[-1][2].append(line)
    found = [(date, "\n".join(lines).strip()) for name, date, lines in sections if name == version]
    if not found:
        sys.exit(
            f"{changelog} has no section of {version}: write `## [{version}] - YYYY-MM-DD` below `## [Unreleased]`"
        )
    if len(found) > 1:
        sys.exit(f"{changelog} has more than one section of {version}")
    date, text = found[0]
    if date is None:
        sys.exit(f"{changelog} has no date for {version}: write `## [{version}] - YYYY-MM-DD`")
    if not text:
        sys.exit(f"{changelog} says nothing of {version}: move what is Unreleased into its section")
    return text


if __name__ == "__main__":
    main()
