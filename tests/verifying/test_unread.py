"""Metadata of an object that a run does not read is a counted note with examples, not silence."""

from __future__ import annotations

import itertools

import pytest

from fanout.adapters.s3.metadata import from_headers
from fanout.listing.deciding.unread import unread
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result
from fanout.shards.record import EXAMPLES, records, write_outcomes
from fanout.shards.shard_results import RecordSums, sums_of, unread_notes
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}


@pytest.mark.parametrize(
    ("metadata", "tool", "names"),
    [
        ({"mtime": "1700000000.5"}, "rclone", "mtime"),
        ({"mode": "33188", "uid": "0", "gid": "0", "mtime": "1"}, "s3fs", "gid, mode, mtime, uid"),
        ({"s3cmd-attrs": "uid:0/mtime:1"}, "s3cmd", "s3cmd-attrs"),
        ({"mc-attrs": "atime:1#0/mtime:1#0"}, "mc", "mc-attrs"),
        ({"goog-reserved-file-mtime": "1"}, "gsutil", "goog-reserved-file-mtime"),
    ],
)
def test_attributes_of_other_tools_are_named(metadata: dict[str, str], tool: str, names: str) -> None:
    found = from_headers({f"x-amz-meta-{name}": value for name, value in metadata.items()})
    assert unread(found) == {f"objects with attributes of {tool}, which are not read": names}


def test_nothing_is_said_of_what_is_read_or_is_no_attribute() -> None:
    assert unread(Attributes(mode=0o100644, mtime_ns=1, headers={"content-type": "a/b", "x-amz-meta-job": "7"})) == {}


def test_a_value_that_cannot_be_read_is_shown() -> None:
    found = from_headers({"x-amz-meta-file-permissions": "33204", "x-amz-meta-file-mtime": "x"})
    assert unread(found) == {"objects with attributes that cannot be read": "mode '33204', mtime 'x'"}


def filled() -> World:
    changes = itertools.count(1)
    source = MemoryTree(changes)
    for number in range(7):
        source.put(f"r{number}", Kind.FILE, b"x", Attributes(headers={"x-amz-meta-mtime": "1"}))
    source.put("d/", Kind.DIRECTORY, b"", Attributes(unreadable={"mode": "40755"}))
    source.put("plain", Kind.FILE, b"x", Attributes(headers={"content-type": "a/b"}))
    return World(changes, source, MemoryTree(changes), MemoryStore())


@pytest.mark.parametrize("mode", ["copy", "verify"])
def test_a_run_counts_them_in_its_notes(mode: str) -> None:
    world = filled()
    first = world.run(FROM_S3)
    summary = first if mode == "copy" else world.next_run("run-2").run(FROM_S3 | {"mode": mode})
    assert summary["status"] == "SUCCEEDED", summary
    rclone = "; ".join(f"r{number} (mtime)" for number in range(5))
    assert summary["notes"] == [
        f"objects with attributes of rclone, which are not read: 7, for example {rclone}",
        "objects with attributes that cannot be read: 1, for example d/ (mode '40755')",
    ]


def test_an_entry_that_two_attempts_met_counts_once() -> None:
    ledger = World().ledger
    outcomes = {
        index: Outcome(f"f{index}", "file", 1, Result.COPIED, unread=(("say it", "why"),)) for index in range(9)
    }
    write_outcomes("shard", "one", {index: outcomes[index] for index in range(6)}, ledger)
    write_outcomes("shard", "two", {index: outcomes[index] for index in range(3, 9)}, ledger)
    write_outcomes("other", "one", {0: outcomes[0]}, ledger)
    write_outcomes("other", "none", {1: Outcome("f1", "file", 1, Result.COPIED)}, ledger)
    examples = "; ".join(f"f{number} (why)" for number in range(EXAMPLES))
    sums = (sums_of(records(one, ledger), ledger) for one in ("shard", "other"))
    assert unread_notes(sum(sums, RecordSums())) == [f"say it: 10, for example {examples}"]
