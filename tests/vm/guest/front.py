"""In the virtual machine: CloudWatch behind a name that must be looked up, and behind TLS, as AWS has it."""

import pathlib
import socket
import struct
import subprocess
import threading

from cloudwatch import REGION, URL
from lab import sh

NAME = "monitoring.vm.example"
FRONT = f"https://{NAME}:4443"
CA = pathlib.Path("/etc/efsmon/ca.pem")
ENVIRONMENT = pathlib.Path("/etc/efsmon/environment")


def put_in_front():
    """Serves the emulator at FRONT, and tells efsmon so in the file that its unit reads."""
    keys = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    CA.parent.mkdir(exist_ok=True)
    sh(f"""
        mkdir -p /run/front && cd /run/front
        openssl req -x509 {keys} -keyout ca.key -out {CA} -subj /CN=vm-ca -days 2
        openssl req {keys} -keyout front.key -out front.csr -subj /CN={NAME}
        openssl x509 -req -in front.csr -CA {CA} -CAkey ca.key -CAcreateserial -days 2 \\
            -extfile <(echo subjectAltName=DNS:{NAME}) -out front.pem
        cat front.key >> front.pem
        chmod 644 {CA}
        rm -f /etc/resolv.conf && echo 'nameserver 127.0.0.1' > /etc/resolv.conf
    """)
    behind = URL.removeprefix("http://")
    subprocess.Popen(["socat", "OPENSSL-LISTEN:4443,bind=127.0.0.1,fork,reuseaddr,cert=/run/front/front.pem,verify=0",
                      f"TCP:{behind}"], stdin=subprocess.DEVNULL)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 53))
    threading.Thread(target=serve_names, args=(names,), daemon=True).start()
    ENVIRONMENT.touch(mode=0o600)
    ENVIRONMENT.write_text(f"AWS_ENDPOINT_URL={FRONT}\nAWS_CA_BUNDLE={CA}\nAWS_REGION={REGION}\n")


def serve_names(server):
    while True:
        query, client = server.recvfrom(512)
        server.sendto(answer(query), client)


def answer(query):
    """RFC 1035: NAME has the address 127.0.0.1 and no IPv6 one; other names are not there."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
        at += 1 + query[at]
    question = query[12:at + 5]
    kind, = struct.unpack(">H", query[at + 1:at + 3])
    known = ".".join(labels) == NAME
    found = known and kind == 1
    head = query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, int(found), 0, 0)
    record = struct.pack(">HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton("127.0.0.1")
    return head + question + (record if found else b"")
