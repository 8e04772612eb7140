"""A move leaves what its destination cannot hold whole, unless the request allows it; then a note counts it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix import attributes
from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.outcome import Reason
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import world_of
from tests.support.moves import MOVE, held, reasons

FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///out", "mode": "move"}
TO_S3: Json = {"source": "efs:///in", "destination": "s3://a-bucket/tree/", "mode": "move"}
ALLOW: Json = {"on_not_holdable": "allow"}
CONTENT: Json = {"verify": "content"}
NOT_HOLDABLE = Reason.NOT_HOLDABLE.value
LOST: list[tuple[str, Mapping[str, str], int, str]] = [
    ("a.html", {"x-amz-website-redirect-location": "/b.html"}, 0, "website redirect '/b.html'"),
    ("a", {"x-amz-meta-patient": "7"}, 0, "user metadata patient '7'"),
    ("a", {"cache-control": "no-store"}, 0, "Cache-Control 'no-store'"),
    ("a", {"content-disposition": "attachment"}, 0, "Content-Disposition 'attachment'"),
    ("a", {"content-encoding": "gzip"}, 0, "Content-Encoding 'gzip'"),
    ("a", {"content-language": "de"}, 0, "Content-Language 'de'"),
    ("a", {"expires": "0"}, 0, "Expires '0'"),
    ("a", {"content-type": "image/png"}, 0, "Content-Type 'image/png'"),
    ("a.html", {"content-type": "text/html; charset=utf-8"}, 0, "Content-Type 'text/html; charset=utf-8'"),
    ("a", {}, 1, "1 tag"),
    ("d/", {"x-amz-meta-owner": "ann"}, 2, "user metadata owner 'ann', 2 tags"),
]
KEPT: list[tuple[str, Mapping[str, str]]] = [
    ("a.html", {"content-type": "text/html"}),
    ("a", {"content-type": "binary/octet-stream"}),
    ("a.html", {"content-type": "application/octet-stream"}),
    ("d/", {"content-type": "application/x-directory"}),
    ("a", {}),
]


def moved(tmp_path: Path, path: str, headers: Mapping[str, str], tags: int, change: Json) -> tuple[World, Any, bool]:
    """A move of one object; whether it is still at the source."""
    changes = itertools.count(1)
    source = MemoryTree(changes)
    kind = Kind.DIRECTORY if path.endswith("/") else Kind.FILE
    source.put(path, kind, b"" if kind is Kind.DIRECTORY else b"x", Attributes(headers=dict(headers), tags=tags))
    world = World(changes, source, PosixTree(tmp_path, "out", "run-1", "d"))
    summary = world.run({**FROM_S3, **change})
    return world, summary, path in source.contents()


@pytest.mark.parametrize(("path", "headers", "tags", "words"), LOST)
def test_what_a_mount_cannot_hold_of_an_object_keeps_it(
    tmp_path: Path, path: str, headers: Mapping[str, str], tags: int, words: str
) -> None:
    world, summary, stays = moved(tmp_path, path, headers, tags, {})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert stays
    (row,) = world.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == (path, NOT_HOLDABLE)
    assert row["message"] == f"the destination cannot hold {words}"


@pytest.mark.parametrize("allowed", [ALLOW, CONTENT])
@pytest.mark.parametrize(("path", "headers", "tags", "words"), LOST)
def test_where_the_request_allows_it_a_note_counts_what_went(
    tmp_path: Path, path: str, headers: Mapping[str, str], tags: int, words: str, allowed: Json
) -> None:
    _, summary, stays = moved(tmp_path, path, headers, tags, allowed)
    assert summary["status"] == "SUCCEEDED"
    assert not stays
    if path.endswith("/") and allowed is CONTENT:
        return  # a directory is not looked at where bytes are all that counts
    note = f"moved without what the destination cannot hold, as the request allows: 1, for example {path} ({words})"
    assert note in summary["notes"]
    named = " ".join(one["what"] for one in summary["verification"]["not_compared"])
    assert ("tags" if allowed is ALLOW else "attributes and metadata") in named


@pytest.mark.parametrize(("path", "headers"), KEPT)
def test_a_type_that_its_name_gives_again_is_no_loss(tmp_path: Path, path: str, headers: Mapping[str, str]) -> None:
    _, summary, stays = moved(tmp_path, path, headers, 0, {})
    assert summary["status"] == "SUCCEEDED"
    assert not stays
    assert "moved without" not in " ".join(summary["notes"] or [])


@pytest.mark.parametrize("change", [{}, ALLOW])
def test_names_of_one_file_stay_where_the_destination_has_no_hard_links(tmp_path: Path, change: Json) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/one").write_bytes(b"x")
    (tmp_path / "in/alone").write_bytes(b"y")
    os.link(tmp_path / "in/one", tmp_path / "in/two")
    bucket = MemoryTree()
    world = World(source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=bucket)
    summary = world.run({**TO_S3, **change})
    left = {} if change else {"one": b"x", "two": b"x"}
    assert held(tmp_path / "in") == left
    assert reasons(world) == dict.fromkeys(left, NOT_HOLDABLE)
    assert any("as the request allows: 2" in note for note in summary["notes"] or []) is bool(change)
    assert {path: one.data for path, one in bucket.contents().items()} == {"one": b"x", "two": b"x", "alone": b"y"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("change", [ALLOW, CONTENT])
def test_an_owner_may_go_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Json) -> None:
    (tmp_path / "in").mkdir()
    for name in ("theirs", "ours"):
        (tmp_path / "in" / name).write_bytes(b"x")
    os.chown(tmp_path / "in/theirs", 1000, 1000)
    monkeypatch.setattr(attributes, "_change_owner", lambda *_: False)
    world = world_of(tmp_path)
    summary = world.run({**MOVE, **change})
    assert summary["status"] == "SUCCEEDED", reasons(world)
    assert held(tmp_path / "in") == {}
    assert any("as the request allows: 1, for example theirs (owner 1000:1000)" in one for one in summary["notes"])
    assert {"owners", "attributes and metadata"} & {one["what"] for one in summary["verification"]["not_compared"]}
