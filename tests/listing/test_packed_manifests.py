"""A manifest packed by gzip: unpacked with bounded memory, and within a function's time."""

from __future__ import annotations

import pytest

from fanout.facts import tuning
from fanout.listing.manifests.manifest_lines import ManifestLines
from fanout.model.deadline import Deadline
from fanout.model.errors import InvalidRequest, Transient
from fanout.model.segment import ManifestPart, Rows
from tests.support.manifests import json_lines, put, world_of


def test_a_packed_manifest_is_unpacked_in_pieces() -> None:
    world = world_of({"a": b""})
    world.list_all(world.plan(put(world, b"0" * 300_000_000, "jsonl.gz")))
    assert world.ledger.read_json("segments/round-0001-done.json")["outcomes"]["rejected"]["entries"] == 1


def test_a_packed_line_without_an_end_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "MANIFEST_LINE_BYTES", 20_000_000)
    world = world_of({"a": b""})
    with pytest.raises(InvalidRequest, match="a line of over 20,000,000 bytes"):
        world.list_all(world.plan(put(world, b"0" * 300_000_000, "jsonl.gz")))


def test_the_time_is_looked_at_while_a_packed_manifest_is_unpacked_up_to_its_next_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "MANIFEST_READ_BYTES", 1_000)
    paths = [f"{number:09}" for number in range(1_000)]
    world = world_of(dict.fromkeys(paths, b""))
    world.plan(put(world, json_lines(paths), "jsonl.gz"))
    location = world.ledger.read_plan().request.manifest
    assert location is not None
    found = world.objects.find(location.bucket, location.key)
    part = ManifestPart(location.key, found.etag, found.size, Rows.JSONL, 0, found.size, done=500, line=501)
    looks: list[float] = []

    def now() -> float:
        looks.append(0.0)
        return float(len(looks))

    read = list(ManifestLines(world.objects, location, part, Deadline(now, 10.0)))
    assert (len(read), 0 < len(looks) <= 10) == (500, True)
    late = ManifestLines(world.objects, location, part, Deadline(now, 1.0))
    with pytest.raises(Transient, match=r"a\.jsonl\.gz was not unpacked up to row 501 in a function's time; write"):
        list(late)


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz"])
@pytest.mark.parametrize("segment_entries", [2, 500_000])
def test_rows_that_cannot_be_read_are_bounded(form: str, segment_entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a megabyte can be unpacked to 10^8 such rows, each an outcome; a part that is handed back counts on."""
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", segment_entries)
    monkeypatch.setattr(tuning, "MANIFEST_BROKEN_ROWS", 5)
    world = world_of({"a": b""})
    world.list_all(world.plan(put(world, b" \n" * 5, form)))
    assert world.ledger.read_json("segments/round-0001-done.json")["outcomes"]["rejected"]["entries"] > 0
    world = world_of({"a": b""})
    with pytest.raises(InvalidRequest, match="has over 5 rows that cannot be read, the last in line 6 of s3://lists/"):
        world.list_all(world.plan(put(world, b" \n" * 1_000, form)))
