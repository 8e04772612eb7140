"""A shard is the row that was written for it: a hand-made event of a run at work names no other entries or bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import fields

from fanout.facts import tuning
from fanout.finishing.divide import FinishShard
from fanout.ledger import objects
from fanout.model.document import Json
from fanout.model.shard import Shard
from tests.functions.run_at_work import BUCKET, MOUNT, OTHER, RUN, Forger, flow, forger, ledger, sent, shard_of

__all__ = ["flow", "forger"]

# In the place of a field of a shard: other entries, other bytes of a file, another's outcomes.
OTHER_SHARDS: Json = {
    "id": "x",
    "key": "shards/x.jsonl.gz",
    "entries": 7,
    "bytes": 1,
    "seconds": 1.25,
    "blocks": [0, 1],
    "archive": "GLACIER",
    "linked": True,
    "done": True,
    "page": 7,
}
# In the place of a field of a shard of finishing.
OTHER_FINISHES: Json = {
    "id": "0009-0000",
    "big_files": ["big-files/x.json"],
    "links": [],
    "directories": [[{"key": "directories/x.jsonl.gz", "rows": 1}]],
    "closed": [{"key": "directories/x.jsonl.gz", "depth": 1, "rows": 1}],
    "page": 7,
}


def shards(forger: Forger, steps: Sequence[str], prefix: str, others: Json, key: str) -> Callable[[], None]:
    """Sends each shard of a list with each of its fields as another."""

    def send() -> None:
        rows = ledger(prefix).read_json(key)
        for step, row, (name, value) in product(steps, rows[:1], others.items()):
            if row["shard"].get(name) != value:
                forger.send(step, sent(step, prefix, shard={**shard_of(row), name: value}))

    return send


@pytest.mark.parametrize("page_bytes", [objects.PAGE_BYTES, 1])
@pytest.mark.parametrize(
    ("source", "request_more", "prefix", "states", "steps"),
    [
        (BUCKET, {}, f"runs/{RUN}/", ("CopyShard",), ("CopyShard", "RecordShardFailure")),
        (OTHER, {}, f"runs/{RUN}/", ("PackShard",), ("PackShard", "UnpackShard", "DigestDestination")),
        (BUCKET, {"verify": "copied"}, f"runs/{RUN}/", ("VerifyShard",), ("VerifyShard",)),
        (OTHER, {"verify": "content"}, f"runs/{RUN}/verification/", ("DigestShard",), ("DigestShard", "VerifyShard")),
    ],
)
def test_a_shard_that_the_partition_did_not_cut_is_not_worked_on(
    forger: Forger,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    request_more: Json,
    prefix: str,
    states: tuple[str, ...],
    steps: tuple[str, ...],
    page_bytes: int,
) -> None:
    assert OTHER_SHARDS.keys() == {one.encode_name for one in fields(Shard)}
    others = OTHER_SHARDS if page_bytes > 1 else {name: OTHER_SHARDS[name] for name in ("id", "entries", "page")}
    monkeypatch.setattr(objects, "PAGE_BYTES", page_bytes)
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 2)
    forger.before(*states, send=shards(forger, steps, prefix, others, "shards.json"))
    request = {"source": source, "destination": MOUNT, **request_more}
    summary = forger.flow.run(RUN, request)
    assert len(forger.said) >= len(steps) * len(others)
    assert summary["status"] == "SUCCEEDED"
    assert {*ledger(prefix).keys("shards.json-")} == (set() if page_bytes > 1 else pages_of(prefix))


def pages_of(prefix: str) -> set[str]:
    """The pages of a list of which each row is one."""
    rows = ledger(prefix).read_json("shards.json")
    assert len(rows) > 1
    return {f"shards.json-{number:04d}" for number in range(1, len(rows) + 1)}


@pytest.mark.parametrize("page_bytes", [objects.PAGE_BYTES, 1])
def test_a_shard_of_finishing_is_the_one_that_the_tree_was_divided_into(
    forger: Forger, monkeypatch: pytest.MonkeyPatch, page_bytes: int, tmp_path: Path
) -> None:
    assert OTHER_FINISHES.keys() == {one.encode_name for one in fields(FinishShard)}
    monkeypatch.setattr(objects, "PAGE_BYTES", page_bytes)
    for name in ("FINISH_ALONE_SECONDS", "FINISH_SECONDS"):
        monkeypatch.setattr(tuning, name, 0.0001)
    for number in range(4):
        (tmp_path / f"archive/in/d{number}").mkdir()
        (tmp_path / f"archive/in/d{number}/f").write_bytes(b"good")
        for link in "xy":
            (tmp_path / f"archive/in/d{number}/{link}").hardlink_to(tmp_path / f"archive/in/d{number}/f")
    send = shards(forger, ["FinishShard"], f"runs/{RUN}/", OTHER_FINISHES, "finishing/round-0000.json")
    forger.before("FinishShard", send=send)
    request = {"source": OTHER, "destination": MOUNT}
    assert forger.flow.run(RUN, request)["status"] == "SUCCEEDED"
    assert len(forger.said) >= len(OTHER_FINISHES) - 1
