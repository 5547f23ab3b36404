"""Tries the programs of the aarch64 package under qemu-user: do they print and publish what those for x86_64 do?

Usage: run.py QEMU MINISTACK AARCH64.deb X86_64.deb

QEMU is a directory with Debian's qemu-user-static, and libc6 and libgcc-s1 for arm64. The commands are compared byte
for byte on the recorded texts of tests/fixtures. efsmond publishes over HTTP and over TLS to an emulator of
CloudWatch, and what arrived is held against the counters. Exit status 1 when a check failed.

What this cannot show: the kernel of an aarch64 host, its /proc, and how much memory the programs take there.
"""

import asyncio
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
sys.path.insert(0, str(HERE.parent / "demo"))
import demo  # noqa: E402

# Graviton's first generation has none of the atomic instructions of later ones; the second is the oldest still sold
# everywhere. Newer ones have more, which qemu 7.2 does not know.
GRAVITON_1, GRAVITON_2 = "cortex-a72", "neoverse-n1"
AARCH64 = 183  # EM_AARCH64, elf.h
LARGEST_PAGE = 65536  # of RHEL 8 on aarch64
PROGRAMS = ["efsmon", "efsmond"]
VIEWS = [[], ["--attr"], ["--page"], ["--nfsiostat"], ["--json"], ["--csv"]]
# Under qemu and beside a compiler, anything may take long.
PATIENCE = 180


def main():
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda signum, frame: sys.exit(128 + signum))
    qemu, ministack, *packages = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
    directory = pathlib.Path(tempfile.mkdtemp(prefix="efsmon-aarch64."))
    trial = Trial(directory, qemu, *packages)
    try:
        trial.programs_are_what_they_should_be()
        trial.commands_print_the_same()
        with Ministack(directory, ministack) as emulator:
            trial.daemon_publishes("HTTP", GRAVITON_1, emulator.url)
            certificate = certificate_of(directory)
            with Tls(certificate, emulator.port) as front:
                trial.daemon_publishes("TLS", GRAVITON_2, emulator.url, front, {"SSL_CERT_FILE": str(certificate)})
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
        print(f"{'ok    ' if held else 'FAILED'} {name:<52} {found}", flush=True)

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
                right = said.stdout.decode().strip() == f"{program} {self.version.split('-')[0]}"
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
            self.check_same(name, [[*command, "--procfs", recording] for command in arguments], [b"fs-0123456789abcdef0"])
        pure = [["cost"], ["iam-policy", "--for", "daemon"], ["dashboards", "render"], ["alarms", "test"]]
        self.check_same("cost, policies, dashboards, tests of alarms", pure)

    def check_same(self, name, commands, expected=()):
        """That both programs answer with the same bytes, and that these are an answer."""
        size, different = 0, []
        for arguments in commands:
            ours = run([*self.command("efsmon"), *arguments])
            theirs = run([self.roots["x86_64"] / "usr/bin/efsmon", *arguments])
            size += len(ours.stdout)
            same = [(answer.returncode, answer.stdout, answer.stderr) for answer in (ours, theirs)]
            if same[0] != same[1] or ours.returncode != 0 or not all(word in ours.stdout for word in expected):
                different.append(f"{' '.join(map(str, arguments))}: {same[0]} and {same[1]}")
        found = f"{len(commands)} answers, {size:,} bytes" if not different else f"\n{different[0]}"
        self.check(f"{name}: the same as on x86_64", commands and size and not different, found)

    def record(self):
        """A recording of moving counters, made by the aarch64 program."""
        replay = demo.Replay(self.fresh("machine"))
        recording = self.directory / "recording"
        roots = ["--procfs", replay.procfs, "--efs-state", replay.efs_state, "--sysfs", self.directory / "sys"]
        command = [*self.command("efsmon"), "record", recording, "1", "4", *roots]
        with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as recorder:
            while recorder.poll() is None:
                replay.swap(moves=not replay.is_over())
                time.sleep(0.5)
            self.check("efsmon record", recorder.returncode == 0, recorder.stderr.read().strip())
        return recording

    def daemon_publishes(self, name, cpu, url, front=None, more=None):
        """That what efsmond sends is what the counters grew by; `front` is what it talks to, in place of `url`."""
        directory = self.fresh(name)
        replay = demo.Replay(directory)
        host = f"aarch64-{name.lower()}"
        config = directory / "efsmon.toml"
        config.write_text(
            f"""
            sample_interval = "1s"
            state_dir = "{directory}/state"
            runtime_dir = "{directory}/run"
            [source]
            namespace = "self"
            procfs = "{replay.procfs}"
            sysfs = "{directory}/sys"
            efs_state = "{replay.efs_state}"
            [host]
            id = "{host}"
            """
        )
        service_manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        service_manager.bind(str(directory / "notify"))
        service_manager.settimeout(PATIENCE)
        settings = {"AWS_ENDPOINT_URL": front.url if front else url, "NOTIFY_SOCKET": str(directory / "notify")}
        log = open(directory / "log", "wb")
        command = [*self.command("efsmond", cpu), "--config", config]
        daemon = subprocess.Popen(command, env=environment(settings | (more or {})), stdout=log, stderr=log)
        try:
            said = service_manager.recv(4096).decode()
            self.check(f"efsmond, {name}: tells systemd that it is ready", "READY=1" in said, cpu)
            wait_for_samples(daemon, directory / "run/status.json", 2)
            earlier = replay.text()
            for _ in range(12):
                replay.swap(moves=True)
            wait_for_samples(daemon, directory / "run/status.json", 2)
            later = replay.text()
            daemon.send_signal(signal.SIGTERM)
            ended = daemon.wait(PATIENCE)
        except (Stuck, OSError, subprocess.TimeoutExpired) as stuck:
            self.check(f"efsmond, {name}", False, f"{stuck}\n{(directory / 'log').read_text()}")
            return
        finally:
            demo.end(daemon)
            log.close()
            service_manager.close()
        self.check(f"efsmond, {name}: ends by SIGTERM", ended == 0, f"status {ended}")
        part = demo.Part(0, 0, earlier, later)
        cloudwatch = demo.Cloudwatch(url)
        for file_system in demo.FILE_SYSTEMS:
            for operation in ("READ", "WRITE"):
                grew = part.grew(file_system, operation)["bytes"]
                arrived = total(cloudwatch, f"{operation.title()}Bytes", file_system["id"], host)
                found = f"{grew:,} bytes" if arrived == grew else f"{arrived:,} in place of {grew:,}"
                shown = f"efsmond, {name}: {operation} of {file_system['id']} arrived"
                self.check(shown, grew > 0 and arrived == grew, found)

    def fresh(self, name):
        directory = self.directory / name
        directory.mkdir()
        return directory


