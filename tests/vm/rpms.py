"""Makes the .rpm files that the virtual machine installs.

Usage: rpms.py PACKAGES DIRECTORY    the built .rpm of PACKAGES, one of a later version, and a stub; as tests/packages has them
"""

import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "packages"))
import rpm

LATER = "9.0.0"


def main():
    packages, directory = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    work = directory.with_suffix(".work")
    for path in (directory, work):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    (package,) = packages.glob("efsmon-*.x86_64.rpm")
    for made in (package, rpm.reversioned(work, package, LATER), rpm.provider(work)):
        shutil.copy(made, directory)
    shutil.rmtree(work)


main()
