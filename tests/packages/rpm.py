"""The .rpm, by `rpm --root` in a tree of its own."""

import re
import shutil
import subprocess

from tree import NEWER, REPOSITORY, SHARED, VERSION, Tree, compare

FILES = SHARED + """\
644 root /usr/lib/systemd/system-preset/50-efsmon.preset
644 root /usr/share/zsh/site-functions/_efsmon
644 root /usr/share/zsh/site-functions/_efsmond
644 root /usr/share/doc/efsmon/CHANGELOG.md
644 root /usr/share/licenses/efsmon/LICENSE
644 root /usr/share/licenses/efsmon/third-party-licences.gz
"""

# What a system with glibc 2.17 and systemd provides, by hand: nothing newer may be asked for.
GLIBC = ["2.2.5", "2.3", "2.3.2", "2.3.3", "2.3.4", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "2.11", "2.12", "2.13", "2.14", "2.15",
         "2.16", "2.17"]
LIBRARIES = ["libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1"]
PROVIDED = ["systemd", "shadow-utils", "ca-certificates", "/bin/sh", "rtld(GNU_HASH)", "ld-linux-x86-64.so.2()(64bit)",
            "ld-linux-x86-64.so.2(GLIBC_2.3)(64bit)", *(f"{library}()(64bit)" for library in LIBRARIES),
            *(f"{library}(GLIBC_{version})(64bit)" for library in LIBRARIES for version in GLIBC)]

CONFIG = "/etc/efsmon/efsmon.toml"


def check(checks, target, package):
    newer = reversioned(target, package, NEWER)
    stub = provider(target)
    lifecycle(checks, target, package, newer, stub)
    others(checks, target, package, stub)


def reversioned(target, package, version):
    """The same package as a later version would be: another default in its configuration."""
    source = target / "newer-rpm"
    shutil.rmtree(source, ignore_errors=True)
    (source / "config").mkdir(parents=True)
    for name in ("packaging", "src", "README.md", "CHANGELOG.md", "LICENSE"):
        (source / name).symlink_to(f"{REPOSITORY}/{name}")
    manifest = open(f"{REPOSITORY}/Cargo.toml").read()
    (source / "Cargo.toml").write_text(re.sub(r'^version = ".*"$', f'version = "{version}"', manifest, count=1, flags=re.MULTILINE))
    (source / "config/efsmon.toml").write_text(open(f"{REPOSITORY}/config/efsmon.toml").read() + "# A line of the new version.\n")
    built = target / f"efsmon-{version}.rpm"
    subprocess.run(["cargo-generate-rpm", "generate-rpm", "--target", "x86_64-unknown-linux-gnu", "--target-dir", package.resolve().parents[1],
                    "--auto-req", "find-requires", "--payload-compress", "gzip", "--output", built], cwd=source, check=True)
    return built


def provider(target):
    """A package that provides what a distribution's own packages would."""
    provides = "".join(f"Provides: {name}\n" for name in PROVIDED if name != "/bin/sh")
    spec = target / "base.spec"
    spec.write_text(f"Name: base\nVersion: 1\nRelease: 1\nSummary: What a system provides\nLicense: none\nBuildArch: noarch\n{provides}"
                    "Provides: /bin/sh\n%description\nWhat a system provides.\n%files\n")
    subprocess.run(["rpmbuild", "--quiet", "--define", f"_topdir {target}/rpmbuild", "-bb", spec], check=True)
    return target / "rpmbuild/RPMS/noarch/base-1-1.noarch.rpm"


def fresh(target, stub):
    tree = Tree.fresh(target, "rpm", "bookworm", [])
    rpm(tree, "--initdb")
    rpm(tree, "--install", stub)
    return tree


def rpm(tree, *arguments):
    # Debian's rpm warns that rpm is not Debian's way, unless told so.
    return tree.run("rpm", "--root", tree.root, "--force-debian", *arguments)


