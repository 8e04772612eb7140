"""Names through a whole run: between S3 and a directory, and inside S3."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.tree import S3Tree
from fanout.model.checksum import crc64nvme
from fanout.model.entry import Kind
from fanout.model.location import S3Location
from fanout.model.segment import Segment
from fanout.ports.tree import Tree
from tests.contract.conftest import Needs
from tests.support.flow import World
from tests.support.s3_servers import Lack

TO_FILES = {"source": "s3://a-bucket/in/", "destination": "efs:///copy"}
TO_KEYS = {"source": "efs:///copy", "destination": "s3://a-bucket/in/"}
INSIDE = {"source": "s3://a-bucket/in/", "destination": "s3://b-bucket/in/"}

GOOD = ("ünï/漢字/🙂", "a+b/c d", "100%/%2F", "tab\there/\x01\x7f", "Case", "case", "?#&=", "e\u0301", "é", "a-", "a/b")
IMPOSSIBLE = (
    "x//y",
    "/abs",
    "../up",
    "./here",
    "a/..",
    "^lit",
    "odd/",
    "both",
    "both/z",
    "both//",
    ".fanout-staging-1/x",
)


@pytest.fixture(autouse=True)
def holds_every_key(needs: Needs) -> None:
    needs(Lack.HOSTILE_KEYS)


@pytest.fixture
def prefixes(client: S3Client, make_bucket: Callable[[], str]) -> Iterator[S3Location]:
    return (S3Location(make_bucket(), "in/") for _ in range(9))


def tree_at(client: S3Client, location: S3Location) -> S3Tree:
    return S3Tree(client, location.bucket, location.prefix)


def objects(client: S3Client, location: S3Location) -> dict[str, bytes]:
    """The files of a tree of keys."""
    listed = [entry for entry in tree_at(client, location).list(Segment("")) if entry.kind is Kind.FILE]
    return {entry.path: client.get_object(location.bucket, location.prefix + entry.path).body for entry in listed}


def fill(client: S3Client, location: S3Location, keys: tuple[str, ...]) -> dict[str, bytes]:
    for key in keys:
        client.put_object(location.bucket, location.prefix + key, key.encode(), crc64nvme=crc64nvme(key.encode()))
    return {key: key.encode() for key in keys}


def files_below(root: Path) -> dict[bytes, bytes]:
    base = os.fsencode(root)
    found = [os.path.join(folder, name) for folder, _, names in os.walk(base) for name in names]
    return {os.path.relpath(path, base): Path(os.fsdecode(path)).read_bytes() for path in found}


def run(
    source: Tree, destination: Tree, request: dict[str, str], run_id: str = "run-1"
) -> tuple[World, dict[str, int]]:
    """The world after a run, and the entries by outcome."""
    world = World(source=source, destination=destination, run_id=run_id)
    summary = world.run(request)
    assert summary["balanced"]
    return world, {name: count["entries"] for name, count in summary["totals"].items() if count["entries"]}


@pytest.mark.parametrize("key", GOOD)
def test_a_key_that_a_file_can_have_stays_as_it_is(
    client: S3Client, prefixes: Iterator[S3Location], tmp_path: Path, key: str
) -> None:
    there, back = next(prefixes), next(prefixes)
    stored = fill(client, there, (key,))
    directory = PosixTree(tmp_path, "", "run-1", "n")
    assert run(tree_at(client, there), directory, TO_FILES)[1] == {"listed": 1, "copied": 1}
    assert files_below(tmp_path) == {key.encode(): key.encode()}
    run(directory, tree_at(client, back), TO_KEYS)
    assert objects(client, back) == stored


def test_all_of_them_together(client: S3Client, prefixes: Iterator[S3Location], tmp_path: Path) -> None:
    there = next(prefixes)
    stored = fill(client, there, GOOD)
    run(tree_at(client, there), PosixTree(tmp_path, "", "run-1", "n"), TO_FILES)
    assert files_below(tmp_path) == {key.encode(): body for key, body in stored.items()}


def test_skip_leaves_out_what_fail_rejects(client: S3Client, prefixes: Iterator[S3Location], tmp_path: Path) -> None:
    there = next(prefixes)
    fill(client, there, GOOD + IMPOSSIBLE)
    refused = len(IMPOSSIBLE) - 2  # "^lit" and "both" are file names
    for mode, outcome, status in (("fail", "rejected", "FAILED_WITH_ITEMS"), ("skip", "skipped", "SUCCEEDED")):
        root = tmp_path / mode
        root.mkdir()
        request = {**TO_FILES, "on_conflict": mode}
        world, totals = run(tree_at(client, there), PosixTree(root, "", "run-1", "n"), request)
        assert totals[outcome] == refused
        assert totals["copied"] == len(GOOD) + 2
        assert world.ledger.read_json("summary.json")["status"] == status
        rows = [row for key in world.ledger.keys("outcomes/listed/") for row in world.ledger.read_rows(key)]
        assert sorted(row["path"] for row in rows) == sorted(set(IMPOSSIBLE) - {"^lit", "both"})
        assert all(row["reason"] for row in rows)


def test_escaped_keys_are_found_unchanged_and_come_back(
    client: S3Client, prefixes: Iterator[S3Location], tmp_path: Path
) -> None:
    there, back = next(prefixes), next(prefixes)
    stored = fill(client, there, GOOD + IMPOSSIBLE)
    client.put_object(there.bucket, "in/nothing//", b"")
    count = len(stored) + 1
    request = {**TO_FILES, "on_conflict": "escape"}
    assert run(tree_at(client, there), PosixTree(tmp_path, "", "run-1", "n"), request)[1]["copied"] == count
    assert files_below(tmp_path)[b"both^/^/^"] == b"both//"
    assert (tmp_path / "nothing/^").is_dir()
    _later(tmp_path)
    again = run(tree_at(client, there), PosixTree(tmp_path, "", "run-2", "n"), request, "run-2")[1]
    assert again == {"listed": count, "unchanged": count}
    request = {**TO_KEYS, "on_conflict": "unescape"}
    world, totals = run(PosixTree(tmp_path, "", "run-3", "n"), tree_at(client, back), request, "run-3")
    assert objects(client, back) == stored
    assert world.ledger.read_json("summary.json")["status"] == "SUCCEEDED"
    assert totals["skipped"] == 2  # the directories odd/ and both^/^/, whose keys are files
    assert tree_at(client, back).find("nothing//") is not None


def test_file_names_that_are_no_keys_are_found_unchanged_and_come_back(
    client: S3Client, prefixes: Iterator[S3Location], tmp_path: Path
) -> None:
    there = next(prefixes)
    first, second = tmp_path / "first", tmp_path / "second"
    for name in (b"caf\xe9/\xff\xfe", b"plain", b"a^b", "ü".encode(), b"caf\xe9/^", b"new\rline"):
        path = Path(os.fsdecode(os.fsencode(first) + b"/" + name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name)
    second.mkdir()
    world, totals = run(PosixTree(first, "", "run-1", "n"), tree_at(client, there), TO_KEYS)
    assert {row["reason"] for row in world.ledger.read_rows("failures.jsonl")} == {"name is not UTF-8"}
    assert totals == {"listed": 7, "copied": 4, "rejected": 3}
    escape = {**TO_KEYS, "on_conflict": "escape"}
    location = next(prefixes)
    assert run(PosixTree(first, "", "run-2", "n"), tree_at(client, location), escape, "run-2")[1]["copied"] == 7
    assert "caf^E9/^FF^FE" in objects(client, location)
    unescape = {**TO_FILES, "on_conflict": "unescape"}
    run(tree_at(client, location), PosixTree(second, "", "run-3", "n"), unescape, "run-3")
    assert files_below(second) == files_below(first)
    _later(second)
    again = run(tree_at(client, location), PosixTree(second, "", "run-4", "n"), unescape, "run-4")[1]
    assert again == {"listed": 7, "unchanged": 7}


def test_inside_s3_every_key_is_copied_as_it_is(client: S3Client, prefixes: Iterator[S3Location]) -> None:
    source, destination = next(prefixes), next(prefixes)
    stored = fill(client, source, GOOD + IMPOSSIBLE)
    client.put_object(source.bucket, "in/nothing//", b"")
    world = World(
        source=tree_at(client, source),
        destination=tree_at(client, destination),
        copier=S3EntryCopier(client, source, destination),
    )
    summary = world.run(INSIDE)
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"]["entries"] == len(stored) + 1
    assert objects(client, destination) == stored


def test_a_key_too_long_below_the_new_prefix_is_rejected(client: S3Client, prefixes: Iterator[S3Location]) -> None:
    source, destination = next(prefixes), next(prefixes)
    fill(client, source, ("k" * 1001,))
    deeper = S3Location(destination.bucket, "much/longer/than/before/")
    world = World(source=tree_at(client, source), destination=tree_at(client, deeper))
    world.run({**INSIDE, "destination": f"s3://b-bucket/{deeper.prefix}"})
    assert [row["reason"] for row in world.ledger.read_rows("failures.jsonl")] == ["key over 1,024 bytes"]


def _later(root: Path) -> None:
    """Give everything a change time that lies clearly after the objects'."""
    time.sleep(2.1)
    for path in [*root.rglob("*"), root]:
        path.chmod(path.stat().st_mode & 0o777)
