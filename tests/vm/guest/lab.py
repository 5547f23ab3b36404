"""In the virtual machine: NFS servers as EFS would be, each in a network of its own, and mounts of them.

The kernel takes two servers with one name for one server, and merges their connections. So every server has its own
network, mount and host name (UTS) namespaces: to the client they are different machines.
"""

import pathlib
import shlex
import subprocess
import time

RESULTS = pathlib.Path("/job/results")
# Python packages that came with the job.
SITE = pathlib.Path("/job/site")
# What AWS recommends (EFS User Guide, "Recommended NFS mount settings").
OPTIONS = "nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport"


def sh(command, check=True, timeout=120):
    """Runs a shell command; its output, stderr included."""
    done = subprocess.run(["bash", "-c", command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=timeout)
    if check and done.returncode:
        raise RuntimeError(f"{command}: exit status {done.returncode}: {done.stdout}")
    return done.stdout


def wait_for(what, condition, seconds=60, every=0.2):
    """Until the condition holds; what it gave."""
    give_up = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > give_up:
            raise TimeoutError(f"after {seconds} s still no {what}")
        time.sleep(every)


class Server:
    """A server that exports one file system: 10.99.N.1, seen from here over a pair of interfaces."""

    def __init__(self, number, mebibytes=160):
        self.name, self.address = f"server{number}", f"10.99.{number}.1"
        self.interface = f"nfs{number}"
        sh(f"""
            modprobe -a nfs nfsd veth
            ip netns add {self.name}
            ip link add {self.interface} type veth peer name eth0 netns {self.name}
            ip addr add 10.99.{number}.2/24 dev {self.interface}
            ip link set {self.interface} up
            ip -n {self.name} link set lo up
            ip -n {self.name} addr add {self.address}/24 dev eth0
            ip -n {self.name} link set eth0 up
        """)
        start = f"""
            set -e
            hostname {self.name}
            umount /proc/fs/nfsd 2>/dev/null || true
            mount -t tmpfs -o size={mebibytes}M store /srv
            mount -t tmpfs state /var/lib/nfs
            mkdir -p /var/lib/nfs/v4recovery && touch /var/lib/nfs/etab /var/lib/nfs/rmtab
            mount -t tmpfs run /run && mkdir -p /run/rpc_pipefs
            mount -t nfsd nfsd /proc/fs/nfsd
            echo '/srv *(rw,fsid=0,no_root_squash,insecure,no_subtree_check,async)' > /run/exports
            mount --bind /run/exports /etc/exports
            echo 1048576 > /proc/fs/nfsd/max_block_size
            # Seconds for which new files wait after the start; fewer are not allowed.
            echo 10 > /proc/fs/nfsd/nfsv4gracetime
            exportfs -r
            rpc.mountd --no-nfs-version 3 --foreground &
            rpc.nfsd --no-nfs-version 3 2
            echo ready > /tmp/{self.name}.ready
            wait
        """
        sh("touch /etc/exports")
        with open(RESULTS / f"{self.name}.log", "w") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.name, "unshare", "--mount", "--uts", "bash", "-c", start],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_for(f"{self.name}, see {self.name}.log", self.is_ready, seconds=180)

    def is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended: {(RESULTS / f'{self.name}.log').read_text()}")
        return pathlib.Path(f"/tmp/{self.name}.ready").exists()

    def drop(self):
        """From now on the server hears nothing: its client waits."""
        sh(f"ip netns exec {self.name} nft -f - <<< 'table ip lab {{ chain in {{ type filter hook input priority 0; "
           "drop; }; }'")

    def restore(self):
        sh(f"ip netns exec {self.name} nft delete table ip lab")


def mount(source, path, options=OPTIONS):
    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    sh(f"mount -t nfs4 -o {options} {source} {shlex.quote(str(path))}", timeout=60)
    return path


def dns_name(server, file_system, region="us-east-1"):
    """Gives a server the name that EFS gives a file system's mount target."""
    name = f"{file_system}.efs.{region}.amazonaws.com"
    sh(f"echo '{server.address} {name}' >> /etc/hosts")
    return name


def install(config="", package="/job/efsmon_*_amd64.deb"):
    """Installs the package with these settings in conf.d, and waits for the unit; what dpkg said."""
    settings = pathlib.Path("/etc/efsmon/conf.d/vm.toml")
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(config)
    said = sh(f"dpkg --install {package}", timeout=300)
    wait_for("running unit", lambda: sh("systemctl is-active efsmon", check=False).strip() == "active", seconds=120)
    return said
