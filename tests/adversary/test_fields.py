"""The oracle of the fields that are drawn beside the others: given attributes, and reported entries."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.request.parts.publish import PUBLISHER
from tests.adversary.fields import judge_end, judge_report
from tests.adversary.given import bound, dressed
from tests.adversary.result import Result
from tests.adversary.scope import Record
from tests.adversary.script import DIRECTIONS
from tests.adversary.trees import Version
from tests.adversary.worlds import script_of

COUNTS = {name: {"entries": 0} for name in ("copied", "unchanged", "skipped", "deleted")}
FAILURE = {"path": "b", "outcome": "failed", "reason": "no space"}
COPIED = {"path": "a", "outcome": "copied", "reason": None}


def kinds(asked: str, reported: list[dict[str, Any]], failures: list[dict[str, Any]]) -> set[str]:
    summary = {"totals": {**COUNTS, "copied": {"entries": 1}}}
    result = Result("FAILED_WITH_ITEMS", None, summary, failures, reported)
    record = Record("r1", {"report_entries": asked}, {}, {}, [{}], result, [])
    return {finding.kind for finding in judge_report(record)}


@pytest.mark.parametrize(
    ("asked", "reported", "found"),
    [
        ("all", [COPIED, FAILURE], set()),
        ("failed", [FAILURE], set()),
        ("all", [COPIED], {"not reported"}),
        ("all", [FAILURE], {"reported"}),
        ("all", [COPIED, {**COPIED, "path": "c"}, FAILURE], {"reported"}),
        ("failed", [COPIED, FAILURE], {"reported"}),
    ],
)
def test_what_is_reported_is_what_the_books_say(asked: str, reported: list[dict[str, Any]], found: set[str]) -> None:
    assert kinds(asked, reported, [FAILURE]) == found


def test_an_entry_gets_what_it_does_not_name_and_with_override_all() -> None:
    tree = {
        "plain": Version("file", changed_ns=5),
        "own": Version("file", mode=0o4755, mtime_ns=7, uid=3, gid=3),
        "d/": Version("directory", mode=0o700, mtime_ns=7, uid=3, gid=3),
        "link": Version("symlink", mode=0o777, mtime_ns=7, uid=3, gid=3),
    }
    given = {"uid": 1, "gid": 2, "file_mode": "0640", "directory_mode": "0750", "mtime": "last-modified"}
    shown = dressed(tree, given)
    assert shown["plain"] == Version("file", mode=0o640, mtime_ns=5, uid=1, gid=2, changed_ns=5)
    assert [shown[path] for path in ("own", "d/", "link")] == [tree[path] for path in ("own", "d/", "link")]
    shown = dressed(tree, {"uid": 1, "override": True, "mtime": "now"})
    assert (shown["own"].mode, shown["own"].uid, shown["own"].gid, shown["own"].mtime_ns) == (0o755, 1, 3, None)


@pytest.mark.parametrize(
    ("mode", "owner", "asked", "kept"),
    [
        (0o4755, 1000, True, 0o4755),
        (0o4755, 1000, False, 0o755),
        (0o6755, 0, True, 0o755),
        (0o755, 0, False, 0o755),
    ],
)
def test_set_id_bits_of_objects_need_their_word_and_those_of_root_more(
    mode: int, owner: int, asked: bool, kept: int
) -> None:
    tree = {
        "f": Version("file", mode=mode, uid=owner, gid=owner),
        "d/": Version("directory", mode=0o2755, uid=0, gid=0),
    }
    shown = bound(tree, {"set_ids": asked})
    assert (shown["f"].mode, shown["d/"].mode) == (kept, 0o2755)


def test_every_field_is_drawn_and_attributes_where_a_request_takes_them() -> None:
    drawn: dict[str, set[str]] = {"attributes": set(), "report_entries": set(), "window": set()}
    for seed in range(600):
        script = script_of(seed)
        names = {*script.options, *script.options.get("limits", {})}
        for name in names & drawn.keys():
            drawn[name].add(script.direction)
    given = [script_of(seed).options.get("attributes", {}) for seed in range(0, 600, len(DIRECTIONS))]
    assert {one["from"] for one in given if "from" in one} == {"rclone", "s3fs", "s3cmd"}
    assert {one.get("set_ids") for one in given} == {None, True}
    assert drawn["attributes"] == set(DIRECTIONS) - {"inside S3"}
    assert drawn["report_entries"] == drawn["window"] == set(DIRECTIONS)


def test_a_time_to_end_by_is_drawn_in_every_direction_and_mode_and_with_what_else_ends_or_goes_on_with_a_run() -> None:
    directions, modes, beside = set(), set(), set()
    for seed in range(1500):
        script = script_of(seed)
        limits = script.options.get("limits", {})
        if "finish_by" in limits:
            acts = [act.options for act in script.acts]
            directions.add(script.direction)
            modes |= {options.get("mode", "copy") for options in (script.options, *acts)}
            beside |= {*limits, *script.options, *(name for options in acts for name in options)}
            published = any(PUBLISHER in spec.path for spec in (*script.source, *script.destination))
            beside |= {"published tree"} if published else set()
    assert directions == set(DIRECTIONS) and {"copy", "sync", "move", "verify"} <= modes
    assert {"max_dollars", "window", "published tree", "resume_from"} <= beside


END = {"outcome": "ended", "at": "2026-01-01T06:00:00Z", "ended_at": "2026-01-01T05:00:00Z", "reached": True}


@pytest.mark.parametrize(
    ("status", "error", "finish", "found"),
    [
        ("SUCCEEDED", None, END, set()),
        ("SUCCEEDED", None, {**END, "reached": False}, {"wrong end told"}),
        ("SUCCEEDED", None, {**END, "ended_at": "2026-01-01T06:00:01Z"}, {"wrong end told"}),
        ("SUCCEEDED", None, {**END, "outcome": ""}, {"no end told"}),
        ("SUCCEEDED", None, None, {"no end told"}),
        ("FAILED", "FinishRefused", None, {"refused and written"}),
        ("FAILED", "OutOfBudget", None, set()),
    ],
)
def test_a_run_says_truly_when_it_ended_and_one_that_is_refused_writes_nothing(
    status: str, error: str | None, finish: Any, found: set[str]
) -> None:
    result = Result(status, None if error is None else {"name": error}, {"forecast": {"finish": finish}})
    after = {"a": Version("file")}
    record = Record("r1", {"limits": {"finish_by": "4h"}}, {}, after, [{}], result, [])
    assert {finding.kind for finding in judge_end(record)} == found
