"""Runs of the same transfer, each with the index of the last one that succeeded."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.listing.index import earlier_index
from fanout.model.document import Json
from fanout.model.entry import Kind
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.versions import Versions

FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
TO_S3: Json = {"source": "efs:///tree", "destination": "s3://a-bucket/copy/"}
INSIDE_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "s3://a-bucket/copy/"}


def world_of(*paths: str) -> tuple[World, Versions, Versions]:
    """Two trees in memory, of which the source holds files of 3 bytes."""
    changes = itertools.count(1)
    source, destination = Versions(changes), Versions(changes)
    for path in paths:
        source.put(path, Kind.FILE, b"old")
    return World(changes, source, destination, MemoryStore()), source, destination


def run(world: World, number: int, request: Json) -> tuple[World, int]:
    """A further run; how many entries it copied, or would copy."""
    following = world.next_run(f"run-{number}")
    summary = following.run(request)
    assert summary["status"] == "SUCCEEDED", summary
    if request.get("mode") == "plan":
        return following, summary["planned"]["to_copy"]["entries"]
    return following, summary["totals"]["copied"]["entries"]


@pytest.mark.parametrize("request_", [FROM_S3, TO_S3, INSIDE_S3])
def test_an_older_file_that_comes_back_is_copied(request_: Json) -> None:
    """Without the index times say that it was written to the destination after it was changed."""
    world, source, destination = world_of("a", "b")
    before = source.contents()["a"]
    source.put("a", Kind.FILE, b"new")
    world, copied = run(world, 1, request_)
    assert copied == 2
    world, copied = run(world, 2, request_)
    assert copied == 0
    source.bring_back("a", before)
    assert run(world, 3, {**request_, "mode": "plan"})[1] == 1
    assert run(world, 4, request_)[1] == 1
    assert destination.contents()["a"].data == b"old"


def test_what_others_wrote_to_a_bucket_is_seen_where_a_run_found_it_unchanged() -> None:
    world, _, destination = world_of("a", "b")
    for number, expected in ((1, 2), (2, 0), (3, 0)):
        world, copied = run(world, number, TO_S3)
        assert copied == expected
    destination.put("a", Kind.FILE, b"bad")
    world, copied = run(world, 4, TO_S3)
    assert copied == 1
    assert destination.contents()["a"].data == b"old"


def test_a_path_that_the_last_run_did_not_have_is_copied() -> None:
    world, source, destination = world_of("a", "b")
    world, _ = run(world, 1, TO_S3)
    gone = source.contents()["a"]
    source.remove("a")
    world, _ = run(world, 2, TO_S3)
    assert "a" in destination.contents()  # a copy deletes nothing
    source.bring_back("a", replace(gone, data=b"odd"))
    assert run(world, 3, TO_S3)[1] == 1
    assert destination.contents()["a"].data == b"odd"


def test_a_run_that_does_not_succeed_says_that_it_leaves_no_index() -> None:
    world, source, _ = world_of("a", "b")
    source.put("x//y", Kind.FILE, b"")  # no file system holds it
    for number, said in ((1, "up to 2 entries"), (2, "up to 2 entries")):
        world = world.next_run(f"run-{number}")
        [note] = [note for note in world.run(FROM_S3)["notes"] if "leaves no index" in note]
        assert said in note
    source.remove("x//y")
    world, _ = run(world, 3, FROM_S3)
    source.put("x//y", Kind.FILE, b"")
    world = world.next_run("run-4")
    [note] = [note for note in world.run(FROM_S3)["notes"] if "leaves no index" in note]
    assert "uses that of run-3" in note
    for other in ({"compare": "always"}, {"mode": "plan"}):  # these leave none in any case
        world = world.next_run(f"other-{len(other)}-{next(iter(other))}")
        assert not [note for note in world.run(FROM_S3 | other)["notes"] if "leaves no index" in note]


def test_a_run_that_did_nothing_says_nothing_of_its_index() -> None:
    world, source, _ = world_of()
    source.put("x//y", Kind.FILE, b"")  # no file system holds it
    assert not [note for note in world.next_run("run-1").run(FROM_S3)["notes"] if "leaves no index" in note]


def test_a_run_that_does_not_succeed_leaves_the_index_of_the_one_before() -> None:
    world, source, _ = world_of("a", "b")
    world, _ = run(world, 1, FROM_S3)
    [pointer] = world.store.list("runs/indexes/")
    before = world.store.get(pointer)
    source.put("x//y", Kind.FILE, b"")  # no file system holds it
    world = world.next_run("run-2")
    assert world.run(FROM_S3)["status"] == "FAILED_WITH_ITEMS"
    assert world.store.get(pointer) == before


def test_a_run_between_file_systems_and_one_of_a_plan_leave_no_index() -> None:
    world, _, _ = world_of("a")
    run(world, 1, {"source": "efs:///tree", "destination": "efs:///copy"})
    run(world, 2, {**TO_S3, "mode": "plan"})
    run(world, 3, {**TO_S3, "compare": "checksum"})
    assert not [key for key in world.store.list("") if "index" in key]


def test_another_transfer_does_not_use_it_and_a_sync_of_the_same_trees_does() -> None:
    world, _, _ = world_of("a", "b")
    run(world, 1, TO_S3)
    options: list[Json] = [{"exclude": ["b"]}, {"destination": "s3://a-bucket/other/"}, {}]
    for number, option in enumerate(options, 2):
        other = world.next_run(f"run-{number}")
        other.plan(TO_S3 | option)
        assert other.ledger.read_json("earlier.json")["run"] == ("" if option else "run-1")
    other = world.next_run("run-9")
    other.plan({**TO_S3, "mode": "sync", "limits": {"shard_seconds": 5.0}})
    assert other.ledger.read_json("earlier.json")["run"] == "run-1"


BROKEN: dict[str, tuple[str, bytes | None]] = {
    "the list is gone": ("runs/run-1/index.json", None),
    "the list is no JSON": ("runs/run-1/index.json", b"?"),
    "another version": ("runs/run-1/index.json", b'{"index_version": 99, "files": []}'),
    "the pointer leads elsewhere": ("pointer", b'{"index_version": 2, "run": "../x"}'),
    "the pointer is of another version": ("pointer", b'{"index_version": 99, "run": "run-1"}'),
    "the pointer is a list": ("pointer", b"[]"),
    "a part is gone": ("part", None),
    "a part is not compressed": ("part", b"{}"),
    "a part is cut": ("part", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff\xab"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_index_that_cannot_be_read_leaves_the_look(what: str) -> None:
    world, source, _ = world_of("a", "b")
    before = source.contents()["a"]
    source.put("a", Kind.FILE, b"new")
    world, _ = run(world, 1, FROM_S3)
    name, content = BROKEN[what]
    prefixes = {"pointer": "runs/indexes/", "part": "runs/run-1/index/"}
    [key] = world.store.list(prefixes.get(name, name))
    if content is None:
        world.store.remove([key])
    else:
        world.store.put(key, content)
    source.bring_back("a", before)
    source.put("c", Kind.FILE, b"")
    following = world.next_run("run-2")
    summary = following.run(FROM_S3)
    assert summary["totals"]["copied"]["entries"] == 2  # "c", which is new, and "a"; "b" is looked at
    assert any("index of the last run" in note for note in summary["notes"])


def test_files_of_a_renamed_directory_are_copied(tmp_path: Path) -> None:
    """Real files: renaming a directory moves no time of what it holds."""
    for name in ("one", "two"):
        (tmp_path / "tree" / name).mkdir(parents=True)
        for number in range(3):
            (tmp_path / f"tree/{name}/f{number}").write_text(f"{name}-{number}")
            os.utime(tmp_path / f"tree/{name}/f{number}", ns=(7, 7 if name == "one" else 8))
    changes = itertools.count(10**12)  # the bucket's clock is far ahead: all was written to it long after
    destination = MemoryTree(changes)
    world = World(changes, PosixTree(tmp_path, "tree", "run", "n", "source"), destination, MemoryStore())
    world, copied = run(world, 1, TO_S3)
    assert copied == 8
    world.source.close()  # as at the end of a task: it holds directories open
    os.rename(tmp_path / "tree/one", tmp_path / "aside")
    os.rename(tmp_path / "tree/two", tmp_path / "tree/one")
    os.rename(tmp_path / "aside", tmp_path / "tree/two")
    world, copied = run(world, 2, TO_S3)
    assert copied == 8  # with the two directories
    assert destination.contents()["one/f1"].data == b"two-1"
    assert run(world, 3, TO_S3)[1] == 0
    world.source.close()


PATHS = st.sets(st.text(alphabet="ab/", min_size=1, max_size=4), min_size=1, max_size=8).map(
    lambda paths: {path for path in paths if not path.startswith("/") and not path.endswith("/") and "//" not in path}
)
CHANGES = st.lists(st.tuples(st.integers(0, 11), st.sampled_from(["new", "back", "there", "gone"])), max_size=6)


@settings(max_examples=15)
@given(PATHS, st.lists(CHANGES, max_size=3), st.sampled_from([TO_S3, INSIDE_S3]), st.integers(1, 5), st.integers(1, 5))
def test_nothing_that_changed_counts_as_unchanged(
    paths: set[str], rounds: list[list[tuple[int, str]]], request_: Json, budget: int, a_file: int
) -> None:
    """Whatever came, came back or was overwritten between runs, a run leaves at the destination what the source holds.

    All that is written has one size, and a bucket's times never go back; two runs see what others wrote.
    """
    names = sorted(paths)
    world, source, destination = world_of(*names)
    contents = itertools.count(100)
    held = {name: [source.contents()[name]] for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", budget)
        patch.setattr(earlier_index, "ENTRIES_PER_FILE", a_file)
        number = 0
        for changes in rounds:
            for _ in range(2):  # the second finds unchanged what the first copied, and so sees it at the destination
                number += 1
                world = world.next_run(f"run-{number}")
                summary = world.run(request_)
                assert summary["status"] == "SUCCEEDED", summary
            assert summary["totals"]["copied"]["entries"] == 0
            for which, change in changes:
                name = names[which % len(names)] if names else ""
                if change == "new" and name:
                    source.put(name, Kind.FILE, str(next(contents)).encode())
                    held[name].append(source.contents()[name])
                elif change == "back" and name:
                    source.bring_back(name, held[name][0])
                elif change == "gone" and name in source.contents():
                    source.remove(name)
                elif change == "there" and name:
                    destination.put(name, Kind.FILE, b"bad")
            world = world.next_run(f"run-{(number := number + 1)}")
            assert world.run(request_)["status"] == "SUCCEEDED"
            for name, stored in source.contents().items():
                assert destination.contents()[name].data == stored.data
