"""A system's tree to install into: made once for each suite, and unpacked afresh for each test."""

import fnmatch
import pathlib
import shutil
import stat
import subprocess
import tomllib

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["package"]["version"]
# Of a package that is newer than any that may be built.
NEWER = "999.0.0"

# What both formats have at the same places: mode, owner and pattern, for `compare`.
SHARED = """
755 root /usr/bin/efsmon
755 root /usr/bin/efsmond
644 root /etc/efsmon/efsmon.toml
644 root /etc/efsmon/conf.d/README
644 root /usr/lib/systemd/system/efsmon.service
644 root /usr/lib/sysusers.d/efsmon.conf
644 root /usr/share/man/man1/efsmon.1.gz
644 root /usr/share/man/man1/efsmon-stat.1.gz
644 root /usr/share/man/man1/efsmon*.1.gz
644 root /usr/share/man/man5/efsmon.toml.5.gz
644 root /usr/share/bash-completion/completions/efsmon
644 root /usr/share/bash-completion/completions/efsmond
644 root /usr/share/fish/vendor_completions.d/efsmon.fish
644 root /usr/share/fish/vendor_completions.d/efsmond.fish
644 root /usr/share/efsmon/dashboards/alarms/*.json
644 root /usr/share/efsmon/dashboards/*.json
644 root /usr/share/efsmon/iam/*.json
644 root /usr/share/doc/efsmon/README.md
644 root /usr/share/doc/efsmon/examples/host-view.conf
"""

# What stands for systemd: it writes down what it is asked for. The unit is enabled unless the file `disabled` is there.
SYSTEMCTL = """\
#!/bin/sh
echo "$*" >>/systemctl.calls
case "$*" in *is-enabled*) [ ! -e /disabled ] && echo enabled ;; esac
"""


class Checks:
    """Prints each check as it is made."""

    def __init__(self):
        self.held = self.failed = 0

    def section(self, title):
        print(f"== {title}", flush=True)

    def equal(self, name, found, expected):
        held = found == expected
        print(f"   {'ok    ' if held else 'FAILED'} {name}", flush=True)
        if held:
            self.held += 1
        else:
            self.failed += 1
            print(f"          found    {found!r}\n          expected {expected!r}", flush=True)


class Tree:
    """A directory that is the root of a system. What is run for it goes to its transcript."""

    def __init__(self, root, transcript):
        self.root, self.transcript = root, transcript

    @classmethod
    def fresh(cls, target, name, suite, include):
        """A new tree of the suite with these packages. What mmdebstrap makes is kept for the next run."""
        archive = target / f"{suite}.tar"
        if not archive.exists():
            print(f"fetching a tree of {suite} (a minute or two, once)", flush=True)
            part = archive.with_suffix(".part.tar")
            subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(include)}", suite, part], check=True)
            part.rename(archive)
        root = target / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        subprocess.run(["tar", "--extract", "--exclude=./dev/*", "--file", archive, "--directory", root], check=True)
        (root / "dev/null").touch()
        tree = cls(root, target / f"{name}.log")
        tree.transcript.write_text("")
        tree.write("usr/bin/systemctl", SYSTEMCTL, 0o755)
        return tree

    def path(self, name):
        return self.root / name.lstrip("/")

    def write(self, name, text, mode=0o644):
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text)
        self.path(name).chmod(mode)

    def append(self, name, text):
        self.path(name).write_text(self.path(name).read_text() + text)

    def run(self, *command):
        """Runs it on this machine; its exit status and its output."""
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"})
        with self.transcript.open("a") as transcript:
            transcript.write(f"$ {' '.join(map(str, command))}\n{done.stdout}[{done.returncode}]\n\n")
        return done.returncode, done.stdout

    def inside(self, *command):
        """Runs it in the tree."""
        return self.run("chroot", self.root, *command)

    def boot(self):
        """From here on, scripts find a running systemd."""
        self.path("run/systemd/system").mkdir(parents=True, exist_ok=True)

    def calls(self):
        """What systemctl was asked for since this was last asked."""
        log = self.path("systemctl.calls")
        calls = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return calls

    def user(self):
        """The line of the user in the tree's passwd, without numbers and name, or None."""
        for line in self.path("etc/passwd").read_text().splitlines():
            name, _, _, _, _, home, shell = line.split(":")
            if name == "efsmon":
                return f"{home} {shell.replace('/usr/sbin', '/sbin')}"
        return None

    def ids(self):
        lines = (line.split(":") for line in self.path("etc/passwd").read_text().splitlines())
        return {int(uid): name for name, _, uid, *_ in lines}

    def described(self, name):
        """Mode and owner of a file or directory."""
        found = self.path(name).lstat()
        return f"{stat.S_IMODE(found.st_mode):o} {self.ids().get(found.st_uid, found.st_uid)}"


def compare(checks, tree, name, installed, table):
    """Holds files and directories against lines of `MODE OWNER PATTERN`: each matches one, and each line is needed."""
    rows = [line.split() for line in table.strip().splitlines()]
    wrong, used = [], set()
    for path in installed:
        mode, owner, pattern = next((row for row in rows if fnmatch.fnmatch(path, row[2])), ("", "", None))
        used.add(pattern)
        if tree.described(path) != f"{mode} {owner}":
            wrong.append(f"{path}: {tree.described(path)}")
    missing = [row[2] for row in rows if row[2] not in used]
    checks.equal(f"{name}: {len(installed)} files and directories are those of the table, with modes and owners", (wrong, missing), ([], []))
