"""The oracle excuses what docs/understand says that a run cannot see, and nothing beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields

from tests.adversary.aftermath import judge_zombies
from tests.adversary.clock import LabClock
from tests.adversary.conductor import Conductor, Running
from tests.adversary.oracle import judge
from tests.adversary.result import Result
from tests.adversary.runner import carry_out
from tests.adversary.scope import Record
from tests.adversary.script import MOUNT_TO_S3, S3_TO_MOUNT, TWO_MOUNTS, Act, Change, Fault, Script, Spec
from tests.adversary.trees import MountPlace, Version
from tests.adversary.wideness import too_wide

LAST = Act("run", "last")
FILE = Spec("f", size=100, seed=1)
ALL = {"verify": "all"}
TURNED = (Act("change", change=Change("turn", "d", 241181)), Act("wait", seconds=18), Act("run", "r2"))
BACK = Act("change", change=Change("turn-back", "d"))
MEANWHILE = (Act("change", change=Change("rename", "d", 123117)), Act("run", "z"))
FROZEN = Act("run", "r1", faults=(Fault("s3:PutObject", 1, "freeze", acts=MEANWHILE),))
LIMITS = {
    "an S3 that is ahead": Script(0, MOUNT_TO_S3, (FILE,), (replace_fields(FILE, seed=2),), (LAST,), ALL, 40),
    "a directory that came back": Script(
        0, TWO_MOUNTS, (Spec("d/f", size=1, seed=737058, gid=1000),), (), (*TURNED, BACK, LAST), ALL
    ),
    "a late write where nothing changed": Script(0, MOUNT_TO_S3, (Spec("d/f", size=16384),), (), (FROZEN,)),
    "a directory whose key says 0644": Script(0, S3_TO_MOUNT, (Spec("x/"),), (), (LAST,)),
}


@pytest.mark.parametrize("limit", list(LIMITS))
def test_a_limit_that_the_docs_name_is_no_finding(limit: str, tmp_path: Path) -> None:
    outcome = carry_out(LIMITS[limit], tmp_path / "lab")
    assert outcome.findings == []


HERE = Version("file", b"one", 0o600, 7, 0, 0, "1")
OTHER = replace(HERE, data=b"two", mark="2")
AHEAD: dict[str, Any] = {"direction": MOUNT_TO_S3, "skew_seconds": 40}
BACK_AGAIN: dict[str, Any] = {"direction": TWO_MOUNTS, "story": [HERE, OTHER, HERE]}
CASES: list[tuple[dict[str, Any], bool]] = [
    (AHEAD, True),
    (AHEAD | {"skew_seconds": 0}, False),
    (AHEAD | {"skew_seconds": -40}, False),
    (AHEAD | {"direction": S3_TO_MOUNT}, False),
    (AHEAD | {"options": {"compare": "checksum"}}, False),
    (AHEAD | {"there": replace(OTHER, mtime_ns=8)}, False),
    (AHEAD | {"there": replace(OTHER, data=b"three")}, False),
    (AHEAD | {"indexed": True}, False),
    (AHEAD | {"indexed": True, "vouched": {"a": OTHER}}, True),
    ({"direction": MOUNT_TO_S3, "foreign": {"a": OTHER}}, True),
    ({"direction": TWO_MOUNTS, "foreign": {"a": OTHER}, "indexed": True}, True),
    ({"direction": MOUNT_TO_S3, "foreign": {"a": replace(OTHER, mark="3")}}, False),
    ({"direction": MOUNT_TO_S3, "foreign": {"a": OTHER}, "options": {"compare": "checksum"}}, False),
    (BACK_AGAIN, True),
    (BACK_AGAIN | {"indexed": True}, True),
    (BACK_AGAIN | {"story": [OTHER, HERE]}, False),
    (BACK_AGAIN | {"there": replace(OTHER, mtime_ns=8)}, False),
    (BACK_AGAIN | {"options": {"compare": "always"}}, False),
]


@pytest.mark.parametrize(("case", "excused"), CASES)
def test_the_excuse_is_no_wider_than_the_limit(case: dict[str, Any], excused: bool) -> None:
    script = Script(0, case["direction"], (), (), (), skew_seconds=case.get("skew_seconds", 0))
    there, tree = case.get("there", OTHER), {"a": HERE}
    options, row = case.get("options", {}), {"path": "a", "reason": "checksum differs"}
    green = Result("SUCCEEDED", None, {"balanced": True, "totals": {"listed": {"entries": 1}}}, finished=True)
    failed = replace(green, status="FAILED_WITH_ITEMS", failures=[row])
    record = Record("r1", options, {"a": there}, {"a": there}, [tree], green, [], raw=tree, quiet=True)
    record.story = [{"a": one} for one in case.get("story", [HERE])]
    record.foreign = case.get("foreign", {})
    record.indexed, record.vouched = case.get("indexed", False), case.get("vouched", {})
    found = {finding.kind for finding in judge(script, record)}
    found |= {finding.kind for finding in judge(script, replace(record, result=failed))}
    assert found == (set() if excused else {"stale", "quiet entry failed"})


@pytest.mark.parametrize("told", ["S3: another's answer", "S3: stale read", "S3: 500"])
@pytest.mark.parametrize("manifest", [None, frozenset({"a"})])
def test_only_a_manifest_whose_heads_were_lies_is_excused(told: str, manifest: frozenset[str] | None) -> None:
    script, there, tree = Script(0, S3_TO_MOUNT, (), (), ()), replace(OTHER, data=b"foreign"), {"a": HERE}
    result = Result("SUCCEEDED", None, {"balanced": True, "totals": {"listed": {"entries": 1}}}, finished=True)
    record = Record("r1", {}, {"a": OTHER}, {"a": there}, [tree], result, [], raw=tree, manifest=manifest, told={told})
    found = {finding.kind for finding in judge(script, record)}
    excused = manifest is not None and told != "S3: 500"
    assert found == (set() if excused else {"foreign bytes", "wrong bytes"})


@pytest.mark.parametrize(
    ("direction", "mode", "bucket", "excused"),
    [
        (MOUNT_TO_S3, "sync", ["d/x"], True),
        (MOUNT_TO_S3, "copy", ["d/x"], False),
        (MOUNT_TO_S3, "sync", ["d", "d/x"], False),
        (MOUNT_TO_S3, "sync", [], False),
        (TWO_MOUNTS, "sync", ["d/x"], False),
    ],
)
def test_an_extra_below_a_skipped_symlink_may_stay(direction: str, mode: str, bucket: list[str], excused: bool) -> None:
    tree = {"d": Version("symlink", b"nowhere")}
    there = dict.fromkeys(bucket, HERE)
    rows = [{"path": "d/x", "reason": "source changed"}]
    result = Result("FAILED_WITH_ITEMS", None, {"balanced": True}, failures=rows, finished=True)
    options = {"mode": mode, "symlinks": "skip"}
    record = Record("r1", options, there, there, [tree], result, [], raw=tree, quiet=True)
    kinds = {finding.kind for finding in judge(Script(0, direction, (), (), ()), record)}
    assert ("quiet entry failed" in kinds) is not excused


@pytest.mark.parametrize(
    ("resumed", "foreign", "excused"), [(True, {"a": OTHER}, True), (True, {}, False), (False, {"a": OTHER}, False)]
)
def test_what_others_wrote_after_the_listing_that_is_resumed_may_stay(
    resumed: bool, foreign: dict[str, Version], excused: bool
) -> None:
    tree, there = {"a": HERE}, {"a": OTHER}
    rows = [{"path": "a", "reason": "destination changed"}]
    result = Result("FAILED_WITH_ITEMS", None, {"balanced": True}, failures=rows, finished=True)
    record = Record("r1", {}, there, there, [tree], result, [], raw=tree, quiet=True, resumed=resumed, foreign=foreign)
    kinds = {finding.kind for finding in judge(Script(0, MOUNT_TO_S3, (), (), ()), record)}
    assert ("quiet entry failed" in kinds) is not excused


@pytest.mark.parametrize(
    ("resumed", "changed", "there", "excused"),
    [(True, True, True, True), (False, True, True, False), (True, False, True, False), (True, True, False, False)],
)
def test_a_mode_that_changed_at_the_source_since_the_copy_may_differ_after_a_resume(
    resumed: bool, changed: bool, there: bool, excused: bool
) -> None:
    now, copied = replace(HERE, mode=0o640), replace(HERE, mode=0)
    after = {"a": copied}
    rows = [{"path": "a", "reason": "mode differs"}]
    result = Result("FAILED_WITH_ITEMS", None, {"balanced": True}, failures=rows, finished=True)
    story = [{"a": copied}] if changed else [{"a": now}]
    before, tree = after if there else {}, {"a": now}
    record = Record("r1", {}, before, after, [tree], result, [], raw=tree, quiet=True, resumed=resumed, story=story)
    kinds = {finding.kind for finding in judge(Script(0, TWO_MOUNTS, (), (), ()), record)}
    assert ("quiet entry failed" in kinds) is not excused


@pytest.mark.parametrize(
    ("listed", "then", "found"), [(None, None, 0), (OTHER, OTHER, 0), (None, OTHER, 1), (OTHER, HERE, 1)]
)
def test_a_late_write_over_what_changed_is_a_finding(listed: Version | None, then: Version | None, found: int) -> None:
    known, late = {} if listed is None else {"a": listed}, replace(HERE, data=b"late", mark="9")
    zombies = [("z", {} if then is None else {"a": then})]
    assert len(list(judge_zombies("r1", zombies, {"a": late}, known, to_bucket=True))) == found
    assert list(judge_zombies("r1", zombies, {"a": late}, known, to_bucket=False)), "on a mount it is fenced"


def test_a_late_deletion_is_a_finding() -> None:
    found = judge_zombies("r1", [("z", {"a": OTHER})], {}, {"a": OTHER}, to_bucket=True)
    assert [finding.kind for finding in found] == ["zombie"]


@pytest.mark.parametrize(("mode", "wide"), [(0o700, 0), (0o740, 0), (0o704, 0), (0o710, 1), (0o1705, 1), (0o4700, 1)])
def test_a_directory_is_wider_by_what_others_may(tmp_path: Path, mode: int, wide: int) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x").chmod(mode)
    place = SimpleNamespace(root=tmp_path)
    found = list(too_wide(place, {"x/": 0o644}, set()))  # type: ignore[arg-type]
    assert len(found) == wide


def test_a_deep_tree_is_turned_as_far_as_it_goes(tmp_path: Path) -> None:
    place = MountPlace(tmp_path, "in", LabClock(), keeps_mtimes=True)
    place.build((Spec("d/" * 900 + "f", size=3),))
    place.change(Change("turn", "d"))
    assert (tmp_path / "attic/turned-d").is_dir()


def test_an_attempt_inside_another_of_its_state_ends_alone() -> None:
    conductor = Conductor(lambda fault, attempt: None)
    run = Running("r1", [])
    with conductor.attempt(run, "copy") as outer:
        with conductor.attempt(run, "copy") as inner:
            assert conductor.attempts == [outer, inner] and outer != inner
            outer.dead = True
        assert conductor.current is outer
    assert conductor.attempts == []
