"""The .deb, by dpkg in trees of Debian."""

import re

from tree import NEWER, SHARED, VERSION, Tree, compare

INCLUDE = ["adduser", "ca-certificates"]

FILES = SHARED + """\
644 root /usr/share/zsh/vendor-completions/_efsmon
644 root /usr/share/zsh/vendor-completions/_efsmond
644 root /usr/share/doc/efsmon/changelog.gz
644 root /usr/share/doc/efsmon/changelog.Debian.gz
644 root /usr/share/doc/efsmon/copyright
644 root /usr/share/doc/efsmon/third-party-licences.gz
644 root /usr/share/lintian/overrides/efsmon
755 root /*
"""

CONFIG = "/etc/efsmon/efsmon.toml"
WANTED = "/etc/systemd/system/multi-user.target.wants/efsmon.service"
MASK = "/etc/systemd/system/efsmon.service"


def check(checks, target, package, suite):
    newer = reversioned(target, package, f"{NEWER}-1")
    lifecycle(checks, target, package, newer, suite)
    booted(checks, target, package, newer, suite)


def reversioned(target, package, version):
    """The same package as a later version would be: another default in its configuration."""
    tree, built = target / "newer", target / f"efsmon_{version}.deb"
    scratch = Tree(tree, target / "newer.log")
    scratch.run("rm", "-rf", tree)
    scratch.run("dpkg-deb", "--raw-extract", package, tree)
    control = scratch.path("DEBIAN/control")
    control.write_text(re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.MULTILINE))
    scratch.append(CONFIG, "# A line of the new version.\n")
    scratch.run("dpkg-deb", "--root-owner-group", "--build", tree, built)
    return built


def lifecycle(checks, target, package, newer, suite):
    """In a chroot, where no systemd runs."""
    checks.section(f"deb, {suite}, in a chroot without systemd")
    tree = Tree.fresh(target, f"deb-{suite}", suite, INCLUDE)
    tree.path("usr/bin/systemctl").unlink()

    checks.equal("the root directory in it is everybody's", tree.run("dpkg-deb", "--contents", package)[1].splitlines()[0].split()[:2],
                 ["drwxr-xr-x", "root/root"])
    checks.equal("installs", install(tree, package), 0)
    checks.equal("its user has no shell and no home of its own", tree.user(), "/var/lib/efsmon /sbin/nologin")
    listed = tree.inside("dpkg", "--listfiles", "efsmon")[1].split()
    compare(checks, tree, "what is installed", [path for path in listed if path != "/."], FILES)
    checks.equal("what is in /etc is its configuration", tree.inside("dpkg-query", "--showformat", "${Conffiles}", "--show", "efsmon")[1].split()[::2],
                 [CONFIG, "/etc/efsmon/conf.d/README"])
    checks.equal("efsmon runs", tree.inside("efsmon", "--version"), (0, f"efsmon {VERSION}\n"))
    checks.equal("efsmond runs", tree.inside("efsmond", "--version"), (0, f"efsmond {VERSION}\n"))
    checks.equal("its configuration is valid", tree.inside("efsmon", "config", "check")[0], 0)
    checks.equal("the service is enabled for the first boot", tree.path(WANTED).is_symlink(), True)
    checks.equal("installed files are as packed", tree.inside("dpkg", "--verify", "efsmon"), (0, ""))

    keep(tree)
    ids = tree.ids()
    checks.equal("a newer version replaces it", install(tree, newer, "--force-confold"), 0)
    checks.equal("a changed configuration stays, the new one is beside it",
                 ("mine" in tree.path(CONFIG).read_text(), tree.path(CONFIG + ".dpkg-dist").exists()), (True, True))
    checks.equal("an older version replaces it", install(tree, package, "--force-confold"), 0)
    checks.equal("what was not sent yet is kept", tree.described("/var/lib/efsmon/spool"), "640 efsmon")

    checks.equal("removal", tree.inside("dpkg", "--remove", "efsmon")[0], 0)
    checks.equal("removal takes the programs", tree.path("usr/bin/efsmond").exists(), False)
    checks.equal("removal keeps the spool", tree.described("/var/lib/efsmon/spool"), "640 efsmon")
    checks.equal("removal keeps the configuration", "mine" in tree.path(CONFIG).read_text(), True)
    checks.equal("it installs again", install(tree, package), 0)
    checks.equal("with the configuration, and enabled", ("mine" in tree.path(CONFIG).read_text(), tree.path(WANTED).is_symlink(), tree.path(MASK).exists()),
                 (True, True, False))

    checks.equal("purge", tree.inside("dpkg", "--purge", "efsmon")[0], 0)
    checks.equal("purge takes the spool, the configuration and the link",
                 [path for path in ("/var/lib/efsmon", "/etc/efsmon", WANTED, MASK) if tree.path(path).exists() or tree.path(path).is_symlink()], [])
    checks.equal("purge leaves the user its number", tree.ids(), ids)
    checks.equal("it installs once more", install(tree, package), 0)


def booted(checks, target, package, newer, suite):
    """Where scripts find a running systemd."""
    checks.section(f"deb, {suite}, with a systemd that writes down its calls")
    tree = Tree.fresh(target, f"deb-{suite}", suite, INCLUDE)
    tree.boot()
    install(tree, package)
    checks.equal("installation starts it", asked(tree), ["start"])
    tree.append(CONFIG, "# mine\n")
    install(tree, newer, "--force-confold")
    checks.equal("an upgrade restarts it once, and does not stop it before", asked(tree), ["restart"])
    tree.inside("dpkg", "--remove", "efsmon")
    checks.equal("removal stops it", asked(tree), ["stop"])
    install(tree, package, "--force-confold")
    checks.equal("installation after removal starts it", asked(tree), ["restart"])


def install(tree, package, *options):
    """Its exit status."""
    tree.run("cp", package, tree.path("package.deb"))
    return tree.inside("dpkg", *options, "--install", "/package.deb")[0]


def keep(tree):
    """What an installation has after a while: a changed setting, and a spool."""
    tree.append(CONFIG, "# mine\n")
    tree.write("/var/lib/efsmon/spool", "not sent yet", 0o640)
    tree.inside("chown", "-R", "efsmon:efsmon", "/var/lib/efsmon")


def asked(tree):
    """What systemd was asked to do with the service."""
    words = (call.split() for call in tree.calls())
    return [word for call in words for word in call if word in ("start", "stop", "restart", "try-restart")]
