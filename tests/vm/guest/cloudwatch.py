"""In the virtual machine: CloudWatch and the instance metadata service, and what they were sent.

efsmon finds its Region, its credentials and the instance id as on EC2, at 169.254.169.254. That CloudWatch is on this
machine too is all that its unit is told (`Cloudwatch.tell`).
"""

import collections
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

from lab import SITE, sh, wait_for

URL = "http://127.0.0.1:4566"
METADATA = "http://169.254.169.254/latest"
REGION = "us-east-1"
NAMESPACE = "EFSMon"
DROP_IN = pathlib.Path("/etc/systemd/system/efsmon.service.d/emulator.conf")
STATE = pathlib.Path("/var/lib/efsmon")
RECORD = pathlib.Path("/job/results/published.jsonl")
LOG = pathlib.Path("/job/results/emulator.log")


@dataclasses.dataclass(frozen=True)
class Datum:
    """One datum as it arrived; `dimensions` maps names to values, `minute` is in seconds since 1970."""

    arrived: float
    namespace: str
    metric: str
    dimensions: dict
    minute: int
    values: list
    counts: list
    unit: str

    def total(self):
        """What CloudWatch would add to Sum."""
        return sum(value * count for value, count in zip(self.values, self.counts))

    def series(self):
        """Metric and dimensions: what is billed as one."""
        return self.metric, *sorted(self.dimensions.items())


class Cloudwatch:
    """The emulator, running. `stop` and `start` are an outage."""

    def __init__(self):
        sh("ip addr replace 169.254.169.254/32 dev lo")
        RECORD.touch()
        self.process = None
        self.begin()
        self.wait()

    def begin(self):
        settings = {"MINISTACK_HOST": "127.0.0.1", "MINISTACK_REGION": REGION, "MINISTACK_ACCOUNT_ID": "123456789012",
                    "MINISTACK_IMDS_V2_REQUIRED": "1", "PYTHONPATH": str(SITE), "HOME": "/tmp"}
        with LOG.open("a") as log:
            self.process = subprocess.Popen(
                # AWS does not get slower when this machine is busy.
                ["nice", "-n", "-10", sys.executable, pathlib.Path(__file__).with_name("emulator.py"), RECORD],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | settings)

    def wait(self):
        wait_for(f"emulator of CloudWatch, see {LOG.name}", self.answers, seconds=180)
        # The first question to a service loads it.
        self.instance_id()

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the emulator of CloudWatch ended: {LOG.read_text()[-2000:]}")
        try:
            return ask(f"{URL}/_ministack/health")
        except OSError:
            return False

    def start(self):
        self.begin()
        self.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def tell(self):
        """efsmon's unit, installed already or not, where CloudWatch is."""
        DROP_IN.parent.mkdir(parents=True, exist_ok=True)
        DROP_IN.write_text(f"[Service]\nEnvironment=AWS_ENDPOINT_URL={URL}\n")
        sh("systemctl daemon-reload")

    def instance_id(self):
        """What the metadata service says, asked as on EC2."""
        token = ask(f"{METADATA}/api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "60"})
        return ask(f"{METADATA}/meta-data/instance-id", headers={"X-aws-ec2-metadata-token": token})

    def requests(self):
        """Each PutMetricData that was answered, in order: `arrived`, `status`, `Namespace`, `MetricData`."""
        return [json.loads(line) for line in RECORD.read_text().splitlines()]

    def data(self, **dimensions):
        """What arrived and was taken, in order; with `dimensions`, of exactly these dimensions."""
        found = [datum for request in self.requests() if request["status"] == 200 for datum in data(request)]
        return [datum for datum in found if not dimensions or datum.dimensions == dimensions]

    def sums(self, metric, **dimensions):
        """Sum by minute, of the series with exactly these dimensions."""
        sums = collections.Counter()
        for datum in self.data(**dimensions):
            if datum.metric == metric and datum.dimensions == dimensions:
                sums[datum.minute] += datum.total()
        return dict(sums)

    def statistics(self, metrics, file_systems, minute):
        """Sum of each metric and file system in that minute, as AWS's own client reads it."""
        import botocore.session

        client = botocore.session.get_session().create_client(
            "cloudwatch", region_name=REGION, endpoint_url=URL, aws_access_key_id="test",
            aws_secret_access_key="test")
        keys = [(metric, file_system) for metric in metrics for file_system in file_systems]
        queries = [{"Id": f"q{number}", "MetricStat": {"Period": 60, "Stat": "Sum", "Metric": {
            "Namespace": NAMESPACE, "MetricName": metric,
            "Dimensions": [{"Name": "FileSystemId", "Value": file_system}]}}}
            for number, (metric, file_system) in enumerate(keys)]
        answer = client.get_metric_data(MetricDataQueries=queries, StartTime=minute, EndTime=minute + 60)
        values = {result["Id"]: result["Values"] for result in answer["MetricDataResults"]}
        return {key: sum(values[f"q{number}"]) for number, key in enumerate(keys) if values[f"q{number}"]}


def stop_when_sent():
    """Stops the unit, which sends what it has; what that was too short for, it sends after another start."""
    sh("systemctl stop efsmon")
    while list(STATE.glob("*.request")):
        sh("systemctl start efsmon")
        wait_for("end of the requests on disk", lambda: not list(STATE.glob("*.request")), seconds=180)
        sh("systemctl stop efsmon")


def data(request):
    for datum in request["MetricData"]:
        values = datum.get("Values", [datum["Value"]] if "Value" in datum else [])
        yield Datum(
            arrived=request["arrived"], namespace=request["Namespace"], metric=datum["MetricName"],
            dimensions={dimension["Name"]: dimension["Value"] for dimension in datum.get("Dimensions", [])},
            minute=int(datum["Timestamp"]), values=values, counts=datum.get("Counts", [1.0] * len(values)),
            unit=datum.get("Unit", "None"))


def ask(url, method="GET", headers=None):
    request = urllib.request.Request(url, method=method, headers=headers or {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()