def lifecycle(checks, target, package, newer, stub):
    checks.section("rpm, with a systemd that writes down its calls")
    tree = fresh(target, stub)
    tree.boot()

    checks.equal("its digests are right", tree.run("rpmkeys", "--checksig", package), (0, f"{package}: digests OK\n"))
    checks.equal("it asks for nothing newer than glibc 2.17", rpm(tree, "--install", package)[0], 0)
    checks.equal("installation enables and starts it", tree.calls(),
                 ["--no-reload preset efsmon.service", "daemon-reload", "--quiet is-enabled efsmon.service", "start efsmon.service"])
    checks.equal("its user has no shell and no home of its own", tree.user(), "/var/lib/efsmon /sbin/nologin")
    compare(checks, tree, "what is installed", rpm(tree, "--query", "--list", "efsmon")[1].split(), FILES)
    checks.equal("what is in /etc is its configuration", rpm(tree, "--query", "--configfiles", "efsmon")[1].split(), ["/etc/efsmon/conf.d/README", CONFIG])
    checks.equal("documentation is marked", {path.split("/")[3] for path in rpm(tree, "--query", "--docfiles", "efsmon")[1].split()}, {"doc", "man"})
    checks.equal("installed files are as packed", rpm(tree, "--verify", "efsmon"), (0, ""))
    checks.equal("efsmon runs", tree.inside("efsmon", "--version"), (0, f"efsmon {VERSION}\n"))
    checks.equal("its configuration is valid", tree.inside("efsmon", "config", "check")[0], 0)

    tree.append(CONFIG, "# mine\n")
    tree.write("/var/lib/efsmon/spool", "not sent yet", 0o640)
    ids = tree.ids()
    checks.equal("a newer version replaces it", rpm(tree, "--upgrade", newer)[0], 0)
    checks.equal("an upgrade restarts it once, and does not stop it before", tree.calls(), ["daemon-reload", "try-restart efsmon.service"])
    checks.equal("a changed configuration stays, the new one is beside it",
                 ("mine" in tree.path(CONFIG).read_text(), tree.path(CONFIG + ".rpmnew").exists()), (True, True))
    checks.equal("an older version replaces it", rpm(tree, "--upgrade", "--oldpackage", package)[0], 0)
    checks.equal("and restarts it once", tree.calls(), ["daemon-reload", "try-restart efsmon.service"])
    checks.equal("what was not sent yet is kept", tree.path("/var/lib/efsmon/spool").read_text(), "not sent yet")

    checks.equal("erasing", rpm(tree, "--erase", "efsmon"), (0, f"warning: {CONFIG} saved as {CONFIG}.rpmsave\n"))
    checks.equal("erasing disables and stops it", tree.calls(), ["--no-reload disable efsmon.service", "stop efsmon.service", "daemon-reload"])
    checks.equal("erasing keeps the spool", (tree.described("/var/lib/efsmon"), tree.path("/var/lib/efsmon/spool").exists()), ("750 efsmon", True))
    checks.equal("erasing keeps a changed configuration", "mine" in tree.path(CONFIG + ".rpmsave").read_text(), True)
    checks.equal("erasing leaves the user its number", tree.ids(), ids)
    checks.equal("it installs again", (rpm(tree, "--install", package)[0], tree.ids()), (0, ids))


def others(checks, target, package, stub):
    checks.section("rpm, where a preset disables it")
    tree = fresh(target, stub)
    tree.boot()
    tree.write("disabled", "")
    checks.equal("installs", rpm(tree, "--install", package), (0, ""))
    checks.equal("it is not started", [call for call in tree.calls() if "start" in call], [])

    checks.section("rpm, without a running systemd, as when an image is built")
    tree = fresh(target, stub)
    checks.equal("installs", rpm(tree, "--install", package), (0, ""))
    checks.equal("it is enabled for the first boot, not started", tree.calls(), ["--no-reload preset efsmon.service"])
    checks.equal("erases", rpm(tree, "--erase", "efsmon"), (0, ""))
    checks.equal("an empty state directory goes", tree.path("/var/lib/efsmon").exists(), False)

    checks.section("rpm, without systemctl")
    tree = fresh(target, stub)
    tree.path("usr/bin/systemctl").unlink()
    checks.equal("installs", rpm(tree, "--install", package), (0, ""))
    checks.equal("erases", rpm(tree, "--erase", "efsmon"), (0, ""))

    checks.section("rpm, on a system without what it needs")
    tree = fresh(target, stub)
    rpm(tree, "--erase", "base")
    code, said = rpm(tree, "--install", package)
    name = f"efsmon-{VERSION.replace('-', '~', 1)}-1.x86_64"
    checks.equal("says what it needs", (code, [need for need in ("systemd", "shadow-utils", "ca-certificates", "libc.so.6(GLIBC_2.17)(64bit)")
                                               if f"\t{need} is needed by {name}\n" not in said]), (1, []))
