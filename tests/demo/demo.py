"""What `make demo` shows: recorded kernel counters, through the real daemon, into an emulator of CloudWatch.

Usage: demo.py EFSMON MINISTACK [NFSIOSTAT]

The figures that arrived are read back and held against the counters themselves, and against what nfsiostat says of
the same texts. Exit status 1 when one differs.

The input is tests/fixtures/replays/server-restart: /proc/self/mountstats of a Linux 6.1 host, once a second, while
its NFS server was stopped for 5 seconds and started again. Three things are made up: the seconds since the mount
(`age:`), which are the replay's own; a pause around the end of the minute; and a second file system, which is the
same recording, 5 seconds ahead, under the names that a mount by amazon-efs-utils has.
"""

import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import botocore.config
import botocore.session

HERE = pathlib.Path(__file__).resolve().parent
RECORDING = HERE.parent / "fixtures/replays/server-restart"

NAMESPACE = "EFSMon"
HOST = "demo-host"
REGION = "us-east-1"

# What an efs-utils mount looks like: a proxy's port on this host, and a state file that says for which file system.
DIRECT = {"id": "fs-0123456789abcdef0", "mount_point": "/mnt/efs", "ahead": 0}
HELPED = {"id": "fs-0fedcba9876543210", "mount_point": "/mnt/projects", "ahead": 5, "port": 20127}
FILE_SYSTEMS = [DIRECT, HELPED]

# Seconds on each side of the end of a minute in which the counters stand still: which text belongs to which minute
# then does not hang on how busy this machine is.
STILL = 2
# Where in the replay the end of the minute may come, in seconds.
MINUTE_ENDS = range(10, 25)


class Failed(Exception):
    """The demo cannot go on, or a figure differs."""


