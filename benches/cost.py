"""What efsmon costs a host with six mounts, and in the same minutes the script from cron that it replaces: CPU time.

Usage: cost.py EFSMOND NFSIOSTAT AWSCLI MINISTACK. Fails when efsmon takes more than a hundredth of what the script takes.

Both publish to an emulator on this machine, without TLS. Counters come from a file, so that what the kernel spends to
print them is in neither figure. efsmon has begun and sent a minute before; the script has run once.
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

MINUTES = 2
TIMES_CHEAPER = 100
MOUNTS = 6
REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = REPOSITORY / "tests/vm/guest/cron_script"
# nfsiostat reads /proc/self/mountstats, whatever it is told: it is given another file under that name.
NFSIOSTAT = """#!{python}
import builtins, runpy, sys
open_file = builtins.open
builtins.open = lambda path, *rest, **named: open_file(
    "{text}" if path == "/proc/self/mountstats" else path, *rest, **named)
sys.argv[0] = "{nfsiostat}"
runpy.run_path("{nfsiostat}", run_name="__main__")
"""


def main():
    efsmond, nfsiostat, awscli, ministack = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        host = Host(pathlib.Path(directory))
        host.tool("nfsiostat", NFSIOSTAT.format(python=sys.executable, text=host.mountstats, nfsiostat=nfsiostat))
        host.tool("aws", f'#!/bin/sh\nPYTHONPATH={awscli} exec {sys.executable} -m awscli "$@"\n')
        port = free_port()
        emulator = subprocess.Popen([ministack], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=directory,
                                    env=os.environ | {"GATEWAY_PORT": str(port), "MINISTACK_HOST": "127.0.0.1"})
        url = f"http://127.0.0.1:{port}"
        daemon = None
        try:
            wait_for_emulator(url)
            daemon = subprocess.Popen([efsmond, *host.flags()], env=host.environment(url), stderr=subprocess.DEVNULL)
            script(host, url)
            wait_for_second(58, minutes=1)
            rounds = [measure(host, url, daemon) for _ in range(MINUTES)]
        finally:
            for process in filter(None, (daemon, emulator)):
                process.terminate()
                process.wait()
    ratio = sum(theirs for _, theirs in rounds) / sum(ours for ours, _ in rounds)
    for ours, theirs in rounds:
        print(f"a minute of {MOUNTS} mounts, CPU ms: efsmond {ours * 1e3:.1f}, the cron script {theirs * 1e3:.0f}")
    kept = "kept" if ratio >= TIMES_CHEAPER else "MISSED"
    print(f"{'times less CPU than the cron script':<40}{ratio:>12.0f}{f'>= {TIMES_CHEAPER}':>16}  {kept}")
    sys.exit(ratio < TIMES_CHEAPER)


class Host:
    """A machine of files, whose mounts get older."""

    def __init__(self, root):
        self.root, self.mountstats = root, root / "proc/self/mountstats"
        for folder in ("proc/self", "proc/sys/kernel/random", "sys", "efs", "state", "run", "bin"):
            (root / folder).mkdir(parents=True)
        (root / "proc/sys/kernel/random/boot_id").write_text("1b4e28ba-2fa1-4d2e-883f-0016d3cca427\n")
        fixture = (REPOSITORY / "tests/fixtures/mountstats/50_scale_1.txt").read_text()
        self.record, self.begun = fixture[fixture.index("device fs-"):], time.time()
        names = [f"fs-0123456789abcde0{mount}" for mount in range(MOUNTS)]
        (root / "proc/self/mountinfo").write_text("".join(
            f"{60 + mount} 1 0:{60 + mount} / /mnt/efs{mount} rw - nfs4 {name}.efs.us-east-1.amazonaws.com:/ rw\n"
            for mount, name in enumerate(names)))
        self.names = names
        self.age()
        threading.Thread(target=self.go_on, daemon=True).start()

    def age(self):
        """Replaces the text by one in which as many seconds more have gone by."""
        text = ""
        for mount, name in enumerate(self.names):
            device = f"device {name}.efs.us-east-1.amazonaws.com:/ mounted on /mnt/efs{mount}"
            record = re.sub(r"^device \S+ mounted on \S+", device, self.record)
            text += re.sub(r"age:\t\d+", f"age:\t{1000 + int(time.time() - self.begun)}", record)
        part = self.mountstats.with_suffix(".part")
        part.write_text(text)
        part.rename(self.mountstats)

    def go_on(self):
        while self.root.exists():
            try:
                self.age()
            except FileNotFoundError:
                return
            time.sleep(0.3)

    def tool(self, name, text):
        (self.root / "bin" / name).write_text(text)
        (self.root / "bin" / name).chmod(0o755)

    def flags(self):
        folders = {"--procfs": "proc", "--sysfs": "sys", "--efs-state": "efs", "--state-dir": "state"}
        return [argument for flag, folder in folders.items() for argument in (flag, str(self.root / folder))]

    def environment(self, url):
        return {"PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(self.root), "METADATA": url,
                "AWS_ENDPOINT_URL": url, "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1",
                "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                "EFSMON_RUNTIME_DIR": str(self.root / "run"), "EFSMON_HOST__ID": "i-0123456789abcdef0"}


def script(host, url):
    """Runs the script; the CPU seconds of all its processes."""
    process = subprocess.Popen([SCRIPT], env=host.environment(url), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0 and not said, f"{SCRIPT} ended with {status}: {said.decode()}"
    return used.ru_utime + used.ru_stime


def measure(host, url, daemon):
    """A minute: the CPU seconds of both."""
    before = used(daemon.pid)
    theirs = script(host, url)
    wait_for_second(58)
    return used(daemon.pid) - before, theirs


def used(pid):
    """CPU seconds of a process, those of threads that ended included (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


def wait_for_second(second, minutes=0):
    time.sleep((second - time.time()) % 60 + 60 * minutes)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_emulator(url):
    give_up = time.monotonic() + 60
    while True:
        try:
            return urllib.request.urlopen(f"{url}/_ministack/health", timeout=5).read()
        except OSError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main()
