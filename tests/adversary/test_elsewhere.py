"""The law of what goes at the source of a move: which copies hold all of an entry, and which do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.adversary.elsewhere import lost_of, missing_of_kept, parted
from tests.adversary.moves import judge_move
from tests.adversary.runner import carry_out
from tests.adversary.script import S3_TO_MOUNT, WITHIN_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.trees import Version

HERE = Version("file", b"one", 0o4640, 7, 1000, 1000, "1")
FOLDER = Version("directory", mode=0o750, mtime_ns=7, uid=0, gid=0)
LINK = Version("symlink", b"target", 0o777, 7, 0, 0)
CASES: list[tuple[Version, dict[str, Any], str]] = [
    (HERE, {"mark": "2"}, ""),
    (HERE, {"data": b"two"}, "content"),
    (HERE, {"kind": "symlink"}, "content"),
    (HERE, {"mode": 0o640}, "mode 4640 is 0640"),
    (HERE, {"mode": None}, "mode 4640 is not told"),
    (HERE, {"mtime_ns": 8}, "mtime 7 is 8"),
    (HERE, {"mtime_ns": None}, "mtime 7 is not told"),
    (HERE, {"uid": None}, "uid 1000 is not told"),
    (HERE, {"gid": 0}, "gid 1000 is 0"),
    (replace(HERE, mode=None, mtime_ns=None, uid=None, gid=None), {"mode": 0o644, "mtime_ns": 9}, ""),
    (replace(HERE, gid=2**32 - 1), {"mode": 0o640}, ""),
    (FOLDER, {"mtime_ns": 8}, ""),
    (FOLDER, {"mode": 0o755}, "mode 0750 is 0755"),
    (LINK, {"mode": 0o755}, ""),
    (LINK, {"mtime_ns": 8}, "mtime 7 is 8"),
]


@pytest.mark.parametrize(("here", "change", "lost"), CASES)
def test_a_copy_holds_every_attribute_that_the_source_told(here: Version, change: dict[str, Any], lost: str) -> None:
    found = lost_of(here, replace(here, **change), {})
    assert (lost in found) if lost else found == ""


def test_nothing_is_left_of_what_has_no_copy_and_by_content_that_is_all() -> None:
    assert lost_of(HERE, None, {}) == lost_of(HERE, None, {"verify": "content"}) == "which has no copy"
    assert lost_of(HERE, replace(HERE, mode=0o600, mtime_ns=8), {"verify": "content"}) == ""


@pytest.mark.parametrize(("options", "found"), [({}, 1), ({"manifest": "s3://lists/x"}, 0), ({"verify": "content"}, 0)])
def test_names_of_one_file_go_together(options: dict[str, Any], found: int) -> None:
    there = {"a": HERE, "b": replace(HERE, mark="2")}
    then = {"a": HERE, "b": HERE}
    script = Script(0, WITHIN_MOUNT, (), (), ())
    assert len(list(judge_move(script, "r1", options, (then, {}), there, set(), [then]))) == found
    assert not list(parted({"a", "b"}, then, {"a": HERE, "b": HERE}))


def test_what_an_earlier_run_kept_stays_as_it_was() -> None:
    kept = {"r1/": FOLDER, "r1/a": HERE, "r1/b": HERE, "r1/c": HERE}
    assert missing_of_kept(kept, {"r1/a": HERE, "r1/b": replace(HERE, data=b"two"), "r2/d": HERE}) == ["r1/b", "r1/c"]


@pytest.mark.parametrize(("touched", "found"), [(set(), 1), ({"a"}, 0)])
def test_an_object_whose_mode_no_place_holds_is_found(touched: set[str], found: int) -> None:
    there, then = {"a": replace(HERE, mode=None)}, {"a": HERE}
    findings = list(judge_move(Script(0, S3_TO_MOUNT, (), (), ()), "r1", {}, (then, {}), there, touched, [then]))
    assert [one.kind for one in findings] == ["moved"] * found


def test_a_name_that_is_opened_up_after_the_comparison_stays(tmp_path: Path) -> None:
    source = (Spec("a", size=9, seed=1), Spec("b", "link", target="a"))
    opened = Fault("begin deletion/any", 1, "change", change=Change("chmod", "a", 1))
    acts = (Act("run", "r1", faults=(opened,)), Act("run", "last"))
    script = Script(0, WITHIN_MOUNT, source, (), acts, {"mode": "move"})
    outcome = carry_out(script, tmp_path / "lab")
    assert (outcome.findings, outcome.statuses) == ([], [("r1", "FAILED_WITH_ITEMS"), ("last", "SUCCEEDED")])
