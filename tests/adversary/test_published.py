"""Published trees, and files of several names, that a sync or a move comes by: nothing goes, and the oracle sees it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanout.adapters.posix import deletion
from fanout.listing.deciding.published import PublishedTrees
from tests.adversary.moves import opened
from tests.adversary.published import paths_of_published, publish
from tests.adversary.runner import carry_out
from tests.adversary.script import DIRECTIONS, INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, WITHIN_MOUNT, Act, Script, Spec
from tests.adversary.trees import Version

PUBLISHED = (
    Spec("site/versions/v1/a", size=9, seed=1),
    Spec("site/versions/.publisher", size=40, seed=2),
    Spec("site/current", "symlink", target="versions/v1"),
)
SYNC: dict[str, Any] = {"mode": "sync", "delete_guard": {"max_percent": 100.0}}
FILE, LAST = Spec("f", size=9, seed=3), (Act("run", "last"),)
SCRIPTS = {
    "sync": Script(0, S3_TO_MOUNT, (FILE,), (FILE, *PUBLISHED), LAST, SYNC),
    "move": Script(0, WITHIN_MOUNT, (FILE, *PUBLISHED), (), LAST, {"mode": "move"}),
}


@pytest.mark.parametrize("mode", list(SCRIPTS))
def test_a_published_tree_stays(mode: str, tmp_path: Path) -> None:
    outcome = carry_out(SCRIPTS[mode], tmp_path / "lab")
    assert (outcome.findings, outcome.statuses) == ([], [("last", "FAILED_WITH_ITEMS")])


@pytest.mark.parametrize("mode", list(SCRIPTS))
def test_a_run_that_deletes_one_is_found(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "keep_published", lambda *_: None)
    monkeypatch.setattr(PublishedTrees, "_note", lambda *_: None)  # of a listing, which lists no such extra
    assert "published" in carry_out(SCRIPTS[mode], tmp_path / "lab").kinds


def test_versions_notes_and_links_belong_to_a_published_tree() -> None:
    tree = {"p/versions/.publisher": Version("file"), "p/versions/v/": Version("directory")}
    tree |= {"p/now": Version("symlink", b"versions/v"), "p/other": Version("symlink", b"f"), "p/f": Version("file")}
    assert paths_of_published(tree) == {"p/versions/.publisher", "p/versions/v/", "p/now"}
    assert paths_of_published({"versions/v/": Version("directory")}) == set()


def test_trees_are_published_where_the_request_deletes_on_a_mount() -> None:
    def ends(direction: str, options: dict[str, Any]) -> set[int]:
        drawn = [publish(Random(seed), direction, ((FILE,), ()), options) for seed in range(60)]
        return {number for trees in drawn for number in (0, 1) if len(trees[number]) > 2}

    for direction in DIRECTIONS:
        assert ends(direction, SYNC) == (set() if direction in (MOUNT_TO_S3, INSIDE_S3) else {1})
        assert ends(direction, {"mode": "move"}) == (set() if direction in (S3_TO_MOUNT, INSIDE_S3) else {0})
        assert ends(direction, {}) == set()


def test_a_name_that_is_written_through_before_it_goes_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_is_compared_file", lambda found, listed, own: None)
    found = set()
    for seed in range(40):
        source, acts = opened(Random(seed), WITHIN_MOUNT, (FILE,), {"mode": "move"}, (Act("run", "r1"),))
        script = Script(seed, WITHIN_MOUNT, source, (), acts, {"mode": "move"})
        if len(source) > 1 and "begin" in acts[0].faults[0].kind:
            found |= carry_out(script, tmp_path / str(seed)).kinds
    assert "moved" in found
