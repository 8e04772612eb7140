"""What `overwrite` leaves at the destination: the rule's table, and whole runs in which the books balance."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.listing.deciding.decisions import Decision, with_overwrite
from fanout.model.entry import Entry, Kind
from fanout.model.errors import InvalidRequest
from fanout.request.options import Overwrite
from fanout.request.parse import parse_request
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import REQUEST, fill
from tests.support.two_mounts import TwoMounts

SECOND = 1_000_000_000
COPY, COMPARE, UNCHANGED, CONFLICT, KEPT = Decision
ALWAYS, NEVER, IF_NEWER = Overwrite
FILE, DIRECTORY, LINK = Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK

# Decided before, kind, the source's time, the destination's time (None: nothing there), object there, overwrite, then.
ROWS = [
    (COPY, FILE, 5, None, False, NEVER, COPY),
    (COPY, FILE, 5, None, False, IF_NEWER, COPY),
    (COPY, FILE, 5, 9, False, ALWAYS, COPY),
    (COPY, FILE, 9, 5, False, NEVER, KEPT),
    (COPY, LINK, 9, 5, False, NEVER, KEPT),
    (COMPARE, FILE, 9, 5, False, NEVER, KEPT),
    (COPY, FILE, 9, 5, False, IF_NEWER, COPY),
    (COMPARE, FILE, 9, 5, False, IF_NEWER, COMPARE),
    (COPY, FILE, 5, 5, False, IF_NEWER, KEPT),
    (COPY, FILE, 5, 9, False, IF_NEWER, KEPT),
    (COMPARE, FILE, 5, 9, False, IF_NEWER, KEPT),
    (COPY, FILE, 7 * SECOND + 5, 7 * SECOND, True, IF_NEWER, KEPT),
    (COPY, FILE, 8 * SECOND - 1, 7 * SECOND, True, IF_NEWER, KEPT),
    (COPY, FILE, 8 * SECOND, 7 * SECOND, True, IF_NEWER, COPY),
    (COPY, DIRECTORY, 5, 9, False, NEVER, COPY),
    (COPY, DIRECTORY, 5, 9, False, IF_NEWER, COPY),
    (COPY, DIRECTORY, 5, 9, True, NEVER, KEPT),
    (UNCHANGED, FILE, 5, 9, False, NEVER, UNCHANGED),
    (CONFLICT, FILE, 5, 9, False, NEVER, CONFLICT),
]


@pytest.mark.parametrize(("decided", "kind", "here", "there", "is_object", "overwrite", "then"), ROWS)
def test_the_table(
    decided: Decision, kind: Kind, here: int, there: int | None, is_object: bool, overwrite: Overwrite, then: Decision
) -> None:
    found = None if there is None else Entry("p", kind, 1, there, there, '"e"' if is_object else "")
    assert with_overwrite(decided, Entry("p", kind, 2, here, here), found, overwrite) is then


def three_files(mount: Path) -> None:
    """One that the destination lacks, one that is older there, one that is newer there."""
    fill(mount, "new", "older there", "newer there", "same")
    for name, seconds in (("new", 500), ("older there", 500), ("newer there", 500), ("same", 500)):
        os.utime(mount / "in" / name, (seconds, seconds))
    (mount / "out").mkdir()
    for name, seconds in (("older there", 400), ("newer there", 600), ("extra", 1)):
        (mount / "out" / name).write_text("theirs")
        os.utime(mount / "out" / name, (seconds, seconds))


def world_of(mount: Path, overwrite: Overwrite, run_id: str = "run-1") -> World:
    source = PosixTree(mount, "in", run_id, "s", "source")
    return World(source=source, destination=PosixTree(mount, "out", run_id, "d", overwrite=overwrite), run_id=run_id)


def read(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.iterdir() if path.is_file()}


def kept(world: World) -> int:
    """How many entries the listing or a copy left because of the request."""
    rows = [row for key in world.ledger.keys("") if "outcomes" in key for row in world.ledger.read_rows(key)]
    return sum("left as it is at the destination" in str(row) for row in rows)


AFTER = {
    "always": ({"new", "older there", "newer there", "same"}, 0),
    "never": ({"new", "same"}, 2),
    "if-newer": ({"new", "older there", "same"}, 1),
}


@pytest.mark.parametrize("mode", ["copy", "sync"])
@pytest.mark.parametrize("overwrite", AFTER)
def test_between_directories_what_is_kept_is_skipped_and_the_books_balance(
    tmp_path: Path, overwrite: str, mode: str
) -> None:
    three_files(tmp_path)
    world = world_of(tmp_path, Overwrite(overwrite))
    guard = {"delete_guard": {"max_percent": 100}}
    summary = world.run({**REQUEST, "mode": mode, "overwrite": overwrite, **(guard if mode == "sync" else {})})
    ours, left = AFTER[overwrite]
    assert summary["status"] == "SUCCEEDED"
    assert summary["balanced"]
    assert summary["totals"]["skipped"]["entries"] == left
    assert kept(world) == left
    found = read(tmp_path / "out")
    assert {name for name, text in found.items() if text == f"content of {name}"} == ours
    assert ("extra" in found) == (mode == "copy")
    again = world_of(tmp_path, Overwrite(overwrite), "run-2").run({**REQUEST, "overwrite": overwrite})
    assert overwrite == "always" or again["totals"]["copied"]["entries"] == 0


@pytest.mark.parametrize("compare", ["size-mtime", "checksum", "always"])
def test_never_replaces_nothing_however_it_is_compared(tmp_path: Path, compare: str) -> None:
    three_files(tmp_path)
    request = {**REQUEST, "overwrite": "never", "compare": compare}
    summary = world_of(tmp_path, NEVER).run(request)
    assert summary["balanced"]
    assert read(tmp_path / "out")["newer there"] == "theirs"
    assert read(tmp_path / "out")["older there"] == "theirs"
    assert summary["totals"]["skipped"]["entries"] == 2


def test_a_plan_counts_what_would_be_kept_and_copies_nothing(tmp_path: Path) -> None:
    three_files(tmp_path)
    world = world_of(tmp_path, NEVER)
    summary = world.run({**REQUEST, "mode": "plan", "overwrite": "never"})
    assert summary["totals"]["skipped"]["entries"] == 2
    assert "new" not in read(tmp_path / "out")


@pytest.mark.parametrize("overwrite", AFTER)
def test_objects_are_kept_too(overwrite: str) -> None:
    world = World(destination=None, source=None)  # type: ignore[arg-type]
    source, destination = MemoryTree(world.changes), MemoryTree(world.changes, overwrite=Overwrite(overwrite))
    world.source, world.destination = source, destination
    destination.put("older there", FILE, b"theirs")
    for name in ("new", "older there", "newer there"):
        source.put(name, FILE, f"content of {name}".encode())
    destination.put("newer there", FILE, b"theirs")
    request = {"source": "s3://a-bucket/", "destination": "s3://b-bucket/", "overwrite": overwrite}
    summary = world.run(request)
    ours, left = AFTER[overwrite]
    assert summary["balanced"]
    assert summary["totals"]["skipped"]["entries"] == left
    held = {path: stored.data.decode() for path, stored in destination.contents().items()}
    assert {name for name, text in held.items() if text == f"content of {name}"} == ours - {"same"}


def test_names_of_one_file_are_linked_among_those_that_are_not_kept(tmp_path: Path) -> None:
    fill(tmp_path, "b")
    for name in ("a", "c"):
        os.link(tmp_path / "in" / "b", tmp_path / "in" / name)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("theirs")
    summary = world_of(tmp_path, NEVER).run({**REQUEST, "overwrite": "never"})
    assert summary["status"] == "SUCCEEDED"
    assert read(tmp_path / "out") == {"a": "theirs", "b": "content of b", "c": "content of b"}
    assert (tmp_path / "out" / "b").samefile(tmp_path / "out" / "c")
    assert summary["totals"]["skipped"]["entries"] == 1


def test_a_name_that_looks_right_is_not_copied_again_for_its_further_names(tmp_path: Path) -> None:
    """Without the policy both names are written again, so that they are names of one file."""
    fill(tmp_path, "a")
    os.link(tmp_path / "in" / "a", tmp_path / "in" / "b")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("CONTENT OF A"[: len("content of a")])
    times = os.stat(tmp_path / "in" / "a")
    os.utime(tmp_path / "out" / "a", ns=(times.st_mtime_ns, times.st_mtime_ns))
    summary = world_of(tmp_path, NEVER).run({**REQUEST, "overwrite": "never"})
    assert summary["balanced"]
    assert read(tmp_path / "out")["a"] == "CONTENT OF A"


def test_between_two_mounts_what_is_there_stays(tmp_path: Path) -> None:
    two = TwoMounts(tmp_path)
    two.world.destination = PosixTree(tmp_path / "archive", "out", "run-1", "d", overwrite=NEVER)
    for name in ("kept", "new"):
        (two.source_root / name).write_text(f"content of {name}")
    two.root.mkdir()
    (two.root / "kept").write_text("theirs")
    summary = two.run({"overwrite": "never"})
    assert summary["balanced"]
    assert read(two.root) == {"kept": "theirs", "new": "content of new"}
    assert summary["totals"]["skipped"]["entries"] == 1


@pytest.mark.parametrize("verify", ["all", "content"])
def test_both_whole_trees_cannot_be_proved_equal_where_some_is_kept(verify: str) -> None:
    document = {**REQUEST, "overwrite": "never", "verify": verify}
    with pytest.raises(InvalidRequest, match=r"verify.*overwrite: never.*none and copied"):
        parse_request(document, ("data",), 10)
    assert parse_request({**document, "verify": "copied"}, ("data",), 10).overwrite is NEVER


def test_what_was_copied_is_verified_and_what_was_kept_is_not(tmp_path: Path) -> None:
    three_files(tmp_path)
    summary = world_of(tmp_path, IF_NEWER).run({**REQUEST, "overwrite": "if-newer", "verify": "copied"})
    assert summary["status"] == "SUCCEEDED"
    assert read(tmp_path / "out")["newer there"] == "theirs"
