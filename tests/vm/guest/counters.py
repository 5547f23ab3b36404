"""In the virtual machine: the kernel's counters, read by an independent program: this one.

Written from the kernel's sources (fs/nfs/super.c, net/sunrpc/stats.c), not from efsmon: what both say is so.
"""

import collections
import pathlib
import re
import time

MOUNTSTATS = pathlib.Path("/proc/self/mountstats")
# An operation's numbers; `errors` since Linux 5.3.
COLUMNS = ("requests", "transmissions", "timeouts", "sent", "received", "queue_ms", "rtt_ms", "execute_ms", "errors")
# What is published of them for every file system.
METRICS = ("ReadBytes", "WriteBytes", "ReadOperations", "WriteOperations", "MetadataOperations")
# What keeps the connection to the server alive, and is no mount's own.
SESSION = {"NULL", "SETCLIENTID", "SETCLIENTID_CONFIRM", "RENEW", "EXCHANGE_ID", "CREATE_SESSION", "DESTROY_SESSION",
           "SEQUENCE", "GET_LEASE_TIME", "RECLAIM_COMPLETE", "BIND_CONN_TO_SESSION", "DESTROY_CLIENTID"}


def read():
    """The text at this moment."""
    return MOUNTSTATS.read_text()


def escaped(path):
    """A mount point as the kernel prints it."""
    return "".join(f"\\{ord(letter):03o}" if letter in " \t\n\\" else letter for letter in str(path))


def unescaped(path):
    """A mount point that the kernel printed."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def mount_points(text):
    """Every NFS mount's, in the text's order, as the kernel writes them."""
    return re.findall(r"(?m)^device .+ mounted on (\S+) with fstype nfs4? statvers=", text)


def operations(text, mount_point):
    """Each operation's numbers by the names above, of what is mounted there; none when nothing is."""
    found = {}
    for record in re.split(r"(?m)^(?=device )", text):
        if f" mounted on {escaped(mount_point)} with fstype nfs" in record.split("\n", 1)[0]:
            found = {name: dict(zip(COLUMNS, map(int, numbers.split())))
                     for name, numbers in re.findall(r"(?m)^\s+(\w+): ([\d ]+)$", record.split("per-op statistics")[1])}
    return found


def growth(earlier, later, mount_point):
    """What each operation's numbers grew by; a mount that is new began at 0."""
    before = operations(earlier, mount_point)
    return {name: {column: number - before.get(name, {}).get(column, 0) for column, number in numbers.items()}
            for name, numbers in operations(later, mount_point).items()}


def totals(grown):
    """What is to be published of it, by the names of the metrics."""
    sums = collections.Counter()
    for name, numbers in grown.items():
        if name in ("READ", "WRITE"):
            sums[f"{name.title()}Bytes"] += numbers["sent"] + numbers["received"]
            sums[f"{name.title()}Operations"] += numbers["requests"]
        elif name != "COMMIT" and name not in SESSION:
            sums["MetadataOperations"] += numbers["requests"]
    return {name: sums[name] for name in METRICS}


def wait_for_second(second):
    """Until the clock's seconds are these again; the minute that it is then, in seconds since 1970."""
    now = time.time()
    target = now - now % 60 + second
    if target < now:
        target += 60
    time.sleep(target - now)
    return int(target // 60 * 60)


def clock(seconds):
    """Hours and minutes in UTC."""
    return time.strftime("%H:%M", time.gmtime(seconds))