class Stuck(Exception):
    """Something does not come to where it should."""


class Ministack:
    """The emulator, on a port of its own."""

    def __init__(self, directory, program):
        self.port = demo.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        listens = {"BIND_HOST": "127.0.0.1", "MINISTACK_HOST": "127.0.0.1", "GATEWAY_PORT": str(self.port)}
        places = {"HOME": str(directory), "TMPDIR": str(directory), "MINISTACK_REGION": demo.REGION}
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen([program], env=environment(listens | places), cwd=directory, stdout=quiet, stderr=quiet)

    def __enter__(self):
        deadline = time.monotonic() + PATIENCE
        while not demo.is_healthy(self.url):
            if self.process.poll() is not None or time.monotonic() > deadline:
                demo.end(self.process)
                raise Stuck("ministack does not start")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        demo.end(self.process)


class Tls:
    """TLS in front of a port of this machine, and what was agreed upon with its clients."""

    def __init__(self, certificate, port):
        self.port = port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self.context.set_alpn_protocols(["http/1.1"])
        self.agreed = set()
        self.loop = asyncio.new_event_loop()

    def __enter__(self):
        listening = asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self.context)
        server = self.loop.run_until_complete(listening)
        self.url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)

    async def serve(self, reader, writer):
        tls = writer.get_extra_info("ssl_object")
        self.agreed.add(f"{tls.version()} {tls.cipher()[0]}")
        emulator_reader, emulator_writer = await asyncio.open_connection("127.0.0.1", self.port)
        await asyncio.gather(pump(reader, emulator_writer), pump(emulator_reader, writer))


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


def certificate_of(directory):
    """A certificate for localhost that is its own authority, and its key beside it."""
    certificate = directory / "localhost.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    extensions = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]
    places = ["-out", certificate, "-keyout", certificate.with_suffix(".key")]
    subprocess.run([*make, *extensions, *places], check=True, capture_output=True)
    return certificate


def elf(file):
    """Of a 64-bit little-endian program: its machine, and the alignment of each segment that is loaded (elf(5))."""
    data = file.read_bytes()
    machine = struct.unpack_from("<H", data, 18)[0]
    headers = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [headers + index * size for index in range(count)]
    loaded = [at for at in segments if struct.unpack_from("<I", data, at)[0] == 1]
    return machine, [struct.unpack_from("<Q", data, at + 48)[0] for at in loaded]


def environment(more=None):
    """Neither a real account nor this machine's instance metadata."""
    return {
        "PATH": os.environ["PATH"],
        "AWS_REGION": demo.REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_EC2_METADATA_DISABLED": "true",
    } | (more or {})


def run(command):
    return subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)


def wait_for_samples(daemon, status, count):
    """Until the daemon has taken so many more samples: the last of two has begun after this call."""
    deadline = time.monotonic() + PATIENCE
    first = None
    while first is None or taken(status) < first + count:
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise Stuck("the daemon takes no samples")
        first = taken(status) if first is None and status.exists() else first
        time.sleep(0.1)


def taken(status):
    return json.loads(status.read_text())["samples"]["taken"]


def total(cloudwatch, metric, file_system, host):
    """What arrived of a metric of one file system and host, in the last quarter of an hour."""
    names = {"FileSystemId": file_system, "InstanceId": host}
    now = int(time.time())
    answer = cloudwatch.client.get_metric_statistics(
        Namespace=demo.NAMESPACE,
        MetricName=metric,
        Dimensions=[{"Name": name, "Value": value} for name, value in names.items()],
        StartTime=now - 900,
        EndTime=now + 60,
        Period=60,
        Statistics=["Sum"],
    )
    return int(sum(point["Sum"] for point in answer["Datapoints"]))


if __name__ == "__main__":
    main()
