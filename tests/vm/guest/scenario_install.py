"""The package on a booted system: it installs, runs, and is removed."""

from lab import Server, mount, sh, wait_for


def run(checks):
    server = Server(1)
    sh(f"echo '{server.address} fs-0123456789abcdef0.efs.us-east-1.amazonaws.com' >> /etc/hosts")
    mount("fs-0123456789abcdef0.efs.us-east-1.amazonaws.com:/", "/mnt/efs")
    print(sh("apt-get --version | head -1; dpkg --install /job/efsmon_*_amd64.deb"))
    wait_for("a running unit", lambda: sh("systemctl is-active efsmon", check=False).strip() == "active")
    print(sh("systemctl status --no-pager efsmon; sleep 12; efsmon status; efsmon mounts"))
    checks.equal("the unit is enabled", sh("systemctl is-enabled efsmon").strip(), "enabled")