def main():
    efsmon, ministack, *nfsiostat = sys.argv[1:]
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda signum, frame: sys.exit(128 + signum))
    demo = Demo(efsmon, ministack, nfsiostat[0] if nfsiostat else None)
    try:
        demo.run()
    except Failed as failure:
        sys.exit(f"demo: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        demo.clean_up()


class Demo:
    def __init__(self, efsmon, ministack, nfsiostat):
        self.efsmon, self.ministack, self.nfsiostat = map(absolute, (efsmon, ministack, nfsiostat))
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="efsmon-demo."))
        self.processes = []
        self.environment = {}

    def run(self):
        say(
            "Recorded counters of a Linux host stand in for /proc, an emulator on this machine for CloudWatch.",
            "Between them runs efsmon as it is. In the end, what arrived is held against what was counted.",
        )
        url = self.start_ministack()
        replay = Replay(self.directory)
        config = self.write_config(replay)
        daemon = self.start_daemon(config)
        parts = self.replay(replay, daemon, config)
        self.stop(daemon)
        cloudwatch = Cloudwatch(url)
        show_metrics(cloudwatch, parts)
        self.compare(cloudwatch, parts)

    def start_ministack(self):
        heading("1. An emulator of CloudWatch")
        for _ in range(3):
            port = free_port()
            url = f"http://127.0.0.1:{port}"
            places = {name: str(self.directory) for name in ("HOME", "TMPDIR")}
            settings = {"BIND_HOST": "127.0.0.1", "MINISTACK_HOST": "127.0.0.1", "GATEWAY_PORT": str(port)}
            self.environment = {"PATH": os.environ["PATH"], **places}
            process = self.start("ministack", [self.ministack], {**settings, "MINISTACK_REGION": REGION})
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                if is_healthy(url):
                    say(f"  ministack listens on {url}")
                    # The daemon must find neither a real account nor the instance metadata of this machine.
                    self.environment |= {
                        "AWS_ENDPOINT_URL": url,
                        "AWS_REGION": REGION,
                        "AWS_ACCESS_KEY_ID": "test",
                        "AWS_SECRET_ACCESS_KEY": "test",
                        "AWS_EC2_METADATA_DISABLED": "true",
                    }
                    return url
                time.sleep(0.05)
            # Another process may have taken the free port first.
            end(process)
        raise Failed(f"ministack does not start:\n{self.log('ministack')}")

    def write_config(self, replay):
        config = self.directory / "efsmon.toml"
        config.write_text(
            f"""
            sample_interval = "1s"
            state_dir = "{self.directory}/state"
            runtime_dir = "{self.directory}/run"
            [source]
            namespace = "self"
            procfs = "{replay.procfs}"
            sysfs = "{self.directory}/sys"
            efs_state = "{replay.efs_state}"
            [host]
            id = "{HOST}"
            """
        )
        return config

    def start_daemon(self, config):
        heading("2. The daemon: efsmon run, with a sample a second")
        daemon = self.start("efsmon", [self.efsmon, "run", "--config", config])
        deadline = time.monotonic() + 30
        status = self.directory / "run/status.json"
        # Two samples: counting has begun, and goes by the clock.
        while not (status.exists() and json.loads(status.read_text())["samples"]["taken"] >= 2):
            if daemon.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"the daemon does not start:\n{self.log('efsmon')}")
            time.sleep(0.05)
        show("efsmon mounts", self.ask("mounts", config))
        say("  The first has its name in the device; the second, of 127.0.0.1:/, in amazon-efs-utils' state.")
        return daemon

    def replay(self, replay, daemon, config):
        """Feeds the recording; returns the parts of it that lie in one minute each."""
        heading(f"3. {replay.seconds} seconds of traffic on both mounts; the server is away for 5 of them")
        begins, minute = replay.times()
        say(f"  from {utc(begins, '%H:%M:%S')} UTC on, so that a minute ends within")
        progress = Progress(daemon)
        progress.wait(begins, "waiting")
        first = replay.text()
        at = begins
        while not replay.is_over():
            at += 1
            # The daemon reads at whole seconds: a text is there half a second before.
            progress.wait(at - 0.5, f"{replay.step} of {replay.seconds} s")
            replay.swap(moves=not minute - STILL < at <= minute + STILL)
            if (late := time.time() - at) > STILL - 1:
                raise Failed(f"this machine stood still for {late:.1f} s, and the replay with it: run it again")
            if at == minute:
                middle = replay.text()
            if at == minute + STILL:
                status = self.ask("status", config)
        progress.wait(at + 1, "the last second")
        progress.clear()
        show("efsmon status, just after the end of the minute", status)
        return [
            Part(minute - 60, minute - begins, first, middle),
            Part(minute, at - minute, middle, replay.text()),
        ]

    def stop(self, daemon):
        heading("4. SIGTERM: the daemon takes a last sample, closes the open minute, sends and ends")
        begin = time.monotonic()
        daemon.send_signal(signal.SIGTERM)
        try:
            status = daemon.wait(30)
        except subprocess.TimeoutExpired:
            raise Failed(f"the daemon does not end:\n{self.log('efsmon')}") from None
        if status != 0:
            raise Failed(f"the daemon ended with status {status}:\n{self.log('efsmon')}")
        say(f"  ended after {time.monotonic() - begin:.1f} s with status 0")

    def compare(self, cloudwatch, parts):
        heading("6. What the kernel counted, what arrived in CloudWatch, and what nfsiostat says of the same texts")
        third = "nfsiostat" if self.nfsiostat else "stat --nfsiostat"
        if self.nfsiostat is None:
            say("  nfsiostat is not to be had here (that takes apt-get): `efsmon stat --nfsiostat` stands in for it.")
        say("  nfsiostat prints rates, with three decimals: ± is what they leave open of a total.")
        line = "    {:20} {:>16} {:>16} {:>20}   {}"
        say(bold(line.format("", "kernel", "CloudWatch", third, "").rstrip()))
        different = []
        for file_system in FILE_SYSTEMS:
            for part in parts:
                report = part.nfsiostat(self.ask_nfsiostat(part))[file_system["mount_point"]]
                name = f"{file_system['id']}, {part.label()} UTC"
                say(f"  {bold(name)}, {part.seconds} s of traffic")
                for figure in figures(cloudwatch, file_system, part, report):
                    say(line.format(*figure.columns(), green("equal") if figure.agrees() else red("DIFFERENT")))
                    different += [] if figure.agrees() else [f"{name}, {figure.exactly()}"]
        if different:
            raise Failed("\n  ".join(["these figures differ:", *different]))
        say("", "Every byte and every request that the kernel counted is in CloudWatch, in its minute.")

    def ask_nfsiostat(self, part):
        texts = [self.directory / name for name in ("earlier", "later")]
        for path, text in zip(texts, (part.earlier, part.later)):
            path.write_text(text)
        interval = str(part.seconds)
        command = [sys.executable, HERE / "nfsiostat.py", self.nfsiostat, interval, *texts]
        if self.nfsiostat is None:
            files = ["--file", texts[1], "--since", texts[0], "--interval", interval]
            command = [self.efsmon, "stat", "--nfsiostat", *files]
        return self.output(command)

    def ask(self, command, config):
        return self.output([self.efsmon, command, "--config", config])

    def output(self, command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))} ended with status {done.returncode}:\n{done.stderr}")
        return done.stdout

    def start(self, name, command, environment=None):
        with open(self.directory / f"{name}.log", "w") as log:
            process = subprocess.Popen(
                command,
                env=self.environment | (environment or {}),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for this process: it ends the others in order.
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def log(self, name):
        return "\n".join((self.directory / f"{name}.log").read_text().splitlines()[-20:])

    def clean_up(self):
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.SIG_IGN)
        for process in reversed(self.processes):
            end(process)
        shutil.rmtree(self.directory, ignore_errors=True)


