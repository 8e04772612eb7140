"""A shard's file holds every entry once, in the order by which its outcomes name them."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.ledger.rows import entry_row, listed_from_row, listed_row
from fanout.ledger.shard_order import in_shard_order, shard_rows, spread
from fanout.model.columns import FileColumns, Listed, in_columns, one_by_one
from fanout.model.entry import Entry, Kind
from fanout.model.errors import LedgerBroken
from fanout.model.shard import Shard
from tests.support.flow import World

ENTRIES = st.lists(st.tuples(st.sampled_from(["a/", "a/b/", "", "c/"]), st.integers(0, 5000)), max_size=80).map(
    lambda found: [Entry(f"{where}f{i}", Kind.FILE, size, 1, 2) for i, (where, size) in enumerate(found)]
)
FILES = FileColumns("a/", ["f\udcff", "g"], [1, 2], [3, 2**70], [5, 6])
COLUMNS = {"directory": "a/", "names": ["f", "g"], "sizes": [1, 2], "mtimes_ns": [3, 4], "changed_ns": [5, 6]}


@given(ENTRIES, st.integers(1, 9))
def test_files_in_columns_have_the_order_that_each_alone_has(entries: list[Entry], most: int) -> None:
    assert in_shard_order(in_columns(entries, most)) == spread(entries)


def test_a_file_of_columns_is_read_spread_and_one_of_entries_as_it_is() -> None:
    world = World()
    world.plan()
    directory, file = Entry("a/", Kind.DIRECTORY, mtime_ns=1), Entry("b/h", Kind.FILE, 1, 2, 3)
    shard = Shard("s", world.ledger.write_shard("s", [FILES, directory, file]), 4, 0, 0.0)
    assert list(one_by_one(world.ledger.read_listed(shard))) == [*FILES.entries(), directory, file]
    assert [one.path for one in world.ledger.read_shard(shard)] == ["a/f\udcff", "b/h", "a/g", "a/"]
    world.ledger.write_rows(shard.key, map(entry_row, [file, *FILES.entries(), directory]))
    assert world.ledger.read_shard(shard) == [file, *FILES.entries(), directory]
    assert list(shard_rows([directory, file])) == [entry_row(file), entry_row(directory)]
    with pytest.raises(LedgerBroken, match="holds 4 rows, not 3"):
        world.ledger.read_shard(replace(shard, entries=3))


def test_columns_of_objects_keep_their_etags_and_what_they_replace() -> None:
    for files in (FileColumns("a//", ["f"], [1], [3], [5], ['"e"'], "-"), FileColumns("", ["f"], [1], [3], [5])):
        assert list(one_by_one([listed_from_row(json.loads(json.dumps(listed_row(files))))])) == files.entries()


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["f"]},
        {"sizes": [1]},
        {"changed_ns": []},
        {"names": [], "sizes": [], "mtimes_ns": [], "changed_ns": []},
        {"etags": ["e"]},
        {"names": ["f", ""]},
        {"names": ["f", "g/h"]},
        {"directory": "a"},
        {"sizes": [1, "2"]},
        {"names": ["f", 2]},
        {"names": None},
        {"names": ["f", ".."]},
        {"directory": "a/../"},
        {"directory": "/"},
        {"directory": ".fanout-staging-x/"},
        {"names": ["f", "g\0"]},
    ],
)
def test_columns_that_are_no_files_of_the_tree_are_refused(change: dict[str, Any]) -> None:
    world = World()
    world.plan()
    for row, refused in ((COLUMNS, False), (COLUMNS | change, True)):
        world.ledger.write_rows("shards/s.jsonl.gz", [row])
        shard = Shard("s", "shards/s.jsonl.gz", 2, 3, 0.0)
        if not refused:
            assert len(world.ledger.read_shard(shard)) == 2
            continue
        with pytest.raises(LedgerBroken):
            world.ledger.read_shard(shard)


@given(ENTRIES)
def test_spreading_keeps_every_entry_and_takes_directories_in_turn(entries: list[Entry]) -> None:
    ordered = spread(entries)
    assert sorted(one.path for one in ordered) == sorted(one.path for one in entries)
    directories = [one.path.rpartition("/")[0] for one in ordered]
    for start in range(len(directories) - 1):
        if directories[start] == directories[start + 1]:
            assert set(directories[start:]) == {directories[start]}


def test_files_come_before_the_directories_which_they_make_while_others_are_staged() -> None:
    made = [
        Entry("a/", Kind.DIRECTORY),
        Entry("a/f", Kind.FILE),
        Entry("a/b/", Kind.DIRECTORY),
        Entry("a/b/g", Kind.FILE),
    ]
    assert [one.path for one in spread(made)] == ["a/f", "a/b/g", "a/", "a/b/"]


def test_directories_come_level_by_level() -> None:
    walked = [Entry(path, Kind.DIRECTORY) for path in ("a/", "a/b/", "a/b/c/", "d/", "d/e/", "f/")]
    assert [one.path for one in spread(walked)] == ["a/", "d/", "f/", "a/b/", "d/e/", "a/b/c/"]


def test_directories_are_taken_in_turn_over_those_that_they_are_made_in() -> None:
    paths = ("p/", "q/", "p/a/", "p/b/", "p/c/", "q/a/", "q/b/")
    made = [Entry(path, Kind.DIRECTORY) for path in paths]
    assert [one.path for one in spread(made)] == ["p/", "q/", "p/a/", "q/a/", "p/b/", "q/b/", "p/c/"]
    files = [Entry(f"{path}f", Kind.FILE) for path in paths]
    turns = [one.path for one in spread(files)]
    assert turns == ["p/f", "p/a/f", "q/a/f", "q/f", "p/b/f", "q/b/f", "p/c/f"]


def test_the_order_is_that_of_ledgers_that_are_there() -> None:
    """Another one would give the outcomes of runs under way to other entries: then rows need another form."""
    listed: list[Listed] = [Entry(f"t{a}/d{b}/", Kind.DIRECTORY) for a in range(20) for b in range(15)]
    for number in range(300):
        files = [f"f{file}" for file in range(1 + number % 7)]
        zeros = [0] * len(files)
        listed.append(FileColumns(f"t{number % 20}/d{number // 20}/", files, zeros, zeros, zeros))
    order = "\n".join(one.path for one in in_shard_order([*listed, Entry("t3/d4/link", Kind.SYMLINK, 3)]))
    assert sha256(order.encode()).hexdigest()[:16] == "3a4c786cc214a1e0"
