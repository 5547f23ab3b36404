"""In the virtual machine: mounts as amazon-efs-utils makes them, through a proxy on this machine.

What the kernel sees is 127.0.0.1 and a port. Which file system it is says only the helper's state: its files have the
names, the modes and the contents that amazon-efs-utils 2.x (without TLS) and 3.x (with TLS) write, and are written
anew every second, as its watchdog does.
"""

import json
import pathlib
import shutil
import socket
import subprocess
import threading
import time

from cloudwatch import REGION
from lab import OPTIONS, mount, sh, wait_for

STATE = pathlib.Path("/run/efs")
# The traffic goes through socat; efsmon tells a proxy by its program's name.
PROXY = pathlib.Path("/usr/local/sbin/efs-proxy")


class EfsUtils:
    """The mount helper and its watchdog."""

    def __init__(self):
        STATE.mkdir(mode=0o750, exist_ok=True)
        shutil.copy("/usr/bin/socat", PROXY)
        self.states, self.proxies, self.lock = {}, {}, threading.Lock()
        threading.Thread(target=self.watch, daemon=True).start()

    def mount(self, server, file_system, path, port, version=2):
        """Mounts `server` as that file system; `port` is the proxy's, from 20049 to 21049."""
        path = pathlib.Path(path)
        name = f"{file_system}.{str(path).lstrip('/').replace('/', '.')}.{port}"
        proxy = subprocess.Popen(
            [PROXY, f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr", f"TCP:{server.address}:2049"],
            stdin=subprocess.DEVNULL)
        wait_for(f"proxy on port {port}", lambda: listens(port))
        if version == 3:
            (STATE / f"{name}+").mkdir(mode=0o750)
            (STATE / f"{name}+/stunnel.pid").write_text(f"{proxy.pid}\n")
        (STATE / f"stunnel-config.{name}").write_text(proxy_config(name, file_system, port, version))
        state = state_of(name, file_system, path, proxy.pid, version)
        # While it is being mounted its name begins so.
        (STATE / f"~{name}").write_text(json.dumps(state))
        mount("127.0.0.1:/", path, f"{OPTIONS},port={port}")
        (STATE / f"~{name}").rename(STATE / name)
        with self.lock:
            self.states[name], self.proxies[path] = state, (name, proxy)
        return path

    def unmount(self, path):
        """Unmounts, and removes what was kept of it."""
        path = pathlib.Path(path)
        sh(f"umount '{path}'")
        with self.lock:
            name, proxy = self.proxies.pop(path)
            del self.states[name]
            for file in (STATE / name, STATE / f"stunnel-config.{name}"):
                file.unlink(missing_ok=True)
        shutil.rmtree(STATE / f"{name}+", ignore_errors=True)
        proxy.terminate()
        proxy.wait()

    def watch(self):
        while True:
            with self.lock:
                for name, state in self.states.items():
                    (STATE / f"~{name}").write_text(json.dumps(state))
                    (STATE / f"~{name}").rename(STATE / name)
            time.sleep(1)


def state_of(name, file_system, path, pid, version):
    config = str(STATE / f"stunnel-config.{name}")
    state = {"pid": pid, "cmd": ["/usr/sbin/efs-proxy", config], "files": [config], "mount_time": time.time(),
             "mountpoint": str(path), "unmount_count": 0}
    if version == 3:
        state["cmd"].append("--tls")
        state |= {
            "service_type": "elasticfilesystem", "mountStateDir": f"{name}+", "commonName": "efsmon-vm",
            "region": REGION, "certificateCreationTime": "261130120000Z",
            "certificate": str(STATE / f"{name}+/certificate.pem"), "privateKey": "/etc/amazon/efs/privateKey.pem",
            "fsId": file_system}
    return state


def proxy_config(name, file_system, port, version):
    lines = ["fips = no", "foreground = yes", "socket = l:SO_REUSEADDR=yes", "socket = a:SO_BINDTODEVICE=lo",
             f"pid = {STATE}/{name}+/stunnel.pid", "[efs]", "client = yes", f"accept = 127.0.0.1:{port}",
             f"connect = {file_system}.efs.{REGION}.amazonaws.com:2049", "sslVersion = TLSv1.2", "renegotiation = no",
             "TIMEOUTbusy = 20", "TIMEOUTclose = 0", "TIMEOUTidle = 70", "delay = yes"]
    if version == 3:
        lines += [f"fs_id = {file_system}", f"region = {REGION}", "efs_utils_version = 3.2.0"]
    return "\n".join(lines) + "\n"


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
