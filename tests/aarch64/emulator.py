"""CloudWatch for the trial: ministack, and TLS in front of it."""

import asyncio
import os
import ssl
import subprocess
import threading
import time

import demo

# In seconds. Under qemu and beside a compiler, anything may take long.
PATIENCE = 180


def environment(more=None):
    """Neither a real account nor this machine's instance metadata; and nobody, where no endpoint is named."""
    return {
        "PATH": os.environ["PATH"],
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_REGION": demo.REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_EC2_METADATA_DISABLED": "true",
    } | (more or {})


class Stuck(Exception):
    """Something does not come to where it should."""


class Ministack:
    """The emulator, on a port of its own."""

    def __init__(self, directory, program):
        self.port = demo.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        listens = {"BIND_HOST": "127.0.0.1", "MINISTACK_HOST": "127.0.0.1", "GATEWAY_PORT": str(self.port)}
        places = {"HOME": str(directory), "TMPDIR": str(directory), "MINISTACK_REGION": demo.REGION}
        with open(directory / "ministack.log", "wb") as log:
            settings = environment(listens | places)
            self.process = subprocess.Popen([program], env=settings, cwd=directory, stdout=log, stderr=log)

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
