"""Tries the programs of the aarch64 package under qemu-user: do they print and publish what those for x86_64 do?

Usage: run.py QEMU MINISTACK PACKAGES

QEMU is a directory with Debian's qemu-user-static, and libc6 and libgcc-s1 for arm64; PACKAGES is the directory with
the packages of both, of which the newest are taken. The commands are compared byte
for byte on the recorded texts of tests/fixtures. efsmond publishes over HTTP and over TLS to an emulator of
CloudWatch, and what arrived is held against the counters. Exit status 1 when a check failed.

What this cannot show: the kernel of an aarch64 host, its /proc, and how much memory the programs take there.
"""

import json
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
sys.path.insert(0, str(HERE.parent / "demo"))
import demo
from emulator import PATIENCE, Ministack, Stuck, Tls, certificate_of, environment

# Graviton's first generation has none of the atomic instructions of later ones; the second is the oldest still sold
# everywhere. Newer ones have more, which qemu 7.2 does not know.
GRAVITON_1, GRAVITON_2 = "cortex-a72", "neoverse-n1"
AARCH64 = 183  # EM_AARCH64, elf.h
LARGEST_PAGE = 65536  # of RHEL 8 on aarch64
PROGRAMS = ["efsmon", "efsmond"]
VIEWS = [[], ["--attr"], ["--page"], ["--nfsiostat"], ["--json"], ["--csv"]]


def main():
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda signum, frame: sys.exit(128 + signum))
    qemu, ministack, packages = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
    debs = [newest(packages, *architecture) for architecture in (("arm64", "aarch64"), ("amd64", "x86_64"))]
    directory = pathlib.Path(tempfile.mkdtemp(prefix="efsmon-aarch64."))
    trial = Trial(directory, qemu, *debs)
    try:
        trial.programs_are_what_they_should_be()
        trial.commands_print_the_same()
        with Ministack(directory, ministack) as emulator:
            trial.daemon_publishes("HTTP", GRAVITON_1, emulator.url, {"AWS_ENDPOINT_URL": emulator.url})
            certificate = certificate_of(directory)
            with Tls(certificate, emulator.port) as front:
                settings = {"AWS_ENDPOINT_URL": front.url, "SSL_CERT_FILE": str(certificate)}
                trial.daemon_publishes("TLS", GRAVITON_2, emulator.url, settings)
                trial.check("efsmond, TLS: what it spoke", front.agreed, ", ".join(sorted(front.agreed)))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if trial.failed:
        sys.exit(f"{len(trial.failed)} of {trial.done} checks failed")
    print(f"all {trial.done} checks held")