class Replay:
    """The recording as a tree of /proc that changes all at once: its name is a symlink, replaced each second."""

    def __init__(self, directory):
        self.texts = [path.read_text() for path in sorted(RECORDING.glob("*.mountstats"))]
        self.seconds = len(self.texts) - 1 - HELPED["ahead"]
        self.directory = directory / "trees"
        self.directory.mkdir()
        self.procfs = directory / "proc"
        self.efs_state = directory / "efs"
        self.efs_state.mkdir()
        self.write_state_file()
        mountinfo = (RECORDING / "mountinfo").read_text()
        last = mountinfo.splitlines()[-1]
        # Another superblock: the numbers are the mount's id, its parent's, and the device's.
        second = as_helped(last).replace("132 25 0:44", "133 25 0:45")
        self.mountinfo = f"{mountinfo.rstrip()}\n{second}\n"
        self.step = 0
        self.age = 0
        self.tree = 0
        self.write_tree()

    def write_state_file(self):
        name = f"{HELPED['id']}.{HELPED['mount_point'].strip('/').replace('/', '.')}.{HELPED['port']}"
        state = {"pid": 4211, "mountpoint": HELPED["mount_point"], "fsId": HELPED["id"], "region": REGION}
        (self.efs_state / name).write_text(json.dumps(state))

    def times(self):
        """When to begin, and the end of the minute that falls into the replay, in seconds since 1970."""
        begins = int(time.time()) + 2
        into = -begins % 60
        if into not in MINUTE_ENDS:
            begins += (into - MINUTE_ENDS.stop + 1) % 60
        return begins, begins + -begins % 60

    def swap(self, moves):
        self.step += 1 if moves else 0
        self.age += 1
        self.write_tree()

    def is_over(self):
        return self.step == self.seconds

    def text(self):
        return (self.procfs / "self/mountstats").read_text()

    def write_tree(self):
        own, helped = (nfs_record(self.texts[self.step + file_system["ahead"]]) for file_system in FILE_SYSTEMS)
        text = self.texts[self.step].replace(own, own + as_helped(helped))
        text = re.sub(r"(?m)^\tage:\t\d+$", f"\tage:\t{self.age}", text)
        tree = self.directory / str(self.tree)
        for name, content in (
            ("self/mountstats", text),
            ("self/mountinfo", self.mountinfo),
            ("sys/kernel/random/boot_id", "01234567-89ab-4cde-8f01-23456789abcd\n"),
            ("sys/kernel/hostname", f"{HOST}\n"),
        ):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(content)
        link = self.directory / "next"
        link.symlink_to(tree)
        link.rename(self.procfs)
        self.tree += 1


def nfs_record(text):
    """The record of the NFS mount, with the empty line that ends it."""
    return text[text.index(f"device {DIRECT['id']}") :]


