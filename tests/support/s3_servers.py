"""S3 servers on the loopback that the adapters are tested against, and where each differs from S3."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from moto.server import ThreadedMotoServer

ROOT = Path(__file__).resolve().parents[2]
WEED = ROOT / ".fanout/tools/s3server/bin/weed"
KEY = "testing"
START_SECONDS = 120.0


class Lack(Enum):
    """What a server does not do as S3 does it."""

    NEWLINES_IN_KEYS = "routes no key with a newline"
    HOSTILE_KEYS = "holds no key that is no path of its file system"
    BYTES_UNDER_DIRECTORY_KEYS = "holds no bytes under a key that ends in a slash"
    COPY_CONDITIONS = "ignores the conditions on a copy's source"
    DESTINATION_CONDITIONS = "ignores If-Match of a completed upload, and every condition on what a copy replaces"
    COPIED_RANGE_CHECKSUMS = "gives a copied range the checksum of the whole source"
    DIRECTORY_COPIES = "refuses to copy the object of a directory"
    DIRECTORY_CONDITIONS = "says that a directory's object is there as soon as a key below it is"
    TAG_COUNTS = "shows no number of tags"
    REDIRECTS = "keeps no website redirect"
    REDIRECTS_OF_UPLOADS = "keeps no website redirect of what was uploaded in parts"
    BYTE_ORDER = "lists directory by directory, not in the order of the keys' bytes"


@dataclass(frozen=True)
class S3Server:
    """A server that answers at ``url`` to the credentials testing/testing."""

    name: str
    url: str
    lacks: frozenset[Lack]


@contextlib.contextmanager
def moto() -> Iterator[S3Server]:
    """moto's server: holds any key without a newline."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    lacks = {Lack.NEWLINES_IN_KEYS, Lack.COPY_CONDITIONS, Lack.DESTINATION_CONDITIONS, Lack.REDIRECTS_OF_UPLOADS}
    yield S3Server("moto", f"http://{host}:{port}", frozenset(lacks))
    server.stop()


@contextlib.contextmanager
def seaweedfs() -> Iterator[S3Server]:
    """SeaweedFS: a server that people store data on, with checksums and conditions of its own."""
    directories = {Lack.HOSTILE_KEYS, Lack.BYTES_UNDER_DIRECTORY_KEYS, Lack.DIRECTORY_COPIES, Lack.BYTE_ORDER}
    directories |= {Lack.DIRECTORY_CONDITIONS, Lack.REDIRECTS}
    lacks = frozenset(directories)  # its keys are paths of a file system
    master, volume, filer, s3 = _free_ports(4)
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory, "s3.json")
        credentials = [{"accessKey": KEY, "secretKey": KEY}]
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        config.write_text(json.dumps({"identities": [{"name": KEY, "credentials": credentials, "actions": actions}]}))
        command = [str(WEED), "server", f"-dir={directory}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3"]
        command += [f"-s3.config={config}", "-volume.max=5000", "-master.volumeSizeLimitMB=256"]
        command += ["-s3.port.lance=0", "-s3.port.iceberg=0"]  # their ports are fixed ones
        command += [f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}", f"-s3.port={s3}"]
        with Path(directory, "log").open("wb") as log:
            # One volume for each new bucket; the default is seven.
            environment = os.environ | {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            server = S3Server("seaweedfs", f"http://127.0.0.1:{s3}", lacks)
            _wait_until_it_stores(server, process, Path(directory, "log"))
            yield server
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def given(url: str) -> Iterator[S3Server]:
    """A server of the developer's; what is left out for it is what versitygw lacks."""
    lacks = {Lack.HOSTILE_KEYS, Lack.BYTES_UNDER_DIRECTORY_KEYS, Lack.COPIED_RANGE_CHECKSUMS, Lack.DIRECTORY_COPIES}
    yield S3Server("given", url, frozenset(lacks))


def _free_ports(count: int) -> list[int]:
    """Ports whose sibling 10,000 above, which SeaweedFS uses for its own calls, is free too."""
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        while len(ports) < count:
            first = held.enter_context(socket.socket())
            second = held.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            with contextlib.suppress(OSError, OverflowError):
                second.bind(("127.0.0.1", port + 10_000))
                ports.append(port)
    return ports


def _wait_until_it_stores(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    retries = Config(retries={"total_max_attempts": 1})
    client = boto3.client(
        "s3",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
        config=retries,
    )
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            with contextlib.suppress(client.exceptions.BucketAlreadyExists, client.exceptions.BucketAlreadyOwnedByYou):
                client.create_bucket(Bucket="first-bucket")
            client.put_object(Bucket="first-bucket", Key="key", Body=b"x")
            return
        except (BotoCoreError, ClientError) as error:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{WEED} did not start: {log.read_text()[-2000:]}") from error
            time.sleep(0.2)
