"""Every adapter under test: in memory, in a directory, and in S3 as two servers on the loopback hold it.

FANOUT_TEST_S3_URL names another server to test instead of the two (credentials testing/testing).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.aws.credentials import Credentials, Given
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.requests import Call
from fanout.adapters.s3.tree import S3Tree
from fanout.ports.tree import Tree
from fanout.work.context import nothing
from tests.contract.scripted_server import ScriptedServer
from tests.support import s3_servers
from tests.support.memory import MemoryTree
from tests.support.mounts import writable
from tests.support.no_links import behave_as_s3_files
from tests.support.s3_servers import KEY, Lack, S3Server
from tests.support.unlinked_names import keep_names_of_open_files

REGION = "us-east-1"
SERVERS = ["given_server"] if "FANOUT_TEST_S3_URL" in os.environ else ["moto_server", "seaweedfs_server"]
Needs = Callable[[Lack], None]
# Without hard links: as a mount of S3 Files. An NFS client keeps a name of what it holds open.
PLACES = ("memory", "directory", "mount-root", "without-links", "nfs")
_MADE_UP = {"without-links": behave_as_s3_files, "nfs": keep_names_of_open_files}
_NO_HEADERS: Mapping[str, str] = {}
_numbers = itertools.count()


@pytest.fixture(scope="session")
def moto_server() -> Iterator[S3Server]:
    with s3_servers.moto() as server:
        yield server


@pytest.fixture(scope="session")
def seaweedfs_server() -> Iterator[S3Server]:
    with s3_servers.seaweedfs() as server:
        yield server


@pytest.fixture(scope="session")
def given_server() -> Iterator[S3Server]:
    with s3_servers.given(os.environ["FANOUT_TEST_S3_URL"]) as server:
        yield server


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that answers as the test tells it."""
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture(params=SERVERS)
def s3_server(request: pytest.FixtureRequest) -> S3Server:
    """Each of the servers."""
    server: S3Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def needs(s3_server: S3Server) -> Needs:
    """Skips the test on a server that lacks what it needs."""
    return lambda lack: skip_without(s3_server, lack)


def skip_without(server: S3Server, lack: Lack) -> None:
    """Skip the test if the server lacks what it needs."""
    if lack in server.lacks:
        pytest.skip(f"{server.name} {lack.value}")


class _UnconditionalDirectories(S3Client):
    """A client that writes directories' objects whatever is there, beside those of the keys below them."""

    def begin_put_object(
        self, bucket: str, key: str, body: bytes, headers: Mapping[str, str] = _NO_HEADERS, **options: Any
    ) -> Call:
        if key.endswith("/"):
            headers = {name: value for name, value in headers.items() if name != "if-none-match"}
        return super().begin_put_object(bucket, key, body, headers, **options)


def client_of(server: S3Server) -> S3Client:
    """A client of the server, which does not wait between attempts."""
    kind = _UnconditionalDirectories if Lack.DIRECTORY_CONDITIONS in server.lacks else S3Client
    return kind(Endpoint(REGION, server.url), Given(Credentials(KEY, KEY)), sleep=nothing)


def new_bucket(client: S3Client) -> str:
    """The name of a new empty bucket."""
    name = f"bucket-{os.getpid()}-{next(_numbers)}"
    client.request("CreateBucket", "PUT", name, body=b"").result()
    return name


@pytest.fixture
def s3_url(s3_server: S3Server) -> str:
    return s3_server.url


@pytest.fixture
def client(s3_server: S3Server) -> S3Client:
    return client_of(s3_server)


@pytest.fixture
def make_bucket(client: S3Client) -> Callable[[], str]:
    """Makes a new empty bucket and returns its name."""
    return lambda: new_bucket(client)


@pytest.fixture
def bucket(make_bucket: Callable[[], str]) -> str:
    """A new empty bucket."""
    return make_bucket()


@pytest.fixture(params=[*PLACES, *SERVERS, *(f"{server}:bucket-root" for server in SERVERS)])
def kind_of_tree(request: pytest.FixtureRequest) -> str:
    """Each adapter, at both kinds of root; an S3 server is named by its fixture."""
    kind: str = request.param
    return kind


@pytest.fixture
def lacks(request: pytest.FixtureRequest, kind_of_tree: str) -> frozenset[Lack]:
    """What the server under the tree lacks."""
    if kind_of_tree in PLACES:
        return frozenset()
    server: S3Server = request.getfixturevalue(kind_of_tree.partition(":")[0])
    return server.lacks


@pytest.fixture
def in_byte_order(lacks: frozenset[Lack]) -> None:
    """Leaves out a server under which every listing of this test is refused."""
    if Lack.BYTE_ORDER in lacks:
        pytest.skip(f"the server {Lack.BYTE_ORDER.value}")


@pytest.fixture
def with_links(kind_of_tree: str) -> None:
    """Leaves out the mount on which a file has one name."""
    if kind_of_tree == "without-links":
        pytest.skip("tests/runs/test_without_links.py says what becomes of further names")


@pytest.fixture
def tree(request: pytest.FixtureRequest, kind_of_tree: str, tmp_path: Path) -> Tree:
    """An empty tree of each adapter."""
    kind = kind_of_tree
    if kind == "memory":
        return MemoryTree()
    if kind in PLACES:
        if kind in _MADE_UP:
            _MADE_UP[kind](request.getfixturevalue("monkeypatch"))
        return writable(PosixTree(tmp_path, "" if kind == "mount-root" else "tree", "run", "attempt"))
    name, _, place = kind.partition(":")
    client = client_of(request.getfixturevalue(name))
    bucket = new_bucket(client)
    if place:
        return S3Tree(client, bucket, "")
    client.put_object(bucket, "elsewhere/file", b"x")
    return S3Tree(client, bucket, "pre fix/")
