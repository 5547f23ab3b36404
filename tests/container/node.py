"""A node of a cluster, as far as a DaemonSet's volumes show it: its files, below a directory.

Its first process has one NFS mount, made by amazon-efs-utils. Its counters are those of a recording of a Linux 6.1
host (tests/fixtures/replays), but for READ, which grows by a set amount.
"""

import json
import pathlib
import re
import time

RECORDING = pathlib.Path(__file__).resolve().parents[1] / "fixtures/replays/server-restart"
FILE_SYSTEM = "fs-0fedcba9876543210"
INSTANCE = "i-0123456789abcdef0"
MOUNT_POINT = "/var/lib/kubelet/pods/5a0f4a0e-6f0b-4d39-9f0e-0c3f8c9a7c11/volumes/kubernetes.io~csi/home/mount"
PORT = 20127
# What a READ adds, in the columns of net/sunrpc/stats.c: requests, transmissions, time-outs, bytes sent and received,
# milliseconds in the queue, to the reply and in all, errors.
ONE_READ = (1, 1, 0, 200, 1048676, 1, 9, 10, 0)
BYTES_OF_A_READ = 200 + 1048676


class Node:
    def __init__(self, directory):
        self.directory = directory
        self.reads, self.born = 0, time.monotonic()
        recorded = next(iter(sorted(RECORDING.glob("*.mountstats")))).read_text()
        self.mountstats = as_helped(recorded[: recorded.index("device fs-")], recorded[recorded.index("device fs-") :])
        self.write("proc/1/mountinfo", as_helped("", (RECORDING / "mountinfo").read_text()))
        self.write("proc/1/mountstats", self.text())
        self.write("proc/sys/kernel/random/boot_id", "01234567-89ab-4cde-8f01-23456789abcd\n")
        self.write("proc/sys/kernel/hostname", "ip-10-0-1-5\n")
        self.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
        self.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
        self.write("sys/class/dmi/id/board_asset_tag", f"{INSTANCE}\n")
        # As the mount helper makes them.
        name = f"{FILE_SYSTEM}.{MOUNT_POINT.strip('/').replace('/', '.')}.{PORT}"
        state = {"pid": 4211, "mountpoint": MOUNT_POINT, "fsId": FILE_SYSTEM, "region": "eu-west-1"}
        self.write(f"var/run/efs/{name}", json.dumps(state))
        self.path("/var/run/efs").chmod(0o750)
        self.path("/proc/1/mountstats").chmod(0o400)

    def path(self, path):
        """Where on this machine a path of the node is."""
        return self.directory / path.lstrip("/")

    def write(self, path, text):
        path = self.path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, requests):
        """The mount has read so much more; everything that shows it, at once."""
        self.reads += requests
        self.tick()

    def tick(self):
        """The mount is older now."""
        self.write("proc/1/next", self.text())
        self.path("/proc/1/next").chmod(0o400)
        self.path("/proc/1/next").rename(self.path("/proc/1/mountstats"))

    def text(self):
        age = int(time.monotonic() - self.born) + 1000
        read = " ".join(str(self.reads * column) for column in ONE_READ)
        text = re.sub(r"(?m)^\tage:\t\d+$", f"\tage:\t{age}", self.mountstats)
        return re.sub(r"(?m)^(\s+READ:) .*$", rf"\1 {read}", text)


def as_helped(before, text):
    """What the recording's own NFS mount looks like when the mount helper makes it: a proxy's port on this host."""
    text = re.sub(r"fs-0123456789abcdef0\.efs\.[a-z0-9-]+\.amazonaws\.com:/", "127.0.0.1:/", text)
    return before + text.replace("/mnt/efs", MOUNT_POINT).replace(",proto=tcp,", f",proto=tcp,port={PORT},")