class Trial:
    def __init__(self, directory, qemu, aarch64, x86_64):
        self.directory, self.qemu = directory, qemu
        self.done, self.failed = 0, []
        self.version = subprocess.check_output(["dpkg-deb", "--field", aarch64, "Version"], text=True).strip()
        self.roots = {}
        for name, package in (("aarch64", aarch64), ("x86_64", x86_64)):
            self.roots[name] = directory / name
            subprocess.run(["dpkg-deb", "--extract", package, self.roots[name]], check=True)

    def check(self, name, held, found=""):
        self.done += 1
        self.failed += [] if held else [name]
        print(f"{'ok    ' if held else 'FAILED'} {name:<68} {found}", flush=True)

    def command(self, program, cpu=GRAVITON_1):
        """What runs a program of the aarch64 package."""
        qemu = [self.qemu / "usr/bin/qemu-aarch64-static", "-cpu", cpu, "-L", self.qemu / "usr/aarch64-linux-gnu"]
        return [*qemu, self.roots["aarch64"] / "usr/bin" / program]

    def programs_are_what_they_should_be(self):
        for program in PROGRAMS:
            file = self.roots["aarch64"] / "usr/bin" / program
            machine, alignments = elf(file)
            self.check(f"{program} is for aarch64", machine == AARCH64, f"{file.stat().st_size:,} bytes")
            fits = all(alignment % LARGEST_PAGE == 0 for alignment in alignments)
            self.check(f"{program} can be loaded with pages of 64 KiB", fits, f"segments aligned to {alignments}")
            for cpu in (GRAVITON_1, GRAVITON_2):
                said = run([*self.command(program, cpu), "--version"])
                right = said.stdout.decode().strip() == f"{program} {self.version.rsplit('-', 1)[0].replace('~', '-')}"
                self.check(f"{program} --version on {cpu}", right, (said.stdout or said.stderr).decode().strip())

    def commands_print_the_same(self):
        texts = [text for text in sorted(FIXTURES.glob("**/*.mountstats")) if "replays" not in text.parts]
        single = [["stat", "--file", text] for text in texts]
        self.check_same("efsmon stat, single texts", single)
        pairs = [text for text in texts if text.name == "1.mountstats"]
        self.check_same(
            "efsmon stat, pairs of texts",
            [
                ["stat", *view, "--file", text, "--since", text.with_name("0.mountstats"), "--interval", "1"]
                for text in pairs
                for view in VIEWS
            ],
        )
        recording = self.record()
        for name, arguments in (
            ("efsmon mounts, a recording", [["mounts"], ["mounts", "--json"], ["mounts", "--verbose"]]),
            ("efsmon stat, a recording", [["stat", "1"], ["stat", "--json", "1"]]),
            ("efsmon run --dry-run, a recording", [["run", "--dry-run"]]),
        ):
            commands = [[*command, "--procfs", recording] for command in arguments]
            self.check_same(name, commands, [demo.DIRECT["id"].encode()])
        pure = [["cost"], ["iam-policy", "--for", "daemon"], ["alarms", "test"]]
        pure += [["dashboards", "render", "--file-system", demo.DIRECT["id"]]]
        self.check_same("cost, policy, alarms test, dashboards", pure)

    def check_same(self, name, commands, expected=()):
        """That both programs answer with the same bytes, and that these are an answer. What they log has times in it."""
        size, different = 0, []
        for arguments in commands:
            ours = run([*self.command("efsmon"), *arguments])
            theirs = run([self.roots["x86_64"] / "usr/bin/efsmon", *arguments])
            size += len(ours.stdout)
            same = [(answer.returncode, answer.stdout) for answer in (ours, theirs)]
            if same[0] != same[1] or ours.returncode != 0 or not all(word in ours.stdout for word in expected):
                different.append(f"{' '.join(map(str, arguments))}: {ours} and {theirs}")
        found = f"{len(commands)} answers, {size:,} bytes" if not different else f"\n{different[0]}"
        self.check(f"{name}: the same as on x86_64", commands and size and not different, found)

    def record(self):
        """A recording of moving counters, made by the aarch64 program."""
        replay = demo.Replay(self.fresh("machine"))
        recording = self.directory / "recording"
        roots = ["--procfs", replay.procfs, "--efs-state", replay.efs_state, "--sysfs", self.directory / "sys"]
        command = [*self.command("efsmon"), "record", recording, "1", "4", *roots]
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(command, env=environment(), **pipe) as recorder:
            while recorder.poll() is None:
                replay.swap(moves=not replay.is_over())
                time.sleep(0.5)
            self.check("efsmon record", recorder.returncode == 0, recorder.stdout.read().splitlines()[-1])
        return recording

    def daemon_publishes(self, name, cpu, url, settings):
        """That what efsmond sends with these settings is what the counters grew by; `url` is where to look."""
        cloudwatch = demo.Cloudwatch(url)
        series = [(file_system, operation) for file_system in demo.FILE_SYSTEMS for operation in ("READ", "WRITE")]
        before = [total(cloudwatch, *of) for of in series]
        service = Service(self.fresh(name), self.command("efsmond", cpu), settings)
        try:
            service.wait_until_ready()
            self.check(f"efsmond, {name}: tells systemd that it is ready", True, cpu)
            part = service.count()
            status = service.stop()
            self.check(f"efsmond, {name}: ends by SIGTERM", status == 0, f"status {status}")
        except (Stuck, OSError, subprocess.TimeoutExpired) as error:
            self.check(f"efsmond, {name}: runs", False, f"{error!r}\n{service.log.read_text()}")
            return
        finally:
            service.clean_up()
        for (file_system, operation), so_far in zip(series, before):
            grew = part.grew(file_system, operation)["bytes"]
            arrived = total(cloudwatch, file_system, operation) - so_far
            found = f"{grew:,} bytes" if arrived == grew else f"{arrived:,} in place of {grew:,}"
            shown = f"efsmond, {name}: {operation} of {file_system['id']} arrived"
            self.check(shown, grew > 0 and arrived == grew, found)

    def fresh(self, name):
        directory = self.directory / name
        directory.mkdir()
        return directory


