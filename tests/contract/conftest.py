"""An S3 server on the loopback: moto's, or the one that FANOUT_TEST_S3_URL names (credentials testing/testing)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from fanout.adapters.memory import MemoryTree
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client import S3Client
from fanout.adapters.s3.credentials import Credentials
from fanout.adapters.s3.endpoint import Endpoint
from fanout.adapters.s3.tree import S3Tree
from fanout.ports import Tree

REGION = "us-east-1"
_numbers = itertools.count()


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """The server's URL."""
    given = os.environ.get("FANOUT_TEST_S3_URL")
    if given:
        yield given
        return
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def client(s3_url: str) -> S3Client:
    """A client of the server, which does not wait between attempts."""
    return S3Client(Endpoint(REGION, s3_url), lambda: Credentials("testing", "testing"), sleep=lambda seconds: None)


@pytest.fixture
def make_bucket(client: S3Client) -> Callable[[], str]:
    """Makes a new empty bucket and returns its name."""

    def make() -> str:
        name = f"bucket-{os.getpid()}-{next(_numbers)}"
        client.call("CreateBucket", "PUT", name, body=b"")
        return name

    return make


@pytest.fixture
def bucket(make_bucket: Callable[[], str]) -> str:
    """A new empty bucket."""
    return make_bucket()


@pytest.fixture
def is_moto() -> bool:
    """Whether the server is moto's: it holds any key without a newline, but knows no conditions on a copy's source."""
    return "FANOUT_TEST_S3_URL" not in os.environ


@pytest.fixture(params=["memory", "directory", "mount-root", "s3", "s3-bucket-root"])
def tree(request: pytest.FixtureRequest) -> Tree:
    """An empty tree of each adapter."""
    if request.param == "memory":
        return MemoryTree()
    if request.param in ("directory", "mount-root"):
        mount: Path = request.getfixturevalue("tmp_path")
        return PosixTree(mount, "tree" if request.param == "directory" else "", "run", "attempt")
    client: S3Client = request.getfixturevalue("client")
    make_bucket: Callable[[], str] = request.getfixturevalue("make_bucket")
    bucket = make_bucket()
    if request.param == "s3-bucket-root":
        return S3Tree(client, bucket, "")
    client.put_object(bucket, "elsewhere/file", b"x")
    return S3Tree(client, bucket, "pre fix/")
