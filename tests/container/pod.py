"""A pod of the DaemonSet as kubelet and containerd would run it, by runc: its specification is made of the manifest and
of the image's configuration, and nothing is added that a test does not name."""

import json
import pathlib
import platform
import signal
import subprocess

SECCOMP = pathlib.Path("/usr/share/containers/seccomp.json")
# What container runtimes hide and protect by themselves.
MASKED = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug",
          "/proc/scsi", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
TMPFS = ["nosuid", "strictatime", "mode=755", "size=65536k"]


class Pod:
    """`volumes` are the directories of the pod's volumes, by their names; `environment` and `mounts` are added."""

    def __init__(self, name, manifest, image, root, volumes, environment=None, mounts=()):
        pod = manifest["spec"]["template"]["spec"]
        self.name, self.container, self.pod = name, pod["containers"][0], pod
        self.bundle = root.parent / name
        self.bundle.mkdir(exist_ok=True)
        self.config = image["OCIv1"]["config"]
        self.root, self.volumes = root, volumes
        self.environment, self.mounts = environment or {}, list(mounts)
        self.arguments, self.user = self.config["Entrypoint"] + self.container.get("args", []), None
        self.process = None

    def specification(self):
        security = self.container["securityContext"]
        assert security["capabilities"] == {"drop": ["ALL"]} and not security.get("privileged")
        profile = self.pod["securityContext"]["seccompProfile"]["type"]
        user = {"uid": security["runAsUser"], "gid": security["runAsGroup"]}
        variables = {variable["name"]: variable["value"] for variable in self.container["env"]}
        variables |= {"KUBERNETES_SERVICE_HOST": "10.100.0.1", **self.environment}
        namespaces = ["mount", "ipc", "uts"]
        namespaces += [] if self.pod.get("hostPID") else ["pid"]
        namespaces += [] if self.pod.get("hostNetwork") else ["network"]
        process = {
            "user": self.user or user,
            "args": self.arguments,
            "env": self.config["Env"] + [f"{name}={value}" for name, value in variables.items()],
            "cwd": "/",
            "capabilities": {},
            "noNewPrivileges": not security["allowPrivilegeEscalation"],
        }
        return {
            "ociVersion": "1.0.2",
            "process": process,
            "root": {"path": str(self.root), "readonly": security["readOnlyRootFilesystem"]},
            "mounts": self.system_mounts() + [self.volume_mount(mount) for mount in self.container["volumeMounts"]]
            + self.mounts,
            "linux": {
                "namespaces": [{"type": kind} for kind in namespaces],
                "maskedPaths": MASKED,
                "readonlyPaths": READ_ONLY,
                "seccomp": seccomp() if profile == "RuntimeDefault" else None,
                "cgroupsPath": f"efsmon-test/{self.name}",
                "resources": {
                    "memory": {"limit": mebibytes(self.container["resources"]["limits"]["memory"]) << 20},
                    "devices": [{"allow": False, "access": "rwm"}],
                },
            },
        }

    def system_mounts(self):
        return [
            {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": TMPFS},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
        ]

    def volume_mount(self, mount):
        return bind(self.volumes[mount["name"]], mount["mountPath"], not mount.get("readOnly"))

    def write(self):
        (self.bundle / "config.json").write_text(json.dumps(self.specification()))

    def start(self):
        self.write()
        with open(self.bundle / "log", "w") as log:
            self.process = subprocess.Popen(["runc", "run", "--bundle", self.bundle, self.name], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        return self

    def run(self, *arguments, user=None):
        """To its end; the exit status, and what it wrote."""
        self.arguments, self.user = list(arguments), user and {"uid": user, "gid": user}
        self.start()
        return self.process.wait(60), self.log()

    def execute(self, *arguments):
        """As `kubectl exec` would."""
        return subprocess.run(["runc", "exec", self.name, *arguments], capture_output=True, text=True, timeout=60)

    def pid(self):
        return json.loads(subprocess.check_output(["runc", "state", self.name]))["pid"]

    def terminate(self):
        """As kubelet does it: the image's signal, and no more patience than the manifest's."""
        subprocess.run(["runc", "kill", self.name, self.config["StopSignal"]], check=True)
        return self.process.wait(self.pod["terminationGracePeriodSeconds"])

    def log(self):
        return (self.bundle / "log").read_text()

    def clean_up(self):
        if self.process and self.process.poll() is None:
            subprocess.run(["runc", "delete", "--force", self.name], capture_output=True)
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


def bind(source, destination, writable):
    options = ["rbind", "rprivate", "rw" if writable else "ro"]
    return {"destination": destination, "type": "bind", "source": str(source), "options": options}


def mebibytes(quantity):
    number, unit = quantity[:-2], quantity[-2:]
    assert unit == "Mi", quantity
    return int(number)


def seccomp():
    """The default profile of container runtimes, as it is for this machine and a container without capabilities."""
    profile = json.loads(SECCOMP.read_text())
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]

    def holds(rule):
        includes, excludes = rule.get("includes", {}), rule.get("excludes", {})
        return not includes.get("caps") and machine in includes.get("arches", [machine]) \
            and machine not in excludes.get("arches", [])

    architecture = {"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64"}[machine]
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"],
        "architectures": [architecture],
        "syscalls": [
            {key: rule[key] for key in ("names", "action", "args", "errnoRet") if rule.get(key)}
            for rule in profile["syscalls"] if holds(rule)
        ],
    }
