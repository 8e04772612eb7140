"""Whole runs against an S3 that fails at five of a hundred calls, and entries that change while a run goes on."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.tree import S3Tree
from fanout.facts.units import MIB
from fanout.finishing.finish_tree import finish_tree
from fanout.model.checksum import crc64nvme
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.location import S3Location
from fanout.model.segment import Segment
from fanout.summary.summarise_transfer import summarise_transfer
from tests.contract.conftest import client_of
from tests.support.flow import World
from tests.support.http import Head
from tests.support.long import LONG
from tests.support.s3_proxy import FAULTS, Choose, S3Proxy
from tests.support.s3_servers import Lack, S3Server

TO_FILES = {"source": "s3://a-bucket/in/", "destination": "efs:///copy"}
TO_KEYS = {"source": "efs:///copy", "destination": "s3://a-bucket/in/"}
INSIDE = {"source": "s3://a-bucket/in/", "destination": "s3://b-bucket/in/"}
SMALL, LARGE = (300, 3) if LONG else (60, 1)
LARGE_BYTES = 11 * MIB


def one_of_twenty(seed: int) -> Choose:
    """Strikes one of each twenty requests, drawn by ``seed``, with each fault in turn: all of them in 120 requests."""
    draw, lock = random.Random(seed), threading.Lock()
    planned = (
        fault if place == struck else ""
        for fault in itertools.cycle(FAULTS)
        for struck in [draw.randrange(20)]
        for place in range(20)
    )

    def choose(_head: Head) -> str:
        with lock:
            return next(planned)

    return choose


@pytest.fixture
def proxy(s3_url: str) -> Iterator[S3Proxy]:
    made = S3Proxy(s3_url)
    yield made
    made.close()


@pytest.fixture
def shaky(proxy: S3Proxy, s3_server: S3Server) -> S3Client:
    """A client whose way to S3 is the proxy."""
    return client_of(replace(s3_server, url=proxy.url))


@pytest.fixture
def locations(make_bucket: Callable[[], str]) -> Iterator[S3Location]:
    return (S3Location(make_bucket(), "in/") for _ in range(9))


def tree_at(client: S3Client, location: S3Location) -> S3Tree:
    return S3Tree(client, location.bucket, location.prefix)


def fill(client: S3Client, location: S3Location) -> dict[str, bytes]:
    draw = random.Random(7)
    bodies = {f"d{number % 7}/f{number}": draw.randbytes(number * 11) for number in range(SMALL)}
    bodies |= {f"large{number}": draw.randbytes(LARGE_BYTES) for number in range(LARGE)}
    for path, body in bodies.items():
        write(client, location, path, body)
    return bodies


def write(client: S3Client, location: S3Location, path: str, body: bytes) -> None:
    client.put_object(location.bucket, location.prefix + path, body, crc64nvme=crc64nvme(body))


def objects(client: S3Client, location: S3Location) -> dict[str, bytes]:
    listed = [entry for entry in tree_at(client, location).list(Segment("")) if entry.kind is Kind.FILE]
    return {entry.path: client.get_object(location.bucket, location.prefix + entry.path).body for entry in listed}


def assert_all_copied(summary: Json, entries: int) -> None:
    assert summary["balanced"]
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["listed"] == summary["totals"]["copied"]
    assert summary["totals"]["copied"]["entries"] == entries


def test_to_a_directory_and_back_and_inside_s3(
    client: S3Client,
    shaky: S3Client,
    proxy: S3Proxy,
    locations: Iterator[S3Location],
    tmp_path: Path,
    s3_server: S3Server,
) -> None:
    there, back, twin = next(locations), next(locations), next(locations)
    bodies = fill(client, there)
    proxy.choose = one_of_twenty(seed=11)
    directory = PosixTree(tmp_path, "", "run-1", "n")
    summary = World(source=tree_at(shaky, there), destination=directory).run(TO_FILES)
    assert_all_copied(summary, len(bodies))
    found = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == bodies
    summary = World(source=directory, destination=tree_at(shaky, back), run_id="run-2").run(TO_KEYS)
    assert_all_copied(summary, len(bodies) + 7)
    assert objects(client, back) == bodies
    if Lack.COPIED_RANGE_CHECKSUMS in s3_server.lacks:
        return
    copier = S3EntryCopier(shaky, there, twin, whole_bytes=8 * MIB, part_bytes=5 * MIB)
    ends = tree_at(shaky, there), tree_at(shaky, twin)
    assert_all_copied(World(source=ends[0], destination=ends[1], copier=copier).run(INSIDE), len(bodies))
    assert objects(client, twin) == bodies
    assert set(proxy.faults) >= set(FAULTS)
    assert sum(proxy.faults.values()) > proxy.requests * 0.03
    for location in (back, twin):
        left = [one.key for one in client.list_multipart_uploads(location.bucket)]
        # The begin of a check whose answer was lost is left to the bucket's lifecycle rule.
        assert {key.rpartition("/")[2] for key in left} <= {".fanout-check"}


@pytest.mark.parametrize("inside", [False, True], ids=["to a directory", "inside S3"])
def test_an_object_overwritten_after_the_listing_is_failed(
    client: S3Client, shaky: S3Client, locations: Iterator[S3Location], tmp_path: Path, inside: bool
) -> None:
    there, twin = next(locations), next(locations)
    for path in ("kept", "gone", "small"):
        write(client, there, path, b"old")
    write(client, there, "large", b"o" * LARGE_BYTES)
    world = World(source=tree_at(shaky, there), destination=PosixTree(tmp_path, "", "run-1", "n"))
    if inside:
        world.destination = tree_at(shaky, twin)
        world.copier = S3EntryCopier(shaky, there, twin, whole_bytes=8 * MIB, part_bytes=5 * MIB)
    world.list_all(world.plan(INSIDE if inside else TO_FILES))
    write(client, there, "small", b"new")
    write(client, there, "large", b"n" * LARGE_BYTES)
    client.delete_object(there.bucket, "in/gone")
    world.copy_all()
    finish_tree(world.context())
    assert summarise_transfer(None, world.context())["status"] == "FAILED_WITH_ITEMS"
    reasons = {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}
    assert reasons == {"small": "source changed", "large": "source changed", "gone": "source vanished"}
    assert [entry.path for entry in world.destination.list(Segment(""))] == ["kept"]
    assert world.ledger.read_json("summary.json")["balanced"]


@pytest.mark.parametrize(
    ("inside", "code"),
    [(False, "InvalidObjectState"), (True, "InvalidObjectState"), (True, "ObjectNotInActiveTierError")],
    ids=["to a directory", "inside S3", "of CopyObject"],
)
def test_an_archived_object_is_failed_with_its_remedy(
    client: S3Client,
    shaky: S3Client,
    proxy: S3Proxy,
    locations: Iterator[S3Location],
    tmp_path: Path,
    inside: bool,
    code: str,
) -> None:
    there, twin = next(locations), next(locations)
    for path in ("kept", "old"):
        write(client, there, path, b"x")

    def archived(head: Head) -> str:
        if head.method == "HEAD":  # which S3 answers of an archived object as of any other
            return ""
        named = head.headers.get("x-amz-copy-source", head.target)
        return f"403 {code}" if named.endswith("in/old") else ""

    proxy.choose = archived
    world = World(source=tree_at(shaky, there), destination=PosixTree(tmp_path, "", "run-1", "n"))
    if inside:
        world.destination, world.copier = tree_at(shaky, twin), S3EntryCopier(shaky, there, twin)
    world.run(INSIDE if inside else TO_FILES)
    (row,) = world.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("old", "source object is archived")
    assert "restore" in row["remedy"]
    assert [entry.path for entry in world.destination.list(Segment(""))] == ["kept"]


def archives(path: str) -> Callable[[Head], str]:
    """The fault of an S3 that keeps one object in an archive: its HEAD works, reading it does not."""

    def archived(head: Head) -> str:
        copied = head.headers.get("x-amz-copy-source", "")
        reads = head.method == "GET" and "?" not in head.target and head.target.endswith(path)
        return "403 InvalidObjectState" if reads or copied.endswith(path) else ""

    return archived


@pytest.mark.parametrize("inside", [False, True], ids=["to a directory", "inside S3"])
@pytest.mark.parametrize("size", [1, LARGE_BYTES], ids=["small", "large"])
@pytest.mark.parametrize("copied_before", [False, True], ids=["not there", "an older copy there"])
def test_an_archived_object_is_skipped_where_the_request_says_so(
    client: S3Client,
    shaky: S3Client,
    proxy: S3Proxy,
    locations: Iterator[S3Location],
    tmp_path: Path,
    inside: bool,
    size: int,
    copied_before: bool,
) -> None:
    """A sync leaves its copy alone, the books balance, the run is green, and so is its verification of both trees."""
    there, twin = next(locations), next(locations)
    for path in ("kept", "old"):
        write(client, there, path, b"x" * size)
    world = World(source=tree_at(shaky, there), destination=PosixTree(tmp_path, "", "run-1", "n"))
    if inside:
        world.destination, world.copier = tree_at(shaky, twin), S3EntryCopier(shaky, there, twin)
    ends = INSIDE if inside else TO_FILES
    if copied_before:
        assert_all_copied(world.run(ends), 2)
        write(client, there, "old", b"y" * size)
    proxy.choose = archives(f"{there.bucket}/in/old")
    limits = {"split_bytes": 8 * MIB}
    second = replace(world, run_id="run-2")
    summary = second.run({**ends, "mode": "sync", "archived": "skip", "limits": limits, "verify": "all"})
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True)
    assert summary["totals"]["skipped"] == {"entries": 1, "bytes": size}
    assert summary["totals"]["deleted"]["entries"] == 0
    assert [entry.path for entry in second.destination.list(Segment(""))] == ["kept", "old"][: 1 + copied_before]
    third = replace(world, run_id="run-3").run({**ends, "mode": "verify", "archived": "skip"})
    assert (third["status"], third["totals"]["skipped"]["entries"]) == ("SUCCEEDED", 1)
    for verification in (summary["verification"], third["verification"]):
        assert verification["source_digest"] == verification["destination_digest"]
        (told,) = [one for one in verification["not_compared"] if one["what"] == "archived objects"]
        assert told["entries"] == 1
    proxy.choose = lambda head: ""
    fourth = replace(world, run_id="run-4").run({**ends, "archived": "skip"})
    assert (fourth["status"], fourth["totals"]["skipped"]["entries"]) == ("SUCCEEDED", 0), "restored, it is copied"
    assert [entry.size for entry in world.destination.list(Segment(""))] == [size, size]
