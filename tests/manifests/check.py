"""Holds packaging/k8s against what Kubernetes takes and against efsmon's own settings, and packaging/ecs against it.

Usage: check.py EFSMON    the program to ask; with the Python of the Makefile's `manifests`

Every complaint is printed. Exit status 1 when there is one.
"""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys

import yaml
from kubernetes_validate import utils as kubernetes

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
K8S = PACKAGING / "k8s"
# EKS supports none older (EKS User Guide, "Kubernetes version lifecycle").
OLDEST = (1, 32)
# README and ARCHITECTURE: how long efsmon takes to end, in seconds.
LONGEST_END = 17
# What the container may write to. The rest of the node is read.
WRITTEN = {"/var/lib/efsmon", "/run/efsmon"}


def main():
    efsmon = sys.argv[1]
    versions = sorted({version for version in kubernetes.all_versions() if number(version) >= OLDEST}, key=number)
    objects = [item for name in resources() for item in yaml.safe_load_all((K8S / name).read_text())]
    complaints = [*schema(objects, versions)] or [*beyond_the_schema(efsmon, objects, versions)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    sys.exit(1 if complaints else 0)


def beyond_the_schema(efsmon, objects, versions):
    daemon_set = the("DaemonSet", objects)
    yield from no_typing_mistake_passes(daemon_set, versions)
    yield from kustomization(objects)
    yield from pod(daemon_set["spec"])
    yield from ecs(daemon_set)
    yield from settings(efsmon, daemon_set)


def number(version):
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def resources():
    return yaml.safe_load((K8S / "kustomization.yaml").read_text())["resources"]


def the(kind, objects):
    return next(item for item in objects if item["kind"] == kind)


def schema(objects, versions):
    """What a version of Kubernetes would not take. A kind that it does not know counts."""
    if not versions:
        yield f"no schema of Kubernetes {OLDEST} or later"
    for version in versions:
        for item in objects:
            try:
                kubernetes.validate(item, version, strict=True)
            except kubernetes.ValidationError as error:
                path = ".".join(map(str, error.path))
                yield f"{item['kind']}, Kubernetes {version}: {path}: {error.message}"
            except kubernetes.SchemaNotFoundError as error:
                yield error.message


def no_typing_mistake_passes(daemon_set, versions):
    """The check itself, with a mistake in the pod and one in its container."""
    for path in ["hostNetwork"], ["containers", 0, "volumeMounts"]:
        wrong = copy.deepcopy(daemon_set)
        place = wrong["spec"]["template"]["spec"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1] + "s"] = place.pop(path[-1])
        if len(list(schema([wrong], versions))) != len(versions):
            yield f"{path[-1]}s would pass for {path[-1]}"


def kustomization(objects):
    """What kubectl kustomize would not tell."""
    file = yaml.safe_load((K8S / "kustomization.yaml").read_text())
    missing = {path.name for path in K8S.glob("*.yaml")} - {"kustomization.yaml", *file["resources"]}
    if missing:
        yield f"kustomization.yaml does not name {missing}"
    if file["namespace"] != the("Namespace", objects)["metadata"]["name"]:
        yield "kustomization.yaml: another namespace than namespace.yaml's"
    pod = the("DaemonSet", objects)["spec"]["template"]["spec"]
    if [image["name"] for image in file["images"]] != [container["image"] for container in pod["containers"]]:
        yield "kustomization.yaml: `images` names another image than the DaemonSet"
    generated = {config["name"]: config["files"] for config in file["configMapGenerator"]}
    for volume in pod["volumes"]:
        if "configMap" in volume and generated.get(volume["configMap"]["name"]) != ["efsmon.toml"]:
            yield f"no efsmon.toml in the ConfigMap of volume {volume['name']}"


def pod(spec):
    """What the schema does not say."""
    template = spec["template"]
    if spec["selector"]["matchLabels"] != template["metadata"]["labels"]:
        yield "the selector selects other pods"
    pod, container = template["spec"], template["spec"]["containers"][0]
    if pod["terminationGracePeriodSeconds"] <= LONGEST_END:
        yield f"efsmon may take {LONGEST_END} s to end"
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    if mounts.keys() != {volume["name"] for volume in pod["volumes"]}:
        yield "the volumes are not those that are mounted"
    for mount in mounts.values():
        if not mount.get("readOnly") and mount["mountPath"] not in WRITTEN:
            yield f"{mount['mountPath']} can be written"


def settings(efsmon, daemon_set):
    """Variables and settings that efsmon does not know, and paths at which nothing is mounted."""
    container = daemon_set["spec"]["template"]["spec"]["containers"][0]
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    wrong = [*asked(efsmon, (K8S / "efsmon.toml").read_text(), environment),
             *asked(efsmon, uncommented(K8S / "efsmon.toml"), environment)]
    if wrong:
        yield from wrong
        return
    shown = json.loads(run(efsmon, ["config", "show", "--json"], environment).stdout)["settings"]
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    for setting in shown:
        is_path = str(setting["value"]).startswith("/")
        if is_path and setting["key"] != "source.sysfs" and setting["value"] not in mounted:
            yield f"{setting['key']} = {setting['value']}: nothing is mounted there"
    known = {"EFSMON_" + setting["key"].replace(".", "__").upper() for setting in shown}
    for path in [*K8S.iterdir(), *(PACKAGING / "ecs").iterdir()]:
        for name in set(re.findall(r"EFSMON_[A-Z_]*[A-Z]", path.read_text())) - known:
            yield f"{path}: efsmon has no setting {name}"


def uncommented(path):
    return re.sub(r"(?m)^#(?=[\[a-z])", "", path.read_text())


def asked(efsmon, text, environment):
    done = run(efsmon, ["config", "check", "--config", "/dev/stdin"], environment, text)
    if done.returncode or done.stderr:
        yield f"efsmon config check: {done.stderr or done.stdout}"


def run(efsmon, arguments, environment, text=""):
    environment = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run([efsmon, *arguments], env=environment, input=text, capture_output=True, text=True)


def ecs(daemon_set):
    """Where the task on ECS differs from the pod: in nothing but the ConfigMap."""
    pod = daemon_set["spec"]["template"]["spec"]
    container = pod["containers"][0]
    task = json.loads((PACKAGING / "ecs/efsmon.json").read_text())
    other = task["containerDefinitions"][0]
    if other["environment"] != container["env"]:
        yield "packaging/ecs: other variables than the DaemonSet's"
    if task["volumes"] != [{"name": volume["name"], "host": {"sourcePath": volume["hostPath"]["path"]}}
                           for volume in pod["volumes"] if "hostPath" in volume]:
        yield "packaging/ecs: other volumes than the DaemonSet's"
    places = [(mount["sourceVolume"], mount["containerPath"], mount.get("readOnly")) for mount in other["mountPoints"]]
    if places != [(mount["name"], mount["mountPath"], mount.get("readOnly"))
                  for mount in container["volumeMounts"] if mount["name"] != "config"]:
        yield "packaging/ecs: other mounts than the DaemonSet's"


if __name__ == "__main__":
    main()
