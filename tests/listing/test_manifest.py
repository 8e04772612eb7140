"""A manifest instead of a listing: the same copy, nothing outside it, and no row is lost or believed."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import REQUEST, ManualClock, World
from tests.support.manifests import FROM_MOUNT, PLACE, contents, csv_rows, failures, json_lines, put, world_of
from tests.support.memory import MemoryTree
from tests.support.nobody import as_nobody, open_directory

FILES = {"a": b"1", "d/b, c": b"22", "d/e/ü": b"333", 'd/"q"': b"4444", "empty/": b""}


@pytest.mark.parametrize("form", list(PLACE))
@pytest.mark.parametrize("named", ["path", "key", "alone"])
def test_what_a_manifest_names_is_copied_and_nothing_else(form: str, named: str) -> None:
    world = world_of({**FILES, "other": b"x"})
    prefix = "tree/" if named == "key" else ""
    if form.startswith("csv"):
        header = [] if named == "alone" else [[named.title(), "note"]]
        data = csv_rows(header + [[prefix + path] + ["n"] * len(header) for path in FILES])
    else:
        data = json_lines([path if named == "alone" else {named: prefix + path, "note": 1} for path in FILES])
    summary = world.run(put(world, data, form))
    assert (summary["status"], summary["totals"]["copied"]) == ("SUCCEEDED", {"entries": 5, "bytes": 10})
    assert contents(world.destination) == FILES
    second = world.next_run("run-2").run(put(world, data, form))
    assert second["totals"]["unchanged"]["entries"] == 5
    (changed,) = [world.next_run("run-3")]
    assert isinstance(world.source, MemoryTree)
    world.source.put("a", Kind.FILE, b"new")
    world.source.put("other", Kind.FILE, b"new")
    assert changed.run(put(world, data, form))["totals"]["copied"]["entries"] == 1


names = st.sets(st.text(alphabet='ab/.^é,"\n', min_size=1, max_size=6), max_size=12)


@settings(deadline=None, max_examples=60)
@given(names, st.sampled_from(["fail", "skip", "escape"]), st.randoms(use_true_random=False))
def test_a_manifest_of_all_paths_gives_the_copy_of_a_listing(paths: set[str], on_conflict: str, random: Any) -> None:
    files = {path: path.encode() for path in paths}
    listed, named = world_of(files), world_of(files)
    order = list(files)
    random.shuffle(order)
    first = listed.run({**REQUEST, "on_conflict": on_conflict})
    second = named.run({**put(named, json_lines(order)), "on_conflict": on_conflict})
    assert contents(named.destination) == contents(listed.destination)
    assert failures(named) == failures(listed)
    # What is refused by its name alone is not looked up, and its size not known.
    for result, totals in first["totals"].items():
        assert second["totals"][result]["entries"] == totals["entries"]
    assert second["totals"]["copied"] == first["totals"]["copied"]


NOT_BELOW = "row of the manifest is not a path below the source"
HOSTILE = {
    "../x": NOT_BELOW,
    "/etc/passwd": NOT_BELOW,
    "a/../../x": NOT_BELOW,
    "a\0b": "NUL in name",
    "a//b": NOT_BELOW,
    "": "empty name component",
    ".fanout-staging-run-1/x": "name reserved for the run's own files",
    "n" * 256: "name component over 255 bytes",
}


def test_hostile_paths_are_rejected_before_anything_is_looked_up(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "x").write_text("outside")
    (tmp_path / "from/a").symlink_to("../x")

    class Watched(PosixTree):
        def find(self, path: str) -> Entry | None:
            assert path not in HOSTILE
            return super().find(path)

    world = World(source=Watched(tmp_path, "from", "run-1", "n"))
    request = {**put(world, json_lines([*HOSTILE, "a/b", {"key": "to/a"}])), **FROM_MOUNT}
    summary = world.run(request)
    assert (summary["status"], summary["totals"]["listed"]["entries"]) == ("FAILED_WITH_ITEMS", len(HOSTILE) + 2)
    found = failures(world)
    assert {path: found[path] for path in HOSTILE} == {path: ("rejected", why) for path, why in HOSTILE.items()}
    assert found["a/b"] == ("failed", "in the manifest but not at the source")
    [message] = [row["message"] for row in world.ledger.read_rows("failures.jsonl") if "line" in row["path"]]
    assert message == "line 10 of s3://lists/lists/a.jsonl has a key and no path, but the source is no bucket"
    assert contents(world.destination) == {}


def test_keys_out_of_the_source_and_broken_rows_are_named_and_the_rest_is_copied() -> None:
    world = world_of({"a": b"1"})
    rows = [
        b'{"key": "tree/a"}',
        b'{"key": "elsewhere/a"}',
        b"{",
        b'{"path": 7}',
        b"[" * 100_000,
        b"",
        b'"gone"',
        b"\xff",
    ]
    summary = world.run(put(world, b"\r\n".join(rows)))
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("FAILED_WITH_ITEMS", 1)
    broken = {
        f"line {number} of s3://lists/lists/a.jsonl": ("rejected", "row of the manifest cannot be read")
        for number in (3, 4, 5, 8)
    }
    assert failures(world) == {
        "elsewhere/a": ("rejected", "key outside the source's prefix"),
        "gone": ("failed", "in the manifest but not at the source"),
        **broken,
    }


@pytest.mark.parametrize("row", [b'a,"b', b"a", b"a,b,c", b'"a"b,c'])
def test_a_row_of_csv_that_the_header_does_not_fit_is_named(row: bytes) -> None:
    world = world_of({"a": b"1", "ok": b"2"})
    assert world.run(put(world, b"path,note\n" + row + b"\nok,n\n", "csv"))["totals"]["copied"]["entries"] == 1
    assert list(failures(world)) == ["line 2 of s3://lists/lists/a.csv"]


def test_a_path_named_twice_counts_twice_and_does_no_harm() -> None:
    world = world_of({"a": b"1"})
    summary = world.run({**put(world, json_lines(["a", "a"])), "verify": "all"})
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 2)
    assert contents(world.destination) == {"a": b"1"}


@pytest.mark.parametrize("form", ["jsonl", "csv", "jsonl.gz", "csv.gz"])
def test_parts_and_rows_handed_back_for_time_lose_no_row_and_double_none(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "MANIFEST_PART_BYTES", 20_001)
    packed = form.endswith(".gz")
    # A packed file is read again from its beginning: pieces so large that their unpacking leaves time for rows.
    monkeypatch.setattr(tuning, "MANIFEST_READ_BYTES", 60_000 if packed else 1_000)
    paths = [f"d{number % 7}/{'x' * (number % 50)}{number}" for number in range(2_000)]
    world = world_of(dict.fromkeys(paths, b""))
    world.clock, world.remaining_seconds = ManualClock(step=1.7 if packed else 5.0), 10.0
    data = csv_rows([["path"], *([path] for path in paths)]) if form.startswith("csv") else json_lines(paths)
    state = world.plan(put(world, data, form))
    assert (state["list"]["count"] > 2) is not packed
    assert world.list_all(state)["round"] > 2
    world.clock.step = 0.0
    world.copy_all()
    finish_tree(world.context())
    assert summarise_transfer(None, world.context())["status"] == "SUCCEEDED"
    assert world.ledger.read_json("summary.json")["totals"]["copied"]["entries"] == 2_000
    assert contents(world.destination).keys() == set(paths)


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.text(alphabet="ab\r é", min_size=1, max_size=9), max_size=30), st.integers(1, 40), st.integers(1, 30)
)
def test_wherever_a_file_is_cut_each_row_counts_once(rows: list[str], part_bytes: int, read_bytes: int) -> None:
    world = world_of(dict.fromkeys(rows, b""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "MANIFEST_PART_BYTES", part_bytes)
        patch.setattr(tuning, "MANIFEST_READ_BYTES", read_bytes)
        state = world.plan(put(world, json_lines(rows).rstrip()))
        world.list_all(state)
    listed = world.ledger.read_json("segments/round-0001-done.json")
    assert listed["listed"]["entries"] == len(rows)
    assert listed["outcomes"]["rejected"]["entries"] == 0


def test_what_failed_is_tried_again_and_nothing_else() -> None:
    class Denying(MemoryTree):
        denied = True

        def open(self, entry: Entry) -> Any:
            if self.denied and entry.path.startswith("bad"):
                raise AccessDenied("open", entry.path, "")
            return super().open(entry)

    world = world_of({f"good{number}": b"x" for number in range(5)} | {"bad1": b"1", "bad2": b"2"})
    world.list_all(world.plan())
    source = world.source
    assert isinstance(source, MemoryTree)
    kept = {path: data for path, data in contents(source).items() if path.startswith("bad")}
    for path in kept:
        source.remove(path)
    world.copy_all()
    finish_tree(world.context())
    assert summarise_transfer(None, world.context())["status"] == "FAILED_WITH_ITEMS"
    for path, data in kept.items():
        source.put(path, Kind.FILE, data)
    left = b"".join(json.dumps(row).encode() + b"\n" for row in world.ledger.read_rows("failures.jsonl"))
    retry = world.next_run("run-2")
    retry.objects.put("work", "runs/run-1/failures.jsonl", left)
    retry.objects.put("work", "runs/run-1/failures-2.jsonl", json_lines([{"path": "good1"}]))
    summary = retry.run({**REQUEST, "manifest": "s3://work/runs/run-1/failures.jsonl"})
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 2)
    assert summary["totals"]["unchanged"]["entries"] == 1
    assert contents(world.destination) == contents(source)


def test_a_directory_that_could_not_be_listed_is_listed_again_with_all_that_it_holds() -> None:
    with open_directory() as mount:
        (mount / "from/shut/below").mkdir(parents=True)
        (mount / "from/shut/below/f").write_text("f")
        (mount / "from/a").write_text("a")
        (mount / "from/shut").chmod(0)

        def first_run() -> Any:
            world = World(source=PosixTree(mount, "from", "run-1", "n"))
            assert world.run(FROM_MOUNT)["status"] == "FAILED_WITH_ITEMS"
            return list(world.ledger.read_rows("failures.jsonl"))

        rows = as_nobody(first_run) if not os.geteuid() else first_run()
        (mount / "from/shut").chmod(0o755)
        retry = World(source=PosixTree(mount, "from", "run-2", "n"), run_id="run-2")
        summary = retry.run({**put(retry, json_lines(rows)), **FROM_MOUNT})
        assert summary["status"] == "SUCCEEDED"
        assert contents(retry.destination).keys() == {"shut/", "shut/below/", "shut/below/f"}


def test_what_only_the_destination_holds_is_no_row_to_try_again() -> None:
    world = world_of({"a": b"1"})
    rows = [{"path": "extra", "reason": "not at the source", "phase": "verify"}]
    summary = world.run(put(world, json_lines(rows)))
    assert (summary["status"], summary["totals"]["skipped"]["entries"]) == ("SUCCEEDED", 1)


def test_verification_compares_what_the_manifest_names() -> None:
    world = world_of(FILES)
    request = put(world, json_lines(["a", "d/e/ü"]))
    assert world.run({**request, "verify": "all"})["verification"]["compared"]["entries"] == 2
    assert world.next_run("run-2").run({**request, "mode": "verify"})["status"] == "SUCCEEDED"
    assert isinstance(world.destination, MemoryTree)
    world.destination.put("a", Kind.FILE, b"2")
    world.destination.put("extra", Kind.FILE, b"2")
    third = world.next_run("run-3")
    assert third.run({**request, "mode": "verify"})["status"] == "FAILED_WITH_ITEMS"
    assert list(failures(third)) == ["a"]


def test_filters_apply_to_what_a_manifest_names() -> None:
    world = world_of({"a.txt": b"1", "b.jpg": b"1", "tmp/c.txt": b"1", "big.txt": b"12"})
    request = {**put(world, json_lines(["a.txt", "b.jpg", "tmp/c.txt", "big.txt"])), "max_size": 1}
    summary = world.run({**request, "include": ["*.txt"], "exclude": ["tmp"]})
    assert (summary["status"], summary["totals"]["skipped"]["entries"]) == ("SUCCEEDED", 3)
    assert contents(world.destination).keys() == {"a.txt"}


def test_rows_with_size_etag_and_time_are_not_looked_up_at_the_source_and_pinned() -> None:
    class Blind(MemoryTree):
        def find(self, path: str) -> Entry | None:
            raise AssertionError(path)

    source = Blind()
    source.put("a", Kind.FILE, b"12")
    world = World(source=source)
    row = {"key": "tree/a", "size": 2, "etag": "0" * 32, "last_modified": "2026-01-01T00:00:00Z"}
    world.run(put(world, json_lines([row])))
    assert failures(world) == {"a": ("failed", "source changed")}


def test_an_empty_manifest_is_an_empty_run() -> None:
    world = world_of({"a": b""})
    summary = world.run(put(world, b""))
    assert (summary["status"], summary["totals"]["listed"]["entries"]) == ("SUCCEEDED", 0)


def test_many_rows_of_one_path_settle_each_once() -> None:
    paths = [f"f{number}" for number in range(3000)]
    world = world_of(dict.fromkeys(paths, b""))
    world.list_all(world.plan(put(world, json_lines(paths))))
    done = world.ledger.read_json("segments/round-0001-done.json")
    rows = [row[0] for shard in done["loose"] + done["shards"] for row in world.ledger.read_rows(shard["key"])]
    assert Counter(rows) == Counter(paths)