def as_helped(text):
    """A line or a record of the recorded mount as one of a mount by amazon-efs-utils."""
    text = text.replace(f"{DIRECT['id']}.efs.{REGION}.amazonaws.com:/", "127.0.0.1:/")
    text = text.replace(f" {DIRECT['mount_point']} ", f" {HELPED['mount_point']} ")
    return text.replace(",proto=tcp,", f",proto=tcp,port={HELPED['port']},")


class Part:
    """What of the replay lies in one minute: two texts, and the seconds between them."""

    def __init__(self, minute, seconds, earlier, later):
        self.minute, self.seconds, self.earlier, self.later = minute, seconds, earlier, later

    def label(self):
        return utc(self.minute, "%H:%M")

    def grew(self, file_system, operation):
        """What the counters of an operation grew by (net/sunrpc/stats.c gives their order)."""

        def counters(text):
            record = text[text.index(f"mounted on {file_system['mount_point']} ") :]
            return [int(number) for number in re.search(rf"\s{operation}: (.*)", record)[1].split()]

        requests, _, _, sent, received, _, _, execute, *_ = map(
            lambda later, earlier: later - earlier, counters(self.later), counters(self.earlier)
        )
        return {"requests": requests, "bytes": sent + received, "execute_ms": execute}

    def nfsiostat(self, printed):
        """The second report's columns by their names, for each mount point and direction."""
        reports = {}
        mount_point = names = None
        for line in printed.splitlines():
            words = re.split(r"\s{2,}", line.strip())
            if " mounted on " in line:
                mount_point = line.rsplit(" mounted on ", 1)[1].rstrip(":")
            elif words[0] in ("read:", "write:"):
                direction, names = words[0].rstrip(":"), words[1:]
            elif names:
                reports.setdefault(mount_point, {})[direction] = dict(zip(names, words))
                names = None
        return reports


class Figure:
    """One figure from three sides."""

    def __init__(self, name, kernel, cloudwatch, nfsiostat):
        self.name, self.kernel, self.cloudwatch, self.nfsiostat = name, kernel, cloudwatch, nfsiostat
        # How far the others may be from the kernel's: CloudWatch's not at all; nfsiostat prints three decimals.
        self.slack, self.rounding = 0, 0.0005
        self.decimals = 0

    def agrees(self):
        return (
            abs(self.kernel - self.cloudwatch) <= self.slack
            # A half may have been rounded either way.
            and abs(self.kernel - self.nfsiostat) <= self.rounding * 1.001
        )

    def columns(self):
        texts = [f"{value:,.{self.decimals}f}" for value in (self.kernel, self.cloudwatch, self.nfsiostat)]
        if self.decimals == 0 and self.rounding > 0.5:
            texts[2] = f"{texts[2]} ±{self.rounding:.0f}"
        return self.name, *texts

    def exactly(self):
        return f"{self.name}: kernel {self.kernel}, CloudWatch {self.cloudwatch}, nfsiostat {self.nfsiostat}"


def figures(cloudwatch, file_system, part, report):
    """What is compared, for a file system and a minute."""
    for operation, direction, done in (("READ", "Read", "read"), ("WRITE", "Write", "written")):
        grew = part.grew(file_system, operation)
        printed = {column: float(text.split()[0]) for column, text in report[operation.lower()].items()}

        def arrived(metric, statistic):
            return cloudwatch.statistics(direction + metric, [file_system["id"]], part.minute)[statistic]

        # From rates to totals; nfsiostat's kB are of 1024 bytes.
        seconds, kib = part.seconds, 1024
        total = Figure(f"bytes {done}", grew["bytes"], arrived("Bytes", "Sum"), printed["kB/s"] * seconds * kib)
        total.rounding *= seconds * kib
        yield total
        requests = printed["ops/s"] * seconds
        count = Figure(f"{operation} requests", grew["requests"], arrived("Operations", "Sum"), requests)
        count.rounding *= seconds
        yield count
        mean = grew["execute_ms"] / grew["requests"]
        latency = Figure(f"ms a {operation}, mean", mean, arrived("Latency", "Average"), printed["avg exe (ms)"])
        latency.decimals = 3
        # It was multiplied and divided on its way: the last of a double's digits may differ.
        latency.slack = 1e-9 * mean
        yield latency


