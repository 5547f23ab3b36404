"""The image and the DaemonSet, run as a node would run them, and what arrives in an emulator of CloudWatch.

Usage, as root, in network and mount namespaces of its own: run.py DIRECTORY KUBECTL MINISTACK

DIRECTORY is what image.sh left. Exit status 1 when a check failed.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import botocore.config
import botocore.session
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "demo"))
import demo
from node import BYTES_OF_A_READ, FILE_SYSTEM, INSTANCE, Node
from pod import Pod, bind

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CLOUDWATCH = "http://127.0.0.1:4566"
REGION = "eu-west-1"
# Instead of a role, and of the wait for a sample.
ENVIRONMENT = {
    "AWS_ENDPOINT_URL": CLOUDWATCH, "AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test", "EFSMON_SAMPLE_INTERVAL": "1s", "EFSMON_SOURCE__SYSFS": "/board",
}
# Which minute a READ belongs to must be sure: so many seconds before its end the reading begins, or in the next one.
BEFORE_THE_END = 25


def main():
    directory, kubectl, ministack = map(pathlib.Path, sys.argv[1:])
    trial = Trial(directory.absolute(), ministack.absolute())
    try:
        trial.image_holds_two_programs()
        trial.render(kubectl)
        trial.machine()
        trial.cloudwatch()
        trial.rollout()
    finally:
        trial.clean_up()
    failed = len([held for held in trial.checks if not held])
    print(f"{len(trial.checks) - failed} of {len(trial.checks)} checks held")
    sys.exit(1 if failed else 0)


class Trial:
    def __init__(self, directory, ministack):
        self.directory, self.ministack, self.checks = directory, ministack, []
        self.image = json.loads((directory / "image.json").read_text())
        self.root = directory / "root"
        self.manifest = self.config = self.emulator = None
        self.pods = []

    def check(self, name, held, found=""):
        self.checks.append(bool(held))
        print(f"{'ok    ' if held else 'FAILED'} {name:<72} {found}", flush=True)

    def equal(self, name, found, expected):
        self.check(name, found == expected, found if found == expected else f"{found}, not {expected}")

    def image_holds_two_programs(self):
        config = self.image["OCIv1"]["config"]
        self.equal("the image starts efsmond", config["Entrypoint"], ["/usr/bin/efsmond"])
        more = files(self.root) - files(self.directory / "base")
        programs = {"usr/bin/efsmon", "usr/bin/efsmond"}
        licences = {f"usr/share/doc/efsmon/{name}" for name in ("copyright", "third-party-licences.gz")}
        self.equal("beyond its base it holds two programs and the licences", sorted(more), sorted(programs | licences))
        size = sum((self.root / name).stat().st_size for name in more)
        self.check("and is larger by less than 20 MB", size < 20_000_000, f"{size / 1e6:.1f} MB")

    def render(self, kubectl):
        rendered = subprocess.check_output([kubectl, "kustomize", REPOSITORY / "packaging/k8s"], text=True)
        objects = {item["kind"]: item for item in yaml.safe_load_all(rendered)}
        self.equal("kubectl kustomize renders the manifests", sorted(objects),
                   ["ConfigMap", "DaemonSet", "Namespace", "ServiceAccount"])
        self.manifest, self.config = objects["DaemonSet"], objects["ConfigMap"]["data"]

    def pod(self, name, node, environment=None, **volumes):
        """A pod on the node; `volumes` are other directories than the manifest's."""
        config = self.directory / "config"
        config.mkdir(exist_ok=True)
        for file, text in self.config.items():
            (config / file).write_text(text)
        directories = {"config": config}
        for volume in self.manifest["spec"]["template"]["spec"]["volumes"]:
            if host_path := volume.get("hostPath"):
                directory = node.path(host_path["path"])
                if host_path["type"] == "DirectoryOrCreate":
                    directory.mkdir(parents=True, exist_ok=True)
                directories[volume["name"]] = directory
        pod = Pod(name, self.manifest, self.image, self.root, directories | volumes,
                  ENVIRONMENT | (environment or {}), [bind(node.path("/sys"), "/board", False)])
        self.pods.append(pod)
        return pod

    def node(self, name):
        directory = self.directory / name
        subprocess.run(["rm", "-rf", directory], check=True)
        return Node(directory)

    def machine(self):
        """This machine's own /proc, as a node's."""
        node = self.node("machine")
        asked = {}
        for user in 0, 65534:
            pod = self.pod(f"mounts-{user}", node, {"EFSMON_LOG__LEVEL": "warn"}, proc=pathlib.Path("/proc"))
            asked[user] = pod.run("/usr/bin/efsmon", "mounts", user=user)
        self.check("root without capabilities reads this machine's /proc/1/mountstats", asked[0][0] == 0, asked[0][1].strip())
        status, said = asked[65534]
        self.check("another user does not", status != 0 and "Permission denied" in said, said.strip())

    def cloudwatch(self):
        settings = {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": "4566", "MINISTACK_REGION": REGION,
                    "HOME": str(self.directory), "TMPDIR": str(self.directory), "PATH": os.environ["PATH"]}
        with open(self.directory / "ministack.log", "w") as log:
            self.emulator = subprocess.Popen([self.ministack], env=settings, cwd=self.directory, stdout=log, stderr=log,
                                             stdin=subprocess.DEVNULL)
        wait_for("ministack", lambda: demo.is_healthy(CLOUDWATCH))

    def rollout(self):
        node = self.node("node")
        first = self.pod("first", node).start()
        taken(node, 2)
        self.confined(first)
        self.alone(node)
        read = Reads(node)
        minute = read.until_the_minute_ends()
        read.seconds(6)
        status = json.loads(first.execute("efsmon", "status", "--json").stdout)
        probe = first.container["livenessProbe"]["exec"]["command"]
        self.equal("the liveness probe passes", first.execute(*probe).returncode, 0)
        self.equal("it sees the mounts of the node's first process", status["sighting"]["view"], "init")
        self.equal("and whose they are, by the mount helper's state (0750)", status["sighting"]["file_systems"],
                   {FILE_SYSTEM: 1})
        self.equal("without a metadata service it has the board's instance id", status["host_id"], INSTANCE)
        self.equal("SIGTERM ends it, status 0", first.terminate(), 0)
        read.seconds(3)
        second = self.pod("second", node).start()
        taken(node, 2, since=time.time())
        self.check("the next pod goes on where it stopped", "goes_on=true" in second.log())
        read.seconds(6)
        taken(node, 2, since=time.time())
        not_later_than(minute + 120)
        peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{second.pid()}/status").read_text())[1]
        self.check("its memory stays below half of the limit", int(peak) < 32 << 10, f"{int(peak) / 1024:.1f} MiB")
        os.kill(second.pid(), signal.SIGSTOP)
        wait_for("failure of the probe", lambda: second.execute(*probe).returncode == 1)
        self.check("and fails when the daemon hangs", True)
        os.kill(second.pid(), signal.SIGCONT)
        self.equal("the next pod ends as well", second.terminate(), 0)
        self.figures(minute, read)

    def confined(self, pod):
        """What the kernel says of the process."""
        pid = pod.pid()
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        capabilities = {status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
        self.equal("uid 0, no capability of any kind", (status["Uid"].split()[1], capabilities), ("0", {"0" * 16}))
        self.equal("no new privileges, seccomp filter", (status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        self.equal("a PID namespace of its own: no hostPID", status["NSpid"].split()[-1], "1")
        mounts = [line.split() for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
        writable = {fields[4] for fields in mounts if "rw" in fields[5].split(",")} - {"/dev", "/proc"}
        writable = {path for path in writable if not path.startswith(("/proc/", "/sys/firmware"))}
        self.equal("only state and lock can be written", writable, {"/run/efsmon", "/var/lib/efsmon"})

    def alone(self, node):
        """A second one on the node."""
        status, said = self.pod("beside", node).run("/usr/bin/efsmond")
        self.check("a second pod on the node is refused", status == 1 and "another efsmon runs already" in said,
                   said.strip().splitlines()[-1])
        environment = {"EFSMON_RUNTIME_DIR": str(node.path("/run/efsmon")), "EFSMON_STATE_DIR": str(node.path("/other")),
                       "AWS_EC2_METADATA_DISABLED": "true"}
        package = subprocess.run([self.root / "usr/bin/efsmond"], env=environment, capture_output=True, text=True)
        self.check("a package's daemon on the node is refused",
                   package.returncode == 1 and "another efsmon runs already" in package.stderr, f"status {package.returncode}")

    def figures(self, minute, read):
        found = Cloudwatch()
        first, second = read.of(minute), read.of(minute + 60)
        for name, at, reads in ("before", minute, first), ("of the rollout", minute + 60, second):
            self.equal(f"the minute {name}: bytes read, of {reads} READs", found.sum("ReadBytes", at, FILE_SYSTEM),
                       reads * BYTES_OF_A_READ)
            self.equal(f"the minute {name}: READs", found.sum("ReadOperations", at, FILE_SYSTEM), reads)
            self.equal(f"the minute {name}: this host, once", found.sum("Hosts", at), 1)

    def clean_up(self):
        for pod in self.pods:
            pod.clean_up()
        if self.emulator:
            self.emulator.terminate()
            self.emulator.wait(20)


class Reads:
    """Feeds the node, a second at a time, and keeps what was read in which minute."""

    def __init__(self, node):
        self.node, self.count = node, {}

    def until_the_minute_ends(self):
        """Six seconds of reading, and the rest of the minute; returns that, in seconds since 1970."""
        minute = int((time.time() + BEFORE_THE_END) // 60 * 60)
        if (pause := minute - time.time()) > 0:
            time.sleep(pause)
            taken(self.node, 1, since=minute)
        self.seconds(6)
        taken(self.node, 1, since=time.time())
        not_later_than(minute + 60)
        taken(self.node, 1, since=minute + 60)
        return minute

    def seconds(self, number):
        for second in range(number):
            minute = int(time.time() // 60 * 60)
            reads = 7 + second
            self.count[minute] = self.count.get(minute, 0) + reads
            self.node.read(reads)
            time.sleep(1)

    def of(self, minute):
        return self.count.get(minute, 0)


class Cloudwatch:
    def __init__(self):
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ |= {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
        self.client = botocore.session.get_session().create_client(
            "cloudwatch", region_name=REGION, endpoint_url=CLOUDWATCH, aws_access_key_id="test",
            aws_secret_access_key="test", config=botocore.config.Config(proxies={}))

    def sum(self, metric, minute, file_system=None):
        dimensions = [{"Name": "FileSystemId", "Value": file_system}] if file_system else []
        answer = self.client.get_metric_statistics(
            Namespace="EFSMon", MetricName=metric, Dimensions=dimensions, StartTime=minute, EndTime=minute + 60,
            Period=60, Statistics=["Sum"])
        return sum(point["Sum"] for point in answer["Datapoints"])


def files(tree):
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file() or path.is_symlink()}


def taken(node, samples, since=0):
    """Until the daemon has taken so many samples, one a second, after a point in time. Meanwhile the mount gets older."""
    def enough():
        node.tick()
        try:
            status = json.loads(node.path("/run/efsmon/status.json").read_text())
        except (OSError, ValueError):
            return False
        return not status["ended"] and status["written"] > since + samples and status["samples"]["taken"] >= samples
    wait_for(f"{samples} samples", enough)


def not_later_than(moment):
    if time.time() > moment:
        sys.exit("this machine stood still while a minute ended: run it again")


def wait_for(what, condition):
    give_up = time.monotonic() + 120
    while not condition():
        if time.monotonic() > give_up:
            raise TimeoutError(f"after two minutes still no {what}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
