"""AWS in the virtual machine: ministack, an emulator that others wrote, and a record of what was sent to CloudWatch.

Usage: emulator.py RECORD, with ministack's own settings in the environment

It answers as CloudWatch on 127.0.0.1:4566, and as the instance metadata service where that is on every EC2 instance.
RECORD gets a line of JSON for each PutMetricData, before its answer goes out.
"""

import asyncio
import gzip
import json
import pathlib
import sys
import time

import cbor2
import hypercorn.asyncio
import hypercorn.config
import ministack.app
import ministack.services.imds

LISTENS = ["127.0.0.1:4566", "169.254.169.254:80"]
ASSET_TAG = pathlib.Path("/sys/class/dmi/id/board_asset_tag")


def recording(app, record):
    """The same application, that also records."""

    async def recorded(scope, receive, send):
        if scope["type"] != "http" or not scope["path"].endswith("/operation/PutMetricData"):
            return await app(scope, receive, send)
        body = bytearray()

        async def received():
            message = await receive()
            body.extend(message.get("body", b""))
            return message

        async def sent(message):
            if message["type"] == "http.response.start":
                line = {"arrived": time.time(), "status": message["status"], **decoded(bytes(body))}
                with record.open("a") as lines:
                    lines.write(json.dumps(line) + "\n")
            await send(message)

        return await app(scope, received, sent)

    return recorded


def decoded(body):
    """A request's namespace and data, as AWS's API names them; times in seconds since 1970."""
    request = cbor2.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
    for datum in request["MetricData"]:
        datum["Timestamp"] = datum["Timestamp"].timestamp()
    return request


def main():
    # As on EC2, where the board's asset tag is the instance id.
    ministack.services.imds._INSTANCE_ID = ASSET_TAG.read_text().strip()
    config = hypercorn.config.Config()
    config.bind = LISTENS
    config.keep_alive_timeout = 75
    asyncio.run(hypercorn.asyncio.serve(recording(ministack.app.app, pathlib.Path(sys.argv[1])), config))


if __name__ == "__main__":
    main()