class Cloudwatch:
    """Reads back, with AWS's own client."""

    def __init__(self, url):
        # Neither the user's configuration nor a proxy of theirs.
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ |= {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
        self.client = botocore.session.get_session().create_client(
            "cloudwatch",
            region_name=REGION,
            endpoint_url=url,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=botocore.config.Config(proxies={}),
        )

    def statistics(self, metric, dimensions, minute):
        """Statistics of one minute; `dimensions` are the values of FileSystemId and InstanceId, as far as given."""
        names = ("FileSystemId", "InstanceId")
        answer = self.client.get_metric_statistics(
            Namespace=NAMESPACE,
            MetricName=metric,
            Dimensions=[{"Name": name, "Value": value} for name, value in zip(names, dimensions)],
            StartTime=minute,
            EndTime=minute + 60,
            Period=60,
            Statistics=["Sum", "Average", "Maximum", "SampleCount"],
        )
        points = answer["Datapoints"]
        if len(points) != 1 or points[0]["Timestamp"].timestamp() != minute:
            raise Failed(f"{metric} {dimensions}: one datapoint of the minute was expected, got {points}")
        return points[0]

    def metrics(self):
        """By the names of their dimensions: the names of the metrics, and the sets of values of the dimensions."""
        found = {}
        for page in self.client.get_paginator("list_metrics").paginate(Namespace=NAMESPACE):
            for metric in page["Metrics"]:
                dimensions = tuple(sorted(dimension["Name"] for dimension in metric["Dimensions"]))
                values = tuple(sorted(dimension["Value"] for dimension in metric["Dimensions"]))
                names, sets = found.setdefault(dimensions, (set(), set()))
                names.add(metric["MetricName"])
                sets.add(values)
        return found


def show_metrics(cloudwatch, parts):
    found = cloudwatch.metrics()
    series = sum(len(names) * len(sets) for names, sets in found.values())
    heading(f"5. What arrived in CloudWatch: {series} series in the namespace {NAMESPACE}")
    for dimensions, (names, sets) in sorted(found.items()):
        count = f"{len(sets)} x " if dimensions else ""
        label = ", ".join(dimensions) or "without dimensions"
        say(f"  {count}{label}", *(f"      {line}" for line in wrapped(sorted(names), 94)))
    kinds = {
        "ReadThroughput": ("MiB/s", [HOST]),
        "WriteThroughput": ("MiB/s", [HOST]),
        "ReadLatency": ("ms", []),
    }
    line = "  {:20}  {:5}  {:>21}  {:>21}  {:>21}"
    say("", bold(line.format("average, maximum", "UTC", *(f"{kind} {unit}" for kind, (unit, _) in kinds.items()))))
    for file_system in FILE_SYSTEMS:
        for part in parts:
            values = []
            for kind, (_, host) in kinds.items():
                point = cloudwatch.statistics(kind, [file_system["id"], *host], part.minute)
                values.append(f"{point['Average']:,.1f}, {point['Maximum']:,.1f}")
            say(line.format(file_system["id"], part.label(), *values))
    say("  The seconds without a server show in the maximum of ReadLatency.")


class Progress:
    """Waits, and on a terminal says for what."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.said = ""

    def wait(self, until, what):
        """Until a time of day in seconds since 1970."""
        while (left := until - time.time()) > 0:
            if self.daemon.poll() is not None:
                raise Failed("the daemon ended by itself")
            self.say(f"  {what}")
            time.sleep(min(left, 0.25))

    def say(self, text):
        if sys.stdout.isatty() and text != self.said:
            print(f"\r\033[K{text}", end="", flush=True)
            self.said = text

    def clear(self):
        if sys.stdout.isatty():
            print("\r\033[K", end="", flush=True)


def utc(seconds, form):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime(form)


def absolute(path):
    return path and pathlib.Path(path).absolute()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_healthy(url):
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_ministack/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def end(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wrapped(words, width):
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = ""
        line += f" {word}" if line else word
    yield line


def heading(text):
    say("", bold(text))


def say(*lines):
    print("\n".join(lines), flush=True)


def show(title, output):
    say("", f"  {title}", *(f"    {line}" for line in output.splitlines()))


def coloured(code):
    return lambda text: f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


bold, red, green = coloured(1), coloured(31), coloured(32)

if __name__ == "__main__":
    main()