class Service:
    """efsmond as systemd starts it, with counters of its own."""

    def __init__(self, directory, command, settings):
        self.replay = demo.Replay(directory)
        self.log, self.status = directory / "log", directory / "run/status.json"
        config = directory / "efsmon.toml"
        config.write_text(
            f"""
            sample_interval = "1s"
            state_dir = "{directory}/state"
            runtime_dir = "{directory}/run"
            [source]
            namespace = "self"
            procfs = "{self.replay.procfs}"
            sysfs = "{directory}/sys"
            efs_state = "{self.replay.efs_state}"
            [host]
            id = "{demo.HOST}"
            """
        )
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(directory / "notify"))
        self.manager.settimeout(PATIENCE)
        settings = environment({"NOTIFY_SOCKET": str(directory / "notify")} | settings)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*command, "--config", config], env=settings, stdout=log, stderr=log)

    def wait_until_ready(self):
        while "READY=1" not in self.manager.recv(4096).decode():
            pass

    def count(self):
        """Lets the counters grow between two samples; the texts before and after."""
        self.wait_for_samples(2)
        earlier = self.replay.text()
        for _ in range(12):
            self.replay.swap(moves=True)
        self.wait_for_samples(2)
        return demo.Part(0, 0, earlier, self.replay.text())

    def wait_for_samples(self, count):
        """Until the daemon has taken so many more samples: the last of two has begun after this call."""
        deadline = time.monotonic() + PATIENCE
        begin = None
        while begin is None or self.samples() < begin + count:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Stuck("it takes no samples")
            begin = self.samples() if begin is None and self.status.exists() else begin
            time.sleep(0.1)

    def samples(self):
        return json.loads(self.status.read_text())["samples"]["taken"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def clean_up(self):
        demo.end(self.process)
        self.manager.close()


def newest(packages, suffix, architecture):
    found = sorted(packages.glob(f"*_{suffix}.deb"), key=lambda package: package.stat().st_mtime)
    if not found:
        sys.exit(f"no package for {architecture} in {packages}: make deb ARCH={architecture}")
    return found[-1]


def elf(file):
    """Of a 64-bit little-endian program: its machine, and the alignment of each segment that is loaded (elf(5))."""
    data = file.read_bytes()
    machine = struct.unpack_from("<H", data, 18)[0]
    headers = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [headers + index * size for index in range(count)]
    loaded = [at for at in segments if struct.unpack_from("<I", data, at)[0] == 1]
    return machine, [struct.unpack_from("<Q", data, at + 48)[0] for at in loaded]


def run(command):
    return subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)


def total(cloudwatch, file_system, operation):
    """The bytes of a file system that arrived in the last quarter of an hour."""
    now = int(time.time())
    answer = cloudwatch.client.get_metric_statistics(
        Namespace=demo.NAMESPACE,
        MetricName=f"{operation.title()}Bytes",
        Dimensions=[{"Name": "FileSystemId", "Value": file_system["id"]}],
        StartTime=now - 900,
        EndTime=now + 60,
        Period=60,
        Statistics=["Sum"],
    )
    return int(sum(point["Sum"] for point in answer["Datapoints"]))


if __name__ == "__main__":
    main()
