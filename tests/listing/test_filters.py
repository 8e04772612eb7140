"""Filters through the flow: what is skipped, what stays shut, and how directories go."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.adapters.posix.tree import PosixTree
from fanout.finishing.finish_tree import finish_tree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.request.filtering.filters import Filters
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import REQUEST, ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.nobody import as_nobody, open_directory

TO_S3 = {"source": "efs:///from", "destination": "s3://a-bucket/to/"}


def world_of(files: dict[str, bytes]) -> World:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for path, data in files.items():
        world.source.put(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, data)
    return world


def contents(tree: object) -> set[str]:
    assert isinstance(tree, MemoryTree)
    return set(tree.contents())


def reasons(world: World) -> dict[str, str]:
    rows = [row for key in world.ledger.keys("outcomes/listed/") for row in world.ledger.read_rows(key)]
    return {row["path"]: row["reason"] for row in rows if row["outcome"] == "skipped"}


def test_what_is_filtered_is_skipped_with_its_reason_and_the_run_succeeds() -> None:
    world = world_of({"a.txt": b"12345", "b.jpg": b"1", "tmp/x.txt": b"1", "tmp/y/z.txt": b"1", "big.txt": b"1" * 20})
    request: dict[str, Any] = {**REQUEST, "include": ["*.txt"], "exclude": ["tmp/"], "max_size": "10 B"}
    summary = world.run(request)
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"] == {"entries": 1, "bytes": 5}
    # The excluded directory counts once, for all that it holds.
    assert summary["totals"]["skipped"] == {"entries": 3, "bytes": 21}
    assert contents(world.destination) == {"a.txt"}
    assert reasons(world) == {
        "b.jpg": "not included by the request",
        "tmp/": "excluded by the request",
        "big.txt": "size outside the request's bounds",
    }


def test_times_choose_files() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for name, second in (("old", 10), ("middle", 20), ("new", 30)):
        world.source.put(name, Kind.FILE, b"", Attributes(mtime_ns=second * 1_000_000_000))
    times = {"modified_after": "1970-01-01T01:00:20+01:00", "modified_before": "1970-01-01T00:00:30Z"}
    assert world.run({**REQUEST, **times})["totals"]["skipped"]["entries"] == 2
    assert contents(world.destination) == {"middle"}


def test_a_directory_that_is_not_included_is_copied_if_it_holds_what_is() -> None:
    paths = ["d/", "d/e/", "d/e/a.txt", "d/e/b.jpg", "d/f/", "d/f/c.jpg", "g/", "g/h/", "x.txt/", "x.txt/i.jpg"]
    world = world_of(dict.fromkeys(paths, b""))
    assert world.run({**REQUEST, "include": ["*.txt"]})["status"] == "SUCCEEDED"
    assert contents(world.destination) == {"d/", "d/e/", "d/e/a.txt", "x.txt/", "x.txt/i.jpg"}
    assert set(reasons(world)) == {"d/e/b.jpg", "d/f/", "d/f/c.jpg", "g/", "g/h/"}


def test_a_directory_on_the_way_keeps_its_mode_on_a_mount(tmp_path: Path) -> None:
    (tmp_path / "from/private/deep").mkdir(parents=True)
    (tmp_path / "from/private/deep/a.txt").write_text("a")
    (tmp_path / "from/private").chmod(0o700)
    trees = [PosixTree(tmp_path, name, "run-1", "n") for name in ("from", "to")]
    world = World(source=trees[0], destination=trees[1])
    assert world.run({"source": "efs:///from", "destination": "efs:///to", "include": ["*.txt"]})["balanced"]
    assert (tmp_path / "to/private/deep/a.txt").read_text() == "a"
    assert (tmp_path / "to/private").stat().st_mode & 0o777 == 0o700


def test_an_excluded_directory_is_not_opened_and_one_that_can_not_be_listed_fails_if_it_is_not() -> None:
    with open_directory() as mount:
        (mount / "from/shut/below").mkdir(parents=True)
        (mount / "from/a").write_text("a")
        (mount / "from/shut").chmod(0)

        def summary_of(**options: Any) -> Any:
            return World(source=PosixTree(mount, "from", "run-1", "n")).run({**TO_S3, **options})

        excluded = as_nobody(lambda: summary_of(exclude=["/shut/"]))
        assert (excluded["status"], excluded["totals"]["copied"]["entries"]) == ("SUCCEEDED", 1)
        assert excluded["totals"]["skipped"]["entries"] == 1
        left_open = as_nobody(lambda: summary_of(include=["a"]))
        assert (left_open["status"], left_open["complete_listing"]) == ("FAILED_WITH_ITEMS", False)
        (mount / "from/shut").chmod(0o700)


def test_verification_compares_what_the_filters_take_and_nothing_else() -> None:
    world = world_of({"a.txt": b"a", "b.jpg": b"b", "cache/c.txt": b"c"})
    request = {**REQUEST, "include": ["*.txt"], "exclude": ["cache"]}
    world.run(request)
    assert isinstance(world.destination, MemoryTree)
    for path in ("other.jpg", "cache/d.txt", "cache/e/f.txt"):
        world.destination.put(path, Kind.FILE, b"x")
    assert world.next_run("run-2").run({**request, "mode": "verify"})["status"] == "SUCCEEDED"
    world.destination.put("extra.txt", Kind.FILE, b"x")
    third = world.next_run("run-3")
    assert third.run({**request, "mode": "verify"})["status"] == "FAILED_WITH_ITEMS"
    assert [row["path"] for row in third.ledger.read_rows("failures.jsonl")] == ["extra.txt"]


def test_a_name_that_can_not_be_held_can_be_excluded() -> None:
    world = world_of({"a//b": b"", "../x": b"", "f": b"", "f/g": b""})
    summary = world.run({**REQUEST, "exclude": ["a/", "**/[.][.]/", "/f"]})
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["skipped"]["entries"] == 4


def test_an_excluded_file_is_not_in_the_way_of_a_directory_of_its_name() -> None:
    world = world_of({"f": b"1", "f/g": b"2"})
    assert world.run({**REQUEST, "max_size": 1, "exclude": ["*.tmp"]})["totals"]["rejected"]["entries"] == 1
    smaller = world_of({"f": b"11", "f/g": b"2"})
    assert smaller.run({**REQUEST, "max_size": 1})["status"] == "SUCCEEDED"
    assert contents(smaller.destination) == {"f/g"}


names = st.lists(st.sampled_from(["a", "b", "c.txt"]), min_size=1, max_size=4).map("/".join)
globs = st.lists(st.sampled_from(["*.txt", "a/", "/b", "**/a/b", "a/**", "b/*/c.txt", "?"]), max_size=3)


def leaves(names: set[str]) -> set[str]:
    return {name for name in names if not any(other.startswith(f"{name}/") for other in names)}


@settings(deadline=None, max_examples=30)
@given(st.sets(names, max_size=12), globs, globs)
def test_exactly_the_files_that_the_filters_take_are_copied(
    paths: set[str], include: list[str], exclude: list[str]
) -> None:
    files = leaves(paths)
    world = world_of(dict.fromkeys(files, b"1"))
    summary = world.run({**REQUEST, "include": include, "exclude": exclude})
    assert summary["balanced"]
    filters = Filters(tuple(include), tuple(exclude))
    taken = {path for path in files if filters.reason(Entry(path, Kind.FILE)) is None}
    assert contents(world.destination) == taken


@pytest.mark.parametrize("store", ["keys", "directories"])
def test_a_listing_that_is_cut_takes_the_same_files_and_counts_each_entry_once(store: str, tmp_path: Path) -> None:
    paths = [f"d{number % 7}/{kind}/f{number}" for number in range(700) for kind in ("keep", "drop")]
    request = {"source": "efs:///in", "destination": "s3://a-bucket/in/", "include": ["f*[02468]"], "exclude": ["drop"]}
    if store == "keys":
        source: Any = world_of(dict.fromkeys(paths, b"")).source
    else:
        for path in paths:
            (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "in" / path).touch()
        source = PosixTree(tmp_path, "in", "run-1", "n")
    whole, cut = World(source=source), World(source=source, run_id="cut", remaining_seconds=10.0)
    whole.run(request)
    cut.clock = ManualClock(step=5.0)
    assert cut.list_all(cut.plan(request))["round"] > 2
    cut.clock.step = 0.0
    cut.copy_all()
    finish_tree(cut.context())
    assert summarise_transfer(None, cut.context())["status"] == "SUCCEEDED"
    first, second = contents(whole.destination), contents(cut.destination)
    assert len([path for path in first if not path.endswith("/")]) == 350
    assert first == second
    rows = [row["path"] for key in cut.ledger.keys("outcomes/listed/") for row in cut.ledger.read_rows(key)]
    assert max(Counter(rows).values()) == 1
    assert set(rows) >= {f"d{number}/drop/" for number in range(7)}
